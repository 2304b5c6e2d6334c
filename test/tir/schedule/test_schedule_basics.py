"""`tir.Schedule`: looking things up, copies, seeds, errors that show the program."""

from typing import Any

import numpy as np
import pytest
from scheduled_programs import CHAIN, ELEMENTWISE, HEAD, MATMUL_RELU, SOFTMAX
from schedules import becomes, refused, results

from relax_mlir import relax, tir
from relax_mlir.errors import ExprTypeError, ScheduleError, ScheduleLookupError, ScheduleTypeError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule
from relax_mlir.tir.schedule import BlockRV, LoopRV

TWO = """
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + 1.0

    @T.prim_func
    def second(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + 2.0
"""


def names(sch: Schedule, blocks: list[BlockRV]) -> list[str]:
    return [sch.get(block).attributes["block_name"].value for block in blocks]


def test_a_private_function_is_main() -> None:
    func = from_source(
        "@T.prim_func(private=True)\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = 1"
    )
    assert_structural_equal(Schedule(func["f"]).mod["main"], func["f"])


def test_the_program_given_stays_as_it_was() -> None:
    module = ELEMENTWISE.module
    before = str(module)
    sch = Schedule(module)
    assert_structural_equal(sch.mod, module)
    sch.fuse(*sch.get_loops("B"))
    assert str(module) == before
    taken = sch.mod
    text = str(taken)
    sch.split(sch.get_loops("B")[0], [None, 4])
    assert str(taken) == text
    assert "sref" not in str(sch.mod)


def test_a_function_alone_can_be_scheduled() -> None:
    sch = Schedule(ELEMENTWISE.module["main"])
    becomes(sch, ELEMENTWISE.text)
    with pytest.raises(TypeError, match="takes a module or a prim func, got int"):
        Schedule(3)


def test_lookups() -> None:
    sch = Schedule(SOFTMAX.module)
    total = sch.get_block("total")
    assert len(sch.get_loops(total)) == len(sch.get_loops("total")) == 2
    assert names(sch, sch.get_child_blocks(sch.get_block("root"))) == [
        "most", "power", "total", "B",
    ]  # fmt: skip
    assert names(sch, sch.get_child_blocks(sch.get_loops("power")[0])) == ["power"]
    assert names(sch, sch.get_producers("B")) == ["power", "total"]
    assert names(sch, sch.get_consumers("power")) == ["total", "B"]
    assert names(sch, sch.get_producers("most")) == []
    assert names(sch, sch.get_output_blocks("root")) == ["B"]
    assert names(sch, [sch.get_sblock("power")]) == ["power"]
    assert isinstance(total, BlockRV)
    assert isinstance(sch.get_loops(total)[0], LoopRV)
    assert sch.get(sch.get_loops(total)[0]).operation.name == "tir.for"
    assert sch.get_sref(total) == sch.get_sref(sch.get_block("total"))


def test_blocks_that_do_not_exist() -> None:
    sch = Schedule(CHAIN.module)
    with pytest.raises(ScheduleLookupError, match="no block 'BB' in 'main'"):
        sch.get_block("BB")
    with pytest.raises(IndexError, match="no prim func 'other'"):
        sch.get_block("B", func_name="other")
    text = CHAIN.text.replace('T.block("C")', 'T.block("B")')
    twice = from_source("from relax_mlir.script import tir as T\n\n@T.prim_func\n" + text)
    with pytest.raises(IndexError, match="2 blocks of 'main' are called 'B'"):
        Schedule(twice).get_block("B")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s, b, i: s.get_block(3), "the name of a block is a string, got 3"),
        (lambda s, b, i: s.split("i", [None, 2]), "split: a LoopRV is needed, got 'i'; sch.get_lo"),
        (lambda s, b, i: s.split(i, 4), r"split: factors are a list, such as \[None, 4\], got 4"),
        (lambda s, b, i: s.split(b, [None, 2]), "a LoopRV is needed, got BlockRV"),
        (lambda s, b, i: s.split(i), r"split\(loop.*missing a required argument: 'factors'"),
        (lambda s, b, i: s.reorder([i]), "give loops one by one, as in sch.reorder"),
        (lambda s, b, i: s.get_loops(i), "a BlockRV, or a block's name, is needed, got LoopRV"),
        (lambda s, b, i: s.cache_read(b, 0, 3), "a storage scope is a string, such as 'shared'"),
        (lambda s, b, i: s.blockize(3), "a LoopRV or blocks are needed, got int"),
        (lambda s, b, i: s.annotate(b, "k", object()), "an annotation is a string, a number"),
        (lambda s, b, i: s.transform_layout(b, ("read", 0), 3), "a function is needed, got int"),
        (lambda s, b, i: Schedule(None), "takes a module or a prim func, got NoneType"),
    ],
)  # fmt: skip
def test_what_primitives_are_given(step: Any, message: str) -> None:
    sch = Schedule(CHAIN.module)
    block = sch.get_block("B")
    with pytest.raises((ScheduleTypeError, ExprTypeError), match=message):
        step(sch, block, sch.get_loops(block)[0])


