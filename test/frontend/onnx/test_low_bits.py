"""Casts to dtypes of few bits, at values that the node tests of onnx do not have."""

import numpy as np
import pytest

from relax_mlir.runtime.models.lowbits import LOWBITS


@pytest.mark.parametrize("x", [2.0**127, 1.5 * 2.0**127, np.inf])
def test_a_cast_to_e8m0_that_saturates_does_not_exceed_its_greatest_number(x: float) -> None:
    data = np.array([x, 0.0, np.nan], "float32")
    held = LOWBITS["cast"](data, of="float32", to="float8_e8m0fnu", saturate=True)
    assert held.tolist() == [254, 0, 255]
