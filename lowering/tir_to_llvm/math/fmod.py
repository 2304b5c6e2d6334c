"""fmod of vectors, exact as C's."""

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes, choose

_INF = float("inf")
# Below these a quotient of f32, or of f64, is rounded to within one of its whole part at most.
_LARGEST_QUOTIENT = {"f32": 2.0**22, "f64": 2.0**51}


def remainder(x: Lanes, y: Lanes) -> Lanes:
    """Return what is left of x after whole multiples of y, with the sign of x.

    One multiply-add gives it without rounding where the quotient is not too large. Where any is,
    all are left to the C library.
    """
    a, b = x.magnitude(), y.magnitude()
    quotient = a / b
    left = (quotient.math("trunc") * -1.0).times_plus(b, a)
    # Of a quotient that was rounded up to a whole number one too many was taken.
    left = (left < 0.0).select(left + b, left)
    left = ((b > a) & (a < _INF)).select(a, left)
    result = left.with_sign_of(x)
    type_ = x.value.type
    largest = _LARGEST_QUOTIENT[str(getattr(type_, "element_type", type_))]
    is_far = (quotient > largest).any()
    (chosen,) = choose(is_far, lambda: [x.by("arith.remf", y)], [result])
    return chosen
