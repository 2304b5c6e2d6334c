"""Operations as Python functions: `relax.op.add(x, y)` is a call that `BlockBuilder.emit` emits.

One function for each operation of the dialect, made from the dialect's table on first use, under
the names of TVM; `relax.op.nn` has the same, as `relax.op.nn.softmax`, `relax.op.image` those on
images, `relax.op.vision` those on boxes and regions.
"""

# Made by .ci/stubs, do not edit.

from collections.abc import Sequence

from relax_mlir.relax.expr import Expr
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.expr.values import const
from relax_mlir.relax.op import builtin, ccl, grad, image, inspect, memory, nn, random, vision, vm
from relax_mlir.relax.op._arguments import IntLike, TensorLike
from relax_mlir.relax.op.calls import (
    assert_op,
    call_builtin_with_ctx,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_dyn,
    call_tir_inplace,
    call_tir_with_grad,
    invoke_closure,
    make_closure,
    null_value,
    print,
    shape,
    shape_of,
)

__all__ = [
    "GROUPS",
    "abs",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "add",
    "affine_grid",
    "all",
    "all_class_non_max_suppression",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "assert_op",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "attention",
    "attention_bias",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_flatten",
    "batch_norm",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "bucketize",
    "builtin",
    "builtin_stop_lift_params",
    "call_builtin_with_ctx",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_dyn",
    "call_tir_inplace",
    "call_tir_with_grad",
    "cast",
    "ccl",
    "ccl_allgather",
    "ccl_allreduce",
    "ccl_broadcast_from_worker0",
    "ccl_scatter_from_worker0",
    "ceil",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concat",
    "const",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cos",
    "cosh",
    "cross_entropy_with_logits",
    "cumprod",
    "cumsum",
    "dequantize",
    "div",
    "divide",
    "dot",
    "dropout",
    "dynamic_strided_slice",
    "einsum",
    "equal",
    "erf",
    "ewise_add",
    "ewise_divide",
    "ewise_fma",
    "ewise_multiply",
    "ewise_subtract",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "eye_like",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "floor_mod",
    "floordiv",
    "full",
    "full_like",
    "gather_elements",
    "gather_nd",
    "gelu",
    "gelu_tanh",
    "get_valid_counts",
    "grad",
    "grad_avg_pool2d_backward",
    "grad_end_checkpoint",
    "grad_max_pool2d_backward",
    "grad_nll_loss_backward",
    "grad_no_grad",
    "grad_start_checkpoint",
    "grad_take_backward",
    "greater",
    "greater_equal",
    "grid_sample",
    "group_norm",
    "hamming_window",
    "hint_on_device",
    "image",
    "index_put",
    "index_tensor",
    "inspect",
    "inspect_tensor_byte_offset",
    "inspect_tensor_dtype_bits",
    "inspect_tensor_dtype_code",
    "inspect_tensor_dtype_lanes",
    "inspect_tensor_elem_offset",
    "inspect_tensor_ndim",
    "inspect_tensor_shape_i",
    "inspect_tensor_stride_i",
    "instance_norm",
    "invoke_closure",
    "isfinite",
    "isinf",
    "isnan",
    "layer_norm",
    "layout_transform",
    "leakyrelu",
    "left_shift",
    "less",
    "less_equal",
    "linear",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_add_exp",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "make_closure",
    "matmul",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory",
    "memory_alloc_storage",
    "memory_alloc_tensor",
    "memory_ensure_zero_offset",
    "memory_kill_storage",
    "memory_kill_tensor",
    "memory_view",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "mul",
    "multibox_transform_loc",
    "multinomial_from_uniform",
    "multiply",
    "neg",
    "negative",
    "nll_loss",
    "nn",
    "non_max_suppression",
    "nonzero",
    "not_equal",
    "null_value",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute_dims",
    "pixel_shuffle",
    "pow",
    "power",
    "prelu",
    "print",
    "prod",
    "quantize",
    "random",
    "random_multinomial",
    "random_normal",
    "random_uniform",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "resize2d",
    "resize3d",
    "resolve_shape",
    "reverse_sequence",
    "right_shift",
    "rms_norm",
    "roi_align",
    "roi_pool",
    "roll",
    "round",
    "rsqrt",
    "scalar_like",
    "scalar_to_tensor",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "selu",
    "shape",
    "shape_of",
    "shape_to_tensor",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "size",
    "slice_scatter",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "strided_slice",
    "sub",
    "subtract",
    "sum",
    "swish",
    "take",
    "tan",
    "tanh",
    "tensor_to_scalar",
    "tensor_to_shape",
    "tile",
    "to_vdevice",
    "topk",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unique",
    "variance",
    "vision",
    "vm",
    "vm_alloc_storage",
    "vm_alloc_tensor",
    "vm_kill_object",
    "where",
    "wrap_param",
    "zeros",
    "zeros_like",
]

GROUPS: tuple[str, ...]

def abs(x: TensorLike) -> Call:
    """Absolute value.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    """

