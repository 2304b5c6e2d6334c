"""Pass `expand-math`: elementary functions as short branch-free sequences that vectorise.

Without it LLVM calls the C library once per element, in vectors too. Each function is right for
infinities, NaN, signed zero and subnormal numbers; errors stay within 4 units in the last place
of f32 (a test measures them). Coefficients are minimax fits made for this file. f16 and bf16 are
computed in f32, f64 by functions of its own (doubles.py). Functions that are not listed stay calls
of the C library; so do those of f64 without a fused multiply-add, except log1p and expm1, for which
LLVM has no intrinsic: upstream writes log(1 + x) and exp(x) - 1, which lose small x.
"""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.math.activation_patterns import erase_unused, find_composed
from relax_mlir.lowering.tir_to_llvm.math.exponential import (
    EXP,
    LN2_HI,
    LN2_LO,
    ROUNDER,
    clamp,
    exp_of_rounded,
    exp_up_to_one,
    power_of_two,
    scale,
    split_exponent,
    whole_and_rest,
)
from relax_mlir.lowering.tir_to_llvm.math.exponential import exp as quick_exp
from relax_mlir.lowering.tir_to_llvm.math.float64 import DOUBLES
from relax_mlir.lowering.tir_to_llvm.math.fmod import remainder
from relax_mlir.lowering.tir_to_llvm.math.inverse_trigonometry import INVERSE_TRIGONOMETRY
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.outlined_functions import CALLED, LONG, call_functions
from relax_mlir.lowering.tir_to_llvm.math.piecewise_polynomials import GrowingPieces
from relax_mlir.lowering.tir_to_llvm.math.polynomial_forms import (
    area_functions,
    hyperbolic_functions,
    logarithm_of_more,
    logarithms,
)
from relax_mlir.lowering.tir_to_llvm.math.trigonometry import NEED_FMA, TRIGONOMETRY
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import range_of
from relax_mlir.lowering.walk import named

Function = Callable[..., Lanes]
_INF, _NAN = math.inf, math.nan
_SMALLEST_NORMAL = 2.0**-126
_SQRT_HALF_BITS = 0x3F3504F3

# 2**r for r from 0 to 1
_EXP2 = (
    1.0, 0.6931470632553101, 0.2402293086051941, 0.055485282093286514, 0.00967545248568058,
    0.0012467838823795319, 0.00021612942509818822,
)  # fmt: skip
# (log(1 + f) - f + f**2 / 2) / f**3 for 1 + f between the square roots of 1/2 and 2
_LOG = (
    0.3333331048488617, -0.24999986588954926, 0.20002231001853943, -0.1666925698518753,
    0.14218555390834808, -0.1238415464758873, 0.11873586475849152, -0.11791310459375381,
    0.06915805488824844,
)  # fmt: skip
# erf(x) / x - 1 in x**2, for |x| < 0.95
_ERF_SMALL = (
    0.12837916612625122, -0.3761262893676758, 0.11283640563488007, -0.0268564410507679,
    0.005193936638534069, -0.0008065105648711324, 8.05462768767029e-05,
)  # fmt: skip
# log(1 - erf(x)) for x from 0.92 to 4
_ERF_LARGE = (
    -0.0002070085029117763, -1.1276273727416992, -0.6372657418251038, -0.10385637730360031,
    0.022189777344465256, -0.0030336924828588963, 0.00019494675507303327,
)  # fmt: skip
_ERF_SPLIT, _ERF_ONE = 0.925, 4.0
_TANH_ONE = 9.25


def expand_math(op: ir.Operation, target: str | Target = "") -> None:
    """Replace the functions of this file, on floats and vectors of them, by arithmetic.

    Args:
        op: a module, changed in place.
        target: what for; by default the module's (`target_of`).
    """
    chosen = target_of(op, target)
    fma, avx512 = chosen.has_fma, chosen.has_float_parts
    doubles = DOUBLES if fma else _OF_DOUBLES
    # Looked for once unless something changes: a walk over a large kernel takes a millisecond.
    ops = named(op, _LOOKED_AT)
    marked = [each for each in ops if CALLED in each.attributes]
    if marked:
        call_functions(op, marked)
        ops = named(op, _LOOKED_AT)
    if _expand_composed([each for each in ops if each.name in _CORES], fma, avx512):
        ops = named(op, _LOOKED_AT)
    calls: list[ir.Operation] = []
    for each in ops:
        if each.name in _FUNCTIONS and (fma or each.name not in NEED_FMA):
            element = _element(each.results[0].type)
            if element in _WIDENED or (element == "f64" and each.name in doubles):
                calls.append(each)
    divisions = [each for each in ops if each.name == "arith.divf"]
    for division in divisions:
        if _element(division.results[0].type) == "f32" and _is_moderate(division):
            with division.location, ir.InsertionPoint(division):
                a, b = (Lanes(value, fma=fma, avx512=avx512) for value in division.operands)
                division.results[0].replace_all_uses_with(a.quotient(b).value)
            division.erase()
    for call in calls:
        with call.location, ir.InsertionPoint(call):
            result = call.results[0]
            operands = [Lanes(value, fma=fma, avx512=avx512) for value in call.operands]
            functions = [_FUNCTIONS[call.name], doubles.get(call.name)]
            if call.name == "math.exp" and _is_only_stored_or_summed(result):
                functions = [_quickly(function) for function in functions]
            value = _compute(*functions, operands)
            result.replace_all_uses_with(value)
        call.erase()


