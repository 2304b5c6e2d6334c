"""Sorting, searching and sets against numpy."""

from typing import Any

import numpy as np
import pytest
from programs import Program, tensor
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import InferError, SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.errors import ShapeMismatchError

pytestmark = pytest.mark.unoptimized

SIZES = ((1, 1), (0, 3), (3, 0), (17, 13), (2, 1009))
DTYPES = (*FLOATS, *INTEGERS, "bool")


def _data(shape: Any, dtype: str) -> np.ndarray:
    """Return numbers with many ties, and NaN and zeros of both signs among floats."""
    x = sample(shape, dtype)
    if dtype not in FLOATS:
        return x if dtype == "bool" else x // np.array(16, dtype)
    x = np.round(x)
    flat = x.reshape(-1)
    flat[3::7], flat[5::11] = np.nan, -0.0
    return x


def _descending(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the stable order from the greatest element down, NaN first."""
    n = x.shape[axis]
    if not x.size:
        return np.zeros(x.shape, "int64")
    moved = np.moveaxis(x, axis, -1).reshape(-1, n)
    rows = [
        sorted(range(n), key=lambda i: (not np.isnan(row[i]), -row[i].item()))
        if row.dtype.kind == "f"
        else sorted(range(n), key=lambda i: -int(row[i]))
        for row in moved
    ]
    shape = np.moveaxis(x, axis, -1).shape
    return np.moveaxis(np.array(rows, "int64").reshape(shape), -1, axis)


def test_sort_and_argsort() -> None:
    program = Program()
    for dtype in DTYPES:
        for axis in (0, -1):
            for down in (False, True):
                name = f"{dtype}{axis}{down}"
                types = (["n", "m"] if down else None, dtype if axis else "")
                program.op(f"sort{name}", "sort", types, axis=axis, descending=down)
                program.op(f"argsort{name}", "argsort", types, axis=axis, descending=down)
    vm = program.build()
    for dtype in DTYPES:
        for sizes in SIZES:
            x = _data(sizes, dtype)
            for axis in (0, -1):
                order = np.argsort(x, axis=axis, kind="stable")
                check(vm[f"sort{dtype}{axis}False"](x), np.sort(x, axis=axis, kind="stable"))
                check(vm[f"argsort{dtype}{axis}False"](x), order.astype("int32"))
                order = _descending(x, axis)
                wanted = np.take_along_axis(x, order, axis)
                check(vm[f"sort{dtype}{axis}True"](x), wanted, what=(dtype, axis, sizes))
                check(vm[f"argsort{dtype}{axis}True"](x), order.astype("int32"))


@pytest.mark.parametrize("largest", [True, False])
def test_topk(largest: bool) -> None:
    program, cases = Program(), []
    for dtype in ("float32", "int8"):
        for k, axis in ((1, -1), (5, 0), (0, 1)):
            for kind in ("both", "values", "indices"):
                name = f"f{len(cases)}"
                program.op(
                    name, "topk", ([7, "m"], dtype), k=k, axis=axis, ret_type=kind, largest=largest,
                    dtype="int64",
                )  # fmt: skip
                cases.append((name, dtype, k, axis, kind))
    vm = program.build()
    for name, dtype, k, axis, kind in cases:
        for m in (1, 13, 67):
            x = _data((7, m), dtype)
            order = _descending(x, axis) if largest else np.argsort(x, axis=axis, kind="stable")
            order = order.take(range(k or m), axis=axis)
            values = np.take_along_axis(x, order, axis)
            got = vm[name](x)
            if kind == "both":
                check(got[0], values, what=(dtype, k, axis))
                check(got[1], order)
            else:
                check(got, values if kind == "values" else order)


def test_topk_of_too_few() -> None:
    program = Program()
    program.op("f", "topk", (["n"], "float32"), k=3)
    vm = program.build()
    with pytest.raises(ShapeMismatchError, match="cannot take 3 of 2 elements"):
        vm["f"](sample(2, "float32"))
    with pytest.raises(InferError, match="cannot take 3 of 2 elements"):
        Program().op("f", "topk", ([2], "float32"), k=3)


def test_k_may_be_a_symbol() -> None:
    program = Program()
    program.function(
        "f",
        lambda: [tensor(["n", "n"])],
        lambda x: relax_op("topk", [x], {"k": SymExpr.var("n") // 2, "ret_type": "values"}),
    )
    x = sample((6, 6), "float32")
    check(program.build()["f"](x), -np.sort(-x, axis=-1)[:, :3])


@pytest.mark.parametrize("right", [False, True])
def test_buckets(right: bool) -> None:
    program = Program()
    for dtype in ("float32", "int16"):
        program.op(f"b{dtype}", "bucketize", (["n", "m"], dtype), (["k"], dtype), right=right)
        program.op(
            f"s{dtype}", "searchsorted", (None, dtype), (["n"], dtype), right=right, out_int32=True
        )
    vm = program.build()
    for dtype in ("float32", "int16"):
        for count in (0, 1, 17):
            x = np.round(sample((3, 5), dtype))
            edges = np.sort(np.round(sample(count, dtype, 1)))
            edges[: count // 2] = x.reshape(-1)[: count // 2]
            edges = np.sort(edges)
            wanted = np.searchsorted(edges, x, side="right" if right else "left")
            check(vm[f"b{dtype}"](x, edges), wanted.astype("int64"))
            check(vm[f"s{dtype}"](edges, x[0]), wanted[0].astype("int32"))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_unique(axis: int | None) -> None:
    program = Program()
    everything = {"return_index": True, "return_inverse": True, "return_counts": True}
    for first in (True, False):
        for dtype in ("int8", "float32", "bool"):
            program.op(
                f"{dtype}{first}", "unique", (["n", "m"], dtype), sorted=first, axis=axis,
                **everything,
            )  # fmt: skip
    program.op("counts", "unique", (None, ""), axis=axis, return_counts=True)
    program.op("values", "unique", (["n", "m"], "int8"), axis=axis)
    if axis is None:
        program.op("scalar", "unique", ([], "int8"), **everything)
    vm = program.build()
    if axis is None:
        for got, wanted in zip(vm["scalar"](np.int8(7)), (7, 0, 0, 1), strict=True):
            check(got, np.array([wanted], got.dtype))
    for dtype in ("int8", "float32", "bool"):
        for shape in ((1, 1), (5, 3), (3, 17), (40, 2)):
            x = sample(shape, dtype)
            x = np.round(x) if dtype == "float32" else x % 3 if dtype == "int8" else x
            values, index, inverse, counts = np.unique(x, True, True, True, axis=axis)
            inverse = inverse.reshape(-1)
            for got, wanted in zip(
                vm[f"{dtype}True"](x), (values, index, inverse, counts), strict=True
            ):
                check(got, wanted, what=(dtype, shape))
            late = vm[f"{dtype}False"](x)
            order = np.argsort(index)
            check(late[0], values.take(order, axis=0 if axis is None else axis))
            check(late[1], index[order])
            check(order[late[2]], inverse)
            check(late[3], counts[order])
            for got, wanted in zip(vm["counts"](x), (values, counts), strict=True):
                check(got, wanted)
            if dtype == "int8":
                check(vm["values"](x), values)


def test_nonzero() -> None:
    program = Program()
    for dtype in ("float32", "bool", "uint8"):
        program.op(dtype, "nonzero", (["n", "m"], dtype))
    program.op("any", "nonzero", (None, ""))
    vm = program.build()
    for dtype in ("float32", "bool", "uint8"):
        for shape in SIZES:
            x = np.where(sample(shape, dtype, 1) > 1, sample(shape, dtype), sample((), dtype) * 0)
            x = x.astype(dtype)
            check(vm[dtype](x), np.stack(np.nonzero(x)))
            check(vm["any"](x), np.stack(np.nonzero(x)))
            check(vm["any"](x.reshape(-1)), np.stack(np.nonzero(x.reshape(-1))))


def test_results_of_unknown_length_come_back_by_match_cast() -> None:
    program = Program()

    def body(x: Any) -> Any:
        found = relax_op("unique", [x], {})
        known = ir.Operation.create(
            "relax.match_cast", results=[tensor(["k"], "int32")], operands=[found]
        ).result
        return relax_op("add", [known, known], {})

    program.function("f", lambda: [tensor(None, "int32")], body)
    x = np.array([[3, 1, 3], [1, 1, 0]], "int32")
    check(program.build()["f"](x), np.array([0, 2, 6], "int32"))
