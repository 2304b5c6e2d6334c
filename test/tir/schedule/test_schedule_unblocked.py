"""Schedules of programs that use memory outside of blocks too, and in blocks around blocks."""

import numpy as np
import pytest
from scheduled_programs import HEAD, Program
from schedules import refused, replays, runs

from relax_mlir import te, tir
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule

_BLOCK = """    for i in range(8):
        with T.block("{0}"):
            vi = T.axis.spatial(8, i)
            {0}[vi] = {1}
"""
_LOOP = """    for i in range(8):
        {0}[i] = {1}
"""


def _program(*stages: str) -> Program:
    text = """def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    C = T.alloc_buffer((8,), "float32")
"""
    return Program("reversed", text + "".join(stages), [(8,), (8,)], lambda a: 6 * a + a[::-1] * 2)


_FIRST, _LAST = ("B", "A[vi] * 2.0"), ("D", "C[vi] * 3.0 + B[7 - vi]")
BETWEEN = _program(_BLOCK.format(*_FIRST), _LOOP.format("C", "B[i]"), _BLOCK.format(*_LAST))
READER = _program(
    _BLOCK.format(*_FIRST), _BLOCK.format("C", "B[vi]"),
    _LOOP.format("D", "C[i] * 3.0 + B[7 - i]"),
)  # fmt: skip
WRITER = _program(
    _LOOP.format("B", "A[i] * 2.0"), _BLOCK.format("C", "B[vi]"), _BLOCK.format(*_LAST)
)


def test_what_runs_between_blocks_is_not_overtaken() -> None:
    sch = Schedule(BETWEEN.module)
    assert not sch.get_producers("B")
    assert [sch.get(each).attributes["block_name"].value for each in sch.get_consumers("B")] == [
        "D"
    ]
    place = sch.get_loops("D")[0]
    refused(
        sch, lambda: sch.compute_at("B", place), "loop 'i', which reads what block 'B' computes"
    )
    refused(sch, lambda: sch.compute_inline("B"), "used outside of the blocks")
    place = sch.get_loops("B")[0]
    refused(sch, lambda: sch.reverse_compute_at("D", place), "reads, runs after loop 'i'")
    refused(sch, lambda: sch.reverse_compute_inline("D"), "'B' is used elsewhere|blocks compute")
    sch.cache_read("D", "B", "local")
    sch.cache_write("D", 0, "local")
    sch.parallel(sch.split(sch.get_loops("D")[0], [None, 4])[0])
    runs(sch, BETWEEN)


def test_readers_outside_of_blocks() -> None:
    sch = Schedule(READER.module)
    place = sch.get_loops("C")[0]
    refused(
        sch, lambda: sch.compute_at("B", place), "loop 'i', which reads what block 'B' computes"
    )
    refused(sch, lambda: sch.compute_inline("C"), "used outside of the blocks")
    refused(sch, lambda: sch.rolling_buffer("C", 0), "no loop is around")
    sch.cache_read("C", 0, "local")
    sch.cache_write("B", 0, "local")
    runs(sch, READER)


def test_writers_outside_of_blocks() -> None:
    sch = Schedule(WRITER.module)
    sch.compute_inline("C")
    sch.cache_read("D", 0, "local")
    runs(sch, WRITER)
    text = WRITER.text.replace("B[i] = A[i] * 2.0", "B[i] = A[i]\n        C[i] = A[i]")
    sch = Schedule(from_source(HEAD + text))
    place = sch.get_loops("D")[0]
    refused(sch, lambda: sch.compute_at("C", place), "loop 'i' writes the same buffer")


@pytest.mark.parametrize("reverse", [False, True])
def test_stages_of_te_extern(reverse: bool) -> None:
    """These are loops in one block without iterators."""
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")

    def write(ins, outs):
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, "e") as e:
            target[e] = source[7 - e]
        return ib.get()

    c = te.extern([(8,)], [b], write, name="C", dtype="float32")
    d = te.compute((8,), lambda i: b[i] * 3.0 + c[i], name="D")
    module = te.create_prim_func([a, d])
    sch = Schedule(module)
    if reverse:
        step = lambda: sch.reverse_compute_at("D", sch.get_loops("B")[0])  # noqa: E731
    else:
        step = lambda: sch.compute_at("B", sch.get_loops("D")[0])  # noqa: E731
    refused(sch, step, "block 'C', which")
    assert not sch.get_loops("C")
    refused(sch, lambda: sch.compute_inline("C"), "block 'C' is not one store")
    sch.cache_read("C", 0, "local")
    sch.cache_write("B", 0, "local")
    replays(sch, module)
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)
    program = Program("extern", "", [(8,), (8,)], lambda a: a * 6 + a[::-1] * 2)
    given = program.inputs()
    found = np.zeros(8, "float32")
    tir.build(sch.mod)["main"](*given, found)
    np.testing.assert_allclose(found, program.want(*given), rtol=1e-6)


NESTED = Program(
    "nested",
    """def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    C = T.alloc_buffer((4,), "float32")
    with T.block("both"):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * 2.0
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi * 2] + 1.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + C[vi // 2]
""",
    [(8,), (8,)],
    lambda a: 2 * a + np.repeat(2 * a[::2] + 1, 2),
)


def test_what_is_read_outside_of_the_block_around_is_computed_whole() -> None:
    sch = Schedule(NESTED.module)
    place = sch.get_loops("C")[0]
    refused(sch, lambda: sch.compute_at("B", place), "is read outside of block 'both' too")
    runs(sch, NESTED)


def test_guarded_loads_are_replaced() -> None:
    """What a block reads only under a condition, its producer has at hand."""
    text = """def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    P = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("P"):
            vi = T.axis.spatial(n, i)
            P[vi] = A[vi] * 2.0
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.if_then_else(vi < 4, P[vi], 1.0) - T.if_then_else(vi >= 2, P[vi], 3.0)
"""

    def want(a: np.ndarray) -> np.ndarray:
        rows = np.arange(len(a))
        return np.where(rows < 4, 2 * a, 1) - np.where(rows >= 2, 2 * a, 3)

    program = Program("guarded", text, [(7,), (7,)], want)
    sch = Schedule(program.module)
    sch.reverse_compute_inline("B")
    assert "P[" not in sch.mod.script()
    runs(sch, program)
