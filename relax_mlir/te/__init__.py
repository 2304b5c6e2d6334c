"""Tensor expressions: tensors described by the expression of one element."""

import importlib
from typing import Any

from relax_mlir.errors import missing

_EXPORTS = {
    **dict.fromkeys(("ComputeOp", "ExternOp", "PlaceholderOp", "Tensor"), "te.tensor"),
    "IterVar": "tir.scalar.axes",
    **dict.fromkeys(("compute", "extern", "placeholder", "tag_scope"), "te.operation"),
    **dict.fromkeys(
        (
            "all",
            "any",
            "argmax",
            "argmin",
            "comm_reducer",
            "max",
            "min",
            "prod",
            "reduce_axis",
            "sum",
        ),
        "tir.scalar.reduction",
    ),
    **dict.fromkeys(("ScanOp", "scan"), "te.scans"),
    **dict.fromkeys(("create_prim_func", "placeholders_of"), "te.prim_func"),
    "Reduce": "tir.scalar.nodes",
    "extern_primfunc": "te.prim_func_stage",
    **dict.fromkeys(("const",), "tir.scalar.conversion"),
}
# te has the scalar functions of tir too.
_FROM_TIR = (
    "Select", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceildiv",
    "copysign", "cos", "cosh", "div", "erf", "exp", "exp10", "exp2", "floor", "floordiv",
    "floormod", "fmod", "hypot", "if_then_else", "indexdiv", "indexmod", "infinity", "isfinite",
    "isinf", "isnan", "log", "log10", "log1p", "log2", "logaddexp", "max_value", "min_value",
    "nearbyint", "popcount", "pow", "power", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc", "truncdiv", "truncmod",
)  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "CommReducer": "te.comm_reducer makes a function",
    "create_schedule": "schedules are of prim funcs: tir.Schedule(te.create_prim_func([A, B]))",
    "gradient": "there is no automatic differentiation",
    "TensorSlice": "a tensor is indexed with all indices at once: A[i, j]",
    "thread_axis": "tir.Schedule.bind binds loops to threads",
    "trace": "R.print shows tensors, tir.call_packed calls a function that may print",
}


def __getattr__(name: str) -> Any:
    if name in ("var", "size_var"):
        return _var
    if name in _EXPORTS:
        value = getattr(importlib.import_module(f"relax_mlir.{_EXPORTS[name]}"), name)
    elif name in _FROM_TIR:
        value = getattr(importlib.import_module("relax_mlir.tir"), name)
    else:
        raise AttributeError(missing("te", name, _UNSUPPORTED, __dir__()))
    globals()[name] = value
    return value


def _var(name: str = "tindex", dtype: str = "int64") -> Any:
    """Return a symbol, as `tir.Var` does."""
    return importlib.import_module("relax_mlir.tir.expr").Var(name, dtype)


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS, *_FROM_TIR, "size_var", "var"])
