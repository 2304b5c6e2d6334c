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
    "nn.attention_bias": "attention",
}
# The namespaces of script and of `relax.op`. Operations of these are found in `R` as well, and have
# no namespace in the dialect.
_NN = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "attention",
    "attention_var_len", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_flatten", "batch_norm", "conv1d", "conv1d_transpose",
    "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "cross_entropy_with_logits",
    "dropout", "gelu", "gelu_tanh", "group_norm", "instance_norm", "layer_norm", "leakyrelu",
    "log_softmax", "max_pool1d", "max_pool2d", "max_pool3d", "nll_loss", "pad", "pixel_shuffle",
    "prelu", "relu", "relu6", "rms_norm", "selu", "silu", "softmax", "softplus",
)  # fmt: skip
IMAGE = ("affine_grid", "grid_sample", "resize2d", "resize3d")
VISION = (
    "all_class_non_max_suppression", "get_valid_counts", "multibox_transform_loc",
    "non_max_suppression", "roi_align", "roi_pool",
)  # fmt: skip
# Their namespaces distinguish these: `R.memory.view` is `relax.memory_view`.
QUALIFIED = {
    "builtin": ("stop_lift_params",),
    "ccl": (
        "allgather", "allreduce", "broadcast_from_worker0", "scatter_from_worker0",
    ),
    "grad": (
        "avg_pool2d_backward", "end_checkpoint", "max_pool2d_backward", "nll_loss_backward",
        "no_grad", "start_checkpoint", "take_backward",
    ),
    "inspect": (
        "tensor_byte_offset", "tensor_dtype_bits", "tensor_dtype_code", "tensor_dtype_lanes",
        "tensor_elem_offset", "tensor_ndim", "tensor_shape_i", "tensor_stride_i",
    ),
    "memory": (
        "alloc_storage", "alloc_tensor", "ensure_zero_offset", "kill_storage", "kill_tensor",
        "view",
    ),
    "random": ("multinomial", "normal", "uniform"),
    "vm": ("alloc_storage", "alloc_tensor", "kill_object"),
}  # fmt: skip
_SCRIPT_NAMES = {
    **{name: f"{group}.{name}"
       for group, names in {"nn": _NN, "image": IMAGE, "vision": VISION}.items()
       for name in names},
    **{f"{group}_{name}": f"{group}.{name}"
       for group, names in QUALIFIED.items() for name in names},
    "alloc_tensor": "builtin.alloc_tensor",
}  # fmt: skip
ALIASES |= {script: name for name, script in _SCRIPT_NAMES.items()}


def script_name(name: str) -> str:
    """Return what script calls an operation of the dialect: `softmax` is `nn.softmax`."""
    return _SCRIPT_NAMES.get(name, name)


def tvm_name(operation: str) -> str:
    """Return what TVM calls an operation: `relax.softmax` is `relax.nn.softmax`."""
    if not operation.startswith(("relax.", "vm.")):
        return operation
    if operation == "vm.kill":
        return "relax.vm.kill_object"
    return f"relax.{script_name(operation.removeprefix('relax.'))}"


def dialect_name(written: str) -> str:
    """Return the operation that script, or TVM, means by a name, which may not exist."""
    return ALIASES.get(written, written).removeprefix("nn.")
