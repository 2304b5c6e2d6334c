"""Elementwise kernels against numpy, at the edges of every dtype."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Program
from samples import FLOATS, INTEGERS, LENGTHS, SIGNED, UNSIGNED, check, pairs, sample, with_edges

from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import (
    ANY_UNARY,
    ARITHMETIC,
    COMPARISON,
    FLOAT_UNARY,
)
from relax_mlir.errors import PassError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
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
    "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "square": lambda x: x * x,
}

# 1 + erf(x) cancels below zero; x * sigmoid(x) multiplies a number that may be subnormal.
SCALE = {"gelu": 1.0, "silu": 1e-34}


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


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISON])
def test_binary(op: str) -> None:
    dtypes = FLOATS + INTEGERS
    if op in COMPARISON and op not in ("less", "equal"):
        dtypes = ("float32", "int32", "uint64")
    if op in COMPARISON or op in ("add", "multiply", "maximum", "minimum"):
        dtypes += ("bool",)
    program = Program()
    for dtype in dtypes:
        program.op(dtype, op, (["n"], dtype), (["n"], dtype))
    vm = program.build()
    function = _truncated_quotient if op == "divide" else getattr(np, op)
    for dtype in dtypes:
        for length in LENGTHS:
            a, b = pairs(length, dtype)
            if op == "power" and dtype in INTEGERS:
                b %= 7
            check(vm[dtype](a, b), function(a, b), what=(op, dtype, length))


def test_negative_powers_of_integers_round_towards_zero() -> None:
    program = Program()
    program.op("f", "power", (["n"], "int32"), (["n"], "int32"))
    bases, exponents = np.array([[2, 1, -1, -1, 3, 0], [-1, -5, -3, -2, 2, 0]], "int32")
    check(program.build()["f"](bases, exponents), np.array([0, 1, -1, 1, 9, 1], "int32"))


@pytest.mark.parametrize("op", ["negative", "subtract", "divide", "floor_divide", "power"])
def test_no_arithmetic_on_bools(op: str) -> None:
    program = Program()
    count = sum(param.is_operand for param in COMPUTE_OPS[op].PARAMS)
    program.op("f", op, *[(["n"], "bool")] * count)
    with pytest.raises(PassError, match="not defined for bool: cast"):
        program.build()


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
