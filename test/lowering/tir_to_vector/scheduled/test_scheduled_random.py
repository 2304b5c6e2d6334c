"""Random schedules of small programs: splits, orders, kinds, static and symbolic sizes."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest
from kernels import build, close, run, values
from targets import WIDTHS

from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder

# For each program: the axes of its block, those of its buffers, and whether it sums.
PROGRAMS = {
    "matmul": ("ijk", ("ik", "kj", "ij")),
    "rows": ("ik", ("ik", "i", "i")),
    "map": ("ij", ("ij", "j", "ij")),
    "turn": ("ij", ("ij", "j", "ji")),
}
SIZES = (0, 1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 40)


@dataclass
class Loop:
    axis: str
    level: int
    extent: int
    kind: str = "serial"


def random_loops(rng: random.Random, axes: str, sizes: dict[str, int]) -> list[Loop]:
    loops = []
    for axis in axes:
        inner = [rng.choice((1, 2, 3, 4, 8, 16)) for _ in range(rng.choice((0, 1, 1, 2)))]
        extents = [-(-sizes[axis] // prod(inner)), *inner]
        loops += [Loop(axis, level, extent) for level, extent in enumerate(extents)]
    rng.shuffle(loops)
    if rng.random() < 0.7:
        loops.sort(key=lambda loop: loop.level + rng.random() / 2)
    for place, loop in enumerate(loops):
        kinds = ["serial", "serial", "vectorized"]
        kinds += ["vectorized"] * 4 if place == len(loops) - 1 else []
        kinds += ["unrolled"] * 2 if loop.extent <= 16 else []
        kinds += ["parallel"] * 3 if loop.axis != "k" and place < 2 else []
        loop.kind = rng.choice(kinds)
    return loops


def program(
    kind: str, loops: list[Loop], sizes: dict[str, int], dtype: str, symbolic: bool
) -> Callable[[], None]:
    axes, buffers = PROGRAMS[kind]
    size = {axis: SymExpr.var(axis) if symbolic else SymExpr.const(sizes[axis]) for axis in axes}

    def function() -> None:
        names = zip("ABC", buffers, strict=True)
        decls = [BufferDecl(name, [size[axis] for axis in own], dtype) for name, own in names]
        builder = PrimFuncBuilder("main", decls)
        with builder.body(), ExitStack() as stack:
            variables = {}
            for loop in loops:
                inner = prod(x.extent for x in loops if x.axis == loop.axis and x.level)
                extent = (size[loop.axis] + (inner - 1)) // inner if not loop.level else loop.extent
                variables[loop.axis, loop.level] = stack.enter_context(
                    builder.loop(extent, kind=loop.kind)
                )
            iters, predicate = [], None
            for axis in axes:
                own = sorted((x for x in loops if x.axis == axis), key=lambda x: x.level)
                value = variables[axis, 0]
                for loop in own[1:]:
                    value = value * loop.extent + variables[axis, loop.level]
                if len(own) > 1:
                    inside = S.compare("lt", value, builder.size(size[axis]))
                    predicate = inside if predicate is None else S.binary("and", predicate, inside)
                iters.append(("reduction" if axis == "k" else "spatial", value, size[axis]))
            block = stack.enter_context(builder.block("C", iters, predicate=predicate))
            write(kind, builder, block, axes, buffers)

    return function


def write(kind: str, builder: PrimFuncBuilder, block, axes: str, buffers: tuple[str, ...]) -> None:
    a, b, c = builder.buffers
    at = dict(zip(axes, block.iters, strict=True))
    here = [tuple(at[axis] for axis in own) for own in buffers]
    x, y = a[here[0]], b[here[1]]
    if "k" not in axes:
        c.store(x * y + S.cast(at["i"], c.dtype), here[2])
        return
    with block.init() as first:
        start = dict(zip(axes, first, strict=True))
        where = tuple(start[axis] for axis in buffers[2])
        c.store(0 if kind == "matmul" else b[where], where)
    if kind == "matmul":
        c.store(c[here[2]] + x * y, here[2])
    else:
        c.store(S.binary("max", c[here[2]], x), here[2])


def expected(kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if kind == "matmul":
        return a @ b
    if kind == "rows":
        return np.max(np.concatenate([a, b[:, None]], axis=1), axis=1)
    mapped = a * b + np.arange(a.shape[0], dtype=a.dtype)[:, None]
    return mapped if kind == "map" else mapped.T


@pytest.mark.parametrize("seed", range(24))
def test_random_schedule(seed: int) -> None:
    rng = random.Random(seed)
    kind = rng.choice(list(PROGRAMS))
    axes, buffers = PROGRAMS[kind]
    sizes = {axis: rng.choice(SIZES) for axis in axes}
    dtype = rng.choice(("float32", "float32", "float64", "int32"))
    loops = random_loops(rng, axes, sizes)
    function = program(kind, loops, sizes, dtype, rng.random() < 0.3)
    shapes = [tuple(sizes[axis] for axis in own) for own in buffers]
    inputs = [values(shape, dtype) for shape in shapes[:2]]
    options = rng.choice(({"threads": 2}, {}, {"target": WIDTHS[256]}))
    got = run(build([function], **options)["main"], inputs, shapes[2], dtype)
    close(got, np.ascontiguousarray(expected(kind, *inputs)))
