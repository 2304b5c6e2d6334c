"""Watching the VM: instruments, profiles, timing, kept inputs; random control flow."""

import html
import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, VMError
from relax_mlir.runtime import (
    ExecBuilder,
    Executable,
    Report,
    VirtualMachine,
    VMInstrumentReturnKind,
    register_func,
    remove_global_func,
)
from relax_mlir.runtime.bytecode.instructions import ArgKind, Opcode

FUNCTIONS = {
    "test.watch.add": lambda a, b: a + b,
    "test.watch.less": lambda a, b: a < b,
    "test.watch.step": lambda a: (a * 5 + 3) % 64,
    "test.watch.odd": lambda a: np.array(a % 2 == 1),
}


@pytest.fixture(autouse=True)
def _functions() -> Iterator[None]:
    for name, func in FUNCTIONS.items():
        register_func(name, func, override=True)
    yield
    for name in FUNCTIONS:
        remove_global_func(name)


def _program() -> Executable:
    ib = ExecBuilder()
    with ib.function("inner", 2, ["a", "b"]):
        ib.emit_call("test.watch.add", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("inner", [ib.r(1), 10], dst=ib.r(2))
        ib.emit_call("vm.builtin.alloc_storage", [16, "cpu"], dst=ib.r(3))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(3), 0, (2,), "float64"], dst=ib.r(4))
        ib.emit_call("vm.builtin.kill_object", [ib.r(4)], dst=ib.r(4))
        ib.emit_call("test.watch.add", [ib.r(2), ib.r(2)], dst=ib.r(5))
        ib.emit_ret(ib.r(5))
    return ib.get()


