"""Reductions and softmax against numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.reduce import ARG_REDUCTIONS, MOMENTS, REDUCTIONS, TRUTHS

pytestmark = [pytest.mark.unoptimized, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
# Sizes of n, m and k: empty, ones, odd and prime, longer than any tile on one side.
SIZES = ((1, 1, 1), (0, 3, 2), (3, 0, 2), (17, 13, 11), (67, 131, 3), (2, 1009, 2), (1009, 2, 3))
# Shape, axes, keepdims.
LAYOUTS = (
    (["n"], None, False),
    (["n", "m"], [1], False),
    (["n", "m"], [0], True),
)
MORE_LAYOUTS = (
    (["n", "m", "k"], [1], False),
    (["n", "m", "k"], [0, 2], False),
    (["n", "m", "k"], [-1, 0], True),
    ([], None, False),
    ([3, 5], None, True),
    ([3, 5], [], False),
    ([3, 0], [1], False),
    ([3, 70, 21], [0, 2], False),
)


def _shape(dims: list[Any], sizes: tuple[int, ...]) -> list[int]:
    named = dict(zip("nmk", sizes, strict=True))
    return [named.get(dim, dim) for dim in dims]


def _reference(op: str, x: np.ndarray, axes: list[int] | None, keepdims: bool) -> np.ndarray:
    kept = {"axis": None if axes is None else tuple(axes), "keepdims": keepdims}
    if op in ("max", "min"):
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else np.array([False, True])
        if x.dtype.kind == "f":
            initial = -np.inf if op == "max" else np.inf
        elif x.dtype == np.bool_:
            initial = limits[0] if op == "max" else limits[1]
        else:
            initial = limits.min if op == "max" else limits.max
        return getattr(np, op)(x, initial=initial, **kept)
    if op == "variance":
        return np.var(x.astype("float64"), **kept).astype(x.dtype)
    if op in TRUTHS:
        return np.asarray(getattr(np, op)(x, **kept))
    if x.dtype.kind == "f":
        return getattr(np, op)(x.astype("float64"), **kept).astype(x.dtype)
    if op == "mean":
        total = np.sum(x, dtype=f"{x.dtype.kind}8", **kept)
        count = x.size // max(np.size(total), 1)
        # Towards zero, and 0 of nothing.
        quotient = np.trunc(total.astype("longdouble") / max(count, 1))
        return np.asarray(quotient).astype(x.dtype)
    return getattr(np, op)(x, dtype=x.dtype, **kept)


@pytest.mark.parametrize("op", [*REDUCTIONS, *MOMENTS, *TRUTHS])
def test_reduction(op: str) -> None:
    program, cases = Program(), []
    dtypes = FLOATS if op in MOMENTS else (*FLOATS, *INTEGERS, "bool")
    dtypes = dtypes[:-1] if op == "mean" else dtypes
    dtypes = ("float32", "int8", "bool") if op in TRUTHS else dtypes
    for dtype in dtypes:
        layouts = LAYOUTS if dtype in FLOATS else LAYOUTS[1:2]
        layouts += MORE_LAYOUTS if dtype == "float32" else ()
        for dims, axes, keepdims in layouts:
            name = f"f{len(cases)}"
            program.op(name, op, (dims, dtype), axis=axes, keepdims=keepdims)
            cases.append((name, dtype, dims, axes, keepdims))
    vm = program.build()
    for name, dtype, dims, axes, keepdims in cases:
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype)
            if op == "prod" and dtype in FLOATS:
                x = np.exp2(np.round(x / 3)).astype(dtype)
            if op in TRUTHS and x.size > 50:
                x = np.where(sample(x.shape, dtype, 1) > 2, x, x.dtype.type(0))
            wanted = _reference(op, x, axes, keepdims)
            longest = x.size // max(wanted.size, 1)
            check(
                vm[name](x), wanted, ulps=8 + longest**0.5, scale=3 * longest**0.5,
                what=(op, dtype, dims, axes, sizes),
            )  # fmt: skip


def _place(op: str, x: np.ndarray, axis: int | None, keepdims: bool) -> np.ndarray:
    """Return numpy's answer, and 0 where it has none: of no elements."""
    if x.size:
        return np.asarray(getattr(np, op)(x, axis=axis, keepdims=keepdims), "int64")
    shape = np.sum(x, axis=axis, keepdims=keepdims).shape
    return np.zeros(shape, "int64")


