"""The pass `split-conv-of-concat`: a convolution of joined images is a sum of convolutions."""

from itertools import accumulate

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.relax.tuples import known_fields
from relax_mlir.lowering.walk import defining_op
from relax_mlir.transform.rewriting.convolutions import (
    attributes,
    input_made_by,
    is_dense,
    rewrite_convolutions,
)

# Fewer channels keep a kernel from its speed.
_LEAST_CHANNELS = 16


def split_conv_of_concat(module: ir.Operation) -> None:
    """Write a convolution of images that are joined by channel as the sum of those of the parts.

    The parts need not be copied, nor live longer than it takes to convolve them. Each sum is
    written and read once more instead, so there are no more of those bytes than of copied ones.
    Only where the weight is constant, which FoldConstant then cuts, and more than a point.
    """
    rewrite_convolutions(module, _split)


def _split(conv: ir.Operation, written: set[ir.Value]) -> bool:
    parts, widths = _parts(conv, written)
    if not _pays(conv, widths):
        return False
    attrs, weight = attributes(conv), conv.operands[1]
    axis = attrs["kernel_layout"].index("I")
    total = None
    with ir.InsertionPoint(conv), conv.location:
        for part, width, end in zip(parts, widths, accumulate(widths), strict=True):
            bounds = {"axes": [axis], "begin": [end - width], "end": [end], "assume_inbound": True}
            result = build("conv2d", [part, build("strided_slice", [weight], bounds)], attrs)
            total = result if total is None else build("add", [result, total], {})
    if total is None or total.type != conv.results[0].type:
        return False
    conv.results[0].replace_all_uses_with(total)
    return True


def _parts(conv: ir.Operation, written: set[ir.Value]) -> tuple[list[ir.Value], list[int]]:
    """Return the images that a convolution alone takes joined, and how many channels they have."""
    none: tuple[list[ir.Value], list[int]] = ([], [])
    concat = input_made_by("relax.concat", conv, written)
    if concat is None:
        return none
    parts, axis = known_fields(concat.operands[0]), attributes(conv)["data_layout"].find("C")
    if not parts or (attributes(concat)["axis"] or 0) % 4 != axis or written & {*parts}:
        return none
    shapes = T.all_dims(part.type for part in parts)
    widths = [dims[axis].value for dims in shapes or []]
    known = [width for width in widths if width is not None]
    return (parts, known) if known and len(known) == len(widths) else none


def _pays(conv: ir.Operation, widths: list[int]) -> bool:
    if len(widths) < 2 or min(widths) < _LEAST_CHANNELS or not is_dense(conv):
        return False
    weight = conv.operands[1]
    if defining_op(weight, "relax.constant") is None:
        return False
    kernel = T.tensor_dims(weight.type) or []
    dims = dict(zip(attributes(conv)["kernel_layout"], kernel, strict=True))
    outputs = dims["O"].value
    is_point = dims["H"] == 1 and dims["W"] == 1
    return not is_point and outputs is not None and (len(widths) - 1) * outputs <= sum(widths)
