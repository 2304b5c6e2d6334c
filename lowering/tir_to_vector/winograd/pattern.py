"""Matching convolutions whose 3 x 3 weights a pass has transformed.

The nest stays as it is. An annotation of its block has the tile, and the transformed weights are
among the buffers that the block reads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.contraction.pattern import match_product
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution, given_buffer
from relax_mlir.lowering.tir_to_vector.emit import Emitter, multiply_add
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest, row_major_strides
from relax_mlir.lowering.tir_to_vector.window import Padded, Window, find_window, index_terms

# Taps along an axis.
TAPS = 3
# Outputs of a tile along an axis, and the positive ones of the points for them.
POINTS = {2: (1.0,), 4: (math.sqrt(0.5), math.sqrt(2.0))}

TILES = tuple(POINTS)


def axis_places(outputs: int) -> list[int]:
    """Return the place of each element along an axis: those that smaller tiles use come first."""
    side, shared = outputs + TAPS - 1, outputs
    if outputs == min(TILES):
        return list(range(side))
    return [*range(shared - 1), *range(shared, side), shared - 1]


def element_places(outputs: int) -> list[int]:
    """Return the place of each element of a transformed tile, by rows: `shared_elements` first."""
    side, shared = outputs + TAPS - 1, outputs if outputs != min(TILES) else 0
    along = axis_places(outputs)

    def place(row: int, column: int) -> int:
        if row >= shared:
            return row * side + column
        if column < shared:
            return row * shared + column
        return shared * shared + row * (side - shared) + column - shared

    return [place(row, column) for row in along for column in along]


def shared_elements(outputs: int) -> int:
    """Return how many elements of a tile smaller tiles use; of the smallest tiles, all.

    Their weights are apart from the others, so that smaller tiles read no other memory.
    """
    return outputs**2 if outputs != min(TILES) else (outputs + TAPS - 1) ** 2


def _coefficients(roots: Sequence[float]) -> list[float]:
    """Return the coefficients of a polynomial with given roots, lowest power first."""
    return [float(each) for each in np.atleast_1d(np.poly(roots))[::-1]]


class Transforms:
    """Writes the maps for vectors of channels.

    Args:
        emit: where to write.
        vector: the vectors' type.
        outputs: of a tile along an axis.
        weights: outputs of the tiles that weights were transformed for; smaller tiles use some of
            their points, up to factors.
    """

    def __init__(self, emit: Emitter, vector: ir.VectorType, outputs: int, weights: int) -> None:
        self._emit, self._vector = emit, vector
        self._outputs, self._points = outputs, POINTS[weights][: outputs // 2]
        left = [point * point for point in POINTS[weights][outputs // 2 :]]
        # Weights were divided by the distances to the other points too.
        self._factors = [
            math.prod(point * point - other for other in left) for point in (0.0, *self._points)
        ]

    def image(self, pixels: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the transform of `outputs` + 2 neighbouring pixels."""
        squares = [point * point for point in self._points]
        # The polynomial that is zero at all points but 0: x^2 - a^2, or that times x^2 - b^2.
        whole = _coefficients(squares)
        first = self._combined(pixels[0 : len(pixels) - 1 : 2], whole)
        last = self._combined(pixels[1 : len(pixels) : 2], whole)
        result = [first]
        for point, square in zip(self._points, squares, strict=True):
            # Without the factor of this point; even and odd powers separately.
            rest = _coefficients([other for other in squares if other != square])
            even = self._combined(pixels[2 : len(pixels) - 1 : 2], rest)
            odd = self._combined(pixels[1 : len(pixels) - 2 : 2], rest)
            result += [self._plus(even, odd, point), self._plus(even, odd, -point)]
        return [*result, last]

    def sums(self, products: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the outputs of `outputs` + 2 sums of products."""
        first, *pairs, last = products
        even, odd = [], []
        for plus, minus in zip(pairs[::2], pairs[1::2], strict=True):
            even.append(self._op("arith.addf", plus, minus))
            odd.append(self._op("arith.subf", plus, minus))
        result = []
        scale, *scales = self._factors
        for power in range(self._outputs):
            terms = odd if power % 2 else even
            factors = [
                point**power * each for point, each in zip(self._points, scales, strict=True)
            ]
            value = self._combined(terms, factors)
            if power == 0:
                value = self._plus(value, first, scale)
            if power == self._outputs - 1:
                value = self._op("arith.addf", value, last)
            result.append(value)
        return result

    def _combined(self, values: Sequence[ir.Value], factors: Sequence[float]) -> ir.Value:
        """Return a linear combination, beginning with a value whose factor is one."""
        order = sorted(range(len(values)), key=lambda i: abs(factors[i] - 1) > 1e-12)
        total: ir.Value | None = None
        for i in order:
            total = self._plus(total, values[i], factors[i])
        assert total is not None
        return total

    def _plus(self, total: ir.Value | None, value: ir.Value, factor: float) -> ir.Value:
        emit = self._emit
        if abs(abs(factor) - 1) < 1e-12 and (total is not None or factor > 0):
            if total is None:
                return value
            return self._op("arith.addf" if factor > 0 else "arith.subf", total, value)
        constant = emit.constant(self._vector, factor)
        if total is None:
            return self._op("arith.mulf", value, constant)
        return multiply_add(emit, value, constant, total)

    def _op(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._emit.op(name, [a, b], self._vector)


# Iterators of the nest: images, groups, output channels of a group, rows and columns; then input
# channels of a group and the window.
IMAGES, GROUPS, OUTPUTS, ROWS, COLUMNS, INPUTS, DOWN, ACROSS = range(8)
# A block's annotation: outputs of a tile along an axis, and output channels of a panel.
WINOGRAD = "tir.winograd"
_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


@dataclass(kw_only=True)
class Winograd(Window):
    """A convolution with transformed weights: its nest has the iterators above, but no weights.

    Attributes:
        source: the image, without padding.
        dims: the image's dimensions of images, channels, rows and columns.
        weight: the access of the weights, by iterators of the original nest.
        walks: for each iterator above those of the original nest, the innermost last.
        extents: their extents.
        direct: the same convolution with the weights themselves; None before it is asked for.
    """

    source: ir.Value
    dims: tuple[int, int, int, int]
    weight: FlatAccess
    walks: dict[int, list[int]]
    extents: list[SymExpr]
    direct: Convolution | None = None

    @property
    def along(self) -> int:
        """The iterator along which vectors of sums are stored."""
        return OUTPUTS if self.out.strides[OUTPUTS] == 1 else COLUMNS

    def extent(self, position: int) -> SymExpr:
        """Return the extent of an iterator."""
        return self.flat.iters[position].extent

    def before(self, axis: int) -> int:
        """Return the padding before the image along ROWS or COLUMNS."""
        return 0 if self.padded is None else self.padded.before[self.dims[axis - 1]]

    def size(self, axis: int) -> SymExpr:
        """Return the rows or columns of the image."""
        if self.padded is not None:
            return self.padded.sizes[self.dims[axis - 1]]
        return self.extent(axis) + (TAPS - 1)

    @property
    def channels_last(self) -> bool:
        """Whether the image is NHWC."""
        return self.dims[1] == 3

    @property
    def source_strides(self) -> list[SymExpr]:
        """The strides of images, channels, rows and columns."""
        strides = row_major_strides(self.source)
        return [strides[d] for d in self.dims]

    @property
    def note(self) -> tuple[int, int, ir.Value] | None:
        """The tile, the panel and the transformed weights; None if no pass has made any."""
        given = given_buffer(self.flat.nest, WINOGRAD)
        if given is None:
            return None
        (outputs, panel), weights = given
        return outputs, panel, weights


def find_winograd(tops: Sequence[ir.Operation]) -> Winograd | None:
    """Return the 3 x 3 convolution that some nests begin with, or pad an image for."""
    return find_window(tops, _match)


def _match(flat: FlatNest, padded: Padded | None) -> Winograd | None:
    product = match_product(flat)
    if isinstance(product, str) or flat.init is None:
        return None
    if padded is not None and not padded.is_zero:
        return None
    sides, out = product
    if any(str(x.buffer.type.element_type) != "f32" for x in (out, *(s for s, _ in sides))):
        return None
    if ir.FloatAttr(flat.init).value != 0:
        return None
    for (image, _), (weight, _) in (sides, sides[::-1]):
        conv = _assign(flat, image, weight, padded)
        if conv is not None and any(conv.out.strides[i] == 1 for i in (OUTPUTS, COLUMNS)):
            return conv
    return None


def _assign(
    flat: FlatNest, image: FlatAccess, weight: FlatAccess, padded: Padded | None
) -> Winograd | None:
    if padded is not None and padded.buffer != image.buffer:
        return None
    indices = index_terms(flat, image)
    if indices is None or len(indices) != 4 or any(constant != 0 for constant, _ in indices):
        return None
    terms = [factors for _, factors in indices]
    spatial = [i for i, it in enumerate(flat.iters) if not it.reduction]
    windows = [d for d, walk in enumerate(terms) if _is_window(flat, walk)]
    depth = [
        d for d, walk in enumerate(terms)
        if d not in windows and any(flat.iters[i].reduction for i in walk)
    ]  # fmt: skip
    rest = [d for d in range(4) if d not in (*windows, *depth)]
    if (len(windows), len(depth), len(rest)) != (2, 1, 1) or windows[1] != max(*windows, *rest):
        return None
    if 3 not in (depth[0], windows[1]):
        return None
    known: dict[int, list[int]] = {IMAGES: list(terms[rest[0]])}
    for axis, step, d in ((ROWS, DOWN, windows[0]), (COLUMNS, ACROSS, windows[1])):
        known[axis] = [i for i in terms[d] if i in spatial]
        known[step] = [i for i in terms[d] if i not in spatial]
    known[INPUTS] = [i for i in terms[depth[0]] if i not in spatial]
    known[GROUPS] = [i for i in terms[depth[0]] if i in spatial]
    taken = [i for walk in known.values() for i in walk]
    known[OUTPUTS] = [i for i in spatial if i not in taken]
    if len(taken) != len(set(taken)) or not _is_whole(flat, terms, known, depth[0], rest[0]):
        return None
    seen = [i for i, stride in enumerate(weight.strides) if stride != 0]
    if any(i in seen for axis in (IMAGES, ROWS, COLUMNS) for i in known[axis]):
        return None
    if padded is not None and any(padded.before[d] or padded.after[d] for d in (*depth, *rest)):
        return None
    own = next(op for op in flat.slice if flat.accesses.get(op) is weight)
    merged = _merged(flat, known, own)
    if merged is None:
        return None
    source = image.buffer if padded is None else padded.source
    dims = (rest[0], depth[0], windows[0], windows[1])
    return Winograd(
        flat=merged, source=source, padded=padded, dims=dims, weight=weight, walks=known,
        extents=[it.extent for it in flat.iters],
    )  # fmt: skip


def _is_window(flat: FlatNest, terms: dict[int, int]) -> bool:
    steps = [i for i in terms if flat.iters[i].reduction]
    return (
        len(terms) == 2
        and len(steps) == 1
        and flat.iters[steps[0]].extent == TAPS
        and all(factor == 1 for factor in terms.values())
    )


def _is_whole(
    flat: FlatNest, terms: list[dict[int, int]], known: dict[int, list[int]], depth: int, batch: int
) -> bool:
    """Whether iterators are as many as expected, and walk all channels of their group."""
    counts = {axis: len(walk) for axis, walk in known.items()}
    if any(counts[axis] != 1 for axis in (ROWS, COLUMNS, INPUTS, DOWN, ACROSS)):
        return False
    if max(counts[IMAGES], counts[GROUPS]) > 1 or not counts[OUTPUTS]:
        return False
    (channel,) = known[INPUTS]
    ones = (*terms[batch].values(), terms[depth][channel])
    if any(factor != 1 for factor in ones):
        return False
    if any(flat.iters[i].extent.value is None for i in known[OUTPUTS]):
        return False
    size = flat.iters[channel].extent.value
    groups = (flat.iters[i].extent.value for i in known[GROUPS])
    return (
        size is not None
        and None not in groups
        and all(terms[depth][i] == size for i in known[GROUPS])
        and sum(it.reduction for it in flat.iters) == 3
    )


def _merged(flat: FlatNest, known: dict[int, list[int]], weight: ir.Operation) -> FlatNest | None:
    """Return the nest over its eight iterators, without the weights, None if they differ."""
    accesses = {}
    for op, access in flat.accesses.items():
        if op == weight:
            continue
        strides = []
        for axis in range(ACROSS + 1):
            walk = known[axis]
            for outer, inner in pairwise(walk):
                reach = access.strides[inner] * flat.iters[inner].extent
                if access.strides[outer] != reach:
                    return None
            strides.append(access.strides[walk[-1]] if walk else _ZERO)
        accesses[op] = FlatAccess(access.buffer, access.offset, strides)
    iters = []
    for axis in range(ACROSS + 1):
        extent = math.prod((flat.iters[i].extent for i in known[axis]), start=_ONE)
        iters.append(FlatIter(extent, axis > COLUMNS))
    return replace(flat, iters=iters, accesses=accesses, counters={})