def test_loops_and_blocks_say_what_they_are() -> None:
    sch = Schedule(MATMUL_RELU.module)
    block = sch.get_block("C")
    sch.annotate(block, "note", 3)
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    found = sch.get(block)
    assert found.name_hint == "C"
    assert found.annotations == {"note": 3}
    assert [str(loop.extent) for loop in loops] == ["n", "6", "8"]
    assert [str(each.extent) for each in found.iter_vars] == ["n", "6", "8"]
    assert loops[1].extent.value == 6
    assert {loop.kind for loop in loops} == {"serial"}
    assert all(loop.min.value == 0 and loop.annotations == {} for loop in loops)
    assert {each.iter_type for each in found.iter_vars} == {"spatial", "reduction"}
    assert len({loop.loop_var for loop in loops} | {each.name for each in found.iter_vars}) == 6


def test_primitives_that_there_are_not() -> None:
    with pytest.raises(AttributeError, match="has no 'vectorise'; did you mean 'vectorize'"):
        _ = Schedule(CHAIN.module).vectorise


def test_several_functions() -> None:
    module = from_source(TWO)
    sch = Schedule(module)
    assert sch.func_working_on is None
    with pytest.raises(ValueError, match=r"which function\? There are first, second"):
        sch.get_block("B")
    sch.split(sch.get_loops(sch.get_block("B", func_name="second"))[0], [2, 2])
    sch.work_on("first")
    assert sch.func_working_on == "first"
    sch.unroll(sch.get_loops("B")[0])
    with pytest.raises(IndexError, match="no prim func 'third'"):
        sch.work_on("third")
    assert sch.func_working_on == "first"
    assert sch.trace is not None
    other = Schedule(module)
    sch.trace.apply_to_schedule(other)
    assert_structural_equal(other.mod, sch.mod)
    vm = relax.VirtualMachine(relax.build(sch.mod))
    given, got = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    for name, step in (("first", 1), ("second", 2)):
        vm[name](given, got)
        np.testing.assert_array_equal(got, given + step)


def test_a_copy_goes_its_own_way() -> None:
    sch = Schedule(CHAIN.module, seed=7)
    i, j = sch.get_loops("B")
    other = sch.copy()
    sch.parallel(i)
    other.fuse(i, j)
    sch.vectorize(j)
    assert "T.parallel" in sch.mod.script()
    assert "T.parallel" not in other.mod.script()
    assert len(other.get_loops("B")) == 1
    assert sch.trace is not None
    assert other.trace is not None
    assert len(sch.trace) == 4
    assert len(other.trace) == 5
    with pytest.raises(ScheduleError, match="is gone"):
        other.parallel(i)


def test_random_variables_that_are_gone() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.fuse(i, j)
    refused(sch, lambda: sch.parallel(i), "the loop of this random variable is gone")
    block = sch.get_block("B")
    sch.remove_rv(block)
    refused(sch, lambda: sch.get_loops(block), "none of this schedule's, or was removed")
    with pytest.raises(KeyError, match="none of this schedule's"):
        sch.remove_rv(block)
    other = Schedule(ELEMENTWISE.module)
    refused(sch, lambda: sch.get_loops(other.get_block("B")), "none of this schedule's")


def test_errors_show_the_program_and_mark_the_place() -> None:
    sch = Schedule(MATMUL_RELU.module)
    _, j, k = sch.get_loops("C")
    message = refused(sch, lambda: sch.parallel(k), "block 'C' reduces over loop 'k'")
    lines = message.splitlines()
    assert lines[0] == "parallel cannot be applied: block 'C' reduces over loop 'k'"
    head = next(n for n, line in enumerate(lines) if "for i, j, k in" in line)
    assert lines[head + 1].index("^") == lines[head].index("k")
    block = next(n for n, line in enumerate(lines) if 'T.block("C")' in line)
    assert lines[block + 1].index("^") == lines[block].index("C")
    assert "sref" not in message
    for level, want in (("fast", lines[0]), ("none", "parallel cannot be applied")):
        quiet = Schedule(MATMUL_RELU.module, error_render_level=level)
        loop = quiet.get_loops("C")[2]
        assert refused(quiet, lambda s=quiet, k=loop: s.parallel(k), "cannot be applied") == want
    assert sch.get_sref(j) == sch.get_sref(sch.get_loops("C")[1])
    with pytest.raises(ScheduleError) as caught:
        sch.vectorize(k)
    assert caught.value.primitive == "vectorize"
    assert caught.value.reason == "block 'C' reduces over loop 'k'"


