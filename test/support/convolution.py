"""Convolutions by numpy in double precision, one element of the window at a time."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def each(values: Sequence[int], rank: int) -> list[int]:
    return list(values) if len(values) == rank else [values[0]] * rank


def pads(padding: Sequence[int], rank: int) -> list[tuple[int, int]]:
    if len(padding) == 2 * rank:
        return list(zip(padding[:rank], padding[rank:], strict=True))
    return [(item, item) for item in each(padding, rank)]


def convolve(
    x: np.ndarray, w: np.ndarray, strides: Any = (1,), padding: Any = (0,), dilation: Any = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Return the convolution of NC.. data by OI.. kernels."""
    rank = x.ndim - 2
    strides, dilation = each(strides, rank), each(dilation, rank)
    x = np.pad(x.astype("float64"), ((0, 0), (0, 0), *pads(padding, rank)))
    w = w.astype("float64")
    size = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilation, strict=True)
    ]
    batch, outputs = x.shape[0], w.shape[0]
    out = np.zeros((batch, groups, outputs // groups, *size))
    kernels = w.reshape(groups, outputs // groups, *w.shape[1:])
    for step in itertools.product(*map(range, w.shape[2:])):
        cut = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(step, dilation, size, strides, strict=True)
        )
        part = x[(slice(None), slice(None), *cut)]
        part = part.reshape(batch, groups, x.shape[1] // groups, math.prod(size))
        rows = kernels[(slice(None), slice(None), slice(None), *step)]
        out += np.matmul(rows, part).reshape(out.shape)
    return out.reshape(batch, outputs, *size)
