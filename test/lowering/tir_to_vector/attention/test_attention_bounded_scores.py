"""Scores that cannot be far from zero are raised without the largest of them: attention like that.

The bound comes from the norms of queries and keys, for a block of queries at once.
"""

from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import check, sample
from targets import with_threads
from thread_counts import check_bits

from relax_mlir.lowering.tir_to_vector import parallel_region

# The bound of scores, as an exponent of e: 2**32.
LIMIT = 32 * np.log(2)
# Keys: what it pays for at least, parts of a vector and of a panel, one block and some.
KEYS = (128, 133, 159, 177, 512, 513, 1101)


def program(dims: tuple[Any, Any, Any, Any] = ("n", "m", "d", "w"), **attrs: Any) -> Program:
    n, m, d, w = dims
    each = [([2, size, 1, depth], "float32") for size, depth in ((n, d), (m, d), (m, w))]
    made = Program()
    made.op("f", "attention", *each, scale=1.0, **attrs)
    return made


@pytest.fixture(scope="module")
def dynamic() -> Any:
    return program().build()


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, last: int | None = None) -> np.ndarray:
    """Return attention; `last` is the last key that the first query sees, None for all."""
    q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
    with np.errstate(invalid="ignore", over="ignore"):
        scores = q @ k.swapaxes(-1, -2)
        if last is not None:
            i, j = np.indices(scores.shape[2:])
            scores[..., j > i + last] = -np.inf
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return (powers / powers.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("most", [1.0, LIMIT - 0.1, LIMIT + 0.1, 4 * LIMIT])
def test_powers(dynamic: Any, most: float) -> None:
    # Of values that are the identity matrix the shares are left.
    for m in KEYS:
        q = np.linspace(-1, 1, 2 * 53, dtype="float32").reshape(2, 53, 1, 1)
        k = np.tile(np.linspace(-most, most, m, dtype="float32").reshape(1, m, 1, 1), (2, 1, 1, 1))
        v = np.tile(np.eye(m, dtype="float32").reshape(1, m, 1, m), (2, 1, 1, 1))
        error = np.abs(dynamic["f"](q, k, v) - (wanted := reference(q, k, v))) - 2.0**-99
        # The rounding of scores shows in the exponentials.
        assert np.all(error <= wanted * 2.0**-24 * (10 + 4 * most)), (m, most)


@pytest.mark.parametrize("m", KEYS)
def test_near_and_far_blocks(dynamic: Any, m: int) -> None:
    # Queries of the second block are long, and so is one key of the second batch.
    q, k, v = (sample((2, size, 1, 19), "float32", size, scale=0.3) for size in (101, m, m))
    q[:, 48:96] *= 40
    k[1, m // 2] *= 1000
    for f in (dynamic["f"], program((101, m, 19, 19)).build()["f"]):
        check(f(q, k, v), reference(q, k, v).astype("float32"), ulps=256, scale=1, what=m)


@pytest.mark.parametrize("kind", ["TopLeft", "BottomRight"])
def test_causal(kind: str) -> None:
    attrs = {"causal_mask": kind}
    dynamic = program(**attrs).build()["f"]
    for n, m in ((101, 128), (150, 133), (203, 177), (301, 513), (1101, 1101)):
        q, k, v = (sample((2, size, 1, 19), "float32", size, scale=0.3) for size in (n, m, m))
        last = m - n if kind == "BottomRight" else 0
        built = [dynamic]
        if n < 250:
            built.append(program((n, m, 19, 19), **attrs).build()["f"])
        wanted = reference(q, k, v, last)
        # Whoever sees nothing gets zeros.
        wanted[:, : max(-last, 0)] = 0
        for f in built:
            check(f(q, k, v), wanted.astype("float32"), ulps=256, scale=1, what=(n, m))
        # Keys behind the last that a query sees change no bit; of a key that is infinite or no
        # number only those that see it know.
        keys, queries, seen = k.copy(), q.copy(), min(max(n + last, 0), m)
        keys[0, seen:, 0, 3], keys[1, seen:, 0, 3] = np.nan, np.inf
        for f in built:
            assert f(q, keys, v).tobytes() == f(q, k, v).tobytes(), (n, m)
        keys[0, seen // 2, 0, 5], keys[1, seen // 2, 0, 5] = np.nan, np.inf
        queries[:, 60:90] *= 40
        row = max(seen // 2 - last, 0)
        for f in built:
            got = f(queries, keys, v)
            assert np.all(np.isnan(got[0, row:]))
            want = reference(queries, k, v, last)
            want[:, : max(-last, 0)] = 0
            want = want.astype("float32")[:, :row]
            check(got[:, :row], want, ulps=256, scale=1, what=(n, m))


def test_special_values(dynamic: Any) -> None:
    q, k, v = (sample((2, size, 1, 16), "float32", size, scale=0.3) for size in (55, 130, 130))
    plain = dynamic["f"](q, k, v)
    one = q.copy()
    one[0, 3, 0, 2] = np.nan
    got = dynamic["f"](one, k, v)
    assert np.all(np.isnan(got[0, 3]))
    assert np.all(np.isfinite(np.delete(got[0], 3, 0)))
    check(got[1], plain[1], ulps=0)
    for place in (0, 63, 129):
        other = k.copy()
        other[1, place, 0, 5] = np.nan
        got = dynamic["f"](q, other, v)
        assert np.all(np.isnan(got[1]))
        check(got[0], plain[0], ulps=0)
        # A key that is infinitely far below all others has no share.
        above = q.copy()
        above[..., 5], other[1, place, 0, 5] = np.abs(q[..., 5]) + 0.1, -np.inf
        wanted = reference(above, other, v).astype("float32")
        check(dynamic["f"](above, other, v), wanted, ulps=64, scale=1)


@pytest.mark.parametrize("size", [1e-30, 1e25])
def test_small_and_large_values(dynamic: Any, size: float) -> None:
    q, k, v = (sample((2, size, 1, 16), "float32", size, scale=0.7) for size in (50, 257, 257))
    wanted = reference(q, k, v) * size
    np.testing.assert_allclose(dynamic["f"](q, k, v * np.float32(size)), wanted, 1e-4, 1e-6 * size)


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    serial, threaded = (program().build(target=with_threads(n)) for n in (1, 5))
    q, k, v = (sample((2, size, 1, 19), "float32", size, scale=0.3) for size in (301, 200, 200))
    # Some blocks are bounded and some are not.
    q[:, 100:130] *= 60
    wanted = serial["f"](q, k, v).tobytes()
    check_bits(lambda: threaded["f"](q, k, v).tobytes(), wanted)
