"""The record of a schedule: instructions with inputs, attributes, results; as Python text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import did_you_mean
from relax_mlir.tir.scalar.conversion import Cast
from relax_mlir.tir.scalar.nodes import BinaryExpr
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr
from relax_mlir.tir.schedule.handles import VARIABLES, ExprRV, RandomVariable
from relax_mlir.tir.schedule.text import Text


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
        pure: whether the program stays as it is, so that it is removed when its results are unused.
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
        result: list[Any] = []
        for name in self.kind.inputs:
            value = self.arguments[name]
            result += value if isinstance(value, (list, tuple)) else [value]
        return result

    @property
    def attrs(self) -> list[Any]:
        """The other arguments."""
        return [v for name, v in self.arguments.items() if name not in self.kind.inputs]

    def variables(self) -> Iterator[Any]:
        """Yield the random variables that it uses."""
        yield from variables_in(list(self.arguments.values()))

    def __repr__(self) -> str:
        return as_python([self], {})[0]


def variables_in(value: Any) -> Iterator[Any]:
    """Yield the random variables in an argument, those inside expressions too."""
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
    if name not in _KINDS:
        raise KeyError(f"no instruction '{name}'{did_you_mean(name, _KINDS)}")
    return _KINDS[name]


def kinds() -> Sequence[InstructionKind]:
    """Return all kinds of instructions."""
    return list(dict.fromkeys(_KINDS.values()))


class Names:
    """The names of random variables in a text: b for blocks, l for loops, v for integers."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        # The keys are good as long as the variables are.
        self._keep: list[Any] = []

    def new(self, rv: Any) -> str:
        """Name the next random variable."""
        letter = next(letter for letter, cls in VARIABLES.items() if isinstance(rv, cls))
        self._names[id(rv)] = f"{letter}{len(self._names)}"
        self._keep.append(rv)
        return self._names[id(rv)]

    def __getitem__(self, rv: Any) -> str:
        return self._names.get(id(rv), "_")


def as_python(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> list[str]:
    """Return instructions as statements."""
    names, lines = Names(), []
    for inst in insts:
        arguments = dict(inst.arguments)
        positional = arguments.pop(inst.kind.variadic, []) if inst.kind.variadic else []
        texts = [spell(each, names) for each in positional]
        texts += [f"{key}={spell(value, names)}" for key, value in arguments.items()]
        if decisions.get(inst) is not None:
            texts.append(f"decision={spell(decisions[inst], names)}")
        call = f"sch.{inst.kind.method}({', '.join(texts)})"
        outputs = ", ".join(names.new(each) for each in inst.outputs)
        many = len(inst.outputs) == 1 and inst.kind.gives_list
        lines.append(f"{outputs}{',' if many else ''} = {call}" if outputs else call)
    return lines


def spell(value: Any, names: Names) -> str:
    """Return an argument as Python."""
    if isinstance(value, (RandomVariable, ExprRV)):
        return names[value]
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(spell(each, names) for each in value)}]"
    if isinstance(value, dict):
        items = (f"{spell(k, names)}: {spell(v, names)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, IntImm):
        return str(value.value)
    if isinstance(value, PrimExpr):
        return spell_expr(value, names)
    if isinstance(value, SymExpr):
        return value.fold(lambda name: Text(f'tir.SizeVar("{name}", "int64")'),
                          lambda number: Text(str(number)), Text.divide).text  # fmt: skip
    if hasattr(value, "as_python"):
        return value.as_python()
    return repr(value)


def spell_expr(value: PrimExpr, names: Names) -> str:
    """Return an expression of random variables as Python."""
    if isinstance(value, Cast):
        return spell_expr(value.value, names)
    if isinstance(value, BinaryExpr):
        a, b = (spell(each, names) for each in value.operands)
        if value.SIGN.isalpha():
            return f"tir.{value.SIGN}({a}, {b})"
        return f"({a} {value.SIGN} {b})"
    return repr(value)
