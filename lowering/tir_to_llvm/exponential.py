"""e**x by a table in registers, which leaves so little of x that a short polynomial will do."""

import math
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.lanes import Lanes


@dataclass(frozen=True)
class _Form:
    """What belongs to a type of floats.

    Attributes:
        rounder: adding it leaves the multiple of 1 / `steps` nearest to a number in the low bits.
        steps: numbers in the table, of two registers.
        ln2: as a sum; what multiples of the first leave of a number is exact.
        rest: (e**r - 1) / r for |r| up to ln(2) / 2 / steps.
    """

    rounder: float
    steps: int
    ln2: tuple[float, float]
    rest: tuple[float, ...]


_FORMS = {
    32: _Form(
        1.5 * 2.0**18,
        32,
        (0.6931471824645996, -1.904654290582768e-09),
        (1.0000146627426147, 0.5000045895576477),
    ),
    64: _Form(
        1.5 * 2.0**48,
        16,
        (0.6931471805599453, 2.3190468138462996e-17),
        (
            1.0000000000000022, 0.5000000000000007, 0.1666666666284383, 0.04166666665905806,
            0.008333496271869044, 0.0013889135504538417,
        ),
    ),
}  # fmt: skip


def exp(x: Lanes) -> Lanes:
    """Return e**x within 1.75 units in the last place, where `can_scale`.

    What is left of x is bounded, as that of a large x is no small number: then the scaling alone
    decides, and so it does for infinities and NaN.
    """
    form = _FORMS[x.value.type.element_type.width]
    shifted = x.times_plus(math.log2(math.e), form.rounder)
    whole = shifted - form.rounder
    rest = whole.times_plus(-form.ln2[1], whole.times_plus(-form.ln2[0], x)).limited(1.0)
    power = shifted.bits().picked([2.0 ** (i / form.steps) for i in range(form.steps)], x)
    return power.times_plus(rest.polynomial(form.rest) * rest, power).scaled(whole)
