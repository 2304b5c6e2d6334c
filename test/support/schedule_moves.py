"""Random schedules: each move picks loops and blocks of the program as it is and tries a primitive.

A move that a schedule refuses must leave the program as it was. To put a primitive under test, add
a function to `MOVES`.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from relax_mlir.errors import ScheduleError
from relax_mlir.ir import structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.primitives.transform_layout import buffer_of
from relax_mlir.tir.view.buffers import is_local

Move = Callable[[Schedule, Random], Any]

_TILE = """
from relax_mlir.script import tir as T
@T.prim_func
def tile(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32"),
         C: T.Buffer((2, 2), "float32")):
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:2], B[0:2, 0:2])
        T.writes(C[0:2, 0:2])
        for i, j, k in T.grid(2, 2, 2):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tile_intrin() -> str:
    """Return the name of an intrinsic that adds the product of two matrices of two by two."""
    name = "test_tile_2x2x2"
    if TensorIntrin.get(name, allow_missing=True) is None:
        made = from_source(_TILE)
        TensorIntrin.register(name, made, made)
    return name


def some_block(sch: Schedule, rng: Random) -> BlockRV:
    return rng.choice(sch.get_child_blocks(sch.get_block("root")))


def some_loops(sch: Schedule, rng: Random) -> list[LoopRV]:
    loops = sch.get_loops(some_block(sch, rng))
    if not loops:
        raise ScheduleError("no loops")
    return loops


def split(sch: Schedule, rng: Random) -> None:
    factors: list[Any] = [rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.choice([1, 2]))]
    factors.insert(rng.randrange(len(factors) + 1), None)
    if rng.random() < 0.2:
        factors = [rng.choice([2, 3, 4]), rng.choice([3, 5, 6])]
    sch.split(rng.choice(some_loops(sch, rng)), factors, preserve_unit_iters=rng.random() < 0.7)


def fuse(sch: Schedule, rng: Random) -> None:
    loops = some_loops(sch, rng)
    first = rng.randrange(len(loops))
    count = rng.choice([1, 2, 2, 3])
    sch.fuse(*loops[first : first + count], preserve_unit_iters=rng.random() < 0.7)


def reorder(sch: Schedule, rng: Random) -> None:
    loops = some_loops(sch, rng)
    sch.reorder(*rng.sample(loops, rng.randint(1, len(loops))))


def kind(sch: Schedule, rng: Random) -> None:
    loop = rng.choice(some_loops(sch, rng))
    choice = rng.choice(["parallel", "vectorize", "unroll", "bind"])
    if choice == "bind":
        sch.bind(loop, rng.choice(["blockIdx.x", "threadIdx.x", "vthread.x"]))
    else:
        getattr(sch, choice)(loop)


def annotate(sch: Schedule, rng: Random) -> None:
    where: Any = rng.choice([some_block(sch, rng), rng.choice(some_loops(sch, rng))])
    sch.annotate(where, "note", rng.choice([1, 2.5, "x", [1, "y"], {"k": True}]))


def sample(sch: Schedule, rng: Random) -> None:
    loop = rng.choice(some_loops(sch, rng))
    sch.split(loop, sch.sample_perfect_tile(loop, n=rng.choice([2, 3])))


def categorical(sch: Schedule, rng: Random) -> None:
    factor = sch.sample_categorical([1, 2, 4], [0.2, 0.5, 0.3])
    sch.split(rng.choice(some_loops(sch, rng)), [None, factor * 2])


def unit_loop(sch: Schedule, rng: Random) -> None:
    where: Any = rng.choice([some_block(sch, rng), rng.choice(some_loops(sch, rng))])
    sch.add_unit_loop(where)


def merge(sch: Schedule, rng: Random) -> None:
    sch.merge(rng.choice(some_loops(sch, rng)), rng.choice(some_loops(sch, rng)))


def partition(sch: Schedule, rng: Random) -> None:
    factors = rng.choice([[2, None], [None, 3], [1, 2], [2, None, 1]])
    sch.loop_partition(rng.choice(some_loops(sch, rng)), factors)


def inline(sch: Schedule, rng: Random) -> None:
    rng.choice([sch.compute_inline, sch.reverse_compute_inline])(some_block(sch, rng))


def move(sch: Schedule, rng: Random) -> None:
    way = rng.choice([sch.compute_at, sch.reverse_compute_at])
    place = rng.choice(some_loops(sch, rng))
    way(some_block(sch, rng), place, rng.random() < 0.3, rng.choice([-1, -1, -2, 1]))