@pytest.mark.parametrize("op", ARG_REDUCTIONS)
def test_arg_reduction(op: str) -> None:
    program, cases = Program(), []
    for dtype in (*FLOATS, "int8", "uint64", "bool"):
        layouts: list[tuple[list[Any] | None, int | None, bool]] = [
            (["n", "m", "k"], 1, False), (["n", "m"], -1, True), (["n", "m"], None, False),
        ]  # fmt: skip
        if dtype == "float32":
            layouts += [
                (None, 0, False),
                ([3, 5], None, True),
                ([], None, False),
                ([4, 0], 1, False),
            ]
        for dims, axis, keepdims in layouts:
            name = f"f{len(cases)}"
            program.op(name, op, (dims, dtype), axis=axis, keepdims=keepdims)
            cases.append(
                (name, dtype, dims or ["n", "m"] if dims is None else dims, axis, keepdims)
            )
    vm = program.build()
    for name, dtype, dims, axis, keepdims in cases:
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype)
            # Ties: the first of equal elements counts.
            x = np.round(x) if dtype in FLOATS else x
            wanted = _place(op, x, axis, keepdims)
            check(vm[name](x), wanted, what=(op, dtype, dims, axis, sizes))


@pytest.mark.parametrize("op", ARG_REDUCTIONS)
def test_the_place_of_the_first_nan(op: str) -> None:
    program = Program()
    program.op("f", op, (["n", "m"], "float32"), axis=1)
    x = sample((6, 67), "float32")
    x[[0, 1, 1, 2, 2], [5, 66, 9, 0, 1]] = np.nan
    x[3], x[4] = np.inf, -np.inf
    check(program.build()["f"](x), getattr(np, op)(x, axis=1))


def _accumulate(op: str, x: np.ndarray, axis: int | None, dtype: str, exclusive: bool) -> Any:
    combine, identity = (np.add, 0) if op == "cumsum" else (np.multiply, 1)
    x = x.astype(dtype)
    wide = x.astype("float64") if x.dtype.kind == "f" else x
    if axis is None:
        wide, axis = wide.reshape(-1), 0
    wide = np.moveaxis(wide, axis, 0)
    if exclusive and len(wide):
        wide = np.concatenate([np.full_like(wide[:1], identity), wide[:-1]])
    result = combine.accumulate(wide, axis=0, dtype=wide.dtype)
    return np.moveaxis(result, 0, axis).astype(dtype)


@pytest.mark.parametrize("op", ["cumsum", "cumprod"])
def test_scan(op: str) -> None:
    program, cases = Program(), []
    plain: tuple[Any, ...] = (["n", "m"], -1, None, False)
    layouts: tuple[Any, ...] = (
        (["n", "m", "k"], 1, None, True), (["n", "m"], None, None, False),
        (["n", "m"], 0, "int64", False),
        ([3, 5], 1, "float64", True), ([], None, None, False), (None, -1, None, True),
    )  # fmt: skip
    for dtype in (*FLOATS, *INTEGERS, "bool"):
        chosen = layouts if dtype in ("float16", "float32", "int8") else ()
        chosen = ((["n", "m"], -1, "int32", False),) if dtype == "bool" else (plain, *chosen)
        for dims, axis, target, exclusive in chosen:
            name = f"f{len(cases)}"
            program.op(name, op, (dims, dtype), axis=axis, dtype=target, exclusive=exclusive)
            cases.append(
                (name, dtype, ["n", "m"] if dims is None else dims, axis, target, exclusive)
            )
    vm = program.build()
    for name, dtype, dims, axis, target, exclusive in cases:
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype)
            if op == "cumprod" and dtype in FLOATS:
                x = np.exp2(np.round(x / 9)).astype(dtype)
            wanted = _accumulate(op, x, axis, target or dtype, exclusive)
            finite = np.abs(wanted[np.isfinite(wanted)])
            longest = x.shape[axis] if axis is not None and x.ndim else x.size
            check(
                vm[name](x), wanted, ulps=8 + longest**0.5,
                scale=float(finite.max(initial=1)) if op == "cumsum" else 0.0,
                what=(op, dtype, dims, axis, sizes),
            )  # fmt: skip


