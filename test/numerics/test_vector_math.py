"""Elementwise operations over all kinds of floats: infinities, NaN, denormals, any bit pattern."""

import math
import os
import platform
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.target import Target

_ERF = np.vectorize(math.erf, otypes=[float])
_ERFC = np.vectorize(math.erfc, otypes=[float])
REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _ERF, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "nn.relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)), "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc, "square": np.square,
    "sign": np.sign, "negative": np.negative,
    "nn.softplus": lambda x: np.where(x > 20, x, np.log1p(np.exp(x))),
    "exp2": np.exp2, "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "nn.silu": lambda x: x / (1 + np.exp(-x)),
    "nn.gelu": lambda x: x * 0.5 * _ERFC(x * -math.sqrt(0.5)),
}  # fmt: skip
# Units in the last place, where more than 2.5 are allowed: what several roundings end up in.
ALLOWED = {"tan": 3.0, "nn.silu": 3.0, "nn.gelu": 4.0}
BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "power": np.power, "atan2": np.arctan2, "mod": np.fmod, "floor_mod": np.mod,
}  # fmt: skip
DOUBLES = (
    "exp", "exp2", "expm1", "log", "log1p", "tanh", "sinh", "cosh", "sin", "cos", "tan", "asin",
    "acos", "atan", "sigmoid", "log2", "log10", "asinh", "acosh", "atanh", "erf",
)  # fmt: skip
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, -1e-38, 1e-40, 88.7, 89, -88,
         -103.9, -104.5, 3.4e38, -3.4e38, 1, -1, 0.5, -0.5, 0.999, 1.001, 2.5, -2.5]  # fmt: skip
_FUNCTION = """
    @R.function
    def {}({}):
        with R.dataflow():
            y = R.{}
            R.output(y)
        return y
"""


def _function(op: str, arguments: str = "x", dtype: str = "float32") -> str:
    parameters = ", ".join(f'{name}: R.Tensor(("n",), "{dtype}")' for name in arguments)
    name = op.replace(".", "_") + ("" if dtype == "float32" else dtype)
    return _FUNCTION.format(name, parameters, f"{op}({', '.join(arguments)})")


@pytest.fixture(scope="module")
def machine() -> Any:
    functions = "".join(map(_function, REFERENCES))
    functions += "".join(_function(name, "xy") for name in BINARY)
    functions += "".join(_function(name, "x", "float64") for name in DOUBLES)
    functions += "".join(_function(name, "xy", "float64") for name in ("atan2", "power"))
    functions += _function("nn.gelu", "x", "float64")
    functions += """
    @R.function
    def power_of_difference(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        with R.dataflow():
            d = R.subtract(x, y)
            z = R.exp(d)
            R.output(z)
        return z
"""
    module = script.from_source("@I.ir_module\nclass Math:" + functions)
    return relax.VirtualMachine(relax.build(module))


@pytest.mark.parametrize("name", REFERENCES)
def test_ulps_over_the_whole_range(machine: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    ordinary = rng.uniform(-30, 30, 20_000).astype("f4")
    # A length that leaves lanes over at the end.
    x = np.concatenate([np.float32(EDGES), patterns, ordinary])[:-3]
    got = machine[name.replace(".", "_")](x)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype("f8"))
    check(got, exact, ALLOWED.get(name, 2.5))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_power_of_a_difference(machine: Any) -> None:
    """The difference may be taken for what rounding has spoilt already, by a quarter of that."""
    rng = np.random.default_rng(0)
    edges = np.stack(np.meshgrid(np.float32(EDGES), np.float32(EDGES))).reshape(2, -1)
    x, y = np.concatenate([edges, rng.uniform(-60, 40, (2, 20_000)).astype("f4")], axis=1)
    exponent = (x - y).astype("f8")
    for low, high in ((0, 1), (1, 10), (10, 90)):
        here = (np.abs(exponent) >= low) & (np.abs(exponent) < high)
        got = machine["power_of_difference"](x[here], y[here])
        check(got, np.exp(exponent[here]), 2 + high / 4)
    rest = ~(np.abs(exponent) < 110)
    check(machine["power_of_difference"](x[rest], y[rest]), np.exp(exponent[rest]), 0.5)


