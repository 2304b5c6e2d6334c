"""Prim funcs of the classes that are lowered to vectors, each as the builder of one."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from kernels import Size, sizes

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, const, unary
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.analysis import BlockInfo
from relax_mlir.lowering.tir_to_vector.plan import plan_function, prepare

IDENTITY = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf}
COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


def classify(func: ir.OpView, target: str | Target = "") -> list[BlockInfo]:
    """Return the class of each block of a prim func, and whether it has a fast path.

    The target is by default the current one.
    """
    machine = Machine.of(Target(target) if target else Target.default())
    # A copy: `prepare` rewrites it.
    copy = func.operation.clone(ip=False).operation.opview
    prepare(copy, machine)
    return [info for plan in plan_function(copy, machine) for info in plan.blocks]


def elementwise(
    name: str, body: Callable[..., Scalar], shapes: Sequence[Sequence[Size]], dtypes: Sequence[str],
    index: Callable[[Sequence[Scalar], int], tuple[Any, ...]] | None = None,
) -> Callable[[], None]:  # fmt: skip
    """Return a builder of an elementwise function; the last shape and dtype are the output's."""

    def function() -> None:
        decls = [
            BufferDecl(f"A{i}", sizes(shape), dtype)
            for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        ]
        builder = PrimFuncBuilder(name, decls)
        with builder.body():
            *inputs, out = builder.buffers
            with builder.nest(name, [("spatial", dim) for dim in out.dims]) as block:
                at = tuple(block)
                where = index or (lambda at, i: tuple(at)[len(at) - len(shapes[i]) :])
                out.store(body(*(x[where(at, i)] for i, x in enumerate(inputs))), at)

    return function


def permutation(
    name: str, dims: Sequence[Size], order: Sequence[int], dtype: str
) -> Callable[[], None]:
    return elementwise(
        name, lambda x: x, [dims, [dims[i] for i in order]], [dtype] * 2,
        lambda at, _: tuple(at[list(order).index(i)] for i in range(len(order))),
    )  # fmt: skip


def reduction(name: str, kind: str, axes: Sequence[int], dtype: str) -> Callable[[], None]:
    def function() -> None:
        dims = sizes(["a", "b", "c"])
        rest = [i for i in range(3) if i not in axes]
        decls = [BufferDecl("A", dims, dtype), BufferDecl("C", [dims[i] for i in rest], dtype)]
        builder = PrimFuncBuilder(name, decls)
        start = IDENTITY[kind]
        if "int" in dtype and math.isinf(start):
            start = 2**31 - 1 if start > 0 else -(2**31)
        with builder.body():
            source, out = builder.buffers
            iters = [("reduction" if i in axes else "spatial", dims[i]) for i in range(3)]
            with builder.nest(name, iters) as block:
                at = tuple(block)
                here = tuple(at[i] for i in rest)
                with block.init() as first:
                    out.store(const(start, dtype), tuple(first[i] for i in rest))
                out.store(binary(COMBINE[kind], out[here], source[at]), here)

    return function


def softmax(
    name: str, dims: Sequence[Size], axis: int, dtype: str = "float32", *, log: bool = False
) -> Callable[[], None]:
    """Return a builder of softmax as legalisation writes it: four nests, two or three buffers."""

    def function() -> None:
        shape = sizes(dims)
        wide = "float32"
        builder = PrimFuncBuilder(name, [BufferDecl(x, shape, dtype) for x in "AC"])
        axes = [("reduction" if i == axis else "spatial", d) for i, d in enumerate(shape)]
        plain = [("spatial", d) for d in shape]

        def row(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(value for i, value in enumerate(at) if i != axis)

        with builder.body():
            source, out = builder.buffers
            rows = [dim for i, dim in enumerate(shape) if i != axis]
            peak, total = (builder.alloc(x, rows, wide) for x in ("Peak", "Total"))
            exps = out if dtype == wide else builder.alloc("Exps", shape, wide)
            with builder.nest("peak", axes) as block:
                at = tuple(block)
                with block.init() as first:
                    peak.store(const(-math.inf, wide), row(first))
                peak.store(binary("max", peak[row(at)], cast(source[at], wide)), row(at))
            with builder.nest("exps", plain) as block:
                at = tuple(block)
                exps.store(unary("exp", cast(source[at], wide) - peak[row(at)]), at)
            with builder.nest("total", axes) as block:
                at = tuple(block)
                with block.init() as first:
                    total.store(const(0, wide), row(first))
                total.store(total[row(at)] + exps[at], row(at))
            with builder.nest("softmax", plain) as block:
                at = tuple(block)
                value = exps[at] / total[row(at)]
                if log:
                    value = cast(source[at], wide) - peak[row(at)] - unary("log", total[row(at)])
                out.store(cast(value, dtype), at)

    return function
