"""Special functions, computed in float64 whatever the dtype of the result.

Series and continued fractions are those of the Digital Library of Mathematical Functions. Relative
errors in float64 are below 1e-12 of positive arguments, away from zeros and poles, but for `erfinv`
near 1 and `ndtri` near 0, which lose what `1 - x` does.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.values import const

# Lanczos' approximation of the gamma function, with g = 7.
_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip
_BERNOULLI = [Fraction(*each) for each in (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
    (43867, 798), (-174611, 330),
)]  # fmt: skip
# Approximations of the inverse of erf in single precision (M. Giles, 2010), of either range.
_CENTER = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
_INF, _NAN = math.inf, math.nan


def _f64(value: float) -> Any:
    return const(float(value), "float64")


def _add(x: Any, value: float) -> Any:
    return op.add(x, _f64(value))


def _times(x: Any, value: float) -> Any:
    return op.multiply(x, _f64(value))


def _over(value: float, x: Any) -> Any:
    return op.divide(_f64(value), x)


def _horner(x: Any, coefficients: Sequence[float]) -> Any:
    """Return a polynomial; its highest coefficient is the first."""
    total = _f64(coefficients[0])
    for each in coefficients[1:]:
        total = _add(op.multiply(total, x), each)
    return total


def _special(*names: str) -> Callable[..., Any]:
    """Register converters of a function of one tensor in float64."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def convert(m: Importer, x: Any) -> Any:
            return m.cast(function(m.emit(m.cast(x, "float64"))), m.dtype)

        converts(*(f"{name}.default" for name in names))(convert)
        return function

    return register


@_special("lgamma", "special_gammaln")
def _lgamma(x: Any) -> Any:
    """Return logarithms of the gamma function's magnitudes; of small numbers by reflection."""
    is_small = op.less(x, _f64(0.5))
    z = _add(op.where(is_small, op.subtract(_f64(1), x), x), -1)
    total = _f64(_LANCZOS[0])
    for i, each in enumerate(_LANCZOS[1:], 1):
        total = op.add(total, _over(each, _add(z, i)))
    t = _add(z, 7.5)
    large = op.subtract(op.multiply(_add(z, 0.5), op.log(t)), t)
    large = op.add(_add(large, 0.5 * math.log(2 * math.pi)), op.log(total))
    sine = op.sin(_times(op.subtract(x, op.floor(x)), math.pi))
    reflected = op.subtract(op.negative(op.log(_times(sine, 1 / math.pi))), large)
    result = op.where(is_small, reflected, large)
    return op.where(op.isinf(x), _f64(_INF), result)


@_special("digamma", "special_psi")
def _digamma(x: Any) -> Any:
    part = op.subtract(x, op.floor(x))
    is_negative = op.less(x, _f64(0))
    y = op.where(is_negative, op.subtract(_f64(1), x), x)
    before = _over(1, y)  # which has a sign of its own for -0
    for i in range(1, 8):
        before = op.add(before, _over(1, _add(y, i)))
    far = _add(y, 8)
    inverse = op.divide(_over(1, far), far)
    terms = [-float(b / (2 * k)) for k, b in enumerate(_BERNOULLI[:8], 1)]
    series = op.multiply(_horner(inverse, terms[::-1]), inverse)
    large = op.add(op.subtract(op.log(far), _over(0.5, far)), op.subtract(series, before))
    result = op.where(
        is_negative,
        op.subtract(large, _over(math.pi, op.tan(_times(part, math.pi)))),
        large,
    )
    is_pole = op.logical_and(is_negative, op.equal(part, _f64(0)))
    return op.where(is_pole, _f64(_NAN), op.where(op.equal(x, _f64(_INF)), x, result))


