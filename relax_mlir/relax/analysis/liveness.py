"""Where values are still needed: last uses, live ranges, what is alive before each binding."""

from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprError
from relax_mlir.relax.analysis.scopes import Values, function_op, region_arguments, scopes_of
from relax_mlir.relax.expr import Binding, Var, binding_of
from relax_mlir.relax.expr.places import DATAFLOW

# Regions that may run again: what is used in them is needed until they are done.
_LOOPS = frozenset(("relax.while", "relax.for"))


class Liveness:
    """Where the variables of one function are needed.

    Positions count the bindings and ends of blocks in the order in which they stand, those of a
    branch or a loop inside it; a loop's own position comes before what is in it.

    Attributes:
        order: the operation at each position.
    """

    def __init__(self, func: Any) -> None:
        (scope,) = scopes_of(func)
        self._values = values = Values(scope.keep)
        self._keep = scope.keep
        self._params = [values.canonical(value) for value in scope.params]
        self.order: list[ir.Operation] = []
        self._position: dict[ir.Operation, int] = {}
        self._defined: dict[ir.Value, int] = dict.fromkeys(self._params, -1)
        self._last: dict[ir.Value, int] = {}
        for op in values.walk(scope):
            if op.name != DATAFLOW:
                self._position[op] = len(self.order)
                self.order.append(op)
                for value in (*op.results, *region_arguments(op)):
                    self._defined[value] = self._position[op]
        self._uses()

    def _uses(self) -> None:
        loops: list[tuple[int, int]] = []
        for position, op in enumerate(self.order):
            while loops and position > loops[-1][1]:
                loops.pop()
            if op.name != "relax.output":
                for value in self._values.operands(op):
                    self._last[value] = max(
                        self._until(value, position, loops), self._last.get(value, -1)
                    )
            if op.name in _LOOPS:
                loops.append((position, self._end(op)))

    def _until(self, value: ir.Value, position: int, loops: list[tuple[int, int]]) -> int:
        """Return until when a use keeps a value: to the end of the loops that it comes into."""
        defined = self._defined.get(value, -1)
        return next((end for start, end in loops if start > defined), position)

    def _end(self, loop: ir.Operation) -> int:
        last, stack = self._position[loop], [loop]
        while stack:
            for region in stack.pop().regions:
                for block in region.blocks:
                    for view in block.operations:
                        inner = view.operation
                        last = max(last, self._position.get(inner, last))
                        if len(inner.regions):
                            stack.append(inner)
        return last

    @property
    def variables(self) -> list[Var]:
        """All variables of the function in the order in which they are bound."""
        return [self._values.var(value) for value in self._defined]

    def position(self, what: "Binding | Var") -> int:
        """Return the position of a binding, or of the binding of a variable; -1 for a parameter.

        Raises:
            ExprError: it is not in this function.
        """
        op = getattr(what, "mlir_op", None)
        result = None if op is None else self._position.get(op)
        value = getattr(what, "mlir_value", None)
        if result is None and value is not None:
            result = self._defined.get(self._values.canonical(value))
        if result is None:
            raise ExprError(f"{what!r} is not in this function")
        return result

    def last_use(self, var: Var) -> int | None:
        """Return the position of the last use of a variable, None when nothing uses it.

        Raises:
            ExprError: it is not in this function.
        """
        self.position(var)
        value = var.mlir_value
        assert value is not None, "it has a position"
        return self._last.get(self._values.canonical(value))

    def live_range(self, var: Var) -> tuple[int, int]:
        """Return the positions of a variable's binding and of its last use, equal without a use.

        Raises:
            ExprError: it is not in this function.
        """
        start = self.position(var)
        last = self.last_use(var)
        return start, start if last is None else last

    def dies_at(self) -> dict[int, list[Var]]:
        """Return for each position the variables that are not needed after it."""
        result: dict[int, list[Var]] = {}
        for value, start in self._defined.items():
            result.setdefault(self._last.get(value, start), []).append(self._values.var(value))
        return result

    def live_in(self, what: "Binding | int") -> list[Var]:
        """Return the variables whose values are needed at a binding or after it.

        Takes time linear in the function; `live_sets` gives all of them in one go. A variable that
        only the other branch of an `if` uses counts as needed in the first.

        Raises:
            ExprError: the binding is not in this function.
        """
        position = what if isinstance(what, int) else self.position(what)
        return [
            self._values.var(value)
            for value, start in self._defined.items()
            if start < position <= self._last.get(value, start)
        ]

    def live_sets(self) -> Iterator[tuple[Binding, dict[Var, None]]]:
        """Yield each binding with the variables that are needed at it or after it.

        The variables are one dictionary, in order of binding, that changes from step to step; copy
        what is to stay. All steps together take linear time.
        """
        dying = self.dies_at()
        live: dict[Var, None] = {}
        for value in self._params:
            if self._last.get(value, -1) >= 0:
                live[self._values.var(value)] = None
        for position, op in enumerate(self.order):
            if self._values.is_binding(op):
                yield binding_of(op, self._keep), live
            for result in op.results:
                live[self._values.var(result)] = None
            for var in dying.get(position, ()):
                live.pop(var, None)


def liveness(func: Any) -> Liveness:
    """Return where the variables of a Relax function are needed.

    Args:
        func: a function: its view or its MLIR operation.

    Raises:
        ExprTypeError: it is no function of a module.
    """
    function_op(func)
    return Liveness(func)
