"""The loops of products take few more cycles than their FMAs alone, by LLVM's models of CPUs.

The models know ports, latencies and the width of a core, but no caches: what a loop loads is in L1.
"""

import re
import shutil
import subprocess

import pytest
from inner_loops import inner_loops_of, most, triple_of

# Models of Neoverse V2 and Zen 4 came with LLVM 16 and 17.
MCA = next(filter(shutil.which, (f"llvm-mca-{version}" for version in range(22, 18, -1))), None)
pytestmark = [
    pytest.mark.own_targets,
    pytest.mark.skipif(MCA is None, reason="llvm-mca is not installed"),
]

CPUS = ("znver3", "znver4", "sapphirerapids", "alderlake", "neoverse-v2", "apple-m1")
FMA = r"\tvfn?madd|\tfml[as]\t"
HEADS = dict.fromkeys("qkv", ((1, 512, 12, 64), "float32"))
PRODUCTS = {
    "product": ({"x": ((512, 512), "float32"), "w": ((512, 512), "float32")}, "R.matmul(x, w)"),
    "product, any size": (
        {"x": (("n", "k"), "float32"), "w": (("k", "m"), "float32")}, "R.matmul(x, w)",
    ),
    "attention": (HEADS, "R.nn.attention(q, k, v)"),
    "convolution": (
        {"x": ((1, 64, "h", "w"), "float32")},
        'R.nn.conv2d(x, R.full((64, 64, 5, 5), R.const(0.5), "float32"), padding=2)',
    ),
}  # fmt: skip


def cycles(loop: list[str], cpu: str) -> float:
    """Return the cycles of an iteration."""
    if cpu == "znver4":
        # The model gives broadcasts from memory to the ports of FMAs; they are loads (uops.info).
        loop = [line.replace("vbroadcastss", "vmovups") for line in loop]
    command = [str(MCA), f"-mtriple={triple_of(cpu)}", f"-mcpu={cpu}", "-iterations=100"]
    run = subprocess.run(command, input="\n".join(loop), capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles: +(\d+)", run.stdout)[1]) / 100


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_most_cycles_are_of_products(name: str, cpu: str) -> None:
    loop = most(inner_loops_of(*PRODUCTS[name], cpu), FMA)
    products = [line for line in loop if re.search(FMA, line)]
    assert cycles(products, cpu) >= 0.9 * cycles(loop, cpu), loop
