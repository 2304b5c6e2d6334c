"""The pass `fold-batchnorm-to-conv2d`: batch normalization as part of a convolution's weights."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import has_blocks
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.lowering.relax_to_tir.decompose import constant, reshape
from relax_mlir.lowering.walk import named


def fold_batchnorm_to_conv2d(module: ir.Operation) -> None:
    """Multiply the weights of a `conv2d` by the factors of the `batch_norm` behind it.

    What is left of the normalization is an addition by channel. The module is taken to be used for
    inference: running statistics count. A convolution with other uses stays, and so does a
    normalization whose statistics are used, of another axis than the channels, or of unknown rank.
    FoldConstant then computes the weights where all are constants.
    """
    for func in functions_to_optimize(module):
        for op in named(func, ("relax.batch_norm",)):
            conv = _convolution(op)
            if conv is not None:
                _fold(op, conv)


def _attributes(op: ir.Operation) -> dict:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def _convolution(op: ir.Operation) -> ir.Operation | None:
    """Return the convolution that a normalization is folded into, None where that cannot be."""
    data = op.operands[0]
    users = [use.owner.operation for use in op.results[0].uses]
    if any(user.name != "relax.tuple_get_item" or user.attributes["index"].value for user in users):
        return None
    if isinstance(data.owner, ir.Block) or data.owner.operation.name != "relax.conv2d":
        return None
    conv = data.owner.operation
    attrs = _attributes(conv)
    layout = attrs["out_layout"] or attrs["data_layout"]
    ndim, dtype = T.tensor_ndim(data.type), T.tensor_dtype(data.type)
    weight = conv.operands[1].type
    if len(list(data.uses)) != 1 or ndim != 4 or has_blocks(attrs):
        return None
    if T.tensor_dims(weight) is None or T.tensor_dtype(weight) != dtype or not dtype:
        return None
    return conv if _attributes(op)["axis"] % ndim == layout.index("C") else None


def _fold(op: ir.Operation, conv: ir.Operation) -> None:
    attrs, of_conv = _attributes(op), _attributes(conv)
    data = op.operands[0]
    weight = conv.operands[1]
    gamma, beta, mean, var = list(op.operands)[1:]
    dtype = T.tensor_dtype(data.type)
    dims = T.tensor_dims(weight.type)
    assert dims is not None
    out = of_conv["kernel_layout"].index("O")
    channels = dims[out]
    layout = of_conv["out_layout"] or of_conv["data_layout"]
    with ir.InsertionPoint(op), op.location:
        factor = build("rsqrt", [build("add", [var, constant(attrs["epsilon"], dtype)], {})], {})
        if attrs["scale"]:
            factor = build("multiply", [gamma, factor], {})
        shift = build("negative", [build("multiply", [mean, factor], {})], {})
        if attrs["center"]:
            shift = build("add", [beta, shift], {})
        scale = reshape(factor, [channels if axis == out else 1 for axis in range(4)])
        new = build("multiply", [weight, scale], {})
        made = build("conv2d", [conv.operands[0], new], of_conv)
        around = [channels if letter == "C" else 1 for letter in layout]
        made = build("add", [made, reshape(shift, around)], {})
    for use in list(op.results[0].uses):
        user = use.owner.operation
        user.results[0].replace_all_uses_with(made)
        user.erase()
    op.erase()
    conv.erase()
