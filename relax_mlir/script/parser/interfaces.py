"""The parsers of expressions, statements and modules, as those that they hand parts to name them.

Reading is recursive: an expression may hold statements (macros), and a statement expressions. The
classes stand above what reads their parts, so there they have no static type.
"""

from typing import Any, TypeAlias

ModuleParser: TypeAlias = Any
ExprParser: TypeAlias = Any
StmtParser: TypeAlias = Any
TirExprParser: TypeAlias = Any
TirStmtParser: TypeAlias = Any
