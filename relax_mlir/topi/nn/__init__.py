"""The operators of neural networks, as tensor expressions."""

from relax_mlir.topi.exports import checked_exports

_EXPORTS = {
    "topi.linear_algebra": ("batch_matmul", "dense"),
    "topi.nn.activation": (
        "bias_add", "fast_softmax", "leaky_relu", "log_softmax", "prelu", "scale_shift_nchw",
        "scale_shift_nhwc", "softmax", "softplus",
    ),
    "topi.nn.blocked": (
        "conv2d_NCHWc", "dense_pack", "depthwise_conv2d_NCHWc", "scale_shift_nchwc",
        "unpack_NCHWc_to_nchw",
    ),
    "topi.nn.buffers": ("fifo_buffer",),
    "topi.nn.convolution": (
        "conv", "conv1d", "conv2d", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "pad",
    ),
    "topi.nn.correlation": ("correlation_nchw",),
    "topi.nn.loss": ("nll_loss",),
    "topi.nn.matrices": ("flatten", "matmul"),
    "topi.nn.normalization": (
        "batch_norm", "group_norm", "instance_norm", "layer_norm", "lrn", "rms_norm",
    ),
    "topi.nn.padding": (
        "circular_pad", "get_padded_shape", "mirror_pad", "reflect_pad", "replicate_pad",
    ),
    "topi.nn.pooling": ("adaptive_pool", "global_pool"),
    "topi.nn.recurrent": ("lstm",),
    "topi.nn.space_depth": (
        "batch_to_space_nd", "depth_to_space", "pixel_shuffle", "space_to_batch_nd",
        "space_to_depth",
    ),
    "topi.nn.transposed": ("dilate",),
    "topi.nn.upsample": ("upsampling", "upsampling3d"),
}  # fmt: skip
_TABLES = ("activation", "convolution", "correlation", "pooling", "transposed")
__getattr__, __dir__ = checked_exports(__name__, _EXPORTS, _TABLES)
