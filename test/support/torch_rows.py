"""Rows of torch's operators: a name, a function, shapes of the inputs; `n` is dynamic.

The rows of one group are the results of one program, compiled once.
"""

import torch
import torch.nn.functional as F

aten = torch.ops.aten
special = torch.special
i64 = torch.int64


def _after(name, overload, prepare):
    """A row of an operator that takes what another function makes of the inputs."""
    function = getattr(getattr(aten, name), overload)
    return name if overload in (
        "default",
        "Tensor",
    ) else f"{name}.{overload}", lambda *args: function(*prepare(*args))


def _positive(t):
    return t.abs() + 0.5


def _index(t, bound):
    """Indices below a bound out of floats."""
    return (t.abs() * 7).to(i64) % bound


UNARY = [
    *((name, getattr(aten, name).default) for name in (
        "abs", "asinh", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "neg",
        "relu", "round", "sigmoid", "sign", "sin", "sinh", "tan", "tanh", "trunc", "isinf", "isnan",
        "logical_not", "clone", "alias", "silu", "hardsigmoid", "hardswish", "mish", "log_sigmoid",
        "exp2", "square", "isfinite", "relu6", "selu",
    )),
    *(_after(name, "default", lambda a: (_positive(a),)) for name in (
        "log", "log10", "log1p", "log2", "rsqrt", "sqrt", "reciprocal", "acosh",
    )),
    *(_after(name, "default", lambda a: (torch.tanh(a) * 0.9,)) for name in (
        "acos", "asin", "atanh",
    )),
    ("bitwise_not", lambda a: aten.bitwise_not(_index(a, 50))),
    ("uint8 and -3", lambda a: aten.floor_divide(_index(a, 50).to(torch.uint8), -3)),
    ("uint8 and 300", lambda a: _index(a, 50).to(torch.uint8) + 300),
    ("int sqrt", lambda a: aten.sqrt(_index(a, 50))),
    ("int ceil", lambda a: aten.ceil(_index(a, 50))),
    ("hardtanh", lambda a: aten.hardtanh(a, -0.5, 0.7)),
    ("clamp", lambda a: aten.clamp(a, -0.5, 0.7)),
    ("clamp one", lambda a: aten.clamp(a, min=0.1)),
    ("clamp.Tensor", lambda a: aten.clamp(a, a * 0.3, a * 0 + 1)),
    ("leaky_relu", lambda a: F.leaky_relu(a, 0.2)),
    ("elu", lambda a: F.elu(a, 1.3)),
    ("celu", lambda a: F.celu(a, 1.3)), ("rrelu", lambda a: F.rrelu(a, 0.1, 0.4)),
    ("softplus", lambda a: F.softplus(a, 2.0, 1.5)),
    ("gelu", F.gelu),
    ("gelu tanh", lambda a: F.gelu(a, approximate="tanh")),
    ("to int", lambda a: (a * 3).to(torch.int32)),
    ("to bool", lambda a: (a > 0).float().bool()),
    ("to f64", lambda a: a.double()),
    ("nan_to_num", lambda a: torch.nan_to_num(a / (a > 0).float())),
    ("round decimals", lambda a: torch.round(a, decimals=2)),
    ("pow scalar", lambda a: aten.pow(a, 2)),
    ("pow scalar half", lambda a: aten.pow(_positive(a), 0.5)),
    ("pow.Scalar", lambda a: aten.pow(2.0, a)),
    ("logit", lambda a: torch.logit(torch.sigmoid(a))),
    ("erfc", torch.erfc),
]  # fmt: skip
BINARY = [
    *((name, getattr(aten, name).default if name in (
        "atan2", "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "floor_divide",
    ) else getattr(aten, name).Tensor) for name in (
        "add", "sub", "mul", "div", "atan2", "maximum", "minimum", "eq", "ne", "lt", "le", "gt",
        "ge", "logical_and", "logical_or", "logical_xor", "fmod", "remainder", "floor_divide",
    )),
    *(_after(name, "Scalar", lambda a, b: (a, 0.5)) for name in (
        "add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder",
    )),
    *(_after(name, "Tensor", lambda a, b: (_index(a, 50), _index(b, 20)))
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *(_after(name, "Scalar", lambda a, b: (_index(a, 50), 6))
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    ("add alpha", lambda a, b: torch.add(a, b, alpha=2)),
    ("rsub", lambda a, b: torch.rsub(a, b, alpha=2)),
    ("rsub.Scalar", lambda a, b: 3 - a),
    ("div floor", lambda a, b: torch.div(a, b, rounding_mode="floor")),
    ("div trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    ("div.Scalar_mode", lambda a, b: torch.div(a, 0.3, rounding_mode="floor")),
    ("int div", lambda a, b: _index(a, 50) / (_index(b, 20) + 1)),
    ("int div trunc", lambda a, b: torch.div(
        _index(a, 50) - 20, _index(b, 20) + 1, rounding_mode="trunc")),
    ("int div floor", lambda a, b: (_index(a, 50) - 20) // (_index(b, 20) + 1)),
    ("int remainder", lambda a, b: (_index(a, 50) - 20) % (_index(b, 20) + 1)),
    ("int fmod", lambda a, b: torch.fmod(_index(a, 50) - 20, _index(b, 20) + 1)),
    ("int + float", lambda a, b: _index(a, 50) + b),
    ("int * number", lambda a, b: _index(a, 50) * 2.5),
    ("int > float", lambda a, b: _index(a, 50) > b),
    ("bool + bool", lambda a, b: (a > 0) + (b > 0)),
    ("pow", lambda a, b: torch.pow(_positive(a), b)),
    ("where", lambda a, b: torch.where(a > 0, a, b)),
    ("where number", lambda a, b: torch.where(a > 0, a, 1.5)),
    ("masked_fill", lambda a, b: a.masked_fill(b > 0, -1.0)),
    ("addcmul", lambda a, b: torch.addcmul(a, a, b, value=0.5)),
    ("lerp", lambda a, b: torch.lerp(a, b, 0.3)),
    ("logaddexp", torch.logaddexp),
    ("int32 + int64", lambda a, b: a.to(torch.int32) + _index(b, 50)),
    ("half", lambda a, b: (a.half() * b.half()).float()),
    ("shift", lambda a, b: _index(a, 50) << 2),
]  # fmt: skip
REDUCE = [
    ("sum", lambda a: a.sum()), ("sum dim", lambda a: a.sum(1)),
    ("sum ints", lambda a: _index(a, 50).to(torch.int32).sum(0, keepdim=True)),
    ("sum bools", lambda a: (a > 0).sum(-1)),
    ("mean", lambda a: a.mean()), ("mean dim", lambda a: a.mean((0, 1), keepdim=True)),
    ("amax", lambda a: a.amax(1)), ("amin", lambda a: a.amin((0, 1))),
    ("max", lambda a: a.max()), ("max.dim", lambda a: torch.max(a, 1)),
    ("min.dim", lambda a: torch.min(a, 0, keepdim=True)),
    ("argmax", lambda a: a.argmax(1)), ("argmin", lambda a: a.argmin(0, keepdim=True)),
    ("argmax all", lambda a: a.argmax()),
    ("any", lambda a: (a > 2).any()), ("any.dim", lambda a: (a > 1).any(1)),
    ("any.dims", lambda a: aten.any.dims(a > 1, [0, 1])),
    ("all", lambda a: (a > -2).all(0)),
    ("prod", lambda a: (a * 0.9).prod(1)), ("prod all", lambda a: torch.prod(a[:2, :3])),
    ("var", lambda a: a.var(1)), ("var.correction", lambda a: torch.var(a, 1, correction=0)),
    ("var.dim", lambda a: aten.var.dim(a, [0, 1], True)),
    ("std", lambda a: a.std(0)), ("var_mean", lambda a: torch.var_mean(a, 1)),
    ("cumsum", lambda a: a.cumsum(1)), ("cumprod", lambda a: a.cumprod(1)),
    ("cumsum ints", lambda a: (a > 0).cumsum(0)),
    ("softmax", lambda a: a.softmax(-1)), ("log_softmax", lambda a: a.log_softmax(1)),
    ("logsumexp", lambda a: a.logsumexp(1)), ("norm", lambda a: a.norm(dim=1)),
    ("norm 1", lambda a: a.norm(p=1, dim=1)), ("norm 3", lambda a: torch.linalg.vector_norm(a, 3)),
    ("sort", lambda a: torch.sort(a, 1)), ("sort down", lambda a: torch.sort(a, 1, True)[0]),
    ("argsort", lambda a: a.argsort(0)), ("topk", lambda a: torch.topk(a, 3)),
    ("topk smallest", lambda a: torch.topk(a, 2, 1, False)),
]  # fmt: skip
SHAPE = [
    ("view", lambda a: a.reshape(-1, 4, 2)), ("flatten", lambda a: a.flatten()),
    ("permute", lambda a: a.permute(1, 0)), ("t", lambda a: a.t()),
    ("expand", lambda a: a[:, None].expand(-1, 3, -1)),
    ("squeeze", lambda a: a[:, None, :, None].squeeze(1)),
    ("squeeze.dims", lambda a: a[:, None, :, None].squeeze((1, 3))),
    ("squeeze all", lambda a: a[None, :, None].squeeze()),
    ("unsqueeze", lambda a: a.unsqueeze(-1)),
    ("cat", lambda a: torch.cat([a, a * 2], 0)), ("stack", lambda a: torch.stack([a, a], 1)),
    ("cat dtypes", lambda a: torch.cat([a, (a > 0)], 1)),
    ("slice", lambda a: a[1:, 2:6]), ("slice step", lambda a: a[:, ::3]),
    ("slice back", lambda a: a[:, -3:-1]), ("slice end", lambda a: a[:-1]),
    ("select", lambda a: a[:, 2]), ("select back", lambda a: a[-1]),
    ("narrow", lambda a: a.narrow(1, 2, 3)),
    ("split", lambda a: a.split(3, 1)), ("split sizes", lambda a: a.split([2, 6], 1)),
    ("chunk", lambda a: a.chunk(2, 1)), ("unbind", lambda a: a[:, :2].unbind(1)),
    ("repeat", lambda a: a.repeat(2, 1, 3)), ("repeat n", lambda a: a[:1].repeat(a.shape[0], 1)),
    ("repeat_interleave", lambda a: a.repeat_interleave(2, 1)),
    ("flip", lambda a: a.flip(0, 1)), ("roll", lambda a: a.roll(2, 1)),
    ("tril", lambda a: a.tril(-1)), ("triu", lambda a: a.triu(1)),
    ("pad", lambda a: F.pad(a, (1, 2, 0, 3), value=1.5)), ("crop", lambda a: F.pad(a, (-1, 2))),
    ("diagonal", lambda a: a[:3].diagonal(1)), ("diag_embed", lambda a: torch.diag_embed(a)),
    ("select_scatter", lambda a: torch.select_scatter(a, a[:, 0], 1, 3)),
    ("slice_scatter", lambda a: torch.slice_scatter(a, a[:, :2] * 3, 1, 2, 4)),
    ("slice_scatter step", lambda a: torch.slice_scatter(a, a[:, :4] * 3, 1, 0, 8, 2)),
    ("movedim", lambda a: a[None].movedim(0, 2)), ("unfold", lambda a: a.unfold(1, 3, 2)),
    ("full", lambda a: torch.full((a.shape[0], 2), 3)),
    ("full_like", lambda a: a * torch.full_like(a, 2)),
    ("arange", lambda a: torch.arange(a.shape[0])),
    ("arange step", lambda a: torch.arange(1, 9, 2)),
    ("arange float", lambda a: torch.arange(0.0, 2.0, 0.25)),
    ("eye", lambda a: torch.eye(3, 4)), ("linspace", lambda a: torch.linspace(0, 1, 7)),
    ("zeros", lambda a: a.new_zeros(a.shape[0])), ("ones", lambda a: torch.ones_like(a)),
    ("size as number", lambda a: a / a.shape[0]),
    ("size as float", lambda a: a * ((a.shape[0] - 1) / 2.0) + (0.5 * a.shape[0]) ** 0.5),
    ("scalar_tensor", lambda a: a + torch.tensor(3)),
    ("as_strided", lambda a: torch.as_strided(a, (2, 3), (8, 2), 1)),
    ("meshgrid", lambda a: torch.meshgrid(a[:, 0], a[0], indexing="ij")),
    ("in place", lambda a: (a * 1).add_(2).mul_(a)),
    ("written view", lambda a: _written(a)),
]  # fmt: skip


def _written(a):
    b = a.clone()
    b[:, 2] = 7
    b[0] += 1
    return b


INDEX = [
    ("index_select", lambda a, k: a.index_select(1, k[:, 0] % 8)),
    ("index", lambda a, k: a[:, k[0] % 8]), ("index two", lambda a, k: a[k[:, 0] % 2, k[:, 1] % 8]),
    ("index apart", lambda a, k: a[None].expand(2, -1, -1)[k[0] % 2, :, k[1] % 8]),
    ("gather", lambda a, k: a.gather(1, k % 8)), ("embedding", lambda a, k: F.embedding(k % 2, a)),
    ("scatter", lambda a, k: a.scatter(1, torch.arange(8).expand(a.shape[0], 8), a * 2)),
    ("scatter.value", lambda a, k: a.scatter(1, k % 8, 1.5)),
    ("scatter_add", lambda a, k: a.scatter_add(1, k % 8, a)),
    ("scatter_reduce", lambda a, k: a.scatter_reduce(1, k % 8, a, "amax")),
    ("scatter_reduce mean", lambda a, k: a.scatter_reduce(1, k % 8, a, "mean")),
    ("scatter_reduce prod", lambda a, k: a.scatter_reduce(1, k % 8, a, "prod", include_self=False)),
    ("index_put", lambda a, k: a.index_put((k[0] % 2,), a[0])),
    ("index_put add", lambda a, k: a.index_put((k[0] % 2, k[1] % 8), a[0], accumulate=True)),
    ("index_put mask", lambda a, k: a.index_put((a > 0,), torch.tensor(0.0))),
    ("masked_scatter", lambda a, k: a.masked_scatter(a > 0, a * 2)),
    ("one_hot", lambda a, k: F.one_hot(k % 4, 4)), ("take", lambda a, k: torch.take(a, k)),
    ("bucketize", lambda a, k: torch.bucketize(a, torch.tensor([-1.0, 0.0, 1.0]))),
    ("histc", lambda a, k: torch.histc(a, 7, -1, 2)), ("histc range", lambda a, k: torch.histc(a)),
    ("histc equal", lambda a, k: torch.histc(a * 0 + 3, 5, 1, 1)),
    ("grouped_mm", lambda a, k: torch._grouped_mm(
        a.bfloat16(), (torch.arange(384) % 5).reshape(3, 8, 16).bfloat16(),
        offs=torch.tensor([1, 1, 5], dtype=torch.int32))[:5].float()),
    ("copy", lambda a, k: aten.copy(a, a[:1])), ("fill", lambda a, k: aten.fill.Scalar(a, 2.0)),
]  # fmt: skip
ORDER = [
    *((f.__name__, lambda a, k, f=f: (f(a, 1), f(k, 0), f(a > 0, -1)))
      for f in (torch.cummax, torch.cummin)),
    ("logcumsumexp", lambda a, k: (torch.logcumsumexp(a * 40, 1), torch.logcumsumexp(a, 0))),
    *((f.__name__, lambda a, k, f=f: (f(a), f(a, 1), f(a, 0, keepdim=True), f(k)))
      for f in (torch.median, torch.nanmedian)),
    ("kthvalue", lambda a, k: torch.kthvalue(a, 3, 1)),
    ("kthvalue keepdim", lambda a, k: torch.kthvalue(a, 2, 0, keepdim=True)),
    ("mode", lambda a, k: (torch.mode(k, 1), torch.mode(k % 3, 0, keepdim=True))),
    ("unique", lambda a, k: torch.unique(k, return_inverse=True, return_counts=True)),
    ("unique dim", lambda a, k: torch.unique(k % 2, dim=0, return_counts=True)),
    ("repeat_interleave counts", lambda a, k: a[0].repeat_interleave(k[0] % 3)),
    ("bincount", lambda a, k: torch.bincount(k.flatten() % 5, minlength=3)),
    ("bincount weights", lambda a, k: torch.bincount(k.flatten(), a.flatten())),
    ("nonzero_static", lambda a, k: torch.nonzero_static(k % 2, size=9, fill_value=-2)),
    ("nonzero_static few", lambda a, k: torch.nonzero_static(a > 9, size=2)),
    ("index_reduce", lambda a, k: a.index_reduce(1, k[0] % 8, a * 2, "amax")),
    ("index_reduce mean", lambda a, k: a.index_reduce(
        0, k[:1, 0] % 2, a[:1], "mean", include_self=False)),
    ("scatter.value_reduce", lambda a, k: a.scatter(1, k % 8, 1.5, reduce="multiply")),
    ("diagonal_scatter", lambda a, k: torch.diagonal_scatter(a[:3], a[0, :3], 2)),
    ("diagonal_scatter 3", lambda a, k: torch.diagonal_scatter(
        a.reshape(-1, 2, 4), a[:, :2] * 0, -1, 2, 1)),
    ("bucketize.Scalar", lambda a, k: torch.bucketize(0.5, torch.sort(a[0])[0])),
    ("searchsorted.Scalar", lambda a, k: torch.searchsorted(torch.sort(a[0])[0], 0.5)),
    *((f"searchsorted rows {side}", lambda a, k, side=side: torch.searchsorted(
        torch.sort(a.round(decimals=1))[0], a.flip(0).round(decimals=1), side=side))
      for side in ("left", "right")),
    ("searchsorted side", lambda a, k: torch.searchsorted(
        torch.arange(7), k, side="right", out_int32=True)),
    ("searchsorted sorter", lambda a, k: torch.searchsorted(
        a[0], a, sorter=torch.argsort(a[0]))),
    ("unique_consecutive", lambda a, k: torch.unique_consecutive(
        k % 2, return_inverse=True, return_counts=True)),
    ("unique_consecutive dim", lambda a, k: (
        torch.unique_consecutive(k[:, :1] % 2, dim=0, return_counts=True),
        torch.unique_consecutive(k[:1] % 2, dim=1))),
    ("tril_indices", lambda a, k: (torch.tril_indices(3, 5, 1), torch.triu_indices(4, 3, -1))),
    ("signbit", lambda a, k: (torch.signbit(a * 0), torch.signbit(k - 3))),
    ("angle", lambda a, k: torch.angle(a)), ("ldexp", lambda a, k: torch.ldexp(a, k - 3)),
    ("addbmm", lambda a, k: torch.addbmm(
        a[:2, :2], a.reshape(-1, 2, 4), a.reshape(-1, 4, 2), beta=0.5, alpha=2)),
    ("dist", lambda a, k: torch.dist(a, a * 2, 3)),
]  # fmt: skip
NN = [
    ("conv1d", lambda c, w: F.conv1d(c[:, :, 0], w[:, :, 0], stride=2, padding=1)),
    ("conv2d", lambda c, w: F.conv2d(c, w, w[:, 0, 0, 0], 2, 1)),
    ("conv2d groups", lambda c, w: F.conv2d(c, w[:3, :1], groups=3, dilation=2)),
    ("conv2d same", lambda c, w: F.conv2d(c, w[..., :2], padding="same")),
    ("conv2d one", lambda c, w: F.conv2d(c[0], w)),
    ("conv3d", lambda c, w: F.conv3d(c[:, :, None], w[:, :, None])),
    ("conv_transpose2d", lambda c, w: F.conv_transpose2d(
        c, w[:3], stride=2, padding=1, output_padding=1)),
    ("conv_transpose2d of nothing", lambda c, w: F.conv_transpose2d(
        c[:, :, :1], w[:3, :, :2], stride=(2, 1), padding=(1, 0))),
    ("conv_transpose1d", lambda c, w: F.conv_transpose1d(c[:, :, 0], w[:3, :, 0], stride=2)),
    ("max_pool2d", lambda c, w: F.max_pool2d(c, 3, 2, 1)),
    ("max_pool2d ceil", lambda c, w: F.max_pool2d(c, 2, 2, ceil_mode=True)),
    ("max_pool2d places", lambda c, w: F.max_pool2d(c, 3, 2, 1, return_indices=True)),
    ("max_pool1d", lambda c, w: F.max_pool1d(c[:, :, 0], 3)),
    ("max_pool3d", lambda c, w: F.max_pool3d(c[:, None], 2)),
    ("avg_pool1d", lambda c, w: F.avg_pool1d(c[:, :, 0], 3, 2)),
    ("avg_pool2d", lambda c, w: F.avg_pool2d(c, 3, 2, 1)),
    ("avg_pool2d valid", lambda c, w: F.avg_pool2d(c, 3, 2, 1, count_include_pad=False)),
    ("avg_pool2d divisor", lambda c, w: F.avg_pool2d(c, 3, divisor_override=5)),
    ("avg_pool3d", lambda c, w: F.avg_pool3d(c[:, None], 2)),
    ("adaptive_avg_pool1d", lambda c, w: F.adaptive_avg_pool1d(c[:, :, 0], 4)),
    ("adaptive_avg_pool2d", lambda c, w: F.adaptive_avg_pool2d(c, (4, 2))),
    ("adaptive_avg_pool of n", lambda c, w: F.adaptive_avg_pool2d(
        c.permute(1, 2, 0, 3), (None, 4))),
    ("adaptive_avg_pool3d", lambda c, w: F.adaptive_avg_pool3d(c[:, None], 2)),
    ("adaptive_max_pool1d", lambda c, w: F.adaptive_max_pool1d(
        c[:, :, 0], 4, return_indices=True)),
    ("adaptive_max_pool2d", lambda c, w: F.adaptive_max_pool2d(c, (4, 11), return_indices=True)),
    ("adaptive_max_pool2d one", lambda c, w: F.adaptive_max_pool2d(c[0], (None, 1))),
    ("adaptive_max_pool3d", lambda c, w: F.adaptive_max_pool3d(c[:, None], 2, return_indices=True)),
    ("nearest", lambda c, w: F.interpolate(c, scale_factor=2)),
    ("nearest size", lambda c, w: F.interpolate(c, size=(13, 4))),
    ("bilinear", lambda c, w: F.interpolate(c, size=(13, 14), mode="bilinear")),
    ("bilinear corners", lambda c, w: F.interpolate(
        c, scale_factor=1.5, mode="bilinear", align_corners=True)),
    ("bicubic", lambda c, w: F.interpolate(c, size=(13, 14), mode="bicubic")),
    ("linear1d", lambda c, w: F.interpolate(c[:, :, 0], size=14, mode="linear")),
    ("pixel_shuffle", lambda c, w: F.pixel_shuffle(F.conv2d(c, w[:4]), 2)),
    ("pixel_unshuffle", lambda c, w: F.pixel_unshuffle(c[..., :8, :8], 2)),
    ("reflection_pad1d", lambda c, w: F.pad(c[:, :, 0], (2, 1), mode="reflect")),
    ("reflection_pad2d", lambda c, w: F.pad(c, (2, 1, 1, 3), mode="reflect")),
    ("reflection_pad3d", lambda c, w: F.pad(c, (2, 1, 1, 3, 1, 0), mode="reflect")),
    ("replication_pad2d", lambda c, w: F.pad(c, (2, 1, 1, 3), mode="replicate")),
    ("replication_pad3d", lambda c, w: F.pad(c, (2, 1, 1, 3, 1, 0), mode="replicate")),
    ("batch_norm", lambda c, w: F.batch_norm(c, None, None, training=True)),
    ("layer_norm", lambda c, w: F.layer_norm(c, (9, 9))),
    ("native_layer_norm", lambda c, w: aten.native_layer_norm(c, [9], None, None, 1e-5)),
    ("group_norm", lambda c, w: F.group_norm(F.conv2d(c, w[:4]), 2)),
    ("native_group_norm", lambda c, w: aten.native_group_norm(
        c, None, None, c.shape[0], 3, 81, 3, 1e-5)),
    ("instance_norm", lambda c, w: F.instance_norm(c)),
    ("rms_norm", lambda c, w: F.rms_norm(c, (9,))),
    ("matmul", lambda c, w: c @ c.mT), ("mm", lambda c, w: c[0, 0] @ c[1, 1]),
    ("bmm", lambda c, w: torch.bmm(c[0], c[1])),
    ("addmm", lambda c, w: torch.addmm(c[0, 0], c[0, 1], c[1, 0], beta=0.5, alpha=2)),
    ("linear", lambda c, w: F.linear(c, c[0, 0, :4], c[0, 0, 0, :4])),
    ("einsum", lambda c, w: torch.einsum("nchw,ndhw->ncd", c, c)),
    ("attention", lambda c, w: F.scaled_dot_product_attention(c, c, c)),
    ("attention causal", lambda c, w: F.scaled_dot_product_attention(c, c, c, is_causal=True)),
    ("attention mask", lambda c, w: F.scaled_dot_product_attention(c, c, c, c > 0, scale=0.5)),
    ("attention bias", lambda c, w: F.scaled_dot_product_attention(c, c, c, c[0])),
    ("attention gqa", lambda c, w: F.scaled_dot_product_attention(
        c, c[:, :1], c[:, :1], enable_gqa=True)),
    ("attention 3d", lambda c, w: F.scaled_dot_product_attention(c[:, 0], c[:, 1], c[:, 2])),
    ("cdist", lambda c, w: torch.cdist(c[:, 0], c[:, 1])),
    ("pdist", lambda c, w: F.pdist(c[0, 0])),
    ("grid_sample", lambda c, w: F.grid_sample(
        c, torch.tanh(c[:, :2]).permute(0, 2, 3, 1), align_corners=False)),
    ("fold", lambda c, w: F.fold(F.unfold(c, 3), (9, 9), 3)),
    ("embedding_bag", lambda c, w: F.embedding_bag(
        torch.tensor([[0, 2], [1, 1]]), c[0, 0], mode="sum")),
    ("prelu", lambda c, w: F.prelu(c, w[:3, 0, 0, 0])),
    ("cross_entropy", lambda c, w: F.cross_entropy(c[:, 0], _index(c[:, 1, 0], 9))),
]  # fmt: skip
_SPECIAL_OF_ANY = [(name, lambda a, name=name: getattr(special, name)(a * 9)) for name in (
    "gammaln", "digamma", "erfcx", "i0", "i0e", "i1", "i1e", "log_ndtr", "modified_bessel_i0",
)]  # fmt: skip
_SPECIAL_OF_POSITIVE = [
    (f"{name} f64", lambda a, name=name: getattr(special, name)(_positive(a.double()) * 20))
    for name in ("gammaln", "digamma", "erfcx", "i0", "i0e", "i1", "i1e")
]
SPECIAL = [
    *_SPECIAL_OF_ANY,
    *_SPECIAL_OF_POSITIVE,
    ("polygamma", lambda a: torch.polygamma(1, _positive(a))),
    ("polygamma 3", lambda a: torch.polygamma(3, _positive(a).double())),
    ("zeta", lambda a: special.zeta(_positive(a) + 1, _positive(a))),
    ("erfinv", lambda a: torch.erfinv(torch.tanh(a))),
    ("erfinv f64", lambda a: torch.erfinv(torch.tanh(a.double() * 2))),
    ("erfinv of ends", lambda a: torch.erfinv(torch.sign(a) * (1 + (a > 1)))),
    ("ndtri", lambda a: special.ndtri(torch.sigmoid(a))),
    ("digamma of poles", lambda a: torch.digamma(-torch.floor(_positive(a)))),
    ("lgamma of poles", lambda a: torch.lgamma(-torch.floor(_positive(a)))),
]


def _definite(a):
    """A matrix whose eigenvalues are positive."""
    return a.mT @ a + torch.eye(8)


MATRICES = [
    ("inverse", lambda a: torch.inverse(_definite(a))),
    ("linalg_inv", lambda a: torch.linalg.inv(torch.stack([_definite(a), 2 * _definite(a)]))),
    ("det", lambda a: torch.det(_definite(a) / 4)),
    ("slogdet", lambda a: torch.linalg.slogdet(-_definite(a))),
    ("logdet", lambda a: torch.logdet(_definite(a))),
    ("solve", lambda a: torch.linalg.solve(_definite(a), a.mT)),
    ("solve vector", lambda a: torch.linalg.solve(_definite(a), a[0])),
    ("solve right", lambda a: torch.linalg.solve(_definite(a), a, left=False)),
    ("triangular", lambda a: torch.linalg.solve_triangular(_definite(a), a.mT, upper=True)),
    (
        "triangular unit",
        lambda a: torch.linalg.solve_triangular(
            _definite(a) / 20, a, upper=False, left=False, unitriangular=True
        ),
    ),
    ("cholesky", lambda a: torch.linalg.cholesky(_definite(a))),
    ("cholesky upper", lambda a: torch.linalg.cholesky(_definite(a), upper=True)),
    ("cholesky_solve", lambda a: torch.cholesky_solve(a.mT, torch.linalg.cholesky(_definite(a)))),
    (
        "cholesky_inverse",
        lambda a: torch.cholesky_inverse(
            torch.linalg.cholesky(_definite(a), upper=True), upper=True
        ),
    ),
    ("pinv", torch.linalg.pinv),
]


def _points(c):
    return torch.stack([c[:, :, i : i + 4, i : i + 3] for i in range(3)], -1) * 0.9


SAMPLING = [
    *(
        (
            f"aa {mode} {to}",
            lambda c, mode=mode, to=to: F.interpolate(c, mode=mode, antialias=True, **to),
        )
        for mode in ("bilinear", "bicubic")
        for to in ({"size": (4, 5)}, {"size": (13, 7)}, {"scale_factor": 0.6})
    ),
    *(
        (
            f"grid 3d {mode} {padding} {align}",
            lambda c, mode=mode, padding=padding, align=align: F.grid_sample(
                c[:, None], _points(c), mode, padding, align
            ),
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for align in (True, False)
    ),
]
GROUPS = {
    "unary": (UNARY, [(5, 8)]),
    "binary": (BINARY, [(5, 8), (5, 8)]),
    "reduce": (REDUCE, [(5, 8)]),
    "shape": (SHAPE, [(5, 8)]),
    "index": (INDEX, [(5, 8), None]),
    "order": (ORDER, [(5, 8), None]),
    "special": (SPECIAL, [(5, 8)]),
    "matrices": (MATRICES, [(5, 8)]),
    "sampling": (SAMPLING, [(5, 3, 9, 9)]),
    "nn": (NN, [(5, 3, 9, 9), (6, 3, 3, 3)]),
}
# Inputs whose first dimension stays static in the dynamic reading: weights.
STATIC = {("nn", 1)}
