"""Expressions that Python code inside a script makes: emitted where the parser reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.builder.frames import Frame
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.leaves import GlobalVar
from relax_mlir.relax.expr.views import var
from relax_mlir.script.parser.functions import Function


class _Visible:
    """The blocks whose values may be used: the parser hands over only what is in scope."""

    def __contains__(self, block: object) -> bool:
        return True


class ScriptBuilder(BlockBuilder):
    """Writes into the module that a parser is making.

    Args:
        module: what has been read of it.
        functions: the parser's functions by name; those that are added are put there too.

    Attributes:
        effects: whether what was written last may have side effects.
    """

    def __init__(self, module: ir.Module, functions: dict[str, Function]) -> None:
        self._start(IRModule(module))
        self._functions = functions
        self.effects = False

    def add_func(self, func: Any, func_name: str) -> GlobalVar:
        """Add a function to the module, under a name that the script does not have."""
        for name in self._functions:
            self._table.names.add(name)
        made = super().add_func(func, func_name)
        name = made.name_hint
        if name not in self._functions:
            op = self._find(name)
            assert op is not None, "it was added"
            kind = "relax" if "relax.function" in op.attributes else "tir"
            self._functions[name] = Function(name, kind, None, {}, op, "done")
        return made

    def view(self, value: ir.Value) -> Expr:
        """Return a value of the script as an expression."""
        return var(value, self._keep)

    @contextmanager
    def here(self, in_dataflow: bool) -> Iterator[None]:
        """Write at the current insertion point; `effects` says whether anything has any."""
        kind = "dataflow" if in_dataflow else "insertion"
        frame = Frame(self, kind, _Visible(), ir.InsertionPoint.current, Names())  # type: ignore
        self._push(frame)
        self.effects = False
        try:
            yield
        finally:
            self._close(frame)

    def create(self, expr: Any, name: str | None, loc: ir.Location) -> ir.Value:
        """Return the value of an expression, created where the builder writes.

        Raises:
            BuilderError: it has effects and the parser is in a dataflow block.
            ExprError: no run could compute it.
        """
        return self._materializer.value(self._expression(expr), name, loc)

    def _require_effects(self, what: str) -> None:
        super()._require_effects(what)
        self.effects = True
