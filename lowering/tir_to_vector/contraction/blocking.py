"""The blocking of a GEMM: sizes, row tiles, column tiles, and the blocks of operands."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import SIDE, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import RegisterTile
from relax_mlir.lowering.tir_to_vector.contraction.operands import (
    DequantizedPanels,
    Layout,
    Loader,
    PanelLoad,
    VnniLoader,
)
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    VECTORS,
    Contraction,
    find_dot_product,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div, larger, round_up

# Blocks of k are multiples of this many steps.
_STEP = 4
# Bytes of a page, which is also a way of L1, and of a cache line.
PAGE, _LINE = 4096, 64
# Minimal rows of tiles that are made smaller so that threads get equal numbers.
_SHARED = 5


def max_kc(room: int, rows_bytes: int) -> int:
    """Return the maximal steps of k of a block, by the bytes of a tile's rows of A for each.

    Those rows stay in L1, in `room` bytes, while panels of B stream through it.
    """
    return max(_STEP, room // rows_bytes // 16 * 16)


def has_set_conflicts(rows: int, stride: int, length: int, ways: int) -> bool:
    """Return whether rows of `length` bytes that are read side by side conflict in L1 sets.

    Lines at the distance of a page share a set, of which rows may use some ways. Rows with other
    strides share too few sets to matter.
    """
    if stride % (PAGE // 4) != 0:
        return False
    sets = [0] * (PAGE // _LINE)
    for row in range(rows):
        first = row * stride
        for line in range(first // _LINE, ceil_div(first + length, _LINE)):
            sets[line % len(sets)] += 1
    return max(sets) > ways


def max_nc(room: int, steps: Index, width: int, size: int) -> Index:
    """Return the maximal columns of a block of B, whose whole panels have `room` bytes.

    Panels have `width` columns of elements of `size` bytes, and steps of k or groups of them.
    """
    columns = room // size // larger(steps, 1)
    return round_up(columns, width)


def balanced_nc(extent: Index, most: Index, width: int) -> Index:
    """Return the columns of a block: blocks of n are equal but for the last."""
    count = larger(ceil_div(extent, most), 1)
    size = ceil_div(extent, count)
    return larger(round_up(size, width), width)


def balanced_kc(extent: Index, limit: int) -> Index:
    """Return the steps of a block: blocks of k are equal but for the last."""
    is_one = isinstance(extent, int) and extent <= limit
    return extent if is_one else balanced_nc(extent, limit, _STEP)


@dataclass(frozen=True)
class TileLoop:
    """A loop over row tiles of one size.

    Attributes:
        rows: rows of each.
        first, last: the range of tile numbers.
        base: the row of tile number 0.
        partial: whether the last tile may be partial.
    """

    rows: int
    first: Index
    last: Index
    base: Index
    partial: bool = False


@dataclass(frozen=True)
class RowTiles:
    """How rows are cut into register tiles.

    Static rows give tiles that differ by one row at most. Dynamic rows give tiles of `most` rows
    and of one row less, as most numbers are sums of both, and a third of that for the tail.

    Attributes:
        emit: where loops are written.
        rows: the number of rows.
        most: the maximal rows of a tile.
        full: whether all tiles but those of the tail have `most` rows.
        threads: threads that share the tiles; static rows are cut so that all get as many tiles.
    """

    emit: Emitter
    rows: Index
    most: int
    full: bool = False
    threads: int = 1

    @property
    def count(self) -> Index:
        """The number of tiles."""
        if not isinstance(self.rows, int) and not self.full:
            return sum(count for _, count in self._plan())
        count = ceil_div(self.rows, self.most)
        shared = round_up(count, self.threads)
        return count if self.full or self.rows < shared * _SHARED else shared

    @property
    def largest(self) -> int:
        """Rows of the largest tile."""
        if not isinstance(self.rows, int):
            return self.most
        return min(self.rows, self.most) if self.full else ceil_div(self.rows, max(1, self.count))

    def loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        """Yield the loops over a range of tiles."""
        emit, known = self.emit, isinstance(self.rows, int)
        if known or not self.full:
            done: Index = 0
            rows: Index = 0
            for size, count in self._plan():
                upto, base = done + count, rows - done * size
                partial = not known and 1 < size < self.most - 1
                if not known or count:
                    low, high = emit.max(first, done), emit.min(last, upto)
                    yield TileLoop(size, low, high, base, partial)
                done, rows = upto, rows + count * size
            return
        most, small = self.most, self.most // 2
        large = (self.rows + small - 1) // most
        yield TileLoop(most, first, emit.min(last, large), 0, partial=True)
        done = large * most
        left = emit.max(self.rows - done, 0)
        here = (first <= large) & (large < last)
        count = ceil_div(emit.select(here, left, 0), small)
        yield TileLoop(small, 0, count, done, partial=True)

    def _plan(self) -> list[tuple[int, Index]]:
        """Return the sizes of tiles, in order, and the number of tiles of each."""
        emit, rows, most = self.emit, self.rows, self.most
        if isinstance(rows, int):
            count, tile = self.count, self.largest
            if self.full:
                large = rows // tile if tile else 0
                return [(tile, large), (rows - large * tile, count - large)]
            large = rows - count * (tile - 1)
            return [(tile, large), (tile - 1, count - large)]
        small = max(1, most // 3)
        large, less = rows // most, 0
        for taken in (small, 0):
            many = emit.max(rows - taken, 0)
            count = ceil_div(many, most)
            missing = count * most - many
            fits = missing <= count
            large = emit.select(fits, count - missing, large)
            less = emit.select(fits, missing, less)
        made = [(most, large), (most - 1, less)] if most > 1 else [(most, large)]
        if small >= most - 1:
            return made
        left = rows
        for size, count in made:
            left -= count * size
        left = emit.max(left, 0)
        return [*made, (small, ceil_div(left, small))]


# The share of what panels may have of L2, for blocks that are prefetched beside the one before.
_FEW = 4


class GemmBlocking:
    """The sizes of a GEMM, its blocks and its tiles.

    Attributes:
        gemm: the contraction.
        emit: where its kernel is written.
        machine: what for.
        lanes: elements of a vector.
        vectors: vectors of a row of the largest register tile.
        width: columns of that tile, and of a packed panel.
        vector: the type of a vector of sums.
        m, n, k: extents; m is 1 without such an iterator.
        outer: the other spatial iterators, without the one over panels.
        panel_width: columns of a panel if B is a packed operand; 0 if B is a row-major matrix.
        panel: the iterator over the panels of a packed B.
        kc_max: the maximal steps of k of a block.
        kc: steps of k of all blocks but the last.
        nc_max: the maximal columns of a block.
        rows: the row tiles.
        dot: the dot-product instruction, or None.
        tile: the largest register tile.
        a, b: the layout of the operands.
        has_long_epilogue: whether code for tiles of one vector would take too long to compile.
        load: loads panels of a packed B.
    """

    gemm: Contraction
    emit: Emitter
    machine: Machine
    k: Index
    panel_width: int
    outer: list[int]
    a: Layout
    b: Layout

    def __init__(self, gemm: Contraction, emit: Emitter) -> None:
        self.gemm, self.emit, self.machine = gemm, emit, emit.machine
        machine = self.machine
        self.lanes: int = machine.isa.lanes(gemm.element.width)
        tile = product_tile(gemm, machine)
        self.vectors: int = tile.vectors
        self.width: int = self.vectors * self.lanes
        self.vector: ir.VectorType = ir.VectorType.get([self.lanes], gemm.element)
        self.m: Index = 1 if gemm.m is None else self.extent(gemm.m)
        self.n, self.k = self.extent(gemm.n), self.extent(gemm.k)
        self.outer = list(gemm.outer)
        self.panel_width = 0
        self.panel: int | None = tile.panel
        if self.panel is not None and isinstance(self.n, int):
            self.panel_width, self.outer = self.n, [i for i in self.outer if i != self.panel]
            self.n = self.extent(self.panel) * self.panel_width
            if gemm.columns is not None:
                self.n = gemm.columns
        size = max(8, gemm.element.width) // 8
        self.dot = find_dot_product(gemm, machine)
        self.tile = RegisterTile(emit, tile.rows, tile.vectors, self.vector, self.dot)
        room = machine.l1_bytes * (12 if self.matrices else 9) // 16
        most = max_kc(room, tile.rows * size)
        self.kc_max: int = most * (1 if self.dot is None else self.dot.group)
        self.kc = balanced_kc(self.k, self.kc_max)
        if self.panel_width and self.dot is not None and self.matrices and not self.is_one_block:
            # Matrix tiles read past a block: the next block, not zeros.
            self.kc = self.whole(self.groups(self.kc)) * self.dot.group
        self.nc_max: Index = self._columns_of_a_block(size)
        self.a, self.b = (Layout(x, emit) for x in (gemm.a, gemm.b))
        self.load: PanelLoad = PanelLoad(
            None if self.dot is not None else gemm.widen[1], self.dot, width=self.panel_width,
            apart=self.b.stride(self.panel),
        )  # fmt: skip
        if gemm.computed is not None and self.panel is not None:
            computed = DequantizedPanels(gemm, self.panel, emit)
            self.load = replace(self.load, widen=None, dot=None, computed=computed)
        self.has_long_epilogue = False
        self.rows: RowTiles = RowTiles(emit, self.m, tile.rows, full=self.matrices)

    def _columns_of_a_block(self, size: int) -> Index:
        """Return the maximal columns of a block, given the bytes of an element.

        Blocks are small where the rows of A stay in L2: tiles of one block prefetch the next one,
        and only the first waits for memory. So are those that are packed then: reuse of A and of
        sums is no reason for more memory.
        """
        emit, machine = self.emit, self.machine
        steps = self.groups(self.kc)
        most = max_nc(machine.panel_bytes, steps, self.width, size)
        if self.prefetches:
            room, rows = machine.panel_bytes // _FEW, machine.panel_bytes // 2
        elif self.panel_width or machine.panel_bytes <= machine.l2_bytes:
            return most
        else:
            room, rows = machine.l2_bytes // 2, machine.l2_bytes // 4
        few = max_nc(room, steps, self.width, size)
        return emit.select(self.m * steps <= rows // size, few, most)

    @property
    def prefetches(self) -> bool:
        """Whether tiles prefetch the panels of the next block: B is packed, and used from L2."""
        plain = self.dot is None and self.gemm.widen[1] is None and self.gemm.computed is None
        return bool(self.panel_width) and plain and self.machine.fma_units > 1

    @property
    def operand(self) -> ir.Type:
        """The type of copied elements: that of the sum, or of a group."""
        return self.gemm.element if self.dot is None else groups_type(1).element_type

    def loader(self, side: int, base: ir.Value) -> Loader | VnniLoader:
        """Return what loads A (0) or B (1) in the form that is multiplied."""
        if self.dot is None:
            return Loader(self.emit, base, self.gemm.widen[side], self.vector)
        flips_signs = side == 1 and self.dot.flips_signs
        return VnniLoader(self.emit, base, self.dot, self.dot.widen[side], flips_signs, self.lanes)

    def extent(self, position: int) -> Index:
        """Return the extent of an iterator."""
        return self.emit.size(self.gemm.flat.iters[position].extent)

    def groups(self, steps: Index) -> Index:
        """Return the number of groups of steps of k, the last of which may be partial."""
        if self.dot is None:
            return steps
        return ceil_div(steps, self.dot.group)

    @property
    def matrices(self) -> bool:
        """Whether sums are in matrix tiles (AMX)."""
        return self.dot is not None and self.dot.matrices

    def whole(self, count: Index) -> Index:
        """Return a number of groups or rows, rounded up to whole matrix tiles."""
        return round_up(count, SIDE) if self.matrices else count

    @property
    def has_n_tail(self) -> bool:
        """Whether the last columns have tiles of another width."""
        return self.vectors > VECTORS and not self.panel_width

    @property
    def may_be_narrow(self) -> bool:
        """Whether the last tiles may have one vector, so that these are worth their code.

        With a long epilogue, or outer loops around wide tiles, they would take too long to compile.
        """
        if isinstance(self.n, int) or self.panel_width or self.has_long_epilogue:
            return False
        if self.has_n_tail:
            return not self.outer
        return self.dot is None and not self.machine.isa.free_masks

    @property
    def is_ragged(self) -> bool:
        """Whether the last panel of a packed B is partial."""
        return bool(self.panel_width) and isinstance(self.n, int) and self.n % self.panel_width != 0

    @property
    def ends_in_column(self) -> bool:
        """Whether tiles of whole vectors may leave one column, whose lanes run along k."""
        plain = self.dot is None and not self.has_n_tail and not self.panel_width
        along_k = bool(self.gemm.a.strides[self.gemm.k] == 1)
        one = self.n % self.width == 1 if isinstance(self.n, int) else self.may_be_narrow
        return plain and along_k and one

    @property
    def unit(self) -> int:
        """Ranges of columns begin at multiples of this."""
        return self.lanes if self.has_n_tail and not self.is_even else self.width

    @property
    def is_even(self) -> bool:
        """Whether the widest tiles cover all columns, in each piece."""
        if not self.has_n_tail or not isinstance(self.n, int):
            return False
        several = ceil_div(self.n, self.lanes)
        return several % (self.vectors * self.emit.threads) == 0

    @property
    def may_be_odd(self) -> bool:
        """Whether a block of k may have an odd number of steps."""
        return not isinstance(self.k, int) or self.k % 2 != 0

    @property
    def is_one_block(self) -> bool:
        """Whether k is one block."""
        return isinstance(self.k, int) and self.k <= self.kc_max


_WIDE = 3
# One of this many columns may be wasted.
_WASTE = 50


@dataclass(frozen=True)
class ColumnTiles:
    """Columns of a block with tiles of one width.

    Attributes:
        vectors: of a row of a tile.
        first, last: the range of columns, relative to the block.
        masked: whether the last tile may be partial.
        whole: whether it is tested if a tile is, as masked stores are slower than plain ones.
        left: the columns of the only tile, if they are known; None to count them.
        along_k: whether it is a single column, along which lanes run.
    """

    vectors: int
    first: Index
    last: Index
    masked: bool
    whole: bool = True
    left: int | None = None
    along_k: bool = False


def column_tiles(emit: Emitter, columns: Index, lanes: int, exact: bool) -> list[ColumnTiles]:
    """Cut columns into tiles of three vectors, and of two for the N tail.

    A single vector that is left goes with a tile of three, as two tiles of two: a tile of one
    vector loads more than it multiplies. `exact` says that vectors are full.
    """
    count = ceil_div(columns, lanes)
    if isinstance(columns, int) and isinstance(count, int):
        rest = min(2 * (2 * count % _WIDE), count)
        done = min((count - rest) * lanes, columns)
        partial = columns % lanes != 0
        both = [
            ColumnTiles(_WIDE, 0, done, partial and not rest),
            ColumnTiles(VECTORS, done, columns, partial or rest % 2 != 0),
        ]
        return [zone for zone in both if zone.first != zone.last]
    double = count * 2
    rest = (double - emit.round_down(double, _WIDE)) * 2
    done = emit.max(count - rest, 0) * lanes
    done = emit.min(done, columns)
    return [ColumnTiles(_WIDE, 0, done, not exact), ColumnTiles(VECTORS, done, columns, True)]


def panel_tiles(blocking: GemmBlocking, columns: Index, padded: bool) -> list[ColumnTiles]:
    """Cut columns into tiles as wide as panels; `padded` says that the last one can be read whole.

    The last columns use the code of the others, with masks, if that wastes few columns.
    """
    emit, n, width, lanes = blocking.emit, blocking.n, blocking.width, blocking.lanes
    free = blocking.machine.isa.free_masks
    if not isinstance(n, int):
        joined = free or padded
    else:
        missing = -n % width // lanes * lanes
        joined = n % width == 0 or (free and padded and missing * _WASTE <= n)
    if joined:
        masked = not isinstance(n, int) or n % width != 0
        return [ColumnTiles(blocking.vectors, 0, columns, masked, whole=not free)]
    done = emit.round_down(columns, width)
    # Ranges of columns end at whole tiles, or where all columns end.
    left = n % width if isinstance(n, int) else None
    vectors = blocking.vectors if left is None else ceil_div(left, lanes)
    along_k = left == 1 and blocking.ends_in_column
    both = [
        ColumnTiles(blocking.vectors, 0, done, False),
        ColumnTiles(vectors, done, columns, True, whole=False, left=left, along_k=along_k),
    ]
    return [tiles for tiles in both if tiles.first != tiles.last]
