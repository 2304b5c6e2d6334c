"""Protocols of the parsers, which call each other recursively.

An expression may contain statements (macros), and a statement contains expressions. Modules import
these protocols instead of the classes, so that imports make no cycle.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from relax_mlir.script.parser.scope import Scope

ModuleParser: TypeAlias = Any


class Parser:
    """What every parser of a language has.

    Attributes:
        scope: what names mean where it reads.
    """

    scope: Scope

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class NullValue:
    """An argument that was left out: `_` after `_ = R.null_value()`."""


class ExprParser(Parser):
    """The parser of Relax expressions.

    Attributes:
        impure: whether something that it read has side effects.
    """

    impure: Any


class StmtParser(Parser):
    """The parser of Relax statements."""


class TirExprParser(Parser):
    """The parser of TIR expressions."""


class TirStmtParser(Parser):
    """The parser of TIR statements."""
