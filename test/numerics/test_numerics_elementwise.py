"""Elementwise kernels against numpy, at the edges of every dtype."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Program, tensor
from samples import FLOATS, INTEGERS, LENGTHS, SIGNED, UNSIGNED, check, pairs, sample, with_edges

from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import (
    ANY_UNARY,
    ARITHMETIC,
    BITWISE,
    COMPARISON,
    FLOAT_BINARY,
    FLOAT_UNARY,
    LOGICAL,
    NOT_OF_BOOLS,
    PREDICATES,
    ROUNDING,
    SHIFTS,
    BinaryOp,
    UnaryOp,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.unoptimized,
]
_erf = np.vectorize(math.erf, otypes=["float64"])


def _wide(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: function(x.astype("float64")).astype(x.dtype)


# The reference of what numpy has no function for.
REFERENCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": _wide(_erf),
    "gelu": _wide(lambda x: 0.5 * x * (1 + _erf(x * math.sqrt(0.5)))),
    "rsqrt": _wide(lambda x: 1 / np.sqrt(x)),
    "sigmoid": _wide(lambda x: 1 / (1 + np.exp(-x))),
    "silu": _wide(lambda x: x / (1 + np.exp(-x))),
    "gelu_tanh": _wide(
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "selu": _wide(
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))
    ),
    "acos": _wide(np.arccos),
    "acosh": _wide(np.arccosh),
    "asin": _wide(np.arcsin),
    "asinh": _wide(np.arcsinh),
    "atan": _wide(np.arctan),
    "atanh": _wide(np.arctanh),
    "relu6": lambda x: np.clip(x, x.dtype.type(0), x.dtype.type(6)),
    "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "square": lambda x: x * x,
}

# 1 + erf(x) cancels below zero; x * sigmoid(x) multiplies a number that may be subnormal.
SCALE = {"gelu": 1.0, "gelu_tanh": 1.0, "log_add_exp": 1.0, "silu": 1e-34}


@pytest.mark.parametrize("op", [*FLOAT_UNARY, *ANY_UNARY])
def test_unary(op: str) -> None:
    dtypes = FLOATS if op in FLOAT_UNARY else FLOATS + INTEGERS
    if op in ("abs", "relu", "square"):
        dtypes += ("bool",)
    program = Program()
    for dtype in dtypes:
        program.op(dtype, op, (["n"], dtype))
    vm = program.build()
    function = REFERENCE.get(op) or (
        _wide(getattr(np, op)) if op in FLOAT_UNARY else getattr(np, op)
    )
    for dtype in dtypes:
        for length in LENGTHS:
            x = with_edges(length, dtype)
            check(vm[dtype](x), function(x), scale=SCALE.get(op, 0.0), what=(op, dtype, length))


def _truncated_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b towards zero, 0 where b is; numpy only has the one towards minus infinity."""
    if a.dtype.kind == "f":
        return a / b
    values = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        quotient = abs(x) // abs(y) if y else 0
        values.append(quotient if (x < 0) == (y < 0) else -quotient)
    mask = 2 ** (8 * a.dtype.itemsize) - 1
    return np.array([value & mask for value in values], "uint64").astype(a.dtype)


@pytest.mark.parametrize("op", [*PREDICATES, "sign", "bitwise_not"])
def test_unary_of_other_kinds(op: str) -> None:
    dtypes = (
        *INTEGERS,
        *(() if op == "bitwise_not" else FLOATS),
        *(("bool",) if op != "sign" else ()),
    )
    program = Program()
    for dtype in dtypes:
        program.op(dtype, op, (["n"], dtype))
    vm = program.build()
    for dtype in dtypes:
        for length in LENGTHS:
            x = with_edges(length, dtype)
            check(vm[dtype](x), getattr(np, op)(x), what=(op, dtype, length))


FUNCTIONS = {
    "divide": _truncated_quotient,
    "mod": np.fmod,
    "floor_mod": np.mod,
    "atan2": np.arctan2,
    "log_add_exp": np.logaddexp,
}