def check(got: np.ndarray, exact: np.ndarray, allowed: float) -> None:
    with np.errstate(all="ignore"):
        want = exact.astype(got.dtype)
        finite = np.isfinite(want) & np.isfinite(got)
        least = np.finfo(got.dtype).smallest_subnormal
        unit = np.maximum(np.spacing(np.abs(want[finite])), least)
        error = np.abs(got[finite] - exact[finite]) / unit
    np.testing.assert_array_equal(got[~finite], want[~finite])
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(want[finite]))
    assert error.max(initial=0) <= allowed


ACTIVATIONS = ("erf", "nn.gelu", "nn.silu", "sigmoid", "tanh")


@pytest.fixture(scope="module", params=["x86-64", "x86-64-v3"])
def lesser_machine(request: Any) -> Any:
    """Activations as they are without AVX-512, and without a fused multiply-add."""
    if platform.machine() != "x86_64":
        pytest.skip("targets of x86-64")
    functions = "".join(map(_function, ACTIVATIONS))
    module = script.from_source("@I.ir_module\nclass Math:" + functions)
    return relax.VirtualMachine(relax.build(module, f"llvm -mcpu={request.param}"))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_ulps_of_lesser_machines(lesser_machine: Any, name: str) -> None:
    test_ulps_over_the_whole_range(lesser_machine, name)


def test_gelu_far_from_zero(machine: Any) -> None:
    """Where results are smallest; 4.88 units were found here once. Pieces end within it.

    What is taken off a number above that end is some 40 units of it.
    """
    x = np.linspace(4, 14.6, 200_000, dtype="f4") * np.float32([[-1], [1]])
    x = x.ravel()
    check(machine["nn_gelu"](x), REFERENCES["nn.gelu"](x.astype("f8")), ALLOWED["nn.gelu"])


# Numbers and their gelu, to all digits: libm's erfc of a rounded product has fewer.
GELU_OF_DOUBLES = [
    (5.5, 5.499999895557407), (2.25, 2.2224949365261493), (0.75, 0.5800294857173488),
    (0.1, 0.053982783727702904), (1e-09, 5.000000003989423e-10), (-1e-300, -5e-301),
    (-1e-09, -4.999999996010577e-10), (-0.13, -0.058276817734907053), (-0.5, -0.15426876936299344),
    (-1.0, -0.15865525393145705), (-1.75, -0.07010352451167991), (-2.5, -0.015524163314440337),
    (-4.0, -0.0001266849673324797), (-5.9, -1.0723296392286628e-08),
    (-8.3, -4.3206228882589113e-16), (-8.7, -1.4436961568693623e-17),
    (-12.5, -4.665705373597142e-35), (-20.0, -5.507248237212468e-88),
    (-30.0, -1.472014178144456e-196), (-37.25, -1.9734635705229075e-302),
    (-38.0, -1.096462777e-314), (-38.6, -0.0), (0.0, 0.0), (1e308, 1e308), (-1e308, -0.0),
    (np.inf, np.inf), (-np.inf, np.nan), (np.nan, np.nan),
]  # fmt: skip


def test_gelu_of_doubles(machine: Any) -> None:
    """`x * (1 + erf(...))` has no digits left from -6 on, and is nothing from -8.4 on."""
    x, exact = np.array(GELU_OF_DOUBLES).T
    check(machine["nn_gelufloat64"](x), exact, 5.0)


def test_silu_where_results_become_subnormal(machine: Any) -> None:
    """3.12 units were found here once: what was divided had fewer digits than the result."""
    first, last = np.float32([91, 92]).view("i4")
    x = -np.arange(first, last, dtype="i4").view("f4")
    check(machine["nn_silu"](x), REFERENCES["nn.silu"](x.astype("f8")), ALLOWED["nn.silu"])


@pytest.mark.parametrize("name", ["nn.silu", "sigmoid", "nn.gelu", "sin"])
def test_neighbours_change_no_bit(machine: Any, name: str) -> None:
    """What is computed only where some lane of a vector needs it is not taken by the others."""
    function = machine[name.replace(".", "_")]
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, 4096).astype("f4")
    alone = function(x)
    far = np.float32([87, -87, -6, 100, -104.5, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e5])
    places = rng.choice(4096, 200, replace=False)
    x[places] = rng.choice(far, 200)
    left = np.setdiff1d(np.arange(4096), places)
    np.testing.assert_array_equal(function(x)[left].view("i4"), alone[left].view("i4"))


