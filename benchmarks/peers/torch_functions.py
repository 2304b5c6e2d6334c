"""A workload as a PyTorch function."""

import torch
import torch.nn.functional as F
from torch import Tensor
from workload import places


def indices(shape, size):
    """Return the workloads' indices, made once."""
    key = (tuple(shape), size)
    if key not in _INDICES:
        _INDICES[key] = torch.from_numpy(places(shape, size))
    return _INDICES[key]


def ones(shape):
    """Return a tensor of ones, made once."""
    key = tuple(shape)
    if key not in _INDICES:
        _INDICES[key] = torch.ones(key)
    return _INDICES[key]


_INDICES = {}
OPS = {
    "take": lambda x, axis, count: torch.index_select(x, axis, indices([count], x.shape[axis])),
    "gather": lambda x, count: torch.gather(x, 1, indices([x.shape[0], count], x.shape[1])),
    "scatter": lambda x, count: torch.index_copy(
        x, 0, indices([count], x.shape[0]), ones([count, x.shape[1]])
    ),
    "concat": lambda x: torch.cat([x, x], 1),
    "flip": lambda x: torch.flip(x, [1]),
    "step": lambda x, step: x[:, ::step].contiguous(),
    "pad": lambda x, by, mode: F.pad(x, [by] * 4, mode=mode),
    "upsample": lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    "topk": lambda x, k: torch.topk(x, k, 1).values,
    "sort": lambda x: torch.sort(x, 1).values,
    "argsort": lambda x: torch.argsort(x, dim=1, stable=True),
    "matmul": lambda x, w, out_dtype=None: (
        torch.matmul(x, w) if out_dtype is None else (torch._int_mm(x, w))
    ),
    "dequantize": lambda w, scale: w.to(scale.dtype) * scale,
    "dequantize_groups": lambda w, scale, group: (
        w.reshape(-1, group, w.shape[1]).to(scale.dtype) * scale[:, None]
    ).reshape(w.shape),
    "conv": lambda x, w, strides, padding, groups: F.conv2d(
        x, w, stride=strides, padding=padding, groups=groups
    ),
    "batch_norm": lambda x, gamma, beta, mean, var: F.batch_norm(x, mean, var, gamma, beta),
    "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "mean": lambda x, axes: torch.mean(x, axes),
    "multiply": torch.mul,
    "add": torch.add,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": F.gelu,
    "exp": torch.exp,
    "clip": torch.clamp,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "silu": F.silu,
    "rms_norm": lambda x, gamma: F.rms_norm(x, gamma.shape, gamma, 1e-5),
    "cumsum": torch.cumsum,
    "layer_norm": lambda x, gamma, beta: F.layer_norm(x, gamma.shape, gamma, beta),
    "sum": lambda x, axes: torch.sum(x, axes),
    "max": lambda x, axes: torch.amax(x, axes),
    "argmax": lambda x, axes: torch.argmax(x, axes[0]),
    "transpose": lambda x, axes: x.permute(axes).contiguous(),
    "attention": lambda q, k, v, scale: F.scaled_dot_product_attention(
        q[:, None], k[:, None], v[:, None], scale=scale
    )[:, 0],
}


def function(work, tensors: dict[str, Tensor]):
    """Return a function of no arguments that runs the workload on its inputs and weights."""
    values = dict(tensors)
    steps = [(OPS[node.op], node.args, node.attrs, f"t{i}") for i, node in enumerate(work.nodes)]

    def run():
        for call, args, attrs, name in steps:
            values[name] = call(*[values[arg] for arg in args], **attrs)
        return values[name]

    return run
