"""One register tile of a contraction: rows times vectors of accumulators over a run of k."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import KEEP, UNROLL, Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Fewer accumulators than this wait for each other: latency times throughput of a multiply-add.
_IN_FLIGHT = 8
# Columns of a register tile, in vectors.
VECTORS = 2
CPF=0
BPF=8


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


def emit_tile(
    emit: Emitter, tile: Tile, a: Flat, b: Flat, c: Flat, steps: Index,
    first: bool | ir.Value | None, init: ir.Attribute | None, masks: list[ir.Value | None],
) -> None:  # fmt: skip
    """Write one tile.

    Args:
        emit: where to write.
        tile: its shape.
        a: its first row; strides "m" and "k".
        b: its first column; stride "k", columns adjacent.
        c: its first element; stride "m", columns adjacent.
        steps: how many k.
        first: whether C starts from `init`; None adds to what C holds.
        init: what C starts from.
        masks: for each vector which columns there are, None for all.
    """
    count = tile.rows * tile.vectors
    # A tile at an edge sums in the order of a whole one: where edges are known only at run time, or
    # lie elsewhere because threads share the work, results stay the same.
    split = max(1, _IN_FLIGHT // (tile.rows * max(tile.vectors, VECTORS)))
    zero = emit.constant(tile.vector, 0)
    whole = emit.round_down(steps, split)
    # A single row computes little on what it loads: more loads on their way are worth the code.
    hints = UNROLL if tile.rows == 1 else KEEP
    if tile.rows > 1 and CPF:
        for row in range(tile.rows):
            for h in range(tile.vectors):
                place = emit.add(c.offset, emit.mul(row, c.stride("m")))
                emit.prefetch(c.base, emit.add(place, h * tile.lanes), write=CPF == 2)
    with emit.loop(0, whole, split, [zero] * (count * split), hints) as loop:
        sums: list[ir.Value] = []
        for u in range(split):
            k = emit.add(loop.counter, u)
            sums += _step(emit, tile, a, b, k, masks, loop.carried[u * count : (u + 1) * count])
        loop.carry(sums)
    parts = [loop.results[u * count : (u + 1) * count] for u in range(split)]
    while len(parts) > 1:
        parts = [
            [_add(emit, x, y) for x, y in zip(parts[i], parts[i + 1], strict=True)]
            for i in range(0, len(parts), 2)
        ]
    sums = parts[0]
    if split > 1 and not (isinstance(steps, int) and steps % split == 0):
        with emit.loop(whole, steps, 1, sums) as loop:
            loop.carry(_step(emit, tile, a, b, loop.counter, masks, loop.carried))
        sums = loop.results
    _store(emit, tile, c, first, init, masks, sums)


def _step(
    emit: Emitter, tile: Tile, a: Flat, b: Flat, k: Index, masks: list[ir.Value | None],
    sums: list[ir.Value],
) -> list[ir.Value]:  # fmt: skip
    at = emit.add(b.offset, emit.mul(k, b.stride("k")))
    columns = [
        emit.vector_load(b.base, [emit.add(at, h * tile.lanes)], tile.vector, masks[h])
        for h in range(tile.vectors)
    ]
    if tile.rows > 1 and BPF:
        for h in range(tile.vectors):
            emit.prefetch(b.base, emit.add(emit.add(at, emit.mul(BPF, b.stride("k"))), h * tile.lanes))
    result = []
    along = emit.add(a.offset, emit.mul(k, a.stride("k")))
    for row in range(tile.rows):
        place = emit.add(along, emit.mul(row, a.stride("m")))
        value = emit.splat(emit.load(a.base, [place]), tile.vector)
        for h, column in enumerate(columns):
            result.append(_multiply_add(emit, tile, value, column, sums[row * tile.vectors + h]))
    return result


def _multiply_add(emit: Emitter, tile: Tile, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    floating = not isinstance(tile.vector.element_type, ir.IntegerType)
    if floating and tile.fma:
        return emit.op("vector.fma", [x, y, total], tile.vector)
    product = emit.op("arith.mulf" if floating else "arith.muli", [x, y], tile.vector)
    return _add(emit, total, product)


def _add(emit: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    integer = isinstance(x.type.element_type, ir.IntegerType)
    return emit.op("arith.addi" if integer else "arith.addf", [x, y], x.type)


def _store(
    emit: Emitter, tile: Tile, c: Flat, first: bool | ir.Value | None,
    init: ir.Attribute | None, masks: list[ir.Value | None], sums: list[ir.Value],
) -> None:  # fmt: skip
    start = (
        None
        if init is None
        else emit.constant_of(tile.vector, ir.DenseElementsAttr.get_splat(tile.vector, init))
    )
    before: list[ir.Value | None] = list(masks)
    if isinstance(first, ir.Value):
        # On the first block of k nothing is read: lanes that are off give the initial value.
        later = emit.select(first, 0, tile.lanes)
        off = emit.mask(later, tile.lanes)
        before = [off if m is None else emit.both(off, m) for m in masks]
    for row in range(tile.rows):
        for h in range(tile.vectors):
            value = sums[row * tile.vectors + h]
            place = [emit.add(emit.add(c.offset, emit.mul(row, c.stride("m"))), h * tile.lanes)]
            if first is True:
                if not emit.is_zero(init):
                    value = _add(emit, start, value)
            else:
                held = emit.vector_load(c.base, place, tile.vector, before[h], start)
                value = _add(emit, held, value)
            emit.vector_store(value, c.base, place, masks[h])
