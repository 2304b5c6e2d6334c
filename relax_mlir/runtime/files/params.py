"""Parameters of a model as bytes, by name; the layout is that of safetensors files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.files import safetensors
from relax_mlir.runtime.files.access import aligned_copy
from relax_mlir.runtime.values import describe, to_value


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Return arrays by name as bytes, for `load_param_dict` and `GraphModule.load_params`.

    Raises:
        ArgumentTypeError: a value that is no tensor, a dtype that cannot be kept, a wrong name.
    """
    arrays = {}
    for name, value in params.items():
        array = to_value(value)
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(f"parameter '{name}' must be a tensor, got {describe(value)}")
        arrays[name] = array
    return b"".join(safetensors.dump(arrays))


def load_param_dict(param_bytes: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that `save_param_dict` was given.

    Raises:
        ExecutableFormatError: truncated or malformed.
        ArgumentTypeError: not bytes.
    """
    if not isinstance(param_bytes, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"parameters are bytes, got {describe(param_bytes)}")
    data = aligned_copy(bytes(param_bytes))
    return safetensors.load_file("<parameters>", lambda _: data)
