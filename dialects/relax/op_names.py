"""Operation names outside the dialect: aliases and script namespaces."""

# Left: as written after `R.`; right: the operation's name in the dialect. `R.nn.x` also means `x`.
ALIASES = {
    "dot": "matmul",
    "linear_algebra.matmul": "matmul",
    "ewise_add": "add",
    "ewise_subtract": "subtract",
    "ewise_multiply": "multiply",
    "ewise_divide": "divide",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "floordiv": "floor_divide",
    "pow": "power",
    "neg": "negative",
    "transpose": "permute_dims",
    "cast": "astype",
    "nn.swish": "silu",
}
# Where script looks for an operation that is not directly in `R`; it finds them in `R` as well.
_NN = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "attention", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "conv1d", "conv1d_transpose", "conv2d",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "cross_entropy_with_logits", "dropout",
    "gelu", "gelu_tanh", "group_norm", "instance_norm", "layer_norm", "leakyrelu", "log_softmax",
    "max_pool1d", "max_pool2d", "max_pool3d", "nll_loss", "pad", "prelu", "relu", "relu6",
    "rms_norm", "selu", "silu", "softmax", "softplus",
)  # fmt: skip
IMAGE = ("resize2d",)
VISION = (
    "all_class_non_max_suppression", "get_valid_counts", "multibox_transform_loc",
    "non_max_suppression", "roi_align", "roi_pool",
)  # fmt: skip
ALIASES |= {f"image.{name}": name for name in IMAGE} | {f"vision.{name}": name for name in VISION}
NAMESPACES: dict[str, str] = {
    **dict.fromkeys(_NN, "nn."),
    **dict.fromkeys(IMAGE, "image."),
    **dict.fromkeys(VISION, "vision."),
}
