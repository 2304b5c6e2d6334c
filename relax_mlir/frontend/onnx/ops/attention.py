"""Fused attention and rotary embeddings of onnxruntime, domain `com.microsoft`.

Semantics: onnxruntime's docs/ContribOperators.md and the CPU kernels of each.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ModelError
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, const

_MS = "com.microsoft"
# What is added to scores that a mask hides.
_FILTER = -10000.0
# Of queries, keys, values and results: caches have heads before positions.
_LAYOUT = "BSNH,BNSH,BNSH,BSNH"


def _dims(x: Any) -> Sequence[Any]:
    """Return the shape of a tensor.

    Raises:
        ModelError: it is not known, as that of a sum of tensors of unrelated sizes.
    """
    dims = of_expr(x).dims
    if dims is None:
        raise ModelError("the widths of tensors of attention have to be known at import")
    return dims


def _known(node: Any, *dims: Any) -> list[int]:
    """Return dimensions as integers.

    Raises:
        ModelError: import does not know them.
    """
    if any(dim.value is None for dim in dims):
        raise node.fail("the widths of tensors and the depth of heads have to be known at import")
    return [dim.value for dim in dims]


def _heads(node: Any, x: Any, count: Any) -> Any:
    """Return (batch, length, width) as (batch, length, heads, depth)."""
    batch, length, width = _dims(node.emit(x))
    return op.reshape(x, ShapeExpr([batch, length, count, width // count]))


def _split(node: Any, x: Any, sizes: Sequence[Any], axis: int) -> list[Any]:
    ends = np.cumsum([0, *sizes]).tolist()
    x = node.emit(x)
    return [op.strided_slice(x, [axis], [a], [b]) for a, b in itertools.pairwise(ends)]


def _places(node: Any, size: Any, dtype: str = "int32") -> Any:
    """Return 0, 1, ... up to a dimension."""
    return node.emit(op.arange(0, size, 1, dtype))


def _attend(
    node: Any, query: Any, key: Any, value: Any,
    padding: Any = None, biases: Sequence[Any] = (), causal: str | None = None, mask: Any = None,
) -> Any:  # fmt: skip
    """Return attention as (batch, length, width); hidden padding gets a great negative number."""
    dtype = of_expr(query).dtype
    added = list(biases)
    if padding is not None:
        hidden = const(np.asarray(node.attrs.get("mask_filter_value", _FILTER)), dtype)
        added.append(op.multiply(op.astype(op.logical_not(padding), dtype), hidden))
    bias = None
    for each in added:
        bias = each if bias is None else op.add(bias, each)
    scale = node.attrs.get("scale", 0.0) or None
    y = node.emit(op.attention(
        query, key, value, bias=bias, scale=scale, layout=_LAYOUT,
        causal_mask=causal, mask=mask,
    ))  # fmt: skip
    batch, length, heads, depth = _dims(y)
    return op.reshape(y, ShapeExpr([batch, length, heads * depth]))


def _padding(node: Any, index: int, batch: Any, keys: Any) -> Any:
    """Return where a mask at an input lets keys be seen, as it broadcasts to scores.

    Raises:
        ModelError: it is of a form that is not supported.
    """
    if not node.has(index):
        return None
    mask, dims = node.x(index), node.dims(index)
    if len(dims) > 1:
        seen = op.greater(mask, const(0, node.dtype(index)))
        return seen if len(dims) == 4 else op.expand_dims(seen, [1, 2] if len(dims) == 2 else [1])
    places = op.reshape(_places(node, keys, node.dtype(index)), ShapeExpr([1, 1, 1, keys]))
    if dims[0] == batch * 3 + 2:  # lengths, and where queries and keys begin if they are packed
        mask, dims = op.strided_slice(mask, [0], [0], [batch]), [batch]
    if dims[0] == batch * 2:
        column = ShapeExpr([batch, 1, 1, 1])
        ends, starts = (op.reshape(part, column) for part in op.split(mask, 2))
        return op.logical_and(op.less(places, ends), op.greater_equal(places, starts))
    if (dims[0] - batch).value not in (0, None):
        raise node.fail(f"a mask of shape {list(dims)} is not supported")
    return op.less(places, op.reshape(mask, ShapeExpr([dims[0], 1, 1, 1])))


def _seen_before(node: Any, length: Any, keys: Any, past: Any) -> Any:
    """Return which of `keys` each query sees: the past, and of new keys those up to its place.

    The last query sees all of them, however many there are, as in onnxruntime.
    """
    rows = op.expand_dims(_places(node, length, "int64"), 1)
    before = op.less_equal(_places(node, keys, "int64"), op.add(rows, _size(past)))
    return op.expand_dims(op.logical_or(before, op.equal(rows, _size(length - 1))), 0)


def _with_past(node: Any, past: Any, new: Any) -> Any:
    return node.emit(op.concat([past, new], 2))


@converts(_MS, "MultiHeadAttention")
def multi_head_attention(node: Any) -> Any:
    """Attend with queries, keys and values that are projected already."""
    heads = node.attrs["num_heads"]
    if node.ndim() != 3 or not node.has(1) or not node.has(2):
        raise node.fail("packed queries, keys and values are not supported")
    if node.has(8) or node.has(9):
        raise node.fail("caches longer than what is in them are not supported")
    tensors = [node.x(i) for i in range(3)]
    if node.has(3):
        sizes = [node.dims(i)[-1] * (heads if node.ndim(i) == 4 else 1) for i in range(3)]
        biases = _split(node, node.x(3), _known(node, *sizes), 0)
        # Keys and values that have heads already have their biases in them.
        tensors = [
            op.add(x, bias) if node.ndim(i) == 3 else x
            for i, (x, bias) in enumerate(zip(tensors, biases, strict=True))
        ]
    query = _heads(node, tensors[0], heads)
    key, value = (
        x if node.ndim(1 + i) == 4 else op.permute_dims(_heads(node, x, heads), [0, 2, 1, 3])
        for i, x in enumerate(tensors[1:])
    )
    key, causal, seen = node.emit(key), None, None
    length, added = node.dims()[1], _dims(key)[2]
    if node.has(6):
        key, value = _with_past(node, node.x(6), key), _with_past(node, node.x(7), value)
    value, keys = node.emit(value), _dims(key)[2]
    if node.attrs.get("unidirectional", 0) and length == added:
        causal = "BottomRight"
    elif node.attrs.get("unidirectional", 0):
        seen = _seen_before(node, length, keys, node.dims(6)[2] if node.has(6) else 0)
    mask = _padding(node, 4, node.dims()[0], keys)
    biases = [node.x(5)] if node.has(5) else []
    y = _attend(node, query, key, value, padding=mask, biases=biases, causal=causal, mask=seen)
    return [y, key, value]


def self_attention(node: Any, x: Any, weights: Any, bias: Any, mask: int, past: int) -> Any:
    """Return `Attention` of a projected tensor; `mask` and `past` are indices of inputs."""
    heads = node.attrs["num_heads"]
    if node.attrs.get("do_rotary"):
        raise node.fail("do_rotary is not supported")
    if node.attrs.get("past_present_share_buffer"):
        raise node.fail("past_present_share_buffer is not supported")
    projected = op.matmul(x, weights)
    projected = node.emit(projected if bias is None else op.add(projected, bias))
    batch, _, width = _dims(projected)
    sizes = node.attrs.get("qkv_hidden_sizes") or [_known(node, width)[0] // 3] * 3
    query, key, value = (_heads(node, x, heads) for x in _split(node, projected, sizes, 2))
    key, value = (op.permute_dims(x, [0, 2, 1, 3]) for x in (key, value))
    if node.has(past):
        both = [op.squeeze(part, [0]) for part in _split(node, node.x(past), [1, 1], 0)]
        key, value = (_with_past(node, *pair) for pair in zip(both, (key, value), strict=True))
    key, value = node.emit(key), node.emit(value)
    seen = _padding(node, mask, batch, _dims(key)[2])
    biases = [node.x(5)] if node.op_type == "Attention" and node.has(5) else []
    causal = "BottomRight" if node.attrs.get("unidirectional", 0) else None
    y = _attend(node, query, key, value, padding=seen, biases=biases, causal=causal)
    return [y, op.stack([key, value], 0)] if node.wants(1) else y


@converts(_MS, "Attention")
def attention(node: Any) -> Any:
    """Project a tensor to queries, keys and values, and attend."""
    bias = node.x(2) if node.has(2) else None
    return self_attention(node, node.x(0), node.x(1), bias, 3, 4)


def _rotated(node: Any, x: Any, angles: Sequence[Any], interleaved: bool) -> Any:
    """Return (batch, length, heads, depth) rotated by angles of (batch, length, half)."""
    x = node.emit(x)
    depth, half = _known(node, _dims(x)[3], _dims(angles[0])[-1])
    cos, sin = (node.emit(op.expand_dims(each, -2)) for each in angles)
    begins, ends, stride = (
        ([0, 1], [2 * half - 1, 2 * half], 2) if interleaved else ([0, half], [half, 2 * half], 1)
    )
    first, second = (
        node.emit(op.strided_slice(x, [3], [begin], [end], [stride]))
        for begin, end in zip(begins, ends, strict=True)
    )
    rotated = [
        op.subtract(op.multiply(first, cos), op.multiply(second, sin)),
        op.add(op.multiply(first, sin), op.multiply(second, cos)),
    ]
    if interleaved:
        pairs = op.stack(rotated, -1)
        rotated = [op.reshape(pairs, ShapeExpr([*_dims(x)[:3], 2 * half]))]
    rest = [op.strided_slice(x, [3], [2 * half], [depth])] if depth > 2 * half else []
    return op.concat([*rotated, *rest], 3) if len(rotated + rest) > 1 else rotated[0]


@converts(_MS, "RotaryEmbedding")
def rotary_embedding(node: Any) -> Any:
    """Rotate pairs of features by angles of their positions."""
    dims, attrs = node.dims(), node.attrs
    half = node.dims(2)[-1]
    places = node.x(1)
    if node.ndim(1) == 1:
        length = dims[2] if len(dims) == 4 else dims[1]
        places = op.expand_dims(op.add(places, _places(node, length, node.dtype(1))), 0)
    angles = [node.emit(op.take(node.x(i), places, 0)) for i in (2, 3)]
    interleaved = bool(attrs.get("interleaved", 0))
    if len(dims) == 4:
        x = op.permute_dims(node.x(), [0, 2, 1, 3])
        return op.permute_dims(_rotated(node, x, angles, interleaved), [0, 2, 1, 3])
    heads = attrs.get("num_heads", 0) or dims[2] // (half * 2)
    y = _rotated(node, _heads(node, node.x(), heads), angles, interleaved)
    return op.reshape(y, ShapeExpr(dims))


@converts(_MS, "GroupQueryAttention")
def group_query_attention(node: Any) -> Any:
    """Attend with a cache of keys and values, several heads of queries for one of keys.

    Raises:
        ModelError: it has quantized caches, or gives its scores.
    """
    attrs = node.attrs
    for name in ("kv_cache_bit_width", "qk_output"):
        if attrs.get(name):
            raise node.fail(f"{name} is not supported")
    if any(node.has(i) for i in range(12, len(node.inputs))):
        raise node.fail("inputs after head_sink are not supported")
    heads, groups = attrs["num_heads"], attrs["kv_num_heads"]
    batch, length, width = node.dims()
    if node.has(1):
        tensors = [node.x(i) for i in range(3)]
    else:
        depth = _known(node, width)[0] // (heads + 2 * groups)
        tensors = _split(node, node.x(), [depth * each for each in (heads, groups, groups)], 2)
    counts = (heads, groups, groups)
    query, key, value = (_heads(node, x, n) for x, n in zip(tensors, counts, strict=True))
    total = op.add(op.reshape(node.x(5), ShapeExpr([batch, 1])), const(1, "int32"))
    before = node.emit(op.maximum(op.subtract(total, op.astype(_size(length), "int32")),
                                  const(0, "int32")))  # fmt: skip
    rows = node.emit(op.add(before, op.expand_dims(_places(node, length), 0)))
    if attrs.get("do_rotary"):
        places = rows
        if node.has(9):  # of a prompt the first one counts, as in onnxruntime
            first = op.reshape(
                op.take(op.reshape(node.x(9), (-1,)), const([0], "int64"), 0), (1, 1)
            )
            prompt = op.add(first, op.expand_dims(_places(node, length, "int64"), 0))
            is_prompt = op.equal(op.astype(node.x(6), "int64"), _size(length))
            places = op.where(is_prompt, prompt, node.x(9))
        angles = [node.emit(op.take(node.x(i), places, 0)) for i in (7, 8)]
        way = bool(attrs.get("rotary_interleaved", 0))
        query, key = (_rotated(node, x, angles, way) for x in (query, key))
    key, value = (node.emit(op.permute_dims(x, [0, 2, 1, 3])) for x in (key, value))
    caches = [node.runtime(
        "append_cache", [node.x(3 + i) if node.has(3 + i) else None, new, before, node.x(6)],
        [(node.dtype(), [batch, groups, None, _dims(new)[3]])],
    ) for i, new in enumerate((key, value))]  # fmt: skip
    key, value = (cache.expr for cache in caches)
    if caches[0].dims != caches[1].dims:
        value = node.graph.builder.match_cast(value, key.ty)
    columns = op.reshape(_places(node, caches[0].dims[2]), ShapeExpr([1, 1, caches[0].dims[2]]))
    rows = op.expand_dims(rows, -1)
    seen = op.less_equal(columns, rows) if attrs.get("causal", 1) else op.less(
        columns, op.expand_dims(total, -1))  # fmt: skip
    window = attrs.get("local_window_size", -1)
    if window > 0:
        near = op.greater(columns, op.subtract(rows, const(window, "int32")))
        seen = op.logical_and(seen, near)
    biases = [node.x(10)] if node.has(10) else []
    if attrs.get("softcap") or attrs.get("smooth_softmax", 0) > 0 or node.has(11):
        y = _attend_by_scores(node, query, key, value, biases, seen)
    else:
        y = _attend(node, query, key, value, biases=biases, mask=seen)
    return [y, key, value]


def _attend_by_scores(
    node: Any, query: Any, key: Any, value: Any, biases: Sequence[Any], seen: Any
) -> Any:
    """Return attention whose scores have a soft cap, or a sink, a score of no key, in each head."""
    attrs, dtype = node.attrs, node.dtype()
    (batch, length, heads, depth), (_, groups, keys, _) = _dims(node.emit(query)), _dims(key)
    scale, cap = (
        attrs.get("scale", 0.0) or _known(node, depth)[0] ** -0.5,
        attrs.get("softcap", 0.0),
    )
    by_group = ShapeExpr([batch, groups, heads // groups * length, depth])
    scores = op.matmul(
        op.reshape(op.permute_dims(query, [0, 2, 1, 3]), by_group),
        op.permute_dims(key, [0, 1, 3, 2]),
    )
    scores = op.multiply(op.reshape(scores, ShapeExpr([batch, heads, length, keys])),
                         const(scale, dtype))  # fmt: skip
    if cap:
        scores = op.multiply(op.tanh(op.divide(scores, const(cap, dtype))), const(cap, dtype))
    for each in biases:
        scores = op.add(scores, each)
    hidden = const(np.finfo("float32" if dtype == "bfloat16" else dtype).min, dtype)
    scores = op.where(op.expand_dims(seen, 1), scores, hidden)
    if node.has(11) or attrs.get("smooth_softmax", 0) > 0:
        sink = op.reshape(node.x(11), (1, -1, 1, 1)) if node.has(11) else const(0.0, dtype)
        sink = op.broadcast_to(sink, ShapeExpr([batch, heads, length, 1]))
        chances = op.softmax(op.concat([scores, sink], 3))
        chances = op.strided_slice(chances, [3], [0], [keys])
    else:
        chances = op.softmax(scores)
    by_group = ShapeExpr([batch, groups, heads // groups * length, keys])
    y = op.matmul(op.reshape(chances, by_group), value)
    y = op.reshape(y, ShapeExpr([batch, heads, length, depth]))
    return op.reshape(op.permute_dims(y, [0, 2, 1, 3]),
                      ShapeExpr([batch, length, heads * depth]))  # fmt: skip


def _size(dim: Any) -> Any:
    return op.shape_to_tensor(ShapeExpr([dim]))