@pytest.mark.parametrize(
    "op", [*ARITHMETIC, *COMPARISON, *FLOAT_BINARY, *BITWISE, *SHIFTS, *LOGICAL]
)
def test_binary(op: str) -> None:
    dtypes = FLOATS if op in FLOAT_BINARY else INTEGERS
    if op in ARITHMETIC or op in COMPARISON or op in LOGICAL:
        dtypes += FLOATS
    if op in COMPARISON and op not in ("less", "equal"):
        dtypes = ("float32", "int32", "uint64")
    if (
        op in COMPARISON
        or op in LOGICAL
        or op in BITWISE
        or op in ("add", "multiply", "maximum", "minimum")
    ):
        dtypes += ("bool",)
    program = Program()
    for dtype in dtypes:
        program.op(dtype, op, (["n"], dtype), (["n"], dtype))
    vm = program.build()
    function = FUNCTIONS.get(op) or getattr(np, op)
    for dtype in dtypes:
        for length in LENGTHS:
            a, b = pairs(length, dtype)
            if op == "power" and dtype in INTEGERS:
                b %= 7
            wanted, scale = function(a, b), SCALE.get(op, 0.0)
            check(vm[dtype](a, b), wanted, scale=scale, what=(op, dtype, length))


@pytest.mark.parametrize("op", sorted(ROUNDING))
def test_integers_stay_when_rounded(op: str) -> None:
    program = Program()
    for dtype in ("int8", "uint64"):
        program.op(dtype, op, (["n"], dtype))
        program.op(f"{dtype}_unknown", op, (None, ""))
    vm = program.build()
    for dtype in ("int8", "uint64"):
        for name in (dtype, f"{dtype}_unknown"):
            check(vm[name](with_edges(67, dtype)), with_edges(67, dtype))


@pytest.mark.parametrize("op", ["equal", "less", "greater_equal"])
def test_numbers_of_several_dtypes_are_compared_as_numpy_does(op: str) -> None:
    pairs_of = [("float32", "int32"), ("int8", "uint8"), ("bool", "float16"), ("int64", "uint8")]
    program = Program()
    for index, (a, b) in enumerate(pairs_of):
        program.op(f"f{index}", op, (["n", 1], a), (["m"], b))
        program.op(f"f{index}_unknown", op, (None, ""), (None, ""))
    vm = program.build()
    for index, (a, b) in enumerate(pairs_of):
        for length in (0, 1, 67):
            x, y = with_edges(length, a)[:, None], with_edges(17, b, 1)
            for name in (f"f{index}", f"f{index}_unknown"):
                check(vm[name](x, y), getattr(np, op)(x, y), what=(a, b, length))


def test_negative_powers_of_integers_round_towards_zero() -> None:
    program = Program()
    program.op("f", "power", (["n"], "int32"), (["n"], "int32"))
    bases, exponents = np.array([[2, 1, -1, -1, 3, 0], [-1, -5, -3, -2, 2, 0]], "int32")
    check(program.build()["f"](bases, exponents), np.array([0, 1, -1, 1, 9, 1], "int32"))


@pytest.mark.parametrize("op", sorted(NOT_OF_BOOLS))
def test_no_arithmetic_on_bools(op: str) -> None:
    program = Program()
    count = sum(param.is_operand for param in COMPUTE_OPS[op].PARAMS)
    with pytest.raises(InferError, match="numeric dtype, got bool; cast it first"):
        program.op("f", op, *[(["n"], "bool")] * count)


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "bool"])
def test_astype(source: str) -> None:
    targets = [dtype for dtype in (*FLOATS, *INTEGERS, "bool") if dtype != source]
    program = Program()
    for dtype in targets:
        program.op(dtype, "astype", (["n"], source), dtype=dtype)
    vm = program.build()
    for dtype in targets:
        for length in LENGTHS:
            x = with_edges(length, source)
            if source in FLOATS and dtype in INTEGERS:
                # Numbers that do not fit have no defined conversion, only one that does no harm.
                assert vm[dtype](x).shape == x.shape
                x = sample(length, source, scale=30.0)
                x = np.abs(x) if dtype in UNSIGNED else x
                x = np.clip(x, -100, 100)
            check(vm[dtype](x), x.astype(dtype), what=(source, dtype, length))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_clip(dtype: str) -> None:
    bounds = [(-2.5, 4.0), (0.0, math.inf), (-math.inf, -1.0), (5.0, 3.0), (-1e30, 1e30)]
    program = Program()
    for index, (low, high) in enumerate(bounds):
        program.op(f"f{index}", "clip", (["n"], dtype), min=low, max=high)
    vm = program.build()
    for index, (low, high) in enumerate(bounds):
        x = with_edges(67, dtype)
        limits = np.finfo(dtype) if dtype in FLOATS else np.iinfo(dtype)
        if dtype in FLOATS:
            wanted = np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))
        else:
            low, high = (
                int(min(max(b, float(limits.min)), float(limits.max))) if abs(b) > 99 else b
                for b in (low, high)
            )
            low, high = (
                max(math.ceil(low), limits.min),
                max(min(math.floor(high), limits.max), limits.min),
            )
            wanted = np.array([min(max(int(v), low), high) for v in x], dtype)
        check(vm[f"f{index}"](x), wanted, what=(dtype, low, high))


