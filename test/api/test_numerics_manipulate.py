"""Rearrangements and `unique` against numpy."""

import itertools

import numpy as np
from programs import Program, tensor
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax import types as T

DTYPES = (*FLOATS, *INTEGERS, "bool")
SIZES = ((1, 1, 1), (0, 3, 2), (3, 0, 2), (17, 13, 11), (67, 131, 3), (2, 300, 5))


def _array(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return sample(shape, dtype, seed=sum(shape))


def test_flatten_and_transpose() -> None:
    program = Program()
    for dtype in DTYPES:
        program.op(f"flatten_{dtype}", "flatten", (["n", "m"], dtype))
        program.op(f"transpose_{dtype}", "permute_dims", (["n", "m"], dtype))
    vm = program.build()
    for dtype in DTYPES:
        for n, m, _ in SIZES:
            x = _array((n, m), dtype)
            check(vm[f"flatten_{dtype}"](x), x.reshape(-1), what=(dtype, n, m))
            check(vm[f"transpose_{dtype}"](x), x.T, what=(dtype, n, m))


def test_permutations() -> None:
    program = Program()
    orders = list(itertools.permutations(range(3)))
    for index, order in enumerate(orders):
        program.op(f"f{index}", "permute_dims", (["n", "m", "k"], "float32"), axes=list(order))
    program.op("none", "permute_dims", ([], "float32"))
    program.op("negative", "permute_dims", ([2, 3], "int8"), axes=[-1, 0])
    vm = program.build()
    for index, order in enumerate(orders):
        for shape in SIZES:
            x = _array(shape, "float32")
            check(vm[f"f{index}"](x), x.transpose(order), what=(order, shape))
    check(vm["none"](np.float32(3)), np.float32(3))
    x = _array((2, 3), "int8")
    check(vm["negative"](x), x.T)


def test_reshape() -> None:
    n = SymExpr.var("n")
    cases = [
        (["n", 6], [n * 2, 3]),
        (["n", 6], [n * 6]),
        (["n", 6], [1, n, 2, 3]),
        ([4, 9], [6, 6]),
        ([1], []),
        (["n", 0], [0, n]),
    ]
    program = Program()

    def add(index: int, dims: list, shape: list) -> None:
        def body(x: ir.Value) -> ir.Value:
            value = ir.Operation.create("relax.shape_expr", results=[T.shape_type(shape)]).result
            return relax_op("reshape", [x, value], {})

        program.function(f"f{index}", lambda: [tensor(dims)], body)

    for index, (dims, shape) in enumerate(cases):
        add(index, dims, shape)
    vm = program.build()
    for index, (dims, shape) in enumerate(cases):
        for size in (0, 1, 5, 67):
            x = _array(tuple(size if dim == "n" else dim for dim in dims), "float32")
            wanted = [SymExpr.of(dim).evaluate({"n": size}) for dim in shape]
            got = vm[f"f{index}"](x)
            check(got, x.reshape(wanted), what=(dims, shape, size))
            assert not np.shares_memory(got, x)


def test_unique() -> None:
    program = Program()
    for dtype in ("float32", "int64", "bool"):
        program.op(dtype, "unique", (["n", "m"], dtype))
    vm = program.build()
    for dtype in ("float32", "int64", "bool"):
        for n, m, _ in SIZES:
            x = _array((n, m), dtype) if dtype == "bool" else _array((n, m), "int8").astype(dtype)
            check(vm[dtype](x), np.unique(x), what=(dtype, n, m))
