"""Operations decomposed by LegalizeOps alone, where shapes are known."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import broadcast_dims
from relax_mlir.dialects.relax.ops.base import build, infer_result, prim_value, scalar_constant
from relax_mlir.dialects.relax.ops.params import UNKNOWN, constant_value
from relax_mlir.dialects.relax.ops.reduce import collapsed_axes
from relax_mlir.dialects.relax.tuples import get_item, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.lowering.relax_to_tir.decompose import Decomposition, reshape
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import broadcasts
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE

_Rule = Callable[[ir.Operation, bool], ir.Value | None]


def _op(name: str, *operands: Any, **attrs: Any) -> ir.Value:
    return build(name, operands, attrs)


def _shape(dims: Sequence[SymExpr]) -> ir.Value:
    return ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result


def _cast(value: ir.Value, dtype: str) -> ir.Value:
    return value if T.tensor_dtype(value.type) == dtype else _op("astype", value, dtype=dtype)


def _composed(rule: _Rule) -> Decomposition:
    """Return a rule that is asked where the declared type says no more than the inferred one."""

    @functools.wraps(rule)
    def decompose(op: ir.Operation, own: bool) -> ir.Value | None:
        if infer_result(op) != op.results[0].type:
            return None
        with ir.InsertionPoint(op), op.location:
            return rule(op, own)

    return decompose


@_composed
def identity(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a mark as its operand."""
    x, dtype = op.operands[0], T.tensor_dtype(op.results[0].type)
    if not dtype:
        return None
    return _op("astype", x, dtype=dtype) if own else _cast(x, dtype)


