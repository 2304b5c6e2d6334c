"""The record of a schedule: instructions with inputs, attributes, results and decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.tir.prim_expr import PrimExpr
from relax_mlir.tir.schedule.handles import RandomVariable


@dataclass(frozen=True, eq=False)
class InstructionKind:
    """What an instruction does.

    Attributes:
        name: TVM's name of it, such as `GetBlock`.
        method: the method of `Schedule` that does it.
        parameters: the names of the method's parameters, in order, without `decision`.
        inputs: those of them that take random variables.
        variadic: the one that takes any number of positional arguments, empty for none.
        samples: whether it makes a decision.
        postproc: whether `remove_postproc` leaves it out, with all that follows.
        pure: whether the program stays as it is, so that it can go when nobody uses its results.
        gives: the letter of the random variables that it gives, empty for none.
        gives_list: whether the method returns a list.
    """

    name: str
    method: str
    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    variadic: str = ""
    samples: bool = False
    postproc: bool = False
    pure: bool = False
    gives: str = ""
    gives_list: bool = False

    def __repr__(self) -> str:
        return f"InstructionKind({self.name})"


@dataclass(eq=False)
class Instruction:
    """One step of a schedule.

    Attributes:
        kind: what it does.
        arguments: by the name of the parameter what it was given: random variables, numbers,
            strings, `None`, index maps, and lists of these.
        outputs: the random variables that it gave.
    """

    kind: InstructionKind
    arguments: dict[str, Any]
    outputs: list[Any] = field(default_factory=list)

    @property
    def inputs(self) -> list[Any]:
        """The arguments that are random variables, with what is in lists side by side."""
        found: list[Any] = []
        for name in self.kind.inputs:
            value = self.arguments[name]
            found += value if isinstance(value, (list, tuple)) else [value]
        return found

    @property
    def attrs(self) -> list[Any]:
        """The other arguments."""
        return [v for name, v in self.arguments.items() if name not in self.kind.inputs]

    def variables(self) -> Iterator[Any]:
        """Yield the random variables that it uses."""
        yield from variables_in(list(self.arguments.values()))

    def __repr__(self) -> str:
        from relax_mlir.tir.schedule.trace.trace import Trace

        return Trace([self], {}).as_python()[0]


def variables_in(value: Any) -> Iterator[Any]:
    """Yield the random variables in an argument, those inside expressions too."""
    from relax_mlir.tir.schedule.handles import ExprRV

    if isinstance(value, (RandomVariable, ExprRV)):
        yield value
    elif isinstance(value, PrimExpr):
        for operand in value.operands:
            yield from variables_in(operand)
    elif isinstance(value, dict):
        for each in value.values():
            yield from variables_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from variables_in(each)


_KINDS: dict[str, InstructionKind] = {}


def register(kind: InstructionKind) -> None:
    """Make a kind of instruction known by its name and its method's."""
    _KINDS[kind.name] = _KINDS[kind.method] = kind


def kind_of(name: str) -> InstructionKind:
    """Return the kind of instruction of a name, TVM's or that of the method.

    Raises:
        KeyError: there is none.
    """
    from relax_mlir.errors import did_you_mean

    if name not in _KINDS:
        raise KeyError(f"no instruction '{name}'{did_you_mean(name, _KINDS)}")
    return _KINDS[name]


def kinds() -> Sequence[InstructionKind]:
    """Return all kinds of instructions."""
    return list(dict.fromkeys(_KINDS.values()))