def acos(x: TensorLike) -> Call:
    """Inverse cosine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def acosh(x: TensorLike) -> Call:
    """Inverse hyperbolic cosine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def adaptive_avg_pool1d(
    data: TensorLike,
    output_size: int | Sequence[int] | None = None,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> Call:
    """Mean of windows that divide the data into so many parts as evenly as can be."""

def adaptive_avg_pool2d(
    data: TensorLike,
    output_size: int | Sequence[int] | None = None,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Call:
    """Mean of windows that divide the data into so many parts as evenly as can be."""

def adaptive_avg_pool3d(
    data: TensorLike,
    output_size: int | Sequence[int] | None = None,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> Call:
    """Mean of windows that divide the data into so many parts as evenly as can be."""

def add(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 + x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def affine_grid(
    data: TensorLike, size: Expr | IntLike | Sequence[IntLike], align_corners: bool = True
) -> Call:
    """Where affine maps take the points of a grid from -1 to 1: x, y and z of each."""

def all(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Whether no element is zero; true of no elements.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    The result has dtype bool.
    """

def all_class_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_boxes_per_class: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
    output_format: str = "onnx",
) -> Call:
    """The boxes of each class that overlap no better ones, the best of each class first."""

def any(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Whether an element is not zero; false of no elements.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    The result has dtype bool.
    """

def arange(
    start: IntLike | float,
    end: IntLike | float | None = None,
    step: IntLike | float = 1,
    dtype: str | None = None,
) -> Call:
    """The numbers from start to end, end excluded; from 0 to start where end is left out."""

def argmax(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Index of the first largest element, or of the first NaN; of no elements, 0.

    An index along the axis, or into the row-major order if `axis` is None; the dtype is int64.

    The result lacks the axis, or has size 1 there if `keepdims`.
    """

def argmin(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Index of the first smallest element, or of the first NaN; of no elements, 0.

    An index along the axis, or into the row-major order if `axis` is None; the dtype is int64.

    The result lacks the axis, or has size 1 there if `keepdims`.
    """

def argsort(
    data: TensorLike, axis: int = -1, descending: bool = False, dtype: str = "int32"
) -> Call:
    """Where the elements in ascending or descending order are."""

def asin(x: TensorLike) -> Call:
    """Inverse sine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def asinh(x: TensorLike) -> Call:
    """Inverse hyperbolic sine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def astype(x: TensorLike, dtype: str) -> Call:
    """Convert to another dtype.

    `result[i]` is `x[i]` in the dtype; floats become integers by rounding towards zero.
    """

def atan(x: TensorLike) -> Call:
    """Inverse tangent.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def atan2(x1: TensorLike, x2: TensorLike) -> Call:
    """Angle of the point (x2, x1).

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def atanh(x: TensorLike) -> Call:
    """Inverse hyperbolic tangent.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
    layout: str = "BSNH",
    zero_unseen: bool = True,
    mask: TensorLike | None = None,
    unseen_score: float = ...,
) -> Call:
    """softmax(where(mask, query key^T * scale + bias, unseen_score)) value, all of shape (batch, length, heads, depth); several heads of query may share one of key."""

def attention_bias(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
    layout: str = "BSNH",
    zero_unseen: bool = True,
    mask: TensorLike | None = None,
    unseen_score: float = ...,
) -> Call:
    """softmax(where(mask, query key^T * scale + bias, unseen_score)) value, all of shape (batch, length, heads, depth); several heads of query may share one of key."""

def avg_pool1d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1],
    strides: int | Sequence[int] = [1],
    padding: int | Sequence[int] = [0, 0],
    dilation: int | Sequence[int] = [1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> Call:
    """Mean of every window."""

def avg_pool2d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1],
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Call:
    """Mean of every window."""

def avg_pool3d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1, 1],
    strides: int | Sequence[int] = [1, 1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> Call:
    """Mean of every window."""

def batch_flatten(data: TensorLike) -> Call:
    """All dimensions but the first as one."""

def batch_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    moving_mean: TensorLike,
    moving_var: TensorLike,
    axis: int = 1,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Call:
    """Batch normalisation.

    Normalise over all axes but one, then scale and shift.

    The result is a tuple of the normalised data and the new running mean and variance. In training
    the statistics are those of the batch; else they are the running ones, which stay as they are.
    """

def bitwise_and(x1: TensorLike, x2: TensorLike) -> Call:
    """Bits in both operands.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not integer or bool are a ValueError.
    """

def bitwise_not(x: TensorLike) -> Call:
    """Every bit inverted.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not integer or bool are a ValueError.
    """

def bitwise_or(x1: TensorLike, x2: TensorLike) -> Call:
    """Bits in either operand.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not integer or bool are a ValueError.
    """

def bitwise_xor(x1: TensorLike, x2: TensorLike) -> Call:
    """Bits in one operand only.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not integer or bool are a ValueError.
    """

def broadcast_to(x: TensorLike, shape: Expr | IntLike | Sequence[IntLike]) -> Call:
    """The tensor repeated along dimensions of 1, and along new ones in front."""

def bucketize(
    input_tensor: TensorLike, boundaries: TensorLike, out_int32: bool = False, right: bool = False
) -> Call:
    """Between which boundaries each element lies; `right` says to which side equal ones go."""

def builtin_stop_lift_params(x: TensorLike) -> Call:
    """The operand. What LiftTransformParams does not move out of a program."""

def cast(x: TensorLike, dtype: str) -> Call:
    """Convert to another dtype.

    `result[i]` is `x[i]` in the dtype; floats become integers by rounding towards zero.
    """

def ccl_allgather(x: TensorLike, num_workers: int, in_group: bool = True) -> Call:
    """The tensors of all workers one after another."""

def ccl_allreduce(x: TensorLike, op_type: str = "sum", in_group: bool = True) -> Call:
    """The sum, product, ... of a tensor over all workers."""

def ccl_broadcast_from_worker0(x: TensorLike) -> Call:
    """The tensor of the first worker."""

def ccl_scatter_from_worker0(x: TensorLike, num_workers: int, axis: int = 0) -> Call:
    """A worker's part of the first worker's tensor."""

def ceil(x: TensorLike) -> Call:
    """Smallest integer not below x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def clip(x: TensorLike, min: IntLike | float, max: IntLike | float) -> Call:
    """x bounded from below and above; NaN stays.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def collapse_sum_like(data: TensorLike, collapse_target: TensorLike) -> Call:
    """Summed to the shape of another tensor, which broadcasts to this one's."""

def collapse_sum_to(data: TensorLike, shape: Expr | IntLike | Sequence[IntLike]) -> Call:
    """Summed to a shape that broadcasts to the tensor's."""

def concat(tensors: Expr | Sequence[TensorLike], axis: int | None = 0) -> Call:
    """Tensors one after another along an axis they have; vectors need none."""

def conv1d(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1],
    padding: int | Sequence[int] = [0, 0],
    dilation: int | Sequence[int] = [1],
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """One-dimensional convolution: cross-correlation of data, padded by zeros, with kernels."""

def conv1d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1],
    padding: int | Sequence[int] = [0, 0],
    output_padding: int | Sequence[int] = [0],
    dilation: int | Sequence[int] = [1],
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """One-dimensional transposed convolution: every element spreads a kernel over the result."""

def conv2d(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1],
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """Two-dimensional convolution: cross-correlation of data, padded by zeros, with kernels."""

def conv2d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    output_padding: int | Sequence[int] = [0, 0],
    dilation: int | Sequence[int] = [1, 1],
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """Two-dimensional transposed convolution: every element spreads a kernel over the result."""

def conv3d(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1, 1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1, 1],
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """Three-dimensional convolution: cross-correlation of data, padded by zeros, with kernels."""

def conv3d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = [1, 1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0, 0, 0],
    output_padding: int | Sequence[int] = [0, 0, 0],
    dilation: int | Sequence[int] = [1, 1, 1],
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> Call:
    """Three-dimensional transposed convolution: every element spreads a kernel over the result."""

def cos(x: TensorLike) -> Call:
    """Cosine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def cosh(x: TensorLike) -> Call:
    """Hyperbolic cosine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def cross_entropy_with_logits(predictions: TensorLike, labels: TensorLike) -> Call:
    """Minus the sum of predictions times labels, by the size of the batch where there is one."""

def cumprod(
    data: TensorLike,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = False,
) -> Call:
    """Products of the elements up to each.

    Combine each element with those before it along an axis; `axis=None` flattens.

    With `exclusive`, the element itself is left out.
    """

def cumsum(
    data: TensorLike,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = False,
) -> Call:
    """Sums of the elements up to each.

    Combine each element with those before it along an axis; `axis=None` flattens.

    With `exclusive`, the element itself is left out.
    """

def dequantize(
    data: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike,
    axis: int = -1,
    out_dtype: str = "float32",
) -> Call:
    """`(data - zero_point) * scale`; half precision has its largest number instead of infinity."""

def div(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 / x2; integers divide towards zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def divide(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 / x2; integers divide towards zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def dot(x1: TensorLike, x2: TensorLike, out_dtype: str | None = None) -> Call:
    """Matrix product; `R.dot` in the design document.

    Matrix product over the last two dimensions, the leading ones broadcast (numpy's rules).

    Products are summed in `out_dtype` where that is given: int8 into int32, bfloat16 into float32.
    """

def dropout(x: TensorLike, rate: float = 0.5) -> Call:
    """Dropout.

    Zero elements at random and scale the others, in training; a tuple with the mask.

    What compiles here runs inference, where it changes nothing and the mask is all ones.
    """

def dynamic_strided_slice(
    x: TensorLike, begin: TensorLike, end: TensorLike, strides: TensorLike
) -> Call:
    """A slice of every axis whose bounds are tensors."""

def einsum(operands: Expr | Sequence[TensorLike], subscripts: str) -> Call:
    """Sum of products over the letters that the result does not have."""

def equal(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 == x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def erf(x: TensorLike) -> Call:
    """Error function.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def ewise_add(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 + x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def ewise_divide(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 / x2; integers divide towards zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def ewise_fma(x1: TensorLike, x2: TensorLike, x3: TensorLike) -> Call:
    """x1 * x2 + x3: multiply and add.

    `x1[i] * x2[i] + x3[i]`; all three have one numeric dtype and broadcast by numpy's rules.
    """

def ewise_multiply(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 * x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def ewise_subtract(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 - x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def exp(x: TensorLike) -> Call:
    """e to the power x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def exp2(x: TensorLike) -> Call:
    """2 to the power x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Call:
    """New dimensions of 1 at these axes of the result."""

def expm1(x: TensorLike) -> Call:
    """e to the power x, minus 1, exact for small x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def eye(n: IntLike, m: IntLike | None = None, k: IntLike = 0, dtype: str = "float32") -> Call:
    """A matrix with ones on a diagonal, square by default."""

def eye_like(x: TensorLike, k: IntLike = 0, dtype: str | None = None) -> Call:
    """A matrix with ones on a diagonal and the shape of another."""

def flatten(x: TensorLike) -> Call:
    """Flatten to one dimension.

    The elements in row-major order as one dimension.
    """

def flip(data: TensorLike, axis: int) -> Call:
    """The elements along an axis in reverse."""

def floor(x: TensorLike) -> Call:
    """Largest integer not above x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def floor_divide(x1: TensorLike, x2: TensorLike) -> Call:
    """Largest integer not above x1 / x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def floor_mod(x1: TensorLike, x2: TensorLike) -> Call:
    """Remainder of floor_divide; it has the sign of x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def floordiv(x1: TensorLike, x2: TensorLike) -> Call:
    """Largest integer not above x1 / x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def full(
    shape: Expr | IntLike | Sequence[IntLike], fill_value: TensorLike, dtype: str | None = None
) -> Call:
    """A tensor of one value, of its dtype by default."""

def full_like(x: TensorLike, fill_value: TensorLike, dtype: str | None = None) -> Call:
    """A tensor of one value with the shape of another."""

def gather_elements(data: TensorLike, indices: TensorLike, axis: int = 0) -> Call:
    """Elements whose place along an axis is what the indices say, and elsewhere their own."""

def gather_nd(data: TensorLike, indices: TensorLike, batch_dims: int = 0) -> Call:
    """The elements or slices at indices of several dimensions, the last axis of the indices."""

def gelu(data: TensorLike) -> Call:
    """x times the normal distribution function.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def gelu_tanh(data: TensorLike) -> Call:
    """gelu approximated by a hyperbolic tangent.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def get_valid_counts(
    data: TensorLike, score_threshold: float = 0.0, id_index: int = 0, score_index: int = 1
) -> Call:
    """Boxes with those of enough score in front: how many these are, all of them, their places."""

def grad_avg_pool2d_backward(
    output_grad: TensorLike,
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1],
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Call:
    """The gradient of a function of `avg_pool2d` by data, given that by the result."""

def grad_end_checkpoint(input: TensorLike) -> Call:
    """The operand. Where a stage ends that gradients compute again."""

def grad_max_pool2d_backward(
    output_grad: TensorLike,
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1],
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Call:
    """The gradient of a function of `max_pool2d` by data, given that by the result."""

def grad_nll_loss_backward(
    output_grad: TensorLike,
    predictions: TensorLike,
    targets: TensorLike,
    weights: TensorLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:
    """The gradient of a function of `nll_loss` by predictions, given that by the result."""

def grad_no_grad(input: TensorLike) -> Call:
    """The operand. What has no gradient."""

def grad_start_checkpoint(input: TensorLike) -> Call:
    """The operand. Where a stage begins that gradients compute again."""

def grad_take_backward(
    output_grad: TensorLike, x: TensorLike, indices: TensorLike, axis: int | None = None
) -> Call:
    """The gradient of a function of `take` by x, given that by the result."""

def greater(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 > x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def greater_equal(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 >= x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def grid_sample(
    data: TensorLike,
    grid: TensorLike,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Call:
    """Images read at the points of a grid from -1 to 1: `(n, 2, h, w)` or `(n, 3, d, h, w)`."""

def group_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise over some axes and the channels of a group, then scale and shift by channel."""

def hamming_window(
    window_size: IntLike,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    dtype: str = "float32",
) -> Call:
    """`alpha - beta * cos(2 pi i / (n - 1))`, with n in place of n - 1 if periodic."""

def hint_on_device(data: TensorLike, dst_vdevice: object, memory_scope: str = "global") -> Call:
    """The operand; what uses it is best run on that device; programs run on CPUs."""

def index_put(
    data: TensorLike,
    indices: Expr | Sequence[TensorLike],
    values: TensorLike,
    accumulate: bool = False,
) -> Call:
    """The data with values put, or added, at indices for every dimension, broadcast together."""

def index_tensor(data: TensorLike, indices: Expr | Sequence[TensorLike]) -> Call:
    """The elements at several tensors of indices, one per dimension, broadcast together."""

def inspect_tensor_byte_offset(x: TensorLike) -> Call:
    """The bytes from the start of the memory to the elements."""

def inspect_tensor_dtype_bits(x: TensorLike) -> Call:
    """The size of an element in bits."""

def inspect_tensor_dtype_code(x: TensorLike) -> Call:
    """DLPack's code of the kind of dtype: 0 int, 1 uint, 2 float."""

def inspect_tensor_dtype_lanes(x: TensorLike) -> Call:
    """How many numbers an element has: 1."""

def inspect_tensor_elem_offset(x: TensorLike) -> Call:
    """The elements from the start of the memory to the first."""

def inspect_tensor_ndim(x: TensorLike) -> Call:
    """The number of dimensions."""

def inspect_tensor_shape_i(x: TensorLike, axis: Expr | IntLike) -> Call:
    """The size of a dimension."""

def inspect_tensor_stride_i(x: TensorLike, axis: Expr | IntLike) -> Call:
    """The elements from one index of a dimension to the next."""

def instance_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise over some axes, then scale and shift by channel."""

def isfinite(x: TensorLike) -> Call:
    """Whether x is neither infinite nor NaN.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    The result has dtype bool.
    """

def isinf(x: TensorLike) -> Call:
    """Whether x is infinite.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    The result has dtype bool.
    """

def isnan(x: TensorLike) -> Call:
    """Whether x is NaN.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    The result has dtype bool.
    """

def layer_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    axes: int | Sequence[int] = [-1],
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Layer normalisation.

    Normalise over some axes, then scale and shift element by element of those axes.
    """

def layout_transform(
    x: TensorLike,
    index_map: object,
    pad_value: IntLike | float | None = None,
    axis_separators: int | Sequence[int] | None = None,
    input_axis_separators: int | Sequence[int] | None = None,
) -> Call:
    """The elements where a function of their indices says; what is left over is `pad_value` or 0."""

def leakyrelu(data: TensorLike, alpha: float = 0.01) -> Call:
    """x where positive, else alpha * x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def left_shift(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 * 2^x2, bits shifted out are lost.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not integer are a ValueError.
    """

def less(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 < x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def less_equal(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 <= x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def linear(data: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Call:
    """The last dimension times a weight whose rows are those of the result, and a bias."""

def log(x: TensorLike) -> Call:
    """Natural logarithm.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def log10(x: TensorLike) -> Call:
    """Logarithm in base 10.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def log1p(x: TensorLike) -> Call:
    """Natural logarithm of 1 + x, exact for small x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def log2(x: TensorLike) -> Call:
    """Logarithm in base 2.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def log_add_exp(x1: TensorLike, x2: TensorLike) -> Call:
    """log(e^x1 + e^x2).

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def log_softmax(data: TensorLike, axis: int = -1) -> Call:
    """Logarithm of softmax.

    Exponentials normalised along one axis.
    """

def logical_and(x1: TensorLike, x2: TensorLike) -> Call:
    """Whether neither operand is zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    The result has dtype bool.
    """

def logical_not(x: TensorLike) -> Call:
    """Whether x is zero.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    The result has dtype bool.
    """

def logical_or(x1: TensorLike, x2: TensorLike) -> Call:
    """Whether an operand is not zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    The result has dtype bool.
    """

def logical_xor(x1: TensorLike, x2: TensorLike) -> Call:
    """Whether just one operand is zero.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    The result has dtype bool.
    """

def matmul(x1: TensorLike, x2: TensorLike, out_dtype: str | None = None) -> Call:
    """Matrix product; `R.dot` in the design document.

    Matrix product over the last two dimensions, the leading ones broadcast (numpy's rules).

    Products are summed in `out_dtype` where that is given: int8 into int32, bfloat16 into float32.
    """

def max(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Largest element; NaN if there is one.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    """

def max_pool1d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1],
    strides: int | Sequence[int] = [1],
    padding: int | Sequence[int] = [0, 0],
    dilation: int | Sequence[int] = [1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> Call:
    """Largest element of every window."""

def max_pool2d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1],
    strides: int | Sequence[int] = [1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Call:
    """Largest element of every window."""

def max_pool3d(
    data: TensorLike,
    pool_size: int | Sequence[int] = [1, 1, 1],
    strides: int | Sequence[int] = [1, 1, 1],
    padding: int | Sequence[int] = [0, 0, 0, 0, 0, 0],
    dilation: int | Sequence[int] = [1, 1, 1],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> Call:
    """Largest element of every window."""

def maximum(x1: TensorLike, x2: TensorLike) -> Call:
    """The larger operand; NaN when either is.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def mean(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Arithmetic mean.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def median(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The lower median along an axis and its index, or the median of all elements."""

def memory_alloc_storage(
    size: Expr | IntLike | Sequence[IntLike],
    virtual_device_index: int,
    storage_scope: str,
    dtype: str,
) -> Call:
    """Memory of that many bytes."""

def memory_alloc_tensor(
    storage: Expr,
    offset: IntLike,
    shape: Expr | IntLike | Sequence[IntLike],
    dtype: str,
    runtime_device_ind: int = 0,
) -> Call:
    """A tensor in a storage, from a byte offset on; its elements are undefined."""

def memory_ensure_zero_offset(data: TensorLike) -> Call:
    """The tensor, copied if its elements do not start where its memory does."""

def memory_kill_storage(storage: Expr) -> Call:
    """The last use of a value is past."""

def memory_kill_tensor(tensor: TensorLike) -> Call:
    """The last use of a value is past."""

def memory_view(
    data: TensorLike,
    shape: Expr | IntLike | Sequence[IntLike] | None = None,
    dtype: str | None = None,
    relative_byte_offset: IntLike | None = None,
) -> Call:
    """The memory of a tensor under another shape or dtype, from a byte offset on."""

def meshgrid(tensors: Expr | Sequence[TensorLike], indexing: str = "ij") -> Call:
    """Coordinates on a grid from a vector for each of its axes."""

def min(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Smallest element; NaN if there is one.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    """

def minimum(x1: TensorLike, x2: TensorLike) -> Call:
    """The smaller operand; NaN when either is.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def mod(x1: TensorLike, x2: TensorLike) -> Call:
    """Remainder of division towards zero; it has the sign of x1.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def mul(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 * x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def multibox_transform_loc(
    cls_pred: TensorLike,
    loc_pred: TensorLike,
    anchor: TensorLike,
    clip: bool = False,
    threshold: float = 0.0,
    variances: float | Sequence[float] = [1.0, 1.0, 1.0, 1.0],
    keep_background: bool = True,
    apply_softmax: bool = True,
) -> Call:
    """The boxes and scores that a detector predicts relative to anchors."""

def multinomial_from_uniform(
    prob: TensorLike, uniform_sample: TensorLike, sample_indices: TensorLike, dtype: str = "int64"
) -> Call:
    """For each sample, the first index at which the sum of its row's probabilities exceeds it."""

def multiply(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 * x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    """

def neg(x: TensorLike) -> Call:
    """-x: each element with the other sign.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def negative(x: TensorLike) -> Call:
    """-x: each element with the other sign.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def nll_loss(
    predictions: TensorLike,
    targets: TensorLike,
    weights: TensorLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:
    """Minus the weighted prediction of the target's class; classes are the second dimension."""

def non_max_suppression(
    data: TensorLike,
    valid_count: TensorLike,
    indices: TensorLike,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> Call:
    """The boxes that overlap no better one of their class, the best first."""

def nonzero(x: TensorLike) -> Call:
    """Where the elements that are not zero are: a row for each dimension, a column for each."""

def not_equal(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 != x2.

    `result[i] = x1[i] < x2[i]` and the like; shapes and dtypes go together by numpy's rules.

    An operand may be a number as a value, `R.Prim`; two of them give another.
    The result has dtype bool.
    """

def one_hot(
    indices: TensorLike,
    on_value: IntLike | float,
    off_value: IntLike | float,
    depth: IntLike,
    axis: int = -1,
) -> Call:
    """A new axis along which one place has on_value; none where an index is outside of depth."""

def ones(shape: Expr | IntLike | Sequence[IntLike], dtype: str) -> Call:
    """A tensor of ones of a shape and a dtype."""

def ones_like(x: TensorLike, dtype: str | None = None) -> Call:
    """A tensor of ones with the shape of another, and its dtype unless one is given."""

def outer(x1: TensorLike, x2: TensorLike) -> Call:
    """All products of the elements of two vectors."""

def pad(
    data: TensorLike,
    pad_width: int | Sequence[int],
    pad_mode: str = "constant",
    pad_value: float = 0.0,
) -> Call:
    """More elements before and after each axis."""

def permute_dims(x: TensorLike, axes: int | Sequence[int] | None = None) -> Call:
    """Permute the axes (transpose).

    Axes in another order, reversed by default.
    """

def pixel_shuffle(data: TensorLike, upscale_factor: int) -> Call:
    """Channels as pixels: `(n, c * r * r, h, w)` becomes `(n, c, h * r, w * r)`."""

def pow(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 to the power x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def power(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 to the power x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def prelu(data: TensorLike, alpha: TensorLike, axis: int = 1) -> Call:
    """Leaky relu with a slope for every channel.

    `x` where positive, else `x` times the slope of its channel.

    Args:
        data: tensor of a floating-point dtype; the result has its shape and dtype.
        alpha: one-dimensional tensor of the same dtype with an element for each channel, or one
            for all.
        axis: the axis of channels.
    """

def prod(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Product; of no elements, 1.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    """

def quantize(
    data: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike,
    axis: int = -1,
    out_dtype: str = "int8",
) -> Call:
    """`round(data / scale) + zero_point`, halves to even, at most and at least what the dtype has."""

def random_multinomial(
    key: TensorLike, prob: TensorLike, num_samples: IntLike, dtype: str = "int64"
) -> Call:
    """Samples of indices by the probabilities of each row, with replacement."""

def random_normal(
    key: TensorLike,
    shape: Expr | IntLike | Sequence[IntLike],
    mean: float = 0.0,
    scale: float = 1.0,
    dtype: str = "float32",
) -> Call:
    """Random numbers of the normal distribution; the same for the same key."""

def random_uniform(
    key: TensorLike,
    shape: Expr | IntLike | Sequence[IntLike],
    low: float = 0.0,
    high: float = 1.0,
    dtype: str = "float32",
) -> Call:
    """Random numbers from low to high, high excluded but for rounding; the same for the same key."""

def relu(data: TensorLike) -> Call:
    """max(x, 0).

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    """

def relu6(data: TensorLike) -> Call:
    """min(max(x, 0), 6).

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def repeat(data: TensorLike, repeats: int, axis: int | None = None) -> Call:
    """Each element so many times along an axis, by default of the flattened tensor."""

def reshape(x: TensorLike, shape: Expr | IntLike | Sequence[IntLike]) -> Call:
    """Reshape: the same number of elements under another shape.

    The same elements in row-major order under another shape.
    """

def resize2d(
    data: TensorLike,
    size: Expr | IntLike | Sequence[IntLike],
    roi: float | Sequence[float] | None = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:
    """Images in another size: nearest pixels, linear or cubic interpolation."""

def resize3d(
    data: TensorLike,
    size: Expr | IntLike | Sequence[IntLike],
    roi: float | Sequence[float] | None = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Call:
    """Volumes in another size: nearest pixels, linear or cubic interpolation."""

def resolve_shape(x: TensorLike, pattern: Sequence[IntLike]) -> Call:
    """The shape that a pattern for reshape stands for: -1 takes what is left, 0 copies."""

def reverse_sequence(
    data: TensorLike, seq_lengths: TensorLike, seq_axis: int = 1, batch_axis: int = 0
) -> Call:
    """The first elements of each sequence in reverse, as many as its length."""

def right_shift(x1: TensorLike, x2: TensorLike) -> Call:
    """Largest integer not above x1 / 2^x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not integer are a ValueError.
    """

def rms_norm(
    data: TensorLike, weight: TensorLike, axes: int | Sequence[int] = [-1], epsilon: float = 1e-05
) -> Call:
    """Divide by the root of the mean square over some axes, then scale element by element of them."""

def roi_align(
    data: TensorLike,
    rois: TensorLike,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Call:
    """Regions of images as bins, each the mean or maximum of samples between pixels."""

def roi_pool(
    data: TensorLike,
    rois: TensorLike,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    layout: str = "NCHW",
) -> Call:
    """Regions of images as bins, each the maximum of its pixels."""

def roll(
    x: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None
) -> Call:
    """The elements moved along axes, those beyond the end to the beginning."""

def round(x: TensorLike) -> Call:
    """Nearest integer, ties to even.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def rsqrt(x: TensorLike) -> Call:
    """Reciprocal square root.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def scalar_like(x: TensorLike, value: IntLike | float) -> Call:
    """A number as a scalar of the dtype of a tensor."""

def scalar_to_tensor(x: Expr | IntLike) -> Call:
    """A number as a tensor without dimensions."""

def scatter_elements(
    data: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    axis: int = 0,
    reduction: str = "update",
) -> Call:
    """The data with updates put, or combined, where the indices say along an axis."""

def scatter_nd(
    data: TensorLike, indices: TensorLike, updates: TensorLike, reduction: str = "update"
) -> Call:
    """The data with updates put, or combined, at indices of several dimensions."""

def searchsorted(
    sorted_sequence: TensorLike,
    input_tensor: TensorLike,
    out_int32: bool = False,
    right: bool = False,
) -> Call:
    """Where in an ascending sequence each element would stand."""

def selu(data: TensorLike) -> Call:
    """Scaled exponential linear unit.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def shape_to_tensor(shape: Expr | IntLike | Sequence[IntLike]) -> Call:
    """The dimensions of a shape as elements."""

def sigmoid(x: TensorLike) -> Call:
    """1 / (1 + e^-x).

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def sign(x: TensorLike) -> Call:
    """-1, 0 or 1; NaN stays.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def silu(data: TensorLike) -> Call:
    """x times sigmoid of x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def sin(x: TensorLike) -> Call:
    """Sine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def sinh(x: TensorLike) -> Call:
    """Hyperbolic sine.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def size(x: TensorLike) -> Call:
    """How many elements there are."""

def slice_scatter(
    input_tensor: TensorLike,
    src: TensorLike,
    start: IntLike,
    end: IntLike,
    step: IntLike,
    axis: int = 0,
) -> Call:
    """The data with the elements of a slice along an axis taken from `src`."""

def softmax(data: TensorLike, axis: int = -1) -> Call:
    """e^x over its sum along an axis.

    Exponentials normalised along one axis.
    """

def softplus(data: TensorLike, beta: float = 1.0, threshold: float = 20.0) -> Call:
    """log(1 + e^(beta * x)) / beta; x itself where beta * x is above the threshold.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def sort(x: TensorLike, axis: int = -1, descending: bool = False) -> Call:
    """The elements in ascending or descending order."""

def split(x: TensorLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> Call:
    """Parts of a tensor along an axis: so many, or cut at these indices."""

def sqrt(x: TensorLike) -> Call:
    """Square root.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def square(x: TensorLike) -> Call:
    """x * x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    """

def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Call:
    """Without these dimensions of 1, by default without any."""

def stack(tensors: Expr | Sequence[TensorLike], axis: int = 0) -> Call:
    """Tensors one after another along a new axis."""

def std(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Square root of the variance.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def strided_slice(
    x: TensorLike,
    axes: int | Sequence[int],
    begin: Sequence[IntLike],
    end: Sequence[IntLike],
    strides: int | Sequence[int] | None = None,
    assume_inbound: bool = False,
) -> Call:
    """The elements from begin to end, in steps, along some axes."""

def sub(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 - x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def subtract(x1: TensorLike, x2: TensorLike) -> Call:
    """x1 - x2.

    `result[i] = f(x1[i], x2[i])`; shapes broadcast by numpy's rules, dtypes must be equal.

    A number takes the dtype of the other operand. An operand may be a number as a value,
    `R.Prim`; two of them give another. Shapes that do not broadcast are a ValueError.
    Operands of a dtype that is not numeric are a ValueError.
    """

def sum(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """Sum; of no elements, 0.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    """

def swish(data: TensorLike) -> Call:
    """x times sigmoid of x.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def take(x: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "fast") -> Call:
    """The elements, or slices along an axis, at these indices."""

def tan(x: TensorLike) -> Call:
    """Tangent.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def tanh(x: TensorLike) -> Call:
    """Hyperbolic tangent.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def tensor_to_scalar(x: TensorLike) -> Call:
    """The element of a tensor without dimensions as a number."""

def tensor_to_shape(x: TensorLike) -> Call:
    """The shape whose dimensions are the elements."""

def tile(x: TensorLike, repeats: int | Sequence[int]) -> Call:
    """The whole tensor so many times along each axis, the last one last."""

def to_vdevice(data: TensorLike, dst_vdevice: object) -> Call:
    """The operand on a device; programs run on CPUs."""

def topk(
    data: TensorLike,
    k: IntLike = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
) -> Call:
    """The largest or smallest elements in order and where they are; all when k is below 1."""

def transpose(x: TensorLike, axes: int | Sequence[int] | None = None) -> Call:
    """Permute the axes (transpose).

    Axes in another order, reversed by default.
    """

def tril(x: TensorLike, k: IntLike = 0) -> Call:
    """The lower triangles of matrices, zeros above the diagonal k."""

def triu(x: TensorLike, k: IntLike = 0) -> Call:
    """The upper triangles of matrices, zeros below the diagonal k."""

def trunc(x: TensorLike) -> Call:
    """Nearest integer towards zero.

    `result[i] = f(x[i])`. The result has the operand's shape, and its dtype if none is named.
    Operands of a dtype that is not numeric are a ValueError.
    """

def unique(
    x: TensorLike,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Call:
    """The distinct elements, or parts along an axis, ascending or by first occurrence; where they first occur, which is which, how many there are."""

def variance(
    x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Call:
    """Mean of the squared distances from the mean.

    Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    Operands of a dtype that is not floating-point are a ValueError.
    """

def vm_alloc_storage(
    shape: Expr | IntLike | Sequence[IntLike],
    runtime_device_index: int,
    dtype: str = "uint8",
    storage_scope: str = "global",
) -> Call:
    """Memory of that many bytes, of the virtual machine."""

def vm_alloc_tensor(
    storage: Expr,
    offset: IntLike,
    shape: Expr | IntLike | Sequence[IntLike],
    dtype: str,
    runtime_device_ind: int = 0,
) -> Call:
    """A tensor in a storage, from a byte offset on; its elements are undefined."""

def vm_kill_object(obj: Expr) -> Call:
    """The last use of a value is past."""

def where(condition: TensorLike, x1: TensorLike, x2: TensorLike) -> Call:
    """Choose by a condition.

    `x1[i]` where the condition holds, else `x2[i]`; all three broadcast by numpy's rules.

    The condition has dtype bool; `x1` and `x2` have one dtype, which is the result's.
    """

def wrap_param(data: TensorLike, dtype: str = "float32") -> Call:
    """A parameter of a model in another dtype."""

def zeros(shape: Expr | IntLike | Sequence[IntLike], dtype: str) -> Call:
    """A tensor of zeros of a shape and a dtype."""

def zeros_like(x: TensorLike, dtype: str | None = None) -> Call:
    """A tensor of zeros with the shape of another, and its dtype unless one is given."""
