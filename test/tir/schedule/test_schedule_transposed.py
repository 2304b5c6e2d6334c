"""Indices that run backwards: `15 - i`."""

import numpy as np
import pytest
from scheduled_programs import Program
from schedules import refused, runs

from relax_mlir.tir import IndexMap, Schedule, SizeVar

TEXT = """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    C = T.alloc_buffer((12, 10), "float32")
    for i, j in T.grid(12, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[WRITTEN] = A[vi, vj] + 1.0
    for i, j in T.grid(12, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[READ] * 2.0
"""
TURNED = "11 - vi, vj"


def program(written: str, read: str) -> Program:
    return Program(
        "turned", TEXT.replace("WRITTEN", written).replace("READ", read),
        [(12, 10), (12, 10)], lambda a: (a[::-1] + 1) * 2,
    )  # fmt: skip


def test_compute_inline() -> None:
    turned = program(TURNED, "vi, vj")
    sch = Schedule(turned.module)
    sch.compute_inline("C")
    text = sch.mod.script()
    assert "11 - vi, vj] + 1.0) * 2.0" in text
    assert 'T.block("C")' not in text
    runs(sch, turned)


def test_reverse_compute_inline() -> None:
    turned = program("vi, vj", TURNED)
    sch = Schedule(turned.module)
    sch.reverse_compute_inline("B")
    runs(sch, turned)


@pytest.mark.parametrize(
    "index", ["(12 - vi) % 12, vj", "11 - vi // 2, vj", "(vj - vi + 11) % 12, 0"]
)
def test_what_is_no_turn(index: str) -> None:
    sch = Schedule(program(index, "vi, vj").module)
    refused(sch, lambda: sch.compute_inline("C"), "not its iterators, each once")


@pytest.mark.parametrize(
    "index_map",
    [lambda i, j: (11 - i, j), lambda i, j: (2 - i // 4, 9 - j, 3 - i % 4),
     lambda i, j: (119 - i * 10 - j,)],
)  # fmt: skip
@pytest.mark.parametrize("block", ["C", "B"])
def test_layouts(index_map, block: str) -> None:
    turned = program("vi, vj", TURNED)
    sch = Schedule(turned.module)
    sch.transform_block_layout(block, index_map)
    sch.transform_layout("C", ("write", 0), index_map)
    runs(sch, turned)


def test_blocks_whose_sizes_do_not_divide() -> None:
    turned = program("vi, vj", TURNED)
    sch = Schedule(turned.module)
    sch.transform_block_layout("C", lambda i, j: (2 - i // 5, j, 4 - i % 5))
    assert "T.where" in sch.mod.script()
    runs(sch, turned)


def test_sizes_of_any_number() -> None:
    n = SizeVar("n", "int64")
    index_map = IndexMap.from_func(lambda i: n - 1 - i)
    back = index_map.inverse([n])
    points = np.arange(7)
    values = [int(back.substitute({"n": 7}).map_indices([int(i)])[0].value) for i in points]
    assert values == list(6 - points)
    with pytest.raises(ValueError, match="sum of digits"):
        IndexMap.from_func(lambda i: n - i).inverse([n])
