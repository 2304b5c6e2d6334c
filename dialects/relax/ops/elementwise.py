"""Elementwise operations: one scalar function applied to every element, operands broadcast."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, broadcast, expect_tensor
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class UnaryOp(ComputeOp):
    """`result[i] = f(x[i])`, of the operand's type."""

    PARAMS = (Param("x", "tensor"),)
    FLOAT_ONLY = True
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_tensor(types[0], "operand")
        dtype = T.tensor_dtype(types[0])
        if cls.FLOAT_ONLY and dtype and "float" not in dtype:
            raise InferError(f"operand must have a floating-point dtype, got {dtype}")
        return types[0]


class BinaryOp(ComputeOp):
    """`result[i] = f(lhs[i], rhs[i])` with numpy's broadcasting."""

    PARAMS = (Param("lhs", "tensor"), Param("rhs", "tensor"))
    RESULT_DTYPE = None
    lhs: ext.Operand[Any]
    rhs: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return broadcast(types[0], types[1], cls.RESULT_DTYPE)


class CastOp(ComputeOp):
    """`result[i]` is `x[i]` converted to another dtype, towards zero from float to integer."""

    PARAMS = (Param("x", "tensor"), Param("dtype", "dtype"))
    x: ext.Operand[Any]
    dtype: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_tensor(types[0], "operand")
        try:
            dtype = T.normalize_dtype(attrs["dtype"])
        except ValueError as error:
            raise InferError(str(error)) from error
        dims = T.tensor_dims(types[0])
        return T.tensor_type(dims, dtype, T.tensor_ndim(types[0]))


FLOAT_UNARY = {
    "exp": "e to the power x.",
    "log": "Natural logarithm.",
    "sqrt": "Square root.",
    "rsqrt": "Reciprocal square root.",
    "sin": "Sine.",
    "cos": "Cosine.",
    "tanh": "Hyperbolic tangent.",
    "erf": "Error function.",
    "sigmoid": "1 / (1 + e^-x).",
    "floor": "Largest integer not above x.",
    "ceil": "Smallest integer not below x.",
    "round": "Nearest integer, ties to even.",
    "gelu": "x times the normal distribution function.",
    "silu": "x times sigmoid of x.",
}
ANY_UNARY = {
    "abs": "Absolute value.",
    "negative": "-x.",
    "relu": "max(x, 0).",
    "square": "x * x.",
}
ARITHMETIC = {
    "add": "lhs + rhs.",
    "subtract": "lhs - rhs.",
    "multiply": "lhs * rhs.",
    "divide": "lhs / rhs; integers divide towards zero.",
    "floor_divide": "Largest integer not above lhs / rhs.",
    "power": "lhs to the power rhs.",
    "maximum": "The larger operand; NaN when either is.",
    "minimum": "The smaller operand; NaN when either is.",
}
COMPARISON = {
    "equal": "lhs == rhs.",
    "not_equal": "lhs != rhs.",
    "less": "lhs < rhs.",
    "less_equal": "lhs <= rhs.",
    "greater": "lhs > rhs.",
    "greater_equal": "lhs >= rhs.",
}

for _name, _doc in FLOAT_UNARY.items():
    define(UnaryOp, _name, _doc)
for _name, _doc in ANY_UNARY.items():
    define(UnaryOp, _name, _doc, FLOAT_ONLY=False)
for _name, _doc in ARITHMETIC.items():
    define(BinaryOp, _name, _doc)
for _name, _doc in COMPARISON.items():
    define(BinaryOp, _name, _doc, RESULT_DTYPE="bool")
define(CastOp, "astype", "Convert to another dtype.")
