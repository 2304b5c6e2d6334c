"""Elementwise operations: one scalar function of broadcast operands."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import (
    InferError,
    InferTypeError,
    broadcast,
    expect_tensor,
    join_dtypes,
    normalize_axes,
)
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define

# What an operation takes -> whether a dtype is of that kind.
_KINDS = {
    "any": lambda dtype: True,
    "floating-point": lambda dtype: "float" in dtype,
    "numeric": lambda dtype: dtype != "bool",
    "integer": lambda dtype: "int" in dtype,
    "integer or bool": lambda dtype: "float" not in dtype,
    "bool": lambda dtype: dtype == "bool",
}


def expect_kind(type_: ir.Type, kind: str, what: str = "operand") -> None:
    """Raise InferError unless the type is a tensor whose dtype, if known, is of the kind."""
    expect_tensor(type_, what)
    dtype = T.tensor_dtype(type_)
    if dtype and not _KINDS[kind](dtype):
        article = "an" if kind.startswith("i") else "a"
        cast = '; cast it first, as in R.astype(x, "int32")' if dtype == "bool" else ""
        raise InferTypeError(f"{what} must have {article} {kind} dtype, got {dtype}{cast}")


def as_tensor_type(type_: ir.Type) -> ir.Type:
    """Return the type of a tensor of one element for that of a number, others as they are."""
    return T.tensor_type([], T.dtype_of_element(type_)) if T.is_scalar(type_) else type_


def with_dtype(type_: ir.Type, dtype: str) -> ir.Type:
    """Return a tensor type with another dtype."""
    return T.tensor_type(T.tensor_dims(type_), dtype, T.tensor_ndim(type_))


class UnaryOp(ComputeOp):
    """`result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named."""

    PARAMS = (Param("x", "tensor"),)
    KIND = "floating-point"
    RESULT_DTYPE = None
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_kind(types[0], cls.KIND)
        return with_dtype(types[0], cls.RESULT_DTYPE) if cls.RESULT_DTYPE else types[0]


class BinaryOp(ComputeOp):
    """`result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

    PARAMS = (Param("x1", "tensor", scalar=True), Param("x2", "tensor", scalar=True))
    KIND = "any"
    RESULT_DTYPE = None
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        tensors = [as_tensor_type(type_) for type_ in types]
        result = broadcast(*tensors, cls.RESULT_DTYPE)
        for type_ in tensors:
            expect_kind(type_, cls.KIND)
        if all(map(T.is_scalar, types)):
            return T.element_type(T.tensor_dtype(result))
        return result


class ComparisonOp(BinaryOp):
    """`result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    """

    RESULT_DTYPE = "bool"

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        lhs, rhs = (with_dtype(as_tensor_type(type_), "bool") for type_ in types)
        result = broadcast(lhs, rhs)
        return T.element_type("bool") if all(map(T.is_scalar, types)) else result


class WhereOp(ComputeOp):
    """`x1[i]` where the condition holds, else `x2[i]`; all three broadcast by numpy's rules.

    The condition has dtype bool; `x1` and `x2` have one dtype, which is the result's.
    """

    PARAMS = (
        Param("condition", "tensor", numbers="bool"),
        Param("x1", "tensor"),
        Param("x2", "tensor"),
    )
    condition: ext.Operand[Any]
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_kind(types[0], "bool", "condition")
        values = broadcast(types[1], types[2])
        return broadcast(types[0], with_dtype(values, "bool"), join_dtypes(types[1:]))


class EwiseFmaOp(ComputeOp):
    """`x1[i] * x2[i] + x3[i]`; all three have one numeric dtype and broadcast by numpy's rules."""

    PARAMS = (Param("x1", "tensor"), Param("x2", "tensor"), Param("x3", "tensor"))
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    x3: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        for type_ in types:
            expect_kind(type_, "numeric")
        return broadcast(broadcast(types[0], types[1]), types[2])


