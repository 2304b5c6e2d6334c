"""Weighted sums of values of a block of queries, kept between blocks of keys."""

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes, choose
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup
from relax_mlir.lowering.tir_to_vector.attention.softmax import RowState
from relax_mlir.lowering.tir_to_vector.attention.tile import Matrix
from relax_mlir.lowering.tir_to_vector.index_emit import Index


@dataclass(frozen=True)
class Sums:
    """The sums of a block of queries.

    Attributes:
        setup: the attention.
        base: where they are kept; None with one block of keys, whose sums are stored at once.
        stride: from one query's to the next.
        state: of the rows of the block.
        tile: rows of a register tile.
        vectors: columns of a tile, in vectors.
    """

    setup: Setup
    base: ir.Value | None
    stride: Index
    state: RowState
    tile: int
    vectors: int

    def before(
        self, goes_on: bool | ir.Value, row: Index, column: Index, count: int
    ) -> list[ir.Value] | None:
        """Return the sums of earlier blocks, rescaled, for a tile; None for none."""
        use = self.setup.use
        emit = use.emit
        if goes_on is False:
            return None
        zero = Lanes(emit.constant(use.vector, 0))

        def made() -> Iterator[Lanes]:
            for r in range(count):
                here = row + r
                shrink = use.splat(emit.load(self.state.shrink, [here]))
                for place in self._places(here, column):
                    value = use.load(self.base, place)
                    yield Lanes(emit.op("arith.mulf", [value, shrink], use.vector))

        kept = choose(goes_on, lambda: list(made()), [zero] * (count * self.vectors))
        return [each.value for each in kept]

    @property
    def at_once(self) -> bool:
        """Whether sums of the last block of keys are divided before they are stored.

        A narrower type or masks need much code, which each tile would repeat.
        """
        if self.base is None:
            return True
        attention, width = self.setup.attention, self.setup.width
        narrow = attention.out.buffer.type.element_type != attention.element
        whole = isinstance(width, int) and width % (self.vectors * self.setup.use.lanes) == 0
        return whole and attention.out.column == 1 and not narrow

    def put(
        self, out: Matrix, is_last: bool | ir.Value, at: tuple[Index, Index, Index],
        column: Index, sums: list[list[ir.Value]],
    ) -> None:  # fmt: skip
        """Store the sums of a tile; those of the last block of keys are divided first.

        Args:
            out: the result.
            is_last: whether no block of keys follows.
            at: the first query of the block, the tile's first one counted from there, and how many
                queries the block has.
            column: the tile's first column.
            sums: vectors of columns for each row.
        """
        emit = self.setup.emit

        def keep() -> None:
            for r, vectors in enumerate(sums):
                places = self._places(at[1] + r, column)
                for place, value in zip(places, vectors, strict=True):
                    emit.vector_store(value, self.base, [place])

        if not self.at_once:
            keep()
        elif is_last is True:
            self._share(out, at, column, sums)
        else:
            with emit.when(is_last) as branch:
                self._share(out, at, column, sums)
            with emit.otherwise(branch):
                keep()

    def finish(self, out: Matrix, first: Index, rows: Index) -> None:
        """Store the results of `rows` queries whose sums are kept."""
        if self.at_once:
            return
        emit = self.setup.emit
        with emit.loop(0, rows) as row:
            share = emit.load(self.state.shares, [row.counter])
            sums = self.base, row.counter * self.stride
            self.setup.write(out, first + row.counter, sums, share)

    def _places(self, row: Index, column: Index) -> list[Index]:
        """Return where the sums of a row's panel are."""
        line = row * self.stride + column
        return [line + h * self.setup.use.lanes for h in range(self.vectors)]

    def _share(
        self, out: Matrix, at: tuple[Index, Index, Index], column: Index,
        sums: list[list[ir.Value]],
    ) -> None:  # fmt: skip
        """Divide and store the sums of a tile."""
        setup, (first, row, rows) = self.setup, at
        emit, use, width = setup.emit, setup.use, setup.width
        whole = isinstance(width, int) and width % (self.vectors * use.lanes) == 0
        all_there = isinstance(setup.rows, int) or len(sums) == self.tile
        for r, vectors in enumerate(sums):
            here = row + r
            share = use.splat(emit.load(self.state.shares, [here]))
            columns = width
            if not all_there:
                columns = emit.select(emit.compare("slt", here, rows), width, 0)
            for h, value in enumerate(vectors):
                start = column + h * use.lanes
                needed = not (whole and all_there)
                mask = emit.mask(columns - start, use.lanes) if needed else None
                value = setup.narrowed(emit.op("arith.mulf", [value, share], use.vector), out)
                emit.vector_store(value, out.base, [out.place(first + here, start)], mask)
