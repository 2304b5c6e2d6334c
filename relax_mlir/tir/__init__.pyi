"""TIR as a user calls it: symbolic integers for shapes, scalar expressions, their functions."""

# Made by .ci/stubs, do not edit.

from typing import Any

from relax_mlir.errors import ScheduleError
from relax_mlir.relax.expr.functions import PrimFunc
from relax_mlir.tir import analysis, dlight, ir_builder, schedule, stmt_functor, transform
from relax_mlir.tir.expr import StringImm, Var, var
from relax_mlir.tir.expr import Var as SizeVar
from relax_mlir.tir.lowering import build, lower
from relax_mlir.tir.scalar.calls import (
    call_intrin,
    convert,
    ldexp,
    nextafter,
    q_multiply_shift,
    q_multiply_shift_per_axis,
)
from relax_mlir.tir.scalar.conversion import Cast, cast, const
from relax_mlir.tir.scalar.externs import call_extern, call_packed
from relax_mlir.tir.scalar.externs import call_extern as call_pure_extern
from relax_mlir.tir.scalar.functions import (
    all,
    any,
    atan2,
    ceildiv,
    copysign,
    exp10,
    fmod,
    hypot,
    if_then_else,
    infinity,
    likely,
    logaddexp,
    max_value,
    min_value,
    pow,
    reinterpret,
)
from relax_mlir.tir.scalar.functions import pow as power
from relax_mlir.tir.scalar.nodes import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Reduce,
    Select,
    Sub,
)
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm, PrimExpr
from relax_mlir.tir.scalar.reduction import comm_reducer
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.schedule import Schedule
from relax_mlir.tir.schedule.trace.trace import Trace
from relax_mlir.tir.stmt import (
    AllocBuffer,
    AssertStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    decl_buffer,
    is_buffer_var,
    stmt_list,
    stmt_seq,
)
from relax_mlir.tir.stmt import Block as SBlock
from relax_mlir.tir.stmt import BlockRealize as SBlockRealize
from relax_mlir.tir.tensor_intrin import TensorIntrin
from relax_mlir.tir.view.statements import BufferRegion

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "AllocBuffer",
    "And",
    "AssertStmt",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Block",
    "BlockRealize",
    "Buffer",
    "BufferLoad",
    "BufferRegion",
    "BufferStore",
    "Call",
    "Cast",
    "Div",
    "Evaluate",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "For",
    "ForKind",
    "IfThenElse",
    "IndexMap",
    "IntImm",
    "IterVar",
    "LShift",
    "LetStmt",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "PrimFunc",
    "ProducerLoad",
    "RShift",
    "Reduce",
    "SBlock",
    "SBlockRealize",
    "Schedule",
    "ScheduleError",
    "Select",
    "SeqStmt",
    "SizeVar",
    "Stmt",
    "StringImm",
    "Sub",
    "TensorIntrin",
    "Trace",
    "Var",
    "While",
    "abs",
    "acos",
    "acosh",
    "all",
    "analysis",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "build",
    "call_extern",
    "call_intrin",
    "call_packed",
    "call_pure_extern",
    "cast",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "const",
    "convert",
    "copysign",
    "cos",
    "cosh",
    "decl_buffer",
    "div",
    "dlight",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "fabs",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "ir_builder",
    "is_buffer_var",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "lower",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "nextafter",
    "popcount",
    "pow",
    "power",
    "q_multiply_shift",
    "q_multiply_shift_per_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "schedule",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "stmt_functor",
    "stmt_list",
    "stmt_seq",
    "sum",
    "tan",
    "tanh",
    "transform",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]

def BitwiseAnd(x: Any, y: Any) -> Any:
    """Return `bitwise_and` of two integers."""

def BitwiseNot(x: Any) -> PrimExpr:
    """Return bitwise_not of a number, an expression of its dtype or a bool."""

def BitwiseOr(x: Any, y: Any) -> Any:
    """Return `bitwise_or` of two integers."""

def BitwiseXor(x: Any, y: Any) -> Any:
    """Return `bitwise_xor` of two integers."""

def LShift(x: Any, y: Any) -> Any:
    """Return `shift_left` of two integers."""

def RShift(x: Any, y: Any) -> Any:
    """Return `shift_right` of two integers."""

def abs(x: Any) -> PrimExpr:
    """Return abs of a number, an expression of its dtype or a bool."""

def acos(x: Any) -> PrimExpr:
    """Return acos of a number, an expression of its dtype or a bool."""

def acosh(x: Any) -> PrimExpr:
    """Return acosh of a number, an expression of its dtype or a bool."""

def asin(x: Any) -> PrimExpr:
    """Return asin of a number, an expression of its dtype or a bool."""

def asinh(x: Any) -> PrimExpr:
    """Return asinh of a number, an expression of its dtype or a bool."""

def atan(x: Any) -> PrimExpr:
    """Return atan of a number, an expression of its dtype or a bool."""

def atanh(x: Any) -> PrimExpr:
    """Return atanh of a number, an expression of its dtype or a bool."""

def bitwise_and(x: Any, y: Any) -> Any:
    """Return `bitwise_and` of two integers."""

def bitwise_not(x: Any) -> PrimExpr:
    """Return bitwise_not of a number, an expression of its dtype or a bool."""

def bitwise_or(x: Any, y: Any) -> Any:
    """Return `bitwise_or` of two integers."""

def bitwise_xor(x: Any, y: Any) -> Any:
    """Return `bitwise_xor` of two integers."""

def ceil(x: Any) -> PrimExpr:
    """Return ceil of a number, an expression of its dtype or a bool."""

def clz(x: Any) -> PrimExpr:
    """Return clz of a number, an expression of its dtype or a bool."""

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

def fabs(x: Any) -> PrimExpr:
    """Return fabs of a number, an expression of its dtype or a bool."""

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

def round(x: Any) -> PrimExpr:
    """Return round of a number, an expression of its dtype or a bool."""

def rsqrt(x: Any) -> PrimExpr:
    """Return rsqrt of a number, an expression of its dtype or a bool."""

def shift_left(x: Any, y: Any) -> Any:
    """Return `shift_left` of two integers."""

def shift_right(x: Any, y: Any) -> Any:
    """Return `shift_right` of two integers."""

def sigmoid(x: Any) -> PrimExpr:
    """Return sigmoid of a number, an expression of its dtype or a bool."""

def sin(x: Any) -> PrimExpr:
    """Return sin of a number, an expression of its dtype or a bool."""

def sinh(x: Any) -> PrimExpr:
    """Return sinh of a number, an expression of its dtype or a bool."""

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
