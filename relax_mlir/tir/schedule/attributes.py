"""Values of annotations as attributes of MLIR."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ScheduleTypeError


def attribute(value: Any) -> ir.Attribute:
    """Return a value as an attribute.

    Raises:
        TypeError: there is none for it.
    """
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([attribute(each) for each in value])
    if isinstance(value, dict):
        return ir.DictAttr.get({str(key): attribute(each) for key, each in value.items()})
    raise ScheduleTypeError(
        "an annotation is a string, a number, or a list or dictionary of such, got "
        f"{type(value).__name__}"
    )
