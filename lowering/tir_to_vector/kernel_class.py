"""Kernel classes: which nests they match, and the candidates that compute them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import BlockInfo, Nest, kind_of, match_nest
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, NotFlat, collapse, flatten_nest
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, Work, cost, nest_work, size_of

Writer = Callable[[Emitter, Machine], None]
# For which sizes something holds; a value if they are dynamic.
Condition = Callable[[Emitter], bool | ir.Value]
_T = TypeVar("_T")


class Final(str):
    """A reason why nests do not match that holds for all later classes too."""


@dataclass(eq=False)
class Nests:
    """The nests that are to be planned, for `KernelClass.match`.

    Attributes:
        tops: their outermost operations, in order; a class takes the first, and maybe more.
        machine: what for.
    """

    tops: Sequence[ir.Operation]
    machine: Machine
    _known: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def first(self) -> Nest | str:
        """The first nest, or why it is none."""
        return match_nest(self.tops[0])

    @cached_property
    def opened(self) -> Nest | str:
        """The first nest, also if its block has branches with a vector form."""
        return match_nest(self.tops[0], branches=True)

    @property
    def nest(self) -> Nest:
        """The first nest, for classes that `first` being none does not reach."""
        assert isinstance(self.first, Nest)
        return self.first

    @cached_property
    def flat(self) -> FlatNest | str:
        """The first nest over flat memory, or why it has no such form."""
        try:
            return flatten_nest(self.nest)
        except NotFlat as why:
            return str(why)

    @cached_property
    def merged(self) -> FlatNest | str:
        """The same with adjacent iterators merged."""
        return self.flat if isinstance(self.flat, str) else collapse(self.flat)

    def once(self, match: Callable[[FlatNest, Machine], _T]) -> _T | str:
        """Return what a matcher says of the merged nest, which several classes may ask."""
        if isinstance(self.merged, str):
            return self.merged
        if match not in self._known:
            self._known[match] = match(self.merged, self.machine)
        return self._known[match]


@dataclass
class Problem:
    """Nests that a class has matched.

    Attributes:
        nests: the nests, adjacent and in order.
        form: what the class knows of them.
        kind: the kind of blocks in reports; of all of them, or only of the main nest's.
        main: the nest that `kind` is for, None for all.
    """

    nests: list[Nest]
    form: Any
    kind: str = ""
    main: Nest | None = None

    @property
    def element(self) -> ir.Type:
        """The type that the main nest, or the first, computes with."""
        return (self.main or self.nests[0]).stores[-1].op.operands[0].type

    @property
    def blocks(self) -> list[BlockInfo]:
        """The report on the blocks."""
        return [
            BlockInfo(
                nest.name,
                self.kind if self.kind and self.main in (None, nest) else kind_of(nest),
                True,
            )
            for nest in self.nests
        ]


@dataclass
class Candidate:
    """A way to compute a problem.

    Attributes:
        name: what it is called in reports.
        write: writes its code.
        work: returns what it computes and moves for the values of sizes, for `cost`.
        tile: the elements in registers at a time, outermost dimension first; a vector if empty.
        when: returns whether it is the best for the sizes; dynamic ones make that a value. None if
            its cost decides.
    """

    name: str
    write: Writer
    work: Callable[[Size], Work]
    tile: tuple[int, ...] = ()
    when: Condition | None = None


@dataclass(frozen=True)
class KernelClass:
    """A class of kernels.

    Attributes:
        name: what it is called in reports.
        match: returns the problem that nests begin with, or why there is none.
        candidates: returns the ways to compute it: those that are the best for some sizes in the
            order in which they are asked, and others, of which the cheapest is taken.
        one_nest: whether it takes one nest, and maybe what follows as its epilogue; others are
            several nests by nature.
        join: returns two adjacent problems as one, None if they stay two.
    """

    name: str
    match: Callable[[Nests], Problem | str]
    candidates: Callable[[Problem, Machine], list[Candidate]]
    one_nest: bool = True
    join: Callable[[Problem, Problem], Problem | None] | None = None


@dataclass
class NestForm:
    """A nest, and along what its lanes are: an iterator, or those that a transpose exchanges."""

    flat: FlatNest
    along: Any


def one_nest(
    name: str,
    match: Callable[[Nests], Any],
    write: Callable[[Any, Emitter], None],
    candidate: str = "vectors",
    more: Callable[[Any, Machine], float] = lambda form, machine: 0,
) -> KernelClass:
    """Return a class of single nests that are computed in one way.

    Args:
        name: what it is called in reports.
        match: returns the form of the first nest, or why it has none; its `flat` is the nest, its
            `kind`, if it has one, the kind of its block.
        write: writes the code of a form.
        candidate: what that way is called.
        more: cycles that a vector of a form takes besides its own operations.
    """

    def find(nests: Nests) -> Problem | str:
        form = match(nests)
        if isinstance(form, str):
            return form
        return Problem([form.flat.nest], form, getattr(form, "kind", ""))

    def candidates(problem: Problem, machine: Machine) -> list[Candidate]:
        form = problem.form
        return [
            Candidate(
                candidate,
                lambda emit, _: write(form, emit),
                lambda size: nest_work(form.flat, machine, size, more(form, machine)),
            )
        ]

    return KernelClass(name, find, candidates)


@dataclass
class Plan:
    """The plan of some adjacent operations.

    Attributes:
        tops: the operations that it replaces.
        blocks: the report on their blocks.
        nests: what classes were asked for.
        kernel_class: their class; None for the generic lowering.
        problem: what the class matched.
    """

    tops: list[ir.Operation]
    blocks: list[BlockInfo]
    nests: Nests
    kernel_class: KernelClass | None = None
    problem: Problem | None = None

    @property
    def machine(self) -> Machine:
        """What it is for."""
        return self.nests.machine

    @property
    def form(self) -> Any:
        """The form that the class matched, None for the generic lowering."""
        return None if self.problem is None else self.problem.form

    @cached_property
    def candidates(self) -> list[Candidate]:
        """All ways that the class knows."""
        if self.kernel_class is None or self.problem is None:
            return []
        return self.kernel_class.candidates(self.problem, self.machine)

    @cached_property
    def decision(self) -> list[Candidate]:
        """The candidates among which run time chooses, in order; the last needs no condition."""
        return decide(self.candidates, self.machine)

    def write(self, emit: Emitter) -> None:
        """Write the code of the decision at the insertion point."""
        _dispatch(self.decision, emit, self.machine)


def decide(candidates: Sequence[Candidate], machine: Machine) -> list[Candidate]:
    """Return the candidates among which run time chooses, in order.

    Conditions are evaluated as far as sizes are static; the last candidate needs none. Of those
    without a condition the cheapest is taken.
    """
    taken: list[Candidate] = []
    if any(each.when is not None for each in candidates):
        with _dropped(machine) as emit:
            for each in candidates:
                holds = False if each.when is None else each.when(emit)
                if holds is not False:
                    taken.append(each)
                if holds is True:
                    return taken
    rest = [each for each in candidates if each.when is None]
    return [
        *taken,
        rest[0] if len(rest) == 1 else min(rest, key=lambda c: cost(c.work(size_of()), machine)),
    ]


def _dispatch(candidates: Sequence[Candidate], emit: Emitter, machine: Machine) -> None:
    first, *others = candidates
    if not others or first.when is None:
        first.write(emit, machine)
        return
    emit.choose(
        first.when(emit),
        lambda: first.write(emit, machine),
        lambda: _dispatch(others, emit, machine),
    )


@contextmanager
def _dropped(machine: Machine) -> Iterator[Emitter]:
    """Provide an emitter whose code is dropped: conditions are evaluated with it."""
    with ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            emit = _Nowhere(module.body, machine)
            try:
                yield emit
            finally:
                emit.close()


class _Nowhere(Emitter):
    def flatten_once(self, buffer: ir.Value) -> ir.Value:
        """Return a buffer itself: a view of it would be written next to it."""
        return buffer
