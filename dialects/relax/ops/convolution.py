"""Convolution and pooling of signals, images and volumes."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout
from relax_mlir.dialects.relax.conv_geometry import (
    SPATIAL,
    layout_axes,
    pads,
    per_axis,
    window_count,
)
from relax_mlir.dialects.relax.infer import InferError, expect_tensor, product_dtype
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.expr import SymExpr

Rule = Callable[[Sequence[Any], dict[str, Any]], ir.Type]


def _image(type_: ir.Type, what: str, rank: int) -> list[SymExpr] | None:
    expect_tensor(type_, what)
    if T.tensor_ndim(type_) not in (-1, rank + 2):
        raise InferError(f"{what} must have {rank + 2} dimensions, got {T.tensor_ndim(type_)}")
    return T.tensor_dims(type_)


def _kernels(type_: ir.Type, layout: BlockedLayout) -> list[SymExpr] | None:
    """Return the sizes of a weight's axes in the order of the layout's letters."""
    if set(layout.blocks) - {"O"}:
        raise InferError("a weight has blocks of output channels only, such as 'OHIW16o'")
    dims = _image(type_, "weight", layout.rank - 2)
    if dims is None:
        return None
    layout.check(dims, "weight")
    return layout.sizes(dims)


def _pixels(type_: ir.Type, layout: BlockedLayout) -> list[SymExpr] | None:
    """Return the sizes of data's axes in the order of the layout's letters."""
    dims = _image(type_, "data", layout.rank - 2)
    if dims is None:
        return None
    layout.check(dims, "data")
    return layout.sizes(dims)


def _ordered(sizes: Sequence[SymExpr], order: Sequence[int]) -> list[SymExpr]:
    """Return sizes in the order of a layout, given where each of its letters stands."""
    dims = [SymExpr.const(0)] * len(sizes)
    for position, size in zip(order, sizes, strict=True):
        dims[position] = size
    return dims


def _result_dtype(types: Sequence[ir.Type], attrs: dict[str, Any]) -> str:
    return product_dtype(types, attrs["out_dtype"])


def _groups(attrs: dict[str, Any]) -> int:
    if attrs["groups"] < 1:
        raise InferError(f"groups must be positive, got {attrs['groups']}")
    return attrs["groups"]


def _convolution(rank: int) -> Rule:
    letters, kernel = f"NC{SPATIAL[rank]}", f"OI{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        weight = _kernels(types[1], BlockedLayout.parse(attrs["kernel_layout"], kernel))
        source = BlockedLayout.of_image(attrs["data_layout"], letters)
        target = BlockedLayout.of_image(attrs["out_layout"] or attrs["data_layout"], letters)
        data = _pixels(types[0], source)
        dtype, groups = _result_dtype(types, attrs), _groups(attrs)
        n, c, *places = o, i, *windows = range(rank + 2)
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        outputs = None if weight is None else weight[o].value
        if outputs is not None and outputs % groups:
            raise InferError(f"{outputs} output channels do not divide into {groups} groups")
        if data is None or weight is None:
            return T.tensor_type(None, dtype, target.rank)
        if data[c].is_const and weight[i].is_const and data[c] != weight[i] * groups:
            raise InferError(
                f"data has {data[c]} channels, weight takes {weight[i]} for each of {groups} groups"
            )
        sizes = [data[n], weight[o]]
        for axis, (place, window) in enumerate(zip(places, windows, strict=True)):
            sizes.append(
                window_count(
                    data[place], weight[window], strides[axis], dilation[axis], around[axis]
                )
            )
        return T.tensor_type(target.dims(sizes), dtype)

    return infer


def _transposed(rank: int) -> Rule:
    letters, kernel = f"NC{SPATIAL[rank]}", f"OI{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        data, weight = _image(types[0], "data", rank), _image(types[1], "weight", rank)
        dtype, groups = _result_dtype(types, attrs), _groups(attrs)
        n, c, *places = layout_axes(attrs["data_layout"], letters)
        o, i, *windows = layout_axes(attrs["kernel_layout"], kernel)
        order = layout_axes(attrs["out_layout"] or attrs["data_layout"], letters)
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        extra = per_axis(attrs["output_padding"], rank, "output_padding", least=0)
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        if any(more >= stride for more, stride in zip(extra, strides, strict=True)):
            raise InferError(f"output_padding {extra} must be below the strides {strides}")
        inputs = None if data is None else data[c].value
        if inputs is not None and inputs % groups:
            raise InferError(f"{inputs} input channels do not divide into {groups} groups")
        if data is None or weight is None:
            return T.tensor_type(None, dtype, rank + 2)
        if data[c].is_const and weight[i].is_const and data[c] != weight[i]:
            raise InferError(f"data has {data[c]} channels, weight takes {weight[i]}")
        sizes = [data[n], weight[o] * groups]
        for axis, (place, window) in enumerate(zip(places, windows, strict=True)):
            reach = (weight[window] - 1) * dilation[axis] + 1 + extra[axis]
            size = (data[place] - 1) * strides[axis] + reach - around[axis]
            if size.value is not None and size.value < 1:
                raise InferError(f"padding leaves {size} elements along a spatial axis")
            sizes.append(size)
        return T.tensor_type(_ordered(sizes, order), dtype)

    return infer


def _pooling(rank: int) -> Rule:
    letters = f"NC{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        source = BlockedLayout.of_image(attrs["layout"], letters)
        target = BlockedLayout.of_image(attrs["out_layout"] or attrs["layout"], letters)
        data, dtype = _pixels(types[0], source), T.tensor_dtype(types[0])
        n, c, *places = range(rank + 2)
        size = per_axis(attrs["pool_size"], rank, "pool_size")
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        if data is None:
            return T.tensor_type(None, dtype, target.rank)
        sizes = [data[n], data[c]]
        for axis, place in enumerate(places):
            window = SymExpr.const(size[axis])
            sizes.append(
                window_count(
                    data[place], window, strides[axis], dilation[axis], around[axis],
                    attrs["ceil_mode"],
                )
            )  # fmt: skip
        return T.tensor_type(target.dims(sizes), dtype)

    return infer


def _adaptive(rank: int) -> Rule:
    letters = f"NC{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        source = BlockedLayout.of_image(attrs["layout"], letters)
        target = BlockedLayout.of_image(attrs["out_layout"] or attrs["layout"], letters)
        data, dtype = _pixels(types[0], source), T.tensor_dtype(types[0])
        expect_kind(types[0], "floating-point", "data")
        wanted = attrs["output_size"]
        if wanted is not None:
            wanted = per_axis(wanted, rank, "output_size")
        if data is None:
            return T.tensor_type(None, dtype, target.rank)
        sizes = list(data)
        if wanted is not None:
            sizes[2:] = [SymExpr.const(size) for size in wanted]
        return T.tensor_type(target.dims(sizes), dtype)

    return infer


def _sliding(rank: int) -> list[Param]:
    return [
        Param("strides", "ints", [1] * rank),
        Param("padding", "ints", [0] * rank),
        Param("dilation", "ints", [1] * rank),
    ]


def _layouts(rank: int, kernel: str) -> list[Param]:
    return [
        Param("groups", "int", 1),
        Param("data_layout", "str", f"NC{SPATIAL[rank]}"),
        Param("kernel_layout", "str", f"{kernel}{SPATIAL[rank]}"),
        Param("out_layout", "str", None),
        Param("out_dtype", "str", None),
    ]


_OPERANDS = [Param("data", "tensor"), Param("weight", "tensor")]
_WORDS = {1: "One-dimensional", 2: "Two-dimensional", 3: "Three-dimensional"}

for _rank, _word in _WORDS.items():
    declare(
        f"conv{_rank}d",
        f"{_word} convolution: cross-correlation of data, padded by zeros, with kernels.",
        [*_OPERANDS, *_sliding(_rank), *_layouts(_rank, "OI")],
        _convolution(_rank),
    )
    _strides, _padding, _dilation = _sliding(_rank)
    _extra = Param("output_padding", "ints", [0] * _rank)
    declare(
        f"conv{_rank}d_transpose",
        f"{_word} transposed convolution: every element spreads a kernel over the result.",
        [*_OPERANDS, _strides, _padding, _extra, _dilation, *_layouts(_rank, "IO")],
        _transposed(_rank),
    )
    for _kind, _what in (("max", "Largest element"), ("avg", "Mean")):
        declare(
            f"{_kind}_pool{_rank}d",
            f"{_what} of every window.",
            [
                Param("data", "tensor"),
                Param("pool_size", "ints", [1] * _rank),
                *_sliding(_rank),
                Param("ceil_mode", "bool", False),
                Param("count_include_pad", "bool", False),
                Param("layout", "str", f"NC{SPATIAL[_rank]}"),
                Param("out_layout", "str", None),
            ],
            _pooling(_rank),
        )
    declare(
        f"adaptive_avg_pool{_rank}d",
        "Mean of windows that divide the data into so many parts as evenly as can be.",
        [
            Param("data", "tensor"),
            Param("output_size", "ints", None),
            Param("layout", "str", f"NC{SPATIAL[_rank]}"),
            Param("out_layout", "str", None),
        ],
        _adaptive(_rank),
    )
