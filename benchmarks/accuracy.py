"""The largest error of each elementary function, found by search and kept in docs/numerics.md.

Of float32 every number is tried, of float16 and bfloat16 too; of float64, and of functions of two
numbers, samples are.
"""

import argparse
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from elementary import FUNCTIONS, TARGETS, UNARY, compiled, numpy_dtype
from ulps import ulps

from relax_mlir.runtime.native.cpu_features import missing_features

DOCUMENT = Path(__file__).resolve().parents[1] / "docs/numerics.md"
DTYPES = ("float32", "float16", "bfloat16", "float64")
# Numbers that are computed at a time: what is made of them stays in the second-level cache.
_BLOCK = 1 << 14
_EDGES = (
    0.0, np.inf, np.nan, 0.5, 1, 1.5, 2, 3, 10, 88.7, 89, 103.9, 104.5, 709.7, 709.8, 745.1, 745.2,
    1e10, 16777217, 1e308, 1e-308, 1e-310, 5e-324, 1e-45, 1e-38, 3.4e38, 2.0**53 - 1, 1 - 2.0**-53,
    6381956970095103.0 * 2.0**797,  # of all doubles the nearest to an odd number of quarter turns
)  # fmt: skip


class Worst(NamedTuple):
    """An error in units in the last place, and the arguments it is of."""

    ulps: float
    at: tuple[str, ...]

    def __str__(self) -> str:
        # Rounded up, as it is a bound, but not for a rounding error of the product.
        bound = np.ceil(round(self.ulps * 100, 6)) / 100
        return f"{bound:.2f} at {', '.join(self.at)}"


Blocks = Iterator[tuple[np.ndarray, ...]]
Table = dict[str, dict[str, Worst]]


def runnable() -> list[str]:
    """Return those of `TARGETS` that this machine runs."""
    if platform.machine() != "x86_64":
        return []
    return [name for name in TARGETS if not missing_features(name, "")]


def every(dtype: str, step: int = 1) -> Blocks:
    """Return every number of 16 or 32 bits in the order of their bits, or one in so many."""
    bits = 8 * numpy_dtype(dtype).itemsize
    for start in range(0, 1 << bits, _BLOCK * step):
        numbers = np.arange(start, min(start + _BLOCK * step, 1 << bits), step)
        yield (numbers.astype(f"uint{bits}").view(numpy_dtype(dtype)),)


def samples(dtype: str, arguments: int, count: int) -> Blocks:
    """Return numbers, or pairs of them: edges, any bits, and ordinary ones of several ranges."""
    kind, rng = numpy_dtype(dtype), np.random.default_rng(0)
    with np.errstate(all="ignore"):
        edges = np.array([*_EDGES, *(-edge for edge in _EDGES)]).astype(kind)
    yield tuple(each.ravel().copy() for each in np.meshgrid(*[edges] * arguments))
    for _ in range(0, count, _BLOCK):
        bits = rng.integers(0, 1 << 8 * kind.itemsize, (arguments, _BLOCK), f"u{kind.itemsize}")
        yield tuple(bits.view(kind))
        for limit in (1.0, 30.0, 1000.0):
            yield tuple(rng.uniform(-limit, limit, (arguments, _BLOCK)).astype(kind))
        # Next to 1, where logarithms vanish and powers are of large numbers.
        near = 1 + rng.uniform(-0.5, 0.5, _BLOCK) ** rng.integers(1, 8, _BLOCK)
        yield (near.astype(kind), *rng.uniform(-1e4, 1e4, (arguments - 1, _BLOCK)).astype(kind))


