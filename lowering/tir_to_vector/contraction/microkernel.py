"""The micro-kernel: the loop over k that updates one register tile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.operands import PLAIN_LOAD, PanelLoad
from relax_mlir.lowering.tir_to_vector.contraction.pattern import VECTORS
from relax_mlir.lowering.tir_to_vector.control_flow import AS_IT_IS, KEEP, UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef, add, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index, is_zero
from relax_mlir.lowering.tir_to_vector.nest_cost import FMA_LATENCY

# Steps of k up to which a prefetch of C gains nothing.
_SOON = 32


@dataclass(frozen=True)
class RegisterTile:
    """A register tile.

    Attributes:
        emit: where to write.
        rows, vectors: rows, and vectors of a row.
        vector: the type of a vector of sums.
        dot: the dot-product instruction, or None.
        k_unroll: steps of k of an iteration, if they share accumulators.
        in_order: whether each sum has one accumulator, also if that waits for the latency of FMAs.
        short: whether short code is worth more than speed, as at edges.
        load: loads the elements of panels.
        prefetch_distance: steps of k that B is prefetched ahead; 0 for no prefetch.
        far: whether the prefetch goes into L2.
        along_k: whether lanes run along k, for a single column that is contiguous.
    """

    emit: Emitter
    rows: int
    vectors: int
    vector: ir.VectorType
    dot: DotProduct | None = None
    k_unroll: int = 1
    in_order: bool = False
    short: bool = False
    load: PanelLoad = PLAIN_LOAD
    prefetch_distance: int = 0
    far: bool = False
    along_k: bool = False

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.vector.shape[0]

    @property
    def kept(self) -> int:
        """Vectors from one row to the next where sums are in memory."""
        return max(self.vectors, VECTORS)

    def columns(
        self, base: ir.Value, at: Index, step: Index, masks: Sequence[ir.Value | None]
    ) -> list[ir.Value]:
        """Load the vectors of B for a step."""
        operand = self.vector if self.dot is None else groups_type(self.lanes)
        return [
            self.load.vector(self.emit, base, at, operand, step, h * self.lanes, mask)
            for h, mask in enumerate(masks)
        ]

    def splat(self, value: ir.Value) -> ir.Value:
        """Return a vector with an element of A in every lane."""
        return self.emit.splat(value, ir.VectorType.get([self.lanes], value.type))

    def prefetch(self, base: ir.Value, at: Index) -> None:
        """Prefetch a step of B."""
        self.load.prefetch(self.emit, base, at, self.lanes * self.vectors, far=self.far)

    def multiply_add(self, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
        """Return a sum plus x of A times y of B."""
        if self.dot is None:
            return multiply_add(self.emit, x, y, total)
        return self.dot.multiply_add(self.emit, x, y, total)


Put = Callable[[ir.Value, Index, ir.Value | None], None]


@dataclass(frozen=True)
class Store:
    """What a tile does with its sums.

    Attributes:
        c: the tile's first element of C, stride "m"; None if sums are never incomplete.
        first: whether C starts from `init`; None adds to C.
        init: the initial value of C.
        last: whether the sums are complete.
        finish: for a row of the tile a function of complete sums, their column and a mask; None
            stores them.
        column: the tile's first column, for `finish`.
        scratch: a buffer for sums that are finished in a loop; None for inline code.
        rows: the rows of the tile that exist, None for all.
        short: whether code should be short, if there is `scratch`.
        whole: whether all columns exist, if masks are used and few tiles are partial; None not to
            test.
    """

    c: StridedRef | None
    first: bool | ir.Value | None
    init: ir.Attribute | None
    last: bool | ir.Value = True
    finish: Callable[[Index], Put] | None = None
    column: Index = 0
    scratch: ir.Value | None = None
    rows: Index | None = None
    short: bool = False
    whole: ir.Value | None = None

    def at(self, column: Index) -> "Store":
        """Return the store of a tile that many columns further."""
        c = self.c
        if c is not None:
            c = StridedRef(c.base, c.offset + column, c.strides)
        return replace(self, c=c, column=self.column + column)


def emit_tile(
    tile: RegisterTile, a: StridedRef, b: StridedRef, store: Store, steps: Index,
    masks: list[ir.Value | None], padded: bool = False, odd: bool = True,
) -> None:  # fmt: skip
    """Write one tile.

    Args:
        tile: its shape.
        a: its first row; strides "m" and "k", and "start" to the corrections of flipped signs.
        b: its first column; stride "k", columns adjacent.
        store: where its sums go.
        steps: steps of k.
        masks: for each vector the mask of its columns, None for all.
        padded: whether whole vectors of B can be read.
        odd: whether the number of steps may be odd.
    """
    read: list[ir.Value | None] = [None] * tile.vectors if padded else masks
    soon = isinstance(steps, int) and steps <= _SOON
    if store.c is not None and tile.rows > 1 and not soon:
        # C is not needed before all products are made.
        _prefetch(tile, store.c)
    if tile.along_k:
        sums = _column_sums(tile, a, b, steps)
    else:
        sums = tile_sums(tile, a, b, steps, read, odd=odd)
    _store(tile, store, masks, sums)


def _prefetch(tile: RegisterTile, c: StridedRef) -> None:
    def row(number: Index) -> None:
        place = c.offset + number * c.stride("m")
        PLAIN_LOAD.prefetch(tile.emit, c.base, place, tile.lanes * tile.vectors)

    if tile.short:
        with tile.emit.loop(0, tile.rows) as loop:
            row(loop.counter)
    else:
        for number in range(tile.rows):
            row(number)


def _column_sums(tile: RegisterTile, a: StridedRef, b: StridedRef, steps: Index) -> list[ir.Value]:
    """Write the sums of a single column; return them by row, in all lanes of vectors."""
    emit, lanes = tile.emit, tile.lanes
    starts = [(base, 0) for base in a.each or ()]
    if a.each is None:
        starts = [(a.base, a.offset + a.row(emit, row)) for row in range(tile.rows)]

    def step(k: Index, mask: ir.Value | None, sums: Sequence[ir.Value]) -> list[ir.Value]:
        column = emit.vector_load(b.base, [b.offset + k], tile.vector, mask)
        rows = [emit.vector_load(base, [at + k], tile.vector, mask) for base, at in starts]
        return [
            multiply_add(emit, row, column, total) for row, total in zip(rows, sums, strict=True)
        ]

    whole, begin = emit.round_down(steps, lanes), [emit.constant(tile.vector, 0)] * tile.rows
    with emit.loop(0, whole, lanes, begin, KEEP) as loop:
        loop.carry(step(loop.counter, None, loop.carried))
    sums = loop.results
    if whole != steps:
        sums = step(whole, emit.mask(steps - whole, lanes), sums)
    return [tile.splat(emit.reduced(each, "add")) for each in sums]


def tile_sums(
    tile: RegisterTile, a: StridedRef, b: StridedRef, steps: Index,
    masks: Sequence[ir.Value | None] | None = None, *, odd: bool = True,
    begin: Sequence[ir.Value] | None = None,
) -> list[ir.Value]:  # fmt: skip
    """Write the sums of one tile; return them by row and then by vector.

    Args:
        tile: its shape.
        a: its first row, as `emit_tile` takes it.
        b: its first column.
        steps: steps of k.
        masks: for each vector the mask of readable columns of B, None for all.
        odd: whether the number of steps may be odd.
        begin: what the sums begin with, if the tile has one accumulator for each; None for zeros.
    """
    emit, count = tile.emit, tile.rows * tile.vectors
    masks = [None] * tile.vectors if masks is None else masks
    # Edge tiles sum in the order of whole ones, so results do not depend on where edges are.
    split = 1 if tile.in_order else max(1, FMA_LATENCY // (tile.rows * VECTORS))
    k_unroll = tile.k_unroll if split == 1 else 1
    # FMAs by a lane take several steps of a row from one load.
    by_lane = emit.isa.fma_by_lane and tile.dot is None and a.stride("k") == 1
    at_once = k_unroll if by_lane else 1
    zero = emit.constant(tile.vector, 0)
    whole = steps if k_unroll == 2 and not odd else emit.round_down(steps, split * k_unroll)
    # A single row computes little on its loads: unrolling keeps more of them in flight. At edges,
    # strength reduction costs LLVM more time than it gains.
    hints = AS_IT_IS if tile.short else UNROLL if tile.rows == 1 else KEEP
    begin = [zero] * (count * split) if begin is None else list(begin)
    if tile.dot is not None and tile.dot.flips_signs:
        begin[:count] = starts(tile, a)
    with emit.loop(0, whole, split * k_unroll, begin, hints) as loop:
        sums: list[ir.Value] = []
        for u in range(split):
            part = loop.carried[u * count : (u + 1) * count]
            for k_step in range(0, k_unroll, at_once):
                if k_step:
                    # Hoisted loads of the second step would spill accumulators.
                    emit.compiler_barrier()
                k = loop.counter + (u + k_step)
                part = tile_step(tile, a, b, k, masks, part, at_once)
            sums += part
        loop.carry(sums)
    sums = list(loop.results)
    while len(sums) > count:
        # The parts of each sum are `count` apart, and a power of two.
        pairs = [(i, i + count) for i in range(len(sums)) if i // count % 2 == 0]
        sums = [add(emit, sums[i], sums[j]) for i, j in pairs]
    if whole != steps:
        with emit.loop(whole, steps, 1, sums) as loop:
            loop.carry(tile_step(tile, a, b, loop.counter, masks, loop.carried))
        sums = loop.results
    return list(sums)


def store_kept(tile: RegisterTile, store: Store, masks: list[ir.Value | None]) -> None:
    """Store the sums of a tile that are in `store.scratch`."""
    _Sink(tile, store, masks).kept()


def starts(tile: RegisterTile, a: StridedRef) -> list[ir.Value]:
    """Load the corrections of flipped signs that a tile's sums start from."""
    emit, first = tile.emit, a.offset + a.stride("start")
    places = [first + row * a.stride("m") for row in range(tile.rows)]
    values = [emit.splat(emit.load(a.base, [place]), tile.vector) for place in places]
    return [value for value in values for _ in range(tile.vectors)]


