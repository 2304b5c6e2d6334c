"""Convolution and pooling of signals, images and volumes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, pads, per_axis, window_count
from relax_mlir.dialects.relax.infer import InferError, expect_tensor, product_dtype
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different

Rule = Callable[[Sequence[Any], dict[str, Any]], ir.Type]


def _sizes(type_: ir.Type, what: str, layout: BlockedLayout) -> list[SymExpr] | None:
    """Return the sizes of a tensor's axes in the order of the layout's letters."""
    expect_tensor(type_, what)
    if T.tensor_ndim(type_) not in (-1, layout.rank):
        raise InferError(f"{what} must have {layout.rank} dimensions, got {T.tensor_ndim(type_)}")
    dims = T.tensor_dims(type_)
    return None if dims is None else layout.sizes(dims, what)


def _image_layout(layout: str, letters: str) -> BlockedLayout:
    parsed = BlockedLayout.parse(layout, letters)
    if set(parsed.blocks) - {"C"}:
        raise InferError(f"data has blocks of channels only, such as '{letters}4c'")
    return parsed


def _result_layout(attrs: dict[str, Any], source: str, letters: str) -> BlockedLayout:
    return _image_layout(attrs["out_layout"] or attrs[source], letters)


def _result_dtype(types: Sequence[ir.Type], attrs: dict[str, Any]) -> str:
    return product_dtype(types, attrs["out_dtype"])


def _positive(groups: int) -> int:
    if groups < 1:
        raise InferError(f"groups must be positive, got {groups}")
    return groups


def _convolution(rank: int) -> Rule:
    letters, kernel = f"NC{SPATIAL[rank]}", f"OI{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        weight = _sizes(types[1], "weight", BlockedLayout.parse(attrs["kernel_layout"], kernel))
        data = _sizes(types[0], "data", _image_layout(attrs["data_layout"], letters))
        dtype, groups = _result_dtype(types, attrs), _positive(attrs["groups"])
        result = _result_layout(attrs, "data_layout", letters)
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        if weight is not None and can_prove_different(weight[0] % groups, 0):
            raise InferError(f"{weight[0]} output channels do not divide into {groups} groups")
        if data is None or weight is None:
            return T.tensor_type(None, dtype, result.rank)
        channels, taken = data[1], weight[1]
        if can_prove_different(channels, taken * groups):
            raise InferError(
                f"data has {channels} channels, weight takes {taken} for each of {groups} groups"
            )
        sizes = [data[0], weight[0]]
        for axis, (size, window) in enumerate(zip(data[2:], weight[2:], strict=True)):
            sizes.append(window_count(size, window, strides[axis], dilation[axis], around[axis]))
        return T.tensor_type(result.dims(sizes), dtype)

    return infer


def _transposed(rank: int) -> Rule:
    letters, kernel = f"NC{SPATIAL[rank]}", f"OI{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        weight = _sizes(types[1], "weight", BlockedLayout.parse(attrs["kernel_layout"], kernel))
        data = _sizes(types[0], "data", _image_layout(attrs["data_layout"], letters))
        dtype, groups = _result_dtype(types, attrs), _positive(attrs["groups"])
        result = _result_layout(attrs, "data_layout", letters)
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        extra = per_axis(attrs["output_padding"], rank, "output_padding", least=0)
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        most = [max(pair) for pair in zip(strides, dilation, strict=True)]
        if any(more >= bound for more, bound in zip(extra, most, strict=True)):
            raise InferError(
                f"output_padding {extra} must be below the strides or dilations {most}"
            )
        if data is not None and can_prove_different(data[1] % groups, 0):
            raise InferError(f"{data[1]} input channels do not divide into {groups} groups")
        if data is None or weight is None:
            return T.tensor_type(None, dtype, result.rank)
        if can_prove_different(data[1], weight[1]):
            raise InferError(f"data has {data[1]} channels, weight takes {weight[1]}")
        sizes = [data[0], weight[0] * groups]
        for axis, (extent, window) in enumerate(zip(data[2:], weight[2:], strict=True)):
            reach = (window - 1) * dilation[axis] + 1 + extra[axis]
            size = (extent - 1) * strides[axis] + reach - around[axis]
            if size.value is not None and size.value < 1:
                raise InferError(f"padding leaves {size} elements along a spatial axis")
            sizes.append(size)
        return T.tensor_type(result.dims(sizes), dtype)

    return infer


def _pooling(rank: int) -> Rule:
    letters = f"NC{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        data = _sizes(types[0], "data", _image_layout(attrs["layout"], letters))
        dtype, result = T.tensor_dtype(types[0]), _result_layout(attrs, "layout", letters)
        size = per_axis(attrs["pool_size"], rank, "pool_size")
        strides = per_axis(attrs["strides"], rank, "strides")
        dilation = per_axis(attrs["dilation"], rank, "dilation")
        around = [sum(pair) for pair in pads(attrs["padding"], rank)]
        if data is None:
            return T.tensor_type(None, dtype, result.rank)
        sizes = data[:2]
        for axis, extent in enumerate(data[2:]):
            window = SymExpr.const(size[axis])
            sizes.append(
                window_count(
                    extent, window, strides[axis], dilation[axis], around[axis], attrs["ceil_mode"]
                )
            )
        return T.tensor_type(result.dims(sizes), dtype)

    return infer


def _adaptive(rank: int) -> Rule:
    letters = f"NC{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        data = _sizes(types[0], "data", _image_layout(attrs["layout"], letters))
        dtype, result = T.tensor_dtype(types[0]), _result_layout(attrs, "layout", letters)
        expect_kind(types[0], "numeric", "data")
        wanted = attrs["output_size"]
        if wanted is not None:
            wanted = per_axis(wanted, rank, "output_size")
        if data is None:
            return T.tensor_type(None, dtype, result.rank)
        if wanted is not None:
            data[2:] = [SymExpr.const(size) for size in wanted]
        return T.tensor_type(result.dims(data), dtype)

    return infer


def _per_axis(name: str, rank: int, default: Any, least: int = 1) -> Param:
    form = partial(per_axis, count=rank, what=name, least=least)
    return Param(name, "ints", default, form=form)


def _both_ends(padding: Sequence[int], rank: int) -> list[int]:
    before, after = zip(*pads(padding, rank), strict=True)
    return [*before, *after]


def _sliding(rank: int) -> list[Param]:
    return [
        _per_axis("strides", rank, [1] * rank),
        Param("padding", "ints", [0] * (2 * rank), form=partial(_both_ends, rank=rank)),
        _per_axis("dilation", rank, [1] * rank),
    ]


def _layouts(rank: int, kernel: str) -> list[Param]:
    return [
        Param("groups", "int", 1, form=_positive),
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
    _extra = _per_axis("output_padding", _rank, [0] * _rank, least=0)
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
                _per_axis("pool_size", _rank, [1] * _rank),
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
            _per_axis("output_size", _rank, None),
            Param("layout", "str", f"NC{SPATIAL[_rank]}"),
            Param("out_layout", "str", None),
        ],
        _adaptive(_rank),
    )