def test_infinite_factors_of_a_gate() -> None:
    """A logistic function and a product are one function; what is no number is as of both."""
    body = """
    @R.function
    def gate(x: R.Tensor(("n",), "float32"), g: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.multiply(R.sigmoid(g), x)
            R.output(y)
        return y
"""
    module = script.from_source("@I.ir_module\nclass Math:" + body)
    machine = relax.VirtualMachine(relax.build(module))
    numbers = np.float32([*EDGES, 100, -100, 1e30, -1e30, 200, -200])
    x, gate = (each.ravel() for each in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        exact = x.astype("f8") / (1 + np.exp(-gate.astype("f8")))
    # A share that no f32 holds may be taken as none.
    lost = (np.abs(x) > 1e9) & (gate < -103)
    got = machine["gate"](x, gate)
    check(got[~lost], exact[~lost], 3.0)
    assert not np.any(np.abs(got[lost]) > np.abs(exact[lost]) * 1.001)


@pytest.mark.parametrize("name", BINARY)
def test_ulps_of_two_arguments(machine: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, (2, 50_000), dtype=np.uint32).view(np.float32)
    ordinary = rng.uniform(-8, 8, (2, 20_000)).astype("f4")
    ordinary[0] = np.abs(ordinary[0])
    numbers = np.float32([*EDGES, 2, 3, -2, -3, 4, 16777217, 1e10, -1e10])
    edges = np.stack(np.meshgrid(numbers, numbers)).reshape(2, -1)
    x, y = np.concatenate([patterns, ordinary, edges], axis=1)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    got = machine[name](x, y)
    with np.errstate(all="ignore"):
        check(got, BINARY[name](x.astype("f8"), y.astype("f8")), 1.5)


@pytest.mark.parametrize("name", ["sin", "atan", "asin", "tan", "tanh", "nn.gelu"])
def test_zeros_keep_their_sign(machine: Any, name: str) -> None:
    x = np.float32([0.0, -0.0] * 40)
    np.testing.assert_array_equal(np.signbit(machine[name.replace(".", "_")](x)), np.signbit(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_remainders_are_exact(dtype: str) -> None:
    """Just below, at and just above multiples; quotients that no float holds; any bit pattern."""
    functions = "".join(_function(name, "xy", dtype) for name in ("mod", "floor_mod"))
    machine = relax.VirtualMachine(
        relax.build(script.from_source("@I.ir_module\nclass Math:" + functions))
    )
    rng, kind = np.random.default_rng(0), np.dtype(dtype)
    bits = np.dtype(f"uint{8 * kind.itemsize}")
    y = rng.integers(1, 50, 3000).astype(kind)
    y[::2] += rng.standard_normal(1500).astype(kind)
    whole = (y * rng.integers(0, 2000, 3000)).astype(kind)
    any_two = rng.integers(0, np.iinfo(bits).max, (2, 3001), dtype=bits).view(kind)
    pairs = [any_two, np.stack([(y * 1e4).astype(kind), y])]
    for near in (whole, np.nextafter(whole, kind.type(0)), np.nextafter(whole, kind.type(np.inf))):
        pairs.append(np.stack([near, y]))
    suffix = "" if dtype == "float32" else dtype
    for x, y in pairs:
        for name, reference in (("mod", np.fmod), ("floor_mod", np.mod)):
            got = machine[f"{name}{suffix}"](x, y)
            with np.errstate(all="ignore"):
                want = reference(x, y)
            np.testing.assert_array_equal(got, want)
            zero = want == 0
            np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no wider numbers to compare with")
@pytest.mark.parametrize("name", DOUBLES)
def test_ulps_of_doubles(machine: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    edges = np.float64([*EDGES, 709.7, 709.8, -745.1, -745.2, 1e308, 5e-324, -5e-324, 1e-310])
    spread = [rng.uniform(-limit, limit, 10_000) for limit in (1, 30, 1e5, 1e9)]
    x = np.concatenate([edges, patterns, *spread])[:-3]
    got = machine[f"{name}float64"](x)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype(np.longdouble))
    check(got, exact, 3.0 if Target.default().has_fma else 15.0)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no wider numbers to compare with")
def test_ulps_of_angles_between_doubles(machine: Any) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**64, (2, 20_000), dtype=np.uint64).view(np.float64)
    edges = np.stack(np.meshgrid(np.float64(EDGES), np.float64(EDGES))).reshape(2, -1)
    numbers = np.concatenate([patterns, rng.uniform(-8, 8, (2, 20_000)), edges], axis=1)
    y, x = map(np.ascontiguousarray, numbers)
    got = machine["atan2float64"](y, x)
    with np.errstate(all="ignore"):
        exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    check(got, exact, 2.5)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no wider numbers to compare with")
def test_ulps_of_powers_of_doubles(machine: Any) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**64, (2, 20_000), dtype=np.uint64).view(np.float64)
    numbers = [*EDGES, 2, 3, -2, -3, 2.0**53 - 1, 1 - 2.0**-53, 1 + 2.0**-52, 1e308, 5e-324, -1e16]
    edges = np.stack(np.meshgrid(numbers, numbers)).reshape(2, -1)
    # Bases near 1, subnormal ones, and results all over the range.
    spread = [
        (1 + rng.uniform(-0.3, 0.4, 20_000), rng.uniform(-2000, 2000, 20_000)),
        (1 + rng.uniform(-1e-3, 1e-3, 20_000), rng.uniform(-7e5, 7e5, 20_000)),
        (np.exp(rng.uniform(-745, 700, 20_000)), rng.uniform(-2, 2, 20_000)),
    ]
    x, y = map(np.ascontiguousarray, np.concatenate([patterns, edges, *spread], axis=1))
    got = machine["powerfloat64"](x, y)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    check(got, exact, 2.0)
    zero = exact.astype("f8") == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(exact[zero]))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no wider numbers to compare with")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_ulps_of_doubles_far_from_zero(machine: Any, name: str) -> None:
    """Also next to quarter turns, the nearest of all doubles among them.

    Without FMA the remainder of that one keeps fewer digits: 7.96 ulp (cos) and 14.37 (tan).
    """
    rng = np.random.default_rng(0)
    far = np.ldexp(rng.uniform(-1, 1, 30_000), rng.integers(20, 1025, 30_000))
    turns = np.pi / 2 * rng.integers(600_000, 2**40, 10_000)
    edges = [6381956970095103.0 * 2.0**797, 2.0**1023, 2.0**20, -(2.0**20) - 1, math.inf, math.nan]
    x = np.concatenate([edges, far, turns, -turns])
    got = machine[f"{name}float64"](x)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype(np.longdouble))
    check(got, exact, 3.0 if Target.default().has_fma else 15.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, -1.0, 0.5])
