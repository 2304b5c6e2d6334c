"""Constants of one element as immediates of kernels instead of operands."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import Scalar, const
from relax_mlir.lowering.walk import defining_op


def scalar_of(value: ir.Value) -> ir.Attribute | None:
    """Return the number that a tensor is, None where it is not one constant element.

    A constant that something may write to is none.
    """
    constant = defining_op(value, "relax.constant")
    if constant is None:
        return None
    elements = constant.attributes["value"]
    if not isinstance(elements, ir.DenseElementsAttr) or not elements.is_splat:
        return None
    if any(length != 1 for length in value.type.shape):
        return None
    if not all(_only_reads(use.owner.operation) for use in value.uses):
        return None
    return elements.get_splat_value()


def number(attr: ir.Attribute, type_: ir.Type) -> Scalar:
    """Create a number that `scalar_of` gave, as what loading from a tensor of a type gives."""
    dtype = T.tensor_dtype(type_)
    return const(attr.value, INT4.get(dtype, dtype))


def _only_reads(user: ir.Operation) -> bool:
    if user.name == "builtin.unrealized_conversion_cast":
        uses = (use.owner.operation for result in user.results for use in result.uses)
        return all(use.name == "relax.call_tir" for use in uses)
    return user.name.removeprefix("relax.") in COMPUTE_OPS
