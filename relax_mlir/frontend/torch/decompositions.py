"""Which operators of torch stay whole: Relax has them, and kernels for them."""

from typing import Any

import torch

# Overloads that `ExportedProgram.run_decompositions` would decompose. Decomposed, an LSTM of 5
# steps is 124 nodes instead of 6, attention 37 instead of 1.
_KEPT = (
    "conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding",
    "conv3d.default", "conv3d.padding", "conv_transpose1d.default", "conv_transpose2d.input",
    "conv_transpose3d.input", "einsum.default", "gelu.default", "group_norm.default", "gru.input",
    "hardsigmoid.default", "hardswish.default", "instance_norm.default", "layer_norm.default",
    "leaky_relu.default", "linear.default", "log_softmax.int", "lstm.input", "matmul.default",
    "mish.default", "pixel_shuffle.default", "pixel_unshuffle.default", "prelu.default",
    "rms_norm.default", "rnn_relu.input", "rnn_tanh.input", "scaled_dot_product_attention.default",
    "silu.default", "softmax.int", "softplus.default", "upsample_bicubic2d.vec",
    "upsample_bilinear2d.vec", "upsample_nearest2d.vec", "upsample_nearest1d.vec",
    "inverse.default", "linalg_inv.default", "det.default", "linalg_det.default",
    "linalg_slogdet.default", "slogdet.default", "logdet.default", "linalg_solve.default",
    "linalg_cholesky.default", "cholesky.default",
    "upsample_linear1d.vec", "repeat_interleave.self_int", "tile.default", "elu.default",
)  # fmt: skip

# Those that torch can decompose but does not by default.
_DECOMPOSED = ("grid_sampler_2d.default",)


def decomposition_table() -> Any:
    """Return torch's default decompositions without those of operators that stay whole."""
    table = torch.export.default_decompositions()
    for name in _KEPT:
        packet, overload = name.split(".")
        op = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if op is not None:
            table.pop(op, None)
    more = [getattr(getattr(torch.ops.aten, n.split(".")[0]), n.split(".")[1]) for n in _DECOMPOSED]
    table.update(torch._decomp.get_decompositions(more))
    return table
