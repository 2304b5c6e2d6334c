"""`BindParams`: parameters of a Relax function become constants."""

import numpy as np
import pytest

from relax_mlir import ir, relax, tir, transform
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

    @R.function
    def computed(w: R.Tensor(("2 * k",), "float32"), x: R.Tensor(("k",), "float32")):
        k = T.int64()
        return R.add(R.reshape(w, (2, k)), x)

    @R.function
    def alone(w: R.Tensor(("2 * k",), "float32")) -> R.Tensor(("2 * k",), "float32"):
        return w

    @R.function
    def both(w: R.Tensor(("m", 4), "float32"), v: R.Tensor(("m",), "float32")):
        return (w, v)

    @R.function
    def sizes(n: R.Prim(value="n"), s: R.Shape(("k", 2)), x: R.Tensor("float32", ndim=2)):
        n = T.int64()
        k = T.int64()
        return R.add(R.zeros((n, k), "float32"), x)

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


def test_sizes_of_constants_are_values_of_symbols():
    bound = transform.BindParams("returned", {"w": B})(Model)
    assert str(bound["returned"].ret_ty) == 'R.Tensor((4,), "float32")'
    np.testing.assert_allclose(relax.VirtualMachine(relax.build(bound))["returned"](), B + B)


def test_shapes_and_integers():
    func = Model["sizes"].bind_params({"n": 2, "s": relax.ShapeExpr([3, 2])})
    assert [each.name_hint for each in func.params] == ["x"]
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(relax.VirtualMachine(relax.build(func))["sizes"](x), x)
    whole = func.bind_params({func.params[0]: x})
    assert str(whole.ret_ty) == 'R.Tensor((2, 3), "float32")'


@I.ir_module
class Numbers:
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Prim("float32"), k: R.Prim("int8")):
        return R.multiply(x, R.scalar_to_tensor(s)), k


def test_numbers():
    for scale in (0.5, np.float32(0.5), tir.const(0.5, "float32")):
        bound = transform.BindParams("main", {"s": scale, "k": -3})(Numbers)
        product, k = relax.VirtualMachine(relax.build(bound))["main"](B[:3])
        np.testing.assert_array_equal(product, B[:3] / 2)
        assert k == -3
    for name, value in (("k", 0.5), ("k", 200), ("x", 2.0)):
        with pytest.raises((ExprError, PassError), match=f"'{name}' of function .*the number"):
            transform.BindParams("main", {name: value})(Numbers)


def test_a_size_that_is_computed_is_checked():
    bound = transform.BindParams("computed", {"w": np.arange(8, dtype="float32")})(Model)
    run = relax.VirtualMachine(relax.build(bound))["computed"]
    np.testing.assert_array_equal(run(B), np.arange(8, dtype="float32").reshape(2, 4) + B)
    with pytest.raises(ShapeMismatchError):
        run(B[:2])


@pytest.mark.parametrize(
    ("func", "params", "said"),
    [
        ("main", {"ww": W}, "function 'main' has no parameter 'ww'.*did you mean 'w'"),
        ("main", {"w": W.T}, r"'w' of function 'main' is .*got an array of float32 and shape"),
        ("main", {"w": W[0]}, "got an array of float32"),
        ("main", {"w": W.astype("float64")}, "got an array of float64"),
        ("alone", {"w": B}, "'k' of function 'alone' is bound by a parameter that becomes"),
        ("both", {"w": W, "v": B}, "'m' of function 'both' would be 3 and 4"),
        ("sizes", {"n": B}, "'n' of function 'sizes' is .*got an array of float32"),
        ("sizes", {"s": (1, 2, 3)}, r"'s' of function 'sizes' is .*got the shape \(1, 2, 3\)"),
        ("sizes", {"s": 3}, "'s' of function 'sizes' is .*got the number 3"),
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


@pytest.mark.parametrize(("dtype", "value"), [("int32", 16), ("float32", 0.5), ("bool", True)])
def test_a_number_is_in_the_place_of_its_parameter(dtype: str, value: float) -> None:
    param = relax.Var("A", R.Prim(dtype))
    number = tir.const(value, dtype)
    bound = relax.Function([param], param, R.Prim(dtype)).bind_params({"A": number})
    assert not bound.params
    assert not bound.body.blocks
    assert (bound.body.body.value.dtype, bound.body.body.value.value) == (dtype, value)
    ir.assert_structural_equal(bound.body.body, number)
    assert not ir.structural_equal(bound.body.body, tir.const(0, dtype))
    assert relax.VirtualMachine(relax.build(bound))["main"]() == value


def test_sizes_are_expressions_of_other_symbols():
    m = tir.Var("m", "int64")

    @R.function
    def sized(x: R.Tensor(("m",), "float32"), n: R.Prim("int64"), s: R.Shape(["k", 2])):
        k = T.int64()
        return (R.zeros((k, 2), "float32"), n)

    bound = sized.bind_params({"n": m + 1, "s": relax.ShapeExpr([m * 2, 2])})
    assert [each.name_hint for each in bound.params] == ["x"]
    zeros, number = relax.VirtualMachine(relax.build(bound))["sized"](np.ones(3, "float32"))
    assert zeros.shape == (6, 2)
    assert number == 4
    with pytest.raises(ExprError, match="no other parameter of function 'sized' gives symbol 'mm'"):
        sized.bind_params({"n": tir.Var("mm", "int64") + 1})
    with pytest.raises(ExprError, match="got the size m"):
        sized.bind_params({"x": m})
    with pytest.raises(ExprTypeError, match="got str"):
        sized.bind_params({"n": "m"})
    # Nodes of tir are sizes as well, and numbers where they have no symbols.
    five = sized.bind_params({"n": tir.Add(tir.const(2, "int64"), tir.const(3, "int64"))})
    assert five.body.body[1].value == 5


def test_what_says_the_value_of_a_symbol_is_named():
    n = relax.Var("n", ir.PrimType("int64"))
    data = relax.Var("data", relax.TensorType([n], "float32"))
    func = relax.Function([n, data], n, ir.PrimType("int64"))
    inferred = "conflicts with the value inferred from a parameter shape: 'n' .* would be 5 and 7"
    with pytest.raises(ExprError, match=inferred):
        func.bind_params({n: 5, data: np.zeros(7, "float32")})
    with pytest.raises(ExprError, match=r"variable n must be a primitive expression: .* an array"):
        func.bind_params({n: relax.const(np.array(5))})
