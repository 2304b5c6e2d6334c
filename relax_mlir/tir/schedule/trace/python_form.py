"""Traces as statements of Python."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.tir.prim_expr import IntImm, PrimExpr
from relax_mlir.tir.schedule.handles import VARIABLES, ExprRV, RandomVariable
from relax_mlir.tir.schedule.trace.instruction import Instruction
from relax_mlir.tir.schedule.trace.trace import Trace


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


def as_python(trace: Trace, insts: Sequence[Instruction]) -> list[str]:
    """Return instructions as statements."""
    names, lines = Names(), []
    for inst in insts:
        arguments = dict(inst.arguments)
        positional = arguments.pop(inst.kind.variadic, []) if inst.kind.variadic else []
        texts = [spell(each, names) for each in positional]
        texts += [f"{key}={spell(value, names)}" for key, value in arguments.items()]
        if trace.decisions.get(inst) is not None:
            texts.append(f"decision={spell(trace.decisions[inst], names)}")
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
        return value.fold(lambda name: _Text(f'tir.SizeVar("{name}", "int64")'),
                          lambda number: _Text(str(number)), _Text.divide).text  # fmt: skip
    if hasattr(value, "as_python"):
        return value.as_python()
    return repr(value)


def spell_expr(value: PrimExpr, names: Names) -> str:
    """Return an expression of random variables as Python."""
    from relax_mlir.tir.conversion import Cast
    from relax_mlir.tir.nodes import BinaryExpr

    if isinstance(value, Cast):
        return spell_expr(value.value, names)
    if isinstance(value, BinaryExpr):
        a, b = (spell(each, names) for each in value.operands)
        if value.SIGN.isalpha():
            return f"tir.{value.SIGN}({a}, {b})"
        return f"({a} {value.SIGN} {b})"
    return repr(value)


class _Text:
    """Text of an expression with the operators that `SymExpr.fold` needs."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: "_Text") -> "_Text":
        return _Text(f"({self.text} + {other.text})")

    def __mul__(self, other: "_Text") -> "_Text":
        return _Text(f"({self.text} * {other.text})")

    @staticmethod
    def divide(kind: str, a: "_Text", b: "_Text") -> "_Text":
        """Return a quotient, a remainder, a minimum or a maximum."""
        sign = {"floordiv": "//", "mod": "%"}.get(kind)
        return _Text(f"({a.text} {sign} {b.text})" if sign else f"{a.text}.{kind}({b.text})")
