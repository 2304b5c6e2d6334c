"""The operators of neural networks, as tensor expressions."""

import importlib
from typing import Any

_EXPORTS = {
    **dict.fromkeys(
        ("bias_add", "fast_softmax", "leaky_relu", "log_softmax", "prelu", "scale_shift_nchw",
         "softmax", "softplus"), "nn.activation"),
    **dict.fromkeys(("conv", "conv2d", "depthwise_conv2d_nchw", "pad"), "nn.convolution"),
    **dict.fromkeys(
        ("batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"),
        "nn.normalization"),
    **dict.fromkeys(("adaptive_pool", "global_pool"), "nn.pooling"),
    **dict.fromkeys(("batch_matmul", "dense", "matmul"), "linear_algebra"),
    **dict.fromkeys(("flatten",), "manipulate"),
    **dict.fromkeys(("dilate",), "nn.transposed"),
}  # fmt: skip
_TABLES = ("activation", "convolution", "pooling", "transposed")


def _table(name: str) -> Any:
    return importlib.import_module(f"relax_mlir.topi.nn.{name}").FUNCTIONS


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(importlib.import_module(f"relax_mlir.topi.{_EXPORTS[name]}"), name)
    else:
        tables = (_table(table) for table in _TABLES if not name.startswith("_"))
        value = next((table[name] for table in tables if name in table), None)
        if value is None:
            raise AttributeError(f"module 'relax_mlir.topi.nn' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    found = (name for table in _TABLES for name in _table(table))
    return sorted([*globals(), *_EXPORTS, *found])
