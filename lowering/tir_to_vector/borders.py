"""Convolutions of padded images without a padded copy: what lies outside is left out of sums."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr, product
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.convolution import Convolution, match_convolution
from relax_mlir.lowering.tir_to_vector.convolution_tiles import tiles_of
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest, inner_dims, linear
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.padding import Padded, match_padded_use
from relax_mlir.lowering.tir_to_vector.window_epilogue import join_window, walks


@dataclass
class PaddedAxis:
    """A padded dimension of an image, indexed by `pixel * stride + step * dilation - before`.

    Attributes:
        pixel: an iterator of the output, None for none.
        stride: its factor.
        step: an iterator of the window, None where it has one element.
        dilation: its factor.
        before: how far the first window hangs over.
        size: elements along it.
    """

    pixel: int | None
    stride: int
    step: int | None
    dilation: int
    before: int
    size: SymExpr


@dataclass
class Borders:
    """A convolution that reads an image without its padding.

    Attributes:
        found: the convolution; its image is the one without padding.
        padded: the copy that is not made.
        axes: the padded dimensions.
        followers: the nests that the convolution's epilogue stands for.
    """

    found: Convolution
    padded: Padded
    axes: list[PaddedAxis]
    followers: list[Nest] = field(default_factory=list)

    @property
    def flat(self) -> FlatNest:
        """The convolution's nest."""
        return self.found.flat

    @property
    def nests(self) -> list[Nest]:
        """What it stands for."""
        return [*self.padded.nests, self.flat.nest, *self.followers]

    def axis_of(self, position: int | None) -> PaddedAxis | None:
        """Return the padded dimension that an iterator takes part in."""
        if position is None:
            return None
        return next((axis for axis in self.axes if position in (axis.pixel, axis.step)), None)

    def steps(
        self, emit: Emitter, position: int, extent: Index, env: dict[int, Index]
    ) -> tuple[Index, Index]:
        """Return which steps of a window stay inside the image where its pixel is."""
        axis = self.axis_of(position)
        if axis is None or axis.pixel == self.found.col:
            return 0, extent
        start = emit.sub(
            emit.mul(env.get(axis.pixel, 0) if axis.pixel is not None else 0, axis.stride),
            axis.before,
        )
        up = axis.dilation - 1
        first = emit.div(emit.add(emit.max(emit.sub(0, start), 0), up), axis.dilation)
        room = emit.max(emit.sub(emit.size(axis.size), start), 0)
        last = emit.min(emit.div(emit.add(room, up), axis.dilation), extent)
        return first, last

    def inside(self, col: int, width: int, step: int) -> list[int]:
        """Return which pixels of a row's tile a step of the window along it gives something to."""
        axis = self.axis_of(self.found.col)
        if axis is None:
            return list(range(width))
        size = axis.size.value or 0
        shift = step * axis.dilation - axis.before
        return [p for p in range(width) if 0 <= (col + p) * axis.stride + shift < size]

    def is_inside(self, col: int, width: int) -> bool:
        """Whether all windows of a row's tile are inside the image."""
        steps = self.found.iter(self.found.taps).extent.value or 1
        return all(len(self.inside(col, width, step)) == width for step in (0, steps - 1))


def find_borders(tops: Sequence[ir.Operation], machine: Machine) -> Borders | None:
    """Return the convolution that the third of some nests is, of what the first two pad."""
    found = match_padded_use(tops)
    if found is None or not found[0].is_zero:
        return None
    padded, flat = found

    def match(extended: FlatNest) -> Borders | None:
        return _match(padded, extended, machine)

    def fits(borders: Borders) -> bool:
        return walks(borders.flat, borders.found.along)

    borders = match(flat)
    if borders is None:
        return None
    joined = join_window(flat, tops[3:], match, fits)
    if joined is None:
        return borders
    window = replace(joined.found.found, epilogue=joined.epilogue)
    return replace(joined.found, found=window, followers=joined.followers)


def _match(padded: Padded, flat: FlatNest, machine: Machine) -> Borders | None:
    chosen = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    window = match_convolution(_squeezed(flat, chosen), machine)
    if isinstance(window, str) or window.image.buffer != padded.buffer:
        return None
    axes = _axes(window, flat, padded, chosen)
    if axes is None:
        return None
    borders = Borders(replace(window, image=_unpadded(flat, padded, chosen)), padded, axes)
    return borders if _can_leave_out(borders, machine) else None


def _can_leave_out(borders: Borders, machine: Machine) -> bool:
    found = borders.found
    # A window of one element has no steps to leave out where its pixel is outside.
    if any(axis.step is None for axis in borders.axes):
        return False
    along = borders.axis_of(found.col)
    if along is not None:
        if found.iter(found.col).extent.value is None or along.size.value is None:
            return False
        if along.step != found.taps:
            return False
    # Rows of a tile that hang over differently would need different steps.
    return borders.axis_of(found.row) is None or tiles_of(found, machine).rows[0] == 1


def _squeezed(flat: FlatNest, chosen: list[int]) -> FlatNest:
    accesses = {
        op: FlatAccess(access.buffer, access.offset, [access.strides[i] for i in chosen])
        for op, access in flat.accesses.items()
    }
    return replace(flat, iters=[flat.iters[i] for i in chosen], accesses=accesses)


def _axes(
    found: Convolution, flat: FlatNest, padded: Padded, chosen: list[int]
) -> list[PaddedAxis] | None:
    nest = flat.nest
    access = next(load for load in nest.loads if load.buffer == padded.buffer)
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    axes = []
    for expr, before, after, size in zip(
        access.exprs, padded.before, padded.after, padded.sizes, strict=True
    ):
        if not before and not after:
            continue
        constant, factors = linear(expr)
        terms = {order.index(i): factor for i, factor in factors.items() if factor}
        terms = {chosen.index(i): factor for i, factor in terms.items() if i in chosen}
        steps = [i for i in terms if found.flat.iters[i].reduction]
        pixels = [i for i in terms if i not in steps]
        if constant or len(steps) > 1 or len(pixels) > 1 or min(terms.values(), default=1) < 1:
            return None
        pixel, step = next(iter(pixels), None), next(iter(steps), None)
        stride = 1 if pixel is None else terms[pixel]
        dilation = 1 if step is None else terms[step]
        axes.append(PaddedAxis(pixel, stride, step, dilation, before, size))
    return axes


def _unpadded(flat: FlatNest, padded: Padded, chosen: list[int]) -> FlatAccess:
    """Return the access to the image that the one to its padded copy stands for."""
    nest = flat.nest
    access = next(load for load in nest.loads if load.buffer == padded.buffer)
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    dims = inner_dims(padded.source)
    offset, strides = SymExpr.const(0), [SymExpr.const(0)] * len(chosen)
    for d, (expr, before) in enumerate(zip(access.exprs, padded.before, strict=True)):
        distance = product(dims[d:])
        constant, factors = linear(expr)
        offset = offset + distance * (constant - before)
        for i, factor in factors.items():
            position = order.index(i)
            if position in chosen:
                where = chosen.index(position)
                strides[where] = strides[where] + distance * factor
    return FlatAccess(padded.source, offset, strides)