def test_bounds_may_be_symbols() -> None:
    program = Program()
    program.function(
        "f",
        lambda: [tensor(["n"], "int32")],
        lambda x: relax_op("clip", [x], {"min": -1, "max": SymExpr.var("n") * 2}),
    )
    x = np.array([-5, 0, 5, 9], "int32")
    check(program.build()["f"](x), np.array([-1, 0, 5, 8], "int32"))


@pytest.mark.parametrize("dtype", FLOATS)
def test_activations_with_parameters(dtype: str) -> None:
    program = Program()
    program.op("leaky", "leakyrelu", (["n"], dtype), alpha=0.3)
    program.op("soft", "softplus", (["n"], dtype), beta=0.5, threshold=8.0)
    program.op("default", "softplus", (["n"], dtype))
    for axis in (0, 1, -1):
        dims = ["a", "b", "c"]
        program.op(f"prelu{axis}", "prelu", (dims, dtype), ([dims[axis]], dtype), axis=axis)
    program.op("prelu", "prelu", (["a", "b", "c"], dtype), ([1], dtype))
    program.op("unknown_prelu", "prelu", (None, dtype), (None, dtype))
    vm = program.build()
    for length in LENGTHS:
        x = with_edges(length, dtype)
        wide = x.astype("float64")
        check(vm["leaky"](x), np.where(x > 0, wide, 0.3 * wide).astype(dtype), what=length)
        soft = np.where(wide * 0.5 > 8, wide, np.log1p(np.exp(wide * 0.5)) / 0.5)
        check(vm["soft"](x), soft.astype(dtype), what=length)
        soft = np.where(wide > 20, wide, np.log1p(np.exp(wide)))
        check(vm["default"](x), soft.astype(dtype), what=length)
    for axis in (0, 1, -1):
        for shape in [(2, 3, 5), (1, 17, 1), (3, 0, 2)]:
            x, slopes = sample(shape, dtype), sample(shape[axis], dtype, 1)
            around = [-1 if i == axis % 3 else 1 for i in range(3)]
            wanted = np.where(x > 0, x, x * slopes.reshape(around))
            check(vm[f"prelu{axis}"](x, slopes), wanted, what=(axis, shape))
            one = sample(1, dtype, 2)
            for name in ("prelu", "unknown_prelu"):
                check(vm[name](x, one), np.where(x > 0, x, x * one), what=shape)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint64", "bool"])
def test_where(dtype: str) -> None:
    program = Program()
    program.op("same", "where", (["n"], "bool"), (["n"], dtype), (["n"], dtype))
    program.op("wide", "where", (["n", 1], "bool"), (["m"], dtype), ([], dtype))
    program.op("late", "where", (["k"], "bool"), (["n"], dtype), (["m"], dtype))
    program.op("rank", "where", (None, "bool"), (None, dtype), (None, ""))
    vm = program.build()
    for length in LENGTHS:
        c, a, b = sample(length, "bool"), with_edges(length, dtype), sample(length, dtype, 2)
        check(vm["same"](c, a, b), np.where(c, a, b))
        one = np.asarray(sample((), dtype, 5))
        check(vm["wide"](c[:7, None], a, one), np.where(c[:7, None], a, one))
        check(vm["rank"](c[:7, None], a, one), np.where(c[:7, None], a, one))
        check(vm["late"](c, a, b), np.where(c, a, b))


