"""Closures: lambdas, functions with captured values, and their calls."""

from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import CheckedOp
from relax_mlir.dialects.relax.tuples import is_tuple
from relax_mlir.dialects.relax.validity import type_problem
from relax_mlir.dialects.verify import op_error

_OBJECT = "!relax.object"


def _has_object_result(view: ir.OpView) -> bool:
    op = view.operation
    if len(op.results) == 1 and str(op.results[0].type) == _OBJECT:
        return True
    return op_error(view, f"has one result of type {_OBJECT}")


class LambdaOp(CheckedOp, name="lambda", traits=[ext.Pure]):
    """A function written where it is used; its body sees the values around it.

    The block's arguments are its parameters; `relax.yield` gives its result. With the attribute
    `recursive` the first argument is the function itself. `LambdaLift` makes a function of the
    module of it, which is what can be compiled.
    """

    result: ext.Result[Any]
    body: ext.Region

    def check(self) -> bool:
        return _has_object_result(self)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        blocks = list(op.operation.regions[0].blocks)
        if len(blocks) != 1:
            return op_error(op, f"body must be one block, got {len(blocks)}")
        for index, argument in enumerate(blocks[0].arguments):
            problem = type_problem(argument.type)
            if problem:
                return op_error(op, f"parameter {index}: {problem}")
        if "recursive" in op.operation.attributes:
            first = [str(argument.type) for argument in list(blocks[0].arguments)[:1]]
            if first != [_OBJECT]:
                return op_error(op, f"is recursive: its first parameter is itself, an {_OBJECT}")
        operations = list(blocks[0].operations)
        last = operations[-1].operation if operations else None
        if last is None or last.name != "relax.yield" or len(last.operands) != 1:
            return op_error(op, "body must end with 'relax.yield' of one value")
        return True


class MakeClosureOp(CheckedOp, name="make_closure", traits=[ext.Pure]):
    """A function of the module with values for its last parameters; the operand is their tuple."""

    captured: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not is_tuple(op.operands[0].type):
            return op_error(self, "takes the tuple of captured values")
        return _has_object_result(self)


class InvokeClosureOp(CheckedOp, name="invoke_closure"):
    """Call a function value with a tuple of arguments; what it returns is checked at run time."""

    closure: ext.Operand[Any]
    args: ext.Operand[Any]
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 2 or len(op.results) != 1:
            return op_error(self, "takes a function and the tuple of arguments, has one result")
        closure, arguments = op.operands[0].type, op.operands[1].type
        if str(closure) != _OBJECT:
            return op_error(self, f"calls a function, which is an object, got {describe(closure)}")
        if not is_tuple(arguments):
            return op_error(self, f"arguments must be a tuple, got {describe(arguments)}")
        return True
