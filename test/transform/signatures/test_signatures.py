"""Passes over parameters and outputs: programs compute the same, wrong uses are refused."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import register_func, relax, transform
from relax_mlir.errors import ExprTypeError, PassError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Layers:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32"),
        b: R.Tensor((3,), "float32"),
    ):  # fmt: skip
        R.func_attr({"num_input": 1})
        with R.dataflow():
            scaled = R.multiply(w, w)
            y = R.add(R.matmul(x, scaled), b)
            R.output(y)
        return y

    @R.function
    def second(x: R.Tensor((5, 4), "float32"), w: R.Tensor((4, 3), "float32"),
               b: R.Tensor((3,), "float32")):  # fmt: skip
        R.func_attr({"num_input": 1})
        with R.dataflow():
            scaled = R.multiply(w, w)
            y = R.add(R.matmul(x, scaled), R.exp(b))
            R.output(y)
        return y


RANDOM = np.random.default_rng(5)
W, B = RANDOM.normal(size=(4, 3)).astype("float32"), RANDOM.normal(size=3).astype("float32")


def build(mod: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod))


@pytest.mark.codegen
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_lifted_weights_give_the_same(rows: int) -> None:
    vm = build(transform.LiftTransformParams()(Layers))
    x = RANDOM.normal(size=(rows, 4)).astype("float32")
    weights = vm["main_transform_params"]((W, B))
    np.testing.assert_allclose(vm["main"](x, *weights), x @ (W * W) + B, rtol=1e-5, atol=1e-6)


def test_what_is_lifted() -> None:
    made = transform.LiftTransformParams()(Layers)
    assert [param.name_hint for param in made["main"].params] == ["x", "b", "scaled"]
    # What `second` computes of `b` is computed once too.
    assert len(made["second"].params) == 3
    assert "R.exp" not in made["second"].script()
    again = transform.LiftTransformParams()(made)
    assert len(again["main"].params) == 3


@pytest.mark.codegen
@pytest.mark.parametrize("shared", [True, ["main", "second"]])
def test_one_transform_for_several_functions(shared: Any) -> None:
    made = transform.LiftTransformParams(shared_transform=shared)(Layers)
    assert sorted(made.function_names) == ["main", "second", "transform_params"]
    # Only `second` computes something of `b`.
    assert "R.exp" in made["second"].script()
    vm = build(made)
    weights, x = vm["transform_params"]((W, B)), RANDOM.normal(size=(5, 4)).astype("float32")
    np.testing.assert_allclose(vm["main"](x, *weights), x @ (W * W) + B, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        vm["second"](x, *weights), x @ (W * W) + np.exp(B), rtol=1e-5, atol=1e-6
    )


def test_functions_without_dataflow_blocks_keep_their_weights() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        return R.add(x, R.exp(w))

    made = transform.LiftTransformParams()(main)
    assert "R.exp" in made["main"].script()


def test_weights_of_one_transform_are_equal() -> None:
    @I.ir_module
    class Different:
        @R.function
        def one(w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 0})
            return w

        @R.function
        def two(w: R.Tensor((5,), "float32")):
            R.func_attr({"num_input": 0})
            return w

    with pytest.raises(PassError, match="to share a transform they are equal"):
        transform.LiftTransformParams(shared_transform=True)(Different)
    with pytest.raises(PassError, match="no function 'ones' with 'num_input'; did you mean 'one'"):
        transform.LiftTransformParams(shared_transform=["ones"])(Different)
    with pytest.raises(ExprTypeError, match="a bool or a list of names, got str"):
        transform.LiftTransformParams(shared_transform="one")


@pytest.mark.codegen
def test_a_tuple_of_weights_gives_the_same() -> None:
    vm = build(transform.BundleModelParams()(Layers))
    x = RANDOM.normal(size=(3, 4)).astype("float32")
    np.testing.assert_allclose(vm["main"](x, (W, B)), x @ (W * W) + B, rtol=1e-5, atol=1e-6)


def test_more_inputs_than_parameters() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 2})
        return x

    with pytest.raises(PassError, match="1 parameters, of which 'num_input' says 2"):
        transform.BundleModelParams()(main)


@I.ir_module
class Tuples:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Tuples
        made = cls.inner((x, (y, x)))
        return made[1]

    @R.function(private=True)
    def inner(
        t: R.Tuple(
            R.Tensor((4,), "float32"),
            R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
        ),
    ):
        inside = t[1]
        return R.exp(t[0]), R.subtract(inside[0], inside[1])


@pytest.mark.codegen
@pytest.mark.parametrize("name", ["ExpandTupleArguments", "RemoveUnusedOutputs"])
def test_tuples_give_the_same(name: str) -> None:
    made = transform.get_pass(name)(Tuples)
    x, y = (RANDOM.normal(size=4).astype("float32") for _ in range(2))
    np.testing.assert_array_equal(build(made)["main"](x, y), y - x)


def test_other_types_of_parameters() -> None:
    update = transform.UpdateParamType(
        lambda var: relax.TensorType([8, 3], "float32") if var.name_hint == "w" else None
    )

    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 2), "float32")):
        with R.dataflow():
            y = R.exp(R.matmul(x, w))
            R.output(y)
        return y

    made = update(main)
    made.verify()
    assert str(made["main"].ret_ty) == 'R.Tensor((n, 3), "float32")'
    with pytest.raises(PassError, match="an operand has another type"):
        transform.UpdateParamType(lambda var: relax.TensorType([7, 5], "float32"))(main)
    with pytest.raises(ExprTypeError, match="takes a function, got int"):
        transform.UpdateParamType(3)


@pytest.mark.codegen
def test_lazy_weights_give_the_same() -> None:
    @I.ir_module
    class Weights:
        @R.function
        def transform_params(w: R.Tensor(("n", 4), "float32"), b: R.Tensor((4,), "float32")):
            scaled = R.multiply(w, w)
            moved = R.add(scaled, b)
            return (moved, scaled)

    given: dict[int, np.ndarray] = {}
    asked: list[Any] = []

    def load(index: int, *name: str) -> np.ndarray:
        asked.append((index, *name))
        return [W.T.copy(), np.ones(4, "float32")][index]

    register_func("test.lazy_load", load, override=True)
    register_func("test.lazy_store", lambda i, value: given.update({i: value}), override=True)
    build(transform.LazyTransformParams("test.lazy_load", "test.lazy_store")(Weights))[
        "transform_params"
    ]()
    by_function = transform.LazySetOutput()(transform.LazyGetInput()(Weights))
    assert from_source(by_function.script()).script() == by_function.script()
    stored: dict[int, np.ndarray] = {}
    build(by_function)["transform_params"](load, lambda i, value: stored.update({int(i): value}))
    assert asked == [(0,), (1,), (0, "w"), (1, "b")]
    for found in (given, stored):
        np.testing.assert_allclose(found[0], W.T * W.T + 1, rtol=1e-6)
        np.testing.assert_allclose(found[1], W.T * W.T, rtol=1e-6)


def test_lazy_names_are_texts() -> None:
    with pytest.raises(ExprTypeError, match="names of packed functions"):
        transform.LazyTransformParams(None)