class PreluOp(ComputeOp):
    """`x` where positive, else `x` times the slope of its channel.

    Args:
        data: tensor of a floating-point dtype; the result has its shape and dtype.
        alpha: one-dimensional tensor of the same dtype with an element for each channel, or one
            for all.
        axis: the axis of channels.
    """

    PARAMS = (Param("data", "tensor"), Param("alpha", "tensor"), Param("axis", "int", 1))
    data: ext.Operand[Any]
    alpha: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_kind(types[0], "floating-point", "data")
        expect_tensor(types[1], "alpha")
        join_dtypes(types)
        ndim, dims, slopes = (
            T.tensor_ndim(types[0]),
            T.tensor_dims(types[0]),
            T.tensor_dims(types[1]),
        )
        if T.tensor_ndim(types[1]) not in (-1, 1):
            raise InferError(f"alpha must have 1 dimension, got {T.tensor_ndim(types[1])}")
        if ndim >= 0:
            (axis,) = normalize_axes([attrs["axis"]], ndim)
            if dims is None or slopes is None or slopes[0] in (1, dims[axis]):
                return types[0]
            if (dims[axis] - slopes[0]).is_const:
                raise InferError(f"alpha has {slopes[0]} elements for {dims[axis]} channels")
        return types[0]


class CastOp(ComputeOp):
    """`result[i]` is `x[i]` in the dtype; floats become integers by rounding towards zero."""

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
        return with_dtype(types[0], dtype)


FLOAT_UNARY = {
    "acos": "Inverse cosine.",
    "acosh": "Inverse hyperbolic cosine.",
    "asin": "Inverse sine.",
    "asinh": "Inverse hyperbolic sine.",
    "atan": "Inverse tangent.",
    "atanh": "Inverse hyperbolic tangent.",
    "ceil": "Smallest integer not below x.",
    "cos": "Cosine.",
    "cosh": "Hyperbolic cosine.",
    "erf": "Error function.",
    "exp": "e to the power x.",
    "exp2": "2 to the power x.",
    "expm1": "e to the power x, minus 1, exact for small x.",
    "floor": "Largest integer not above x.",
    "gelu": "x times the normal distribution function.",
    "gelu_tanh": "gelu approximated by a hyperbolic tangent.",
    "log": "Natural logarithm.",
    "log10": "Logarithm in base 10.",
    "log1p": "Natural logarithm of 1 + x, exact for small x.",
    "log2": "Logarithm in base 2.",
    "round": "Nearest integer, ties to even.",
    "rsqrt": "Reciprocal square root.",
    "selu": "Scaled exponential linear unit.",
    "sigmoid": "1 / (1 + e^-x).",
    "silu": "x times sigmoid of x.",
    "sin": "Sine.",
    "sinh": "Hyperbolic sine.",
    "sqrt": "Square root.",
    "tan": "Tangent.",
    "tanh": "Hyperbolic tangent.",
    "trunc": "Nearest integer towards zero.",
}
ANY_UNARY = {
    "abs": "Absolute value.",
    "negative": "-x: each element with the other sign.",
    "relu": "max(x, 0).",
    "relu6": "min(max(x, 0), 6).",
    "square": "x * x.",
}
# Of integers they are the integers.
ROUNDING = ("ceil", "floor", "round", "trunc")
# What numpy rejects for bools, or answers with another dtype.
NOT_OF_BOOLS = frozenset(
    {"negative", "relu6", "subtract", "divide", "floor_divide", "mod", "floor_mod", "power"}
)
PREDICATES = {
    "isfinite": "Whether x is neither infinite nor NaN.",
    "isinf": "Whether x is infinite.",
    "isnan": "Whether x is NaN.",
    "logical_not": "Whether x is zero.",
}
# Unary operations with numbers as parameters: name -> (kind, parameters, text).
PARAMETRIC = {
    "clip": (
        "numeric",
        (Param("x", "tensor"), Param("min", "number"), Param("max", "number")),
        "x bounded from below and above; NaN stays.",
    ),
    "leakyrelu": (
        "floating-point",
        (Param("data", "tensor"), Param("alpha", "float", 0.01)),
        "x where positive, else alpha * x.",
    ),
    "softplus": (
        "floating-point",
        (Param("data", "tensor"), Param("beta", "float", 1.0), Param("threshold", "float", 20.0)),
        "log(1 + e^(beta * x)) / beta; x itself where beta * x is above the threshold.",
    ),
}
ARITHMETIC = {
    "add": "x1 + x2.",
    "subtract": "x1 - x2.",
    "multiply": "x1 * x2.",
    "divide": "x1 / x2; integers divide towards zero.",
    "floor_divide": "Largest integer not above x1 / x2.",
    "floor_mod": "Remainder of floor_divide; it has the sign of x2.",
    "mod": "Remainder of division towards zero; it has the sign of x1.",
    "power": "x1 to the power x2.",
    "maximum": "The larger operand; NaN when either is.",
    "minimum": "The smaller operand; NaN when either is.",
}
FLOAT_BINARY = {
    "atan2": "Angle of the point (x2, x1).",
    "log_add_exp": "log(e^x1 + e^x2).",
}
BITWISE = {
    "bitwise_and": "Bits in both operands.",
    "bitwise_or": "Bits in either operand.",
    "bitwise_xor": "Bits in one operand only.",
}
SHIFTS = {
    "left_shift": "x1 * 2^x2, bits shifted out are lost.",
    "right_shift": "Largest integer not above x1 / 2^x2.",
}
COMPARISON = {
    "equal": "x1 == x2.",
    "not_equal": "x1 != x2.",
    "less": "x1 < x2.",
    "less_equal": "x1 <= x2.",
    "greater": "x1 > x2.",
    "greater_equal": "x1 >= x2.",
}
LOGICAL = {
    "logical_and": "Whether neither operand is zero.",
    "logical_or": "Whether an operand is not zero.",
    "logical_xor": "Whether just one operand is zero.",
}


