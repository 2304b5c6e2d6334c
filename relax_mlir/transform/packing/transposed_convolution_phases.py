"""Transposed convolutions as one prim func of the weights of each output phase.

Windows of outputs at one place modulo the strides differ in their sizes and in where they begin.
Both are numbers that run time passes, so that kernels for all places are one function.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.lowering.relax_to_tir.conv_pool import ChannelAt, Channels, convolve, padded
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer

# Of wider windows the order of sums says how they are best written out.
_MAX_TAPS = 2


@dataclass(frozen=True)
class PhaseAxis:
    """A spatial axis of outputs.

    Attributes:
        stride: how many places there are.
        counts: for each place how many elements of the window give something to it.
        shifts: for each place the first element of the data that does, from its own on.
        dilation: the distance of such elements.
        inputs: elements of the data.
        outputs: all outputs.
    """

    stride: int
    counts: tuple[int, ...]
    shifts: tuple[int, ...]
    dilation: int
    inputs: SymExpr
    outputs: SymExpr

    @property
    def known(self) -> int | None:
        """The count of all places, None where they differ."""
        return self.counts[0] if len({*self.counts}) == 1 else None

    @property
    def before(self) -> int:
        """How much padding the data needs in front."""
        return max(0, -min(self.shifts))

    @property
    def size(self) -> SymExpr:
        """How many outputs are computed for each place: as many as any of them has."""
        return (self.outputs + (self.stride - 1)) // self.stride

    @property
    def after(self) -> int | None:
        """How much padding the data needs behind, None where no number is enough."""
        reach = max(
            s + (n - 1) * self.dilation for s, n in zip(self.shifts, self.counts, strict=True)
        )
        behind = (self.size - self.inputs + reach).value
        return None if behind is None else max(0, behind)

    def at(self, place: int) -> SymExpr:
        """Return how many outputs there are at a place."""
        return (self.outputs - place + (self.stride - 1)) // self.stride


@dataclass(frozen=True)
class Phases:
    """A transposed convolution of several places; channels lie last in its result.

    Attributes:
        op: the operation.
        attrs: its attributes.
        axes: of the outputs.
        images: how many images there are.
        channels: how many of the output there are.
        dtype: of the output.
    """

    op: ir.Operation
    attrs: Mapping[str, Any]
    axes: Sequence[PhaseAxis]
    images: SymExpr
    channels: int
    dtype: str

    @property
    def are_alike(self) -> bool:
        """Whether one function computes all of them as fast as one for each would."""
        return any(axis.stride > 1 for axis in self.axes) and all(
            axis.after is not None and max(axis.counts) <= _MAX_TAPS for axis in self.axes
        )

    def places(self) -> list[tuple[int, ...]]:
        """Return all places, those of the last axis adjacent."""
        return list(itertools.product(*(range(axis.stride) for axis in self.axes)))

    def compute(
        self, legalizer: Legalizer, kernels: Mapping[tuple[int, ...], ir.Value], lanes: int
    ) -> ir.Value | None:
        """Return the outputs, None where the dtypes have no prim func.

        Args:
            legalizer: of the module.
            kernels: for each place those of a plain convolution: blocks of output channels, window,
                input channels, and output channels of a block if `lanes` is not 1.
            lanes: output channels of a block.
        """
        parts = [self._part(legalizer, place, kernels[place], lanes) for place in self.places()]
        if any(part is None for part in parts):
            return None
        return self.join(legalizer, [part for part in parts if part is not None])

    def _part(
        self, legalizer: Legalizer, place: tuple[int, ...], kernel: ir.Value, lanes: int
    ) -> ir.Value | None:
        data, attrs, axes = self.op.operands[0], self.attrs, self.axes
        rank, groups = len(axes), attrs["groups"]
        letters = f"NC{SPATIAL[rank]}"
        n, c, *spots = layout_axes(attrs["data_layout"], letters)
        shape, weight = T.known_dims(data.type), T.known_dims(kernel.type)
        taken = set().union(*(dim.symbols for dim in (*shape, self.images)))
        names = [_free(f"{what}{i}", taken) for what in ("window", "skip") for i in range(rank)]
        windows = [
            SymExpr.var(name) if axis.known is None else SymExpr.const(axis.known)
            for name, axis in zip(names, axes, strict=False)
        ]
        skips = [SymExpr.var(name) for name in names[rank:]]
        sizes = [self.images, *(axis.size for axis in axes), SymExpr.const(self.channels)]
        declared = [shape, [weight[0], *windows, *weight[1 + rank :]], sizes]
        inputs = weight[1 + rank]
        channels = Channels(1 + rank, groups, SymExpr.const(self.channels // groups), lanes)
        around = {
            spot: (axis.before, axis.after or 0) for spot, axis in zip(spots, axes, strict=True)
        }

        def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
            source, weights, out = buffers
            image = padded(builder, source, around, 0)

            def where(
                at: Sequence[Scalar], ci: Scalar, group: Scalar, window: Sequence[Scalar]
            ) -> list[Scalar | int]:
                result: list[Scalar | int] = [0] * (rank + 2)
                result[n] = at[0]
                result[c] = ci if groups == 1 else group * builder.symbol(inputs) + ci
                for axis, skip, spot, output, step in zip(
                    axes, skips, spots, at[1:], window, strict=False
                ):
                    result[spot] = output + builder.symbol(skip) + step * axis.dilation
                return result

            def which(at: ChannelAt, ci: Scalar, window: Sequence[Scalar]) -> list[Scalar]:
                block = at.block
                if groups > 1:
                    block = at.group * builder.symbol(channels.blocks) + block
                return [block, *window, ci, *([at.lane] if lanes > 1 else [])]

            reduced = [inputs, *windows]
            convolve(
                builder, "conv_transpose", (image, weights, out), channels, reduced, where, which
            )

        passed = {
            skip.name or "": SymExpr.const(axis.shifts[i] + axis.before)
            for axis, i, skip in zip(axes, place, skips, strict=True)
        }
        bound = {dim.name for dims in declared for dim in dims if dim.name}
        used = set().union(*(dim.symbols for dims in declared for dim in dims))
        passed.update({name: SymExpr.var(name) for name in sorted(used - bound)})
        return legalizer.call_general(
            self.op, "conv_transpose", [data, kernel], T.tensor_type(sizes, self.dtype), declared,
            passed, body, f"{attrs}{axes}",
        )  # fmt: skip

    def join(self, legalizer: Legalizer, parts: Sequence[ir.Value]) -> ir.Value | None:
        """Return the outputs of all places from those of each, None where they have no prim func.

        Args:
            legalizer: of the module.
            parts: tensors with channels last, in the order of `places`.
        """
        axes, places = self.axes, self.places()
        channels = SymExpr.const(self.channels)
        dims = [self.images, *(axis.outputs for axis in axes), channels]

        def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
            *sources, out = buffers
            for place, source in zip(places, sources, strict=True):
                sizes = [axis.at(i) for axis, i in zip(axes, place, strict=True)]
                with builder.nest("interleave", spatial([self.images, *sizes, channels])) as block:
                    image, *inner, channel = block
                    where = [
                        at * axis.stride + i for at, axis, i in zip(inner, axes, place, strict=True)
                    ]
                    out.store(source[tuple(block)], (image, *where, channel))

        return legalizer.call_prim(
            self.op, "interleave", list(parts), body, str(axes),
            result=T.tensor_type(dims, self.dtype),
        )  # fmt: skip


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
