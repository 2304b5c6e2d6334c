"""Copying operations with some values replaced; what becomes known is computed on the way."""

from collections.abc import Iterable, Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.scheduled_index import is_inside

_FOLDS = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}
_COMPARE = {
    0: lambda a, b: a == b, 1: lambda a, b: a != b, 2: lambda a, b: a < b,
    3: lambda a, b: a <= b, 4: lambda a, b: a > b, 5: lambda a, b: a >= b,
}  # fmt: skip
_ENDS = ("tir.yield", "scf.yield", "scf.reduce", "scf.condition")


class Copier:
    """Copies operations to the insertion point; equal index constants are one."""

    def __init__(self, emit: Emitter, env: Mapping[ir.Value, Index]) -> None:
        """Begin with what values outside of the copied operations become."""
        self.emit = emit
        self.env: dict[ir.Value, Index] = dict(env)

    def index(self, value: ir.Value) -> Index:
        """Return what a value became."""
        return self.env.get(value, value)

    def value(self, value: ir.Value) -> ir.Value:
        """Return what a value became, as a value."""
        found = self.env.get(value, value)
        if isinstance(found, int):
            return self.emit.constant(value.type, found)
        return found

    def pull(self, value: ir.Value, loop: ir.Operation) -> ir.Value:
        """Copy what computes a value inside a loop, for use outside of it."""
        if value not in self.env and is_inside(value, loop):
            op = value.owner.operation
            for operand in op.operands:
                self.pull(operand, loop)
            with op.location:
                self.op(op)
        return self.value(value)

    def body(self, block: ir.Block) -> None:
        """Copy the operations of a loop's body, without its end."""
        self.ops(view.operation for view in list(block.operations))

    def ops(self, ops: Iterable[ir.Operation]) -> None:
        """Copy operations, those that end a region left out."""
        for op in ops:
            if op.name not in _ENDS:
                with op.location:
                    self.op(op)

    def op(self, op: ir.Operation) -> None:
        """Copy one operation."""
        if self._folded(op):
            return
        if len(op.regions):
            self.with_regions(op)
            return
        made = op.clone()
        for position, operand in enumerate(op.operands):
            if operand in self.env:
                made.operands[position] = self.value(operand)
        self.env.update(zip(op.results, made.results, strict=True))

    def with_regions(self, op: ir.Operation) -> None:
        """Copy an operation with all that is in it."""
        made = ir.Operation.create(
            op.name,
            results=[result.type for result in op.results],
            operands=[self.value(operand) for operand in op.operands],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
        for source, target in zip(op.regions, made.regions, strict=True):
            for block in source.blocks:
                types = [argument.type for argument in block.arguments]
                copy = target.blocks.append(*types, arg_locs=[op.location] * len(types))
                self.env.update(zip(block.arguments, copy.arguments, strict=True))
                with ir.InsertionPoint(copy):
                    for view in list(block.operations):
                        inner = view.operation
                        with inner.location:
                            if inner.name in _ENDS:
                                Copier.op(self, inner)
                            else:
                                self.op(inner)
        self.env.update(zip(op.results, made.results, strict=True))

    def _folded(self, op: ir.Operation) -> bool:
        """Compute index arithmetic now, where that is possible."""
        if len(op.results) != 1:
            return False
        result = op.results[0]
        if op.name == "arith.constant" and isinstance(result.type, ir.IndexType):
            self.env[result] = ir.IntegerAttr(op.attributes["value"]).value
            return True
        if op.name in _FOLDS and isinstance(result.type, ir.IndexType):
            lhs, rhs = (self._known(operand) for operand in op.operands)
            self.env[result] = getattr(self.emit, _FOLDS[op.name])(lhs, rhs)
            return True
        if op.name == "arith.cmpi":
            lhs, rhs = (self._known(operand) for operand in op.operands)
            decide = _COMPARE.get(ir.IntegerAttr(op.attributes["predicate"]).value)
            if isinstance(lhs, int) and isinstance(rhs, int) and decide is not None:
                self.env[result] = int(decide(lhs, rhs))
                return True
        return False

    def _known(self, value: ir.Value) -> Index:
        found = self.index(value)
        return found if isinstance(found, int) else integer_of(found)


def integer_of(value: ir.Value) -> Index:
    """Return the integer of an index constant, else the value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return value
    attribute = owner.operation.attributes["value"]
    if isinstance(value.type, ir.IndexType):
        return ir.IntegerAttr(attribute).value
    return value
