"""Operations on tensors of `frontend.nn`, under TVM's names: a table, and those that do more."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError, missing
from relax_mlir.frontend.nn.exporter import Exporter
from relax_mlir.frontend.nn.tensor import (
    Tensor,
    current_builder,
    get_default_dtype,
    wrap_nested,
)
from relax_mlir.relax import op as _op
from relax_mlir.relax.expr import (
    ObjectType,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    const,
)
from relax_mlir.script.relax_parser.call_order import moved_behind

# Name, arguments in the order of the operation of Relax, that operation, name of the result.
_TABLE = (
    ("unsqueeze", "x, dim", "expand_dims", "unsqueeze"),
    ("concat", "x, dim", "concat", "concat"),
    ("add", "a, b", "add", "add"),
    ("subtract", "a, b", "subtract", "subtract"),
    ("multiply", "a, b", "multiply", "mul"),
    ("divide", "a, b", "divide", "divide"),
    ("chunk", "x, chunks, dim=0", "split", "chunk"),
    ("sum", "x, axis=None, keepdims=False", "sum", "sum"),
    ("max", "x, axis=None, keepdims=False", "max", "max"),
    ("min", "x, axis=None, keepdims=False", "min", "min"),
    ("matmul", "a, b, out_dtype=None", "matmul", "matmul"),
    ("maximum", "x1, x2", "maximum", "maximum"),
    ("minimum", "x1, x2", "minimum", "minimum"),
    ("broadcast_to", "x, shape", "broadcast_to", "broadcast_to"),
    ("permute", "x, axes", "permute_dims", "permute"),
    ("reshape", "x, shape", "reshape", "reshape"),
    ("repeat", "x, repeats, axis=None", "repeat", "repeat"),
    ("squeeze", "x, axis=-1", "squeeze", "squeeze"),
    ("take", "x, indices, axis=None", "take", "take"),
    ("relu", "x", "relu", "relu"),
    ("relu6", "x", "relu6", "relu6"),
    ("silu", "x", "silu", "silu"),
    ("sigmoid", "x", "sigmoid", "sigmoid"),
    ("softmax", "x, axis=-1", "softmax", "softmax"),
    ("softplus", "x, beta=1.0, threshold=20.0", "softplus", "softplus"),
    ("prelu", "x, alpha", "prelu", "prelu"),
    ("tanh", "x", "tanh", "tanh"),
    ("exp", "x", "exp", "exp"),
    ("log", "x", "log", "log"),
    ("floor", "x", "floor", "floor"),
    ("negative", "x", "negative", "neg"),
    ("rms_norm", "x, weight, axes, epsilon=1e-05", "rms_norm", "rms_norm"),
    ("triu", "x, diagonal=0", "triu", "triu"),
    ("zeros", "shape, dtype='float32'", "zeros", "zeros"),
    ("ones", "shape, dtype='float32'", "ones", "ones"),
    ("split", "ary, indices_or_sections, axis=0", "split", "split"),
    ("pad", "x, pad, mode='constant', value=0.0", "pad", "pad"),
    ("square", "x", "square", "square"),
    ("sqrt", "x", "sqrt", "sqrt"),
    ("less", "a, b", "less", "less"),
    ("less_equal", "a, b", "less_equal", "less_equal"),
    ("greater", "a, b", "greater", "greater"),
    ("greater_equal", "a, b", "greater_equal", "greater_equal"),
    ("equal", "a, b", "equal", "equal"),
    ("not_equal", "a, b", "not_equal", "not_equal"),
    ("cumsum", "data, axis=None, dtype=None, exclusive=False", "cumsum", "cumsum"),
    ("sort", "x, axis=-1, descending=False", "sort", "sort"),
    ("argsort", "data, axis=-1, descending=False, dtype='int32'", "argsort", "argsort"),
    (
        "topk", "data, k=1, axis=-1, ret_type='both', largest=True, dtype='int32'", "topk", "topk",
    ),
)  # fmt: skip


def _expression(value: Any) -> Any:
    """Return an argument with expressions in the place of tensors."""
    if isinstance(value, Tensor):
        return value._expr
    if isinstance(value, (list, tuple)):
        return [_expression(each) for each in value]
    return value


def _from_table(name: str, arguments: str, operation: str, result: str) -> Callable[..., Any]:
    text = f"{arguments}, name={result!r}"
    signature = inspect.signature(eval(f"lambda {text}: None"))

    def apply(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        *values, hint = (_expression(value) for value in bound.arguments.values())
        return wrap_nested(getattr(_op, operation)(*values), hint)

    apply.__name__ = apply.__qualname__ = name
    apply.__signature__ = signature  # type: ignore[attr-defined]
    apply.__doc__ = f"Apply `relax.op.{operation}`; `name` is of the result."
    return apply


_FUNCTIONS = {row[0]: _from_table(*row) for row in _TABLE}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    raise AttributeError(missing("frontend.nn.op", name, {}, __all__))


def permute_dims(x: Tensor, axes: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor with its dimensions in another order; a layer's weight keeps its number."""
    hint = getattr(x._expr, "name_hint", "") if name is None else name
    if name is None:
        hint = hint.replace("linear", "matmul") if "linear" in hint else "permute_dims"
    return wrap_nested(_op.permute_dims(x._expr, axes), hint)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Return a tensor in another dtype, itself where it has it already."""
    return x if x.dtype == dtype else wrap_nested(_op.astype(x._expr, dtype), name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """Return x times the share of a normal distribution below x; `tanh` approximates it."""
    function = _op.gelu_tanh if approximate == "tanh" else _op.gelu
    return wrap_nested(function(x._expr), name)


def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Tensor:
    """Return x1 where the condition is not zero, else x2."""
    holds = astype(condition, "bool")
    return wrap_nested(_op.where(*map(_expression, (holds, x1, x2))), name)


def arange(
    start: Any, end: Any = None, step: Any = 1, dtype: str | None = "float32",
    name: str = "arange",
) -> Tensor:  # fmt: skip
    """Return the numbers from start to end, end excluded."""
    return wrap_nested(_op.arange(start, end, step, dtype), name)


def full(
    shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full"
) -> Tensor:
    """Return a tensor of one number: a number, or a tensor without dimensions."""
    is_tensor = isinstance(fill_value, Tensor)
    value = fill_value._expr if is_tensor else const(_plain(fill_value), dtype)
    return wrap_nested(_op.full(shape, value, dtype), name)


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """Return a tensor whose elements are whatever the memory holds; here, zeros."""
    return wrap_nested(_op.zeros(shape, dtype), name)


# Convolutions: the layouts, and the shape that a bias is added in.

_CONVOLUTIONS = {
    "conv1d": (_op.conv1d, "NCW"), "conv2d": (_op.conv2d, "NCHW"), "conv3d": (_op.conv3d, "NCDHW"),
}  # fmt: skip


def _with_bias(made: Any, bias: Tensor | None, layout: str, name: str) -> Tensor:
    if bias is not None:
        shape = [-1 if letter == "C" else 1 for letter in layout]
        made = _op.add(made, _op.reshape(bias._expr, shape))
    return wrap_nested(made, name)


def _convolution(kind: str) -> Callable[..., Tensor]:
    function, plain = _CONVOLUTIONS[kind]

    def convolve(
        x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, data_layout: str = plain, name: str = kind,
    ) -> Tensor:  # fmt: skip
        made = function(
            x._expr, weight._expr, strides=stride, padding=padding, dilation=dilation,
            groups=groups, data_layout=data_layout,
        )  # fmt: skip
        return _with_bias(made, bias, data_layout, name)

    convolve.__name__ = convolve.__qualname__ = kind
    convolve.__doc__ = f"Apply `relax.op.nn.{kind}`, and add a bias for each channel."
    return convolve


conv2d: Callable[..., Tensor] = _convolution("conv2d")
conv3d: Callable[..., Tensor] = _convolution("conv3d")


def conv1d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1, name: str = "conv1d",
) -> Tensor:  # fmt: skip
    """Apply `relax.op.nn.conv1d`, and add a bias for each channel."""
    return _convolution("conv1d")(x, weight, bias, stride, padding, dilation, groups, name=name)


def conv1d_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1, groups: int = 1, name: str = "conv1d_transpose",
) -> Tensor:  # fmt: skip
    """Apply `relax.op.nn.conv1d_transpose`, and add a bias for each channel."""
    made = _op.conv1d_transpose(
        x._expr, weight._expr, strides=stride, padding=padding, output_padding=output_padding,
        dilation=dilation, groups=groups,
    )  # fmt: skip
    return _with_bias(made, bias, "NCW", name)


def layer_norm(
    x: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, name: str = "layer_norm",
) -> Tensor:  # fmt: skip
    """Normalise over the last dimensions, whose sizes are given."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    gamma = const(np.ones(shape), x.dtype) if weight is None else weight._expr
    beta = const(np.zeros(shape), x.dtype) if bias is None else bias._expr
    axes = list(range(-len(shape), 0))
    return wrap_nested(_op.layer_norm(x._expr, gamma, beta, axes=axes, epsilon=eps), name)


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5,
    channel_axis: int = 1, axes: list[int] | None = None, name: str = "group_norm",
) -> Tensor:  # fmt: skip
    """Normalise groups of channels, over axes that are by default those behind the channels."""
    size = x.shape[channel_axis]
    gamma = const(np.ones(size), x.dtype) if weight is None else weight._expr
    beta = const(np.zeros(size), x.dtype) if bias is None else bias._expr
    made = _op.group_norm(
        x._expr, gamma, beta, num_groups, channel_axis=channel_axis,
        axes=list(range(2, x.ndim)) if axes is None else axes, epsilon=eps,
    )  # fmt: skip
    return wrap_nested(made, name)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    is_causal: bool = False, scale: float | None = None, name: str = "scaled_dot_product_attention",
) -> Tensor:  # fmt: skip
    """Apply `relax.op.nn.attention`; tensors are (batch, length, heads, depth).

    Args:
        query: the queries.
        key: the keys.
        value: the values.
        attn_mask: true where a query sees a key, or what is added to the scores.
        is_causal: whether a query sees only the keys up to its own place.
        scale: of the scores, one over the root of the depth if left out.
        name: of the result.
    """
    masks = {}
    if attn_mask is not None:
        masks = {"mask" if attn_mask.dtype == "bool" else "bias": attn_mask._expr}
    made = _op.attention(
        query._expr, key._expr, value._expr, scale=scale,
        causal_mask="TopLeft" if is_causal else None, **masks,
    )  # fmt: skip
    return wrap_nested(made, name)


