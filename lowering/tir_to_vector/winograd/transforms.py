"""The linear maps of Winograd convolution with three taps, along one axis.

m outputs take m + 2 products: values of polynomials at 0, at pairs of points a and -a, and at
infinity. See Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016). For four
outputs, errors are smallest if the product of the points is one (Barabasz et al., "Error Analysis
and Improving the Accuracy of Winograd Convolution", 2020).
"""

import math
from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter

# Taps along an axis.
TAPS = 3
# Outputs of a tile along an axis, and the positive ones of the points for them.
POINTS = {2: (1.0,), 4: (math.sqrt(0.5), math.sqrt(2.0))}

TILES = tuple(POINTS)


def transformed_weights(weights: np.ndarray, outputs: int) -> np.ndarray:
    """Return the transformed weights.

    Args:
        weights: any shape that ends in 3 x 3.
        outputs: of a tile along an axis.

    Returns:
        float64, the last two dimensions of `outputs` + 2 each.
    """
    matrix = _weight_matrix(outputs)
    return matrix @ weights.astype("float64") @ matrix.T


def _weight_matrix(outputs: int) -> np.ndarray:
    positive = POINTS[outputs]
    points = [0.0, *(sign * point for point in positive for sign in (1, -1))]
    rows = []
    for point in points:
        scale = math.prod(point - other for other in points if other != point)
        rows.append([point**power / scale for power in range(TAPS)])
    return np.array([*rows, [0.0] * (TAPS - 1) + [1.0]])


def _coefficients(roots: Sequence[float]) -> list[float]:
    """Return the coefficients of a polynomial with given roots, lowest power first."""
    return [float(each) for each in np.atleast_1d(np.poly(roots))[::-1]]


class Transforms:
    """Writes the maps for vectors of channels.

    Args:
        emit: where to write.
        vector: the vectors' type.
        fma: whether the target has FMA.
        outputs: of a tile along an axis.
        weights: outputs of the tiles that weights were transformed for; smaller tiles use some of
            their points, up to factors.

    Attributes:
        elements: which elements of the transformed weights are used along an axis.
    """

    def __init__(
        self, emit: Emitter, vector: ir.VectorType, fma: bool, outputs: int, weights: int
    ) -> None:
        self._emit, self._vector, self._fma = emit, vector, fma
        self._outputs, self._points = outputs, POINTS[weights][: outputs // 2]
        left = [point * point for point in POINTS[weights][outputs // 2 :]]
        # Weights were divided by the distances to the other points too.
        self._factors = [
            math.prod(point * point - other for other in left) for point in (0.0, *self._points)
        ]
        self.elements: list[int] = [*range(outputs + 1), weights + 1]

    def image(self, pixels: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the transform of `outputs` + 2 neighbouring pixels."""
        squares = [point * point for point in self._points]
        # The polynomial that is zero at all points but 0: x^2 - a^2, or that times x^2 - b^2.
        whole = _coefficients(squares)
        first = self._combined(pixels[0 : len(pixels) - 1 : 2], whole)
        last = self._combined(pixels[1 : len(pixels) : 2], whole)
        result = [first]
        for point, square in zip(self._points, squares, strict=True):
            # Without the factor of this point; even powers and odd ones apart.
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
        if self._fma:
            return emit.fused(value, constant, total)
        return self._op("arith.addf", total, self._op("arith.mulf", value, constant))

    def _op(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._emit.op(name, [a, b], self._vector)
