"""Channel counts that the number of groups implies, where channels are symbols."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, matched

Legalize = Callable[[Legalizer, ir.Operation], ir.Value | None]


def with_static_channels(
    legalizer: Legalizer, op: ir.Operation, data: SymExpr, weight: SymExpr, groups: int,
    legalize: Legalize,
) -> ir.Value | None:  # fmt: skip
    """Legalise a convolution whose data has to have `weight` channels for each group.

    That is asserted by `relax.match_cast`, of all dimensions that the symbol is in.

    Args:
        legalizer: for whose module.
        op: the convolution.
        data: input channels.
        weight: input channels of a group.
        groups: how many there are.
        legalize: legalises the convolution of tensors that have these channels.

    Returns:
        The result; None where the channels are not a symbol and a number.
    """
    if weight.value is not None and data.name is not None:
        known = {data.name: weight.value * groups}
    elif data.value is not None and weight.name is not None and data.value % groups == 0:
        known = {weight.name: data.value // groups}
    else:
        return None
    with ir.InsertionPoint(op), op.location:
        operands = [_asserted(value, known) for value in op.operands]
        types = [value.type for value in operands]
        cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
        inferred = cls.result_type(types, read_attributes(op, cls.PARAMS))
        attributes = {name: op.attributes[name] for name in op.attributes}
        same = ir.Operation.create(
            op.name, operands=operands, results=[inferred], attributes=attributes
        )
    result = legalize(legalizer, same)
    same.erase()
    if result is not None:
        return matched(op, result)
    for value, before in zip(operands, op.operands, strict=True):
        if value != before:
            value.owner.operation.erase()
    return None


def _asserted(value: ir.Value, known: dict[str, int]) -> ir.Value:
    dims = T.tensor_dims(value.type)
    if dims is None:
        return value
    type_ = T.tensor_type([dim.substitute(known) for dim in dims], T.tensor_dtype(value.type))
    if type_ == value.type:
        return value
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result
