"""What other people's functions return, and integer parameters, are held to what is declared."""

import numpy as np
import pytest

from relax_mlir import register_func, relax
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.script import from_source

PROGRAM = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def integer(n: R.Prim(value="n"), x: R.Tensor(("n", "m"), "float32")):
        y = R.flatten(x)
        return y

    @R.function
    def impure(x: R.Tensor(("n",), "float32")):
        y = R.call_packed("test.checked.answer", x, sinfo_args=R.Tensor(("n * 2",), "float32"))
        return y

    @R.function
    def pure(x: R.Tensor(("n",), "float32")):
        y = R.call_pure_packed("test.checked.answer", x, sinfo_args=R.Tensor(("n",), "float32"))
        z = R.add(y, x)
        return z

    @R.function(private=True)
    def hidden(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        return y

    @R.function
    def user(x: R.Tensor(("n",), "float32")):
        y = cls.hidden(x)
        return y
"""
ANSWERS = {
    3: np.zeros(6, np.float32),
    4: np.zeros(8, np.float64),
    5: None,
    6: np.zeros(6, np.float32),
}


@register_func("test.checked.answer", override=True)
def answer(x):
    return ANSWERS[len(x)]


@pytest.fixture(scope="module")
def vm():
    return relax.VirtualMachine(relax.build(from_source(PROGRAM)))


def test_declared_results_pass(vm):
    np.testing.assert_array_equal(vm["impure"](np.ones(3, np.float32)), np.zeros(6))
    np.testing.assert_array_equal(vm["pure"](np.ones(6, np.float32)), np.ones(6))


@pytest.mark.parametrize(
    ("function", "size", "error", "message"),
    [
        ("impure", 4, ArgumentTypeError, "expected dtype float32, got float64"),
        ("impure", 5, ArgumentTypeError, "expected a tensor, got None"),
        ("impure", 6, ShapeMismatchError, r"dimension 0 is 6, expected 12 \(n \* 2\)"),
        ("pure", 3, ShapeMismatchError, r"is 6, expected 3 \(n, bound by argument 'x'\)"),
        ("pure", 4, ArgumentTypeError, "expected dtype float32, got float64"),
    ],
)
def test_other_results_are_errors(vm, function, size, error, message):
    with pytest.raises(error, match=message) as caught:
        vm[function](np.ones(size, np.float32))
    assert "the result of 'test.checked.answer' (declared R.Tensor(" in str(caught.value)


def test_an_integer_parameter_binds_its_symbol(vm):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(vm["integer"](2, x), x.ravel())
    with pytest.raises(ShapeMismatchError, match=r"expected 3 \(n, bound by argument 'n'\)"):
        vm["integer"](3, x)
    with pytest.raises(ArgumentTypeError, match=r"expected an integer, got the Python float 2\.5"):
        vm["integer"](2.5, x)


def test_generated_and_private_functions_are_not_listed(vm):
    assert vm.functions == ("integer", "impure", "pure", "user")
    np.testing.assert_allclose(vm["user"](np.zeros(2, np.float32)), np.ones(2))
