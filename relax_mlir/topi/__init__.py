"""The operator library: functions of tensors written as tensor expressions, by category."""

import importlib
from typing import Any

# Functions defined by name, and modules whose tables hold functions too.
_EXPORTS = {
    **dict.fromkeys((
            "cast", "ceil_log2", "clip", "elemwise_sum", "fast_erf", "fast_exp", "fast_tanh",
            "identity", "reinterpret"), "elementwise"),
    **dict.fromkeys(("broadcast_to", "where"), "broadcast"),
    **dict.fromkeys(("collapse_sum", "mean", "std", "variance"), "reduce"),
    **dict.fromkeys(("fixed_point_multiply", "fixed_point_multiply_per_axis"), "fixed_point"),
    **dict.fromkeys(("scanop",), "scan"),
    **dict.fromkeys(
        ("arange", "eye", "full", "full_like", "meshgrid", "one_hot", "ones", "ones_like", "tril",
         "trilu", "triu", "zeros", "zeros_like"), "create"),
    **dict.fromkeys(
        ("concatenate", "dyn_tile", "expand_dims", "expand_like", "flatten", "flip", "repeat",
         "reshape", "roll", "split", "squeeze", "stack", "strided_slice", "tile", "transpose"),
        "manipulate"),
    **dict.fromkeys(
        ("dynamic_strided_slice", "reverse_sequence", "slice_scatter", "sliding_window",
         "strided_set"), "slices"),
    **dict.fromkeys(("layout_transform",), "layouts"),
    **dict.fromkeys(("gather", "gather_nd", "sequence_mask", "take"), "index"),
    **dict.fromkeys(
        ("adv_index", "index_put", "index_tensor", "matrix_set_diag", "sparse_to_dense",
         "unravel_index"), "indexed_access"),
    **dict.fromkeys(("scatter_elements", "scatter_nd"), "scatter"),
    **dict.fromkeys(("argsort", "searchsorted", "sort", "topk"), "sorting"),
    **dict.fromkeys(("ndarray_size", "shape", "tensor_size"), "query"),
    **dict.fromkeys(("dft", "hamming_window", "stft"), "signal"),
    **dict.fromkeys(("InvalidShapeError",), "utils"),
    **dict.fromkeys(("einsum", "matmul", "tensordot"), "linear_algebra"),
}  # fmt: skip
_TABLES = ("elementwise", "broadcast", "reduce", "scan")
_MODULES = ("image", "nn", "tag", "testing", "utils", "vision")


def _module(name: str) -> Any:
    return importlib.import_module(f"relax_mlir.topi.{name}")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _module(name)
    if name in _EXPORTS:
        value = getattr(_module(_EXPORTS[name]), name)
    else:
        tables = (_module(table).FUNCTIONS for table in _TABLES if not name.startswith("_"))
        value = next((table[name] for table in tables if name in table), None)
        if value is None:
            raise _module("unsupported").missing("topi", name, __dir__())
    value = globals()[name] = _module("argument_checks").checked(f"topi.{name}", value)
    return value


def __dir__() -> list[str]:
    result = (name for table in _TABLES for name in _module(table).FUNCTIONS)
    return sorted([*globals(), *_EXPORTS, *result, *_MODULES])
