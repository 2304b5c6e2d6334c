"""BasePyModule: functions as methods, kernels and packed functions with shapes of the inputs."""

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.errors import ScriptError
from relax_mlir.ir import IRModule
from relax_mlir.relax import BasePyModule
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Module(BasePyModule):
    @T.prim_func
    def twice(x_handle: T.handle, y_handle: T.handle):
        n = T.int64()
        x = T.match_buffer(x_handle, (n,), "int32")
        y = T.match_buffer(y_handle, (n,), "int32")
        for i in T.serial(n):
            y[i] = x[i] * 2

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.add(x, x)


@pytest.fixture(scope="module")
def module() -> Any:
    return Module(device=relax_mlir.cpu(), target="llvm")


def test_a_class_of_scripts_stays_a_class() -> None:
    assert issubclass(Module, BasePyModule)
    assert isinstance(Module.ir_mod, IRModule)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_functions_are_methods(module: Any, size: int) -> None:
    x = np.arange(size, dtype="float32")
    np.testing.assert_array_equal(module.main(x).numpy(), x + x)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_call_tir_with_symbols(module: Any, size: int) -> None:
    x = np.arange(size, dtype="int32")
    out = relax.TensorType((tir.Var("n", "int64"),), "int32")
    for function in ("twice", Module.ir_mod.get_global_var("twice"), module.twice):
        np.testing.assert_array_equal(
            module.call_tir(function, [x], R.Tensor(("n",), "int32")), 2 * x
        )
        result = module.call_tir(function, [x], out).numpy()
        np.testing.assert_array_equal(result, 2 * x)
        assert result.dtype == np.int32
    with pytest.raises(ValueError, match="no function 'missing'"):
        module.call_tir("missing", [x], out)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "bool"])
def test_call_dps_packed(module: Any, dtype: str) -> None:
    def copy(x: Any, scale: float, first: Any, second: Any) -> None:
        first[:] = x.numpy()
        second[:] = scale

    relax_mlir.register_func("test.base_py_module.copy", copy, override=True)
    x = np.ones((2, 3), dtype)
    types = [relax.TensorType((tir.Var("n", "int64"), 3), dtype), (4,)]
    first, second = module.call_dps_packed("test.base_py_module.copy", [x, 2.5], types)
    np.testing.assert_array_equal(first.numpy(), x)
    np.testing.assert_array_equal(second.numpy(), np.full(4, 2.5, "float32"))


def test_sizes_of_results() -> None:
    module = BasePyModule(IRModule({}), relax_mlir.cpu())
    infer = module._infer_concrete_shape_from_args
    n = tir.Var("n", "int64")
    assert infer([tir.IntImm("int32", 5), 6], []) == [5, 6]
    assert infer([n, 4], [np.zeros(7), np.zeros((2, 3))]) == [2, 4]
    with pytest.raises(ValueError, match="no argument has 2 dimensions"):
        infer([n, 8], np.zeros(3))


def test_a_module_is_needed() -> None:
    with pytest.raises(TypeError, match="needs an IRModule"):
        BasePyModule(device=relax_mlir.cpu())


@I.ir_module
class WithPython(BasePyModule):
    @I.pyfunc
    def scaled(x: Any, factor: Any) -> Any:
        return np.asarray(x) * factor

    @I.pyfunc
    def thrice(self, x: Any) -> Any:
        return self.scaled(x, 2) + self.twice(x).numpy() / 2

    @R.function
    def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.add(x, x)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_py_func("thrice", (x,), out_ty=R.Tensor((n,), "float32"))
        z: R.Tensor = WithPython.scaled(y, R.const(10.0, "float32"))
        return z


@pytest.mark.parametrize("size", [0, 1, 7])
def test_programs_call_python(size: int) -> None:
    x = np.arange(size, dtype="float32")
    module = WithPython(relax_mlir.cpu())
    np.testing.assert_array_equal(np.asarray(module.main(x)), 30 * x)
    np.testing.assert_array_equal(module.thrice(x), 3 * x)
    np.testing.assert_array_equal(module.call_py_func("scaled", [x, 4]), 4 * x)


def test_objects_have_functions_of_their_own() -> None:
    @I.ir_module
    class Scaled(BasePyModule):
        @I.pyfunc
        def scaled(self, x: Any) -> Any:
            return np.asarray(x) * self.scale

        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return R.call_py_func("scaled", (x,), out_ty=R.Tensor((2,), "float32"))

    first, second = Scaled(relax_mlir.cpu()), Scaled(relax_mlir.cpu())
    first.scale, second.scale = 2, 3
    x = np.ones(2, "float32")
    assert [float(np.asarray(each.main(x))[0]) for each in (first, second)] == [2, 3]


def test_classes_have_what_their_module_has() -> None:
    assert list(WithPython.pyfuncs) == ["scaled", "thrice"]
    assert isinstance(WithPython.functions[relax.GlobalVar("scaled")], relax.ExternFunc)
    assert 'scaled = R.ExternFunc("scaled")' in WithPython.script()
    assert WithPython(relax_mlir.cpu()).script() == WithPython.script()
    with pytest.raises(AttributeError, match="missing"):
        WithPython.missing


def test_wrong_python_functions() -> None:
    with pytest.raises(ValueError, match="'scale' not found in module pyfuncs; did you mean"):
        WithPython(relax_mlir.cpu()).call_py_func("scale", [])
    with pytest.raises(ScriptError, match="'f' needs a class that derives from BasePyModule"):

        @I.ir_module
        class Plain:
            @I.pyfunc
            def f(x: Any) -> Any:
                return x


def test_programs_call_registered_python() -> None:
    register = relax_mlir.get_global_func("vm.builtin.register_py_func")
    for factor in (2, 3):
        register("test.base_py_module.scaled", lambda x, factor=factor: np.asarray(x) * factor)

        @I.ir_module
        class Calls(BasePyModule):
            @R.function
            def main(x: R.Tensor((2,), "float32")):
                return R.call_py_func(R.str("test.base_py_module.scaled"), (x,), out_ty=R.Tensor)

        x = np.ones(2, "float32")
        np.testing.assert_array_equal(np.asarray(Calls(relax_mlir.cpu()).main(x)), factor * x)
    relax_mlir.get_global_func("vm.builtin.clear_py_func_registry")()
    assert relax_mlir.get_global_func("test.base_py_module.scaled", allow_missing=True) is None


def test_torch_gets_torch() -> None:
    torch = pytest.importorskip("torch")

    @I.ir_module
    class Torch(BasePyModule):
        @I.pyfunc
        def relu(x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

        @R.function
        def main(x: R.Tensor((3,), "float32")):
            return R.add(R.call_py_func("relu", (x,), out_ty=R.Tensor((3,), "float32")), x)

    module = Torch(relax_mlir.cpu())
    x = torch.tensor([-1.0, 0.0, 2.0])
    result = module.main(x)
    assert isinstance(result, torch.Tensor)
    assert torch.equal(result, torch.relu(x) + x)
    assert isinstance(module.main(x.numpy()), np.ndarray)
