"""Attributes of MLIR as Python values, and Python literals as attributes."""

from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array, constant_attribute, resource_name
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.errors import ExprTypeError

# Attributes of functions whose name in MLIR is taken: `relax.params` has names of parameters.
_RENAMED = {"params": "relax.weights"}
_SHOWN = {key: name for name, key in _RENAMED.items()}


def attribute_key(name: str, dialect: str = "relax") -> str:
    """Return what a function's attribute is called in MLIR."""
    return _RENAMED.get(name) or (name if "." in name else f"{dialect}.{name}")


def attribute_name(key: str) -> str:
    """Return what an attribute of MLIR is called in Python: without the prefix of Relax."""
    return _SHOWN.get(key) or key.removeprefix("relax.")


def attribute_value(attribute: ir.Attribute) -> Any:
    """Return literals, arrays, lists, dictionaries and dimensions as Python's, the rest as is."""
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
    if isinstance(attribute, ir.DictAttr):
        return {item.name: attribute_value(item.attr) for item in attribute}
    if isinstance(attribute, ir.DenseElementsAttr) or resource_name(attribute) is not None:
        return constant_array(attribute)
    return attribute


def python_attribute(value: Any) -> ir.Attribute:
    """Return the MLIR attribute for a Python literal, or a scalar or an array of numpy."""
    if isinstance(value, np.ndarray):
        return constant_attribute(value)
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([python_attribute(item) for item in value])
    if isinstance(value, dict):
        return ir.DictAttr.get({key: python_attribute(item) for key, item in value.items()})
    if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
        raise ExprTypeError(
            "an attribute is a string, a number, or a list or dictionary of such, got "
            f"{type(value).__name__}"
        )
    return ir.StringAttr.get(str(value))