def test_nan_wins() -> None:
    program = Program()
    for op in ("max", "min", "sum"):
        program.op(op, op, (["n", "m"], "float32"), axis=[1])
    vm = program.build()
    x = sample((5, 67), "float32")
    x[np.arange(5), [0, 1, 15, 16, 66]] = np.nan
    for op in ("max", "min", "sum"):
        assert np.isnan(vm[op](x)).all(), op


def test_half_precision_is_summed_in_float32() -> None:
    program = Program()
    program.op("sum", "sum", (["n"], "float16"))
    program.op("mean", "mean", (["n"], "float16"))
    vm = program.build()
    ones = np.ones(5000, "float16")
    assert vm["sum"](ones) == 5000
    assert vm["mean"](np.full(60000, 2, "float16")) == 2


def test_no_mean_of_bools() -> None:
    program = Program()
    with pytest.raises(InferError, match="numeric dtype, got bool; cast it first"):
        program.op("f", "mean", (["n"], "bool"))


def _softmax(logarithm: bool) -> Callable[[np.ndarray, int], np.ndarray]:
    def compute(x: np.ndarray, axis: int) -> np.ndarray:
        if not x.size:
            return x
        shifted = x.astype("float64") - x.max(axis, keepdims=True)
        powers = np.exp(shifted)
        total = powers.sum(axis, keepdims=True)
        return (shifted - np.log(total) if logarithm else powers / total).astype(x.dtype)

    return compute


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax(op: str) -> None:
    program, cases = Program(), []
    for dtype in FLOATS:
        for dims, axis in [(["n"], 0), (["n", "m"], -1), (["n", "m"], 0), (["n", "m", "k"], 1)]:
            name = f"f{len(cases)}"
            program.op(name, op, (dims, dtype), axis=axis)
            cases.append((name, dtype, dims, axis))
    program.op("static", op, ([7, 33], "float32"), axis=-1)
    cases.append(("static", "float32", [7, 33], -1))
    vm = program.build()
    reference = _softmax(op == "log_softmax")
    for name, dtype, dims, axis in cases:
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype, scale=8)
            check(
                vm[name](x), reference(x, axis), ulps=32, scale=float(op == "log_softmax"),
                what=(op, dtype, dims, axis, sizes),
            )  # fmt: skip


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("columns", [64, 77])
def test_softmax_of_masked_numbers(op: str, columns: int) -> None:
    program = Program()
    program.op("f", op, ([5, columns], "float32"))
    vm = program.build()
    x = sample((5, columns), "float32", scale=8)
    x[0, 1::2] = -np.inf
    # Exponentials that are nothing, subnormal and the least of the normal numbers.
    x[1, :8] = [0, -1e30, -110, -104, -90, -87.7, -87.4, -87]
    x[2], x[3, columns - 1], x[4, 0] = -np.inf, np.nan, np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        want = _softmax(op == "log_softmax")(x, -1)
    got = vm["f"](x)
    if op == "softmax":
        assert (got[0, 1::2] == 0).all()
        check(got[:2], want[:2], ulps=32, scale=2.0**-126 / np.finfo("float32").eps)
    else:
        check(got[:2], want[:2], ulps=32, scale=1.0)
    assert np.isnan(got[2:4]).all()
    assert np.isnan(got[4, 0])


def test_softmax_of_large_numbers() -> None:
    program = Program()
    program.op("f", "softmax", (["n", "m"], "float32"))
    vm = program.build()
    x = np.array(
        [[1e4, 1e4, -1e4], [-1e30, -1e30, -1e30], [np.inf, 0, 0], [np.nan, 0, 1]], "float32"
    )
    got = vm["f"](x)
    check(got[:2], np.array([[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], "float32"))
    assert np.isnan(got[2, 0])
    assert np.isnan(got[3]).all()
