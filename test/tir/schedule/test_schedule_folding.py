"""Blocks that are inlined at numbers: what is computed of numbers is a number, and reads back."""

import numpy as np
import pytest
from scheduled_programs import HEAD
from schedules import results

from relax_mlir import tir
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule

_PICKED = """def main(A: T.Buffer((60,), "float32"), O: T.Buffer((9,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[{0}]
    for i in range(9):
        with T.block("O"):
            vi = T.axis.spatial(9, i)
            O[vi] = B[{1}]
"""
_SIZED = """def main(a: T.handle, o: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n + 6,), "float32")
    O = T.match_buffer(o, (9,), "float32")
    B = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi + 1] + A[n - vi]
    for i in range(9):
        with T.block("O"):
            vi = T.axis.spatial(9, i)
            O[vi] = B[n - 1]
"""


@pytest.mark.parametrize("number", [0, 1, 5])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("vi * 2 + 1", lambda v: v * 2 + 1),
        ("5 - vi", lambda v: 5 - v),
        ("(vi + 3) % 8", lambda v: (v + 3) % 8),
        ("(vi - 1) // 2 + 1", lambda v: (v - 1) // 2 + 1),
        ("vi * vi", lambda v: v * v),
        ("T.min(vi, 3)", lambda v: min(v, 3)),
        ("T.max(vi - 2, 0)", lambda v: max(v - 2, 0)),
        ("T.if_then_else(vi < 3, vi, 2)", lambda v: v if v < 3 else 2),
        ("T.Select(vi < 3 and vi != 1, vi, 2)", lambda v: v if v < 3 and v != 1 else 2),
        ("T.truncdiv(vi, 2)", lambda v: v // 2),
        ("T.truncmod(vi, 2)", lambda v: v % 2),
        ("T.abs(vi - 2)", lambda v: abs(v - 2)),
        ("(vi & 3) ^ 2", lambda v: (v & 3) ^ 2),
        ("vi << 1", lambda v: v << 1),
        ("T.cast(T.cast(vi, 'int8') + T.int8(2), 'int64')", lambda v: v + 2),
    ],
)
def test_inlined_at_a_number(expression, value, number):
    sch = Schedule(from_source(HEAD + _PICKED.format(expression, number)))
    sch.compute_inline("B")
    assert f"O[vi] = A[{value(number)}]" in sch.mod.script()
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


_LOADED = """def main(I: T.Buffer((8,), "{0}"), J: T.Buffer((8,), "int32"),
         A: T.Buffer((64,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((20,), "float32")
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = {1}
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[I[vi]] + B[vi]
"""


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize(
    ("expression", "inlined"),
    [
        ("A[(vi + 3) % 8 * 2]", "A[({0} + 3) % 8 * 2] + A[(vi + 3) % 8 * 2]"),
        ("A[T.if_then_else(vi < 3, vi * 2, 4)]", "A[T.if_then_else("),
        ("A[J[T.min(vi, 7)] + vi]", "A[J[T.min("),
        ("T.if_then_else(vi % 2 == 0, A[vi], A[vi + 1] * 2.0)", "T.if_then_else("),
        ('T.Cast("float32", vi // 3)', 'T.Cast("float32", {0} // 3)'),
        ("A[vi // T.max(vi, 1)]", " // T.max("),
    ],
)
def test_inlined_at_a_loaded_index(expression, inlined, dtype):
    sch = Schedule(from_source(HEAD + _LOADED.format(dtype, expression)))
    sch.compute_inline("B")
    text = sch.mod.script()
    assert inlined.format("I[vi]" if dtype == "int64" else 'T.Cast("int64", I[vi])') in text
    assert_structural_equal(from_source(text), sch.mod)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_inlined_numbers_that_index(dtype):
    text = f"""def main(A: T.Buffer((64,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "{dtype}")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.Cast("{dtype}", vi * 2 + 1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[B[vi] // 2 + B[vi] * 2 % 8]
"""
    sch = Schedule(from_source(HEAD + text))
    sch.compute_inline("B")
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_numbers_of_dtypes():
    text = _PICKED.replace("A[{0}]", 'A[vi] * T.cast(vi, "float32")')
    sch = Schedule(from_source(HEAD + text.format("", 3)))
    sch.compute_inline("B")
    assert "O[vi] = A[3] * 3.0" in sch.mod.script()
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_inlined_at_a_size():
    sch = Schedule(from_source(HEAD + _SIZED))
    sch.compute_inline("B")
    assert "O[vi] = A[n] + A[1]" in sch.mod.script()
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_reverse_inlined_at_a_number():
    text = """def main(A: T.Buffer((1, 6), "float32"), O: T.Buffer((9, 6), "float32")):
    B = T.alloc_buffer((1, 6), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[0, vi] = A[0, vi]
    for u, i in T.grid(1, 6):
        with T.block("O"):
            vu, vi = T.axis.remap("SS", [u, i])
            O[(vu + 7) * 2 % 9, vi] = B[vu, vi]
"""
    sch = Schedule(from_source(HEAD + text))
    sch.reverse_compute_inline("O")
    assert "O[5, vi] = A[0, vi]" in sch.mod.script()
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


