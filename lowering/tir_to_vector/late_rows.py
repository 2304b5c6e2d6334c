"""Rows whose result is written, and which are looked at first, beside functions of another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.reduction import WIDE, Beside
from relax_mlir.lowering.tir_to_vector.streaming import begin_streaming, end_streaming
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Rows that memory for rows has then, and fewest elements of one: some steps of several vectors.
ROWS, LEAST = 2, 256


@dataclass
class LateRows:
    """Nests of which the last, a map that stores past the cache, is a row behind the others.

    It is written in the loop of a reduction that computes functions: stores past the cache wait for
    memory, and the end of one row's sum for itself, while functions do not. A reduction before it,
    such as the search for the largest element, is written there too, a row ahead of the others.

    Attributes:
        before: the nests up to that reduction.
        host: the reduction.
        after: those between it and the last.
        last: the last.
    """

    before: Sequence[NestWriter]
    host: NestWriter
    after: Sequence[NestWriter]
    last: NestWriter

    @staticmethod
    def of(writers: Sequence[NestWriter], *, long: bool) -> "LateRows | None":
        """Return nests in this form, None where there is no such reduction or map.

        Args:
            writers: of the nests.
            long: whether rows of unknown size are known to have `LEAST` elements.
        """
        *others, last = writers
        if type(last) is not NestWriter or last.vector is None or last.past_cache is not True:
            return None
        extent = last.flat.iters[last.vector].extent
        if not long if extent.value is None else extent.value < LEAST:
            return None
        if last.flat.total is not None or len(last.flat.iters) != 2 or last.is_long:
            return None
        for number, writer in enumerate(others):
            if not writer.computes_functions or writer.vector is None:
                continue
            along = writer.flat.iters[writer.vector]
            same = along.extent == extent and writer.lanes == last.lanes
            if same and along.reduction and len(writer.flat.iters) == 2:
                return LateRows(others[:number], writer, others[number + 1 :], last)
        return None

    def write(self, first: Index, end: Index) -> None:
        """Write the loop over a range of rows.

        What the first step writes of a row that is not computed yet is written again afterwards.
        """
        emit, early = self.last.emit, self._early()
        if early is not None:
            for buffer in dict.fromkeys(a.buffer for a in early.flat.accesses.values()):
                self.host.fetches(buffer, 0, rows=2)
            with emit.when(emit.compare("slt", first, end)):
                early.write([first], self._place(first))
        with emit.loop(first, end) as loop:
            row = loop.counter
            before = emit.sub(row, 1)
            if early is None:
                for writer in self.before:
                    writer.write([row], self._place(row))
            # Of the last row what was found is found again.
            ahead = emit.min(emit.add(row, 1), emit.sub(end, 1))
            self._write_beside(emit.max(before, first), before, row, early, ahead)
            for writer in self.after:
                writer.write([row], self._place(row))
        with emit.when(emit.compare("slt", first, end)):
            row = emit.sub(end, 1)
            self.last.write([row], self._place(row))

    def _early(self) -> NestWriter | None:
        """Return the one nest before the host, if it is a reduction in steps as long as its.

        It does the last row twice, so it must not start from what it stored; and it is a row ahead
        of what still reads the place of that row, so it must leave nothing there but its sum.
        Sums in pieces have a loop over those around the one along the row.
        """
        if len(self.before) != 1 or type(self.before[0]) is not NestWriter:
            return None
        (writer,) = self.before
        flat = writer.flat
        if writer.vector is None or len(flat.iters) != 2 or writer.computes_functions:
            return None
        if flat.total is None or flat.init is None or writer.long or self.host.long:
            return None
        assert self.host.vector is not None
        along, other = flat.iters[writer.vector], self.host.flat.iters[self.host.vector]
        same = along.extent == other.extent and writer.lanes == self.host.lanes
        return writer if same and along.reduction else None

    def _write_beside(
        self, late: Index, before: Index, row: Index, early: NestWriter | None, ahead: Index
    ) -> None:
        """Write the reduction of a row, in its loop parts of an earlier and a later one."""
        emit, last = self.last.emit, self.last
        assert last.vector is not None
        last.begin_row(0, self._place(before))
        chunk = last.chunk_of({0: late})
        extent = emit.size(last.flat.iters[last.vector].extent)
        wide = WIDE * last.lanes
        start = begin_streaming(last, {0: late}, (0, extent), chunk)
        upto = emit.add(start, emit.round_down(emit.sub(extent, start), wide))
        most = emit.sub(upto, wide)

        def store(at: Index) -> None:
            chunk(emit.min(emit.add(start, at), most), wide, None, True)

        if early is not None:
            early.begin_row(0, self._place(ahead))
        found = None if early is None else Beside(early, {0: ahead})
        self.host.beside = _Both(store, found)
        self.host.write([row], self._place(row))
        carried, self.host.beside = self.host.beside.carried, None
        end_streaming(last, (upto, extent), (last.lanes,), chunk)
        if found is not None:
            # Its place is that of the earlier row, whose last elements may have needed it.
            found.carried = carried
            found.end()

    def _place(self, row: Index) -> Index:
        """Return where a row's memory is."""
        emit = self.last.emit
        return emit.op("arith.andi", [emit.index(row), emit.index(ROWS - 1)], emit.index_type)


class _Both:
    """What the main loop of a reduction does beside each step: a store, and a step of another."""

    def __init__(self, store: Callable[[Index], None], other: Beside | None) -> None:
        self._store, self._other = store, other
        self.carried: list[ir.Value] = [] if other is None else other.carried

    def step(self, at: Index, carried: list[ir.Value]) -> list[ir.Value]:
        """Write a step; returns what it makes of what the loop carries."""
        made = [] if self._other is None else self._other.step(at, carried)
        self._store(at)
        return made
