"""The `R` of a script: `@R.function` and the names of the Relax language."""

# Made by .ci/stubs, do not edit.
from collections.abc import Callable as _Function
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any as _Value
from typing import overload

from relax_mlir.ir.module import IRModule
from relax_mlir.relax.expr import Expr
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.op import (
    abs,
    acos,
    acosh,
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    add,
    affine_grid,
    all,
    all_class_non_max_suppression,
    any,
    arange,
    argmax,
    argmin,
    argsort,
    asin,
    asinh,
    astype,
    atan,
    atan2,
    atanh,
    attention,
    attention_bias,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batch_flatten,
    batch_norm,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    broadcast_to,
    bucketize,
    builtin,
    builtin_stop_lift_params,
    call_builtin_with_ctx,
    call_tir_with_grad,
    cast,
    ccl,
    ccl_allgather,
    ccl_allreduce,
    ccl_broadcast_from_worker0,
    ccl_scatter_from_worker0,
    ceil,
    clip,
    collapse_sum_like,
    collapse_sum_to,
    concat,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    cos,
    cosh,
    cross_entropy_with_logits,
    cumprod,
    cumsum,
    dequantize,
    div,
    divide,
    dot,
    dropout,
    dynamic_strided_slice,
    einsum,
    equal,
    erf,
    ewise_add,
    ewise_divide,
    ewise_fma,
    ewise_multiply,
    ewise_subtract,
    exp,
    exp2,
    expand_dims,
    expm1,
    eye,
    eye_like,
    flatten,
    flip,
    floor,
    floor_divide,
    floor_mod,
    floordiv,
    full,
    full_like,
    gather_elements,
    gather_nd,
    gelu,
    gelu_tanh,
    get_valid_counts,
    grad,
    grad_avg_pool2d_backward,
    grad_end_checkpoint,
    grad_max_pool2d_backward,
    grad_nll_loss_backward,
    grad_no_grad,
    grad_start_checkpoint,
    grad_take_backward,
    greater,
    greater_equal,
    grid_sample,
    group_norm,
    hamming_window,
    hint_on_device,
    image,
    index_put,
    index_tensor,
    inspect,
    inspect_tensor_byte_offset,
    inspect_tensor_dtype_bits,
    inspect_tensor_dtype_code,
    inspect_tensor_dtype_lanes,
    inspect_tensor_elem_offset,
    inspect_tensor_ndim,
    inspect_tensor_shape_i,
    inspect_tensor_stride_i,
    instance_norm,
    invoke_closure,
    isfinite,
    isinf,
    isnan,
    layer_norm,
    layout_transform,
    leakyrelu,
    left_shift,
    less,
    less_equal,
    linear,
    log,
    log1p,
    log2,
    log10,
    log_add_exp,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    make_closure,
    matmul,
    max,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    maximum,
    mean,
    median,
    memory,
    memory_alloc_storage,
    memory_alloc_tensor,
    memory_ensure_zero_offset,
    memory_kill_storage,
    memory_kill_tensor,
    memory_view,
    meshgrid,
    min,
    minimum,
    mod,
    mul,
    multibox_transform_loc,
    multinomial_from_uniform,
    multiply,
    neg,
    negative,
    nll_loss,
    nn,
    non_max_suppression,
    nonzero,
    not_equal,
    null_value,
    one_hot,
    ones,
    ones_like,
    outer,
    pad,
    permute_dims,
    pixel_shuffle,
    pow,
    power,
    prelu,
    prod,
    quantize,
    random,
    random_multinomial,
    random_normal,
    random_uniform,
    relu,
    relu6,
    repeat,
    reshape,
    resize2d,
    resize3d,
    resolve_shape,
    reverse_sequence,
    right_shift,
    rms_norm,
    roi_align,
    roi_pool,
    roll,
    round,
    rsqrt,
    scalar_like,
    scalar_to_tensor,
    scatter_elements,
    scatter_nd,
    searchsorted,
    selu,
    shape_to_tensor,
    sigmoid,
    sign,
    silu,
    sin,
    sinh,
    size,
    slice_scatter,
    softmax,
    softplus,
    sort,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    std,
    strided_slice,
    sub,
    subtract,
    sum,
    swish,
    take,
    tan,
    tanh,
    tensor_to_scalar,
    tensor_to_shape,
    tile,
    to_vdevice,
    topk,
    transpose,
    tril,
    triu,
    trunc,
    unique,
    variance,
    vision,
    vm,
    vm_alloc_storage,
    vm_alloc_tensor,
    vm_kill_object,
    where,
    wrap_param,
    zeros,
    zeros_like,
)
from relax_mlir.relax.op._arguments import IntLike, TensorLike
from relax_mlir.script.macro import macro as inline
from relax_mlir.script.macro import macro as macro
from relax_mlir.script.markers import Marker

@overload
def function(fn: _Function[..., _Value]) -> IRModule:
    """Parse a Relax function; alone it gives an `IRModule` that holds it."""

@overload
def function(
    *, private: bool = False, pure: bool = True
) -> _Function[[_Function[..., _Value]], IRModule]: ...

func = function

class Tensor(Marker):
    """A tensor: its shape, its dtype, or only its number of dimensions."""

    def __init__(
        self,
        shape: Sequence[IntLike | str] | Expr | None = None,
        dtype: str | None = None,
        ndim: int = -1,
    ) -> None: ...
    def __class_getitem__(cls, item: _Value) -> Marker: ...

