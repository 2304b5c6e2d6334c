"""Splitting a kernel's work among threads: one parallel region, each thread a range of its own.

Ranges begin at multiples of what a loop does at a time, and no sum is split: every element is
computed by the same operations in the same order whatever the number of threads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index, IndexEmitter

# Handing work to threads that wait takes some 2 us; those that sleep take longer, but then calls
# are rare. Work is counted in multiply-adds of a contraction: a core does 60 in a nanosecond.
LEAST_WORK = 3 << 16
_LINE = 64
_DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Part:
    """A loop whose steps may run on different threads.

    Attributes:
        extent: its steps.
        unit: how many go together.
        least: with fewer steps another loop is split; the last one is taken in any case.
    """

    extent: Index
    unit: int = 1
    least: Index = 0


@dataclass(frozen=True)
class _Team:
    op: ir.Operation
    thread: ir.Value
    most: ir.Value


class TeamEmitter(IndexEmitter):
    """Writes parallel regions.

    Args:
        entry: the function's entry.
        threads: most threads of a region; with one nothing is written.
    """

    def __init__(self, entry: ir.Block, threads: int = 1) -> None:
        super().__init__(entry)
        self.threads = threads
        self._team: _Team | None = None
        self._most: ir.Value | None = None
        self._i32 = ir.IntegerType.get_signless(32)

    @property
    def is_parallel(self) -> bool:
        """Whether a parallel region is being written."""
        return self._team is not None

    @contextmanager
    def team(self, parts: Sequence[Part], work: Index) -> Iterator[list[tuple[Index, Index]]]:
        """Write a parallel region with a piece for each thread; yields its range of every part.

        Any thread may run any piece: one whose core is busy takes none.

        Args:
            parts: loops, of which one is split and all others run whole.
            work: how much there is to do; below `LEAST_WORK` one thread does it.
        """
        little = isinstance(work, int) and work < LEAST_WORK
        if self.threads == 1 or self._team is not None or not parts or little:
            yield [(0, part.extent) for part in parts]
            return
        most = self._most_threads()
        condition = self.compare("sge", work, LEAST_WORK)
        made = ir.Operation.create(
            "omp.parallel",
            operands=[condition, self.op("arith.index_cast", [most], self._i32)],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0, 1, 1, 0, 0])},
            regions=1,
        )
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            piece, count = self._ask("relax_mlir_piece"), self._ask("relax_mlir_pieces")
            self._team = _Team(made, self._ask("relax_mlir_thread"), most)
            try:
                yield self._ranges(parts, piece, count)
            finally:
                self._team = None
            self.op("omp.terminator", [])

    @contextmanager
    def region_entry(self) -> Iterator[None]:
        """Write at the beginning of the parallel region, if there is one, or of the function."""
        if self._team is None:
            with self.at_entry():
                yield
            return
        with ir.InsertionPoint.at_block_begin(self._team.op.regions[0].blocks[0]):
            yield

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Write before the parallel region, if there is one: what all threads share."""
        if self._team is None:
            yield
            return
        with ir.InsertionPoint(self._team.op):
            yield

    def wait(self) -> None:
        """Wait for all threads of the region, if there is one."""
        if self._team is not None:
            self.op("omp.barrier", [])

    def own_memory(self, size: Index, element: ir.Type) -> ir.Value | None:
        """Return a buffer for each thread, of a size from outside; None outside of regions."""
        if self._team is None:
            return None
        width = 8 if isinstance(element, ir.IndexType) else max(8, element.width) // 8
        byte = ir.IntegerType.get_signless(8)
        with self.outside():
            bytes_ = self.mul(self.div(self.add(self.mul(size, width), _LINE - 1), _LINE), _LINE)
            all_ = self.op(
                "memref.alloc",
                [self.index(self.mul(self._team.most, bytes_))],
                ir.MemRefType.get([_DYNAMIC], byte),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0]),
                alignment=ir.IntegerAttr.get(self._i64, _LINE),
            )
        known = isinstance(size, int)
        start = self.index(self.mul(self._team.thread, bytes_))
        type_ = ir.MemRefType.get([size if known else _DYNAMIC], element)
        return self.op("memref.view", [all_, start, *([] if known else [size])], type_)

    def _ranges(
        self, parts: Sequence[Part], thread: ir.Value, count: ir.Value
    ) -> list[tuple[Index, Index]]:
        ranges: list[tuple[Index, Index]] = []
        taken: bool | ir.Value = False
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            enough: bool | ir.Value = True
            if is_last:
                pass
            elif isinstance(part.extent, int) and isinstance(part.least, int):
                enough = part.extent >= part.least
            else:
                enough = self.compare("sge", part.extent, part.least)
            here = self._and_not(enough, taken)
            taken = self.either_holds(taken, enough)
            if here is False:
                ranges.append((0, part.extent))
                continue
            low = self._bound(part, thread, count)
            high = self._bound(part, self.add(thread, 1), count)
            if here is not True:
                low, high = self.select(here, low, 0), self.select(here, high, part.extent)
            ranges.append((low, high))
        return ranges

    def _bound(self, part: Part, number: ir.Value, count: ir.Value) -> ir.Value:
        """Return where a thread's range begins: the multiple of the unit nearest to its share."""
        share = self.div(self.mul(number, part.extent), count)
        units = self.div(self.add(share, part.unit // 2), part.unit)
        inside = self.min(self.mul(units, part.unit), part.extent)
        return self.select(self.compare("eq", number, count), part.extent, inside)

    def _and_not(self, a: bool | ir.Value, b: bool | ir.Value) -> bool | ir.Value:
        if a is False or b is True:
            return False
        if b is False:
            return a
        not_b = self.op("arith.xori", [b, self.constant(self.bool_type, 1)], self.bool_type)
        return not_b if a is True else self.both(a, not_b)

    def either_holds(self, a: bool | ir.Value, b: bool | ir.Value) -> bool | ir.Value:
        """Return whether one of two conditions holds, which may be known."""
        if a is True or b is True:
            return True
        if isinstance(a, ir.Value) and isinstance(b, ir.Value):
            return self.op("arith.ori", [a, b], self.bool_type)
        return b if a is False else a

    def _most_threads(self) -> ir.Value:
        """Return how many threads there may be: what the target says, and the user."""
        if self._most is None:
            with self.at_entry():
                self._most = self.min(self._ask("relax_mlir_max_threads"), self.threads)
        return self._most

    def _ask(self, name: str) -> ir.Value:
        number = self.call_library(name, [], self._i32)
        return self.op("arith.index_cast", [number], self.index_type)

    def call_library(self, name: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """Write a call of a function of the process's libraries; return what it returns."""
        self._declare(name, ir.FunctionType.get([value.type for value in operands], [result]))
        return self.op("func.call", operands, result, callee=ir.FlatSymbolRefAttr.get(name))

    def _declare(self, name: str, type_: ir.FunctionType) -> None:
        module = self._marks[0].operation
        while module.name != "builtin.module":
            module = module.parent.operation
        block = module.regions[0].blocks[0]
        names = [op.operation.attributes.get("sym_name", None) for op in block.operations]
        if not any(n is not None and ir.StringAttr(n).value == name for n in names):
            with ir.InsertionPoint.at_block_begin(block):
                ir.Operation.create(
                    "func.func",
                    attributes={
                        "sym_name": ir.StringAttr.get(name),
                        "function_type": ir.TypeAttr.get(type_),
                        "sym_visibility": ir.StringAttr.get("private"),
                    },
                    regions=1,
                )
