"""BasePyModule: functions as methods, kernels and packed functions with shapes of the inputs."""

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
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
    for function in ("twice", Module.ir_mod.get_global_var("twice")):
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
