"""The core language: constants, shapes, tuples, dataflow blocks, branches and calls."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.effects import Computation
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.ops.base import CheckedOp, is_impure
from relax_mlir.dialects.relax.tuples import is_make_tuple, is_tuple
from relax_mlir.dialects.relax.validity import dims_problem, type_problem
from relax_mlir.dialects.verify import attribute, expect_parent, only_block, op_error


class ConstantOp(CheckedOp, name="constant", traits=[ext.Pure]):
    """A tensor known at compile time; its elements are stored outside of the module."""

    value: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.results) != 1 or "value" not in op.attributes:
            return op_error(self, "needs one result and the attribute 'value'")
        value = op.attributes["value"]
        type_ = getattr(value, "type", None)
        if type_ != op.results[0].type:
            return op_error(
                self, f"result type must be that of its value, {type_}, got {op.results[0].type}"
            )
        return True


class ShapeExprOp(CheckedOp, name="shape_expr", traits=[ext.Pure]):
    """A tuple of symbolic integers as a value; its type says which."""

    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.results) != 1 or not isinstance(op.results[0].type, Shape):
            return op_error(self, "has one result of type !relax.shape")
        if T.shape_dims(op.results[0].type) is None:
            return op_error(self, f"needs a known shape, got {describe(op.results[0].type)}")
        return True


class PrimValueOp(CheckedOp, name="prim_value", traits=[ext.Pure]):
    """One symbolic integer as a value."""

    value: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        value = attribute(op, "value")
        problem = dims_problem(value)
        if problem:
            return op_error(self, f"attribute 'value': {problem}")
        if len(value.dims) != 1:
            return op_error(self, f"needs 'value' to be one expression, got {value}")
        if len(op.results) != 1 or str(op.results[0].type) != "i64":
            return op_error(self, "has one result of type i64")
        return True


class ShapeOfOp(CheckedOp, name="shape_of", traits=[ext.Pure]):
    """The shape of a tensor as a value."""

    x: ext.Operand[Any]
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not T.is_tensor(op.operands[0].type):
            return op_error(self, "takes one tensor")
        if len(op.results) != 1 or not isinstance(op.results[0].type, Shape):
            return op_error(self, "has one result of type !relax.shape")
        tensor, declared = op.operands[0].type, op.results[0].type
        inferred = T.shape_type(T.tensor_dims(tensor), T.tensor_ndim(tensor))
        if not compatible(declared, inferred):
            return op_error(
                self, f"result must be {describe(inferred)}, declared {describe(declared)}"
            )
        return True


class TupleGetItemOp(CheckedOp, name="tuple_get_item", traits=[ext.Pure]):
    """One field of a tuple."""

    tuple_value: ext.Operand[Any]
    index: ir.IntegerAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or len(op.results) != 1 or "index" not in op.attributes:
            return op_error(self, "takes one tuple and the attribute 'index'")
        type_, index = op.operands[0].type, op.attributes["index"]
        if not isinstance(type_, ir.TupleType) or not isinstance(index, ir.IntegerAttr):
            return op_error(self, f"takes a tuple and an integer index, got {describe(type_)}")
        if not 0 <= index.value < type_.num_types:
            return op_error(
                self, f"index {index.value} is out of range for {type_.num_types} fields"
            )
        if type_.get_type(index.value) != op.results[0].type:
            return op_error(self, f"result type must be {type_.get_type(index.value)}")
        return True


# Of a match_cast that a pass made: what it checks, for the message.
CHECKED = "relax.checked"


class MatchCastOp(CheckedOp, name="match_cast"):
    """Assert a type at run time (`match_shape` in the design document).

    The symbols of the result type that were not bound before are bound by the value; everything
    else is checked. Works on tensors and on shape values. Not pure: later types depend on it.
    """

    value: ext.Operand[Any]
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or len(op.results) != 1:
            return op_error(self, "takes one value and has one result")
        source, target = op.operands[0].type, op.results[0].type
        if not compatible(target, source):
            return op_error(
                self, f"cannot succeed: value is {describe(source)}, pattern {describe(target)}"
            )
        return True


class DataflowOp(CheckedOp, name="dataflow"):
    """A block of pure bindings without control flow; what `relax.output` names escapes."""

    outputs: Sequence[ext.Result[Any]]
    body: ext.Region

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        operations = only_block(op, 0, "body", "relax.output")
        if operations is None:
            return False
        for inner in operations[:-1]:
            reason = impurity(inner.operation)
            if reason:
                inner.operation.location.emit_error(
                    f"'{inner.operation.name}' op {reason}; a dataflow block holds only pure "
                    "bindings without control flow, move it outside the block"
                )
                return False
        if len(op.operation.results) > 1:
            return op_error(op, "has at most one result, a tuple when several values escape")
        yielded = [operand.type for operand in operations[-1].operation.operands]
        declared = [result.type for result in op.operation.results]
        if yielded != declared:
            return op_error(
                op,
                f"outputs have types ({', '.join(map(describe, yielded))}), results are "
                f"declared ({', '.join(map(describe, declared))})",
            )
        return True


class OutputOp(CheckedOp, name="output", traits=[ir.IsTerminatorTrait]):
    """Ends a dataflow block; its operand is visible outside, a tuple when several values are."""

    values: Sequence[ext.Operand[Any]]

    def check(self) -> bool:
        return expect_parent(self, "relax.dataflow")


class IfOp(CheckedOp, name="if"):
    """Two branches on a scalar boolean; each ends with `relax.yield`."""

    condition: ext.Operand[Any]
    outputs: Sequence[ext.Result[Any]]
    then_body: ext.Region
    else_body: ext.Region

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1:
            return op_error(self, "takes one condition")
        type_ = op.operands[0].type
        if T.is_tensor(type_):
            if T.tensor_ndim(type_) > 0 or T.tensor_dtype(type_) not in ("bool", ""):
                return op_error(self, f"condition must be a scalar bool, got {describe(type_)}")
        elif str(type_) not in ("i1", "!relax.object"):
            return op_error(self, f"condition must be a scalar bool, got {describe(type_)}")
        return True

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        declared = [result.type for result in op.operation.results]
        if len(declared) > 1:
            return op_error(op, "has at most one result, a tuple when there are several values")
        for index, which in enumerate(("then", "else")):
            operations = only_block(op, index, f"{which} branch", "relax.yield")
            if operations is None:
                return False
            yielded = [operand.type for operand in operations[-1].operation.operands]
            if yielded != declared:
                return op_error(
                    op,
                    f"{which} branch yields ({', '.join(map(describe, yielded))}), results are "
                    f"declared ({', '.join(map(describe, declared))})",
                )
        return True


class YieldOp(CheckedOp, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends a branch of `relax.if`, or the body of a loop or a `relax.lambda`."""

    values: Sequence[ext.Operand[Any]]

    def check(self) -> bool:
        return expect_parent(self, "relax.if", "relax.lambda", "relax.while", "relax.for")


