"""`relax.vm_build` and TVM's other names around executables and the virtual machine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, runtime
from relax_mlir.compiler.vm_build import _vmcodegen, _vmlink
from relax_mlir.errors import ArgumentTypeError, BytecodeError, PipelineError, StatefulCallError
from relax_mlir.relax.testing.vm import check_saved_func
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.support import utils

pytestmark = pytest.mark.codegen


@I.ir_module
class Lowered:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Lowered.double, (x,), R.Tensor((4,), "float32"))
        return R.call_packed("test.vm.add", x, y, ty_args=R.Tensor((4,), "float32"))


@I.ir_module
class Callback:
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "int32"), f: R.Callable([R.Tensor((3,), "int32")],
             R.Tensor((3,), "int32"))) -> R.Tensor((3,), "int32"):  # fmt: skip
        return R.multiply(f(x), x)


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
def test_steps_of_a_build(exec_mode: str) -> None:
    builder = relax.ExecBuilder()
    rest = _vmcodegen(builder, Lowered, exec_mode)
    executable = _vmlink(builder, "llvm", rest)
    assert isinstance(executable, relax.VMExecutable)
    vm = relax.VirtualMachine(executable.jit(), relax_mlir.cpu())
    x = runtime.tensor(np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(check_saved_func(vm, "main", x).numpy(), 3 * x)
    with pytest.raises(PipelineError, match="exec_mode is bytecode or compiled"):
        _vmcodegen(relax.ExecBuilder(), Lowered, "fast")


def test_executables_describe_themselves_as_functions(tmp_path: Path) -> None:
    executable = relax.build(Lowered)
    executable.save(tmp_path / "program.rxe")
    loaded = runtime.load_module(tmp_path / "program.rxe")
    assert loaded["as_text"]() == executable.as_text()
    assert loaded["stats"]() == executable.stats()


def test_functions_of_python_as_arguments() -> None:
    vm = relax.VirtualMachine(relax.build(Callback))
    seen: list[Any] = []

    def callback(a: Any) -> Any:
        seen.append(a)
        return runtime.tensor(a.numpy() + 1)

    result = vm["main"](np.arange(3, dtype="int32"), callback)
    assert result.numpy().tolist() == [0, 2, 6]
    assert type(seen[0]) is runtime.Tensor


def test_stateful_calls_by_name() -> None:
    vm = relax.VirtualMachine(relax.build(Lowered))
    with pytest.raises(StatefulCallError, match="has no inputs"):
        vm["invoke_stateful"]("main")
    with pytest.raises(ValueError, match="has no outputs"):
        vm.get_outputs("main")
    vm["set_input"]("main", np.ones(4, "float32"))
    vm.time_evaluator("invoke_stateful", relax_mlir.cpu(), number=2)("main")
    assert vm.get_outputs("main").numpy().tolist() == [3, 3, 3, 3]


def test_closures_are_invoked() -> None:
    builder = relax.ExecBuilder()
    with builder.function("add", 2):
        builder.emit_call("test.vm.add", [builder.r(0), builder.r(1)], builder.r(2))
        builder.emit_ret(builder.r(2))
    with builder.function("main", 1):
        args = [builder.f("add"), builder.r(0)]
        builder.emit_call("vm.builtin.make_closure", args, builder.r(1))
        builder.emit_ret(builder.r(1))
    vm = relax.VirtualMachine(builder.get())
    x = runtime.tensor([1.0, 2.0])
    assert vm.invoke_closure(vm["main"](x), x).numpy().tolist() == [2, 4]
    with pytest.raises(ArgumentTypeError, match="invoke_closure takes a function"):
        vm.invoke_closure(x, x)


def test_exec_builder_shares_equal_constants() -> None:
    builder = relax.ExecBuilder()
    first = builder.convert_constant(np.array([1, 2, 3], "int32"))
    assert builder.convert_constant(np.array([1, 2, 3], "int32")) == first
    others = ([1, 2, 4], "int32"), ([1, 2, 3], "int64"), ([[1, 2, 3]], "int32")
    for numbers, dtype in others:
        assert builder.convert_constant(np.array(numbers, dtype)) != first
    undefined = pytest.raises(BytecodeError, match="register %1 is used before it is defined")
    with undefined, builder.function("main", 1):
        builder.emit_call("test.vm.add", [builder.r(0), builder.r(1)], builder.r(1))
        builder.emit_ret(builder.r(1))


def test_temporary_folders() -> None:
    with utils.tempdir() as folder:
        Path(folder.relpath("a.txt")).write_text("a")
        (folder / "b.txt").write_text("b")
        assert folder.listdir() == ["a.txt", "b.txt"]
    assert not folder.path.exists()


def test_what_the_machine_has() -> None:
    from relax_mlir.testing import env

    assert env.has_llvm()
    assert not env.has_gpu()
    assert not env.has_cuda_compute(8, 0)
    assert not env.has_cpu_feature(("no-such-feature",))
    with pytest.raises(AttributeError, match="has_cuda"):
        env.has_cude()
