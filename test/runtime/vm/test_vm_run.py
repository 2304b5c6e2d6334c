"""The virtual machine: the design document's programs, control flow, arguments, results, errors."""

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, VMError
from relax_mlir.runtime import (
    ExecBuilder,
    Executable,
    UnusedInputWarning,
    VirtualMachine,
    register_func,
    remove_global_func,
)

FUNCTIONS = {
    "test.vm_run.add": lambda a, b: a + b,
    "test.vm_run.mul": lambda a, b: a * b,
    "test.vm_run.move": lambda a: a,
    "test.vm_run.less": lambda a, b: a < b,
}


@pytest.fixture(autouse=True)
def _functions() -> Iterator[None]:
    for name, func in FUNCTIONS.items():
        register_func(name, func, override=True)
    yield
    for name in FUNCTIONS:
        remove_global_func(name)


def test_document_move_add_mul() -> None:
    ib = ExecBuilder()
    ib.emit_constant(np.arange(4.0))
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.vm_run.move", [ib.c(0)], dst=ib.r(1))
        ib.emit_call("test.vm_run.add", [ib.r(0), ib.imm(10)], dst=ib.r(2))
        ib.emit_call("test.vm_run.mul", [ib.r(2), ib.r(1)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    x = np.random.default_rng(0).random(4)
    result = VirtualMachine(ib.get())["main"](x)
    np.testing.assert_array_equal(result, (x + 10) * np.arange(4.0))


def test_document_two_functions() -> None:
    ib = ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm_run.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("func1", num_inputs=2):
        ib.emit_call("test.vm_run.mul", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    vm = VirtualMachine(ib.get())
    a, b = np.random.default_rng(0).random((2, 4))
    np.testing.assert_array_equal(vm["func1"](a, b), a * b)
    np.testing.assert_array_equal(vm.invoke_function("func0", a, arg1=b), a + b)
    assert vm.functions == ("func0", "func1")


def test_document_shape_heap() -> None:
    ib = ExecBuilder()
    x = np.random.default_rng(0).random((32, 16))
    with ib.function("main", num_inputs=0):
        ib.emit_call("vm.builtin.alloc_shape_heap", args=[ib.imm(2)], dst=ib.r(0))
        ib.emit_call("vm.builtin.shape_of", args=[x], dst=ib.r(1))
        ib.emit_call("vm.builtin.store_shape", args=[ib.r(1), ib.r(0), ib.imm(0), ib.imm(1)])
        ib.emit_call("vm.builtin.load_shape", args=[ib.r(0), ib.imm(0), ib.imm(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert VirtualMachine(ib.get())["main"]() == (32, 16)


def test_vm_state_and_storage() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=0):
        args = [ib.vm_state(), (24,), ib.void_arg()]
        ib.emit_call("vm.builtin.alloc_storage", args=args, dst=ib.r(0))
        ib.emit_call(
            "vm.builtin.alloc_tensor", args=[ib.r(0), (2, 3), 0, np.dtype("int32")], dst=ib.r(1)
        )
        ib.emit_call("vm.builtin.kill_object", args=[ib.r(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(1))
    result = VirtualMachine(ib.get())["main"]()
    assert (result.shape, result.dtype) == ((2, 3), np.int32)
    assert result.ctypes.data % 64 == 0


def _sum_below() -> Executable:
    ib = ExecBuilder()
    with ib.function("sum_below", num_inputs=1, param_names=["n"]):
        ib.emit_call("vm.builtin.move", [0], dst=ib.r(1))
        ib.emit_call("vm.builtin.move", [0], dst=ib.r(2))
        top = ib.here()
        ib.emit_call("test.vm_run.less", [ib.r(1), ib.r(0)], dst=ib.r(3))
        leave = ib.emit_if(ib.r(3))
        ib.emit_call("test.vm_run.add", [ib.r(2), ib.r(1)], dst=ib.r(2))
        ib.emit_call("test.vm_run.add", [ib.r(1), 1], dst=ib.r(1))
        ib.patch(ib.emit_goto(), top)
        ib.patch(leave)
        ib.emit_ret(ib.r(2))
    return ib.get()


@pytest.mark.parametrize("n", [0, 1, 10])
def test_loop(n: int) -> None:
    assert VirtualMachine(_sum_below())["sum_below"](n) == sum(range(n))


@pytest.mark.parametrize(
    "cond", [True, False, np.array(True), np.array(False), np.array([1]), np.bool_(False), 0]
)
def test_if_takes_scalars(cond: object) -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        orelse = ib.emit_if(ib.r(0))
        ib.emit_ret("yes")
        ib.patch(orelse)
        ib.emit_ret("no")
    assert VirtualMachine(ib.get())["main"](cond) == ("yes" if cond else "no")


def test_if_refuses_tensors() -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_if(ib.r(0), 1)
        ib.emit_ret(ib.r(0))
    with pytest.raises(ArgumentTypeError, match=r"one scalar, got a bool tensor of shape \(2,\)"):
        VirtualMachine(ib.get())["main"](np.ones(2, bool))


def _recursive() -> Executable:
    ib = ExecBuilder()
    with ib.function("fact", 1):
        ib.emit_call("test.vm_run.less", [ib.r(0), 1], dst=ib.r(1))
        orelse = ib.emit_if(ib.r(1))
        ib.emit_ret(1)
        ib.patch(orelse)
        ib.emit_call("test.vm_run.add", [ib.r(0), -1], dst=ib.r(2))
        ib.emit_call("fact", [ib.r(2)], dst=ib.r(3))
        ib.emit_call("test.vm_run.mul", [ib.r(0), ib.r(3)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
    return ib.get()


def test_recursion() -> None:
    vm = VirtualMachine(_recursive())
    assert vm["fact"](10) == 3628800
    with pytest.raises(VMError, match="fact: functions of the executable call each other too"):
        vm["fact"](10**6)
    assert vm["fact"](5) == 120


def test_closures_and_function_operands() -> None:
    ib = ExecBuilder()
    with ib.function("plus", 2):
        ib.emit_call("test.vm_run.add", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.make_closure", [ib.f("plus"), 5], dst=ib.r(1))
        ib.emit_call("vm.builtin.invoke_closure", [ib.r(1), ib.r(0)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert VirtualMachine(ib.get())["main"](2) == 7


@pytest.mark.parametrize("by_name", [True, False])
def test_call_tir_dyn_unpacks_the_shape(by_name: bool) -> None:
    register_func("test.vm_run.dyn", lambda *args: args, override=True)
    ib = ExecBuilder()
    with ib.function("main", 2):
        func = "test.vm_run.dyn" if by_name else ib.f("test.vm_run.dyn")
        ib.emit_call("vm.call_tir_dyn", [func, ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert VirtualMachine(ib.get())["main"](7, (2, 4)) == (7, 2, 4)
    remove_global_func("test.vm_run.dyn")


def _identity() -> VirtualMachine:
    ib = ExecBuilder()
    with ib.function("same", 1, ["x"]):
        ib.emit_ret(ib.r(0))
    with ib.function("flat", 2, ["x", "shape"]):
        ib.emit_call("vm.builtin.reshape", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("constant", 0):
        ib.emit_call("vm.builtin.make_tuple", [np.arange(3)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    return VirtualMachine(Executable.from_bytes(ib.get().to_bytes()))


def test_results_alias_only_arguments_returned_as_they_are() -> None:
    vm = _identity()
    x = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(vm["same"](x), x)
    assert not np.shares_memory(vm["flat"](x, (6,)), x)
    vm["constant"]()[0][:] = 9
    assert vm["constant"]()[0].tolist() == [0, 1, 2]
    frozen = np.arange(6.0)
    frozen.flags.writeable = False
    same = vm["same"](frozen)
    assert np.shares_memory(same, frozen)
    assert not same.flags.writeable
    flat = vm["flat"](frozen, (2, 3))
    assert flat.flags.writeable
    assert not np.shares_memory(flat, frozen)


class _Dlpack:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: object) -> object:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arguments_of_many_kinds() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    same = _identity()["same"]
    x = np.arange(6.0).reshape(2, 3)
    arrays = [(v, v) for v in (x[:, ::2], x.T, x.astype(">f8"))]
    for value, expected in (*arrays, (_Dlpack(x), x), (tvm_ffi.from_dlpack(x), x)):
        result = same(value)
        assert result.flags.carray
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, expected)
    unaligned = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64)
    assert same(unaligned).flags.aligned
    assert same(np.float32(2)).shape == ()
    assert same([1, [2.0, None]]) == (1, (2.0, None))
    assert same(tvm_ffi.Shape((2, 3))) == (2, 3)
    thing = object()
    assert same(thing) is thing
    assert same(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(ArgumentTypeError, match="masked"):
        same(np.ma.masked_array([1.0], [True]))


def test_call_errors() -> None:
    vm = _identity()
    with pytest.raises(FunctionNotFoundError, match="no function 'smae'; did you mean 'same'"):
        vm["smae"]
    with pytest.raises(ArgumentTypeError, match=r"flat\(x, shape\) takes 2 arguments, got 1; mis"):
        vm["flat"](1)
    with pytest.raises(ArgumentTypeError, match="no parameter 'shap'; did you mean 'shape'"):
        vm["flat"](1, shap=2)
    with pytest.raises(ArgumentTypeError, match="two values for 'x'"):
        vm["flat"](1, x=2)
    with pytest.raises(ValueError, match="no device API 'cuda' is registered"):
        VirtualMachine(vm.executable, "cuda:0")


def test_errors_say_where_and_leave_the_vm_usable() -> None:
    def fail(x: object) -> None:
        if x == 0:
            raise KeyError("mine")

    register_func("test.vm_run.fail", fail, override=True)
    ib = ExecBuilder()
    with ib.function("inner", 1):
        ib.emit_call("test.vm_run.move", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("test.vm_run.fail", [ib.r(1)])
        ib.emit_ret(ib.r(1))
    with ib.function("outer", 1):
        ib.emit_call("inner", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("missing", 0):
        ib.emit_call("test.vm_run.ad", dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    vm = VirtualMachine(ib.get())
    with pytest.raises(KeyError) as raised:
        vm["outer"](0)
    assert raised.value.args == ("mine",)
    assert raised.value.__notes__ == [
        "in VM function 'inner', instruction 1 (call test.vm_run.fail)",
        "in VM function 'outer', instruction 0 (call inner)",
    ]
    assert vm["outer"](1) == 1
    with pytest.raises(FunctionNotFoundError) as missing:
        vm["missing"]()
    assert str(missing.value) == (
        "packed function 'test.vm_run.ad' is not registered; register it with "
        "relax_mlir.register_func('test.vm_run.ad'); did you mean 'test.vm_run.add'?\n"
        "  in VM function 'missing', instruction 0 (call test.vm_run.ad)"
    )
    register_func("test.vm_run.ad", lambda: 3)
    assert vm["missing"]() == 3
    for name in ("test.vm_run.ad", "test.vm_run.fail"):
        remove_global_func(name)


def test_threads_share_a_vm() -> None:
    ib = ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_storage", [8000], dst=ib.r(2))
        args = [ib.r(2), 0, ib.r(1), "float64"]
        ib.emit_call("vm.builtin.alloc_tensor", args, dst=ib.r(3))
        ib.emit_call("test.vm_run.fill", [ib.r(3), ib.r(0)])
        ib.emit_ret(ib.r(3))
    register_func("test.vm_run.fill", np.copyto, override=True)
    vm = VirtualMachine(ib.get())
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            kept = []
            for i in range(100):
                x = np.full(500 + i, float(seed * 1000 + i))
                kept.append((x, vm["main"](x)))
            wrong.extend(x[0] for x, y in kept if not np.array_equal(x, y))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    remove_global_func("test.vm_run.fill")


def test_unused_input_warns() -> None:
    def build(ib: ExecBuilder) -> None:
        with ib.function("main", num_inputs=3):
            ib.emit_call("test.vm_run.add", [ib.r(0), ib.r(2)], dst=ib.r(3))
            ib.emit_ret(ib.r(3))

    with pytest.warns(UnusedInputWarning, match="'main': input arg1 is never used"):
        build(ExecBuilder())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(ExecBuilder(warn_unused_inputs=False))


def test_runtime_needs_no_mlir_and_imports_lightly() -> None:
    code = (
        "import sys; sys.modules['torch_mlir'] = sys.modules['mlir'] = None\n"
        "import relax_mlir.runtime as r\n"
        "[getattr(r, n) for n in r.__all__]\n"
        "assert not {'llvmlite', 'tvm_ffi'} & set(sys.modules), 'imported eagerly'\n"
        "ib = r.ExecBuilder()\n"
        "with ib.function('f', 1): ib.emit_ret(ib.r(0))\n"
        "assert r.VirtualMachine(ib.get())['f'](3) == 3\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
