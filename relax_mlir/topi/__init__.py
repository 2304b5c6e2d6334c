"""The operator library: functions of tensors written as tensor expressions, by category."""

import importlib
from typing import Any

# Functions defined by name, and modules whose tables hold functions too.
_EXPORTS = {
    **dict.fromkeys(("cast", "clip", "elemwise_sum", "identity", "reinterpret"), "elementwise"),
    **dict.fromkeys(("broadcast_to", "where"), "broadcast"),
    **dict.fromkeys(("mean", "std", "variance"), "reduce"),
    **dict.fromkeys(
        ("arange", "eye", "full", "full_like", "meshgrid", "one_hot", "ones", "ones_like", "tril",
         "trilu", "triu", "zeros", "zeros_like"), "create"),
    **dict.fromkeys(
        ("concatenate", "expand_dims", "flatten", "flip", "repeat", "reshape", "roll", "split",
         "squeeze", "stack", "strided_slice", "tile", "transpose"), "manipulate"),
    **dict.fromkeys(("gather", "gather_nd", "sequence_mask", "take"), "index"),
    **dict.fromkeys(("scatter_elements", "scatter_nd"), "scatter"),
    **dict.fromkeys(("einsum", "matmul", "tensordot"), "linear_algebra"),
}  # fmt: skip
_TABLES = ("elementwise", "broadcast", "reduce", "scan")


def _module(name: str) -> Any:
    return importlib.import_module(f"relax_mlir.topi.{name}")


def __getattr__(name: str) -> Any:
    if name == "nn":
        return _module("nn")
    if name in _EXPORTS:
        value = getattr(_module(_EXPORTS[name]), name)
    else:
        tables = (_module(table).FUNCTIONS for table in _TABLES if not name.startswith("_"))
        value = next((table[name] for table in tables if name in table), None)
        if value is None:
            raise AttributeError(f"module 'relax_mlir.topi' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    found = (name for table in _TABLES for name in _module(table).FUNCTIONS)
    return sorted([*globals(), *_EXPORTS, *found, "nn"])