def _zeta(s: Any, q: Any) -> Any:
    """Return Hurwitz' zeta function by the formula of Euler and Maclaurin."""
    total = _f64(0)
    minus = op.negative(s)
    for k in range(12):
        total = op.add(total, op.power(_add(q, k), minus))
    far = _add(q, 12)
    power = op.power(far, minus)
    total = op.add(total, op.divide(op.multiply(power, far), _add(s, -1)))
    total = op.add(total, _times(power, 0.5))
    factor = op.divide(op.multiply(power, s), far)
    square = op.multiply(far, far)
    for k, b in enumerate(_BERNOULLI, 1):
        total = op.add(total, _times(factor, float(b / math.factorial(2 * k))))
        more = op.multiply(_add(s, 2 * k - 1), _add(s, 2 * k))
        factor = op.divide(op.multiply(factor, more), square)
    is_pole = op.logical_and(op.less_equal(q, _f64(0)), op.equal(q, op.floor(q)))
    total = op.where(op.logical_or(is_pole, op.equal(s, _f64(1))), _f64(_INF), total)
    return op.where(op.less(s, _f64(1)), _f64(_NAN), total)


@converts("special_zeta.default", "special_zeta.other_scalar", "special_zeta.self_scalar")
def _zeta_of(m: Importer, s: Any, q: Any) -> Any:
    return m.cast(_zeta(m.emit(m.cast(s, "float64")), m.emit(m.cast(q, "float64"))), m.dtype)


@converts("polygamma.default", "special_polygamma.default")
def _polygamma(m: Importer, n: int, x: Any) -> Any:
    x = m.emit(m.cast(x, "float64"))
    if n == 0:
        return m.cast(_digamma(x), m.dtype)
    factor = (-1.0) ** (n + 1) * math.factorial(n)
    return m.cast(_times(_zeta(_f64(n + 1), x), factor), m.dtype)


@_special("erfinv", "special_erfinv")
def _erfinv(x: Any) -> Any:
    """Return a first approximation, made better by two of Newton's steps."""
    w = op.negative(op.log(op.multiply(op.subtract(_f64(1), x), _add(x, 1))))
    center = _horner(_add(w, -2.5), _CENTER)
    y = op.multiply(x, op.where(
        op.less(w, _f64(5)), center, _horner(_add(op.sqrt(w), -3), _TAIL)
    ))  # fmt: skip
    for _ in range(2):
        slope = _times(op.exp(op.negative(op.square(y))), 2 / math.sqrt(math.pi))
        y = op.subtract(y, op.divide(op.subtract(op.erf(y), x), slope))
    is_end = op.equal(op.abs(x), _f64(1))
    return op.where(is_end, _times(x, _INF), y)


@_special("special_ndtri")
def _ndtri(x: Any) -> Any:
    return _times(_erfinv(_add(_times(x, 2), -1)), math.sqrt(2))


@_special("special_erfcx")
def _erfcx(x: Any) -> Any:
    near = op.multiply(op.exp(op.square(x)), op.subtract(_f64(1), op.erf(x)))
    far = op.maximum(x, _f64(2))
    fraction = far
    for k in range(60, 0, -1):
        fraction = op.add(far, _over(k / 2, fraction))
    return op.where(op.less(x, _f64(2)), near, _over(1 / math.sqrt(math.pi), fraction))


def _bessel(x: Any, order: int, *, scaled: bool) -> Any:
    """Return the modified Bessel function of the first kind: its series, far away another."""
    size = op.abs(x)
    near = op.minimum(size, _f64(20))
    terms = [1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(50)]
    series = _horner(_times(op.square(near), 0.25), terms[::-1])
    series = op.multiply(series, _times(near, 0.5)) if order else series
    far = op.maximum(size, _f64(20))
    terms = [1.0]
    for k in range(1, 24):
        terms.append(-terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    tail = op.divide(_horner(_over(1, far), terms[::-1]), op.sqrt(_times(far, 2 * math.pi)))
    if scaled:
        series = op.multiply(series, op.exp(op.negative(near)))
    else:
        # Half of the exponent at a time: the product is finite a little longer than the whole.
        half = op.exp(_times(far, 0.5))
        tail = op.multiply(op.multiply(tail, half), half)
    result = op.where(op.less(size, _f64(20)), series, tail)
    return op.multiply(op.sign(x), result) if order else result


for _order in (0, 1):
    _names = (f"special_i{_order}", f"special_modified_bessel_i{_order}")
    _special(*_names, *(["i0"] if _order == 0 else []))(
        lambda x, order=_order: _bessel(x, order, scaled=False)
    )
    _special(f"special_i{_order}e")(lambda x, order=_order: _bessel(x, order, scaled=True))
