"""The base class of parsers of one kind of statement."""

from relax_mlir.script.parser.interfaces import TirStmtParser


class StatementPart:
    """Parses one kind of statement for the parser of them all."""

    def __init__(self, stmts: TirStmtParser) -> None:
        self.stmts = stmts
        self.scope = stmts.scope
        self.expr = stmts.expr
        self.builder = stmts.builder
