"""Tensor expressions: tensors described by the expression of one element."""

import importlib
from typing import Any

from relax_mlir.lazy import lazy_exports

_EXPORTS = {
    "te.tensor": ("ComputeOp", "ExternOp", "PlaceholderOp", "Tensor"),
    "te.operation": ("compute", "extern", "placeholder", "tag_scope"),
    "te.prim_func": ("create_prim_func", "placeholders_of"),
    "te.prim_func_stage": ("extern_primfunc",),
    "te.scans": ("ScanOp", "scan"),
    "tir.scalar.axes": ("IterVar",),
    "tir.scalar.conversion": ("const",),
    "tir.scalar.nodes": ("Reduce",),
    "tir.scalar.reduction": (
        "all", "any", "argmax", "argmin", "comm_reducer", "max", "min", "prod", "reduce_axis",
        "sum",
    ),
    # te has the scalar functions of tir too.
    "tir": (
        "Select", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil",
        "ceildiv", "copysign", "cos", "cosh", "div", "erf", "exp", "exp10", "exp2", "floor",
        "floordiv", "floormod", "fmod", "hypot", "if_then_else", "indexdiv", "indexmod", "infinity",
        "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logaddexp", "max_value",
        "min_value", "nearbyint", "popcount", "pow", "power", "round", "rsqrt", "sigmoid", "sin",
        "sinh", "sqrt", "tan", "tanh", "trunc", "truncdiv", "truncmod",
    ),
}  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "CommReducer": "te.comm_reducer makes a function",
    "create_schedule": "schedules are of prim funcs: tir.Schedule(te.create_prim_func([A, B]))",
    "gradient": "there is no automatic differentiation",
    "TensorSlice": "a tensor is indexed with all indices at once: A[i, j]",
    "thread_axis": "tir.Schedule.bind binds loops to threads",
    "trace": "R.print shows tensors, tir.call_packed calls a function that may print",
}


def _var(name: str = "tindex", dtype: str = "int64") -> Any:
    """Return a symbol, as `tir.Var` does."""
    return importlib.import_module("relax_mlir.tir.expr").Var(name, dtype)


__getattr__, __dir__ = lazy_exports(
    __name__, _EXPORTS, (), _UNSUPPORTED, lambda: {"size_var": _var, "var": _var}
)
