"""Random numbers: the generator's published bits, kernels against numpy, distributions."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, runtime
from relax_mlir.philox import philox
from relax_mlir.relax import op
from relax_mlir.runtime.library.random import RANDOM

pytestmark = pytest.mark.unoptimized

KEY = np.array([2**63 + 12345, 7], "uint64")
DTYPES = ("float16", "float32", "float64")


def binary(kind: str, a: int, b: int) -> int:
    results = {"add": a + b, "mul": a * b, "xor": a ^ b, "and": a & b, "shr": a >> b}
    return results[kind] % 2**64


# kat_vectors of Random123, the implementation that belongs to the paper.
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_bits(counter: list[int], key: list[int], expected: str) -> None:
    assert " ".join(f"{word:08x}" for word in philox(counter, key, binary)) == expected


def build(make: Any, *types: Any) -> Any:
    """Return the compiled function of a key and other operands."""
    operands = [relax.Var("key", relax.TensorType([2], "uint64"))]
    operands += [relax.Var(f"x{i}", each) for i, each in enumerate(types)]
    bb = relax.BlockBuilder()
    with bb.function("main", operands):
        bb.emit_func_output(bb.emit(make(*operands)))
    return relax.VirtualMachine(relax.build(bb.get()))["main"]


ANY = relax.TensorType(["n", "m"], "float32")


@pytest.fixture(scope="module")
def kernels() -> Any:
    def make(key: Any, x: Any) -> Any:
        made = [op.random.uniform(key, x.ty.dims, -1.0, 3.0, dtype=dtype) for dtype in DTYPES]
        made += [op.random.normal(key, x.ty.dims, 2.0, 0.5, dtype=dtype) for dtype in DTYPES]
        return relax.Tuple(made)

    return build(make, ANY)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 5), (37, 129), (300, 70)])
def test_kernels_give_the_numbers_of_the_library(kernels: Any, shape: tuple[int, int]) -> None:
    results = [np.asarray(each) for each in kernels(KEY, np.zeros(shape, "float32"))]
    for dtype, uniform, normal in zip(DTYPES, results[:3], results[3:], strict=True):
        np.testing.assert_array_equal(
            uniform, RANDOM["random_uniform"](KEY, shape, -1.0, 3.0, dtype)
        )
        tolerance = 4 * np.finfo(dtype).eps
        expected = RANDOM["random_normal"](KEY, shape, 2.0, 0.5, dtype)
        np.testing.assert_allclose(normal, expected, rtol=tolerance, atol=tolerance)


def test_bits_do_not_depend_on_threads(kernels: Any) -> None:
    x, results = np.zeros((700, 701), "float32"), []
    before = runtime.num_threads()
    try:
        for count in (1, 2):
            runtime.set_num_threads(count)
            results.append([np.asarray(each) for each in kernels(KEY, x)])
    finally:
        runtime.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_moments(kernels: Any) -> None:
    count = 10**6
    results = kernels(KEY, np.zeros((1000, 1000), "float32"))
    _, single, double, _, *normal = [np.asarray(each) for each in results]
    for uniform in (single, double):
        assert -1 <= uniform.min() <= uniform.max() <= 3
        # Five standard errors, of a variance of 16/12.
        assert abs(uniform.mean() - 1) < 5 * np.sqrt(16 / 12 / count)
    for numbers in normal:
        standard = (numbers.astype("float64") - 2) / 0.5
        assert abs(standard.mean()) < 5 / np.sqrt(count)
        assert abs(standard.var() - 1) < 5 * np.sqrt(2 / count)
        assert abs((standard**3).mean()) < 5 * np.sqrt(15 / count)


def test_seeds_and_streams_are_other_numbers(kernels: Any) -> None:
    x = np.zeros((8, 8), "float32")
    keys = [KEY, KEY + np.uint64([1, 0]), KEY + np.uint64([0, 1])]
    uniform = [np.asarray(kernels(key, x)[1]).ravel() for key in keys]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert not np.isin(uniform[i], uniform[j]).any()


def test_bfloat16() -> None:
    run = build(lambda key: op.random.uniform(key, (64, 9), dtype="bfloat16"))
    expected = RANDOM["random_uniform"](KEY, (64, 9), 0.0, 1.0, "bfloat16")
    np.testing.assert_array_equal(np.asarray(run(KEY)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_multinomial(dtype: str) -> None:
    rows = relax.TensorType(["b", "k"], dtype)
    run = build(lambda key, p: op.random.multinomial(key, p, 20000), rows)
    prob = np.array([[0.1, 0.2, 0.3, 0.4], [0, 0, 1, 0]], dtype)
    samples = np.asarray(run(KEY, prob))
    np.testing.assert_array_equal(samples, RANDOM["random_multinomial"](KEY, prob, 20000))
    assert samples.shape == (2, 20000)
    counts = np.bincount(samples[0], minlength=4) / 20000
    np.testing.assert_allclose(counts, prob[0].astype("float64"), atol=0.02)
    assert set(samples[1]) == {2}


def test_unknown_shape() -> None:
    run = build(lambda key, shape: op.random.uniform(key, shape), relax.ShapeType(ndim=2))
    expected = RANDOM["random_uniform"](KEY, (3, 4), 0.0, 1.0)
    np.testing.assert_array_equal(np.asarray(run(KEY, (3, 4))), expected)


def test_manual_seed_repeats_keys() -> None:
    from relax_mlir.runtime.random_key import next_key

    runtime.manual_seed(42)
    first = [next_key().tolist() for _ in range(3)]
    runtime.manual_seed(42)
    assert [next_key().tolist() for _ in range(3)] == first == [[42, 0], [42, 1], [42, 2]]
    with pytest.raises(ValueError, match="a seed is a number from 0"):
        runtime.manual_seed(-1)
