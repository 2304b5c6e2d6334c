"""Random numbers at run time, with the bits that kernels give."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.philox import DIGITS, element_words, leading_bits
from relax_mlir.runtime.library.index import INDEX
from relax_mlir.runtime.library.operands import size_of, widen
from relax_mlir.runtime.values.convert import describe, numpy_dtype

_Array = np.ndarray
_BINARY: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "xor": np.bitwise_xor, "and": np.bitwise_and,
    "shr": np.right_shift,
}  # fmt: skip


def _binary(kind: str, a: Any, b: Any) -> Any:
    return _BINARY[kind](a, np.uint64(b) if isinstance(b, int) else b)


def _words(key: _Array, shape: Any) -> list[_Array]:
    if key.dtype != "uint64" or key.shape != (2,):
        raise ArgumentTypeError(f"key must be a uint64 tensor of shape (2,), got {describe(key)}")
    count = math.prod(size_of(shape))
    words = element_words(np.arange(count, dtype="uint64"), list(key), _binary)
    return [word.reshape(shape) for word in words]


def _unit(words: Sequence[_Array], dtype: str, wide: str) -> _Array:
    digits = DIGITS[dtype]
    return leading_bits(words, digits, _binary).astype(wide) * np.dtype(wide).type(0.5**digits)


def _uniform(key: _Array, shape: Any, low: float, high: float, dtype: str = "float32") -> _Array:
    wide = "float64" if dtype == "float64" else "float32"
    unit, cast = _unit(_words(key, shape), dtype, wide), np.dtype(wide).type
    return (unit * cast(high - low) + cast(low)).astype(numpy_dtype(dtype))


def _normal(key: _Array, shape: Any, mean: float, scale: float, dtype: str = "float32") -> _Array:
    wide = "float64" if dtype == "float64" else "float32"
    words = _words(key, shape)
    radius, turn = (_unit(part, wide, wide) for part in (words[:2], words[2:]))
    cast = np.dtype(wide).type
    numbers = np.sqrt(np.log(1 - radius) * cast(-2)) * np.cos(turn * cast(2 * math.pi))
    return (numbers * cast(scale) + cast(mean)).astype(numpy_dtype(dtype))


def _multinomial(key: _Array, prob: _Array, num_samples: int, dtype: str = "int64") -> _Array:
    if prob.ndim != 2:
        raise ArgumentTypeError(
            f"needs a row of probabilities for each sample, got {describe(prob)}"
        )
    shape = (len(prob) * num_samples, 1)
    uniform = _uniform(key, shape, 0.0, 1.0, widen(prob).dtype.name)
    rows = np.repeat(np.arange(len(prob)), num_samples).reshape(shape)
    samples = INDEX["multinomial_from_uniform"](prob, uniform, rows, dtype)
    return samples.reshape(len(prob), num_samples)


# Name -> function of the operands, the attributes that may be symbolic, then the other attributes.
RANDOM: dict[str, Callable[..., Any]] = {
    "random_uniform": _uniform,
    "random_normal": _normal,
    "random_multinomial": _multinomial,
}
