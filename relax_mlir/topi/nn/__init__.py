"""The operators of neural networks, as tensor expressions."""

import importlib
from typing import Any

_EXPORTS = {
    **dict.fromkeys(
        ("bias_add", "fast_softmax", "leaky_relu", "log_softmax", "prelu", "scale_shift_nchw",
         "scale_shift_nhwc", "softmax", "softplus"), "nn.activation"),
    **dict.fromkeys(
        ("conv", "conv1d", "conv2d", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "pad"),
        "nn.convolution"),
    **dict.fromkeys(
        ("batch_norm", "group_norm", "instance_norm", "layer_norm", "lrn", "rms_norm"),
        "nn.normalization"),
    **dict.fromkeys(("adaptive_pool", "global_pool"), "nn.pooling"),
    **dict.fromkeys(("batch_matmul", "dense"), "linear_algebra"),
    **dict.fromkeys(("flatten", "matmul"), "nn.matrices"),
    **dict.fromkeys(("dilate",), "nn.transposed"),
    **dict.fromkeys(
        ("batch_to_space_nd", "depth_to_space", "pixel_shuffle", "space_to_batch_nd",
         "space_to_depth"), "nn.space_depth"),
    **dict.fromkeys(
        ("circular_pad", "get_padded_shape", "mirror_pad", "reflect_pad", "replicate_pad"),
        "nn.padding"),
    **dict.fromkeys(("nll_loss",), "nn.loss"),
    **dict.fromkeys(("lstm",), "nn.recurrent"),
    **dict.fromkeys(("upsampling", "upsampling3d"), "nn.upsample"),
    **dict.fromkeys(("correlation_nchw",), "nn.correlation"),
    **dict.fromkeys(("fifo_buffer",), "nn.buffers"),
    **dict.fromkeys(
        ("conv2d_NCHWc", "dense_pack", "depthwise_conv2d_NCHWc", "scale_shift_nchwc",
         "unpack_NCHWc_to_nchw"), "nn.blocked"),
}  # fmt: skip
_TABLES = ("activation", "convolution", "correlation", "pooling", "transposed")


def _table(name: str) -> Any:
    return importlib.import_module(f"relax_mlir.topi.nn.{name}").FUNCTIONS


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(importlib.import_module(f"relax_mlir.topi.{_EXPORTS[name]}"), name)
    else:
        tables = (_table(table) for table in _TABLES if not name.startswith("_"))
        value = next((table[name] for table in tables if name in table), None)
        if value is None:
            from relax_mlir.topi.unsupported import missing

            raise missing("topi.nn", name, __dir__())
    argument_checks = importlib.import_module("relax_mlir.topi.argument_checks")
    value = globals()[name] = argument_checks.checked(f"topi.nn.{name}", value)
    return value


def __dir__() -> list[str]:
    result = (name for table in _TABLES for name in _table(table))
    return sorted([*globals(), *_EXPORTS, *result])
