"""One register tile of a contraction: rows times vectors of accumulators over a run of k."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import KEEP, UNROLL, Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Fewer accumulators than this wait for each other: latency times throughput of a multiply-add.
_IN_FLIGHT = 8
# Columns of a register tile, in vectors.
VECTORS = 2
# Steps of k that B is asked for ahead of its use.
_AHEAD = 8


@dataclass
class Flat:
    """A place in a one-dimensional memref, and how far apart its neighbours are by name."""

    base: ir.Value
    offset: Index
    strides: dict

    def stride(self, name: object) -> Index:
        """Return a stride, 0 along what the buffer does not have."""
        return self.strides.get(name, 0)


@dataclass(frozen=True)
class Tile:
    """The shape of a register tile."""

    rows: int
    vectors: int
    vector: ir.VectorType
    fma: bool

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.vector.shape[0]


Put = Callable[[ir.Value, Index, ir.Value | None], None]


@dataclass(frozen=True)
class Store:
    """What a tile does with its sums.

    Attributes:
        c: its first element, columns adjacent, stride "m"; None where no sum waits for more.
        first: whether C starts from `init`; None adds to what C holds.
        init: what C starts from.
        last: whether the sums are complete then.
        finish: for a row of the tile what takes its complete sums: a vector, its column and a mask;
            None where they just go to C.
        column: the tile's first column, for `finish`.
        scratch: where a tile's sums go first to be finished in a loop; None to do all at once.
    """

    c: Flat | None
    first: bool | ir.Value | None
    init: ir.Attribute | None
    last: bool | ir.Value = True
    finish: Callable[[Index], Put] | None = None
    column: Index = 0
    scratch: ir.Value | None = None

    def at(self, emit: Emitter, column: Index) -> "Store":
        """Return the same for a tile so many columns further."""
        c = self.c
        if c is not None:
            c = Flat(c.base, emit.add(c.offset, column), c.strides)
        return replace(self, c=c, column=emit.add(self.column, column))


def emit_tile(
    emit: Emitter, tile: Tile, a: Flat, b: Flat, store: Store, steps: Index,
    masks: list[ir.Value | None],
) -> None:  # fmt: skip
    """Write one tile.

    Args:
        emit: where to write.
        tile: its shape.
        a: its first row; strides "m" and "k".
        b: its first column; stride "k", columns adjacent.
        store: where its sums go.
        steps: how many k.
        masks: for each vector which columns there are, None for all.
    """
    count = tile.rows * tile.vectors
    if store.c is not None and tile.rows > 1:
        # What is added to comes from far away, and is not needed before all products are made.
        for row, h in product(range(tile.rows), range(tile.vectors)):
            place = emit.add(store.c.offset, emit.mul(row, store.c.stride("m")))
            emit.prefetch(store.c.base, emit.add(place, h * tile.lanes))
    # A tile at an edge sums in the order of a whole one: where edges are known only at run time, or
    # lie elsewhere because threads share the work, results stay the same.
    split = max(1, _IN_FLIGHT // (tile.rows * max(tile.vectors, VECTORS)))
    zero = emit.constant(tile.vector, 0)
    whole = emit.round_down(steps, split)
    # A single row computes little on what it loads: more loads on their way are worth the code.
    hints = UNROLL if tile.rows == 1 else KEEP
    with emit.loop(0, whole, split, [zero] * (count * split), hints) as loop:
        sums: list[ir.Value] = []
        for u in range(split):
            k = emit.add(loop.counter, u)
            sums += _step(emit, tile, a, b, k, masks, loop.carried[u * count : (u + 1) * count])
        loop.carry(sums)
    parts = [loop.results[u * count : (u + 1) * count] for u in range(split)]
    while len(parts) > 1:
        parts = [
            [add(emit, x, y) for x, y in zip(parts[i], parts[i + 1], strict=True)]
            for i in range(0, len(parts), 2)
        ]
    sums = parts[0]
    if split > 1 and not (isinstance(steps, int) and steps % split == 0):
        with emit.loop(whole, steps, 1, sums) as loop:
            loop.carry(_step(emit, tile, a, b, loop.counter, masks, loop.carried))
        sums = loop.results
    _store(emit, tile, store, masks, sums)


def _step(
    emit: Emitter, tile: Tile, a: Flat, b: Flat, k: Index, masks: list[ir.Value | None],
    sums: list[ir.Value],
) -> list[ir.Value]:  # fmt: skip
    at = emit.add(b.offset, emit.mul(k, b.stride("k")))
    columns = [
        emit.vector_load(b.base, [emit.add(at, h * tile.lanes)], tile.vector, masks[h])
        for h in range(tile.vectors)
    ]
    if tile.rows > 1:
        later = emit.add(at, emit.mul(_AHEAD, b.stride("k")))
        for h in range(tile.vectors):
            emit.prefetch(b.base, emit.add(later, h * tile.lanes))
    result = []
    along = emit.add(a.offset, emit.mul(k, a.stride("k")))
    for row in range(tile.rows):
        place = emit.add(along, emit.mul(row, a.stride("m")))
        value = emit.splat(emit.load(a.base, [place]), tile.vector)
        for h, column in enumerate(columns):
            result.append(multiply_add(emit, tile.fma, value, column, sums[row * tile.vectors + h]))
    return result


def multiply_add(emit: Emitter, fma: bool, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """Return x * y + total, of vectors; in one instruction where there is one."""
    floating = not isinstance(x.type.element_type, ir.IntegerType)
    if floating and fma:
        return emit.op("vector.fma", [x, y, total], x.type)
    made = emit.op("arith.mulf" if floating else "arith.muli", [x, y], x.type)
    return add(emit, total, made)


def add(emit: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return x + y, of vectors or of single elements."""
    element = x.type.element_type if isinstance(x.type, ir.VectorType) else x.type
    integer = isinstance(element, ir.IntegerType)
    return emit.op("arith.addi" if integer else "arith.addf", [x, y], x.type)