def _kind_of(name: str) -> str:
    return "numeric" if name in NOT_OF_BOOLS else "any"


# Those of `R.nn`, whose operand has another name.
_OF_DATA = ("gelu", "gelu_tanh", "relu", "relu6", "selu", "silu")

for _name, _doc in {**FLOAT_UNARY, **ANY_UNARY}.items():
    _kind = _kind_of(_name) if _name in ANY_UNARY else "floating-point"
    _kind = "numeric" if _name in ROUNDING else _kind
    _params = (Param("data" if _name in _OF_DATA else "x", "tensor"),)
    define(UnaryOp, _name, _doc, KIND=_kind, PARAMS=_params)
for _name, _doc in PREDICATES.items():
    define(UnaryOp, _name, _doc, KIND="any", RESULT_DTYPE="bool")
for _name, (_kind, _params, _doc) in PARAMETRIC.items():
    define(UnaryOp, _name, _doc, KIND=_kind, PARAMS=_params)
for _name, _doc in ARITHMETIC.items():
    define(BinaryOp, _name, _doc, KIND=_kind_of(_name))
for _name, _doc in FLOAT_BINARY.items():
    define(BinaryOp, _name, _doc, KIND="floating-point")
for _name, _doc in BITWISE.items():
    define(BinaryOp, _name, _doc, KIND="integer or bool")
for _name, _doc in SHIFTS.items():
    define(BinaryOp, _name, _doc, KIND="integer")
for _name, _doc in COMPARISON.items():
    define(ComparisonOp, _name, _doc)
for _name, _doc in LOGICAL.items():
    define(BinaryOp, _name, _doc, RESULT_DTYPE="bool")
define(UnaryOp, "sign", "-1, 0 or 1; NaN stays.", KIND="numeric")
define(UnaryOp, "bitwise_not", "Every bit inverted.", KIND="integer or bool")
define(WhereOp, "where", "Choose by a condition.")
define(EwiseFmaOp, "ewise_fma", "x1 * x2 + x3: multiply and add.")
define(PreluOp, "prelu", "Leaky relu with a slope for every channel.")
define(CastOp, "astype", "Convert to another dtype.")
