"""Tensor expressions: tensors described by the expression of one element."""

# Made by .ci/stubs, do not edit.

from typing import Any

from relax_mlir.te.operation import compute, extern, placeholder, tag_scope
from relax_mlir.te.prim_func import create_prim_func, placeholders_of
from relax_mlir.te.prim_func_stage import extern_primfunc
from relax_mlir.te.scans import ScanOp, scan
from relax_mlir.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor
from relax_mlir.tir.scalar.axes import IterVar
from relax_mlir.tir.scalar.conversion import const
from relax_mlir.tir.scalar.functions import (
    atan2,
    ceildiv,
    copysign,
    exp10,
    fmod,
    hypot,
    if_then_else,
    infinity,
    logaddexp,
    max_value,
    min_value,
    pow,
)
from relax_mlir.tir.scalar.functions import pow as power
from relax_mlir.tir.scalar.nodes import Reduce, Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.tir.scalar.reduction import all, any, comm_reducer, reduce_axis

__all__ = [
    "ComputeOp",
    "ExternOp",
    "IterVar",
    "PlaceholderOp",
    "Reduce",
    "ScanOp",
    "Select",
    "Tensor",
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceildiv",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "cosh",
    "create_prim_func",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "extern",
    "extern_primfunc",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "placeholder",
    "placeholders_of",
    "popcount",
    "pow",
    "power",
    "prod",
    "reduce_axis",
    "round",
    "rsqrt",
    "scan",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "sum",
    "tag_scope",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]

def abs(x: Any) -> PrimExpr:
    """Return abs of a number, an expression of its dtype or a bool."""

def acos(x: Any) -> PrimExpr:
    """Return acos of a number, an expression of its dtype or a bool."""

def acosh(x: Any) -> PrimExpr:
    """Return acosh of a number, an expression of its dtype or a bool."""

def argmax(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by argmax over axes, or combine two values and more."""

def argmin(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by argmin over axes, or combine two values and more."""

def asin(x: Any) -> PrimExpr:
    """Return asin of a number, an expression of its dtype or a bool."""

def asinh(x: Any) -> PrimExpr:
    """Return asinh of a number, an expression of its dtype or a bool."""

def atan(x: Any) -> PrimExpr:
    """Return atan of a number, an expression of its dtype or a bool."""

def atanh(x: Any) -> PrimExpr:
    """Return atanh of a number, an expression of its dtype or a bool."""

def ceil(x: Any) -> PrimExpr:
    """Return ceil of a number, an expression of its dtype or a bool."""

def cos(x: Any) -> PrimExpr:
    """Return cos of a number, an expression of its dtype or a bool."""

def cosh(x: Any) -> PrimExpr:
    """Return cosh of a number, an expression of its dtype or a bool."""

def div(a: Any, b: Any) -> Any:
    """Return `div` of two numbers: a size of sizes, else an expression."""

def erf(x: Any) -> PrimExpr:
    """Return erf of a number, an expression of its dtype or a bool."""

def exp(x: Any) -> PrimExpr:
    """Return exp of a number, an expression of its dtype or a bool."""

def exp2(x: Any) -> PrimExpr:
    """Return exp2 of a number, an expression of its dtype or a bool."""

def floor(x: Any) -> PrimExpr:
    """Return floor of a number, an expression of its dtype or a bool."""

def floordiv(a: Any, b: Any) -> Any:
    """Return `floordiv` of two numbers: a size of sizes, else an expression."""

def floormod(a: Any, b: Any) -> Any:
    """Return `floormod` of two numbers: a size of sizes, else an expression."""

def indexdiv(a: Any, b: Any) -> Any:
    """Return `indexdiv` of two numbers: a size of sizes, else an expression."""

def indexmod(a: Any, b: Any) -> Any:
    """Return `indexmod` of two numbers: a size of sizes, else an expression."""

def isfinite(x: Any) -> PrimExpr:
    """Return isfinite of a number, an expression of its dtype or a bool."""

def isinf(x: Any) -> PrimExpr:
    """Return isinf of a number, an expression of its dtype or a bool."""

def isnan(x: Any) -> PrimExpr:
    """Return isnan of a number, an expression of its dtype or a bool."""

def log(x: Any) -> PrimExpr:
    """Return log of a number, an expression of its dtype or a bool."""

def log10(x: Any) -> PrimExpr:
    """Return log10 of a number, an expression of its dtype or a bool."""

def log1p(x: Any) -> PrimExpr:
    """Return log1p of a number, an expression of its dtype or a bool."""

def log2(x: Any) -> PrimExpr:
    """Return log2 of a number, an expression of its dtype or a bool."""

def max(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by max over axes, or combine two values and more."""

def min(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by min over axes, or combine two values and more."""

def nearbyint(x: Any) -> PrimExpr:
    """Return nearbyint of a number, an expression of its dtype or a bool."""

def popcount(x: Any) -> PrimExpr:
    """Return popcount of a number, an expression of its dtype or a bool."""

def prod(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by prod over axes, or combine two values and more."""

def round(x: Any) -> PrimExpr:
    """Return round of a number, an expression of its dtype or a bool."""

def rsqrt(x: Any) -> PrimExpr:
    """Return rsqrt of a number, an expression of its dtype or a bool."""

def sigmoid(x: Any) -> PrimExpr:
    """Return sigmoid of a number, an expression of its dtype or a bool."""

def sin(x: Any) -> PrimExpr:
    """Return sin of a number, an expression of its dtype or a bool."""

def sinh(x: Any) -> PrimExpr:
    """Return sinh of a number, an expression of its dtype or a bool."""

def size_var(name: str = "tindex", dtype: str = "int64") -> Any:
    """Return a symbol, as `tir.Var` does."""

def sqrt(x: Any) -> PrimExpr:
    """Return sqrt of a number, an expression of its dtype or a bool."""

def sum(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
    """Reduce by sum over axes, or combine two values and more."""

def tan(x: Any) -> PrimExpr:
    """Return tan of a number, an expression of its dtype or a bool."""

def tanh(x: Any) -> PrimExpr:
    """Return tanh of a number, an expression of its dtype or a bool."""

def trunc(x: Any) -> PrimExpr:
    """Return trunc of a number, an expression of its dtype or a bool."""

def truncdiv(a: Any, b: Any) -> Any:
    """Return `truncdiv` of two numbers: a size of sizes, else an expression."""

def truncmod(a: Any, b: Any) -> Any:
    """Return `truncmod` of two numbers: a size of sizes, else an expression."""

def var(name: str = "tindex", dtype: str = "int64") -> Any:
    """Return a symbol, as `tir.Var` does."""