def test_an_instrument_sees_every_call_before_and_after() -> None:
    vm = VirtualMachine(_program())
    main = vm["main"]
    assert main(1) == 22
    seen: list[Any] = []

    def instrument(func: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        assert callable(func)
        seen.append((name.removeprefix("vm.builtin."), before, result, len(args)))

    vm.set_instrument(instrument)
    assert main(1) == vm["main"](1) == 22
    assert [s[:2] for s in seen[: len(seen) // 2]] == [
        ("move", True), ("move", False),
        ("inner", True), ("test.watch.add", True), ("test.watch.add", False), ("inner", False),
        ("alloc_storage", True), ("alloc_storage", False),
        ("alloc_tensor", True), ("alloc_tensor", False),
        ("kill_object", True), ("kill_object", False),
        ("test.watch.add", True), ("test.watch.add", False),
    ]  # fmt: skip
    assert seen[4] == ("test.watch.add", False, 11, 2)
    seen.clear()
    vm.set_instrument(None)
    assert main(1) == 22
    assert seen == []


@pytest.mark.parametrize("answer", [VMInstrumentReturnKind.SKIP_RUN, 1])
def test_an_instrument_may_skip_a_call(answer: int) -> None:
    vm = VirtualMachine(_program())
    seen: list[tuple[str, bool]] = []

    def skip(_: Any, name: str, before: bool, result: Any, *args: Any) -> int:
        seen.append((name, before))
        skipped = name == "inner"
        return answer if skipped else VMInstrumentReturnKind.NO_OP

    vm.set_instrument(skip)
    with pytest.raises(TypeError) as raised:
        vm["main"](1)
    assert "NoneType" in str(raised.value)
    assert ("inner", True) in seen
    assert ("inner", False) not in seen


def test_wrong_instruments() -> None:
    vm = VirtualMachine(_program())
    with pytest.raises(TypeError, match="an instrument is a function"):
        vm.set_instrument(3)  # type: ignore[arg-type]
    vm.set_instrument(lambda *_: "no")
    with pytest.raises(ArgumentTypeError, match="returns None or a VMInstrumentReturnKind, got a"):
        vm["main"](1)
    vm.set_instrument(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as raised:
        vm["main"](1)
    assert "in VM function 'main', instruction 0" in raised.value.__notes__[0]
    vm.set_instrument(None)
    assert vm["main"](1) == 22


# Control flow against a plain interpreter


def _random_flow(rng: random.Random) -> Executable:
    """Return a function of one number with any jumps; each turn costs fuel, so it ends."""
    ib = ExecBuilder()
    size = rng.randrange(2, 30)
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.move", [0], dst=ib.r(1))
        ib.emit_call("vm.builtin.move", [True], dst=ib.r(2))
        begin = ib.here()
        kinds = [rng.choice(("step", "odd", "if", "goto", "ret")) for _ in range(size)]
        kinds[-1] = "ret"
        # Before each jump the fuel is looked at.
        at, where = begin, []
        for kind in kinds:
            where.append(at)
            at += {"if": 5, "goto": 5}.get(kind, 1)
        for kind in kinds:
            if kind == "step":
                ib.emit_call("test.watch.step", [ib.r(0)], dst=ib.r(0))
            elif kind == "odd":
                ib.emit_call("test.watch.odd", [ib.r(0)], dst=ib.r(2))
            elif kind == "ret":
                ib.emit_ret(ib.r(0))
            else:
                ib.emit_call("test.watch.add", [ib.r(1), 1], dst=ib.r(1))
                ib.emit_call("test.watch.less", [ib.r(1), 40], dst=ib.r(3))
                ib.emit_if(ib.r(3), 2)
                target = rng.choice(where)
                here = ib.here()
                if target == here:
                    target = begin
                if kind == "if":
                    ib.emit_if(ib.r(2), target - here if target != here else 1)
                    ib.emit_ret(ib.r(1)) if rng.random() < 0.1 else ib.emit_goto(1)
                else:
                    ib.emit_goto(target - here)
                    ib.emit_ret(ib.r(1))
    return ib.get()


def _interpreted(ex: Executable, x: int) -> Any:
    registers: dict[int, Any] = {0: x}
    position, code = 0, ex.instructions(ex.function("main"))

    def value(arg: Any) -> Any:
        if arg.kind is ArgKind.REGISTER:
            return registers.get(arg.value)
        return ex.constants[arg.value] if arg.kind is ArgKind.CONSTANT else arg.value

    while True:
        instr = code[position]
        if instr.op is Opcode.RET:
            return registers[instr.reg.value]
        if instr.op is Opcode.CALL:
            name = ex.func_names[instr.func_idx]
            func = FUNCTIONS.get(name, lambda a: a)
            registers[instr.dst.value] = func(*[value(a) for a in instr.args])
            position += 1
        elif instr.op is Opcode.GOTO:
            position += instr.offset
        else:
            position += 1 if bool(registers[instr.reg.value]) else instr.offset


@pytest.mark.parametrize("chunk", range(4))
def test_random_control_flow(chunk: int) -> None:
    loops = 0
    for seed in range(100 * chunk, 100 * (chunk + 1)):
        ex = _random_flow(random.Random(seed))
        vm, watched = VirtualMachine(ex), VirtualMachine(ex)
        calls: list[str] = []
        watched.set_instrument(lambda f, name, before, *rest, c=calls: c.append(name))
        for x in (0, 1, 37):
            want = _interpreted(ex, x)
            assert vm["main"](x) == want, seed
            assert watched["main"](x) == want, seed
        loops += len(calls) > 100
    assert loops > 10


def test_conditions_deeper_than_the_source_may_nest() -> None:
    ib = ExecBuilder()
    count = 300
    with ib.function("main", 1):
        for i in range(count):
            # True goes on to the next one, false leaves with how far it came.
            ib.emit_call("test.watch.less", [i, ib.r(0)], dst=ib.r(1))
            ib.emit_if(ib.r(1), 2)
            ib.emit_goto(3)
            ib.emit_call("vm.builtin.move", [i], dst=ib.r(2))
            ib.emit_ret(ib.r(2))
        ib.emit_ret(-1)
    vm = VirtualMachine(ib.get())
    assert [vm["main"](x) for x in (-1, 0, 5, 299, 300)] == [0, 0, 5, 299, -1]


# Kept inputs and outputs


def test_stateful_calls() -> None:
    vm = VirtualMachine(_program())
    with pytest.raises(VMError, match=r"'main' has no inputs: call set_input\('main'"):
        vm.invoke_stateful("main")
    vm.set_input("main", 1)
    with pytest.raises(VMError, match="'main' has no outputs: call invoke_stateful"):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    assert vm.get_outputs("main") == 22
    vm.set_input("main", x=np.arange(2.0))
    assert vm.get_outputs("main") == 22
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main"), [20.0, 22.0])
    for call in (vm.set_input, vm.invoke_stateful, vm.get_outputs):
        with pytest.raises(FunctionNotFoundError, match="did you mean 'main'"):
            call("mian")
    with pytest.raises(ArgumentTypeError, match=r"main\(x\) takes 1 argument, got 2"):
        vm.set_input("main", 1, 2)


def test_inputs_belong_to_a_thread() -> None:
    vm = VirtualMachine(_program())
    vm.set_input("main", 1)
    found: list[Any] = []

    def work() -> None:
        try:
            vm.invoke_stateful("main")
        except VMError as error:
            found.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1


def test_saved_functions() -> None:
    vm = VirtualMachine(_program())
    vm.save_function("inner", "saved", 1, b=2)
    assert vm["saved"]() == 3
    assert "saved" in vm.functions
    vm.save_function("inner", "silent", 1, 2, include_return=False)
    assert vm["silent"]() is None
    assert vm.time_evaluator("saved", number=2)().min > 0
    with pytest.raises(ValueError, match="has a function 'main' already"):
        vm.save_function("inner", "main", 1, 2)
    with pytest.raises(ArgumentTypeError, match="missing b"):
        vm.save_function("inner", "bad", 1)
    with pytest.raises(TypeError):
        vm["saved"](1)


def test_time_evaluator() -> None:
    calls: list[int] = []
    register_func("test.watch.count", lambda: calls.append(1), override=True)
    register_func("test.watch.before", lambda: calls.append(0), override=True)
    ib = ExecBuilder()
    with ib.function("main", 0):
        ib.emit_call("test.watch.count")
        ib.emit_ret(0)
    vm = VirtualMachine(ib.get())
    timer = vm.time_evaluator("main", "cpu", number=3, repeat=4, f_preproc="test.watch.before")
    result = timer()
    assert calls == [1, *[0, 1, 1, 1] * 4]
    assert len(result.results) == 4
    assert 0 < result.min <= result.median <= result.max
    assert result.percentile(100) == result.max
    assert str(result).splitlines()[0] == "Execution time summary:"
    longer = vm.time_evaluator("main", number=1, repeat=1, min_repeat_ms=5)()
    assert longer.mean < 5e-3
    for wrong in ({"number": 0}, {"repeat": -1}, {"repeat": 1.5}, {"min_repeat_ms": -1}):
        with pytest.raises(ArgumentTypeError):
            vm.time_evaluator("main", **wrong)()
    with pytest.raises(FunctionNotFoundError):
        vm.time_evaluator("mian")
    with pytest.raises(FunctionNotFoundError):
        vm.time_evaluator("main", f_preproc="test.watch.befor")
    for name in ("test.watch.count", "test.watch.before"):
        remove_global_func(name)


# Profiles


def test_profile() -> None:
    vm = VirtualMachine(_program())
    report = vm.profile("main", 1, repeat=3)
    assert isinstance(report, Report)
    rows = {row.name: row for row in report.rows()}
    assert rows["test.watch.add"].calls == 6
    assert rows["test.watch.add"].kind == "packed"
    assert (rows["inner"].calls, rows["inner"].kind) == (3, "bytecode")
    assert rows["vm.builtin.alloc_storage"].kind == "builtin"
    assert sum(row.seconds for row in rows.values()) <= report.seconds
    inner = [call for call in report.calls if call.name == "inner"]
    assert all(call.own < call.seconds for call in inner)
    table = report.table().splitlines()
    assert table[0].split() == ["function", "kind", "calls", "total", "us", "us/call", "share"]
    assert any(line.startswith("(builtins)") for line in table)
    assert "vm.builtin.move" in report.table(builtins=True)
    assert report._repr_html_() == f"<pre>{html.escape(str(report))}</pre>"
    assert report.csv().splitlines()[0] == "name,kind,calls,seconds,share,flops,bytes"
    assert len(report.csv().splitlines()) == len(rows) + 1
    assert json.loads(report.json())["repeat"] == 3
    events = json.loads(report.chrome_trace())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(report.calls)
    outer = next(e for e in spans if e["name"] == "inner")
    within = [e for e in spans if outer["ts"] <= e["ts"] < outer["ts"] + outer["dur"]]
    assert [e["name"] for e in within] == ["inner", "test.watch.add"]
    # What was profiled is a machine of its own.
    seen: list[str] = []
    vm.set_instrument(lambda f, name, *rest: seen.append(name))
    vm.profile("main", 1)
    assert seen == []


def test_profiles_of_what_fails() -> None:
    vm = VirtualMachine(_program())
    for _ in range(2):
        with pytest.raises(TypeError):
            vm.profile("main", "text")
    assert vm.profile("main", 1).rows()
    with pytest.raises(FunctionNotFoundError):
        vm.profile("mian")
    vm.save_function("inner", "saved", 1, 2)
    with pytest.raises(FunctionNotFoundError, match="a saved call"):
        vm.profile("saved")


def test_threads_profile_one_machine() -> None:
    vm = VirtualMachine(_program())
    counts: list[int] = []

    def work() -> None:
        for _ in range(20):
            counts.append(len(vm.profile("main", 1).calls))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [7] * 80


# Errors


def test_every_frame_is_in_the_stack_of_an_error() -> None:
    def fail(n: int) -> None:
        raise (VMError if n else KeyError)("mine")

    register_func("test.watch.fail", fail, override=True)
    ib = ExecBuilder()
    depth = 40
    for i in range(depth):
        with ib.function(f"f{i}", 1):
            name = f"f{i + 1}" if i + 1 < depth else "test.watch.fail"
            ib.emit_call(name, [ib.r(0)], dst=ib.r(1))
            ib.emit_ret(ib.r(1))
    sources = {f"f{i}": [[0, f"model.py:{i}"]] for i in range(depth)}
    vm = VirtualMachine(ib.get(metadata={"sources": sources}))
    for kind, x in ((KeyError, 0), (VMError, 1)):
        with pytest.raises(kind) as raised:
            vm["f0"](x)
        stack = raised.value.vm_stack
        assert stack[0] == (
            "in VM function 'f39', instruction 0 (call test.watch.fail) at model.py:39"
        )
        assert len(stack) == depth
        lines = raised.value.__notes__ if x == 0 else str(raised.value).split("\n  ")[1:]
        assert lines[:2] == stack[:2]
        assert lines[-2:] == ["... 23 more frames ...", stack[-1]]
    remove_global_func("test.watch.fail")


@pytest.mark.parametrize("name", ["python", "closure"])
def test_recursion_through_other_functions(name: str) -> None:
    machines: list[VirtualMachine] = []
    register_func("test.watch.again", lambda x: machines[0]["python"](x), override=True)
    ib = ExecBuilder()
    with ib.function("python", 1):
        ib.emit_call("test.watch.again", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("closure", 1):
        ib.emit_call("vm.builtin.make_closure", [ib.f("closure")], dst=ib.r(1))
        ib.emit_call("vm.builtin.invoke_closure", [ib.r(1), ib.r(0)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    machines.append(VirtualMachine(ib.get()))
    for x in (1, np.ones(3)):
        with pytest.raises(VMError, match="call each other too deeply") as raised:
            machines[0][name](x)
        assert str(raised.value).count("\n") < 25
    remove_global_func("test.watch.again")