def _store(
    emit: Emitter, tile: Tile, store: Store, masks: list[ir.Value | None], sums: list[ir.Value]
) -> None:
    first, init = store.first, store.init
    start = None
    if init is not None:
        start = emit.constant_of(tile.vector, ir.DenseElementsAttr.get_splat(tile.vector, init))
    before: list[ir.Value | None] = list(masks)
    if isinstance(first, ir.Value):
        # On the first block of k nothing is read: lanes that are off give the initial value.
        later = emit.select(first, 0, tile.lanes)
        off = emit.mask(later, tile.lanes)
        before = [off if m is None else emit.both(off, m) for m in masks]

    def place(row: int, h: int) -> Index:
        assert store.c is not None
        along = emit.add(store.c.offset, emit.mul(row, store.c.stride("m")))
        return emit.add(along, h * tile.lanes)

    def total(row: int, h: int) -> ir.Value:
        value = sums[row * tile.vectors + h]
        if first is True:
            return value if emit.is_zero(init) else add(emit, start, value)
        assert store.c is not None
        held = emit.vector_load(store.c.base, [place(row, h)], tile.vector, before[h], start)
        return add(emit, held, value)

    def keep() -> None:
        assert store.c is not None
        for row, h in product(range(tile.rows), range(tile.vectors)):
            emit.vector_store(total(row, h), store.c.base, [place(row, h)], masks[h])

    def finish() -> None:
        assert store.finish is not None
        columns = [emit.add(store.column, h * tile.lanes) for h in range(tile.vectors)]
        width = VECTORS * tile.lanes
        if store.scratch is None:
            for row in range(tile.rows):
                put = store.finish(row)
                for h, column in enumerate(columns):
                    put(total(row, h), column, masks[h])
            return
        for row, h in product(range(tile.rows), range(tile.vectors)):
            emit.vector_store(total(row, h), store.scratch, [row * width + h * tile.lanes])
        with emit.loop(0, tile.rows) as loop:
            put = store.finish(loop.counter)
            start = emit.mul(loop.counter, width)
            for h, column in enumerate(columns):
                place = emit.add(start, h * tile.lanes)
                put(emit.vector_load(store.scratch, [place], tile.vector), column, masks[h])

    if store.finish is None:
        keep()
    elif store.last is True:
        finish()
    else:
        with emit.when(store.last) as branch:
            finish()
        with emit.otherwise(branch):
            keep()