def test_fused_multiply_add() -> None:
    program = Program()
    for dtype in (*FLOATS, "int32"):
        program.op(dtype, "ewise_fma", (["n", "m"], dtype), (["m"], dtype), ([], dtype))
    vm = program.build()
    for dtype in (*FLOATS, "int32"):
        a, b, c = sample((5, 7), dtype), sample(7, dtype, 1), np.asarray(sample((), dtype, 2))
        check(vm[dtype](a, b, c), a * b + c, scale=10.0)


DTYPE_OF_KIND = {
    "any": "float64",
    "floating-point": "float32",
    "numeric": "int64",
    "integer": "uint8",
    "integer or bool": "bool",
}


@pytest.mark.parametrize("base", [UnaryOp, BinaryOp])
def test_the_library_computes_the_same(base: type[UnaryOp] | type[BinaryOp]) -> None:
    program, cases = Program(), []
    for name, cls in COMPUTE_OPS.items():
        if issubclass(cls, base):
            dtype = DTYPE_OF_KIND[cls.KIND]
            attrs = {"min": -1.0, "max": 1.5} if name == "clip" else {}
            count = sum(param.is_operand for param in cls.PARAMS)
            program.op(name, name, *[(["n"], dtype)] * count, **attrs)
            program.op(f"{name}_unknown", name, *[(None, "")] * count, **attrs)
            cases.append((name, dtype, count))
    vm = program.build()
    for name, dtype, count in cases:
        for length in (0, 1, 67):
            values = [with_edges(length, dtype, seed) for seed in range(count)]
            got, wanted = vm[f"{name}_unknown"](*values), vm[name](*values)
            scale = SCALE.get(name, 1e-30)
            check(got, wanted, ulps=16, scale=scale, what=(name, dtype, length))


@st.composite
def _broadcast(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return two shapes that broadcast."""
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), max_size=4))
    sides = []
    for _ in range(2):
        side = [draw(st.sampled_from([dim, 1])) for dim in shape]
        sides.append(side[draw(st.integers(0, len(side))) :])
    return sides[0], sides[1]


@settings(max_examples=4)
@given(st.lists(_broadcast(), min_size=6, max_size=6))
def test_broadcasting(cases: list[tuple[list[int], list[int]]]) -> None:
    program = Program()
    for index, (lhs, rhs) in enumerate(cases):
        program.op(f"static{index}", "subtract", (lhs, "float32"), (rhs, "float32"))
        # Equal sizes share a symbol; what stays 1 is a constant.
        named = [[dim if dim == 1 else f"d{dim}" for dim in side] for side in (lhs, rhs)]
        program.op(f"symbolic{index}", "less", (named[0], "int16"), (named[1], "int16"))
    vm = program.build()
    for index, (lhs, rhs) in enumerate(cases):
        a, b = sample(lhs, "float32", 1), sample(rhs, "float32", 2)
        check(vm[f"static{index}"](a, b), a - b, what=(lhs, rhs))
        a, b = sample(lhs, "int16", 1), sample(rhs, "int16", 2)
        check(vm[f"symbolic{index}"](a, b), a < b, what=(lhs, rhs))


def test_broadcasting_that_only_run_time_knows() -> None:
    program = Program()
    program.op("f", "add", (["n"], "float32"), (["m"], "float32"))
    vm = program.build()
    for n, m in [(3, 3), (1, 5), (5, 1), (0, 1)]:
        a, b = sample(n, "float32", 1), sample(m, "float32", 2)
        check(vm["f"](a, b), a + b, what=(n, m))
    with pytest.raises(ValueError, match="broadcast"):
        vm["f"](sample(2, "float32"), sample(3, "float32"))


def test_every_signed_dtype_divides_its_lowest_number() -> None:
    program = Program()
    for dtype in SIGNED:
        program.op(dtype, "floor_divide", ([1], dtype), ([1], dtype))
    vm = program.build()
    for dtype in SIGNED:
        lowest = np.array([np.iinfo(dtype).min], dtype)
        check(vm[dtype](lowest, np.array([-1], dtype)), lowest)
        check(vm[dtype](lowest, np.array([0], dtype)), np.zeros(1, dtype))
