"""Maps of several elementary functions, which are computed one after the other by blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_classes import elementwise
from kernels import build, close, run, values

from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, const, unary


def _logistic(x: Scalar) -> Scalar:
    return x / (const(1.0, "float32") + unary("exp", const(0.0, "float32") - x))


def _three(x: Scalar, by: Scalar, row: Scalar) -> Scalar:
    one = const(1.0, "float32")
    first = binary("min", one, unary("tanh", _logistic(x * row + by)))
    # Divided by what is known to be moderate, as far as the bound of the exponent is seen.
    return binary("max", -one, binary("min", one, by)) / (one + unary("exp", first)) - row


def _two(x: Scalar, by: Scalar, row: Scalar) -> Scalar:
    return cast(unary("tanh", unary("exp", x)) * row + by, "float16")


def _wanted_two(x: np.ndarray, by: np.ndarray, row: np.ndarray) -> np.ndarray:
    return (np.tanh(np.exp(x)) * row + by).astype("float16")


def _wanted_three(x: np.ndarray, by: np.ndarray, row: np.ndarray) -> np.ndarray:
    y = x * row + by
    return np.clip(by, -1, 1) / (1 + np.exp(np.tanh(y / (1 + np.exp(-y))))) - row


_MAPS: dict[str, tuple[Callable[..., Scalar], Callable[..., np.ndarray], str]] = {
    "two": (_two, _wanted_two, "float16"),
    "three": (_three, _wanted_three, "float32"),
}
_SHAPES = [["a", "b"], ["a", "b"], ["b"]]
# Around lengths of vectors, of several, and of blocks; none of them a multiple of all.
_ROWS = [(0, 5), (3, 0), (1, 1), (5, 63), (3, 257), (2, 1023), (3, 1025), (2, 2111), (1, 5003)]


@pytest.fixture(scope="module", params=["cached", "non-temporal", "threads"])
def built(request: Any) -> dict[str, Any]:
    options = {
        "cached": {},
        "non-temporal": {"l3_bytes": 4000},
        "threads": {"l3_bytes": 20000, "threads": 2},
    }[request.param]
    functions = [
        elementwise(name, body, [*_SHAPES, ["a", "b"]], ["float32"] * 3 + [dtype])
        for name, (body, _, dtype) in _MAPS.items()
    ]
    return build(functions, **options)


@pytest.mark.parametrize("name", _MAPS)
def test_stages(built: dict[str, Any], name: str) -> None:
    _, wanted, dtype = _MAPS[name]
    for shape in _ROWS:
        inputs = [values(each, "float32") for each in (shape, shape, shape[1:])]
        got = run(built[name], inputs, shape, dtype)
        close(got, wanted(*inputs))


@pytest.mark.parametrize("name", _MAPS)
def test_stages_give_what_single_vectors_do(built: dict[str, Any], name: str) -> None:
    """Rows shorter than several vectors have no stages."""
    dtype = _MAPS[name][2]
    x = values((1, 1100), "float32")
    inputs = [x, x, x[0]]
    whole = run(built[name], inputs, x.shape, dtype)
    for begin in range(0, 1100, 50):
        part = [x[:, begin : begin + 50].copy()] * 2 + [x[0, begin : begin + 50].copy()]
        got = run(built[name], part, (1, 50), dtype)
        np.testing.assert_array_equal(got, whole[:, begin : begin + 50])
