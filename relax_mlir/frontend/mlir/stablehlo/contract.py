"""Contractions: `dot_general`, `dot`, `convolution`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax.conv_geometry import SPATIAL
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.reading import stablehlo
from relax_mlir.frontend.mlir.stablehlo.shape import padded
from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

_CONVOLUTIONS = {1: op.conv1d, 2: op.conv2d, 3: op.conv3d}


@converts("stablehlo", "dot_general")
def _dot_general(m: Any) -> Any:
    numbers = stablehlo().DotDimensionNumbers(m.op.attributes["dot_dimension_numbers"])
    batch = (list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions))
    summed = (list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions))
    return _contracted(m, m.x(0), m.x(1), batch, summed)


@converts("stablehlo", "dot")
def _dot(m: Any) -> Any:
    left, right = m.x(0), m.x(1)
    return _contracted(m, left, right, ([], []), ([left.ty.ndim - 1], [0]))


def _contracted(
    m: Any, left: Any, right: Any, batch: tuple[list[int], list[int]],
    summed: tuple[list[int], list[int]],
) -> Any:  # fmt: skip
    """Return a product: dimensions of the batch, then those of the left, then of the right."""
    free = [
        [axis for axis in range(x.ty.ndim) if axis not in (*of_batch, *of_sum)]
        for x, of_batch, of_sum in zip((left, right), batch, summed, strict=True)
    ]
    dims = [
        [[x.ty.dims[axis] for axis in axes] for axes in groups]
        for x, groups in (
            (left, (batch[0], free[0], summed[0])), (right, (batch[1], free[1], summed[1]))
        )
    ]  # fmt: skip
    left = _permuted(left, [*batch[0], *free[0], *summed[0]])
    right = _permuted(right, [*batch[1], *summed[1], *free[1]])
    one = len(summed[0]) == 1 and len(free[1]) == 1
    if one and (len(free[0]) == 1 or (not batch[0] and free[0])):
        return op.matmul(left, right, out_dtype=m.dtype())
    shared = dims[0][0]
    rows, inner, columns = (product(each) for each in (dims[0][1], dims[0][2], dims[1][1]))
    left = op.reshape(left, [*shared, rows, inner])
    right = op.reshape(right, [*shared, inner, columns])
    made = op.matmul(left, right, out_dtype=m.dtype())
    return op.reshape(made, [*shared, *dims[0][1], *dims[1][1]])


def _permuted(x: Any, order: list[int]) -> Any:
    return x if order == list(range(len(order))) else op.permute_dims(x, order)


@converts("stablehlo", "convolution")
def _convolution(m: Any) -> Any:
    numbers = stablehlo().ConvDimensionNumbers(m.op.attributes["dimension_numbers"])
    return _convolved(m, numbers, [list(pair) for pair in m.attr("padding", ())])


@converts("stablehlo", "dynamic_conv")
def _dynamic_convolution(m: Any) -> Any:
    numbers = stablehlo().ConvDimensionNumbers(m.op.attributes["dimension_numbers"])
    edges = m.sizes(2)
    return _convolved(m, numbers, [edges[i : i + 2] for i in range(0, len(edges), 2)])


def _convolved(m: Any, numbers: Any, edges: list[Any]) -> Any:
    places = list(numbers.input_spatial_dimensions)
    rank = len(places)
    if rank not in _CONVOLUTIONS:
        raise ExprError(f"convolutions have 1 to 3 spatial dimensions, got {rank}")
    if m.attr("batch_group_count", 1) != 1:
        raise ExprError("a convolution with groups of the batch cannot be imported")
    data, kernel = m.x(0), m.x(1)
    windows = list(numbers.kernel_spatial_dimensions)
    for axis, is_reversed in zip(windows, m.attr("window_reversal") or [], strict=False):
        kernel = op.flip(kernel, axis=axis) if is_reversed else kernel
    pairs = edges or [[0, 0]] * rank
    spread = m.attr("lhs_dilation") or [1] * rank
    is_plain = all(isinstance(e, int) and e >= 0 for pair in pairs for e in pair)
    if not is_plain or any(each != 1 for each in spread):
        data = _padded_data(m, data, places, pairs, spread)
        pairs = [[0, 0]] * rank
    letters = SPATIAL[rank]
    return _CONVOLUTIONS[rank](
        data, kernel,
        strides=m.attr("window_strides") or [1] * rank,
        padding=[pair[0] for pair in pairs] + [pair[1] for pair in pairs],
        dilation=m.attr("rhs_dilation") or [1] * rank,
        groups=m.attr("feature_group_count", 1),
        data_layout=_layout(
            letters, N=numbers.input_batch_dimension, C=numbers.input_feature_dimension,
            spatial=places,
        ),
        kernel_layout=_layout(
            letters, O=numbers.kernel_output_feature_dimension,
            I=numbers.kernel_input_feature_dimension, spatial=windows,
        ),
        out_layout=_layout(
            letters, N=numbers.output_batch_dimension, C=numbers.output_feature_dimension,
            spatial=list(numbers.output_spatial_dimensions),
        ),
        out_dtype=m.dtype(),
    )  # fmt: skip


def _layout(letters: str, spatial: Sequence[int], **others: int) -> str:
    places = {**dict(zip(letters, spatial, strict=True)), **others}
    return "".join(sorted(places, key=places.__getitem__))


def _padded_data(m: Any, data: Any, places: list[int], edges: list[Any], spread: list[int]) -> Any:
    low, high, inner = ([SymExpr.const(0)] * data.ty.ndim for _ in range(3))
    for axis, (before, after), factor in zip(places, edges, spread, strict=True):
        low[axis], high[axis] = SymExpr.of(before), SymExpr.of(after)
        inner[axis] = SymExpr.const(factor - 1)
    return padded(m, data, const(0, data.ty.dtype), low, high, inner)
