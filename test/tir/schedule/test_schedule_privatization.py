"""Buffers that iterations of a parallel loop would share become one for each, or are refused."""

import numpy as np
import pytest
from kernels import run as run_kernel
from scheduled_programs import HEAD, WINDOW, Program, matmul, tiled
from schedules import refused, runs

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen.native import compile_module
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_tir
from relax_mlir.runtime.native.loader import load_objects
from relax_mlir.runtime.program import NativeObject
from relax_mlir.script import from_source
from relax_mlir.tir.schedule import Schedule


def on_threads(mod: IRModule, program: Program, threads: int) -> np.ndarray:
    with lock_of(mod.context), mod.context, ir.Location.unknown():
        module = mod.clone().mlir_module
        target = Target.default().with_threads(threads)
        lower_tir(module.operation, target=str(target))
        code = compile_module(module, target)
    functions = load_objects(
        [NativeObject("test", code.object, code.symbols, is_parallel=code.is_parallel)]
    )
    return run_kernel(functions["main"], program.inputs(), program.shapes[-1], "float32")


def same_bits(sch: Schedule, program: Program) -> None:
    runs(sch, program)
    first, *rest = (on_threads(sch.mod, program, threads) for threads in (1, 2, 3))
    np.testing.assert_allclose(first, program.want(*program.inputs()), rtol=1e-4, atol=1e-5)
    assert all(each.tobytes() == first.tobytes() for each in rest)


def test_window() -> None:
    sch = Schedule(WINDOW.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 5])
    sch.compute_at("B", outer)
    sch.parallel(outer)
    text = sch.mod.script()
    assert text.index("T.parallel") < text.index("B = T.alloc_buffer")
    same_bits(sch, WINDOW)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_packed_matmul(first: bool, dynamic: bool) -> None:
    program = matmul(13, 37, 19, dynamic)
    sch = Schedule(program.module)
    block = sch.get_block("C")
    (io, jo, ko), (ii, ji, ki) = tiled(sch, block, (4, 8, 4))
    sch.reorder(io, jo, ko, ki, ii, ji)
    back = sch.cache_write(block, 0, "local")
    right, left = sch.cache_read(block, 1, "global"), sch.cache_read(block, 0, "global")
    sch.reverse_compute_at(back, jo)
    if first:
        sch.parallel(io)
    sch.compute_at(right, ko)
    sch.compute_at(left, io)
    if not first:
        sch.decompose_reduction(block, ko)
        sch.parallel(io)
    same_bits(sch, program)


def test_what_uses_private_buffers_has_copies_and_a_beginning() -> None:
    program = matmul(13, 37, 19)
    sch = Schedule(program.module)
    block = sch.get_block("C")
    (io, jo, ko), (ii, ji, ki) = tiled(sch, block, (4, 8, 4))
    sch.reorder(io, jo, ko, ki, ii, ji)
    right = sch.cache_read(block, 1, "global")
    sch.compute_at(right, io)
    sch.parallel(io)
    back = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(back, jo)
    text = sch.mod.script()
    assert text.index("T.parallel") < text.index("B_global = T.alloc")
    sch.decompose_reduction(block, ko)
    same_bits(sch, program)
    sch.compute_inline(right)
    runs(sch, program)
    sch = rows(SUM_OF_ROWS)
    loops = sch.get_loops("C")
    sch.parallel(loops[0])
    refused(sch, lambda: sch.decompose_reduction("C", loops[0]), "'B', .* is made inside loop 'i'")


WRITE = """        for j in range({n}):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(4, {at})
                T.where({where})
                B[vj] = A[vi, vj]
"""
READ = """        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(4, j)
                D[vi, vj] = B[3 - vj]
"""
SUM_OF_ROWS = """        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj]
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    D[vi, 0] = 0.0
                D[vi, 0] = D[vi, 0] + B[vj]
"""
AFTER = """    for j in range(4):
        with T.block("after"):
            vj = T.axis.spatial(4, j)
            D[0, vj] = B[vj]
"""


def write(n: int = 4, at: str = "j", where: str = "i < 8") -> str:
    return WRITE.format(n=n, at=at, where=where)


SUM = """        for j, k in T.grid(4, {n}):
            with T.block("B"):
                vj = T.axis.S(4, j)
                vk = T.axis.R(8, {at})
                T.where({where})
                with T.init():
                    B[vj] = 0.0
                B[vj] = B[vj] + A[vk, vj]
"""
BEFORE = """        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                if {where}:
                    B[vj] = A[vi, vj]
"""


def sums(n: int = 8, at: str = "k", where: str = "i < 8") -> str:
    return SUM.format(n=n, at=at, where=where)