@pytest.mark.parametrize("size", [9, 1])
def test_cached_index_of_a_named_load(size):
    text = f"""def main(A: T.Buffer((9,), "float32"), O: T.Buffer((9,), "float32")):
    for i in range({size}):
        with T.block("O"):
            vi = T.axis.spatial({size}, i)
            t: T.float32 = A[(vi + 2) % 9]
            O[vi] = t + t
"""
    sch = Schedule(from_source(HEAD + text))
    sch.cache_index("O", "local", 0)
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


_TILES = """def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32"),
         C: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for o in range(1):
        with T.block("C_o"):
            vo = T.axis.spatial(1, o)
            for i, j in T.grid(3, 4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vo * 3 + vi, vj] = A[vo * 3 + vi, vj] * 2.0
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.transform_block_layout("C_o", lambda o: (o,)),
        lambda sch: (
            sch.blockize([sch.get_block("B"), sch.get_block("C_o")]),
            sch.blockize(sch.get_loops("B")[0]),
        ),
    ],
)
def test_blocks_inside_declare_what_they_access_when_an_outer_iterator_goes(step):
    sch = Schedule(from_source(HEAD + _TILES))
    step(sch)
    assert "C[vi, vj] = A[vi, vj] * 2.0" in sch.mod.script()
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


@pytest.mark.parametrize("place", ["vi", "5 - vi"])
def test_inlined_in_an_expression_that_branches(place):
    text = f"""def main(A: T.Buffer((6, 6), "float32"), O: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[{place}] = A[vi, vi % 2] + A[vi, 0]
    for i in range(4):
        with T.block("O"):
            vi = T.axis.spatial(4, i)
            O[vi] = T.if_then_else(vi < 2, B[vi + 1], 1.0)
"""
    sch = Schedule(from_source(HEAD + text))
    sch.compute_inline("B")
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


@pytest.mark.parametrize("name", ["Simplify", "StmtSimplify", "RenormalizeSplitPattern"])
def test_simplified_remainders_by_a_size(name):
    text = """def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[(vi + 1) % n]
"""
    mod = getattr(tir.transform, name)()(from_source(HEAD + text))
    assert "B[vi] = A[(vi + 1) % n]" in mod.script()
    a = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(results(mod, [a], (5,), "main"), np.roll(a, -1))


@pytest.mark.parametrize("dtype", ["bool", "int4", "uint4"])
@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.cache_read("B", 0, "local"),
        lambda sch: sch.cache_write("B", 0, "local"),
        lambda sch: sch.reindex("B", ("read", 0)),
        lambda sch: sch.reindex("B", ("write", 0)),
        lambda sch: (sch.cache_read("B", 0, "local"), sch.compute_inline("A_local")),
    ],
)
def test_copies_of_elements_that_are_stored_in_another_type(dtype, step):
    text = f"""def main(A: T.Buffer((6, 8), "{dtype}"), B: T.Buffer((6, 8), "{dtype}")):
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, 7 - vj]
"""
    sch = Schedule(from_source(HEAD + text))
    step(sch)
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)
