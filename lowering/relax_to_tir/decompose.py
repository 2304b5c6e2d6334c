"""Operations decomposed into simpler Relax operations, for LegalizeOps and SimplifyInference."""

import itertools
from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute, constant_op, numpy_dtype
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes, per_axis
from relax_mlir.dialects.relax.einsum import (
    Subscripts,
    expand_ellipsis,
    is_broadcast,
    parse_subscripts,
)
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, infer_result, read_attributes
from relax_mlir.dialects.relax.ops.linear_algebra import einsum_sizes
from relax_mlir.dialects.relax.tuples import field_types, known_fields, make_tuple
from relax_mlir.dialects.symbolic.expr import IntLike
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE

# Given an operation and whether its results must be tensors of their own, return what takes its
# place; None where too little is known of the operands.
Decomposition = Callable[[ir.Operation, bool], ir.Value | None]


def constant(value: float, dtype: str) -> ir.Value:
    """Create a scalar constant at the current insertion point."""
    attribute = constant_attribute(np.asarray(value, dtype=numpy_dtype(dtype)))
    return constant_op(attribute)


def reshape(value: ir.Value, dims: Sequence[IntLike]) -> ir.Value:
    """Create a reshape to known dimensions at the current insertion point."""
    shape = ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result
    return build("reshape", [value, shape], {})


def _op(name: str, *operands: ir.Value, **attrs: object) -> ir.Value:
    return build(name, operands, attrs)


def _cast(value: ir.Value, dtype: str) -> ir.Value:
    return value if T.tensor_dtype(value.type) == dtype else _op("astype", value, dtype=dtype)


def _attributes(op: ir.Operation) -> dict:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def batch_norm(
    op: ir.Operation, own: bool, training: bool | None = None, folded: bool = False
) -> ir.Value | None:
    """Write batch normalisation as a subtraction, a multiplication and an addition by channel.

    Args:
        op: the operation.
        own: whether the results must share no memory with the operands.
        training: instead of the operation's attribute.
        folded: whether the mean is part of what is added, which is one step less for each element
            where statistics are known, and NaN where a factor is infinite.
    """
    attrs = _attributes(op)
    data, gamma, beta, mean, var = op.operands
    dtype, ndim = T.tensor_dtype(data.type), T.tensor_ndim(data.type)
    if ndim < 0 or not dtype:
        return None
    axis = attrs["axis"] % ndim
    known = [T.tensor_dims(data.type), *(T.tensor_dims(v.type) for v in op.operands[1:])]
    channels = (
        known[0][axis] if known[0] is not None else next((d[0] for d in known[1:] if d), None)
    )
    if channels is None:
        return None
    training = attrs["training"] if training is None else training
    wide = ACCUMULATE.get(dtype, dtype)
    with ir.InsertionPoint(op), op.location:
        data = _cast(data, wide)
        running = [mean, var]
        mean, var = (_cast(value, wide) for value in running)
        if training:
            axes = [i for i in range(ndim) if i != axis]
            old, (mean, var) = (mean, var), _statistics(data, axes)
            running = [
                _cast(_blend(before, now, attrs["momentum"], wide), dtype)
                for before, now in zip(
                    old, (_flat(mean, channels), _flat(var, channels)), strict=True
                )
            ]
            mean, var = _flat(mean, channels), _flat(var, channels)
        elif own:
            running = [_op("astype", value, dtype=dtype) for value in running]
        factor = _op("rsqrt", _op("add", var, constant(attrs["epsilon"], wide)))
        if attrs["scale"]:
            factor = _op("multiply", factor, _cast(gamma, wide))
        shift = _cast(beta, wide) if attrs["center"] else None
        around = [channels if i == axis else 1 for i in range(ndim)]
        if folded:
            taken = _op("negative", _op("multiply", mean, factor))
            shift = taken if shift is None else _op("add", taken, shift)
        else:
            data = _op("subtract", data, reshape(mean, around))
        out = _op("multiply", data, reshape(factor, around))
        if shift is not None:
            out = _op("add", out, reshape(shift, around))
        return make_tuple([_cast(out, dtype), *running])