@_composed
def view(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a view of all elements as a reshape."""
    data, dims = op.operands[0], T.tensor_dims(op.results[0].type)
    old, offset = T.tensor_dims(data.type), attributes(op)["relative_byte_offset"]
    if old is None or dims is None or (offset is not None and offset != 0):
        return None
    if T.tensor_dtype(data.type) != T.tensor_dtype(op.results[0].type):
        return None
    return reshape(data, dims) if product(old) == product(dims) else None


@_composed
def batch_flatten(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a flattening of all but the batch as a reshape."""
    dims = T.tensor_dims(op.results[0].type)
    return None if dims is None else reshape(op.operands[0], dims)


@_composed
def pixel_shuffle(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write channels as pixels: a reshape, a permutation, a reshape."""
    data, result = T.tensor_dims(op.operands[0].type), T.tensor_dims(op.results[0].type)
    if data is None or result is None:
        return None
    r = SymExpr.const(attributes(op)["upscale_factor"])
    *outer, channels, height, width = result[:-2] + data[-2:]
    if channels * r * r != data[-3]:
        return None
    rank = len(outer)
    split = reshape(op.operands[0], [*outer, channels, r, r, height, width])
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    return reshape(_op("permute_dims", split, axes=order), result)


@_composed
def layout_transform(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a map of indices as a reshape, a permutation, a reshape; padded before."""
    (data,), attrs = op.operands, attributes(op)
    dims, index_map = T.tensor_dims(data.type), attrs["index_map"]
    if dims is None:
        return None
    value, wide = attrs["pad_value"], list(dims)
    fill = constant_value(0 if value is None else value)
    dtype = T.tensor_dtype(data.type)
    for axis, whole in enumerate(index_map.padded(dims)):
        if whole == dims[axis]:
            continue
        if fill is UNKNOWN or not dtype:
            return None
        wide[axis] = whole - dims[axis]
        rest = _op("full", _shape(wide), scalar_constant(fill, dtype), dtype=dtype)
        data = _op("concat", [data, rest], axis=axis)
        wide[axis] = whole
    digits = [digit for axis in index_map.axes() for digit in axis]
    split = reshape(data, [index_map.size(digit, dims) for digit in digits])
    order = [digits.index(digit) for output in index_map.outputs for digit in output]
    return reshape(_op("permute_dims", split, axes=order), index_map.shape(dims))


@_composed
def collapse_sum(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a sum to a shape that was broadcast as a sum over axes."""
    data, wanted = T.tensor_dims(op.operands[0].type), T.tensor_dims(op.results[0].type)
    if data is None or wanted is None or not T.tensor_dtype(op.results[0].type):
        return None
    axes = collapsed_axes(data, wanted)
    value = _op("sum", op.operands[0], axis=axes, keepdims=True) if axes else op.operands[0]
    return reshape(value, wanted)


@_composed
def median(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write a median as the middle of the sorted elements."""
    (x,), attrs = op.operands, attributes(op)
    dims, axes = T.tensor_dims(x.type), attrs["axis"]
    if not dims or not T.tensor_dtype(x.type):
        return None
    if not axes:
        x = reshape(x, [product(dims)])
    axis = axes[0] % len(dims) if axes else 0
    middle = (T.known_dims(x.type)[axis] - 1) // 2
    order = _op("argsort", x, axis=axis, dtype="int64")
    index = reshape(_op("scalar_to_tensor", prim_value(middle)), [1])
    place = _op("take", order, index, axis=axis)
    value = _op("gather_elements", x, place, axis=axis)
    if not axes:
        return reshape(value, T.known_dims(op.results[0].type))
    if not attrs["keepdims"]:
        value, place = (_op("squeeze", each, axis=[axis]) for each in (value, place))
    return make_tuple([value, place])


@_composed
def index_put(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write values at indices of every dimension as a scatter of rows of indices."""
    data, indices, values = op.operands
    given = [get_item(indices, i) for i in range(indices.type.num_types)]
    shapes = T.all_dims([each.type for each in (*given, values)])
    if shapes is None or T.tensor_dims(data.type) is None:
        return None
    common: list[SymExpr] | None = []
    for dims in shapes[:-1]:
        common = None if common is None else broadcast_dims(common, dims)
    if common is None or not all(broadcasts(dims, common) for dims in shapes):
        return None
    rows = [_op("broadcast_to", _cast(each, "int64"), _shape(common)) for each in given]
    spread = _op("broadcast_to", values, _shape(common))
    how = "add" if attributes(op)["accumulate"] else "update"
    return _op("scatter_nd", data, _op("stack", rows, axis=-1), spread, reduction=how)


@_composed
def take_backward(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write the gradient of a selection as a scatter that adds up, the axis first."""
    grad, x, indices = op.operands
    shapes, dtype = T.all_dims([v.type for v in op.operands]), T.tensor_dtype(x.type)
    if shapes is None or not dtype or T.tensor_dtype(grad.type) != dtype:
        return None
    given, dims, inner = shapes
    axis, wide, count = attributes(op)["axis"], ACCUMULATE.get(dtype, dtype), len(inner)
    flat = [product(dims)] if axis is None else dims
    axis = 0 if axis is None else axis % len(dims)
    if given != [*flat[:axis], *inner, *flat[axis + 1 :]]:
        return None
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, len(given))]
    moved = [flat[axis], *flat[:axis], *flat[axis + 1 :]]
    nothing = _op("zeros", _shape(moved), dtype=wide)
    places = reshape(indices, [*inner, SymExpr.const(1)])
    updates = _op("permute_dims", _cast(grad, wide), axes=order) if order else _cast(grad, wide)
    total = _op("scatter_nd", nothing, places, updates, reduction="add")
    back = [*range(1, axis + 1), 0, *range(axis + 1, len(flat))]
    return reshape(_cast(_op("permute_dims", total, axes=back), dtype), dims)


@_composed
def multinomial_from_uniform(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write sampling as how many of a row's cumulative sums the sample is not below."""
    prob, uniform, rows = op.operands
    shapes, dtype = T.all_dims([v.type for v in op.operands]), T.tensor_dtype(prob.type)
    if shapes is None or T.tensor_dims(op.results[0].type) is None or not dtype:
        return None
    if not T.tensor_dtype(uniform.type):
        return None
    (_, choices), (count, _), _ = shapes
    wide = "float64" if dtype == "float64" else ACCUMULATE.get(dtype, dtype)
    sums = _op("cumsum", _cast(prob, wide), axis=1)
    chosen = _op("take", sums, reshape(rows, [count]), axis=0)
    below = _op("less_equal", chosen, _cast(uniform, wide))
    place = _op("sum", _op("astype", below, dtype="int64"), axis=[1], keepdims=True)
    # Rounding may leave the last sum below a sample.
    last = _op("clip", place, min=0, max=choices - 1)
    return _cast(last, T.tensor_dtype(op.results[0].type))


@_composed
def random_multinomial(op: ir.Operation, own: bool) -> ir.Value | None:
    """Write sampling with replacement as uniform numbers for each row."""
    key, prob = op.operands
    dims, dtype = T.tensor_dims(prob.type), T.tensor_dtype(prob.type)
    if dims is None or T.tensor_dims(op.results[0].type) is None or not dtype:
        return None
    rows, count = dims[0], attributes(op)["num_samples"]
    column = [rows * count, 1]
    wide = ACCUMULATE.get(dtype, dtype)
    uniform = _op("random_uniform", key, _shape(column), dtype=wide)
    numbers = _op("arange", start=0, end=rows, dtype="int64")
    spread = _op("broadcast_to", reshape(numbers, [rows, 1]), _shape([rows, count]))
    samples = _op(
        "multinomial_from_uniform", prob, uniform, reshape(spread, column),
        dtype=T.tensor_dtype(op.results[0].type),
    )  # fmt: skip
    return reshape(samples, [rows, count])


MARKS = (
    "builtin_stop_lift_params", "grad_no_grad", "grad_start_checkpoint", "grad_end_checkpoint",
    "hint_on_device", "memory_ensure_zero_offset", "to_vdevice", "wrap_param",
)  # fmt: skip
COMPOSITIONS: dict[str, Decomposition] = {
    **dict.fromkeys(MARKS, identity),
    "memory_view": view,
    "batch_flatten": batch_flatten,
    "pixel_shuffle": pixel_shuffle,
    "layout_transform": layout_transform,
    "collapse_sum_to": collapse_sum,
    "collapse_sum_like": collapse_sum,
    "median": median,
    "grad_take_backward": take_backward,
    "index_put": index_put,
    "multinomial_from_uniform": multinomial_from_uniform,
    "random_multinomial": random_multinomial,
}
