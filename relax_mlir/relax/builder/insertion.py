"""Insertion points in existing functions."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError
from relax_mlir.relax.builder.frames import Frame
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.places import location_name


class InsertionScope:
    """A place before an operation of a function that is in the module."""

    def __init__(self, builder: Any, op: ir.Operation) -> None:
        if op.context != builder.context:
            raise BuilderError("the operation belongs to a module of another MLIR context")
        self._builder, self._op = builder, op

    def __enter__(self) -> "InsertionScope":
        builder, op = self._builder, self._op
        blocks = [op.block]
        parent = op.parent
        kind = "insertion"
        while parent is not None and parent.operation.name != "func.func":
            if parent.operation.name == "relax.dataflow":
                kind = "dataflow"
            blocks.append(parent.operation.block)
            parent = parent.operation.parent
        if parent is None:
            raise BuilderError("the operation is in no function")
        func = parent.operation
        names = builder._names_of.get(func)
        if names is None:
            names = builder._names_of[func] = _names_in(func)
        self._frame = Frame(builder, kind, blocks, ir.InsertionPoint(op), names)
        builder._push(self._frame)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._builder._close(self._frame)
        if kind is None and self._frame.outputs:
            raise BuilderError(
                "emit_output cannot add an output to a dataflow block that is in the module"
            )


def _names_in(func: ir.Operation) -> Names:
    """Return the names of all variables of a function."""
    names = Names()

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.add(location_name(op.location))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    names.add(location_name(argument.location))
        return ir.WalkResult.ADVANCE

    func.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names