class CallOp(CheckedOp, name="call"):
    """Call another Relax function of the module; its shapes are checked in the callee."""

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_callee(self) and verify_arguments(self, 1)


class CallTirOp(CheckedOp, name="call_tir", traits=[Computation]):
    """Call a prim func in destination-passing style and return what it wrote.

    Operand 0 is the output shape, or a tuple of shapes for several outputs; operand 1 the tuple of
    arguments. They are passed in order, the fresh outputs after them, then those of `tir_vars`.
    """

    out_shape: ext.Operand[Any]
    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_callee(self) and verify_destination_passing(self)


class CallDpsPackedOp(CheckedOp, name="call_dps_packed", traits=[Computation]):
    """As `relax.call_tir`, for a packed function found by name at run time."""

    out_shape: ext.Operand[Any]
    args: ext.Operand[Any]
    func: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_destination_passing(self)


class CallPackedOp(CheckedOp, name="call_packed"):
    """Call a packed function that may do anything."""

    args: ext.Operand[Any]
    func: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_arguments(self, 1)


class CallPurePackedOp(CheckedOp, name="call_pure_packed", traits=[Computation]):
    """Call a packed function that the writer of the program declares free of side effects."""

    args: ext.Operand[Any]
    func: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_arguments(self, 1)


class ExternFuncOp(CheckedOp, name="extern_func"):
    """A packed function as a member of a module, under a name there and with a declared type.

    Calls in scripts name the packed function itself; `params`, `result` and `pure` say what its
    type is where that is known.
    """

    sym_name: ir.StringAttr
    func: ir.StringAttr

    def check(self) -> bool:
        for key in ("sym_name", "func"):
            if not isinstance(attribute(self.operation, key), ir.StringAttr):
                return op_error(self, f"attribute '{key}' must be a string")
        params, result = attribute(self.operation, "params"), attribute(self.operation, "result")
        if not isinstance(params, (ir.ArrayAttr, type(None))):
            return op_error(self, f"attribute 'params' must be an array of types, got {params}")
        for each in [*(params or ()), *([] if result is None else [result])]:
            type_ = each.value if isinstance(each, ir.TypeAttr) else None
            problem = f"{each} is no type" if type_ is None else type_problem(type_)
            if problem:
                return op_error(self, problem)
        return True