def decompose(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loops")
    sch.decompose_reduction(block, rng.choice(loops))


def factor(sch: Schedule, rng: Random) -> None:
    sch.rfactor(rng.choice(some_loops(sch, rng)), rng.choice([0, 1, -1]))


def cache(sch: Schedule, rng: Random) -> None:
    way = rng.choice([sch.cache_read, sch.cache_write])
    way(some_block(sch, rng), rng.choice([0, 0, 1]), rng.choice(["local", "shared"]))


def place(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    where = sch.sample_compute_location(block)
    sch.compute_at(block, where)


def layout(sch: Schedule, rng: Random) -> None:
    maps = [lambda *i: i[::-1], lambda *i: (i[0] // 4, *i[1:], i[0] % 4),
            lambda *i: (*i[:-1], i[-1] // 2, i[-1] % 2)]  # fmt: skip
    block, which = some_block(sch, rng), (rng.choice(["read", "write"]), rng.choice([0, 0, 1]))
    with sch.state.entered():
        if not is_local(buffer_of(sch.state, sch.get(block), which)):
            raise ScheduleError("a parameter, which callers have in its layout")
    sch.transform_layout(block, which, rng.choice(maps), 0)


def block_layout(sch: Schedule, rng: Random) -> None:
    maps = [lambda *i: (i[0] // 4, *i[1:], i[0] % 4), lambda *i: (i[0], *i[1:][::-1]),
            lambda *i: (*i[:-1], i[-1] // 3, i[-1] % 3)]  # fmt: skip
    block = some_block(sch, rng)
    if len(sch.get(block).attributes["iter_types"]):
        sch.transform_block_layout(block, rng.choice(maps))


def blocks(sch: Schedule, rng: Random) -> None:
    sch.blockize(rng.choice(some_loops(sch, rng)), rng.random() < 0.6)


def enclosed(sch: Schedule, rng: Random) -> None:
    every = sch.get_child_blocks(sch.get_block("root"))
    first = rng.randrange(len(every))
    sch.blockize(every[first : first + rng.choice([1, 2, 3])], rng.random() < 0.6)


def reindexed(sch: Schedule, rng: Random) -> None:
    block, number = some_block(sch, rng), rng.choice([0, 0, 1])
    if rng.random() < 0.3:
        sch.cache_inplace(block, number, "local")
    else:
        sch.reindex(block, (rng.choice(["read", "write"]), number))


def padded(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    count = len(sch.get(block).attributes["iter_types"])
    sch.pad_einsum(block, [rng.choice([1, 1, 2, 4]) for _ in range(count)])


def copied_at(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loops")
    way = rng.choice([sch.read_at, sch.write_at])
    way(rng.choice(loops), block, rng.choice([0, 0, 1]), "local")


def buffered(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    choice = rng.choice(["roll", "index", "order", "align", "epilogue"])
    if choice == "roll":
        sch.rolling_buffer(block, 0)
    elif choice == "index":
        sch.cache_index(block, "local", rng.choice([0, 1, 2]))
    elif choice == "order":
        count = len(sch.get(block).attributes["iter_types"])
        sch.reorder_block_iter_var(block, rng.sample(range(count), count))
    elif choice == "align":
        sch.storage_align(block, 0, rng.choice([0, -1]), rng.choice([2, 16]), rng.choice([0, 1]))
    else:
        sch.fuse_reduction_epilogue(block, some_block(sch, rng))


def tiled(sch: Schedule, rng: Random) -> None:
    """Cut a block into tiles of two and have an intrinsic compute them."""
    block = some_block(sch, rng)
    loops = sch.get_loops(block)
    if len(loops) != 3:
        raise ScheduleError("no three loops")
    if rng.random() < 0.7:
        sch.decompose_reduction(block, rng.choice(loops))
        loops = sch.get_loops(block)
    halves = [sch.split(loop, [None, 2]) for loop in loops]
    outer, inner = [h[0] for h in halves], [h[1] for h in halves]
    rng.shuffle(outer)
    sch.reorder(*outer, *inner)
    sch.tensorize(inner[0], tile_intrin())


def rolled(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    loops = sch.get_loops(some_block(sch, rng))
    if not loops:
        raise ScheduleError("no loops")
    sch.compute_at(block, rng.choice(loops))
    sch.rolling_buffer(block, 0)


def noted(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    if rng.random() < 0.5:
        sch.set_scope(block, 0, rng.choice(["local", "shared", "global"]))
    else:
        sch.set_axis_separator(block, ("write", 0), rng.choice([[], [1]]))


def cached_by_map(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    count = len(sch.get(block).attributes["iter_types"])
    order = rng.sample(range(count), rng.randint(min(count, 1), count))
    way = rng.choice([sch.reindex_cache_read, sch.reindex_cache_write])
    way(block, rng.choice([0, 0, 1]), "local", lambda *i: tuple(i[k] for k in order))


def unpadded(sch: Schedule, rng: Random) -> None:
    block = some_block(sch, rng)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loops")
    loop = rng.choice(loops)
    possible = sch.can_decompose_padding(block, loop)
    try:
        sch.decompose_padding(block, loop)
    except ScheduleError:
        assert not possible
        raise
    assert possible


MOVES: list[Move] = [
    split, split, fuse, reorder, reorder, kind, annotate, sample, categorical, unit_loop, merge,
    partition, inline, move, move, move, decompose, factor, cache, cache, place,
    layout, block_layout, blocks, blocks, reindexed, padded, copied_at,
    buffered, buffered, tiled, rolled, noted, cached_by_map, unpadded,
    enclosed,
]  # fmt: skip


def scheduled(sch: Schedule, rng: Random, count: int) -> int:
    """Try so many random moves; returns how many were applied."""
    applied = 0
    for _ in range(count):
        before = sch.mod
        length = len(sch.trace or ())
        try:
            rng.choice(MOVES)(sch, rng)
            applied += 1
        except ScheduleError:
            # Lookups before it may be recorded; the program stays.
            changed = any(not inst.kind.pure for inst in (sch.trace or _NONE).insts[length:])
            assert changed or structural_equal(sch.mod, before)
    return applied


class _Empty:
    insts: list[Any] = []  # noqa: RUF012


_NONE = _Empty()
