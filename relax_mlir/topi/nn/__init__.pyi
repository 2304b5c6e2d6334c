"""The operators of neural networks, as tensor expressions."""

# Made by .ci/stubs, do not edit.

from typing import Any

from relax_mlir.te.tensor import Tensor
from relax_mlir.topi.linear_algebra import batch_matmul, dense
from relax_mlir.topi.nn.activation import (
    bias_add,
    leaky_relu,
    log_softmax,
    prelu,
    scale_shift_nchw,
    scale_shift_nhwc,
    softmax,
    softplus,
)
from relax_mlir.topi.nn.activation import softmax as fast_softmax
from relax_mlir.topi.nn.blocked import (
    conv2d_NCHWc,
    dense_pack,
    depthwise_conv2d_NCHWc,
    scale_shift_nchwc,
    unpack_NCHWc_to_nchw,
)
from relax_mlir.topi.nn.buffers import fifo_buffer
from relax_mlir.topi.nn.convolution import (
    conv,
    conv1d,
    conv2d,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
    pad,
)
from relax_mlir.topi.nn.correlation import correlation_nchw
from relax_mlir.topi.nn.loss import nll_loss
from relax_mlir.topi.nn.matrices import flatten, matmul
from relax_mlir.topi.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    lrn,
    rms_norm,
)
from relax_mlir.topi.nn.padding import (
    circular_pad,
    get_padded_shape,
    mirror_pad,
    reflect_pad,
    replicate_pad,
)
from relax_mlir.topi.nn.pooling import adaptive_pool, global_pool
from relax_mlir.topi.nn.recurrent import lstm
from relax_mlir.topi.nn.space_depth import (
    batch_to_space_nd,
    depth_to_space,
    pixel_shuffle,
    space_to_batch_nd,
    space_to_depth,
)
from relax_mlir.topi.nn.transposed import dilate
from relax_mlir.topi.nn.upsample import upsampling, upsampling3d

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bias_add",
    "circular_pad",
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "correlation_nchw",
    "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc",
    "dense",
    "dense_pack",
    "depth_to_space",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilate",
    "fast_softmax",
    "fifo_buffer",
    "flatten",
    "gelu",
    "gelu_tanh",
    "get_padded_shape",
    "global_pool",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "lstm",
    "matmul",
    "mirror_pad",
    "nll_loss",
    "pad",
    "pixel_shuffle",
    "pool1d",
    "pool2d",
    "pool3d",
    "prelu",
    "reflect_pad",
    "relu",
    "relu6",
    "replicate_pad",
    "rms_norm",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "space_to_batch_nd",
    "space_to_depth",
    "tanh",
    "unpack_NCHWc_to_nchw",
    "upsampling",
    "upsampling3d",
]

def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """Pool into so many windows along each axis of NCW, equal or nearly."""

def adaptive_pool3d(
    data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """Pool into so many windows along each axis of NCDHW, equal or nearly."""

def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCW by kernels OIW."""

def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NWC by kernels WIO."""

def conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 1 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of HWCN by kernels HWIO."""

def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCHW by kernels OIHW."""

def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NHWC by kernels HWIO."""

def conv2d_transpose_nchw(
    Input: Tensor,
    Filter: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 2 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCDHW by kernels OIDHW."""

def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NDHWC by kernels DHWIO."""

def conv3d_transpose_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 3 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def deformable_conv2d_nchw(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCHW that reads pixels moved by offsets.

    The offsets are, for each deformable group and element of a window, along y and x; what is
    outside of the image is 0. Kernels are OIHW.
    """

def deformable_conv2d_nhwc(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NHWC that reads pixels moved by offsets.

    The offsets are, for each deformable group and element of a window, along y and x; what is
    outside of the image is 0. Kernels are HWIO.
    """

def gelu(x: Any) -> Any:
    """Return gelu of each element of a tensor."""

def gelu_tanh(x: Any) -> Any:
    """Return gelu_tanh of each element of a tensor."""

def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCW by kernels OIW."""

def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NWC by kernels WIO."""

def group_conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 1 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NCHW by kernels OIHW."""

def group_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: Any = None,
) -> Tensor:
    """Return a convolution of NHWC by kernels HWIO."""

def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 2 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def group_conv3d_transpose_ncdhw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = 0,
    out_dtype: Any = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """Return a transposed convolution in 3 dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """

def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or the mean (`pool_type` max, avg) of windows.

    The layout is NCW by default; with `ceil_mode` the last window may hang over the end.
    """

def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or the mean (`pool_type` max, avg) of windows.

    The layout is NCHW by default; with `ceil_mode` the last window may hang over the end.
    """

def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or the mean (`pool_type` max, avg) of windows.

    The layout is NCDHW by default; with `ceil_mode` the last window may hang over the end.
    """

def relu(x: Any) -> Any:
    """Return relu of each element of a tensor."""

def relu6(x: Any) -> Any:
    """Return relu6 of each element of a tensor."""

def selu(x: Any) -> Any:
    """Return selu of each element of a tensor."""

def sigmoid(x: Any) -> Any:
    """Return sigmoid of each element of a tensor."""

def silu(x: Any) -> Any:
    """Return silu of each element of a tensor."""

def tanh(x: Any) -> Any:
    """Return tanh of each element of a tensor."""
