"""The pass `reorder-resize-after-conv`: pointwise convolutions come before the images grow."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.symbolic.prover import Facts, can_prove_less_equal
from relax_mlir.resampling import CROP
from relax_mlir.transform.rewriting.convolutions import (
    attributes,
    input_made_by,
    is_dense,
    rewrite_convolutions,
)


def reorder_resize_after_conv(module: ir.Operation) -> None:
    """Write a pointwise convolution of enlarged images as enlarged results of a convolution.

    Both are linear, one along channels, the other along rows and columns, so their order does not
    matter but for rounding. The convolution then has fewer pixels, and no more channels are
    enlarged than before. A bias goes with it: weights of a resizing add up to one.
    """
    rewrite_convolutions(module, _reorder)


def _reorder(conv: ir.Operation, written: set[ir.Value]) -> bool:
    resize = input_made_by("relax.resize2d", conv, written)
    if (
        resize is None
        or resize.operands[0] in written
        or not _is_pointwise(conv)
        or not _enlarges(resize, conv)
    ):
        return False
    bias = _bias(conv, written)
    last = conv if bias is None else bias
    source, shape = resize.operands
    with ir.InsertionPoint(last), last.location:
        value = _again(conv, {conv.operands[0]: source})
        if bias is not None:
            value = _again(bias, {conv.results[0]: value})
        value = build("resize2d", [value, shape], attributes(resize))
    if value.type != last.results[0].type:
        return False
    last.results[0].replace_all_uses_with(value)
    return True


def _again(op: ir.Operation, operands: dict[ir.Value, ir.Value]) -> ir.Value:
    """Return what an operation gives with other operands."""
    given = [operands.get(each, each) for each in op.operands]
    return build(op.name.removeprefix("relax."), given, attributes(op))


def _is_pointwise(conv: ir.Operation) -> bool:
    """Whether a convolution adds up channels of one pixel, to no more of them."""
    if not is_dense(conv):
        return False
    attrs, kernel = attributes(conv), T.tensor_dims(conv.operands[1].type) or []
    dims = dict(zip(attrs["kernel_layout"], kernel, strict=True))
    outputs, inputs = dims["O"].value, dims["I"].value
    if dims["H"] != 1 or dims["W"] != 1 or any(attrs["padding"]):
        return False
    if any(stride != 1 for stride in attrs["strides"]):
        return False
    return outputs is not None and inputs is not None and outputs <= inputs


def _enlarges(resize: ir.Operation, conv: ir.Operation) -> bool:
    attrs = attributes(resize)
    before, after = (T.tensor_dims(v.type) for v in (resize.operands[0], resize.results[0]))
    if before is None or after is None or attrs["coordinate_transformation_mode"] == CROP:
        return False
    if attrs["layout"] != attributes(conv)["data_layout"]:
        return False
    if T.tensor_dtype(resize.operands[0].type) != T.tensor_dtype(resize.results[0].type):
        return False
    pairs = list(zip(before, after, strict=True))
    return any(a != b for a, b in pairs) and all(
        a == b or can_prove_less_equal(a, b, Facts()) for a, b in pairs
    )


def _bias(conv: ir.Operation, written: set[ir.Value]) -> ir.Operation | None:
    """Return the addition of a number for each channel that alone takes a convolution's result."""
    result = conv.results[0]
    uses = list(result.uses)
    if len(uses) != 1 or result in written or uses[0].owner.operation.name != "relax.add":
        return None
    add = uses[0].owner.operation
    if add.block != conv.block:
        return None
    other = add.operands[0 if add.operands[1] == result else 1]
    dims = T.tensor_dims(other.type)
    axis = attributes(conv)["data_layout"].index("C") - 4
    if dims is None or len(dims) > 4 or other in written or add.results[0].type != result.type:
        return None
    alone = all(dim == 1 for i, dim in enumerate(dims, -len(dims)) if i != axis)
    return add if alone else None