class Shape(Marker):
    """A shape: its dimensions, or only their number."""

    def __init__(self, values: Sequence[IntLike | str] | None = None, ndim: int = -1) -> None: ...
    def __class_getitem__(cls, item: _Value) -> Marker: ...

class Prim(Marker):
    """A scalar: its dtype, or the integer that it is."""

    def __init__(self, dtype: str | None = None, value: IntLike | str | None = None) -> None: ...

class Tuple(Marker):
    """A tuple of the types of its fields."""

    def __init__(self, *fields: _Value) -> None: ...
    def __class_getitem__(cls, item: _Value) -> Marker: ...

class Callable(Marker):
    """A function, by the types of its parameters and its result."""

    def __init__(
        self, params: _Value = None, ret: _Value = None, purity: bool | None = None
    ) -> None: ...

class Object(Marker):
    """Any value."""

    def __init__(self) -> None: ...

class Any(Marker):
    """Any value."""

    def __init__(self) -> None: ...

def ExternFunc(global_symbol: str) -> Expr:
    """A packed function, by its name."""

def dataflow() -> AbstractContextManager[None]:
    """Hold bindings that have no side effects; `R.output` names what is used after it."""

def output(*values: Expr) -> None:
    """Name the values of a dataflow block that are used after it."""

def outputs(*values: Expr) -> None:
    """Name the values of a dataflow block that are used after it."""

def emit(value: TensorLike) -> Expr:
    """Bind a value; `x = R.emit(value)` is `x = value`."""

def match_cast(value: Expr, type: _Value) -> Expr:
    """Give a value a type that run time checks; new sizes in it become known."""

def match_shape(value: Expr, pattern: Sequence[IntLike | str]) -> Expr:
    """Match the shape of a value, or a shape, with a pattern that may define sizes."""

def const(value: _Value, dtype: str | None = None) -> Expr:
    """A constant tensor."""

def prim_value(value: IntLike | float) -> Expr:
    """A scalar as an argument."""

def PrimValue(value: IntLike | float) -> Expr:
    """A scalar as an argument."""

def tuple(*fields: TensorLike) -> Expr:
    """A tuple of values."""

def shape(values: Sequence[IntLike]) -> Expr:
    """A shape of known or symbolic sizes."""

def ShapeExpr(values: Sequence[IntLike]) -> Expr:
    """A shape of known or symbolic sizes."""

def shape_of(x: Expr) -> Expr:
    """The shape of a tensor."""

def range(start: IntLike, stop: IntLike = ..., step: IntLike = 1) -> Iterable[Expr]:
    """Count in a loop of the program: `for i in R.range(n)`."""

def call_tir(
    func: _Value, args: _Value, result: _Value, tir_vars: Sequence[IntLike] | Expr | None = None
) -> Call:
    """Call a prim func that writes the results, which are allocated for it.

    Args:
        func: the prim func, such as `cls.matmul`.
        args: the tensors that it reads.
        result: the type of the result, or a list of types; `out_sinfo=` and `out_ty=` too.
        tir_vars: the integers that it takes after the buffers.
    """

call_tir_dyn = call_tir

def call_tir_inplace(
    func: _Value,
    args: _Value,
    inplace_indices: int | Sequence[int],
    result: _Value,
    tir_vars: Sequence[IntLike] | Expr | None = None,
) -> Call:
    """Call a prim func that may write its results over arguments; -1 allocates a result."""

def call_dps_packed(func: _Value, args: _Value, result: _Value) -> Call:
    """Call a packed function that writes the results, which are allocated for it."""

def call_dps_packed_inplace(
    func: _Value, args: _Value, inplace_indices: int | Sequence[int], result: _Value
) -> Call:
    """Call a packed function that may write its results over arguments."""

def call_packed(func: _Value, *args: TensorLike, sinfo_args: _Value = None) -> Call:
    """Call a packed function that returns its result and may have side effects."""

def call_pure_packed(func: _Value, *args: TensorLike, sinfo_args: _Value = None) -> Call:
    """Call a packed function that returns its result and has no side effects."""

def call_inplace_packed(
    func: _Value,
    *args: TensorLike,
    inplace_indices: int | Sequence[int],
    sinfo_args: _Value = None,
) -> Call:
    """Call a packed function that returns arguments which it has overwritten."""

def print(*values: TensorLike, format: str = "") -> Call:
    """Print values when the program runs."""

def assert_op(condition: TensorLike, format_args: _Value = None, format: str = "") -> Call:
    """Raise AssertOpError when the condition is false."""

def func_attr(attributes: dict[str, _Value]) -> None:
    """Attributes of the function around it."""

__all__ = [
    "Any",
    "Callable",
    "ExternFunc",
    "Object",
    "Prim",
    "PrimValue",
    "Shape",
    "ShapeExpr",
    "Tensor",
    "Tuple",
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
    "call_dps_packed_inplace",
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
    "dataflow",
    "dequantize",
    "div",
    "divide",
    "dot",
    "dropout",
    "dynamic_strided_slice",
    "einsum",
    "emit",
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
    "func",
    "func_attr",
    "function",
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
    "inline",
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
    "macro",
    "make_closure",
    "match_cast",
    "match_shape",
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
    "output",
    "outputs",
    "pad",
    "permute_dims",
    "pixel_shuffle",
    "pow",
    "power",
    "prelu",
    "prim_value",
    "print",
    "prod",
    "quantize",
    "random",
    "random_multinomial",
    "random_normal",
    "random_uniform",
    "range",
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
    "tuple",
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
