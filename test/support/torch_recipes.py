"""How random programs of torch grow: for each group of operators, calls that are valid there.

A recipe takes the program under construction, `random_torch_models.Maker`, and returns the names of
a call's results, or None where nothing in the program fits.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from random_models import FLOATS, INTS, NUMBERS

ALL = (*NUMBERS, "float16", "bool", "int8", "uint8")
UNARY = (
    "abs", "neg", "relu", "sigmoid", "tanh", "exp", "exp2", "expm1", "sqrt", "rsqrt", "log", "log2",
    "log10", "log1p", "erf", "erfc", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "asinh", "acosh", "atanh", "reciprocal", "square", "sign", "floor", "ceil", "round", "trunc",
    "positive", "clone", "frac", "logit", "sgn", "isfinite", "isnan", "isinf", "nan_to_num",
    "logical_not", "zeros_like", "ones_like", "deg2rad",
)  # fmt: skip
ACTIVATIONS: dict[str, dict[str, Any]] = {
    "leaky_relu": {"negative_slope": 0.2}, "elu": {"alpha": 1.3}, "celu": {"alpha": 0.7},
    "selu": {}, "gelu": {"approximate": "tanh"}, "silu": {}, "mish": {}, "hardswish": {},
    "hardsigmoid": {}, "hardtanh": {"min_val": -0.5, "max_val": 0.7}, "relu6": {},
    "softplus": {"beta": 2.0, "threshold": 1.5}, "softsign": {}, "logsigmoid": {},
    "tanhshrink": {}, "softshrink": {"lambd": 0.3}, "hardshrink": {"lambd": 0.3},
    "threshold": {"threshold": 0.1, "value": 2.0},
}  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "maximum",
    "minimum", "atan2", "logaddexp", "rsub", "hypot", "fmax", "fmin", "copysign", "xlogy",
)  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "isclose")
LOGIC = ("logical_and", "logical_or", "logical_xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
# By any number of axes, and by one.
REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "var", "std", "norm", "any", "all",
              "nansum", "count_nonzero")  # fmt: skip
ALONG = (
    "prod", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin",
    "logcumsumexp", "softmax", "log_softmax",
)  # fmt: skip


def unary(m: Any) -> Any:
    """Functions of each element; of integers, many give floats."""
    return m.node(getattr(torch, m.choice(UNARY)), m.pick(m.choice((FLOATS, FLOATS, ALL))))


def activation(m: Any) -> Any:
    """Activations."""
    name = m.choice(list(ACTIVATIONS))
    return m.node(lambda x: getattr(F, name)(x, **ACTIVATIONS[name]), m.pick(FLOATS))


def _two(m: Any, dtypes: Any) -> tuple[str, str]:
    """Return two tensors that broadcast, of one dtype or two."""
    x = m.pick(dtypes)
    y = m.other(x) if m.flag() else m.tensor(m.dims(m.other(x)), m.choice(dtypes))
    return tuple(m.shuffled(x, y))


def binary(m: Any) -> Any:
    """Functions of two tensors, or of one and a number; dtypes are promoted."""
    function = getattr(torch, m.choice(BINARY))
    if m.flag() and m.flag():
        number = m.choice((2, -3, 0.75, -1.5))
        return m.node(lambda x: function(x, number), m.pick(ALL))
    return m.node(function, *_two(m, ALL))


def division(m: Any) -> Any:
    """Divisions that are rounded, powers."""
    mode = m.choice(("floor", "trunc"))
    if m.flag():
        return m.node(lambda x, y: torch.div(x, y, rounding_mode=mode), *_two(m, NUMBERS))
    exponent = m.choice((0.5, 2, 3, -1, 1.7))
    return m.node(m.choice((lambda x: x**exponent, lambda x: abs(exponent) ** x)), m.pick(ALL))


def compare(m: Any) -> Any:
    """Comparisons, logic, bits."""
    kind = m.choice((COMPARISONS, COMPARISONS, LOGIC, BITS))
    function = getattr(torch, m.choice(kind))
    return m.node(function, *_two(m, (*INTS, "bool") if kind is BITS else ALL))


def select(m: Any) -> Any:
    """Elements of one tensor or another."""
    x, y = _two(m, NUMBERS)
    keep = m.tensor(m.dims(m.other(x)), "bool")
    kinds = (
        lambda c, x, y: torch.where(c, x, y), lambda c, x, _: torch.where(c, x, 1.5),
        lambda c, x, _: x.masked_fill(c, 3), lambda c, x, y: torch.lerp(x, y, 0.3),
        lambda c, x, y: torch.clamp(x, y, y + 2), lambda c, x, y: torch.addcmul(x, x, y, value=2),
        lambda c, x, y: torch.addcdiv(x, x, y, value=0.5),
    )  # fmt: skip
    return m.node(m.choice(kinds), keep, x, y)


def cast(m: Any) -> Any:
    """Casts; through bfloat16 too."""
    to = getattr(torch, m.choice((*NUMBERS, "float16", "bool")))
    through = m.choice((lambda x: x.to(to), lambda x: x.to(to), lambda x: x.bfloat16().float()))
    return m.node(through, m.pick(ALL))


def clamp(m: Any) -> Any:
    """Clamps at one or both ends."""
    low, high = m.choice(((-1, 2), (None, 1), (0.5, None), (-0.5, 1.5)))
    return m.node(lambda x: torch.clamp(x, low, high), m.pick(NUMBERS))


def reduction(m: Any) -> Any:
    """Reductions by some axes, or all."""
    function, x = getattr(torch, m.choice(REDUCTIONS)), m.pick(m.choice((FLOATS, ALL)))
    axes, keep = m.axes(x), bool(m.flag())
    if not axes:
        return m.node(lambda x: function(x), x)
    if function is torch.count_nonzero:
        return m.node(lambda x: function(x, dim=axes), x)
    if function in (torch.var, torch.std):
        return m.node(lambda x: function(x, axes, correction=0, keepdim=keep), x)
    return m.node(lambda x: function(x, dim=axes, keepdim=keep), x)


def along(m: Any) -> Any:
    """Reductions and running ones by one axis."""
    name = m.choice(ALONG)
    dtypes = FLOATS if "log" in name or "softmax" in name else (*FLOATS, "int64", "int32")
    function, x = getattr(torch, name), m.pick(dtypes, rank=1)
    axis = m.axis(x)
    if m.flag() and function in (torch.argmax, torch.max, torch.prod):
        return m.node(lambda x: function(x), x)
    return m.node(lambda x: function(x, dim=axis), x)


def order(m: Any) -> Any:
    """Sorted elements, the greatest and least ones."""
    x = m.pick(("float32", "float64"), rank=1)
    axis, is_down = m.axis(x), bool(m.flag())
    if m.flag():
        return m.node(lambda x: torch.sort(x, dim=axis, descending=is_down), x)
    count = int(m.rng.integers(0, m.dims(x)[axis] + 1))
    if m.flag():
        return m.node(m.choice((
            torch.median, torch.nanmedian, lambda x: x.median(axis)[0],
            lambda x: x.nanmedian(axis, keepdim=is_down)[0], lambda x: x.mode(axis)[0],
            lambda x: x.kthvalue(count, axis)[0], lambda x: torch.unique(x.round()),
        )), x)  # fmt: skip
    return m.node(lambda x: torch.topk(x, count, dim=axis, largest=is_down), x)


def normalization(m: Any) -> Any:
    """Normalizations of the last axes, of channels and of batches."""
    x = m.pick(("float32", "float64"), rank=2)
    dims, dtype = m.dims(x), m.dtype(x)
    at = int(m.rng.integers(1, len(dims)))
    last = [m.weight(dims[at:], dtype), m.weight(dims[at:], dtype)]
    channels = [m.weight(dims[1:2], dtype) for _ in range(3)]
    groups = m.choice([n for n in range(1, dims[1] + 1) if dims[1] % n == 0] or [1])
    return m.choice((
        lambda: m.node(lambda x, w, b: F.layer_norm(x, w.shape, w, b), x, *last),
        lambda: m.node(lambda x, w: F.rms_norm(x, w.shape, w, 1e-5), x, last[0]),
        lambda: m.node(lambda x, w, b: F.group_norm(x, groups, w, b), x, *channels[:2]),
        lambda: m.node(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, *channels[:2]),
        lambda: m.node(lambda x, w, b, a: F.batch_norm(x, w, a.abs() + 0.1, w, b), x, *channels),
        lambda: m.node(lambda x: F.normalize(x, dim=at), x),
        lambda: m.node(lambda x: F.local_response_norm(x, 2), x),
    ))()  # fmt: skip


def product(m: Any) -> Any:
    """Products of matrices, of stacks of them, and with vectors."""
    x = m.pick((*FLOATS, "int64"), rank=1)
    dims, dtype = m.dims(x), m.dtype(x)
    kind = m.choice(("matmul", "linear", "addmm", "einsum", "outer", "baddbmm"))
    if kind == "linear":
        rows = m.size()
        weight, bias = m.weight([rows, dims[-1]], dtype), m.weight([rows], dtype)
        return m.node(F.linear, x, weight, *((bias,) if m.flag() else ()))
    if kind == "matmul":
        shape = m.choice(([dims[-1], m.size()], [dims[-1]], [*dims[:-2], dims[-1], m.size()]))
        return m.node(torch.matmul, x, m.tensor(shape, dtype))
    columns = m.size()
    y = m.tensor([*dims[:-2], dims[-1], columns], dtype)
    if kind == "addmm" and len(dims) == 2:
        bias = m.tensor(m.choice(([columns], [dims[0], columns], [dims[0], 1])), dtype)
        return m.node(lambda b, x, y: torch.addmm(b, x, y, beta=3, alpha=2), bias, x, y)
    if kind == "baddbmm" and len(dims) == 3:
        return m.node(torch.baddbmm, m.tensor([*dims[:-1], columns], dtype), x, y)
    if kind == "einsum" and len(dims) == 3:
        equation = m.choice(("bik,bkj->bij", "bik,bkj->jb", "bik,bkj->ikj", "bik,akj->abij"))
        return m.node(lambda x, y: torch.einsum(equation, x, y), x, y)
    return m.node(torch.outer, x, m.tensor([columns], dtype)) if len(dims) == 1 else None


def convolution(m: Any) -> Any:
    """Convolutions in one to three dimensions, and transposed ones."""
    x = m.pick(("float32",), rank=3, most=5)
    dims = m.dims(x)
    if 0 in dims:
        return None
    rank, channels = len(dims) - 2, dims[1]
    kernel = [int(m.rng.integers(1, min(size, 4) + 1)) if size else 1 for size in dims[2:]]
    groups = m.choice([n for n in range(1, channels + 1) if channels % n == 0] or [1])
    filters = int(m.rng.integers(1, 4))
    stride, dilation, padding = m.ints(rank, 1, 3), m.ints(rank, 1, 3), m.ints(rank, 0, 3)
    bias = [m.weight([filters * groups])] if m.flag() else []
    if m.flag():
        function = getattr(F, f"conv_transpose{rank}d")
        weight = m.weight([channels, filters, *kernel])
        extra = [max(pair) - 1 for pair in zip(stride, dilation, strict=True)]
        return m.node(
            lambda x, w, b=None: function(x, w, b, stride, padding, extra, groups, dilation),
            x, weight, *bias,
        )  # fmt: skip
    function = getattr(F, f"conv{rank}d")
    weight = m.weight([filters * groups, channels // groups, *kernel])
    if m.flag():
        padding, stride = m.choice(("same", "valid")), 1
    return m.node(
        lambda x, w, b=None: function(x, w, b, stride, padding, dilation, groups), x, weight, *bias
    )


def pooling(m: Any) -> Any:
    """Pooling of windows, and to sizes."""
    x = m.pick(("float32", "float64"), rank=3, most=5)
    sizes = m.dims(x)[2:]
    kind = m.choice(("max", "avg", "adaptive", "lp"))
    kernel = [int(m.rng.integers(1, min(size, 3) + 1)) if size else 1 for size in sizes]
    stride, pad = m.ints(len(sizes), 1, 3), [m.choice((0, each // 2)) for each in kernel]
    up, name = bool(m.flag()), f"pool{len(sizes)}d"
    if kind == "adaptive":
        function, to = getattr(F, f"adaptive_{m.choice(('avg', 'max'))}_{name}"), max(m.size(), 1)
        return m.node(lambda x: function(x, to), x)
    if kind == "avg":
        counted, function = bool(m.flag()), getattr(F, f"avg_{name}")
        return m.node(lambda x: function(x, kernel, stride, pad, up, counted), x)
    function = getattr(F, f"{kind}_{name}")
    if kind == "lp":
        return m.node(lambda x: function(x, 2, kernel, stride, up), x) if len(sizes) < 3 else None
    places = bool(m.flag()) and not m.is_dynamic
    return m.node(lambda x: function(x, kernel, stride, pad, 1, up, return_indices=places), x)


def image(m: Any) -> Any:
    """Images of another size; channels into blocks and back."""
    x = m.pick(("float32",), rank=3, most=5)
    rank = len(m.dims(x)) - 2
    smooth = {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}[rank]
    mode, corners = m.choice(("nearest", "nearest-exact", "area", *smooth * 3)), bool(m.flag())
    more = {"align_corners": corners} if mode in smooth else {}
    sizes = [int(m.choice((1, 3, 6))) for _ in range(rank)]
    to = m.choice(({"scale_factor": 2.0}, {"scale_factor": 1.5}, {"size": sizes}))
    kinds = [lambda x: F.interpolate(x, mode=mode, **to, **more)] * 3
    if rank == 2:
        kinds += [lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2),
                  lambda x: F.unfold(x, 2), lambda x: F.channel_shuffle(x, 2)]  # fmt: skip
    return m.node(m.choice(kinds), x)


def pad(m: Any) -> Any:
    """Pads of all modes, cropping ones too."""
    x = m.pick(FLOATS, rank=1)
    rank = len(m.dims(x))
    if m.flag():
        widths = m.ints(2 * int(m.rng.integers(1, rank + 1)), -1, 3)
        return m.node(lambda x: F.pad(x, widths, value=0.5), x)
    mode, widths = (
        m.choice(("reflect", "replicate", "circular")),
        m.ints(2 * max(rank - 2, 1), 0, 3),
    )
    return m.node(lambda x: F.pad(x, widths, mode=mode), x)


def shape(m: Any) -> Any:
    """Reshapes, transposes, new axes and axes of one, broadcasts, repeats."""
    x = m.pick(ALL, rank=1)
    dims = m.dims(x)
    axis, to, order = m.axis(x), m.axis(x), m.rng.permutation(len(dims)).tolist()
    times = m.ints(len(dims) + m.flag(), 1, 3)
    sizes = [2, *(-1 if dim != 1 else 3 for dim in dims)]
    return m.node(m.choice((
        lambda x: x.reshape(-1), lambda x: x.reshape(x.shape[0], -1), lambda x: x.flatten(axis),
        lambda x: x.permute(order), lambda x: x.transpose(axis, to), lambda x: x.movedim(axis, to),
        lambda x: x.unsqueeze(axis), lambda x: x.squeeze(), lambda x: x.squeeze(axis),
        lambda x: x.expand(sizes), lambda x: x.repeat(times), lambda x: x.tile(times),
        lambda x: x.repeat_interleave(2, axis), lambda x: x.flip(axis), lambda x: x.roll(2, axis),
        lambda x: x.view(1, *x.shape, 1), lambda x: x.reshape(x.shape[-1], -1), lambda x: x.mT,
        lambda x: x.unflatten(0, (-1, 1)), lambda x: torch.rot90(x), lambda x: x.contiguous(),
    )), x)  # fmt: skip


def join(m: Any) -> Any:
    """Tensors one after the other, and cut apart again."""
    x = m.pick(ALL, rank=1)
    axis, dims = m.axis(x), list(m.dims(x))
    if m.flag():
        first = int(m.rng.integers(0, dims[axis] + 1))
        sizes, count = [first, dims[axis] - first], int(m.rng.integers(1, 4))
        return m.node(m.choice((
            lambda x: x.split(sizes, axis), lambda x: x.chunk(count, axis),
            lambda x: x.unbind(axis), lambda x: torch.tensor_split(x, count, axis),
        )), x)  # fmt: skip
    if m.flag():
        return m.node(lambda x, y: torch.stack([x, y, x], axis), x, m.tensor(dims, m.dtype(x)))
    dims[axis] = m.size()
    y = m.tensor(dims, m.choice((m.dtype(x), "float32", "int64")))
    return m.node(lambda x, y: torch.cat([x, y], axis), *m.shuffled(x, y))


def cut(m: Any) -> Any:
    """Slices, selections, windows, triangles, diagonals, and what is written into them."""
    x = m.pick(NUMBERS, rank=1)
    size = m.dims(x)[axis := m.axis(x)]
    start, end = sorted(int(each) for each in m.rng.integers(0, size + 1, 2))
    step, at, k = m.choice((1, 1, 2)), int(m.rng.integers(-size, max(size, 1))), m.ints(1, -2, 3)[0]

    def written(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[start:end] += 1
        y.select(axis, at).mul_(2)
        return y

    return m.node(m.choice((
        lambda x: x.transpose(0, axis)[start:end:step], lambda x: x[..., start - size :],
        lambda x: x.narrow(axis, start, end - start), lambda x: x.select(axis, at),
        lambda x: x[at], lambda x: x[:-1], lambda x: x[..., None, start:], written,
        lambda x: x.unfold(axis, max(end - start, 1), step), lambda x: x.tril(k),
        lambda x: x.triu(k), lambda x: x.diagonal(k), lambda x: torch.diag_embed(x, k),
        lambda x: torch.slice_scatter(x, x.narrow(axis, start, end - start) * 2, axis, start, end),
        lambda x: torch.select_scatter(x, x.select(axis, 0) + 1, axis, at), torch.diff,
    )), x)  # fmt: skip


def indexing(m: Any) -> Any:
    """Elements by their indices, taken and written."""
    x = m.pick(("float32", "int64"), rank=1)
    dims, axis = m.dims(x), m.axis(x)
    if 0 in dims:
        return None
    kind = m.choice(("select", "along", "advanced", "embedding", "scatter", "put", "mask", "hot"))
    if kind == "select":
        k = m.const(m.rng.integers(0, dims[axis], m.size()))
        return m.node(lambda x, k: x.index_select(axis, k), x, k)
    if kind == "advanced":
        k, j = m.index(m.shape(0, 2), dims[0]), m.index([1], dims[-1])
        return m.node(
            m.choice(
                (
                    lambda x, k, _: x[k],
                    lambda x, k, j: x[k, ..., j],
                    lambda x, k, j: x[..., k % x.shape[-1]],
                )
            ),
            x,
            k,
            j,
        )
    if kind == "embedding":
        k = m.const(m.rng.integers(0, dims[0], m.shape(0, 2)))
        return m.node(lambda x, k: F.embedding(k, x), x, k) if len(dims) == 2 else None
    if kind == "mask":
        return m.node(
            lambda x, k: torch.index_put(x, (k,), torch.ones_like(x[0, ..., :1].sum())),
            x,
            m.tensor(dims, "bool"),
        )
    if kind == "hot":
        return m.node(lambda k: F.one_hot(k, 5), m.const(m.rng.integers(0, 5, m.shape(0, 2))))
    shape = [int(m.rng.integers(1, dim + 1)) for dim in dims]
    k = m.const(m.rng.integers(0, dims[axis], shape))
    if kind == "along":
        return m.node(
            m.choice((lambda x, k: x.gather(axis, k), lambda x, k: torch.take(x, k))), x, k
        )
    y = m.tensor(shape, m.dtype(x))
    if kind == "put":
        k, y = m.index([3], dims[0], ("int64",)), m.tensor([3, *dims[1:]], m.dtype(x))
        return m.node(lambda x, k, y: torch.index_put(x, (k,), y, accumulate=True), x, k, y)
    how = m.choice(("sum", "prod", "amax", "amin", "mean"))
    return m.node(m.choice((
        lambda x, k, y: x.scatter_add(axis, k, y), lambda x, k, _: x.scatter(axis, k, 2),
        lambda x, k, y: x.scatter_reduce(axis, k, y, how),
        lambda x, k, y: x.scatter_reduce(axis, k, y, how, include_self=False),
        lambda x, k, _: x.index_add(axis, k.flatten()[:1], x.narrow(axis, 0, 1)),
    )), x, k, y)  # fmt: skip


def counted(m: Any) -> Any:
    """Results whose size depends on data."""
    x = m.pick(("float32", "int64", "bool"), rank=1)
    if m.flag():
        return m.node(torch.nonzero, x)
    return m.node(torch.masked_select, x, m.tensor(m.dims(x), "bool"))


def made(m: Any) -> Any:
    """Tensors of sizes of others."""
    value = m.choice((2, 0.5, True))
    return m.node(m.choice((
        lambda x: torch.arange(x.shape[0]), lambda x: x.new_zeros(x.shape[-1], 2),
        lambda x: torch.full((2, x.shape[0]), value), lambda x: torch.full_like(x, value),
        lambda x: torch.linspace(0, 1, 7) + x.shape[0], lambda x: torch.eye(x.shape[0], 3),
        lambda x: x / x.shape[0], lambda x: x + x.numel(), lambda x: x * x.shape[-1] + value,
        lambda x: torch.arange(0, x.shape[0] * 2, 3, dtype=torch.float32),
        lambda x: torch.tril_indices(x.shape[0], x.shape[0]) if x.shape[0] == 3 else x * 2,
    )), m.pick(NUMBERS, rank=1))  # fmt: skip


def attention(m: Any) -> Any:
    """Scaled dot-product attention: masks, biases, causal, grouped heads."""
    b, h, s, d = m.ints(4, 1, 6)
    t, groups = m.choice((s, m.ints(1, 1, 6)[0])), m.choice([n for n in (1, 2, 3) if h % n == 0])
    q, k = m.tensor([b, h, s, d], "float32"), m.tensor([b, h // groups, t, d], "float32")
    mask = m.tensor(m.choice(([s, t], [b, 1, s, t], [b, h, s, t])), m.choice(("bool", "float32")))
    # torch does not check that keys and values have the same number of rows.
    function = functools.partial(F.scaled_dot_product_attention, enable_gqa=groups > 1)
    if m.flag():
        return m.node(lambda q, k, a: function(q, k, 2 * k + 1, a), q, k, mask)
    is_causal = bool(m.flag())
    return m.node(lambda q, k: function(q, k, 2 * k, is_causal=is_causal, scale=0.4), q, k)


def recurrent(m: Any) -> Any:
    """Recurrent layers of one or two directions."""
    x = m.pick(("float32",), rank=3, most=3)
    if 0 in m.dims(x):
        return None
    kind, ways, size = m.choice(("lstm", "gru", "rnn_tanh", "rnn_relu")), m.choice((1, 2)), 3
    rows = size * {"lstm": 4, "gru": 3}.get(kind, 1)
    shapes = [[rows, m.dims(x)[-1]], [rows, size], [rows], [rows]] * ways
    state = m.tensor([ways, m.dims(x)[0], size], "float32")

    def run(x: torch.Tensor, h: torch.Tensor, *weights: torch.Tensor) -> Any:
        start = (h, h) if kind == "lstm" else h
        given = (True, 1, 0.0, False, ways == 2, True)
        return getattr(torch, kind)(x, start, weights, *given)

    return m.node(run, x, state, *(m.weight(each) for each in shapes))


RECIPES: dict[Callable[[Any], Any], int] = {
    unary: 6, activation: 3, binary: 8, division: 2, compare: 4, select: 3, cast: 3, clamp: 2,
    reduction: 5, along: 4, order: 2, normalization: 4, product: 6, convolution: 4, pooling: 3,
    image: 3, pad: 3, shape: 7, join: 4, cut: 6, indexing: 6, counted: 1, made: 2, attention: 2,
    recurrent: 1,
}  # fmt: skip
