"""Rewriting functions in place: new expressions for values, until nothing changes any more."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax.side_effects import is_pure
from relax_mlir.errors import BuilderError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.dpl.matcher import emitted_value
from relax_mlir.relax.expr import Call, Tuple, TupleGetItem, Var, var, view_op
from relax_mlir.relax.expr.places import (
    DATAFLOW,
    LEAVES,
    TERMINATORS,
    canonical,
    defining_op,
    is_leaf,
    is_projection,
)

# How often the operations of a function may be rewritten, for each of them.
_MAX_REWRITES = 64


class _Module:
    """A module that a pass works on, with what builders ask one for."""

    def __init__(self, operation: ir.Operation) -> None:
        self.operation, self.context = operation, operation.context
        self.body = operation.regions[0].blocks[0]
        self.mlir_module = self


class FunctionRewriter:
    """One function under change, in its module.

    Attributes:
        builder: writes into it.
        func: the function.
        module: the module.
        added: functions of rewriters that are in the module, by what they are called there.
    """

    def __init__(self, module: ir.Operation, func: ir.Operation) -> None:
        self.builder: BlockBuilder = BlockBuilder.over(_Module(module))  # type: ignore[arg-type]
        self.func, self.module = func, module
        self.added: dict[Any, dict[str, str]] = {}
        self._retyped = False
        self._places: dict[ir.Operation, tuple[Any, ...]] = {}

    def sweep(self, rewrite: Callable[[Any, Any], Any]) -> bool:
        """Offer each value to a function until it replaces none of them.

        Args:
            rewrite: takes an expression and how to look up variables' values; returns what stands
                for it, or None.

        Returns:
            Whether anything changed.

        Raises:
            BuilderError: there is no end.
        """
        changed, left = False, None
        while True:
            ops = self.operations()
            if left is None:
                left = _MAX_REWRITES * (len(ops) + 1)
            count = 0
            for op in ops:
                if not op.attached or self._has_fixed_form(op):
                    continue
                expr = view_op(op, self.module)
                with self.builder.insert_before(op):
                    new = rewrite(expr, self.lookup_at(op))
                    if new is None or new is expr:
                        continue
                    value = self.value_of(new, location_name(op.location))
                self.replace(op.results[0], value)
                count += 1
            if not count:
                return changed
            changed = True
            left -= count
            if left < 0:
                raise BuilderError("the rewriter replaces what it has made without end")
            self.tidy()

    def operations(self) -> list[ir.Operation]:
        """Return the operations whose values can be replaced, those of inner blocks in place."""
        self._places = {}
        result: list[ir.Operation] = []
        self._collect(self.func.regions[0].blocks[0], (), result)
        return result

    def _collect(self, block: ir.Block, around: tuple[Any, ...], ops: list[Any]) -> None:
        part = 0
        for view in block.operations:
            op = view.operation
            place = self._places[op] = (*around, part)
            if op.name == DATAFLOW:
                # What is in it is computed where it stands, and without effects.
                inner = op.regions[0].blocks[0]
                for each in inner.operations:
                    self._places[each.operation] = place
                    self._note(each.operation, ops)
                continue
            for number, region in enumerate(op.regions):
                for each in region.blocks:
                    self._collect(each, (*place, op, number), ops)
            if not is_pure(op) and op.name != "relax.match_cast":
                part += 1
            else:
                self._note(op, ops)

    def _note(self, op: ir.Operation, ops: list[Any]) -> None:
        literal = op.name in LEAVES and not len(op.operands)
        if len(op.results) and op.name not in TERMINATORS and not literal:
            ops.append(op)

    def _has_fixed_form(self, op: ir.Operation) -> bool:
        """Whether an operation is part of others' form, or nothing uses it."""
        users = [use.owner.operation for use in op.results[0].uses]
        if not users or is_projection(op) or op.name == "relax.match_cast":
            return True
        return is_leaf(op) and any(extension("relax.takes_arguments")(user.name) for user in users)

    def lookup_at(self, op: ir.Operation) -> Callable[[Var], Any]:
        """Return a predicate for values of variables that may as well be computed at an operation.

        What is computed before an effect is not computed after it.
        """
        place = self._places[op]

        def lookup(variable: Var) -> Any:
            value = variable.mlir_value
            owner = None if value is None else defining_op(canonical(value))
            if owner is None or self._places.get(owner, place) != place:
                return None
            return emitted_value(variable)

        return lookup

    def side_by_side(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Whether two operations are in one block without an effect between them."""
        return first.block == second.block and self._places[first] == self._places[second]

    def value_of(self, new: Any, name: str) -> ir.Value:
        """Return the value of an expression where the builder stands, creating what is new."""
        expr = self._settled(self.builder._expression(new))
        if not isinstance(expr, Var) and name:
            self.builder._frame().names.discard(name)
        return self.builder._materializer.value(expr, name)

    def _settled(self, expr: Any) -> Any:
        """Return an expression over variables: what is in the function is not made again."""
        done: dict[int, Any] = {}
        waiting = [expr]
        while waiting:
            top = waiting[-1]
            if id(top) in done:
                waiting.pop()
                continue
            op = getattr(top, "mlir_op", None)
            if isinstance(top, (Call, TupleGetItem, Tuple)) and op is None:
                parts = _parts(top)
                missing = [part for part in parts if id(part) not in done]
                if missing:
                    waiting += missing
                    continue
                _set_parts(top, [done[id(part)] for part in parts])
                done[id(top)] = top
            elif op is not None and len(op.results) and op.name not in LEAVES:
                done[id(top)] = var(op.results[0], self.module)
            else:
                done[id(top)] = top
            waiting.pop()
        return done[id(expr)]

    def replace(self, old: ir.Value, new: ir.Value) -> None:
        """Have a value stand for another."""
        if old == new:
            return
        self._retyped |= old.type != new.type
        old.replace_all_uses_with(new)

    def tidy(self) -> None:
        """Remove copies, common subexpressions and dead code."""
        extension("relax.remove_unused")(self.func)
        if self._retyped:
            extension("relax.infer_type_pass")(self.module)
            self._retyped = False
        extension("relax.forward_copies")(self.func)
        extension("relax.merge_equal")(self.func)
        extension("relax.remove_unused")(self.func)


def _parts(expr: Any) -> Sequence[Any]:
    if isinstance(expr, Call):
        return expr._args
    return expr._raw if isinstance(expr, Tuple) else [expr._tuple]


def _set_parts(expr: Any, parts: Sequence[Any]) -> None:
    if isinstance(expr, Call):
        expr._args = tuple(parts)
    elif isinstance(expr, Tuple):
        expr._raw = tuple(parts)
    else:
        expr._tuple = parts[0]


def relax_functions(mod: IRModule) -> Iterator[ir.Operation]:
    """Yield the Relax functions of a module."""
    for view in list(mod.mlir_module.body.operations):
        if "relax.function" in view.operation.attributes:
            yield view.operation
