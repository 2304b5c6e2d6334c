"""Traces: Python, JSON and MLIR texts, replay, decisions, dead instructions."""

import json
from typing import Any

import pytest
from scheduled_programs import DYNAMIC, ELEMENTWISE, MATMUL, MATMUL_RELU
from schedules import replays

from relax_mlir import tir
from relax_mlir.dialects.schedule import PRIMITIVES
from relax_mlir.errors import ScheduleError, StructuralEqualError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.tir import Schedule, Trace
from relax_mlir.tir.schedule import testing
from relax_mlir.tir.schedule.trace.instruction import kinds


def sampled() -> Schedule:
    sch = Schedule(MATMUL.module, seed=2)
    i, _, k = sch.get_loops("C")
    sch.split(i, sch.sample_perfect_tile(i, 2, decision=[3, 2]))
    v = sch.sample_categorical([1, 2], [0.5, 0.5], decision=1)
    sch.split(k, [None, v * 2])
    sch.get_producers("C")
    return sch


def trace_of(sch: Schedule) -> Trace:
    assert sch.trace is not None
    return sch.trace


def test_helpers_of_tests_replay_traces_and_compare_functions() -> None:
    sch = sampled()
    assert_structural_equal(testing.verify_trace_roundtrip(sch, MATMUL.module).mod, sch.mod)
    with pytest.raises(ValueError, match="'python' or 'json', got 'text'"):
        testing.verify_trace_roundtrip(sch, MATMUL.module, text_format="text")
    func, other = (next(iter(each.module.functions.values())) for each in (MATMUL, ELEMENTWISE))
    named = func.with_attr("global_symbol", "named")
    testing.assert_structural_equal_ignore_global_symbol(func, named)
    with pytest.raises(StructuralEqualError):
        testing.assert_structural_equal_ignore_global_symbol(func, other)


def test_as_python() -> None:
    assert trace_of(sampled()).as_python() == [
        'b0 = sch.get_block(name="C", func_name=None)',
        "l1, l2, l3 = sch.get_loops(block=b0)",
        "v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[3, 2])",
        "l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, "
        "disable_predication=False)",
        "v8 = sch.sample_categorical(candidates=[1, 2], probs=[0.5, 0.5], decision=1)",
        "l9, l10 = sch.split(loop=l3, factors=[None, (v8 * 2)], preserve_unit_iters=True, "
        "disable_predication=False)",
        'b11 = sch.get_block(name="C", func_name=None)',
        "sch.get_producers(block=b11)",
    ]
    empty = Trace()
    assert str(empty).endswith("    pass\n")
    assert empty.as_python() == []


def test_as_json() -> None:
    data = trace_of(sampled()).as_json()
    assert json.loads(json.dumps(data)) == data
    insts, decisions = data
    assert insts[0] == ["GetBlock", [], ["C", None], ["b0"]]
    assert insts[3] == [
        "Split", [{"rv": "l1"}, [{"rv": "v4"}, {"rv": "v5"}]], [True, False], ["l6", "l7"],
    ]  # fmt: skip
    assert insts[5][1] == [{"rv": "l3"}, [None, {"expr": "(v8 * 2)"}]]
    assert decisions == [[2, [3, 2]], [4, 1]]
    other = Schedule(MATMUL.module)
    Trace.apply_json_to_schedule(data, other)
    assert_structural_equal(other.mod, sampled().mod)


def test_as_mlir() -> None:
    text = trace_of(sampled()).as_mlir()
    assert "transform.named_sequence @__transform_main(%arg0: !transform.any_op) {" in text
    assert '%b0 = "schedule.get_block"(%arg0) {func_name, name = "C"}' in text
    assert '%v4:2 = "schedule.sample_perfect_tile"(%l1#0) {decision = [3, 2], loop = @x0' in text
    assert '"schedule.split"(%l1#0, %v4#0, %v4#1) {disable_predication = false, ' in text
    assert 'factors = [unit, {expr = "(x1 * 2)"}]' in text
    again = Trace.from_mlir(text)
    assert again.as_python() == trace_of(sampled()).as_python()
    assert again.as_mlir() == text


def test_mlir_of_every_primitive() -> None:
    """The dialect has an operation for each primitive that traces record."""
    methods = {kind.method for kind in kinds()}
    assert methods <= set(PRIMITIVES)
    assert all(hasattr(Schedule, method) for method in methods)


BAD_JSON: list[Any] = [
    None, 3, [], [[["Split"]], []], [[["Nothing", [], [], []]], []],
    [[["GetLoops", [{"rv": "b9"}], [], ["l0"]]], []], [[["GetBlock", [], ["C"], ["b0"]]], []],
    [[["GetBlock", [], ["C", None], ["q0"]]], []],
    [[["GetBlock", [], ["C", {"x": 1}], ["b0"]]], []], [[], [[3, 1]]],
    [[["Split", [{"expr": "open('x')"}, []], [True, False], []]], []],
]  # fmt: skip


