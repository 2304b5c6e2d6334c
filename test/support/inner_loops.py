"""Inner loops of compiled functions, as instructions of x86-64 or AArch64."""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from relax_mlir.tools.relax_compile import __main__ as relax_compile

# A core that splits its widest vectors, and one that does not.
CPUS = ("znver4", "sapphirerapids")
_PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main({parameters}):
        return {result}
"""
_LABEL = re.compile(r"(\.\w+):")
_JUMP = re.compile(r"\t(?:j\w+|b\.\w+|b|t?cbn?z|tbn?z)\t(?:.*, )?(\.\w+)")
_COMMENT = re.compile(r"(?:#(?![-:\d])|//).*")
_SPILL = re.compile(r"\tv\w+\t%[xyz]mm\d+, .*\(%r[sb]p\)")


def triple_of(cpu: str) -> str:
    """Return the LLVM triple of a processor."""
    is_arm = cpu.startswith(("neoverse", "apple"))
    return f"{'aarch64' if is_arm else 'x86_64'}-unknown-linux-gnu"


def assembly_of(parameters: dict[str, tuple[Iterable[object], str]], result: str, cpu: str) -> str:
    """Return the assembly text of a compiled Relax function.

    Args:
        parameters: the shape of each, of lengths and names of lengths, and its dtype.
        result: the expression that it returns.
        cpu: LLVM's name of the processor.
    """
    names = [
        f'{name}: R.Tensor(({"".join(f"{dim!r}, " for dim in dims)}), "{dtype}")'
        for name, (dims, dtype) in parameters.items()
    ]
    target = f"llvm -mtriple={triple_of(cpu)} -mcpu={cpu}"
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "program.py"), Path(folder, "program.s")
        text = _PROGRAM.format(parameters=", ".join(names), result=result)
        source.write_text(text, encoding="utf-8")
        options = [str(source), "--emit=asm", f"--target={target}", "-o", str(out)]
        assert relax_compile.main(options) == 0
        return out.read_text(encoding="utf-8")


def inner_loops_of(
    parameters: dict[str, tuple[Iterable[object], str]], result: str, cpu: str
) -> list[list[str]]:
    """Return the loops of a compiled Relax function, whose arguments are as for its assembly."""
    return inner_loops(assembly_of(parameters, result, cpu))


def inner_loops(assembly: str) -> list[list[str]]:
    """Return the instructions of each loop that has no other inside."""
    starts: dict[str, int] = {}
    ends: dict[int, int] = {}
    lines = [_COMMENT.sub("", line).rstrip() for line in assembly.splitlines()]
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            starts[label[1]] = number
        jump = _JUMP.match(line)
        if jump is not None and jump[1] in starts:
            ends[starts[jump[1]]] = number
    return [
        [each for each in lines[start:end] if re.match(r"\t[^.]", each)]
        for start, end in ends.items()
        if not any(start < other < end for other in ends)
    ]


def count(loop: list[str], pattern: str) -> int:
    """Return how many instructions of a loop have what a regular expression finds."""
    return sum(re.search(pattern, each) is not None for each in loop)


def most(loops: list[list[str]], pattern: str) -> list[str]:
    """Return the loop that has most of the instructions that a regular expression finds."""
    return max(loops, key=lambda loop: count(loop, pattern))


def spills(loop: list[str]) -> list[str]:
    """Return the instructions of a loop that put vectors on the stack."""
    return [each for each in loop if _SPILL.match(each)]