def _expand_composed(cores: Sequence[ir.Operation], fma: bool, avx512: bool) -> bool:
    """Compute the functions that these are the cores of; returns whether there are any."""
    roots: list[ir.Operation] = []
    for core in cores:
        if core.name == "arith.divf" and _is_moderate(core):
            continue
        match = find_composed(core)
        if match is None:
            continue
        with match.root.location, ir.InsertionPoint(match.root):
            operands = [Lanes(value, fma=fma, avx512=avx512) for value in match.operands]
            value = match.function(*operands).value
        match.root.results[0].replace_all_uses_with(value)
        roots.append(match.root)
    # Not before: what a function is made of may be the core of another.
    for root in roots:
        erase_unused(root)
    return bool(roots)


def _is_moderate(division: ir.Operation) -> bool:
    """Whether a division is of such numbers that a quick one will do."""
    dividend, divisor = map(range_of, division.operands)
    return divisor[0] >= 2.0**-60 and max(divisor[1], -dividend[0], dividend[1]) <= 2.0**60


_WIDENED = ("f16", "bf16", "f32")


def _element(type_: ir.Type) -> str:
    return str(type_.element_type if isinstance(type_, ir.VectorType) else type_)


def _is_only_stored_or_summed(result: ir.Value) -> bool:
    """Whether a result is only stored and summed, so that its rounding error is not amplified."""
    for use in result.uses:
        user = use.owner.operation
        if user.name == "arith.addf":
            if any(_is_constant(value) for value in user.operands):
                return False
        elif user.name not in _ENDS:
            return False
    return True