def test_choices_that_do_not_exist() -> None:
    module = ELEMENTWISE.module
    with pytest.raises(ValueError, match="error_render_level must be one of detail, fast, none"):
        Schedule(module, error_render_level="loud")
    with pytest.raises(ValueError, match="debug_mask must be"):
        Schedule(module, debug_mask="some")
    for seed in (0, -2, 1 << 31):
        with pytest.raises(ValueError, match="seed must be in the range"):
            Schedule(module, seed=seed)


def test_checks_can_be_left_out() -> None:
    """Without checks a primitive does what it is told, even what changes results."""
    sch = Schedule(MATMUL_RELU.module, enable_check=False)
    sch.vectorize(sch.get_loops("C")[2])
    assert "T.vectorized(8)" in sch.mod.script()


def test_seeds() -> None:
    first, second = (Schedule(ELEMENTWISE.module, seed=5) for _ in range(2))
    assert [first.fork_seed() for _ in range(4)] == [second.fork_seed() for _ in range(4)]
    assert first.fork_seed() != first.fork_seed()


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    sch = tir.Schedule(ELEMENTWISE.module)
    sch.fuse(*sch.get_loops("B"))
    sch.show("plain")
    shown = capsys.readouterr().out
    assert "for i_j_fused in range(120):" in shown
    assert "def apply_trace(sch: tir.Schedule) -> None:" in shown
    page = sch._repr_html_()
    assert page.count("<pre>") == 2
    assert "i_j_fused" in page
    assert "apply_trace" in page


def test_interrupts_leave_the_program_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    sch = Schedule(ELEMENTWISE.module)
    before = sch.mod
    i, j = sch.get_loops("B")

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relax_mlir.tir.view.edit.normalize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sch.split(i, [None, 4])
    monkeypatch.undo()
    assert_structural_equal(sch.mod, before)
    sch.fuse(i, j)


USES_LOOPS = (
    HEAD
    + """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    B = T.alloc_buffer((8, 9), "float32")
    S = T.alloc_buffer((8,), "float32")
    for i, j in T.grid(8, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.cast(i, "float32")
    for i, j in T.grid(8, 9):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.cast(i, "float32")
            S[vi] = S[vi] + B[vi, vj] * T.cast(j, "float32")
    for i, j in T.grid(8, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = S[vi] * T.cast(j, "float32")
"""
)


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.compute_inline("B"),
        lambda sch: sch.reverse_compute_inline("D"),
        lambda sch: sch.compute_at("B", sch.get_loops("S")[0]),
        lambda sch: sch.reverse_compute_at("D", sch.get_loops("S")[0]),
        lambda sch: sch.transform_block_layout("B", lambda i, j: (j, i)),
        lambda sch: sch.decompose_reduction("S", sch.get_loops("S")[0]),
        lambda sch: sch.rfactor(sch.get_loops("S")[1], 0),
        lambda sch: sch.pad_einsum("S", [1, 4]),
        lambda sch: sch.reorder(*sch.get_loops("S")[::-1]),
    ],
)
def test_blocks_that_use_loops_themselves_stay_in_them(step) -> None:
    """Moved elsewhere they would use variables that are gone."""
    sch = Schedule(from_source(USES_LOOPS))
    refused(sch, lambda: step(sch), "itself, not by an iterator|no complete|neither")


def test_blocks_that_use_loops_themselves_run() -> None:
    sch = Schedule(from_source(USES_LOOPS))
    sch.split(sch.get_loops("B")[0], [None, 3])
    sch.reorder(*sch.get_loops("D")[::-1])
    sch.blockize(["D"])
    sch.blockize(sch.get_loops("B")[2])
    a = np.random.default_rng(0).standard_normal((8, 9)).astype("float32")
    i, j = np.arange(8)[:, None], np.arange(9)
    want = ((a * i * j).sum(1) + np.arange(8))[:, None] * j
    np.testing.assert_allclose(results(sch.mod, [a], (8, 9), "main"), want, 1e-4, 1e-4)
