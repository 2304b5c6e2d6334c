"""Calls that may write their results over their arguments.

They are pure: what they are given is overwritten only where nobody looks at it any more, and copied
first where somebody does, so that a program means the same whichever happens. A parameter of the
function is never overwritten unless its attribute `relax.inplace_params` names it.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Object
from relax_mlir.dialects.relax.effects import Computation
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.ops.base import CheckedOp
from relax_mlir.dialects.relax.ops.core import (
    verify_arguments,
    verify_callee,
    verify_destination_passing,
)
from relax_mlir.dialects.relax.tuples import field_types
from relax_mlir.dialects.verify import attribute, op_error

INPLACE_PARAMS = "relax.inplace_params"
DESTINATION_PASSING = ("relax.call_tir_inplace", "relax.call_dps_packed_inplace")


def inplace_indices(op: ir.Operation) -> list[int]:
    """Return for each output the argument that it overwrites, -1 for a new tensor."""
    return list(op.attributes["inplace_indices"])


class CallTirInplaceOp(CheckedOp, name="call_tir_inplace", traits=[Computation]):
    """As `relax.call_tir`, but outputs may take the place of arguments.

    `inplace_indices` has an argument's number for each output, or -1. The prim func gets the
    arguments, those that it overwrites among them, and then only the outputs that are new.
    """

    out_shape: ext.Operand[Any]
    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    inplace_indices: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_callee(self) and verify_destination_passing(self) and verify_inplace(self)


class CallDpsPackedInplaceOp(CheckedOp, name="call_dps_packed_inplace", traits=[Computation]):
    """As `relax.call_tir_inplace`, for a packed function found by name at run time."""

    out_shape: ext.Operand[Any]
    args: ext.Operand[Any]
    func: ir.StringAttr
    inplace_indices: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        return verify_destination_passing(self) and verify_inplace(self)


class CallInplacePackedOp(CheckedOp, name="call_inplace_packed", traits=[Computation]):
    """Call a packed function that overwrites some arguments, and return what it returns."""

    args: ext.Operand[Any]
    func: ir.StringAttr
    inplace_indices: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        if not verify_arguments(self, 1):
            return False
        outputs = None
        result = self.operation.results[0].type
        indices = attribute(self.operation, "inplace_indices")
        if isinstance(indices, ir.DenseI64ArrayAttr):
            fields = field_types(result) if isinstance(result, ir.TupleType) else [result]
            outputs = fields if len(fields) == len(indices) else None
        return _check_indices(self, self.operation.operands[0].type, outputs)


def verify_inplace(view: ir.OpView) -> bool:
    """Check which arguments a destination-passing call overwrites, and with what."""
    result = view.operation.results[0].type
    outputs = field_types(result) if isinstance(result, ir.TupleType) else [result]
    results = attribute(view.operation, "inplace_indices")
    if isinstance(results, ir.DenseI64ArrayAttr) and len(results) != len(outputs):
        return op_error(
            view, f"has {len(outputs)} outputs, 'inplace_indices' has {len(results)} numbers"
        )
    return _check_indices(view, view.operation.operands[1].type, outputs)


def _check_indices(view: ir.OpView, arguments: ir.Type, outputs: Sequence[ir.Type] | None) -> bool:
    result = attribute(view.operation, "inplace_indices")
    if not isinstance(result, ir.DenseI64ArrayAttr):
        return op_error(view, f"attribute 'inplace_indices' must be integers, got {result}")
    indices, given = list(result), field_types(arguments)
    for index in indices:
        if not -1 <= index < len(given):
            return op_error(view, f"cannot overwrite argument {index}, there are {len(given)}")
        if index >= 0 and indices.count(index) > 1:
            return op_error(view, f"overwrites argument {index} with several outputs")
        if index >= 0 and not (T.is_tensor(given[index]) or isinstance(given[index], Object)):
            return op_error(view, f"cannot overwrite argument {index}, {describe(given[index])}")
    for index, output in zip(indices, outputs or (), strict=False):
        if index < 0:
            continue
        # An object, such as a cache, is the callee's to change.
        same_kind = isinstance(given[index], Object) == isinstance(output, Object)
        if not same_kind or (T.is_tensor(output) and not compatible(output, given[index])):
            return op_error(
                view,
                f"cannot overwrite argument {index}, {describe(given[index])}, with "
                f"{describe(output)}",
            )
    if all(index < 0 for index in indices):
        return op_error(view, "overwrites no argument; use the call without 'inplace'")
    return True
