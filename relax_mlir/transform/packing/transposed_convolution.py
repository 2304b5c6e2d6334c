"""Transposed convolutions as one convolution for each output phase."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import has_blocks
from relax_mlir.dialects.relax.conv_geometry import (
    SPATIAL,
    layout_axes,
    pads,
    per_axis,
    permutation,
)
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.window_checks import expect_outputs
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.packing.constant_weights import BLOCK, is_constant
from relax_mlir.transform.packing.transposed_convolution_phases import PhaseAxis, Phases


@dataclass(frozen=True)
class _Phase:
    """What outputs at one place modulo the stride see along an axis.

    Output `q * stride + place` adds up `x[q + shift + j * dilation]` times element `first + j *
    step` of the mirrored kernel, for `count` values of j.
    """

    first: int
    step: int
    count: int
    shift: int
    dilation: int

    def padding(self, more: int) -> tuple[int, int, int, int]:
        """Return what to pad before and after, and how many outputs too many that gives there.

        Args:
            more: how many more outputs than inputs there are.
        """
        before, skip = max(0, -self.shift), max(0, self.shift)
        after = skip + more + (self.count - 1) * self.dilation - before
        return before, max(0, after), skip, max(0, -after)


@dataclass(frozen=True)
class _Axis:
    """A spatial axis: its phases, `size * stride + rest` outputs of it for so many inputs."""

    stride: int
    rest: int
    phases: tuple[_Phase | None, ...]

    @property
    def more(self) -> int:
        """How many more outputs of a phase than inputs there are."""
        return -(-self.rest // self.stride)


def split_transposed(module: ir.Operation) -> None:
    """Write transposed convolutions of known windows by plain ones, in place."""
    names = {f"relax.conv{rank}d_transpose": rank for rank in SPATIAL}
    legalizer = Legalizer(module)
    for func in functions_to_optimize(module):
        for op in named(func, names, INNER_FIRST):
            with ir.InsertionPoint(op), op.location:
                value = _Splitter(op, names[op.name], legalizer).split()
                if value is None:
                    continue
                if value.type != op.results[0].type:
                    value = ir.Operation.create(
                        "relax.match_cast", results=[op.results[0].type], operands=[value]
                    ).result
            op.results[0].replace_all_uses_with(value)
            op.erase()


class _Splitter:
    def __init__(self, op: ir.Operation, rank: int, legalizer: Legalizer) -> None:
        self.op, self.rank, self.legalizer = op, rank, legalizer
        self.data, self.weight = op.operands
        self.attrs = read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)
        self.last = f"N{SPATIAL[rank]}C"

    def split(self) -> ir.Value | None:
        """Return the sum of what all elements of the window give, None where sizes are unknown."""
        attrs, rank = self.attrs, self.rank
        data, weight = T.tensor_dims(self.data.type), T.tensor_dims(self.weight.type)
        if data is None or weight is None or has_blocks(attrs):
            return None
        _, c, *places = layout_axes(attrs["data_layout"], f"NC{SPATIAL[rank]}")
        order = layout_axes(attrs["kernel_layout"], f"OI{SPATIAL[rank]}")
        outputs, inputs, *windows = (weight[axis].value or 0 for axis in order)
        if 0 in (outputs, inputs, *windows) or data[c] != inputs or 0 in data:
            return None
        self.axes = self._axes(windows)
        # Of windows of one channel each vectors run along the channels: they lie last in all.
        self.single = inputs == attrs["groups"]
        self.kernel = self._mirrored(order, outputs, inputs, windows)
        dtype = attrs["out_dtype"] or T.tensor_dtype(self.data.type)
        sizes = [data[place] + axis.more for place, axis in zip(places, self.axes, strict=True)]
        n = data[layout_axes(attrs["data_layout"], f"NC{SPATIAL[rank]}")[0]]
        channels = SymExpr.const(outputs * attrs["groups"])
        self.dtype, self.dims = dtype, [n, *sizes, channels]
        if self.single and attrs["data_layout"] != self.last:
            axes = permutation(attrs["data_layout"], self.last)
            self.data = build("permute_dims", [self.data], {"axes": axes})
        if any(size.value is not None and size.value < 1 for size in sizes):
            return None
        expect_outputs(self.op)
        value = self._by_phases(outputs * attrs["groups"])
        if value is None:
            value = self._joined(())
            cut = [axis.rest - axis.more * axis.stride for axis in self.axes]
            value = _sliced(value, [(0, -end) for end in cut])
        target = attrs["out_layout"] or attrs["data_layout"]
        if target == self.last:
            return value
        return build("permute_dims", [value], {"axes": permutation(self.last, target)})

    def _by_phases(self, channels: int) -> ir.Value | None:
        """Return the outputs, written by one function; None where a place has nothing to add up."""
        if any(None in axis.phases for axis in self.axes):
            return None
        data = T.known_dims(self.data.type)
        layout = self.last if self.single else self.attrs["data_layout"]
        places = layout_axes(layout, f"NC{SPATIAL[self.rank]}")
        axes = [
            PhaseAxis(
                axis.stride,
                tuple(phase.count for phase in axis.phases if phase),
                tuple(phase.shift for phase in axis.phases if phase),
                max(phase.dilation for phase in axis.phases if phase),
                data[place],
                data[place] * axis.stride + axis.rest,
            )
            for axis, place in zip(self.axes, places[2:], strict=True)
        ]
        phases = Phases(self.op, self.attrs, axes, data[places[0]], channels, self.dtype)
        return self._apart(phases) if self.single else self._alike(phases)

    def _apart(self, phases: Phases) -> ir.Value | None:
        """Return the outputs by a convolution for each phase."""
        if all(axis.stride == 1 for axis in self.axes):
            return None
        parts = [
            self._phase([axis.phases[i] for axis, i in zip(self.axes, place, strict=True)])
            for place in phases.places()
        ]
        return phases.join(self.legalizer, parts)

    def _alike(self, phases: Phases) -> ir.Value | None:
        """Return the outputs by one function for all phases, None where they want their own."""
        if any(
            len({p.dilation for p in axis.phases if p and p.count > 1}) > 1 for axis in self.axes
        ):
            return None
        if not phases.are_alike:
            return None
        blocks = is_constant(self.weight) and not phases.channels % (BLOCK * self.attrs["groups"])
        lanes = BLOCK if blocks else 1
        kernels = {}
        for place in phases.places():
            chosen = [axis.phases[i] for axis, i in zip(self.axes, place, strict=True)]
            kernels[place] = self._blocks([phase for phase in chosen if phase], lanes)
        return phases.compute(self.legalizer, kernels, lanes)

    def _blocks(self, phases: Sequence[_Phase], lanes: int) -> ir.Value:
        """Return a phase's kernels: blocks, window, input channels, channels of a block."""
        kernel, rank = self._cut(phases), self.rank
        outputs, inputs, *windows = T.known_dims(kernel.type)
        if lanes == 1:
            return build("permute_dims", [kernel], {"axes": [0, *range(2, 2 + rank), 1]})
        split = reshape(kernel, [outputs // lanes, lanes, inputs, *windows])
        return build("permute_dims", [split], {"axes": [0, *range(3, 3 + rank), 2, 1]})

    def _cut(self, phases: Sequence[_Phase]) -> ir.Value:
        """Return the elements of the kernels that a phase sees."""
        attrs = {
            "axes": [2 + axis for axis in range(self.rank)],
            "begin": [phase.first for phase in phases],
            "end": [phase.first + (phase.count - 1) * phase.step + 1 for phase in phases],
            "strides": [phase.step for phase in phases],
        }
        return build("strided_slice", [self.kernel], attrs)

    def _axes(self, windows: Sequence[int]) -> list[_Axis]:
        attrs, rank = self.attrs, self.rank
        strides = per_axis(attrs["strides"], rank, "strides")
        dilations = per_axis(attrs["dilation"], rank, "dilation")
        extra = per_axis(attrs["output_padding"], rank, "output_padding", least=0)
        around = pads(attrs["padding"], rank)
        axes = []
        for size, stride, dilation, (before, after), more in zip(
            windows, strides, dilations, around, extra, strict=True
        ):
            phases = []
            for place in range(stride):
                # An element gives something to the outputs that it reaches in whole strides.
                taps = [t for t in range(size) if (place + before - t * dilation) % stride == 0]
                if not taps:
                    phases.append(None)
                    continue
                step = taps[1] - taps[0] if len(taps) > 1 else 1
                shift = (place + before - taps[-1] * dilation) // stride
                spacing = max(1, step * dilation // stride)
                phases.append(_Phase(size - 1 - taps[-1], step, len(taps), shift, spacing))
            rest = (size - 1) * dilation + 1 - stride - before - after + more
            axes.append(_Axis(stride, rest, tuple(phases)))
        return axes

    def _mirrored(
        self, order: list[int], outputs: int, inputs: int, windows: Sequence[int]
    ) -> ir.Value:
        """Return the kernels as those of a plain convolution, mirrored along all axes."""
        groups, value = self.attrs["groups"], self.weight
        o, i, *rest = order
        value = build("permute_dims", [value], {"axes": [i, o, *rest]})
        value = reshape(value, [groups, inputs // groups, outputs, *windows])
        axes = [0, 2, 1, *range(3, 3 + self.rank)]
        value = build("permute_dims", [value], {"axes": axes})
        value = reshape(value, [groups * outputs, inputs // groups, *windows])
        for axis, size in enumerate(windows):
            if size > 1:
                value = build("flip", [value], {"axis": 2 + axis})
        return value

    def _joined(self, phases: tuple[_Phase | None, ...]) -> ir.Value:
        """Return the outputs of given phases along the first axes, of all along the others."""
        number = len(phases)
        if number == self.rank:
            return self._phase(phases)
        axis = self.axes[number]
        parts = [self._joined((*phases, phase)) for phase in axis.phases]
        if len(parts) == 1:
            return parts[0]
        # What follows a place in one phase is what it has in the next.
        before = self.dims[: number + 2]
        inner = [
            size * each.stride
            for size, each in zip(self.dims[number + 2 : -1], self.axes[number + 1 :], strict=True)
        ]
        inner.append(self.dims[-1])
        parts = [reshape(part, [*before, product(inner)]) for part in parts]
        whole = build("concat", [parts], {"axis": number + 2})
        return reshape(whole, [*before[:-1], before[-1] * axis.stride, *inner])

    def _phase(self, phases: Sequence[_Phase | None]) -> ir.Value:
        known = [phase for phase in phases if phase is not None]
        if len(known) < len(phases):
            shape = ir.Operation.create("relax.shape_expr", results=[T.shape_type(self.dims)])
            return build("zeros", [shape.result], {"dtype": self.dtype})
        kernel = self._cut(known)
        around = [phase.padding(axis.more) for phase, axis in zip(known, self.axes, strict=True)]
        attrs: dict[str, Any] = {
            "padding": [pair[0] for pair in around] + [pair[1] for pair in around],
            "dilation": [phase.dilation for phase in known],
            "groups": self.attrs["groups"],
            "data_layout": self.attrs["data_layout"],
            "out_layout": self.last,
            "out_dtype": self.attrs["out_dtype"],
        }
        if self.single:
            order = [*range(2, 2 + self.rank), 1, 0]
            kernel = build("permute_dims", [kernel], {"axes": order})
            layouts = {"data_layout": self.last, "kernel_layout": f"{SPATIAL[self.rank]}IO"}
            attrs = {**attrs, **layouts}
        value = build(f"conv{self.rank}d", [self.data, kernel], attrs)
        return _sliced(value, [(skip, over) for *_, skip, over in around])


def _sliced(value: ir.Value, cuts: Sequence[tuple[int, int]]) -> ir.Value:
    """Return a tensor, channels last, without so much at the ends of its spatial axes."""
    dims = T.tensor_dims(value.type)
    if not any(itertools.chain(*cuts)) or dims is None:
        return value
    attrs = {
        "axes": [1 + axis for axis in range(len(cuts))],
        "begin": [before for before, _ in cuts],
        "end": [dims[1 + axis] - after for axis, (_, after) in enumerate(cuts)],
        "assume_inbound": True,
    }
    return build("strided_slice", [value], attrs)
