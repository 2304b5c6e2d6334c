"""Layers of `frontend.nn`."""

from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.nn import op
from relax_mlir.frontend.nn.core import Module, ModuleList
from relax_mlir.frontend.nn.effects import Effect, IOEffect, KVCache
from relax_mlir.frontend.nn.tensor import Parameter, Tensor

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Effect", "Embedding",
    "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "Module", "ModuleList",
    "RMSNorm", "ReLU", "SiLU", "TimestepEmbedding", "Timesteps",
]  # fmt: skip


class ReLU(Module):
    """The positive part."""

    def forward(self, x: Tensor) -> Tensor:
        """Return max(x, 0)."""
        return op.relu(x)


class SiLU(Module):
    """x times its logistic function."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x * sigmoid(x)."""
        return op.silu(x)


class GELU(Module):
    """x times the share of a normal distribution below it."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x * Phi(x)."""
        return op.gelu(x)


class Identity(Module):
    """Nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x."""
        return x


class Linear(Module):
    """A product by a weight, `x @ weight.T + bias`.

    Args:
        in_features: last dimension of x; may be the name of a symbol.
        out_features: last dimension of the result; may be the name of a symbol.
        bias: whether there is one.
        dtype: of the weight, and of the bias if `out_dtype` is left out.
        out_dtype: of the result and of the bias.
    """

    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_features: Any = in_features
        self.out_features: Any = out_features
        self.out_dtype: str | None = out_dtype
        self.weight: Parameter = Parameter((out_features, in_features), dtype)
        self.bias: Parameter | None = (
            Parameter((out_features,), out_dtype or dtype) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the product of x, (..., in_features)."""
        made = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return made if self.bias is None else made + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; with an `out_dtype` the bias keeps its own."""
        self.weight.to(dtype=dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype


class _Convolution(Module):
    """A convolution over `rank` dimensions; its weight is (out, in / groups, *kernel)."""

    rank = 0

    def __init__(
        self, in_channels: Any, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        dtype: str | None = None, data_layout: str | None = None,
    ) -> None:  # fmt: skip
        self.in_channels: Any = in_channels
        self.out_channels: int = out_channels
        is_one = isinstance(kernel_size, int)
        self.kernel_size: list[Any] = [kernel_size] * self.rank if is_one else list(kernel_size)
        self.stride: Any = stride
        self.padding: Any = padding
        self.dilation: Any = dilation
        self.groups: int = groups
        self.data_layout: str | None = data_layout
        of_group = SymExpr.of(_symbol(in_channels)) // groups
        self.weight: Parameter = Parameter((out_channels, of_group, *self.kernel_size), dtype)
        self.bias: Parameter | None = Parameter((out_channels,), dtype) if bias else None


def _symbol(size: Any) -> Any:
    return SymExpr.var(size) if isinstance(size, str) else size


class Conv1D(_Convolution):
    """A convolution of (batch, channels, width)."""

    rank = 1

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
        padding: int = 0, dilation: int = 1, groups: int = 1, bias: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x."""
        return op.conv1d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv2D(_Convolution):
    """A convolution of images, (batch, channels, height, width) unless `data_layout` differs."""

    rank = 2

    def __init__(self, *args: Any, data_layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(*args, data_layout=data_layout, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x."""
        return op.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.data_layout,
        )  # fmt: skip


class Conv3D(_Convolution):
    """A convolution of volumes, (batch, channels, depth, height, width) by default."""

    rank = 3

    def __init__(self, *args: Any, data_layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(*args, data_layout=data_layout, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x."""
        return op.conv3d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.data_layout,
        )  # fmt: skip


class ConvTranspose1D(Module):
    """A transposed convolution of (batch, channels, width)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
        padding: int = 0, output_padding: int = 0, dilation: int = 1, groups: int = 1,
        bias: bool = True, dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_channels: Any = in_channels
        self.out_channels: int = out_channels
        self.kernel_size: int = kernel_size
        self.stride: Any = stride
        self.padding: Any = padding
        self.output_padding: int = output_padding
        self.dilation: Any = dilation
        self.groups: int = groups
        self.weight: Parameter = Parameter(
            (in_channels, out_channels // groups, kernel_size), dtype
        )
        self.bias: Parameter | None = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the transposed convolution of x."""
        return op.conv1d_transpose(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            self.dilation, self.groups,
        )  # fmt: skip


class LayerNorm(Module):
    """Normalisation over the last dimension.

    Args:
        normalized_shape: its size.
        eps: is added to the variance.
        elementwise_affine: whether there are a weight and a bias.
        dtype: of these.
    """

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.normalized_shape: int = normalized_shape
        self.eps: float = eps
        self.elementwise_affine = elementwise_affine
        self.weight: Parameter | None = (
            Parameter((normalized_shape,), dtype) if elementwise_affine else None
        )
        self.bias: Parameter | None = (
            Parameter((normalized_shape,), dtype) if elementwise_affine else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalised."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root of the mean square.

    Args:
        hidden_size: of the weight.
        axes: what the mean is over.
        epsilon: is added to the mean.
        bias: whether there is one.
        dtype: of the weight and the bias.
    """

    def __init__(
        self, hidden_size: int, axes: Any, epsilon: float = 1e-5, bias: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.epsilon: float = epsilon
        self.axes: Any = axes
        self.weight: Parameter = Parameter((hidden_size,), dtype)
        self.bias: Parameter | None = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return x divided, times the weight."""
        made = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return made if self.bias is None else op.add(made, self.bias)


class GroupNorm(Module):
    """Normalisation of groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.num_groups: int = num_groups
        self.num_channels: int = num_channels
        self.eps: float = eps
        self.weight: Parameter | None = Parameter((num_channels,), dtype) if affine else None
        self.bias: Parameter | None = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: list[int] | None = None) -> Tensor:
        """Return x normalised, over axes that are by default those behind the channels."""
        return op.group_norm(
            x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes
        )


class Embedding(Module):
    """A row of a table for each index.

    Args:
        num: how many rows; may be the name of a symbol.
        dim: their length; may be the name of a symbol.
        dtype: of the table.
    """

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num: Any = num
        self.dim: Any = dim
        self.weight: Parameter = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows of x, (*x.shape, dim)."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, shape=[-1]), axis=0)
        return op.reshape(rows, shape=[*x.shape, self.weight.shape[1]])


class TimestepEmbedding(Module):
    """Two linear layers over embedded time steps, as diffusion models have them."""

    def __init__(
        self, in_channels: int, time_embed_dim: int, act_fn: str = "silu",
        out_dim: int | None = None, post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:  # fmt: skip
        if act_fn != "silu" or post_act_fn not in (None, "silu"):
            raise ValueError("activations of TimestepEmbedding are 'silu'")
        self.linear_1: Linear = Linear(in_channels, time_embed_dim)
        has_condition = cond_proj_dim is not None
        self.cond_proj: Linear | None = (
            Linear(cond_proj_dim, in_channels, bias=False) if has_condition else None
        )
        self.act: SiLU = SiLU()
        self.linear_2: Linear = Linear(
            time_embed_dim, time_embed_dim if out_dim is None else out_dim
        )
        self.post_act: SiLU | None = SiLU() if post_act_fn else None

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the projection of a sample, to which that of a condition is added first."""
        if condition is not None and self.cond_proj is not None:
            sample = sample + self.cond_proj(condition)
        sample = self.linear_2(self.act(self.linear_1(sample)))
        return sample if self.post_act is None else self.post_act(sample)


class Timesteps(Module):
    """Sines and cosines of time steps; see `op.get_timestep_embedding`."""

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ) -> None:
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """Return the embedding of x."""
        return op.get_timestep_embedding(
            x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift
        )


class Attention(Module):
    """Attention of hidden states to themselves or to those of an encoder, (batch, length, dim)."""

    def __init__(
        self, query_dim: int, cross_attention_dim: int | None = None, heads: int = 8,
        dim_head: int = 64, bias: bool = False, norm_num_groups: int | None = None,
        out_bias: bool = True, scale_qk: bool = True,
    ) -> None:  # fmt: skip
        self.query_dim: int = query_dim
        self.cross_attention_dim: int = cross_attention_dim or query_dim
        self.heads: int = heads
        self.dim_head: int = dim_head
        self.scale: float = dim_head**-0.5 if scale_qk else 1.0
        self.inner_dim: int = dim_head * heads
        self.to_q: Linear = Linear(query_dim, self.inner_dim, bias=bias)
        self.to_k: Linear = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.to_v: Linear = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        has_norm = norm_num_groups is not None
        self.group_norm: GroupNorm | None = (
            GroupNorm(norm_num_groups, query_dim) if has_norm else None
        )
        self.to_out: ModuleList = ModuleList([Linear(self.inner_dim, query_dim, bias=out_bias)])

    def forward(
        self, hidden_states: Tensor, encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the attention's result in the dimensions of the hidden states."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = self.to_q(hidden_states), self.to_k(source), self.to_v(source)
        split = [0, -1, self.heads, self.dim_head]
        query, key, value = (op.reshape(each, split) for each in (query, key, value))
        made = op.scaled_dot_product_attention(query, key, value, attention_mask)
        return self.to_out[0](op.reshape(made, [0, -1, self.inner_dim]))