def tile_step(
    tile: RegisterTile, a: StridedRef, b: StridedRef, k: Index,
    masks: Sequence[ir.Value | None], sums: list[ir.Value], steps: int = 1,
) -> list[ir.Value]:  # fmt: skip
    """Write one step of `tile_sums`, or several at once, and return the sums after it."""
    emit = tile.emit
    at = b.offset + k * b.stride("k")
    lines = []
    for u in range(steps):
        line, k_step = at + u * b.stride("k"), k + u
        columns: list[ir.Value] = []
        if tile.rows > 1:
            columns = tile.columns(b.base, line, k_step, masks)
        if tile.prefetch_distance:
            tile.prefetch(b.base, line + tile.prefetch_distance * b.stride("k"))
        # Loads for a single FMA become its operand, if no prefetch is between.
        lines.append(columns or tile.columns(b.base, line, k_step, masks))
        if b.ahead is not None:
            place = b.ahead.offset + k_step * b.ahead.stride("k")
            emit.prefetch(b.ahead.base, place, far=True)
    result = []
    step = k * a.stride("k")
    along = a.offset + step
    for row in range(tile.rows):
        base, place = a.base, step
        if a.each is None:
            place = along + a.row(emit, row)
        else:
            base = a.each[row]
        if steps == 1:
            values = [emit.load(base, [place])]
        else:
            several = ir.VectorType.get([steps], base.type.element_type)
            loaded = emit.vector_load(base, [place], several)
            values = [emit.extract(loaded, u) for u in range(steps)]
        part = sums[row * tile.vectors : (row + 1) * tile.vectors]
        for value, columns in zip(values, lines, strict=True):
            x = tile.splat(value)
            part = [tile.multiply_add(x, *pair) for pair in zip(columns, part, strict=True)]
        # LLVM would hoist the loads by several pointers and spill accumulators.
        result += part if a.each is None else emit.register_barrier(part)
    return result