def interpolate(
    x: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool | None = None, data_layout: str = "NCHW", name: str = "interpolate",
) -> Tensor:  # fmt: skip
    """Resize an image; the arguments are those of torch's function, nearest places are rounded.

    Raises:
        NotImplementedError: antialiasing, or a scale that is computed again.
    """
    if recompute_scale_factor or antialias:
        raise NotImplementedError("interpolate has no antialias and no recompute_scale_factor")
    if size is None:
        spatial = [dim for dim, letter in zip(x.shape, data_layout, strict=True) if letter in "HW"]
        factors = scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * 2
        size = [_scaled(dim, factor) for dim, factor in zip(spatial, factors, strict=True)]
    method = {"ne": "nearest_neighbor", "bi": mode[2:]}.get(mode[:2], mode)
    corners = "align_corners" if align_corners else "half_pixel"
    made = _op.resize2d(
        x._expr, size, (0.0,) * 4, layout=data_layout, method=method,
        coordinate_transformation_mode="asymmetric" if mode.startswith("nearest") else corners,
    )  # fmt: skip
    return wrap_nested(made, name)


def _scaled(dim: Any, factor: Any) -> Any:
    return dim * int(factor) if isinstance(dim, SymExpr) else int(dim * factor)


def get_timestep_embedding(
    x: Tensor, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1,
    scale: float = 1, max_period: int = 10000, name: str = "get_timestep_embedding",
) -> Tensor:  # fmt: skip
    """Return sines and cosines of time steps at falling frequencies (arXiv:2006.11239)."""
    half = embedding_dim // 2
    steps = _op.expand_dims(_op.astype(x._expr, "float32"), 1)
    powers = _op.multiply(
        const(-math.log(max_period), "float32"), _op.arange(0, half, dtype="float32")
    )
    rates = _op.exp(_op.divide(powers, const(half - downscale_freq_shift, "float32")))
    angles = _op.multiply(steps, _op.expand_dims(rates, 0))
    if scale != 1:
        angles = _op.multiply(const(scale, "float32"), angles)
    parts = [_op.sin(angles), _op.cos(angles)]
    made = _op.concat(parts[::-1] if flip_sin_to_cos else parts, axis=-1)
    if embedding_dim % 2:
        made = _op.pad(made, (0, 0, 0, 1))
    return wrap_nested(_op.astype(made, get_default_dtype()), name)


