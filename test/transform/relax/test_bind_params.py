"""`BindParams`: parameters of a Relax function become constants."""

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import ExprError, ExprTypeError, PassError, ShapeMismatchError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

W = np.arange(12, dtype="float32").reshape(3, 4)
B = np.float32([1, 2, 3, 4])
X = np.ones((2, 3), "float32")


@I.ir_module
class Model:
    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),
        w: R.Tensor((3, 4), "float32"),
        b: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            R.output(y)
        return y

    @R.function
    def symbolic(x: R.Tensor(("n", "m"), "float32"), w: R.Tensor(("m", 4), "float32")):
        return R.matmul(x, w)

    @R.function
    def returned(w: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        return R.add(w, w)

    @T.prim_func
    def prim(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(0)


def test_constants_take_the_place_of_parameters():
    w = W.copy()
    given = {"w": w, Model["main"].params[2]: relax.const(B)}
    bound = transform.BindParams("main", given)(Model)
    w[...] = 0
    assert [each.name_hint for each in bound["main"].params] == ["x"]
    assert len(Model["main"].params) == 3
    bound.verify()
    np.testing.assert_allclose(relax.VirtualMachine(relax.build(bound))["main"](X), X @ W + B)
    again = transform.Sequential(
        [transform.BindParams("main", {"b": B}), transform.FoldConstant()]
    )(Model)
    assert [each.name_hint for each in again["main"].params] == ["x", "w"]


def test_sizes_of_constants_are_checked():
    bound = transform.BindParams("symbolic", {"w": W})(Model)
    run = relax.VirtualMachine(relax.build(bound))["symbolic"]
    np.testing.assert_allclose(run(X), X @ W)
    with pytest.raises(ShapeMismatchError):
        run(np.ones((2, 5), "float32"))


@pytest.mark.parametrize(
    ("func", "params", "said"),
    [
        ("main", {"ww": W}, "function 'main' has no parameter 'ww'.*did you mean 'w'"),
        ("main", {"w": W.T}, r"'w' of function 'main' is .*got an array of float32 and shape"),
        ("main", {"w": W[0]}, "got an array of float32"),
        ("main", {"w": W.astype("float64")}, "got an array of float64"),
        ("returned", {"w": B}, "'k' of function 'returned' is bound by a parameter that becomes"),
        ("prim", {"A": B}, "'prim' is no Relax function"),
        ("mainn", {}, "no function 'mainn'"),
    ],
)
def test_errors(func, params, said):
    with pytest.raises((ExprError, PassError, KeyError), match=said):
        transform.BindParams(func, params)(Model)


def test_values_that_are_no_arrays():
    with pytest.raises(ExprTypeError, match="'w' becomes an array, got str"):
        transform.BindParams("main", {"w": "x"})
    with pytest.raises(ExprTypeError, match="takes arrays by parameter"):
        transform.BindParams("main", [W])
