"""A copy of a function under change, made when the first change is: what mutators work on.

Those who rewrite look at the function as it was. What they change is changed in the copy, where
MLIR itself keeps all uses right, so what stays as it was costs nothing.
"""

from collections.abc import Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.errors import BuilderError
from relax_mlir.relax.analysis.scopes import Values
from relax_mlir.relax.builder.frames import resolve
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr import Var
from relax_mlir.relax.expr.places import defining_op, is_leaf, operations_within
from relax_mlir.relax.expr_functor.retype import Types


class Edit:
    """One function and its copy.

    Attributes:
        func: the function as it was.
        version: how often something was changed.
        cursor: the operation of `func` that new ones go in front of, None before the first.
        types: which values of the copy have other types now.
    """

    func: ir.Operation
    keep: Any

    def __init__(self, builder: Any, func: ir.Operation, keep: Any) -> None:
        self.func, self.keep = func, keep
        self.version = 0
        self.cursor: ir.Operation | None = None
        self.types: Types = Types()
        self._builder = builder
        self._copy: ir.Operation | None = None
        self._ops: dict[ir.Operation, ir.Operation] = {}
        self._blocks: dict[ir.Block, ir.Block] = {}
        self._values: dict[ir.Value, ir.Value] = {}
        # Values that others stand for now, by the value as it was.
        self._replaced: dict[ir.Value, ir.Value] = {}
        self._settled: ir.Operation | None = None
        self._dropped: dict[ir.Operation, None] = {}
        self._names: Names | None = None
        self._variables = Values()

    @property
    def copy(self) -> ir.Operation:
        """The copy, made when it is first asked for."""
        if self._copy is None:
            self._copy = self.func.clone(ip=False)
            for mine, theirs in zip(
                operations_within(self.func), operations_within(self._copy), strict=True
            ):
                self._ops[mine] = theirs
                for old, new in zip(mine.results, theirs.results, strict=True):
                    self._values[old] = new
                for old_region, new_region in zip(mine.regions, theirs.regions, strict=True):
                    for old, new in zip(old_region.blocks, new_region.blocks, strict=True):
                        self._blocks[old] = new
                        self._values.update(zip(old.arguments, new.arguments, strict=True))
        return self._copy

    @property
    def names(self) -> Names:
        """The names of the copy's variables."""
        if self._names is None:
            self._names = Names()
            for op in operations_within(self.copy):
                self._names.add(location_name(op.location))
                for region in op.regions:
                    for block in region.blocks:
                        for argument in block.arguments:
                            self._names.add(location_name(argument.location))
        return self._names

    def op(self, op: ir.Operation) -> ir.Operation:
        """Return the copy of an operation; it may have been erased when it was replaced."""
        self.copy  # noqa: B018 - makes it
        result = self._ops.get(op)
        if result is None:
            raise BuilderError(f"'{op.name}' is no part of the function that is being rewritten")
        return result

    def block(self, block: ir.Block) -> ir.Block:
        """Return the copy of a block."""
        self.copy  # noqa: B018 - makes it
        return self._blocks[block]

    def point(self) -> ir.InsertionPoint:
        """Return where new operations go."""
        self.version += 1
        if self.cursor is None:
            return ir.InsertionPoint.at_block_begin(self.copy.regions[0].blocks[0])
        return ir.InsertionPoint(self.op(self.cursor))

    def get(self, value: ir.Value, default: ir.Value) -> ir.Value:
        """Return what stands for a value of the function as it was; others as they are."""
        self.copy  # noqa: B018 - makes the values
        return self._values.get(value, default)

    def __contains__(self, op: ir.Operation) -> bool:
        self.copy  # noqa: B018 - makes the operations
        return op in self._ops

    def replacement(self, value: ir.Value) -> ir.Value | None:
        """Return what a value was replaced by, None when it was not."""
        if not self._replaced:
            return None
        result = self._replaced.get(value)
        return self._replaced.get(self._variables.canonical(value)) if result is None else result

    def moved_dataflow(self, op: ir.Operation, made: ir.Operation) -> None:
        """Note that the copy of a dataflow block is another operation now, with its contents."""
        self.version += 1
        self._ops[op] = made
        self._blocks[op.regions[0].blocks[0]] = made.regions[0].blocks[0]
        if len(op.results):
            self._values[op.results[0]] = made.results[0]

    def touches(self, op: ir.Operation) -> bool:
        """Whether an operation of the function as it was uses something that was replaced.

        What is not of that function may.
        """
        if not self._replaced:
            return False
        if op not in self._ops:
            return True
        return any(value in self._replaced for value in self._variables.operands(op))

    # Bindings

    def begin(self, op: ir.Operation) -> None:
        """Go to a binding; what is emitted stands in front of it."""
        self.cursor = op
        self._settled = None

    def finish(self, op: ir.Operation) -> None:
        """Leave a binding; one that was neither kept nor replaced is dropped."""
        # The bindings do not compare an operation with None.
        if self._settled is None or self._settled != op:
            self.version += 1
            self._dropped[self.op(op)] = None
        self.cursor = op

    def keep_op(self, op: ir.Operation) -> None:
        """Keep a binding as it is, with the type that its operands give it now."""
        self._settled = op
        if self.types:
            self.types.refresh(self.op(op))

    def replace(self, op: ir.Operation, new: Any) -> None:
        """Have an expression stand for the value of a binding.

        Raises:
            BuilderError: the expression uses what is not known there.
            ExprError: no run could compute it.
        """
        old = self.op(op)
        name = location_name(old.location)
        if isinstance(new, Var):
            value = resolve(self._builder, new)
        else:
            if name:
                self.names.discard(name)
            value = self._builder.bind(new, name)
        self.put(op, value)

    def put(self, op: ir.Operation, value: ir.Value) -> None:
        """Have a value of the copy stand for the result of a binding.

        Raises:
            BuilderError: another stands for it already, or it has none.
        """
        old = self.op(op)
        self._settled = op
        if not len(old.results):
            raise BuilderError(f"'{old.name}' has no value that another could stand for")
        result = old.results[0]
        if value == result:
            return
        if op.results[0] in self._replaced:
            name = location_name(old.location) or old.name
            raise BuilderError(f"'{name}' has been bound to something else already")
        self.version += 1
        self.types.note(value, result.type)
        result.replace_all_uses_with(value)
        self._values[op.results[0]] = self._replaced[op.results[0]] = value
        self._dropped[old] = None

    def is_dropped(self, op: ir.Operation) -> bool:
        """Whether the binding of an operation is to go."""
        return bool(self._dropped) and self._ops.get(op) in self._dropped

    def is_replaced(self, op: ir.Operation) -> bool:
        """Whether something stands for the result of a binding already."""
        return bool(self._replaced) and len(op.results) > 0 and op.results[0] in self._replaced

    def settle(self, op: ir.Operation) -> None:
        """Note that a binding has been dealt with."""
        self._settled = op

    def end(self) -> ir.Operation:
        """Take away what was dropped, and return the finished copy.

        Raises:
            BuilderError: something uses a variable whose binding was dropped.
        """
        for op in self._in_order(self._dropped):
            if any(next(iter(result.uses), None) is not None for result in op.results):
                name = location_name(op.location) or op.name
                raise BuilderError(
                    f"'{name}' is still used, and its binding was neither kept nor replaced"
                )
            erase(op)
        self._dropped.clear()
        self.types.refresh_signature(self.copy)
        return self.copy

    def _in_order(self, ops: Iterable[ir.Operation]) -> list[ir.Operation]:
        """Return operations so that users come before what they use, insides before outsides."""
        result = list(ops)
        if any(len(op.regions) for op in result):
            # What is in an operation goes with it, and must not be touched afterwards.
            position = {op: index for index, op in enumerate(operations_within(self.copy))}
            result.sort(key=position.__getitem__)
        return result[::-1]


def erase(op: ir.Operation) -> None:
    """Erase an operation with the constants and tuples that only it used."""
    pending = [op]
    while pending:
        each = pending.pop()
        parts = {owner for value in each.operands if (owner := defining_op(value)) is not None}
        each.erase()
        pending += [
            part
            for part in parts
            if is_leaf(part) and next(iter(part.results[0].uses), None) is None
        ]


def erase_unused(value: ir.Value) -> None:
    """Erase a constant or a tuple in place that nothing uses any more."""
    op = defining_op(value)
    if op is not None and is_leaf(op) and next(iter(value.uses), None) is None:
        erase(op)
