"""ExecBuilder: the document's programs, the checks, renumbering, random programs as Python."""

import random
import warnings
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, runtime
from relax_mlir.errors import VMError
from relax_mlir.runtime import ExecBuilder, Executable, UnusedInputWarning, VirtualMachine
from relax_mlir.runtime.bytecode.instructions import VM_STATE_REGISTER, VOID, ArgKind, Opcode

_VALUES = (
    np.arange(5, dtype="int8"),
    np.array([[np.nan, -np.inf], [-0.0, 1e-40]], "float32"),
    np.zeros((3, 0), "float64"),
    np.array(7, "uint16"),
    np.ones(100, "float16"),
    (1, 2, 3),
    (),
    (np.arange(2), ("text", (None,))),
    "quote ' \" \\ \n \u00e9",
    b"\0\xff",
    np.dtype("float32"),
    None,
    True,
    2.5,
    float("inf"),
    1 << 90,
    -(1 << 56),
)
_NAMES = ("vm.builtin.make_tuple", "vm.builtin.copy", "odd name'\\", "func0", "func1")


def _operand(ib: ExecBuilder, rng: random.Random, defined: list[int]) -> Any:
    kind = rng.randrange(6)
    if kind <= 1 and defined:
        return ib.r(rng.choice(defined))
    if kind == 2:
        return rng.randrange(-(2**55), 2**55)
    if kind == 3:
        return ib.f(rng.choice(_NAMES))
    return (ib.vm_state(), ib.void_arg())[rng.randrange(2)] if kind == 4 else rng.choice(_VALUES)


def _random_executable(seed: int) -> Executable:
    rng = random.Random(seed)
    ib = ExecBuilder(warn_unused_inputs=False)
    for i in range(rng.randrange(1, 4)):
        count = rng.randrange(3)
        names = [f"p{k}" for k in range(count)] if rng.random() < 0.5 else None
        with ib.function(f"func{i}", count, names):
            defined = list(range(count))
            open_jumps: list[int] = []
            for _ in range(rng.randrange(8)):
                kind = rng.randrange(4)
                if kind == 0 and defined:
                    open_jumps.append(ib.emit_if(ib.r(rng.choice(defined))))
                    # What one way alone defines is not defined after the ways meet.
                    here = list(defined)
                    ib.emit_call("vm.builtin.move", [1], dst=ib.r(10_000 + rng.randrange(50)))
                    ib.patch(open_jumps.pop())
                    defined = here
                elif kind == 1:
                    ib.emit_goto(1)
                else:
                    args = [_operand(ib, rng, defined) for _ in range(rng.randrange(4))]
                    register = rng.randrange(5000)
                    dst = ib.r(register) if rng.random() < 0.7 else None
                    ib.emit_call(rng.choice(_NAMES), args, dst)
                    defined += [register] if dst is not None else []
            ib.emit_ret(ib.r(rng.choice(defined)) if defined else rng.choice(_VALUES))
    metadata = {"target": "x", "list": [1, None, {"a": "b'"}]} if rng.random() < 0.5 else None
    return ib.get(metadata=metadata)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("chunk", range(4))
def test_random_programs_as_python(chunk: int) -> None:
    for seed in range(50 * chunk, 50 * (chunk + 1)):
        ex = _random_executable(seed)
        for again in (ex, Executable.from_bytes(ex.to_bytes())):
            scope = {"constants": again.constants}
            exec(again.as_python(), scope)
            made = scope["ex"]
            assert made.to_bytes() == ex.to_bytes(), seed
            assert made.as_text() == ex.as_text() == ex.astext()
            assert made.stats() == ex.stats()
            assert made.aspython() == ex.as_python()


@pytest.fixture
def _document_functions() -> Any:
    functions = {
        "test.vm.move": lambda src: src,
        "vm.add": lambda a, b: a + b,
        "vm.mul": lambda a, b: a * b,
    }
    for name, func in functions.items():
        runtime.register_func(name, func, override=True)
    yield
    for name in functions:
        runtime.remove_global_func(name)


