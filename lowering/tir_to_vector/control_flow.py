"""Loops and branches of `scf`, and the loop hints for LLVM."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, IndexEmitter, IndexValue

# Loop hints for LLVM. Of loops of vector code, only the innermost ones of the main path gain from
# unrolling and strength reduction; for all loops that took most of a compilation's time. (LLVM does
# not know the metadata that MLIR writes for `vectorize = <disable>`, so the width is 1.)
AS_IT_LIKES = ""
_NO_VECTORS = "vectorize = <width = 1 : i32>, interleave = <count = 1 : i32>"
UNROLL = f"#llvm.loop_annotation<{_NO_VECTORS}>"
KEEP = f"#llvm.loop_annotation<{_NO_VECTORS}, unroll = <disable = true>>"
AS_IT_IS = "#llvm.loop_annotation<disableNonforced = true>"


@dataclass
class Loop:
    """A loop being written: its counter, its carried values, and its results once it is closed."""

    counter: IndexValue
    carried: list[ir.Value]
    op: ir.Operation
    results: list[ir.Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next = self.carried

    def carry(self, values: Sequence[ir.Value]) -> None:
        """Set the carried values of the next step."""
        self._next = list(values)


class ControlFlowEmitter(IndexEmitter):
    """Writes loops and branches at the current insertion point."""

    @contextmanager
    def loop(
        self, lower: Index, upper: Index, step: Index = 1, carried: Sequence[ir.Value] = (),
        hints: str = AS_IT_IS,
    ) -> Iterator[Loop]:  # fmt: skip
        """Write an `scf.for`; `Loop.carry` sets what the next step gets, `hints` are for LLVM."""
        made = ir.Operation.create(
            "scf.for",
            results=[value.type for value in carried],
            operands=[self.index(lower), self.index(upper), self.index(step), *carried],
            regions=1,
        )
        if hints:
            made.attributes["llvm.loop_annotation"] = self.parsed(hints)
        block = made.regions[0].blocks.append(self.index_type, *(v.type for v in carried))
        counter, *arguments = block.arguments
        loop = Loop(IndexValue(counter, self), arguments, made)
        with ir.InsertionPoint(block):
            yield loop
            self.effect("scf.yield", loop._next)
        loop.results = list(made.results)

    @contextmanager
    def each_step(self, lower: Index, upper: Index, step: Index = 1) -> Iterator[Index]:
        """Write a loop and yield its counter, or the place of its only step, if that is known."""
        if all(isinstance(x, int) for x in (lower, upper, step)) and 0 < upper - lower <= step:
            yield lower
            return
        with self.loop(lower, upper, step) as loop:
            yield loop.counter

    @contextmanager
    def blocks(self, lower: Index, upper: Index, size: Index) -> Iterator[tuple[Index, Index]]:
        """Write a loop over blocks and yield the range of one; no loop for a known single block."""
        if all(isinstance(x, int) for x in (lower, upper, size)) and upper - lower <= size:
            yield lower, upper
            return
        with self.loop(lower, upper, size) as loop:
            yield loop.counter, self.min(loop.counter + size, upper)

    def in_groups(
        self, first: Index, last: Index, count: int, write: Callable[[Index, int], object]
    ) -> None:
        """Call `write` in loops over a range: with `count` steps together, then with one."""
        whole = first + self.round_down(last - first, count) if count > 1 else last
        for begin, end, each in ((first, whole, count), (whole, last, 1)):
            if begin != end:
                with self.loop(begin, end, each) as loop:
                    write(loop.counter, each)

    @contextmanager
    def when(self, condition: Bool) -> Iterator[ir.Operation]:
        """Write an `scf.if` without results; yields it, for `otherwise`."""
        if isinstance(condition, bool):
            condition = self.constant(self.bool_type, condition)
        made = ir.Operation.create("scf.if", operands=[condition], regions=2)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            yield made
            self.effect("scf.yield", [])

    @contextmanager
    def otherwise(self, made: ir.Operation) -> Iterator[None]:
        """Write the other branch of an `scf.if`."""
        with ir.InsertionPoint(made.regions[1].blocks.append()):
            yield
            self.effect("scf.yield", [])

    def if_any(self, count: Index, write: Callable[[], object]) -> None:
        """Write code for a count above 0, in a branch if only run time knows it."""
        if isinstance(count, int):
            if count > 0:
                write()
            return
        with self.when(self.compare("sgt", count, 0)):
            write()

    def choose(
        self, condition: bool | ir.Value, yes: Callable[[], None], no: Callable[[], None]
    ) -> None:
        """Write one of two pieces of code, or both with a branch if only run time knows."""

        def written(write: Callable[[], object]) -> list[ir.Value]:
            write()
            return []

        self.either(condition, [], lambda: written(yes), lambda: written(no))

    def either(
        self, condition: bool | ir.Value, types: Sequence[ir.Type],
        yes: Callable[[], Sequence[ir.Value]], no: Callable[[], Sequence[ir.Value]],
    ) -> list[ir.Value]:  # fmt: skip
        """Return what one of two pieces of code returns, of these types, as `choose` writes it."""
        if isinstance(condition, bool):
            return list((yes if condition else no)())
        made = ir.Operation.create("scf.if", results=types, operands=[condition], regions=2)
        for region, write in zip(made.regions, (yes, no), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                self.effect("scf.yield", write())
        return list(made.results)
