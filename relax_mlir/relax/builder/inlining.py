"""Sequences of other functions, copied to where a builder writes."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax.ops.core import impurity
from relax_mlir.errors import BuilderError
from relax_mlir.relax.builder.frames import resolve
from relax_mlir.relax.builder.lambdas import LAMBDA
from relax_mlir.relax.expr.leaves import Var, make_var, value_name
from relax_mlir.relax.expr.places import (
    DATAFLOW,
    canonical,
    operations_within,
    outputs,
    terminator,
)


def inline_block(builder: Any, block: ir.Block) -> Var:
    """Copy what is in the body of a function or branch, and return a variable of its value.

    In a dataflow block the contents of dataflow blocks are copied, elsewhere the blocks.

    Raises:
        BuilderError: it uses a variable that means nothing where the builder writes, has effects
            in a dataflow block, or belongs to another MLIR context.
    """
    if block.owner.context != builder.context:
        raise BuilderError("the sequence belongs to a module of another MLIR context")
    end = terminator(block)
    if end is None or not len(end.operands):
        raise BuilderError("the sequence has no value")
    frame = builder._frame()
    copied = _Copy(builder, frame)
    copied.operations(block)
    value = copied.value(end.operands[0])
    return make_var(value, "", builder._keep, frame, frame.kind == "dataflow")


class _Copy:
    """Copies operations, and knows what stands for the values of the originals."""

    def __init__(self, builder: Any, frame: Any) -> None:
        self._builder, self._frame = builder, frame
        self._values: dict[ir.Value, ir.Value] = {}
        self._names: dict[str, str] = {}

    def operations(self, block: ir.Block) -> None:
        """Copy the operations of a block but the last."""
        end = terminator(block)
        for view in block.operations:
            op = view.operation
            if op == end:
                continue
            if op.name == DATAFLOW and self._builder.current_block_is_dataflow():
                self.operations(op.regions[0].blocks[0])
                for value in outputs(op):
                    name = value_name(value)
                    self._builder.give_out(self.value(value), self._names.get(name, name))
            else:
                self._copy(op)

    def value(self, value: ir.Value) -> ir.Value:
        """Return what stands for a value here."""
        result = self._values.get(value)
        if result is None:
            result = self._values.get(canonical(value))
        if result is None:
            name = value_name(value)
            result = resolve(self._builder, make_var(value, name, self._builder._keep, None, False))
        return result

    def _copy(self, op: ir.Operation) -> None:
        if op.name != LAMBDA and (len(op.regions) or impurity(op)):
            self._builder._require_effects(op.name.replace("relax.", "R."))
        copy = op.clone(ip=self._frame.ip)
        places = self._builder._places
        inside: set[ir.Value] = set()
        # An exception cannot pass through a walk.
        for inner in operations_within(copy):
            name = location_name(inner.location)
            if name:
                # A value that leaves a dataflow block has its name inside of it too.
                fresh = self._names.get(name) or self._frame.names.fresh(name)
                self._names[name] = fresh
                inner.location = places.named(fresh, places.here())
            for index, operand in enumerate(inner.operands):
                if operand not in inside:
                    inner.operands[index] = self.value(operand)
            inside.update(inner.results)
            for region in inner.regions:
                for block in region.blocks:
                    inside.update(block.arguments)
        self._values.update(zip(op.results, copy.results, strict=True))