def _is_constant(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == "vector.broadcast":
        return _is_constant(op.operands[0])
    return op.name == "arith.constant"


def _quickly(function: Function | None) -> Function:
    """Return e**x by a table where the CPU can, or for x up to 0, else by another function."""

    def exp(x: Lanes) -> Lanes:
        if x.can_scale():
            return exp_of_rounded(x) if _is_rounded(x.value) else quick_exp(x)
        if x.rounds_once() and range_of(x.value)[1] <= 0.0 and _is_rounded(x.value):
            return exp_up_to_one(x)
        assert function is not None  # without one it would be left as it is
        return function(x)

    return exp


def _is_rounded(value: ir.Value) -> bool:
    """Whether a value is the difference of two f32 that only run time knows."""
    if isinstance(value.owner, ir.Block) or _element(value.type) != "f32":
        return False
    made = value.owner.operation
    return made.name == "arith.subf" and not any(map(_is_constant, made.operands))


_ENDS = ("arith.truncf", "memref.store", "vector.maskedstore", "vector.store")


def _compute(function: Function, of_doubles: Function | None, operands: list[Lanes]) -> ir.Value:
    narrow = operands[0].value.type
    if _element(narrow) == "f64":
        assert of_doubles is not None  # or it would be left as it is
        return of_doubles(*operands).value
    if _element(narrow) == "f32":
        return function(*operands).value
    value = function(*(each.converted("arith.extf", ir.F32Type.get()) for each in operands))
    element = narrow.element_type if isinstance(narrow, ir.VectorType) else narrow
    return value.converted("arith.truncf", element).value


def _exp_minus_one_near_zero(r: Lanes) -> Lanes:
    return (r * r).times_plus(r.polynomial(EXP), r)


def _exp(x: Lanes) -> Lanes:
    shifted, whole, r = whole_and_rest(clamp(x, -104.0, 89.0))
    power = r.polynomial((1.0, 1.0, *EXP))
    if power.can_scale():
        return power.scaled(whole)
    return scale(power, shifted.bits())


def _exp2(x: Lanes) -> Lanes:
    if x.can_scale():
        # Nothing to bound: of infinity no fraction is left.
        return x.above_floor().polynomial(_EXP2).scaled(x)
    x = clamp(x, -151.0, 129.0)
    shifted = x + ROUNDER
    r = (x - (shifted - ROUNDER)) * math.log(2.0)
    return scale((r * r).times_plus(r.polynomial(EXP), r + 1.0), shifted.bits())


def _expm1(x: Lanes) -> Lanes:
    if range_of(x.value)[1] <= 88.0:
        # The power of two does not overflow, and nothing subnormal is halved.
        n, r = split_exponent(clamp(x, -18.0, 88.0))
        power = power_of_two(n)
        return _exp_minus_one_near_zero(r).times_plus(power, power - 1.0)
    n, r = split_exponent(clamp(x, -18.0, 89.0))
    # half of the result, because 2**n itself may overflow
    half = power_of_two(n - 1)
    result = _exp_minus_one_near_zero(r).times_plus(half, half - 0.5) * 2.0
    return (x.magnitude() < 2.0**-25).select(x, result)


_tanh_in_pieces = GrowingPieces(math.tanh, degree=4, offset=0.625, parts=8, count=32)
_erf_in_pieces = GrowingPieces(math.erf, degree=5, offset=1.375, parts=8)


def _tanh(x: Lanes) -> Lanes:
    if x.can_scale():
        return _tanh_in_pieces(clamp(x.magnitude(), 0.0, _TANH_ONE)).with_sign_of(x)
    # From 9 on e**2x + 1 and e**2x - 1 are the same number.
    e = _expm1(clamp(x.magnitude() * 2.0, 0.0, 20.0))
    return e.quotient(e + 2.0, near=True).with_sign_of(x)


def _half_of_exp(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return e**x / 2 and e**-x / 2 for x >= 0; the first only overflows where cosh does."""
    shifted, _, r = whole_and_rest(clamp(x, 0.0, 90.0))
    half = scale((r * r).times_plus(r.polynomial(EXP), r + 1.0), shifted.bits() - 1)
    return half, half.like(0.25) / half


def _logarithm(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return e, f and y with log(x) = e * ln 2 + f + y, for a positive finite x."""
    is_tiny = x < _SMALLEST_NORMAL
    bits = is_tiny.select(x * 2.0**23, x).bits() - _SQRT_HALF_BITS
    e = (bits >> 23).to_float() - is_tiny.select(x.like(23.0), 0.0)
    f = ((bits & 0x7FFFFF) + _SQRT_HALF_BITS).from_bits() - 1.0
    square = f * f
    y = square.times_plus(-0.5, square * f * f.polynomial(_LOG))
    return e, f, y


def _log_edges(x: Lanes, result: Lanes) -> Lanes:
    result = (x > 0.0).select(result, x.same(0.0).select(x.like(-_INF), _NAN))
    return x.same(_INF).select(x, result)


def _log(x: Lanes) -> Lanes:
    e, f, y = _logarithm(x)
    return _log_edges(x, e.times_plus(LN2_HI, f + e.times_plus(LN2_LO, y)))


_log1p = logarithm_of_more(_log, 2.0**-25)


def _log1p_of_doubles(x: Lanes) -> Lanes:
    u = x + 1.0
    lost = (x - (u - 1.0)) / u
    result = u.math("log") + lost.same(lost).select(lost, 0.0)
    return (x.magnitude() < 2.0**-54).select(x, result)


def _expm1_of_doubles(x: Lanes) -> Lanes:
    u = x.math("exp")
    # The rounding error of u is also in its logarithm, and cancels.
    near = (u - 1.0) * (x / u.math("log"))
    result = (x.magnitude() < 1.0).select(near, u - 1.0)
    return u.same(1.0).select(x, result)


def _erf(x: Lanes) -> Lanes:
    if x.can_scale():
        return _erf_in_pieces(clamp(x.magnitude(), 0.0, _ERF_ONE)).with_sign_of(x)
    magnitude = x.magnitude()
    small = x.times_plus((x * x).polynomial(_ERF_SMALL), x)
    bounded = (magnitude > _ERF_ONE).select(x.like(_ERF_ONE), magnitude)
    n, r = split_exponent(bounded.polynomial(_ERF_LARGE))
    exp = (r * r).times_plus(r.polynomial(EXP), r + 1.0) * power_of_two(n)
    large = (1.0 - exp).with_sign_of(x)
    return (magnitude > _ERF_SPLIT).select(large, small)


_OF_DOUBLES: dict[str, Function] = {
    "math.expm1": _expm1_of_doubles,
    "math.log1p": _log1p_of_doubles,
}
_FUNCTIONS: dict[str, Function] = {
    **TRIGONOMETRY,
    **INVERSE_TRIGONOMETRY,
    **area_functions(_log, _log1p, 4096.0),
    **hyperbolic_functions(_expm1, _half_of_exp),
    **logarithms(_logarithm, _log_edges, 24),
    "arith.remf": remainder,
    "math.erf": _erf,
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": _log,
    "math.log1p": _log1p,
    "math.tanh": _tanh,
}
# Of what compositions are found.
_CORES = ("arith.divf", "math.erf")
_LOOKED_AT = LONG | {*_FUNCTIONS, *_CORES}
