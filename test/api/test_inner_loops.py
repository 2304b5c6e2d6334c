"""The loops that matrix products spend their time in: what instructions they are, by processor.

Results are right either way, and no time is measured here: registers that spill, or splats that are
moved away from their rows, make a product take twice as long.
"""

import re
from pathlib import Path

import pytest

from relax_mlir.tools import relax_compile

PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}")):
        return R.matmul(x, w)
"""
SIZES = {"known": ((300, 300), (300, 300)), "unknown": (("n", "k"), ("k", "m"))}
_LABEL = re.compile(r"(\.\w+):")
_JUMP = re.compile(r"\tj\w+\t(\.\w+)")


def inner_loops(assembly: str) -> list[list[str]]:
    """Return the instructions of each loop that has no other inside."""
    starts: dict[str, int] = {}
    loops: list[list[str]] = []
    lines = [line.split("#")[0].rstrip() for line in assembly.splitlines()]
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            starts[label[1]] = number
        jump = _JUMP.match(line)
        if jump is None or jump[1] not in starts:
            continue
        body = [each for each in lines[starts[jump[1]] : number] if re.match(r"\t[^.]", each)]
        if not any(_JUMP.match(each) for each in body):
            loops.append(body)
    return loops


@pytest.mark.parametrize("cpu", ["znver4", "sapphirerapids"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES)
def test_products(sizes: str, dtype: str, cpu: str, tmp_path: Path) -> None:
    x, w = SIZES[sizes]
    source, out = tmp_path / "program.py", tmp_path / "program.s"
    source.write_text(PROGRAM.format(x=x, w=w, dtype=dtype), encoding="utf-8")
    target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
    options = [str(source), "--emit=asm", f"--target={target}", "-o", str(out)]
    assert relax_compile.main(options) == 0
    loops = inner_loops(out.read_text(encoding="utf-8"))
    # The largest tile is 9 by 3 vectors or 14 by 2.
    loop = max(loops, key=lambda body: sum("vfmadd" in each for each in body))
    products = sum("vfmadd" in each for each in loop)
    assert products >= 27
    # Beside them are a splat for each row at most, loads of a row, and few steps of addresses.
    assert len(loop) <= 2 * products, loop
