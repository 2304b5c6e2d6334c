"""Loops as expressions: initial values, body, results (not in TVM)."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import known_fields
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.blocks import SeqExpr
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.views import register_view, var, view


class _Loop(Expr):
    """A loop: view of its operation. `BlockBuilder.while_` and `for_` make them."""

    __slots__ = ("_op",)

    @property
    def mlir_op(self) -> ir.Operation:
        """The MLIR operation."""
        return self._op

    @property
    def mlir_value(self) -> ir.Value:
        """The value of the loop: the tuple of what it carried."""
        return self._op.results[0]

    @property
    def body(self) -> SeqExpr:
        """What is repeated; its value is the tuple for the next turn."""
        return SeqExpr.of(self._region(-1), self._keep)

    def _region(self, index: int) -> ir.Block:
        regions = list(self._op.regions)
        return regions[index].blocks[0]

    def _fields(self, value: ir.Value) -> list[Any]:
        fields = known_fields(value)
        return [view(each, self._keep) for each in ([value] if fields is None else fields)]

    def _variables(self, block: ir.Block) -> list[Var]:
        return [var(value, self._keep) for value in block.arguments]

    def _identity(self) -> Any:
        return type(self), self._op


class While(_Loop):
    """Repeats its body as long as its condition holds."""

    __slots__ = ()

    @property
    def initial(self) -> list[Any]:
        """The values for the first turn; one tuple where they are not written out."""
        return self._fields(self._op.operands[0])

    @property
    def cond(self) -> SeqExpr:
        """Whether there is another turn, asked with variables of its own."""
        return SeqExpr.of(self._region(0), self._keep)

    @property
    def cond_vars(self) -> list[Var]:
        """The carried variables in the condition."""
        return self._variables(self._region(0))

    @property
    def loop_vars(self) -> list[Var]:
        """The carried variables in the body."""
        return self._variables(self._region(-1))


class For(_Loop):
    """Repeats its body for every integer of a range."""

    __slots__ = ()

    @property
    def bounds(self) -> list[Any]:
        """Start, stop and step."""
        return self._fields(self._op.operands[0])

    @property
    def initial(self) -> list[Any]:
        """The values for the first turn; one tuple where they are not written out."""
        return self._fields(self._op.operands[1])

    @property
    def index(self) -> Var:
        """The integer of a turn."""
        return self._variables(self._region(-1))[0]

    @property
    def loop_vars(self) -> list[Var]:
        """The carried variables in the body."""
        return self._variables(self._region(-1))[1:]


register_view("relax.while", While)
register_view("relax.for", For)
