"""The loops that kernels spend their time in: what instructions they are, by processor.

Results are right either way, and no time is measured here: registers that spill, or splats that are
moved away from their rows, make a product take twice as long.
"""

import pytest
from inner_loops import CPUS, count, inner_loops_of, most

SIZES = {"known": ((300, 300), (300, 300)), "unknown": (("n", "k"), ("k", "m"))}


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES)
def test_products(sizes: str, dtype: str, cpu: str) -> None:
    x, w = SIZES[sizes]
    loops = inner_loops_of({"x": (x, dtype), "w": (w, dtype)}, "R.matmul(x, w)", cpu)
    # The largest tile is 9 by 3 vectors or 14 by 2.
    loop = most(loops, "vfmadd")
    products = count(loop, "vfmadd")
    assert products >= 27
    # Beside them are a splat for each row at most, loads of a row, and few steps of addresses.
    assert len(loop) <= 2 * products, loop