@pytest.mark.parametrize("data", BAD_JSON, ids=str)
def test_json_that_is_no_trace(data: Any) -> None:
    with pytest.raises(ValueError, match="this is no trace of a schedule"):
        Trace.from_json(data)


BAD_MLIR = [
    "module {",
    "module {}",
    """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%r: !transform.any_op) {
    %b = "schedule.get_block"(%r) {name = "C"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}""",
    """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%r: !transform.any_op) {
    "schedule.fuse"(%r) {loops = [@x0], preserve_unit_iters = true} : (!transform.any_op) -> ()
    transform.yield
  }
}""",
]


@pytest.mark.parametrize("text", BAD_MLIR)
def test_mlir_that_is_no_trace(text: str) -> None:
    with pytest.raises(ValueError, match="this is no trace of a schedule"):
        Trace.from_mlir(text)


def test_with_decision() -> None:
    sch = sampled()
    trace = trace_of(sch)
    inst = trace.insts[2]
    assert trace.get_decision(inst) == [3, 2]
    changed = trace.with_decision(inst, [2, 3], remove_postproc=True)
    assert trace.get_decision(inst) == [3, 2]
    other = Schedule(MATMUL.module)
    changed.apply_to_schedule(other)
    assert "i_0, i_1" in other.mod.script()
    assert [sch_extent(other, n) for n in (0, 1)] == ["2", "3"]
    with pytest.raises(ValueError, match="GetBlock is no sampling instruction"):
        trace.with_decision(trace.insts[0], 1)


def sch_extent(sch: Schedule, position: int) -> str:
    loop = sch.get(sch.get_loops("C")[position])
    return str(loop.operands[1].owner.attributes["value"]).split()[0]


def test_decisions_are_made_anew_where_there_are_none() -> None:
    trace = trace_of(sampled())
    trace = Trace(trace.insts, {})
    found = set()
    for seed in range(1, 12):
        sch = Schedule(MATMUL.module, seed=seed)
        trace.apply_to_schedule(sch)
        found.add(str(trace_of(sch)))
    assert len(found) > 1
    asked: list[str] = []

    def provider(inst: Any, inputs: Any, attrs: Any, decision: Any) -> Any:
        asked.append(inst.kind.name)
        return [6, 1] if inst.kind.name == "SamplePerfectTile" else 0

    sch = Schedule(MATMUL.module)
    trace.apply_to_schedule(sch, decision_provider=provider)
    assert asked == ["SamplePerfectTile", "SampleCategorical"]
    assert "decision=[6, 1]" in str(sch.trace)


def test_simplified_leaves_out_what_nobody_uses() -> None:
    sch = sampled()
    sch.sample_categorical([3], [1.0])
    short = trace_of(sch).simplified(remove_postproc=True)
    assert [inst.kind.name for inst in short.insts] == [
        "GetBlock", "GetLoops", "SamplePerfectTile", "Split", "SampleCategorical", "Split",
    ]  # fmt: skip
    other = Schedule(MATMUL.module)
    short.apply_to_schedule(other)
    assert_structural_equal(other.mod, sch.mod)


def test_postprocessing_can_be_left_out() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.fuse(*sch.get_loops("B"))
    before = sch.mod
    sch.enter_postproc()
    sch.parallel(sch.get_loops("B")[0])
    other = Schedule(ELEMENTWISE.module)
    trace_of(sch).apply_to_schedule(other, remove_postproc=True)
    assert_structural_equal(other.mod, before)
    replays(sch, ELEMENTWISE.module)
    assert len(trace_of(sch).as_python(remove_postproc=True)) == 3


def test_append_and_pop() -> None:
    trace = trace_of(sampled()).copy()
    length = len(trace)
    inst = trace.pop()
    assert inst is not None
    assert repr(inst) == "sch.get_producers(block=_)"
    assert len(trace) == length - 1
    trace.append(inst)
    assert len(trace) == length
    assert Trace().pop() is None


def test_sizes_in_traces() -> None:
    sch = Schedule(DYNAMIC.module)
    n = tir.SizeVar("n", "int64")
    sch.split(sch.fuse(*sch.get_loops("B")), [n // 2 + 1, None])
    replays(sch, DYNAMIC.module)


def test_names_with_quotes() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.annotate("B", 'a "quoted" \\ key', ["line\nbreak", 0, {"ü": -1.5e30}])
    replays(sch, ELEMENTWISE.module)


def test_a_trace_of_another_program_says_why_not() -> None:
    sch = Schedule(MATMUL_RELU.module)
    sch.parallel(sch.get_loops("D")[0])
    with pytest.raises(IndexError, match="no block 'D'"):
        trace_of(sch).apply_to_schedule(Schedule(MATMUL.module))
    sch = Schedule(MATMUL.module)
    sch.parallel(sch.get_loops("C")[1])
    sch.fuse(*sch.get_loops("C")[::2][:1])
    serial = Schedule(MATMUL.module)
    serial.bind(serial.get_loops("C")[0], "threadIdx.x")
    with pytest.raises(ScheduleError, match=r"is bound to 'threadIdx\.x'"):
        trace_of(sch).apply_to_schedule(serial)
