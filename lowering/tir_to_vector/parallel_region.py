"""Parallel regions: the work of a kernel in ranges, one for each piece.

Ranges begin at multiples of a tile, and no sum is split: an element is computed by the same
operations in the same order for any number of threads.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.tir_to_vector.control_flow import ControlFlowEmitter
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span, ceil_div, round_up
from relax_mlir.lowering.walk import outermost

func: ModuleType = submodule("dialects.func")
memref: ModuleType = submodule("dialects.memref")

# Work below which one thread runs, in multiply-adds: about 3 us at 60 a nanosecond. Waking threads
# that spin takes some 2 us.
MIN_PARALLEL_WORK = 3 << 16
_LINE = 64
# Steps for each thread from which on a loop is split evenly enough.
_STEPS_EACH = 4
# Assumed of dynamic extents.
_DYNAMIC_IMBALANCE = 1.5
_DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class ParallelDim:
    """A loop that threads may share.

    Attributes:
        extent: its steps.
        unit: ranges begin at multiples of this.
        min_extent: with fewer steps the next loop is split; the last loop is split in any case.
    """

    extent: Index
    unit: int = 1
    min_extent: Index = 0

    def load_imbalance(self, threads: int) -> float:
        """Return the time of the busiest thread relative to the mean; a guess if dynamic."""
        if not isinstance(self.extent, int):
            return _DYNAMIC_IMBALANCE
        units = max(1, ceil_div(self.extent, self.unit))
        return round_up(units, threads) / units


@dataclass(frozen=True)
class _Region:
    op: ir.Operation
    thread: ir.Value
    max_threads: ir.Value


class ParallelEmitter(ControlFlowEmitter):
    """Writes parallel regions.

    Args:
        entry: the function's entry.
        threads: the maximal number of threads; with one there is no region.
    """

    def __init__(self, entry: ir.Block, threads: int = 1) -> None:
        super().__init__(entry)
        self.threads = threads
        self._region: _Region | None = None
        self._thread_limit: ir.Value | None = None
        self._i32 = ir.IntegerType.get_signless(32)

    @property
    def is_parallel(self) -> bool:
        """Whether a parallel region is being written."""
        return self._region is not None

    def shared_evenly(self, extent: Index, unit: int = 1) -> ParallelDim:
        """Return a loop that threads share if it has steps enough, else a later one."""
        return ParallelDim(extent, unit, _STEPS_EACH * self.threads)

    @contextmanager
    def parallel_region(self, dims: Sequence[ParallelDim], work: Index) -> Iterator[list[Span]]:
        """Write a parallel region over pieces of one loop; yields a piece's range of each loop.

        Any thread may run any piece: one whose core is busy takes none.

        Args:
            dims: loops, of which one is split and all others run whole.
            work: multiply-adds; below `MIN_PARALLEL_WORK` one thread runs.
        """
        little = isinstance(work, int) and work < MIN_PARALLEL_WORK
        if self.threads == 1 or self._region is not None or not dims or little:
            yield [(0, dim.extent) for dim in dims]
            return
        max_threads = self._max_threads()
        condition = self.compare("sge", work, MIN_PARALLEL_WORK)
        made = ir.Operation.create(
            "omp.parallel",
            operands=[condition, self.op("arith.index_cast", [max_threads], self._i32)],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0, 1, 1, 0, 0])},
            regions=1,
        )
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            piece, count = self._ask("relax_mlir_piece"), self._ask("relax_mlir_pieces")
            self._region = _Region(made, self._ask("relax_mlir_thread"), max_threads)
            try:
                yield self._ranges(dims, piece, count)
            finally:
                self._region = None
            self.effect("omp.terminator", [])

    def region_entry(self) -> ir.InsertionPoint:
        """Return the beginning of the parallel region, if there is one, or of the function."""
        if self._region is None:
            return self.at_entry()
        return ir.InsertionPoint.at_block_begin(self._region.op.regions[0].blocks[0])

    def outside(self) -> AbstractContextManager[Any]:
        """Return a context that writes before the parallel region, if there is one."""
        return nullcontext() if self._region is None else ir.InsertionPoint(self._region.op)

    def wait(self) -> None:
        """Wait for all threads of the region, if there is one."""
        if self._region is not None:
            self.effect("omp.barrier", [])

    def own_memory(self, size: Index, element: ir.Type) -> ir.Value | None:
        """Return a thread's buffer, of a size known outside the region; None without a region."""
        if self._region is None:
            return None
        width = 8 if isinstance(element, ir.IndexType) else max(8, element.width) // 8
        byte = ir.IntegerType.get_signless(8)
        with self.outside():
            bytes_ = round_up(size * width, _LINE)
            type_ = ir.MemRefType.get([_DYNAMIC], byte)
            all_ = memref.AllocOp(
                type_, [self._region.max_threads * bytes_], [], alignment=_LINE
            ).result
        known = isinstance(size, int)
        start = self._region.thread * bytes_
        type_ = ir.MemRefType.get([size if known else _DYNAMIC], element)
        return self.op("memref.view", [all_, start, *([] if known else [size])], type_)

    def _ranges(self, dims: Sequence[ParallelDim], thread: ir.Value, count: ir.Value) -> list[Span]:
        ranges: list[Span] = []
        taken: Bool = False
        for number, dim in enumerate(dims):
            is_last = number == len(dims) - 1
            enough = is_last or self.holds("sge", dim.extent, dim.min_extent)
            here = enough is not False and self.both(enough, self.negated(taken))
            taken = self.either_holds(taken, enough)
            if here is False:
                ranges.append((0, dim.extent))
                continue
            low, high = (self._bound(dim, at, count) for at in (thread, thread + 1))
            ranges.append((self.select(here, low, 0), self.select(here, high, dim.extent)))
        return ranges

    def _bound(self, dim: ParallelDim, number: ir.Value, count: ir.Value) -> ir.Value:
        """Return where a piece begins: the multiple of the unit nearest to its share."""
        share = number * dim.extent // count
        inside = self.min((share + dim.unit // 2) // dim.unit * dim.unit, dim.extent)
        return self.select(self.compare("eq", number, count), dim.extent, inside)

    def _max_threads(self) -> ir.Value:
        """Return the maximal number of threads, by the target and by the user."""
        if self._thread_limit is None:
            with self.at_entry():
                self._thread_limit = self.min(self._ask("relax_mlir_max_threads"), self.threads)
        return self._thread_limit

    def _ask(self, name: str) -> ir.Value:
        number = self.call_library(name, [], self._i32)
        return self.op("arith.index_cast", [number], self.index_type)

    def call_library(self, name: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """Write a call of a function of the process's libraries; return what it returns."""
        module = outermost(self._marks[0].operation)
        if name not in ir.SymbolTable(module):
            type_ = ir.FunctionType.get([value.type for value in operands], [result])
            with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
                func.FuncOp(name, type_, visibility="private")
        return self.op("func.call", operands, result, callee=ir.FlatSymbolRefAttr.get(name))
