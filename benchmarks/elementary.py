"""Elementary functions: how Relax writes them, and what they are in wider numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from scipy import special

from relax_mlir import relax, script

TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
_ROOT_HALF = np.sqrt(np.longdouble(0.5))
_MODULE = "@I.ir_module\nclass Elementary:\n"
_FUNCTION = """
    @R.function
    def {name}({parameters}):
        with R.dataflow():
            result = {call}
            R.output(result)
        return result
"""


@dataclass(frozen=True)
class Function:
    """A function of one number or two.

    Attributes:
        call: how Relax writes it, of `x` and `y`.
        reference: what it is, of arrays of float64 or wider numbers.
        arguments: their names.
    """

    call: str
    reference: Callable[..., np.ndarray]
    arguments: str = "x"


def _by_mpmath(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of mpmath's, of arrays."""

    def one(x: np.longdouble) -> np.longdouble:
        import mpmath

        with mpmath.workdps(40):
            # An integer and an exponent: mpmath would take the number through float64.
            mantissa, exponent = np.frexp(x)
            exact = mpmath.ldexp(int(np.ldexp(mantissa, 64)), int(exponent) - 64)
            value = getattr(mpmath, name)(exact)
            return np.longdouble(mpmath.nstr(value, 30))

    def every(x: np.ndarray) -> np.ndarray:
        result = getattr(special, name)(x.astype("float64")).astype(np.longdouble)
        # Beyond, they are -1, 0, 1 or 2, or smaller than any number; mpmath has no -0.
        some = (x != 0) & (np.abs(x) < 100)
        result[some] = [one(each) for each in x[some]]
        return result

    return every


def _erf(x: np.ndarray) -> np.ndarray:
    return special.erf(x) if x.dtype == np.float64 else _by_mpmath("erf")(x)


def _erfc(x: np.ndarray) -> np.ndarray:
    return special.erfc(x) if x.dtype == np.float64 else _by_mpmath("erfc")(x)


def _gelu(x: np.ndarray) -> np.ndarray:
    root = _ROOT_HALF.astype(x.dtype)
    return x * 0.5 * _erfc(-x * root)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    root = np.sqrt(2 / (4 * np.arctan(x.dtype.type(1))))
    return x * _sigmoid(2 * root * (x + x.dtype.type("0.044715") * x**3))


def _selu(x: np.ndarray) -> np.ndarray:
    scale, alpha = map(x.dtype.type, ("1.0507009873554805", "1.6732632423543772"))
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 21))))


_NUMPY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": _erf,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": _sigmoid, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
}  # fmt: skip
# What a row of the table is called, and what it is of.
UNARY = {
    **{name: Function(f"R.{name}(x)", reference) for name, reference in _NUMPY.items()},
    # Where the power is not only stored or added up, another form is taken.
    "exp in a product": Function("R.maximum(R.exp(x), R.const(0.0, x.dtype))", np.exp),
    "1 / x": Function("R.divide(R.const(1.0, x.dtype), x)", lambda x: 1 / x),
    "nn.silu": Function("R.nn.silu(x)", lambda x: x / (1 + np.exp(-x))),
    "nn.gelu": Function("R.nn.gelu(x)", _gelu),
    "nn.gelu_tanh": Function("R.nn.gelu_tanh(x)", _gelu_tanh),
    "nn.selu": Function("R.nn.selu(x)", _selu),
    "nn.softplus": Function("R.nn.softplus(x)", _softplus),
}
BINARY = {
    "x / y": Function("R.divide(x, y)", np.divide, "xy"),
    "power": Function("R.power(x, y)", np.power, "xy"),
    "atan2": Function("R.atan2(x, y)", np.arctan2, "xy"),
    "mod": Function("R.mod(x, y)", np.fmod, "xy"),
    "floor_mod": Function("R.floor_mod(x, y)", np.mod, "xy"),
}
FUNCTIONS = {**UNARY, **BINARY}


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return numpy's dtype of that name, bfloat16 too."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def compiled(names: Sequence[str], dtype: str, target: str) -> dict[str, Callable[..., np.ndarray]]:
    """Return functions of arrays of any length, compiled for a CPU of that name."""
    source = _MODULE
    for number, name in enumerate(names):
        function = FUNCTIONS[name]
        parameters = ", ".join(f'{x}: R.Tensor(("n",), "{dtype}")' for x in function.arguments)
        call = function.call.replace("x.dtype", f'"{dtype}"')
        source += _FUNCTION.format(name=f"f{number}", parameters=parameters, call=call)
    machine = relax.VirtualMachine(
        relax.build(script.from_source(source), f"llvm -mcpu={target} -num-threads=1")
    )
    return {name: machine[f"f{number}"] for number, name in enumerate(names)}
