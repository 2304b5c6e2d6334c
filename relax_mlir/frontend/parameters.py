"""Weights: those that importers leave at functions, and those in safetensors files."""

import json
import os
from pathlib import Path

import numpy as np

from relax_mlir.errors import ExecutableFormatError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.expr.values import Elements
from relax_mlir.runtime.files.safetensors import load_file

_INDEX = ".index.json"


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Elements]]]:
    """Take the attribute `params` off the functions of a module.

    `from_onnx(model, keep_params_in_input=True)` leaves weights there.

    Returns:
        A copy of the module without them, and the arrays by the name of the function, in the order
        of its last parameters.
    """
    made = mod.clone()
    params: dict[str, list[Elements]] = {}
    for name in mod.function_names:
        attrs = made[name].attrs
        if "params" in attrs:
            params[name] = [array.view(Elements) for array in attrs["params"]]
            made[name] = made[name].without_attr("params")
    return made, params


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file by name; they are mapped, not copied.

    Args:
        path: the file, or the index of a model in several files (`model.safetensors.index.json`,
            whose `weight_map` has the file of each name), which are in the same folder.

    Raises:
        ExecutableFormatError: a file is damaged, or is not what the index says.
        OSError: a file cannot be read.
    """
    if not os.fspath(path).endswith(_INDEX):
        return load_file(path)
    files = _weight_map(Path(path))
    parts = {file: load_file(Path(path).parent / file) for file in dict.fromkeys(files.values())}
    missing = next((name for name, file in files.items() if name not in parts[file]), None)
    if missing is not None:
        raise _wrong(path, f"'{files[missing]}' has no array '{missing}'")
    return {name: parts[file][name] for name, file in files.items()}


def _weight_map(path: Path) -> dict[str, str]:
    try:
        files = json.loads(path.read_bytes())["weight_map"]
        pairs = list(files.items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong(path, "it has no `weight_map`") from error
    for name, file in pairs:
        if not isinstance(file, str) or Path(file).name != file or file in ("", ".."):
            raise _wrong(path, f"'{name}' is in {file!r}, which is no file of its folder")
    return files


def _wrong(path: str | os.PathLike[str], reason: str) -> ExecutableFormatError:
    return ExecutableFormatError(f"'{os.fspath(path)}' is no index of safetensors: {reason}")