@pytest.mark.usefixtures("_document_functions")
def test_document_example() -> None:
    ib = relax.ExecBuilder()
    ib.emit_constant(np.full(4, 3.0))
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.vm.move", [ib.c(0)], dst=ib.r(1))
        ib.emit_call("vm.add", [ib.r(0), ib.imm(10)], dst=ib.r(2))
        ib.emit_call("vm.mul", [ib.r(2), ib.r(1)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    x = np.arange(4.0)
    np.testing.assert_array_equal(relax.VirtualMachine(ib.get())["main"](x), (x + 10) * 3)


def _add(ib: ExecBuilder, inputs: int, a: int, b: int) -> None:
    with ib.function("main", num_inputs=inputs):
        ib.emit_call("f", [ib.r(a), ib.r(b)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))


def test_document_registers_that_nothing_defined() -> None:
    ib = ExecBuilder()
    with pytest.raises(ValueError, match=r"register %3 is used before .*the function has 2 inp"):
        _add(ib, 2, 0, 3)
    with pytest.warns(UnusedInputWarning, match="input arg1 is never used"):
        _add(ib, 3, 0, 2)
    assert ib.get().function("main").register_file_size == 4


def test_large_registers_are_renumbered() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=2):
        ib.emit_call("f", [ib.r(1), ib.r(0)], dst=ib.r(10_000))
        ib.emit_call("f", [ib.r(10_000)], dst=ib.r(2**31))
        ib.emit_call("f", [ib.r(2**31), ib.vm_state(), ib.void_arg()])
        ib.emit_ret(ib.r(10_000))
    ex = ib.get()
    func = ex.function("main")
    assert func.register_file_size == 4
    text = [line.split("in: ")[-1].split() for line in ex.as_text().splitlines()[1:]]
    assert [words for words in text] == [
        ["%1,", "%0", "dst:", "%2"],
        ["%2", "dst:", "%3"],
        ["%3,", "%vm,", "void", "dst:", "void"],
        ["ret", "ret", "%2"],
    ]
    with pytest.raises(ValueError, match="must be below"):
        ib.r(VM_STATE_REGISTER)


def _ways(true: bool, false: bool) -> Executable:
    """Build a function where each of two ways defines register 5, or does not, and then use it."""
    ib = ExecBuilder()
    with ib.function("main", 1):
        orelse = ib.emit_if(ib.r(0))
        ib.emit_call("vm.builtin.move", [1], dst=ib.r(5 if true else 6))
        end = ib.emit_goto()
        ib.patch(orelse)
        ib.emit_call("vm.builtin.move", [2], dst=ib.r(5 if false else 7))
        ib.patch(end)
        ib.emit_ret(ib.r(5))
    return ib.get()


def test_every_way_must_define_a_register() -> None:
    vm = VirtualMachine(_ways(True, True))
    assert (vm["main"](True), vm["main"](False)) == (1, 2)
    for ways in ((True, False), (False, True), (False, False)):
        with pytest.raises(ValueError, match=r"instruction 4: register %5 is used before it is"):
            _ways(*ways)


def test_a_later_instruction_may_come_first() -> None:
    ib = ExecBuilder()
    with ib.function("main", 0):
        forward = ib.emit_goto()
        back = ib.here()
        ib.emit_ret(ib.r(8))
        ib.patch(forward)
        ib.emit_call("vm.builtin.move", [4], dst=ib.r(8))
        ib.patch(ib.emit_goto(), back)
    assert VirtualMachine(ib.get())["main"]() == 4
    ib = ExecBuilder()
    with ib.function("main", 0):
        # Nothing leads to this use.
        ib.emit_goto(2)
        ib.emit_call("vm.builtin.move", [ib.r(3)], dst=ib.r(3))
        ib.emit_ret(5)
    assert VirtualMachine(ib.get())["main"]() == 5


def _loop() -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        top = ib.here()
        ib.emit_call("vm.builtin.copy", [ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.copy", [ib.r(2)], dst=ib.r(1))
        leave = ib.emit_if(ib.r(0))
        ib.patch(ib.emit_goto(), top)
        ib.patch(leave)
        ib.emit_ret(ib.r(1))


def test_a_loop_may_use_what_it_defined_only_if_it_did_before() -> None:
    with pytest.raises(ValueError, match="instruction 0: register %1 is used before"):
        _loop()


def test_operands_of_every_kind() -> None:
    ib = ExecBuilder()
    array = np.arange(3)
    with ib.function("main", 0):
        ib.emit_call(
            "vm.builtin.make_tuple",
            [
                array,
                (2, 3),
                [4, np.int32(5)],
                "s",
                np.dtype("int8"),
                np.float32,
                1.5,
                None,
                7,
                True,
            ],
            dst=ib.r(0),
        )
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    kinds = [arg.kind for arg in ex.get_instruction(0).args]
    assert kinds == [ArgKind.CONSTANT] * 8 + [ArgKind.IMMEDIATE, ArgKind.CONSTANT]
    assert ex.get_instruction(0).op is Opcode.CALL
    assert ex.get_instruction(0).dst != VOID
    result = VirtualMachine(ex)["main"]()
    assert result[1:] == (
        (2, 3),
        (4, 5),
        "s",
        np.dtype("int8"),
        np.dtype("float32"),
        1.5,
        None,
        7,
        True,
    )
    np.testing.assert_array_equal(result[0], array)


def test_get_checks_constants_and_functions() -> None:
    ib = ExecBuilder()
    with ib.function("main", 0):
        ib.emit_call("f", [ib.c(3)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    with pytest.raises(ValueError, match=r"instruction 0: operand c\[3\] does not exist"):
        ib.get()
    for _ in range(4):
        ib.emit_constant(str(_))
    assert ib.get().stats().count("'3'") == 1


def test_a_recursion_without_end_is_an_error_and_not_a_crash() -> None:
    ib = ExecBuilder()
    with ib.function("down", 1):
        ib.emit_call("up", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("up", 1):
        ib.emit_call("down", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    vm = VirtualMachine(ib.get(metadata={"sources": {"up": [[0, "m.py:7"]]}}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            with pytest.raises(VMError, match="down: functions of the executable call") as raised:
                vm["down"](1)
    text = str(raised.value)
    assert "in VM function 'up', instruction 0 (call down) at m.py:7" in text
    assert "more frames ..." in text
    assert text.count("\n") < 25
    assert raised.value.vm_stack[-1] == "in VM function 'down', instruction 0 (call up)"
    assert len(raised.value.vm_stack) > 100


def test_large_constants_are_not_printed() -> None:
    class Silent(np.ndarray):
        def __repr__(self) -> str:
            raise AssertionError("a large constant was printed")

    ib = ExecBuilder()
    large = np.zeros(1000, "f4").view(Silent)
    assert ib.emit_constant(large) == ib.emit_constant(large)
