"""Numbers beside tensors: of the tensors' dtype, known or not, and of that of indices elsewhere."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, ExprError
from relax_mlir.relax import op
from relax_mlir.script import relax as R


def _run(type_: object, body: object, *inputs: np.ndarray) -> object:
    x = relax.Var("x", type_)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(body(x))
    return relax.VirtualMachine(relax.build(bb.get()))["main"](*inputs)


@pytest.mark.parametrize("type_", [R.Tensor(("n",), "float16"), R.Tensor(), R.Tensor(ndim=1)])
def test_a_choice_takes_the_dtype_of_the_other_value(type_: object) -> None:
    x = np.arange(-2, 3).astype("float16")
    got = _run(type_, lambda x: (op.where(x > 0, x, 0), op.where(True, 1.5, x)), x)
    np.testing.assert_array_equal(got[0], np.maximum(x, 0))
    np.testing.assert_array_equal(got[1], np.full(5, 1.5))
    assert [each.dtype for each in got] == ["float16", "float16"]


def test_indices_are_integers() -> None:
    x = np.arange(-2, 3).astype("float16")
    got = _run(R.Tensor(("n",), "float16"), lambda x: op.take(x, 1, axis=0), x)
    np.testing.assert_array_equal(got, np.float16(-1))


def test_script_takes_numbers_alike() -> None:
    @R.function
    def main(x: R.Tensor(("n",), "float16"), u: R.Tensor):
        return R.where(x > 0, x, 0), R.where(u > 0, u, 0), R.take(x, 1, axis=0)

    vm = relax.VirtualMachine(relax.build(main))
    x, u = np.arange(-2, 3).astype("float16"), np.arange(-2, 3).astype("int8")
    for got, wanted in zip(
        vm["main"](x, u), (np.maximum(x, 0), np.maximum(u, 0), x[1]), strict=True
    ):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64"])
def test_a_dtype_that_only_run_time_knows(dtype: str) -> None:
    u = np.arange(3).astype(dtype)
    got = _run(R.Tensor(), lambda u: 2 * (u + 1), u)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, [2, 4, 6])


def test_a_number_that_the_dtype_does_not_have() -> None:
    with pytest.raises(ArgumentTypeError, match=r"2.5 is not a number of dtype int32"):
        _run(R.Tensor(), lambda u: u + 2.5, np.arange(3, dtype="int32"))
    x = relax.Var("x", R.Tensor((3,), "float32"))
    with pytest.raises(ExprError, match="not a constant of dtype float32"):
        _ = x + 2**2000
    with pytest.raises(ExprError, match="300 is not a number of dtype int8"):
        _ = relax.Var("x", R.Tensor((3,), "int8")) + 300
