"""Squares of vectors in registers: each lane of a transposition comes from its place."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.isa.avx512 import AVX512
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile


class _Vector:
    """A vector of known lanes, of elements of some bits."""

    def __init__(self, lanes: np.ndarray, bits: int) -> None:
        self.lanes = lanes
        self.type = SimpleNamespace(shape=[len(lanes)], element_type=SimpleNamespace(width=bits))


class _Writer:
    """Computes what an emitter would write; counts vectors that are hidden from LLVM."""

    hidden = 0
    isa = AVX512

    def shuffle(self, a: _Vector, b: _Vector, lanes: Sequence[int]) -> _Vector:
        return _Vector(np.concatenate([a.lanes, b.lanes])[list(lanes)], a.type.element_type.width)

    def opaque(self, vector: _Vector) -> _Vector:
        self.hidden += 1
        return vector


@pytest.mark.parametrize("bits", [1, 8, 16, 32, 64])
@pytest.mark.parametrize("height", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("squares", [1, 2, 4])
def test_lanes(bits: int, height: int, squares: int) -> None:
    lanes = height * squares
    given = np.arange(height * lanes).reshape(height, squares, height)
    writer = _Writer()
    vectors = [_Vector(row.reshape(-1), bits) for row in given]
    transposed = transpose_tile(cast(Emitter, writer), cast(list[ir.Value], vectors))
    got = np.stack([cast(_Vector, each).lanes for each in transposed])
    np.testing.assert_array_equal(got.reshape(given.shape), given.transpose(2, 1, 0))
    # Only registers of x86 are that wide, and two steps are seen at once. Longer vectors are in
    # several registers.
    assert writer.hidden == (height if 256 <= bits * lanes <= 512 and height > 4 else 0)
