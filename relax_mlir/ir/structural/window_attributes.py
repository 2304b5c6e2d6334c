"""Attributes of convolutions and pooling for comparison: written out, as TVM keeps them."""

import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.conv_geometry import pads, per_axis
from relax_mlir.dialects.relax.infer import InferError

_WINDOWED = re.compile(
    r"relax\.(?:conv|(?:avg|max|adaptive_avg)_pool|resize)([123])d(?:_transpose)?"
)
_PER_AXIS = ("strides", "dilation", "pool_size", "output_padding", "output_size")


def is_windowed(name: str) -> bool:
    """Whether operations of that name slide a window over images, or resize them."""
    return _WINDOWED.fullmatch(name) is not None


def written_out(op: ir.Operation) -> list[tuple[str, ir.Attribute]]:
    """Return the attributes of such an operation: a number for each axis, and the result's layout.

    What the operation does not allow stays as it is.
    """
    match = _WINDOWED.fullmatch(op.name)
    assert match is not None, "asked of windowed operations only"
    rank, attributes = int(match[1]), dict(op.attributes.items())
    with op.context:
        for name, value in attributes.items():
            if name == "out_layout" and value in (ir.UnitAttr.get(), ir.StringAttr.get("")):
                key = "data_layout" if "data_layout" in attributes else "layout"
                attributes[name] = attributes.get(key, value)
            elif name == "roi" and isinstance(value, ir.DenseF64ArrayAttr) and not any(value):
                # The whole image is no region of it.
                attributes[name] = ir.UnitAttr.get()
            elif isinstance(value, ir.DenseI64ArrayAttr):
                attributes[name] = ir.DenseI64ArrayAttr.get(_each(name, list(value), rank))
    return list(attributes.items())


def _each(name: str, values: list[int], rank: int) -> list[int]:
    try:
        if name == "padding":
            return [side for sides in zip(*pads(values, rank), strict=True) for side in sides]
        return per_axis(values, rank, name, 0) if name in _PER_AXIS else values
    except InferError:
        return values
