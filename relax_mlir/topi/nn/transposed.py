"""Transposed convolutions: dilation, then a convolution with flipped weights."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.blocks import padded
from relax_mlir.topi.linear_algebra import check_inner, common_dtype
from relax_mlir.topi.nn.convolution import around, windows
from relax_mlir.topi.support import narrowed, spelled, tensor


def _apart(
    data: Tensor, steps: Sequence[int], ends: Sequence[tuple[int, int]], fill: int | float,
    name: str,
) -> Tensor:  # fmt: skip
    """Return elements at a distance, with padding around them."""
    if all(step == 1 for step in steps) and not any(map(any, ends)):
        return data
    shape = [
        plain((SymExpr.of(dim) - 1) * step + 1 + first + last)
        for dim, step, (first, last) in zip(data.shape, steps, ends, strict=True)
    ]
    return padded(name, data, shape, [first for first, _ in ends], fill, steps)


def dilate(
    data: Tensor,
    strides: Sequence[int],
    dilation_value: int | float = 0.0,
    name: str = "DilatedInput",
) -> Tensor:
    """Return elements at a distance along each axis, and a number between them.

    Raises:
        ExprError: there is not one number for each axis.
    """
    if len(strides) != tensor(data, "nn.dilate").ndim or any(step < 1 for step in strides):
        raise ExprError(f"topi.nn.dilate needs a positive number for each of {data.ndim} axes")
    return _apart(data, strides, [(0, 0)] * data.ndim, dilation_value, name)


def _transposed(name: str, rank: int) -> Callable[..., Tensor]:
    def function(
        Input: Tensor, Filter: Tensor, strides: Any = 1, padding: Any = 0, out_dtype: Any = None,
        output_padding: Any = 0, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        if tensor(Input, f"nn.{name}").ndim != rank + 2 or Filter.ndim != rank + 2:
            raise ExprError(f"topi.nn.{name} takes tensors of {rank + 2} dimensions")
        steps = windows(strides, rank, "strides")
        extra = windows(output_padding, rank, "output_padding", least=0)
        channels, per_group, *window = Filter.shape
        known = [width for width in window if isinstance(width, int)]
        count = Input.shape[1]
        if len(known) < rank or not isinstance(channels, int) or channels % groups:
            raise ExprError(f"topi.nn.{name} needs kernels of a known size, and whole groups")
        check_inner(count, channels, f"nn.{name}")
        inner = around(padding, known, [1] * rank, steps, Input.shape[2:])
        ends = [
            (width - 1 - first, width - 1 - last + more)
            for width, (first, last), more in zip(known, inner, extra, strict=True)
        ]
        if any(first < 0 or last < 0 for first, last in ends):
            raise ExprError(f"topi.nn.{name}: padding {padding} is larger than the kernels")
        image = _apart(Input, [1, 1, *steps], [(0, 0), (0, 0), *ends], 0, "pad_temp")
        dtype, wide = common_dtype([Input, Filter], out_dtype)
        depth = channels // groups
        rc = te.reduce_axis((0, depth), "rc")
        over = [te.reduce_axis((0, width), f"r{i}") for i, width in enumerate(known)]
        sizes = [
            plain(SymExpr.of(dim) - (width - 1))
            for dim, width in zip(image.shape[2:], known, strict=True)
        ]
        shape: list[Dim] = [Input.shape[0], plain(SymExpr.of(per_group) * groups), *sizes]

        def element(*at: Any) -> PrimExpr:
            first: Any = rc if groups == 1 else at[1] // per_group * depth + rc
            output = at[1] if groups == 1 else at[1] % per_group
            places = [x + r for x, r in zip(at[2:], over, strict=True)]
            flipped = [width - 1 - r for width, r in zip(known, over, strict=True)]
            left = cast(image[(at[0], first, *places)], wide)
            return te.sum(left * cast(Filter[(first, output, *flipped)], wide), axis=[rc, *over])

        return narrowed(compute(shape, element, name=name), dtype, "T_cast")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return a transposed convolution in {rank} dimensions, channels first.

    The kernels are (input channel, output channel of a group, window).
    """
    return function


FUNCTIONS = {
    name: _transposed(name, rank)
    for name, rank in (
        ("conv1d_transpose_ncw", 1), ("conv2d_transpose_nchw", 2), ("conv3d_transpose_ncdhw", 3),
    )
}  # fmt: skip
FUNCTIONS |= {f"group_{name}": function for name, function in FUNCTIONS.items()}
_DATA = {"Input": "data", "Filter": "kernel"}
_NAMES = {
    "conv1d_transpose_ncw": {**_DATA, "strides": "stride"},
    "group_conv1d_transpose_ncw": {**_DATA, "strides": "stride"},
    "group_conv2d_transpose_nchw": {**_DATA, "strides": "stride"},
    "group_conv3d_transpose_ncdhw": _DATA,
}
# Parameters have the names that each of them has in TVM.
FUNCTIONS |= {name: spelled(FUNCTIONS[name], **names) for name, names in _NAMES.items()}