class AllocTensorOp(CheckedOp, name="alloc_tensor"):
    """A new tensor of that shape, its elements undefined: what `CallTIRRewrite` makes explicit."""

    shape: ext.Operand[Any]
    dtype: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not isinstance(op.operands[0].type, Shape):
            return op_error(self, "takes one shape")
        if len(op.results) != 1 or not T.is_tensor(op.results[0].type):
            return op_error(self, "has one tensor result")
        dtype = attribute(op, "dtype")
        if not isinstance(dtype, ir.StringAttr):
            return op_error(self, f"attribute 'dtype' must be a string, got {dtype}")
        shape, result = op.operands[0].type, op.results[0].type
        wanted, results = T.normalize_dtype(dtype.value), T.tensor_dtype(result)
        if T.UNKNOWN_DTYPE not in (wanted, results) and wanted != results:
            return op_error(self, f"result must be {wanted}, got {results}")
        expected = T.tensor_type(T.shape_dims(shape), wanted, T.shape_ndim(shape))
        if not compatible(result, expected):
            return op_error(self, f"result must be {describe(expected)}, got {describe(result)}")
        return True


_IMPURE = {
    "relax.if": "is control flow",
    "relax.while": "is control flow",
    "relax.for": "is control flow",
    "relax.dataflow": "is a nested scope",
    "relax.call_packed": "may have side effects",
    "relax.call": "may have side effects unless it is marked 'pure'",
    "relax.invoke_closure": "may have side effects unless it is marked 'pure'",
    "relax.alloc_tensor": "has a side effect",
}


def impurity(op: ir.Operation) -> str:
    """Return why an operation may not stand in a dataflow block, `""` when it may."""
    if op.name in ("relax.call", "relax.invoke_closure") and "pure" in op.attributes:
        return ""
    if op.name in _IMPURE:
        return _IMPURE[op.name]
    if is_impure(op):
        return "has a side effect"
    if op.name.startswith("relax.") or is_make_tuple(op):
        return ""
    return "is not a Relax operation"


def verify_callee(view: ir.OpView) -> bool:
    """Check that a call names a function of the module; IRDL would let `@a::@b` through."""
    callee = attribute(view.operation, "callee")
    if isinstance(callee, ir.FlatSymbolRefAttr):
        return True
    return op_error(view, f"attribute 'callee' must be a function's symbol, got {callee}")


def verify_arguments(view: ir.OpView, count: int) -> bool:
    """Check that a call has `count` operands, the last the tuple of arguments, and one result."""
    op = view.operation
    if len(op.operands) != count or len(op.results) != 1:
        return op_error(
            view,
            f"takes {count} operands and has one result, got {len(op.operands)} and "
            f"{len(op.results)}",
        )
    arguments = op.operands[count - 1].type
    if not is_tuple(arguments):
        return op_error(view, f"arguments must be a tuple, got {describe(arguments)}")
    return True


def verify_destination_passing(view: ir.OpView) -> bool:
    """Check shape operand against the declared result of a destination-passing call."""
    op = view.operation
    if not verify_arguments(view, 2):
        return False
    shape, result = op.operands[0].type, op.results[0].type
    problem = dims_problem(op.attributes["tir_vars"]) if "tir_vars" in op.attributes else ""
    if problem:
        return op_error(view, f"attribute 'tir_vars': {problem}")
    if isinstance(shape, ir.TupleType):
        if not isinstance(result, ir.TupleType) or result.num_types != shape.num_types:
            return op_error(
                view, f"has {shape.num_types} output shapes, result is {describe(result)}"
            )
        pairs = [(shape.get_type(i), result.get_type(i)) for i in range(shape.num_types)]
    else:
        pairs = [(shape, result)]
    for shape_type, tensor in pairs:
        if not isinstance(shape_type, Shape):
            return op_error(view, f"output shape must be a shape, got {describe(shape_type)}")
        if not T.is_tensor(tensor):
            return op_error(view, f"result must be a tensor, got {describe(tensor)}")
        wanted = T.tensor_type(
            T.shape_dims(shape_type), T.tensor_dtype(tensor), T.shape_ndim(shape_type)
        )
        if not compatible(tensor, wanted):
            return op_error(view, f"result must be {describe(wanted)}, got {describe(tensor)}")
    return True
