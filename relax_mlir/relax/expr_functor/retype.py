"""Types after a change: what a value has now, and what follows from it for its users."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result
from relax_mlir.dialects.relax.tuples import is_make_tuple
from relax_mlir.errors import ExprError
from relax_mlir.relax.expr.places import DATAFLOW, defining_op, terminator

_BRANCHES = "relax.if"


class Types:
    """The values of one function that have other types than they had."""

    def __init__(self) -> None:
        self._changed: set[ir.Value] = set()

    def __bool__(self) -> bool:
        return bool(self._changed)

    def note(self, value: ir.Value, before: ir.Type) -> None:
        """Note that a value stands for one of another type, if it does."""
        if value.type != before:
            self._changed.add(value)

    def set(self, value: ir.Value, type_: ir.Type) -> None:
        """Give a value a type."""
        if value.type != type_:
            value.set_type(type_)
            self._changed.add(value)

    def refresh(self, op: ir.Operation) -> None:
        """Give the result of an operation the type that its operands have it have now.

        Operations that say the type of their result keep it.

        Raises:
            ExprError: with the types of the operands now, no run could compute it.
        """
        if not self._changed or not len(op.results):
            return
        is_changed = False
        for value in op.operands:
            owner = defining_op(value)
            if owner is not None and is_make_tuple(owner):
                self.refresh(owner)
            is_changed = is_changed or value in self._changed
        result = op.results[0]
        if op.name == DATAFLOW:
            self._from_end(op, result)
        elif op.name == _BRANCHES:
            self._from_branches(op, result)
        elif not is_changed:
            return
        elif is_make_tuple(op):
            with op.context:
                fields = [value.type for value in op.operands]
                self.set(result, ir.TupleType.get_tuple(fields))
        elif op.name == "relax.tuple_get_item":
            index = ir.IntegerAttr(op.attributes["index"]).value
            self.set(result, op.operands[0].type.get_type(index))
        elif op.name.removeprefix("relax.") in COMPUTE_OPS:
            try:
                with op.location:
                    type_ = infer_result(op)
            except ValueError as error:
                raise ExprError(
                    f"{op.name.replace('relax.', 'R.')}: {error}; an operand has another type "
                    "than before"
                ) from error
            self.set(result, type_)

    def refresh_signature(self, func: ir.Operation) -> None:
        """Give a function the type that its parameters and its result have now."""
        if not self._changed:
            return
        block = func.regions[0].blocks[0]
        end = terminator(block)
        signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        results = signature.results if end is None else [value.type for value in end.operands]
        with func.context:
            made = ir.FunctionType.get([a.type for a in block.arguments], list(results))
            func.attributes["function_type"] = ir.TypeAttr.get(made)

    def refresh_end(self, block: ir.Block) -> None:
        """Give the tuples in place of a block's result the types of their fields now."""
        end = terminator(block)
        if end is None or not self._changed:
            return
        for value in end.operands:
            owner = defining_op(value)
            if owner is not None and is_make_tuple(owner):
                self.refresh(owner)

    def _from_end(self, op: ir.Operation, result: ir.Value) -> None:
        block = op.regions[0].blocks[0]
        self.refresh_end(block)
        end = terminator(block)
        assert end is not None, "checked by the verifier"
        before = result.type
        self.set(result, end.operands[0].type)
        if before != result.type:
            for use in result.uses:
                user = use.owner.operation
                if user.name == "relax.tuple_get_item":
                    self.refresh(user)

    def _from_branches(self, op: ir.Operation, result: ir.Value) -> None:
        types = []
        for region in op.regions:
            self.refresh_end(region.blocks[0])
            end = terminator(region.blocks[0])
            assert end is not None, "checked by the verifier"
            types.append(end.operands[0].type)
        if types[0] != types[1]:
            raise ExprError(f"the branches of an if are {types[0]} and {types[1]} now")
        self.set(result, types[0])
