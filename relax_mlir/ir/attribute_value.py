"""Attributes of MLIR as the values of Python that users know."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims


def attribute_value(attribute: ir.Attribute) -> Any:
    """Return numbers, bools, strings, lists and dimensions as Python's; the rest as it is."""
    if isinstance(attribute, Dims):
        return attribute.dims
    if isinstance(attribute, (ir.UnitAttr, ir.BoolAttr)):
        return True if isinstance(attribute, ir.UnitAttr) else attribute.value
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr, ir.StringAttr)):
        return attribute.value
    if isinstance(attribute, (ir.ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseF64ArrayAttr)):
        return [
            attribute_value(item) if isinstance(item, ir.Attribute) else item for item in attribute
        ]
    return attribute
