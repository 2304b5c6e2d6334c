"""Scores of which every other pair of products is one of sums: attention like that.

It is chosen if additions go beside FMAs; here, if vectors are wide enough.
"""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import check, sample
from targets import with_threads
from thread_counts import check_bits

from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.attention import setup as attention_setup
from relax_mlir.lowering.tir_to_vector.attention.winograd_dot import winograd_dot_pays

# The squared norm from which on Winograd's dot product is not used, as a power of e.
LIMIT = 32 * np.log(2)


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels of any machine with wide vectors be so."""

    def can(machine: Any, steps: Any) -> bool:
        return winograd_dot_pays(replace(machine, fma_units=1), steps)

    monkeypatch.setattr(attention_setup, "winograd_dot_pays", can)


def program(*dims: Any, scale: float = 1.0, dtype: str = "float32", **attrs: Any) -> Program:
    n, m, d, w = dims
    each = [([2, size, 1, depth], dtype) for size, depth in ((n, d), (m, d), (m, w))]
    made = Program()
    made.op("f", "attention", *each, scale=scale, **attrs)
    return made


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float = 1.0, *, causal: bool = False
) -> np.ndarray:
    q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        i, j = np.indices(scores.shape[2:])
        scores[..., j > i] = -np.inf
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def long(x: np.ndarray, square: float) -> np.ndarray:
    """Return vectors of that length."""
    return (x / np.linalg.norm(x, axis=-1, keepdims=True) * np.sqrt(square)).astype("float32")


@pytest.mark.parametrize("d", [4, 64])
def test_errors(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of values that are the identity matrix the shares are left.
    m = 160
    winograd = program(53, m, d, m).build()["f"]
    monkeypatch.setattr(attention_setup, "winograd_dot_pays", lambda *_: False)
    plain = program(53, m, d, m).build()["f"]
    v = np.tile(np.eye(m, dtype="float32").reshape(1, m, 1, m), (2, 1, 1, 1))
    x, y = (sample((2, size, 1, d), "float32", size, scale=1) for size in (53, m))
    most = 0.999 * LIMIT
    cases = {
        "long": (long(x, most), long(y, most)),
        "along": (long(x + 3, most), long(y + 3, most)),
        "against": (long(x + 3, most), long(y - 3, most)),
        "long keys": (long(x, most * 1e-6), long(y, most)),
        "long queries": (long(x, most), long(y, most * 1e-6)),
        "too long": (long(x, LIMIT * 2), long(y, LIMIT / 4)),
    }
    for name, (q, k) in cases.items():
        wanted = reference(q, k, v)
        errors = [np.abs(f(q, k, v) - wanted) / (wanted * 2.0**-24) for f in (winograd, plain)]
        # Short vectors beside long ones have the errors of scores at the limit.
        assert errors[0].max() <= 2 * errors[1].max() + 48, name
        assert errors[0].mean() <= 2 * errors[1].mean() + 8, name


@pytest.mark.parametrize("d", [4, 20, 256, "d"])
def test_unknown_sizes(d: Any) -> None:
    f = program("n", "m", d, "w").build()["f"]
    depths = (1, 3, 4, 20, 62, 64) if d == "d" else (d,)
    for depth, (n, m) in itertools.product(depths, ((7, 127), (24, 128), (53, 177), (101, 601))):
        shapes = ((2, size, 1, depth) for size in (n, m))
        q, k = (sample(shape, "float32", shape[1], scale=depth**-0.25) for shape in shapes)
        v = sample((2, m, 1, 19), "float32", depth, scale=1)
        wanted = reference(q, k, v).astype("float32")
        check(f(q, k, v), wanted, ulps=256, scale=1, what=(n, m, depth))


@pytest.mark.parametrize("scale", [-0.25, 0.0, 1e-20, 3.0])
def test_factors(scale: float) -> None:
    q, k, v = (sample((2, size, 1, 16), "float32", size, scale=0.6) for size in (37, 130, 130))
    got = program(37, 130, 16, 16, scale=scale).build()["f"](q, k, v)
    check(got, reference(q, k, v, scale).astype("float32"), ulps=256, scale=1)


def test_far_blocks_and_special_values() -> None:
    f = program(101, 130, 16, 16, causal_mask="TopLeft").build()["f"]
    q, k, v = (sample((2, size, 1, 16), "float32", size, scale=0.3) for size in (101, 130, 130))
    q[:, 48:80] *= 40
    plain = f(q, k, v)
    check(plain, reference(q, k, v, causal=True).astype("float32"), ulps=256, scale=1)
    # Keys that nobody sees change no bit; of one that is no number only those that see it know.
    for number in (np.nan, np.inf):
        keys = k.copy()
        keys[:, 101:] = number
        assert f(q, keys, v).tobytes() == plain.tobytes()
        keys[:, 90] = number
        got = f(q, keys, v)
        assert np.all(np.isnan(got[:, 90:]))
        check(got[:, :90], plain[:, :90], ulps=256, scale=1)
        queries = q.copy()
        queries[:, 5] = number
        got = f(queries, k, v)
        assert np.all(np.isnan(got[:, 5]))
        check(np.delete(got, 5, 1), np.delete(plain, 5, 1), ulps=256, scale=1)


def test_float16() -> None:
    q, k, v = (sample((2, size, 1, 32), "float16", size, scale=0.6) for size in (40, 200, 200))
    wanted = reference(q, k, v).astype("float16")
    check(program(40, 200, 32, 32, dtype="float16").build()["f"](q, k, v), wanted, ulps=4, scale=1)


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    serial, threaded = (program(301, 200, 20, 20).build(target=with_threads(n)) for n in (1, 5))
    q, k, v = (sample((2, size, 1, 20), "float32", size, scale=0.3) for size in (301, 200, 200))
    # Some blocks use Winograd's dot product and some do not.
    q[:, 100:130] *= 60
    wanted = serial["f"](q, k, v).tobytes()
    check_bits(lambda: threaded["f"](q, k, v).tobytes(), wanted)
