"""`topi`: elementwise and broadcasting functions against numpy, static and symbolic."""

import math

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError

X = random(5, 7)
UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "isfinite": np.isfinite,
    "isinf": np.isinf, "isnan": np.isnan, "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "negative": np.negative, "round": np.round, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sign": np.sign, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "square": np.square, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
    "erf": np.vectorize(math.erf, otypes=["float32"]),
}  # fmt: skip
DOMAIN = {
    "acosh": X + 4, "log": abs(X) + 0.1, "log10": abs(X) + 0.1, "log2": abs(X) + 0.1,
    "rsqrt": abs(X) + 0.1, "sqrt": abs(X), "acos": X / 3, "asin": X / 3, "atanh": X / 3,
    "log1p": abs(X),
}  # fmt: skip


def test_unary() -> None:
    check([
        Case(name, getattr(topi, name), [data := DOMAIN.get(name, X)], function(data), ["nm"], 2e-5)
        for name, function in UNARY.items()
    ])  # fmt: skip


def test_integers_and_casts() -> None:
    ints, bytes_ = random(6, dtype="int32", low=-9, high=9), random(6, dtype="uint8", low=0, high=9)
    check([
        Case("absolute", topi.abs, [ints], abs(ints), ["n"]),
        Case("inverted", topi.bitwise_not, [ints], ~ints, ["n"]),
        Case("inverted_bytes", topi.bitwise_not, [bytes_], ~bytes_, ["n"]),
        Case("not_", topi.logical_not, [ints], ints == 0, ["n"]),
        Case("to_half", lambda x: topi.cast(x, "float16"), [X], X.astype("float16"), ["nm"]),
        Case("to_int", lambda x: topi.cast(x, "int32"), [X], X.astype("int32"), ["nm"]),
        Case("bits", lambda x: topi.reinterpret(x, "int32"), [X], X.view("int32"), ["nm"]),
        Case("limited", lambda x: topi.clip(x, -1, 0.5), [X], X.clip(-1, 0.5), ["nm"]),
        Case("whole", lambda x: topi.clip(x, -1.5, 3), [ints], ints.clip(-1, 3), ["n"]),
        Case("same", topi.identity, [X], X, ["nm"]),
        Case("sum", lambda x, y: topi.elemwise_sum([x, y, x]), [X, X + 1], 3 * X + 1, ["nm", "nm"]),
    ])  # fmt: skip


A, B = random(3, 1, 5), random(4, 1) + 3
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_divide": np.floor_divide, "mod": np.fmod, "floor_mod": np.mod, "maximum": np.maximum,
    "minimum": np.minimum, "atan2": np.arctan2, "log_add_exp": np.logaddexp, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
INTEGERS = {
    "add": np.add, "floor_divide": np.floor_divide, "floor_mod": np.mod,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "left_shift": np.left_shift,
    "right_shift": np.right_shift, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}  # fmt: skip


def test_binary() -> None:
    check([
        Case(name, getattr(topi, name), [A, B], function(A, B), ["a_c", "b_"], 2e-5)
        for name, function in BINARY.items()
    ])  # fmt: skip
    check([Case("power", topi.power, [abs(A), B], abs(A) ** B, ["a_c", "b_"])])


def test_binary_of_integers() -> None:
    a, b = random(4, 3, dtype="int32", low=0, high=20), random(3, dtype="int32", low=1, high=5)
    check([
        Case(name, getattr(topi, name), [a, b], function(a, b), ["nm", "m"])
        for name, function in INTEGERS.items()
    ])  # fmt: skip


def test_promotion_scalars_and_operators() -> None:
    half, ints = X.astype("float16"), random(7, dtype="int32", low=-9, high=9)
    double = X.astype("float64")
    check([
        Case("mixed", topi.add, [X, ints], X + ints.astype("float32"), ["nm", "m"]),
        Case("wider", topi.multiply, [double, X], double * X, ["nm", "nm"]),
        Case("weak", lambda x: topi.add(x, 1.5), [half], half + np.float16(1.5), ["nm"]),
        Case("operators", lambda x, y: 2 - x * y + 1, [X, X], 3 - X * X, ["nm", "nm"]),
        Case("divided", lambda x: x / 4, [X], X / 4, ["nm"]),
        Case("either", topi.where, [X > 0, X, ints], np.where(X > 0, X, ints).astype("float32"),
             ["nm", "nm", "m"]),
        Case("spread", lambda x: topi.broadcast_to(x, (2, 3, 4, 5)), [A],
             np.broadcast_to(A[:, :1], (2, 3, 4, 5))),
    ])  # fmt: skip
    assert topi.add(te.const(1), 2).value == 3


def test_errors() -> None:
    n = tir.Var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((3,), name="b")
    with pytest.raises(ExprError, match=r"topi.add: dimensions n and 3 do not broadcast.*match_ca"):
        topi.add(a, b)
    with pytest.raises(ExprTypeError, match=r"topi\.clip takes a te.Tensor as 'x', got 3"):
        topi.clip(3, 0, 1)
    with pytest.raises(ExprTypeError, match="'bitwise_and' needs integers or bools, got float32"):
        topi.bitwise_and(b, b)
    with pytest.raises(ExprTypeError, match="'exp' needs a floating-point operand, got int32"):
        topi.exp(te.placeholder((3,), "int32"))
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        topi.frobnicate
