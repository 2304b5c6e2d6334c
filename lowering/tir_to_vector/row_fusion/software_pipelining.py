"""Software pipelining of rows: a row's result is stored while the next row is computed."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.non_temporal import begin_streaming, end_streaming
from relax_mlir.lowering.tir_to_vector.reductions.reduction import WIDE
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Rows of a buffer between the nests, and the minimal elements of a row.
ROWS, MIN_PIPELINED_ELEMENTS = 2, 256


@dataclass
class SoftwarePipelinedRows:
    """Nests whose last, a map with non-temporal stores, is a row behind the others.

    It is in the loop of a reduction that computes functions: its stores wait for memory, functions
    do not.

    Attributes:
        before: the nests up to that reduction.
        host: the reduction.
        after: those between it and the last.
        last: the map.
    """

    before: Sequence[NestWriter]
    host: NestWriter
    after: Sequence[NestWriter]
    last: NestWriter

    @staticmethod
    def of(writers: Sequence[NestWriter], *, long: bool) -> "SoftwarePipelinedRows | None":
        """Return nests in this form, None without such a reduction or map.

        Args:
            writers: of the nests.
            long: whether dynamic rows have at least `MIN_PIPELINED_ELEMENTS` elements.
        """
        *others, last = writers
        if type(last) is not NestWriter or last.vector is None or last.non_temporal is not True:
            return None
        extent = last.flat.iters[last.vector].extent
        if not long if extent.value is None else extent.value < MIN_PIPELINED_ELEMENTS:
            return None
        if last.flat.total is not None or len(last.flat.iters) != 2 or last.is_long:
            return None
        for number, writer in enumerate(others):
            if not writer.computes_functions or writer.vector is None:
                continue
            along = writer.flat.iters[writer.vector]
            same = along.extent == extent and writer.lanes == last.lanes
            if same and along.reduction and len(writer.flat.iters) == 2:
                return SoftwarePipelinedRows(others[:number], writer, others[number + 1 :], last)
        return None

    def write(self, first: Index, end: Index) -> None:
        """Write the loop over a range of rows.

        The first iteration stores a row that is not computed yet, which is stored again later.
        """
        emit = self.last.emit
        with emit.loop(first, end) as loop:
            row = loop.counter
            before = emit.sub(row, 1)
            for writer in self.before:
                writer.write([row], self._place(row))
            self._write_pipelined(emit.max(before, first), before, row)
            for writer in self.after:
                writer.write([row], self._place(row))
        with emit.when(emit.compare("slt", first, end)):
            row = emit.sub(end, 1)
            self.last.write([row], self._place(row))

    def _write_pipelined(self, late: Index, before: Index, row: Index) -> None:
        """Write the reduction of a row, and in its loop the map of an earlier one."""
        emit, last = self.last.emit, self.last
        assert last.vector is not None
        last.begin_row(0, self._place(before))
        chunk = last.chunk_of({0: late})
        extent = emit.size(last.flat.iters[last.vector].extent)
        wide = WIDE * last.lanes
        start = begin_streaming(last, {0: late}, (0, extent), chunk)
        upto = emit.add(start, emit.round_down(emit.sub(extent, start), wide))
        most = emit.sub(upto, wide)

        def step(at: Index) -> None:
            chunk(emit.min(emit.add(start, at), most), wide, None, True)

        self.host.beside = step
        self.host.write([row], self._place(row))
        self.host.beside = None
        end_streaming(last, (upto, extent), (last.lanes,), chunk)

    def _place(self, row: Index) -> Index:
        """Return the place of a row."""
        emit = self.last.emit
        return emit.op("arith.andi", [emit.index(row), emit.index(ROWS - 1)], emit.index_type)
