"""Functions of the module being parsed."""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.script.parser.annotations import Signature


@dataclass
class Function:
    """A function of the module being parsed.

    Attributes:
        name: symbol name.
        kind: `"relax"`, `"tir"`, or `"extern"` of a packed function.
        node: its definition, None of one that was there before the script.
        options: keyword arguments of its decorator.
        op: the `func.func`, once parsed.
        state: `"new"`, `"open"` while being parsed, `"done"`.
        signature: of a Relax function, once asked for.
        pure: whether a Relax function has no side effects.
    """

    name: str
    kind: str
    node: Any
    options: dict[str, Any] = field(default_factory=dict)
    op: Any = None
    state: str = "new"
    signature: Signature | None = None
    pure: bool = False
