"""The parsers of expressions, statements and modules, as those that they hand parts to name them.

Reading is recursive: an expression may hold statements (macros), and a statement expressions. The
classes stand above what reads their parts; here they have a scope, and are not known further.
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
