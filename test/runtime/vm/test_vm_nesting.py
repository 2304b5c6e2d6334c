"""Calls of the virtual machine from functions that it calls: errors that pass, depth that ends."""

import sys
import traceback
from collections.abc import Iterator

import pytest
import tvm_ffi

from relax_mlir import errors
from relax_mlir.errors import RelaxMLIRError, VMError
from relax_mlir.runtime import ExecBuilder, VirtualMachine, register_func
from relax_mlir.runtime.native.ffi_errors import ERRORS
from relax_mlir.runtime.registry import remove_global_func
from relax_mlir.runtime.vm.call_depth import MAX_NESTED, NESTED


@pytest.fixture
def machine() -> Iterator[VirtualMachine]:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("test.nesting.again", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    yield VirtualMachine(ib.get(metadata={"sources": {"main": [[0, "m.py:7"]]}}))
    assert not NESTED


@pytest.mark.parametrize("kind", ERRORS, ids=lambda e: e.__name__)
def test_an_error_keeps_its_class_through_the_ffi(kind: type[Exception]) -> None:
    def fail(x: object) -> None:
        raise kind("what was wrong")

    register_func("test.nesting.fail", fail, override=True)
    with pytest.raises(kind, match="what was wrong") as raised:
        tvm_ffi.get_global_func("test.nesting.fail")(1)
    assert type(raised.value) is kind
    remove_global_func("test.nesting.fail")


def test_all_errors_that_a_message_alone_makes_are_known() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, VMError)]
    assert set(kinds) <= set(ERRORS)
    assert all(isinstance(k("text"), RelaxMLIRError) for k in kinds)


def test_an_error_keeps_its_frames_through_the_ffi(machine: VirtualMachine) -> None:
    def again(x: int) -> object:
        if x == 0:
            raise VMError("the end")
        return machine["main"](x - 1)

    tvm_ffi.register_global_func("test.nesting.again", again, override=True)
    with pytest.raises(VMError) as raised:
        machine["main"](40)
    frame = "in VM function 'main', instruction 0 (call test.nesting.again) at m.py:7"
    assert len(raised.value.vm_stack) == 41
    assert raised.value.vm_stack[0] == raised.value.vm_stack[-1] == frame
    lines = str(raised.value).split("\n  ")
    assert lines == ["the end", *[frame] * 16, "... 24 more frames ...", frame]


@pytest.mark.parametrize("limit", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("through", ["ffi", "python"])
def test_a_recursion_through_callbacks_is_an_error(
    machine: VirtualMachine, through: str, limit: int
) -> None:
    def again(x: int) -> object:
        return machine["main"](x)

    if through == "ffi":
        tvm_ffi.register_global_func("test.nesting.again", again, override=True)
    else:
        register_func("test.nesting.again", again, override=True)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with pytest.raises(VMError) as raised:
            machine["main"](1)
    finally:
        sys.setrecursionlimit(before)
    said = f"{MAX_NESTED} times over" if limit > before else "too deeply"
    assert said in str(raised.value)
    assert str(raised.value).count("\n") < 25
    # The FFI makes all frames anew at each level.
    if through == "ffi":
        assert len([*traceback.walk_tb(raised.value.__traceback__)]) < 1000
    if through == "python":
        remove_global_func("test.nesting.again")


@pytest.mark.parametrize("limit", [1000, 100_000])
def test_a_closure_that_calls_itself_is_an_error(limit: int) -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.make_closure", [ib.f("main")], dst=ib.r(1))
        ib.emit_call("vm.builtin.invoke_closure", [ib.r(1), ib.r(0)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    vm = VirtualMachine(ib.get())
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with pytest.raises(VMError, match=r"times over|too deeply"):
            vm["main"](1)
    finally:
        sys.setrecursionlimit(before)
    assert not NESTED
