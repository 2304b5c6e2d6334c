"""The loops that kernels spend their time in: what instructions they are, by processor.

Results are right either way, and no time is measured here: registers that spill, or splats that are
moved away from their rows, make a product take twice as long.
"""

from typing import Any, NamedTuple

import pytest
from inner_loops import CPUS, count, inner_loops_of, most, spills

pytestmark = pytest.mark.own_targets

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


AVX2 = {
    "product": ({"x": (300, 300), "w": (300, 300)}, "R.matmul(x, w)"),
    "product, any size": ({"x": ("n", "k"), "w": ("k", "m")}, "R.matmul(x, w)"),
    "product, any rows and steps": ({"x": ("n", "k"), "w": ("k", 512)}, "R.matmul(x, w)"),
    "attention": (dict.fromkeys("qkv", (1, 512, 12, 64)), "R.nn.attention(q, k, v)"),
}


@pytest.mark.parametrize("cpu", ["znver3", "alderlake"])
@pytest.mark.parametrize("name", AVX2)
def test_products_of_sixteen_registers(name: str, cpu: str) -> None:
    shapes, result = AVX2[name]
    loops = inner_loops_of({key: (dims, "float32") for key, dims in shapes.items()}, result, cpu)
    loop = most(loops, "vfmadd.*ymm")
    # Two steps of k of 6 by 2 vectors, and beside them 2 loads of B, 6 splats and a prefetch each:
    # which of two buffers B is in, and what masks a tail has, is not asked here.
    products = count(loop, "vfmadd")
    assert products == 24
    assert len(loop) <= 2.2 * products, loop
    assert count(loop, r"\tcmov|vmaskmov") == 0
    assert spills(loop) == []


@pytest.mark.parametrize("rows", [64, "n"])
def test_softmax_of_sixteen_registers(rows: int | str) -> None:
    loops = inner_loops_of({"x": ((rows, 512), "float32")}, "R.nn.softmax(x)", "znver3")
    # Exponentials up to 1 are bounded on one side only.
    loop = most(loops, "vfm(add|sub).*ymm")
    assert count(loop, "vfm(add|sub).*ymm") == 7 * count(loop, "vmaxps.*ymm")
    assert count(loop, "vminps") == 0
    # The mask of NaN is kept as it comes from comparisons.
    assert count(most(loops, "vcmpunord"), "vpack|vpmov|vpunpck") == 0


class Loop(NamedTuple):
    """Some of a kernel's loops.

    Attributes:
        pattern: of instructions, a regular expression.
        least: loops that have so many of them, and less than twice as many.
        each: instructions for each of them, at most.
        cpus: where there are such loops.
        spills: vectors that each of them puts on the stack, at most.
    """

    pattern: str
    least: int
    each: float
    cpus: tuple[str, ...] = CPUS
    spills: int = 0


FMA = r"vfn?m(add|sub)"
# Memory of whole vectors, not the stack.
LOAD, STORE = r"\(.*zmm", r"zmm\d+, [^{]*\((?!%rsp)[^{]*$"
DIVISION = r"vdivps.*zmm"
TABLE = r"vperm[it]2(ps|d)"


def attention(n: Any, m: Any) -> tuple[dict[str, Any], str]:
    shapes = {"q": (1, n, 12, 64), "k": (1, m, 12, 64), "v": (1, m, 12, 64)}
    return shapes, "R.nn.attention(q, k, v)"


# Of scores and of values, and of scores by Winograd's dot product.
TILES = [Loop(FMA, 24, 2.5), Loop(FMA, 72, 2.5, ("znver4",))]
# Limits are a third above what there is.
KERNELS: dict[str, tuple[dict[str, Any], str, list[Loop]]] = {
    "attention, known": (*attention(512, 512), TILES),
    "attention, any size": (*attention("n", "m"), TILES),
    "softmax": ({"x": (512, 512)}, "R.nn.softmax(x)", [Loop(FMA, 16, 5.2)]),
    "softmax, any size": ({"x": ("n", "m")}, "R.nn.softmax(x)", [Loop(FMA, 16, 6.4)]),
    "layer norm": (
        {"x": (512, 768), "g": (768,), "b": (768,)}, "R.nn.layer_norm(x, g, b, axes=[-1])",
        [Loop(FMA, 16, 4.1), Loop(LOAD, 48, 1.8), Loop(STORE, 4, 8.7)],
    ),
    "transposed": ({"x": (512, 512)}, "R.permute_dims(x)", [Loop(STORE, 16, 9.3)]),
    "transposed, any size": ({"x": ("n", "m")}, "R.permute_dims(x)", [Loop(STORE, 16, 18)]),
    "chain": (
        {"x": ("n",), "y": ("n",)}, "R.tanh(R.nn.silu(R.add(x, y)))",
        [Loop(FMA, 24, 6.5, spills=1), Loop(TABLE, 24, 5.2)],
    ),
    "gelu": ({"x": ("n",)}, "R.nn.gelu(x)", [Loop(FMA, 48, 4.4)]),
    "map": (
        {"x": ("n",), "y": ("n",)}, "R.nn.relu(R.add(R.multiply(x, y), x))",
        [Loop(STORE, 4, 11)],
    ),
    "row and matrix": ({"x": (1, 4096), "w": (4096, 4096)}, "R.matmul(x, w)", [Loop(FMA, 8, 3.7)]),
    "row and matrix, any size": (
        {"x": (1, "k"), "w": ("k", "n")}, "R.matmul(x, w)", [Loop(FMA, 8, 2)],
    ),
    "mean of windows": (
        {"x": (1, 64, 56, 56)}, "R.nn.avg_pool2d(x, pool_size=[3, 3], padding=[1, 1])",
        [Loop(DIVISION, 7, 17)],
    ),
    "mean of windows, any size": (
        {"x": (1, 64, "h", "w")}, "R.nn.avg_pool2d(x, pool_size=[3, 3], padding=[1, 1])",
        [Loop(DIVISION, 4, 35)],
    ),
    "matrix and column": ({"x": (4096, 4096), "w": (4096, 1)}, "R.matmul(x, w)", [Loop(FMA, 8, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, cpu: str) -> None:
    shapes, result, wanted = KERNELS[name]
    loops = inner_loops_of({key: (dims, "float32") for key, dims in shapes.items()}, result, cpu)
    for each in [loop for loop in wanted if cpu in loop.cpus]:
        counts = [(count(loop, each.pattern), loop) for loop in loops]
        alike = [(number, loop) for number, loop in counts if each.least <= number < 2 * each.least]
        assert alike, each
        for number, loop in alike:
            assert len(loop) <= each.each * number, (each, loop)
            assert len(spills(loop)) <= each.spills, (each, loop)
