"""`vm.builtin.tensor_cache`: weights by name that the programs of a process share."""

import itertools
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.device.api import device_of_type

_ARRAYS: dict[str, Any] = {}


def _load(path: str, device_type: int, index: int) -> None:
    """Add the arrays of a folder that `dump_tensor_cache` wrote."""
    # It imports what checks and writes such folders, which few programs read.
    from relax_mlir.runtime.files.tensor_cache import load_tensor_cache

    _ARRAYS.update(load_tensor_cache(path, device_of_type(device_type, index))[0])


def _update(name: str, array: Any, override: bool = False) -> None:
    if not override and name in _ARRAYS:
        raise ArgumentTypeError(f"the tensor cache has '{name}' already; pass True to replace it")
    _ARRAYS[name] = array


def _remove(name: str) -> None:
    _ARRAYS.pop(name, None)


def _by_name(names: Any) -> tuple[Any, ...]:
    missing = [name for name in names if name not in _ARRAYS]
    if missing:
        raise ArgumentTypeError(f"the tensor cache has no '{missing[0]}'; load its folder first")
    return tuple([_ARRAYS[name] for name in names])


def _numbered(prefix: str, count: int = -1) -> tuple[Any, ...]:
    """Return `prefix_0`, `prefix_1`, ...: so many; with -1 until one is not there."""
    names = [f"{prefix}_{i}" for i in range(len(_ARRAYS) if count < 0 else count)]
    if count < 0:
        names = list(itertools.takewhile(_ARRAYS.__contains__, names))
    return _by_name(names)


TENSOR_CACHE: dict[str, Callable[..., Any]] = {
    PREFIX + name: func
    for name, func in (
        ("tensor_cache.load", _load),
        ("tensor_cache.update", _update),
        ("tensor_cache.get", _ARRAYS.get),
        ("tensor_cache.remove", _remove),
        ("tensor_cache.clear", _ARRAYS.clear),
        ("param_array_from_cache", _numbered),
        ("param_array_from_cache_by_name", _by_name),
        ("param_array_from_cache_by_name_unpacked", lambda *names: _by_name(names)),
    )
}
