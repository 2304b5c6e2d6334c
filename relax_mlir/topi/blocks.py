"""Stages that copy or reshape parts of buffers."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.te.operation import current_tag
from relax_mlir.te.tensor import ExternOp, Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar.axes import Dim, dims_of

Writer = Callable[[PrimFuncBuilder, list[Buffer], Buffer], None]


def stage(name: str, shape: Sequence[Dim], inputs: Sequence[Tensor], write: Writer) -> Tensor:
    """Return a tensor that blocks write: vector code comes of them where one expression has none.

    Args:
        name: of the stage.
        shape: of the tensor.
        inputs: what it is made of; the first one's dtype is its own.
        write: writes the blocks.
    """

    def body(ins: list[Any], outs: list[Any]) -> None:
        write(ir_builder.current().builder, [each.buffer for each in ins], outs[0].buffer)

    dims, dtype = dims_of(tuple(shape), name), inputs[0].dtype
    made = ExternOp(name, [dims], [dtype], inputs, body, current_tag(), {}, writes_blocks=True)
    return made.outputs[0]


def spatial(dims: Sequence[SymExpr]) -> list[tuple[str, SymExpr]]:
    """Return an axis for each dimension."""
    return [("spatial", dim) for dim in dims]


def reshaped(name: str, data: Tensor, shape: Sequence[Dim]) -> Tensor:
    """Return the elements of a tensor, in row-major order, in a shape of as many elements."""

    def write(builder: PrimFuncBuilder, buffers: list[Buffer], out: Buffer) -> None:
        source, target = (
            each if len(each.dims) == 1 else builder.linear(each) for each in (buffers[0], out)
        )
        with builder.nest(name, spatial(source.dims)) as (i,):
            target.store(source[i], i)

    return stage(name, shape, [data], write)


def padded(
    name: str, data: Tensor, shape: Sequence[Dim], before: Sequence[Dim], fill: int | float,
    steps: Sequence[int] = (),
) -> Tensor:  # fmt: skip
    """Return a tensor whose elements are spread over a larger one, filled with a number."""

    def write(builder: PrimFuncBuilder, buffers: list[Buffer], out: Buffer) -> None:
        # Two plain blocks: neither reads outside of the tensor.
        with builder.nest(f"{name}_fill", spatial(out.dims)) as block:
            out.store(cast(fill, out.dtype), tuple(block))
        _copy(builder, name, buffers[0], out, before, steps)

    return stage(name, shape, [data], write)


def joined(
    name: str, tensors: Sequence[Tensor], shape: Sequence[Dim], starts: Sequence[Sequence[Dim]]
) -> Tensor:
    """Return a tensor put together of others, each from a place on."""

    def write(builder: PrimFuncBuilder, buffers: list[Buffer], out: Buffer) -> None:
        for source, start in zip(buffers, starts, strict=True):
            _copy(builder, name, source, out, start)

    return stage(name, shape, tensors, write)


def _copy(
    builder: PrimFuncBuilder, name: str, source: Buffer, out: Buffer, start: Sequence[Dim],
    steps: Sequence[int] = (),
) -> None:  # fmt: skip
    offsets = [x if isinstance(x, int) else builder.symbol(x) for x in start]
    with builder.nest(name, spatial(source.dims)) as block:
        at = tuple(block)
        value = source[at]
        distances = steps or [1] * len(at)
        spread = [x if step == 1 else x * step for x, step in zip(at, distances, strict=True)]
        moved = tuple(
            index if isinstance(offset, int) and offset == 0 else index + offset
            for index, offset in zip(spread, offsets, strict=True)
        )
        out.store(value, moved)