def test_powers_by_constants(dtype: str, exponent: float) -> None:
    functions = _FUNCTION.format(
        "f", f'x: R.Tensor(("n",), "{dtype}")', f"power(x, R.const({exponent}, '{dtype}'))"
    )
    module = script.from_source("@I.ir_module\nclass Math:" + functions)
    machine = relax.VirtualMachine(relax.build(module))
    x = np.random.default_rng(0).standard_normal(1003).astype(dtype) * 8
    x[:9] = 0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2e-4, -2e-4
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
    check(machine["f"](x), exact, 2.0)


def every_float() -> Iterator[np.ndarray]:
    step = 1 << 24
    for start in range(0, 1 << 32, step):
        yield np.arange(start, start + step, dtype=np.uint64).astype(np.uint32).view(np.float32)


@pytest.mark.skipif(
    "RELAX_MLIR_EVERY_FLOAT" not in os.environ, reason="set RELAX_MLIR_EVERY_FLOAT for 2**32 floats"
)
@pytest.mark.parametrize("name", REFERENCES)
def test_every_float(machine: Any, name: str) -> None:
    for x in every_float():
        with np.errstate(all="ignore"):
            exact = REFERENCES[name](x.astype("f8"))
        check(machine[name.replace(".", "_")](x), exact, ALLOWED.get(name, 2.5))