def _store(
    tile: RegisterTile, store: Store, masks: list[ir.Value | None], sums: list[ir.Value]
) -> None:
    emit, sink = tile.emit, _Sink(tile, store, masks)
    asks = store.whole is not None and store.finish is None
    inline = store.rows is None and store.finish is None and not store.short
    if store.scratch is None or (inline and not asks):
        sink.directly(sums)
        return
    if not asks or store.rows is not None:
        sink.by_row(sums)
        return
    whole, known = store.whole, store
    if isinstance(store.first, ir.Value) and tile.short:
        # Edges add later blocks of k to C in the loop over rows, which is shorter.
        whole, known = store.first & whole, replace(store, first=True)
    # Masked stores are slower than plain ones, and a loop over rows is slower still.
    emit.choose(
        whole, lambda: _Sink(tile, known, [None] * tile.vectors).directly(sums),
        lambda: (sink.by_row if store.short else sink.directly)(sums),
    )  # fmt: skip


class _Sink:
    """Stores a tile's sums."""

    def __init__(self, tile: RegisterTile, store: Store, masks: list[ir.Value | None]) -> None:
        self._emit, self._tile, self._store, self._masks = tile.emit, tile, store, masks
        self._columns = [store.column + h * tile.lanes for h in range(tile.vectors)]
        self._start = None
        if store.init is not None:
            splat = ir.DenseElementsAttr.get_splat(tile.vector, store.init)
            self._start = tile.emit.constant_of(tile.vector, splat)

    def directly(self, sums: list[ir.Value]) -> None:
        """Store all rows by inline code."""
        first = self._store.first
        if not isinstance(first, ir.Value) or self._store.finish is not None:
            self._all(sums)
            return
        # The first block of k reads nothing, not even with empty masks: a load waits for stores to
        # the bytes that it covers, such as those of the row before.
        self._emit.choose(
            first, lambda: self._knowing(True)._all(sums), lambda: self._knowing(None)._all(sums)
        )

    def _knowing(self, first: bool | None) -> "_Sink":
        return _Sink(self._tile, replace(self._store, first=first), self._masks)

    def _all(self, sums: list[ir.Value]) -> None:
        vectors = self._tile.vectors
        for row in range(self._tile.rows):
            self._row(row, sums[row * vectors : (row + 1) * vectors])

    def by_row(self, sums: list[ir.Value]) -> None:
        """Store the rows that exist in a loop."""
        emit, tile, scratch = self._emit, self._tile, self._store.scratch
        width = tile.kept * tile.lanes
        for row, h in product(range(tile.rows), range(tile.vectors)):
            value = sums[row * tile.vectors + h]
            emit.vector_store(value, scratch, [row * width + h * tile.lanes])
        self.kept()

    def kept(self) -> None:
        """Store the rows that exist of those in the scratch buffer."""
        emit, tile, scratch = self._emit, self._tile, self._store.scratch
        rows = tile.rows if self._store.rows is None else self._store.rows
        width = tile.kept * tile.lanes
        with emit.loop(0, rows) as loop:
            start = loop.counter * width
            places = [start + h * tile.lanes for h in range(tile.vectors)]
            held = [emit.vector_load(scratch, [place], tile.vector) for place in places]
            self._row(loop.counter, held)

    def _row(self, row: Index, values: list[ir.Value]) -> None:
        emit, store, lanes = self._emit, self._store, self._tile.lanes
        places: list[Index] = []
        if store.c is not None:
            along = store.c.offset + row * store.c.stride("m")
            places = [along + h * lanes for h in range(len(values))]
        totals = self._totals(values, places)

        def keep() -> None:
            assert store.c is not None
            for value, place, mask in zip(totals, places, self._masks, strict=True):
                emit.vector_store(value, store.c.base, [place], mask)

        def finish() -> None:
            assert store.finish is not None
            put = store.finish(row)
            for value, column, mask in zip(totals, self._columns, self._masks, strict=True):
                put(value, column, mask)

        emit.choose(False if store.finish is None else store.last, finish, keep)

    def _totals(self, values: list[ir.Value], places: list[Index]) -> list[ir.Value]:
        """Return the sums of a row so far; the first block of k does not read C."""
        first = self._store.first
        if not isinstance(first, ir.Value):
            return self._added(values, places)
        return self._emit.either(
            first,
            [value.type for value in values],
            lambda: self._knowing(True)._added(values, places),
            lambda: self._knowing(None)._added(values, places),
        )

    def _added(self, values: list[ir.Value], places: list[Index]) -> list[ir.Value]:
        emit, store, vector = self._emit, self._store, self._tile.vector
        if store.first is True:
            none = is_zero(store.init)
            return values if none else [add(emit, self._start, value) for value in values]
        assert store.c is not None
        return [
            add(emit, emit.vector_load(store.c.base, [place], vector, mask), value)
            for value, place, mask in zip(values, places, self._masks, strict=True)
        ]
