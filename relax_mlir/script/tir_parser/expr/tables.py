"""Tables of operators and intrinsics, with their operations in the dialect."""

import ast
import operator
from collections.abc import Callable

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARISONS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
UNARY = {
    **{name: name for name in S.UNARY_NAMES},
    "fabs": "abs",
    "nearbyint": "round",
}
BINARY = {
    "max": "max", "min": "min", "pow": "pow", "power": "pow", "floordiv": "floordiv",
    "floormod": "mod", "truncdiv": "div", "truncmod": "truncmod", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "shift_left": "shl", "shift_right": "shr",
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "FloorDiv": "floordiv",
    "FloorMod": "mod", "Max": "max", "Min": "min", "atan2": "atan2", "copysign": "copysign",
    "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "LShift": "shl", "RShift": "shr",
    "Mod": "truncmod",
}  # fmt: skip
OTHERS = (
    "cast", "Cast", "IntImm", "FloatImm", "block", "grid", "serial", "parallel", "axis", "reads",
    "writes", "init", "where", "evaluate", "alloc_buffer", "match_buffer",
)  # fmt: skip
SYMBOLIC: dict[str, Callable[[SymExpr, SymExpr], SymExpr]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": lambda a, b: a.max(b),
    "min": lambda a, b: a.min(b),
}


# What TVM gives to extents and indices, which are the machine's own integers here.
INDEX_DTYPES = ("int64", "int32")

WHOLE: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "max": max, "min": min,
}  # fmt: skip