def numbers_of(name: str, dtype: str, step: int = 1) -> Blocks:
    """Return what a function of a dtype is tried with.

    Args:
        name: of the function.
        dtype: of its arguments.
        step: one number in so many is tried; with 1, all there are.
    """
    arguments = len(FUNCTIONS[name].arguments)
    if arguments == 1 and dtype != "float64":
        return every(dtype, step if dtype == "float32" else 1)
    # mpmath takes its time.
    slow = dtype == "float64" and name in ("erf", "nn.gelu")
    return samples(dtype, arguments, (1 << 14 if slow else 1 << 20) // step)


def search(
    name: str, dtype: str, functions: dict[str, Callable[..., np.ndarray]], numbers: Blocks
) -> dict[str, Worst]:
    """Return the largest error of a function by target.

    Args:
        name: of the function.
        dtype: of its arguments.
        functions: it compiled, by target.
        numbers: what it is tried with.
    """
    wide = np.longdouble if dtype == "float64" else np.float64
    worst = {target: Worst(-1.0, ()) for target in functions}
    with np.errstate(all="ignore"):
        for block in numbers:
            exact = FUNCTIONS[name].reference(*(each.astype(wide) for each in block))
            nearest = exact.astype(numpy_dtype(dtype))
            for target, function in functions.items():
                got = function(*block)
                # A number that is so many others away from the nearest may be off by twice as many
                # units, where these double, and a half: only a few need a closer look.
                near = (worst[target].ulps - 0.499) // 2
                far = np.flatnonzero(_steps(got, nearest) > near)
                if far.size == 0:
                    continue
                errors = ulps(got[far], exact[far])
                place = int(errors.argmax())
                if errors[place] > worst[target].ulps:
                    at = tuple(str(each[far[place]]) for each in block)
                    worst[target] = Worst(float(errors[place]), at)
    return worst


def _steps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how many numbers of their dtype apart numbers are; of signs that differ, many."""
    one, other = (each.view(f"u{each.itemsize}") for each in (first, second))
    return np.maximum(one, other) - np.minimum(one, other)


def read(document: str, dtype: str) -> Table:
    """Return what the table of a dtype says: errors by function and target."""
    header, _, *rows = _lines(document, dtype)
    targets = _cells(header)[1:]
    table: Table = {}
    for row in rows:
        name, *cells = _cells(row)
        table[name.strip("`")] = {
            target: Worst(float(error), tuple(at.split(", ")))
            for target, cell in zip(targets, cells, strict=True)
            for error, _, at in [cell.partition(" at ")]
            if cell
        }
    return table


def write(document: str, dtype: str, table: Table) -> str:
    """Return the document with another table of a dtype."""
    lines = [f"| function | {' | '.join(TARGETS)} |", "|---|" + "---|" * len(TARGETS)]
    for name in FUNCTIONS:
        if name in table:
            cells = [str(table[name].get(target, "")) for target in TARGETS]
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    begin, end = _marks(dtype)
    before, rest = document.split(begin)
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.split(end)[1]}"


def _marks(dtype: str) -> tuple[str, str]:
    return f"<!-- errors of {dtype} -->", f"<!-- end of {dtype} -->"


def _lines(document: str, dtype: str) -> list[str]:
    begin, end = map(re.escape, _marks(dtype))
    found = re.search(f"{begin}\n(.*?){end}", document, re.DOTALL)
    assert found is not None, f"no table of {dtype}"
    return found[1].splitlines() or ["||", "||"]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and write what was found into the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", help="between commas; all by default")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="between commas")
    parser.add_argument("--step", type=int, default=1, help="try one float32 in so many")
    parser.add_argument("--print", action="store_true", help="print, and leave the document")
    given = parser.parse_args(arguments)
    targets = runnable()
    for dtype in given.dtypes.split(","):
        known = UNARY if dtype in ("float16", "bfloat16") else FUNCTIONS
        for name in given.functions.split(",") if given.functions else known:
            functions = {target: compiled([name], dtype, target)[name] for target in targets}
            found = search(name, dtype, functions, numbers_of(name, dtype, given.step))
            print(dtype, name, *(f"{target}: {each};" for target, each in found.items()))
            if not given.print:
                document = DOCUMENT.read_text()
                table = read(document, dtype)
                table[name] = {**table.get(name, {}), **found}
                DOCUMENT.write_text(write(document, dtype, table))


if __name__ == "__main__":
    main()