def _flat(value: ir.Value, channels: IntLike) -> ir.Value:
    return reshape(value, [channels])


def _statistics(data: ir.Value, axes: Sequence[int]) -> tuple[ir.Value, ir.Value]:
    mean = _op("mean", data, axis=list(axes), keepdims=True)
    centred = _op("subtract", data, mean)
    return mean, _op("mean", _op("square", centred), axis=list(axes), keepdims=True)


def _blend(before: ir.Value, now: ir.Value, momentum: float, dtype: str) -> ir.Value:
    kept = _op("multiply", before, constant(1 - momentum, dtype))
    return _op("add", kept, _op("multiply", now, constant(momentum, dtype)))


def layer_norm(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write layer normalisation in means and elementwise operations."""
    attrs = _attributes(op)
    data, gamma, beta = op.operands
    dtype, dims = T.tensor_dtype(data.type), T.tensor_dims(data.type)
    if dims is None or not dtype:
        return None
    axes = [axis % len(dims) for axis in attrs["axes"]]
    if axes != sorted(axes):
        return None
    wide = ACCUMULATE.get(dtype, dtype)
    around = [dim if i in axes else 1 for i, dim in enumerate(dims)]
    with ir.InsertionPoint(op), op.location:
        data = _cast(data, wide)
        mean, var = _statistics(data, axes)
        factor = _op("rsqrt", _op("add", var, constant(attrs["epsilon"], wide)))
        out = _op("multiply", _op("subtract", data, mean), factor)
        if attrs["scale"]:
            out = _op("multiply", out, reshape(_cast(gamma, wide), around))
        if attrs["center"]:
            out = _op("add", out, reshape(_cast(beta, wide), around))
        return _cast(out, dtype)


def dropout(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write dropout as what it is in inference: its operand, and a mask of ones."""
    x = op.operands[0]
    dtype = T.tensor_dtype(x.type)
    if not dtype:
        return None
    uses = [use.owner.operation for use in op.results[0].uses]
    masked = any(
        user.name != "relax.tuple_get_item" or user.attributes["index"].value for user in uses
    )
    with ir.InsertionPoint(op), op.location:
        mask = x
        if masked:
            # True of NaN as of any other number.
            every = _op("add", _op("equal", x, x), _op("not_equal", x, x))
            mask = _op("astype", every, dtype=dtype)
        return make_tuple([_op("astype", x, dtype=dtype) if own else x, mask])


def einsum(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a sum of products of more than two operands as one of two after another.

    The loops of all letters at once would take the product of all sizes.
    """
    operands = known_fields(op.operands[0])
    types = field_types(op.operands[0].type)
    ranks = [T.tensor_ndim(type_) for type_ in types]
    if operands is None or len(operands) < 3 or -1 in ranks:
        return None
    if infer_result(op) != op.results[0].type:
        return None
    text = _attributes(op)["subscripts"]
    subscripts = expand_ellipsis(parse_subscripts(text, len(operands)), ranks)
    if any(is_broadcast(item) for items in subscripts.inputs for item in items):
        return None
    if einsum_sizes(subscripts, [T.tensor_dims(type_) for type_ in types]) is None:
        return None
    with ir.InsertionPoint(op), op.location:
        result, items = operands[0], subscripts.inputs[0]
        for index in range(1, len(operands)):
            later = {*subscripts.output, *itertools.chain(*subscripts.inputs[index + 1 :])}
            both = dict.fromkeys((*items, *subscripts.inputs[index]))
            kept = tuple(item for item in both if item in later)
            last = index == len(operands) - 1
            step = Subscripts(
                (items, subscripts.inputs[index]), subscripts.output if last else kept
            )
            result = build("einsum", [[result, operands[index]]], {"subscripts": str(step)})
            items = kept
    return result


def adaptive_avg_pool(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write adaptive pooling as a mean where it has one window, as pooling where it is regular."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    regular = attrs["out_layout"] in (None, attrs["layout"]) and attrs["output_size"]
    if dims is None or not regular or infer_result(op) != op.results[0].type:
        return None
    rank = len(dims) - 2
    places = layout_axes(attrs["layout"], f"NC{SPATIAL[rank]}")[2:]
    counts = per_axis(attrs["output_size"], rank, "output_size")
    sizes = [(dims[axis] // count).value for axis, count in zip(places, counts, strict=True)]
    with ir.InsertionPoint(op), op.location:
        if all(count == 1 for count in counts):
            return _op("mean", op.operands[0], axis=places, keepdims=True)
        for axis, count, size in zip(places, counts, sizes, strict=True):
            if not size or dims[axis] != size * count:
                return None
        return _op(
            f"avg_pool{rank}d", op.operands[0], pool_size=sizes, strides=sizes,
            layout=attrs["layout"],
        )  # fmt: skip


def cross_entropy(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write cross entropy as a sum of products, and its share of the batch."""
    predictions, labels = op.operands
    dims = T.tensor_dims(predictions.type)
    if dims is None or dims != T.tensor_dims(labels.type):
        return None
    dtype = T.tensor_dtype(infer_result(op))
    if not dtype or infer_result(op) != op.results[0].type or 0 in dims:
        return None
    wide = ACCUMULATE.get(dtype, dtype)
    with ir.InsertionPoint(op), op.location:
        terms = _op("multiply", _cast(predictions, wide), _cast(labels, wide))
        # A mean over the batch of what each of its elements adds up to.
        axes = list(range(1, len(dims)))
        whole = _op("mean", _op("sum", terms, axis=axes)) if axes else _op("sum", terms)
        return _cast(_op("negative", whole), dtype)


DECOMPOSE: dict[str, Decomposition] = {
    "batch_norm": batch_norm,
    "dropout": dropout,
    "cross_entropy_with_logits": cross_entropy,
    "einsum": einsum,
    **{f"adaptive_avg_pool{rank}d": adaptive_avg_pool for rank in SPATIAL},
}


def replace(op: ir.Operation, value: ir.Value) -> None:
    """Put a value in the place of an operation, tuples unpacked where their fields are used."""
    if isinstance(value.type, ir.TupleType):
        fields = list(value.owner.operation.operands)
        for use in list(op.results[0].uses):
            user = use.owner.operation
            if user.name == "relax.tuple_get_item":
                user.results[0].replace_all_uses_with(fields[user.attributes["index"].value])
                user.erase()
    op.results[0].replace_all_uses_with(value)
    op.erase()


def decompose_ops(
    module: ir.Operation, table: Mapping[str, Decomposition], skipped: Container[str] = ()
) -> None:
    """Write out every operation of a table; with copies where a function may write to tensors.

    Args:
        module: a `builtin.module`.
        table: how operations are written, by name without `relax.`.
        skipped: names of operations that stay, without `relax.`.
    """
    for view in module.regions[0].blocks[0].operations:
        ops: list[ir.Operation] = []
        writes = False

        def visit(op: ir.Operation, ops: list[ir.Operation] = ops) -> ir.WalkResult:
            nonlocal writes
            writes = (
                writes
                or op.name == "relax.call_packed"
                or (op.name == "relax.call" and "pure" not in op.attributes)
            )
            name = op.name.removeprefix("relax.")
            if name in table and name not in skipped:
                ops.append(op)
            return ir.WalkResult.ADVANCE

        if "relax.function" in view.operation.attributes:
            view.operation.walk(visit)
        for op in ops:
            with op.location:
                value = table[op.name.removeprefix("relax.")](op, writes)
            if value is not None:
                replace(op, value)
