"""A small program that every framework can be given, with its cost, and the numbers it gets.

Read by our process and by the peers', so it needs nothing but numpy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

F32 = 4
# Random numbers that are drawn at most; of more the same come again. Not a multiple of any row.
_DRAWN = (1 << 24) - 3


@dataclass(frozen=True)
class Node:
    """An operation: its name in `kernels_relax_mlir.OPS`, its arguments by name, its attributes."""

    op: str
    args: tuple[str, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """A program and what it has to do; its tensors are of float32 where nothing else is said.

    Attributes:
        name: unique; what `--only` matches.
        group: the heading that it is under; its bar is in `bars.BARS`.
        inputs: shapes by name.
        weights: shapes of constants by name.
        nodes: in order; the result of each is named `t0`, `t1`, ..., and the last is the program's.
        flops: additions and multiplications; a transcendental function counts as nothing.
        bytes: of inputs, weights and the result, each once.
        symbols: of a version for any size, the shapes of its inputs with names in them.
        native: shapes in which we get the inputs, where they are not `inputs`.
        fma_share: of the FMA peak, what the bar wants.
        dtypes: of inputs and weights that are not float32. Values of bfloat16 are float32 numbers
            that it holds: numpy does not know it.
        near: how far results may be from each other, of the largest.
        out_of_cache: whether it is made so that no cache holds it, and the bandwidth of memory is
            its limit.
        only_reads: whether its result is next to nothing.
    """

    name: str
    group: str
    inputs: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]
    nodes: tuple[Node, ...]
    flops: float
    bytes: float
    symbols: dict[str, tuple[int | str, ...]] | None = None
    native: dict[str, tuple[int, ...]] = field(default_factory=dict)
    fma_share: float | None = None
    dtypes: dict[str, str] = field(default_factory=dict)
    near: float = 1e-3
    out_of_cache: bool = False
    only_reads: bool = False


def data(work: Workload) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the inputs and the weights, the same ones in every process."""
    rng = np.random.default_rng(0)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        size = math.prod(shape)
        if size <= _DRAWN:
            return rng.standard_normal(shape, dtype="float32")
        return np.resize(rng.standard_normal(_DRAWN, dtype="float32"), shape)

    inputs = {name: draw(shape) for name, shape in work.inputs.items()}
    # Small, so that sums over thousands of them stay near one.
    weights = {name: draw(shape) * np.float32(0.1) for name, shape in work.weights.items()}
    for name, array in weights.items():
        if name.endswith("_var"):
            weights[name] = np.abs(array) + np.float32(1)
    for arrays in (inputs, weights):
        for name in arrays.keys() & work.dtypes.keys():
            arrays[name] = _narrow(arrays[name], work.dtypes[name])
    return inputs, weights


def _narrow(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers as another dtype holds them, integers all over their range."""
    if dtype == "bfloat16":
        return (array.view("uint32") + 0x8000 & 0xFFFF0000).view("float32")
    if "float" in dtype:
        return array.astype(dtype)
    # Numbers of four bits are bytes to numpy.
    held = "int8" if dtype == "int4" else dtype
    limits = np.iinfo(held)
    least, most = (-8, 7) if dtype == "int4" else (limits.min, limits.max)
    middle, reach = (most + least + 1) // 2, most - least
    largest = np.abs(array).max(initial=1e-30)
    return (array / largest * (reach // 2) + middle).round().astype(held)


def count_bytes(shapes: Sequence[tuple[int, ...]]) -> float:
    """Return the bytes of float32 tensors of these shapes."""
    return float(F32 * sum(math.prod(shape) for shape in shapes))


def places(shape: Sequence[int], size: int) -> np.ndarray:
    """Return indices of an axis of that size, the same ones in every process."""
    return (np.arange(math.prod(shape), dtype="int64") * 7919 % size).reshape(shape)
