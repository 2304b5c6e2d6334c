"""Integers of numpy as arguments, and sizes that no memory has."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, VMError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

pytestmark = pytest.mark.codegen


@I.ir_module
class Module:
    @R.function
    def count(k: R.Prim("int64"), s: R.Shape(["n", 2])) -> R.Tuple(R.Shape, R.Prim("int64")):
        n = T.int64()
        return (R.shape([n, 2, n]), k)

    @R.function
    def nested(
        t: R.Tuple(
            R.Prim("int64"), R.Tuple(R.Prim("int64"), R.Shape(["n"])), R.Tensor((), "int64")
        ),
    ):
        return (t[1][0], t[0], t[1][1], t[2])

    @R.function
    def scalar(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        return R.add(x, x)

    @R.function
    def cube(x: R.Tensor(("n",), "int8")) -> R.Tensor(("n", "n", "n"), "float32"):
        n = T.int64()
        return R.zeros((n, n, n), "float32")


@pytest.fixture(scope="module")
def vm() -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(Module))


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8])
def test_integers_of_numpy_are_integers_where_a_function_takes_them(
    vm: relax.VirtualMachine, kind: Any
) -> None:
    assert vm["count"](kind(3), (kind(5), kind(2))) == ((5, 2, 5), 3)
    *found, tensor = vm["nested"]((kind(3), [kind(4), (kind(5),)], np.int64(7)))
    assert (found, int(tensor)) == ([4, 3, (5,)], 7)
    vm.set_input("count", kind(3), [kind(5), 2])
    vm.invoke_stateful("count")
    assert vm.get_outputs("count") == ((5, 2, 5), 3)


def test_a_number_of_numpy_is_a_tensor_elsewhere(vm: relax.VirtualMachine) -> None:
    assert vm["scalar"](np.int64(4)).numpy() == 8
    with pytest.raises(ArgumentTypeError, match="expected an integer, got a float32 tensor"):
        vm["count"](np.float32(3), (5, 2))
    endless: list[Any] = [np.int64(3)]
    endless.append(endless)
    with pytest.raises(ArgumentTypeError, match="argument 't': maximum recursion depth"):
        vm["nested"](endless)


def test_a_size_past_64_bits_is_said_to_be_so(vm: relax.VirtualMachine) -> None:
    assert vm["cube"](np.zeros(2, "int8")).shape == (2, 2, 2)
    with pytest.raises(VMError, match="its size in bytes does not fit 64 bits"):
        vm["cube"](np.zeros(1 << 21, "int8"))
