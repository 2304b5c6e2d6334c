"""Functions of imported models whose axes, sizes or paddings are known at run time only.

Their names carry what import knows: `vm.model.reduce:{"kind": "ReduceSum", "keepdims": true}`.
"""

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.builtins import MODEL_PREFIX
from relax_mlir.runtime.library.operands import named
from relax_mlir.runtime.models.images import IMAGES
from relax_mlir.runtime.models.lowbits import LOWBITS
from relax_mlir.runtime.models.matrices import MATRICES
from relax_mlir.runtime.models.recurrent import RECURRENT
from relax_mlir.runtime.models.sequences import SEQUENCES
from relax_mlir.runtime.models.signal import SIGNAL
from relax_mlir.runtime.models.structural import STRUCTURAL

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **IMAGES, **LOWBITS, **MATRICES, **RECURRENT, **SEQUENCES, **SIGNAL, **STRUCTURAL,
}  # fmt: skip


def model_function(name: str) -> Callable[..., Any] | None:
    """Return the function of a name with its configuration, None where there is none."""
    key, _, config = name.removeprefix(MODEL_PREFIX).partition(":")
    compute = FUNCTIONS.get(key)
    if compute is None:
        return None
    bound = functools.partial(compute, **json.loads(config or "{}"))

    # An empty tuple is an operand that is left out, and where sequences are, an empty one.
    is_sequence = key in SEQUENCES

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            result = bound(
                *[
                    None if isinstance(arg, tuple) and not arg and not is_sequence else arg
                    for arg in args
                ]
            )
        if is_sequence:
            return result
        if isinstance(result, (list, tuple)):
            return tuple(_own(each) for each in result)
        return _own(result)

    return named(key, call, MODEL_PREFIX)


def _own(array: Any) -> np.ndarray:
    return np.array(array, order="C", copy=True)
