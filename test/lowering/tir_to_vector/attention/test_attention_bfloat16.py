"""Attention of bfloat16 against float64: pairs of operands, their ends, and what nobody sees."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from programs import Program
from targets import with_threads
from thread_counts import bits, check_bits

from relax_mlir.lowering.tir_to_vector import parallel_region

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = ml_dtypes.bfloat16
# Few queries, and more; keys with and without a partner, at the end of a block, and beyond one.
LENGTHS = ((0, 3), (3, 0), (2, 7), (7, 1), (7, 2), (17, 16), (17, 255), (12, 512), (49, 513),
           (77, 77), (50, 1101))  # fmt: skip
# Keys and values by head; odd lengths, whole vectors, values whose columns are strided.
KINDS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "odd": ("BSNH", 21, 37, {}),
    "whole": ("BNSH", 64, 32, {"scale": 0.3}),
    "apart": ("BSNH,BSNH,BSHN,BSNH", 20, 33, {}),
    "causal": ("BSNH", 20, 37, {"causal_mask": "TopLeft"}),
    "window": ("BSNH", 40, 33, {"causal_mask": "BottomRight", "window_size": 19}),
}


def shapes(kind: str, n: Any, m: Any) -> list[list[Any]]:
    layout, depth, width, _ = KINDS[kind]
    layouts = layout.split(",") if "," in layout else [layout] * 4
    dims = (
        {"S": n, "N": 4, "H": depth},
        {"S": m, "N": 2, "H": depth},
        {"S": m, "N": 2, "H": width},
    )
    return [
        [{"B": 2, **each}[c] for c in letters]
        for letters, each in zip(layouts, dims, strict=False)
    ]  # fmt: skip


def made(kind: str, n: int, m: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n * 1009 + m)
    return [rng.standard_normal(shape).astype(BF16) for shape in shapes(kind, n, m)]


def wanted(kind: str, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return attention in float64, the same of values without signs, and which keys are seen."""
    layout, depth, _, attrs = KINDS[kind]
    layouts = layout.split(",") if "," in layout else [layout] * 4
    q, k, v = (
        x.astype("float64").transpose([letters.index(c) for c in "BNSH"])
        for x, letters in zip(operands, layouts, strict=False)
    )
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    scores = q @ k.swapaxes(-1, -2) * attrs.get("scale", 1 / math.sqrt(depth))
    i, j = np.indices(scores.shape[2:])
    seen = np.full(i.shape, True)
    if "causal_mask" in attrs:
        i = i + (k.shape[2] - q.shape[2] if attrs["causal_mask"] == "BottomRight" else 0)
        seen = (j <= i) & (i - j < attrs.get("window_size", math.inf))
    scores = np.where(seen, scores, -np.inf)
    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = powers.sum(axis=-1, keepdims=True)
    shares = powers / np.where(total == 0, 1, total)
    back = ["BNSH".index(c) for c in layouts[3]]
    return (shares @ v).transpose(back), (shares @ abs(v)).transpose(back), seen.any(axis=0)


def program() -> Program:
    found = Program()
    for kind, (layout, _, _, attrs) in KINDS.items():
        typed = [(shape, "bfloat16") for shape in shapes(kind, "n", "m")]
        found.op(kind, "attention", *typed, layout=layout, **attrs)
    return found


def test_accuracy_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponentials and results are rounded once each, and nothing else is: at most 2**-8 twice."""
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    threads = 3
    vm = program().build(target=with_threads(threads))
    for kind in KINDS:
        for n, m in LENGTHS:
            given = made(kind, n, m)
            want, size, seen = wanted(kind, given)
            # What a key is does not matter where nobody sees it, nor a value behind the last seen.
            if KINDS[kind][0] == "BSNH":
                given[1][:, ~seen] = np.nan
            if kind == "causal":
                given[2][:, ~seen] = np.nan
            result = np.asarray(vm[kind](*given))
            assert result.dtype == BF16
            assert result.shape == want.shape
            far = abs(result.astype("float64") - want)
            assert (far <= 1.01 * 2.0**-7 * size + 1e-6).all(), (kind, n, m, far.max())
            if threads > 1:
                check_bits(partial(bits, vm[kind], *given), result.tobytes())