INSIDE = """        for k in range(3):
            for j in range({n}):
                with T.block("B"):
                    vk, vj = T.axis.remap("SS", [k, j])
                    B[vk] = A[vk, vj]
"""
GROWS = """        for q in range({n}):
            for p in range(2):
                with T.block("B"):
                    vp = T.axis.S(2, p)
                    vq = T.axis.S(7, q)
                    B[vp + vq] = A[vq, vp]
"""
SHORT = """        for j in range({n}):
            with T.block("C"):
                vi = T.axis.S(8, i)
                vj = T.axis.S(4, j)
                D[vi, vj] = B[vj]
"""
UNDER = """        for k in range(8):
            if k > {least}:
                for j in range(4):
                    with T.block("B"):
                        vj = T.axis.S(4, j)
                        vk = T.axis.R(8, k)
                        with T.init():
                            B[vj] = 0.0
                        B[vj] = B[vj] + A[vk, vj]
"""
ONE_LOOP = """        for k in range(8):
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.S(4, j)
                    vk = T.axis.R(8, {at})
                    T.where({where})
                    with T.init():
                        B[vj] = 0.0
                    B[vj] = B[vj] + A[vk, vj]
            for j in range(4):
                with T.block("C"):
                    vi = T.axis.S(8, i)
                    vj = T.axis.S(4, j)
                    D[vi, vj] = B[vj]
"""


def one_loop(at: str = "k", where: str = "i < 8") -> str:
    return ONE_LOOP.format(at=at, where=where)


ACCEPTED = {
    "all written": write() + READ,
    "some written, and read": write(3) + SHORT.format(n=3),
    "columns that are read": write(where="j < 3") + SHORT.format(n=3),
    "sums": sums() + READ,
    "sums of rows": sums(where="j < 3") + SHORT.format(n=3),
    "one loop": one_loop(),
    "steps that do not matter": INSIDE.format(n=2) + SHORT.format(n=3),
    "windows": GROWS.format(n=3) + READ,
}
UNSUPPORTED = {
    "not all written": write(3) + READ,
    "read first": READ + write(),
    "rows left out": write(where="i < 1") + READ,
    "columns left out": write(where="j < 3") + READ,
    "gaps": write(2, "j * 3") + READ,
    "every other": write(where="j % 2 < 1") + READ,
    "read after the loop": write() + READ + AFTER,
    "written under a condition": BEFORE.format(where="vi < 4") + READ.replace('"C"', '"E"'),
    "sums that go on": sums(7, "k + 1") + READ,
    "sums whose first step is left out": sums(where="k > 0") + READ,
    "sums of some": sums(where="i < 1") + READ,
    "sums of few columns": sums(where="j < 3") + READ,
    "sums that begin once": sums(4).replace("B[vj]", "B[vk]") + READ,
    "one loop, without the first step": one_loop(where="k > 0"),
    "one loop, the other way round": one_loop("7 - k"),
    "sums under a condition": UNDER.format(least=0) + READ,
    "all under a condition": UNDER.format(least=0)
    + READ.replace("        ", "                ", 1).replace("\n    ", "\n            "),
    "no step for the last": INSIDE.format(n="7 - i") + SHORT.format(n=3),
    "no outer step for the last": GROWS.format(n="T.min(7 - i, 3)")
    + SHORT.format(n="T.min(7 - i, 3) + 1"),
}


def rows(body: str, shape: str = "4,") -> Schedule:
    head = 'def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 4), "float32")):\n'
    head += f'    B = T.alloc_buffer(({shape}), "float32")\n    for i in range(8):\n'
    return Schedule(from_source(HEAD + head + body))


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    sch = rows(ACCEPTED[name])
    sch.parallel(sch.get_loops("C")[0])
    text = sch.mod.script()
    assert text.index("T.parallel") < text.index("B = T.alloc_buffer")


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_refused(name: str) -> None:
    sch = rows(UNSUPPORTED[name])
    loop = sch.get_loops("C")[0]
    refused(sch, lambda: sch.parallel(loop), "may use the same element of 'B'")


@pytest.mark.parametrize("name", ["B", "D"])
def test_what_differs_by_one_dimension(name: str) -> None:
    own = {"B": "B[vj, vj]", "D": "D[0, vj]"}[name]
    sch = rows(write().replace("B[vj]", own) + READ.replace("B[3", "B[vj, 3"), shape="4, 4")
    loop = sch.get_loops("C")[0]
    refused(sch, lambda: sch.parallel(loop), f"may use the same element of '{name}'")


def test_what_uses_private_buffers_is_not_inlined_outside() -> None:
    text = """def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    E = T.alloc_buffer((8, 4), "float32")
    for i in range(8):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj]
        for j in range(4):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = B[vj]
    for i, j in T.grid(8, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj]
"""
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: sch.compute_inline("E"), "'B', which block 'E' reads, is written over by")
    sch.parallel(sch.get_loops("E")[0])
    refused(sch, lambda: sch.compute_inline("E"), "'B', which block 'E' reads, is written over by")
    sch.reverse_compute_inline("D")
    assert "D[vi, vj] = B[vj]" in sch.mod.script()
    alloc = '    B = T.alloc_buffer((4,), "float32")\n'
    text = text.replace(alloc, "").replace("B[vj]", "B[vi, vj]")
    loop = "    for i in range(8):\n"
    text = text.replace(loop, loop + "    " + alloc.replace("(4,)", "(8, 4)"))
    sch = Schedule(from_source(HEAD + text))
    refused(
        sch, lambda: sch.compute_inline("E"), "'B', .* is made inside loop 'i', which block 'D'"
    )