# Calls of other code


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any], name_hint: str, args: Sequence[Any], *,
    attrs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Call the prim func that a te function makes.

    Args:
        tensor_expr_func: takes te tensors, and the other arguments as they are.
        name_hint: of the prim func and of the result.
        args: tensors, symbolic integers and numbers.
        attrs: of the prim func.
    """
    made = current_builder().emit_te(
        tensor_expr_func, *map(_expression, args), primfunc_name_hint=name_hint,
        primfunc_attrs=attrs,
    )  # fmt: skip
    return wrap_nested(made, name_hint)


def _prim_call(func: Any, name: str, args: Any, out: Any) -> tuple[Any, ...]:
    """Return a prim func in the module, its tensors, the results' types, and its integers.

    `call_tir` passes tensors first: a prim func that takes integers before them is called by a
    copy.
    """
    tensors, integers = [], []
    for each in args if isinstance(args, (list, tuple)) else [args]:
        if isinstance(each, Tensor):
            tensors.append(each._expr)
        elif isinstance(each, ShapeExpr):
            integers += each.values
        elif isinstance(each, (int, SymExpr)):
            integers.append(SymExpr.of(each))
        else:
            raise ExprTypeError(f"a prim func takes tensors, shapes and integers, got {each!r}")
    builder = current_builder()
    function = builder.add_func(func, name)
    op = builder.get()[function.name_hint].mlir_op
    kinds = [isinstance(each.type, ir.MemRefType) for each in op.regions[0].blocks[0].arguments]
    if kinds != sorted(kinds, reverse=True):
        with op.context, op.location:
            behind = moved_behind(op, builder.get_unique_name(f"{name}_moved"))
        function = builder.add_func(behind, f"{function.name_hint}_buffers_first")
        behind.erase()
    types = [each._expr.ty for each in (out if isinstance(out, (list, tuple)) else [out])]
    return function, tensors, types if len(types) > 1 else types[0], integers or None


def tensor_ir_op(func: Any, name_hint: str, args: Any, out: Any) -> Any:
    """Call a prim func.

    Args:
        func: the prim func.
        name_hint: its name in the module, and of the result.
        args: tensors, shapes and integers, in the order of the prim func's parameters.
        out: a placeholder of the result, or several.

    Raises:
        ExprTypeError: an argument is none of these.
    """
    made = _op.call_tir(*_prim_call(func, name_hint, args, out))
    return wrap_nested(made, name_hint)


def tensor_ir_inplace_op(
    func: Any, name_hint: str, args: Any, inplace_indices: Any, out: Any
) -> Any:
    """Call a prim func whose results take the place of arguments; see `relax.call_tir_inplace`."""
    function, tensors, types, integers = _prim_call(func, name_hint, args, out)
    made = _op.call_tir_inplace(function, tensors, inplace_indices, types, integers)
    return wrap_nested(made, name_hint)


def argument(value: Any) -> Any:
    """Return an argument of a packed function: a tensor, number, string, or a tuple of these."""
    if isinstance(value, Tensor):
        return value._expr
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (list, tuple)):
        return Tuple([argument(each) for each in value])
    if isinstance(value, float):
        return const(value, "float64")
    if isinstance(value, (int, SymExpr, PrimValue)):
        return value if isinstance(value, PrimValue) else PrimValue(value)
    raise ExprTypeError(f"a packed function takes tensors, numbers and strings, got {value!r}")


def extern(name: str, args: Any, out: Any) -> Any:
    """Call a packed function that writes its result.

    Args:
        name: it is registered by.
        args: tensors, numbers and strings.
        out: a placeholder of the result, or several.
    """
    types = [each._expr.ty for each in (out if isinstance(out, (list, tuple)) else [out])]
    given = args if isinstance(args, (list, tuple)) else [args]
    made = _op.call_dps_packed(name, argument(given), types if len(types) > 1 else types[0])
    return wrap_nested(made, name)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a packed function with the place of this call, then the arguments.

    Args:
        name: it is registered by.
        args: tensors, numbers and strings.

    Raises:
        RuntimeError: the export is not for debugging.
    """
    effect = Exporter.current().io_effect
    if effect is None:
        raise RuntimeError("Debugging is only supported when debug mode is on.")
    effect.effect = current_builder().emit(
        _op.call_pure_packed(
            "vm.builtin.invoke_debug_func", effect.effect, StringImm(name),
            StringImm(_line_info or _line()), *map(argument, args), sinfo_args=ObjectType(),
        ),
        effect.effect.name_hint,
    )  # fmt: skip


def _line() -> str:
    """Return the file and line of the caller's caller."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame is not None else None
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def print_(tensor: Tensor) -> None:
    """Print a tensor when the program runs."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_line())


__all__ = [
    *_FUNCTIONS,
    "arange", "astype", "conv1d", "conv1d_transpose", "conv2d", "conv3d", "debug_func", "empty",
    "extern", "full", "gelu", "get_timestep_embedding", "group_norm", "interpolate", "layer_norm",
    "permute_dims", "print_", "scaled_dot_product_attention", "tensor_expr_op",
    "tensor_ir_inplace_op", "tensor_ir_op", "where",
]  # fmt: skip
