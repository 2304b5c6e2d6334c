"""`FuseOpsByPattern`, `MergeCompositeFunctions` and `RunCodegen`: subgraphs for libraries."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, runtime, transform
from relax_mlir.errors import ExprTypeError, PassError
from relax_mlir.relax.dpl import is_op, is_tuple_get_item, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

WEIGHTS = np.random.default_rng(3).normal(size=(4, 4)).astype("float32")


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.matmul(x, R.const(WEIGHTS)))
            b = R.nn.relu(R.matmul(a, R.const(WEIGHTS)))
            y = R.exp(b)
            R.output(y)
        return y


LEFT, RIGHT = wildcard(), wildcard()
MATMUL = is_op("relax.matmul")(LEFT, RIGHT)
DENSE = is_op("relax.nn.relu")(MATMUL)


def expected(x: np.ndarray) -> np.ndarray:
    return np.exp(np.maximum(np.maximum(x @ WEIGHTS, 0) @ WEIGHTS, 0))


def names(mod: Any) -> list[str]:
    return sorted(mod.function_names)


def test_constants_are_bound_or_passed() -> None:
    bound = transform.FuseOpsByPattern([("numpy.dense", DENSE)])(Model)
    passed = transform.FuseOpsByPattern([("numpy.dense", DENSE)], bind_constants=False)(Model)
    # Each layer has weights of its own; what is passed does not matter.
    dense = "fused_relax_matmul_relax_nn_relu"
    assert names(bound) == [dense, f"{dense}1", "main"]
    assert names(passed) == [dense, "main"]
    counts = [len(mod["fused_relax_matmul_relax_nn_relu"].params) for mod in (bound, passed)]
    assert counts == [1, 2]
    attrs = bound["fused_relax_matmul_relax_nn_relu"].attrs
    assert (attrs["Composite"], attrs["Primitive"]) == ("numpy.dense", True)


def test_a_check_sees_the_match() -> None:
    seen = []

    def check(context: transform.PatternCheckContext) -> bool:
        seen.append(len(context.matched_bindings))
        assert context.matched_expr.op.name == "relax.nn.relu"
        assert [len(users) for users in context.var_usages.values()] == [1, 1, 1, 1]
        assert context.matched_expr in context.value_to_bound_var
        return isinstance(context.annotated_expr["right"], relax.Constant)

    pattern = transform.FusionPattern(
        "numpy.dense", DENSE, {"left": LEFT, "right": RIGHT}, check,
        lambda found: {"columns": found["right"].data.shape[1]},
    )  # fmt: skip
    made = transform.FuseOpsByPattern([pattern])(Model)
    assert made["fused_relax_matmul_relax_nn_relu"].attrs["columns"] == 4
    assert seen == [2, 2]


def test_a_refused_match_leaves_the_program() -> None:
    pattern = ("numpy.dense", DENSE, {}, lambda context: False)
    assert transform.FuseOpsByPattern([pattern])(Model).script() == Model.script()


def test_a_larger_match_takes_the_place_of_a_smaller_one() -> None:
    both = [("numpy.any", MATMUL | DENSE)]
    assert "fused_relax_matmul_relax_nn_relu" in names(transform.FuseOpsByPattern(both)(Model))


def test_fields_of_tuples_are_part_of_a_match() -> None:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            parts = R.split(x, 2)
            y = R.exp(parts[0])
            R.output(y)
        return y

    half = is_op("relax.exp")(is_tuple_get_item(is_op("relax.split")(wildcard()), 0))
    made = transform.FuseOpsByPattern([("numpy.half", half)])(main)
    assert names(made) == ["fused_relax_split_relax_exp", "main"]


def test_entry_functions() -> None:
    made = transform.FuseOpsByPattern([("numpy.dense", DENSE)], entry_functions=["main"])(Model)
    assert len(names(made)) == 3
    with pytest.raises(PassError, match="no function 'mian'; did you mean 'main'"):
        transform.FuseOpsByPattern([("numpy.dense", DENSE)], entry_functions=["mian"])(Model)


@pytest.mark.parametrize("wrong", [DENSE, ("numpy.dense",), ("numpy.dense", "relu")])
def test_what_is_no_pattern(wrong: Any) -> None:
    with pytest.raises(ExprTypeError, match="pattern"):
        transform.FuseOpsByPattern([wrong])


def test_groups_that_need_each_other() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(a)
            c = R.add(a, b)
            R.output(c)
        return c

    both = is_op("relax.add")(is_op("relax.nn.relu")(wildcard()), wildcard())
    with pytest.raises(PassError, match="A cyclic dependency detected"):
        transform.FuseOpsByPattern([("numpy.both", both)])(main)


def numpy_of(func: Any) -> Callable[..., None]:
    """Return what computes a function of composites: the calls in it, by numpy."""
    values = {"numpy.dense": lambda x, w: np.maximum(x @ w, 0)}
    *_, steps = [block.bindings for block in func.body.blocks]
    params, result = func.params, func.body.body
    inner = {step.var: step.value for step in steps if isinstance(step.value, relax.Function)}
    calls = [(s.var, s.value) for s in steps if isinstance(s.value, relax.Call)]

    def run(*arrays: np.ndarray) -> None:
        known = dict(zip(params, arrays, strict=False))
        for variable, call in calls:
            function = values[inner[call.op].attrs["Composite"]]
            known[variable] = function(*(known[arg] for arg in call.args))
        arrays[-1][...] = known[result]

    return run


@pytest.fixture
def numpy_library() -> Iterator[None]:
    runtime.register_func(
        "relax.ext.numpy", lambda functions, options: [numpy_of(func) for func in functions]
    )
    yield
    runtime.remove_global_func("relax.ext.numpy")


PARTITIONS = {
    "each": [transform.FuseOpsByPattern([("numpy.dense", DENSE)], False, annotate_codegen=True)],
    "merged": [
        transform.FuseOpsByPattern([("numpy.dense", DENSE)], False),
        transform.MergeCompositeFunctions(),
    ],
}


@pytest.mark.codegen
@pytest.mark.usefixtures("numpy_library")
@pytest.mark.parametrize("how", PARTITIONS)
def test_built_with_a_library_and_without(how: str) -> None:
    partitioned = transform.Sequential(PARTITIONS[how])(Model)
    handed = transform.RunCodegen()(partitioned)
    assert names(handed) == ["main"]
    assert "call_dps_packed" in handed.script()
    for mod in (partitioned, handed):
        main = relax.VirtualMachine(relax.build(mod))["main"]
        for rows in (0, 1, 7, 33):
            x = np.random.default_rng(rows).normal(size=(rows, 4)).astype("float32")
            np.testing.assert_allclose(main(x), expected(x), rtol=1e-5, atol=1e-6)


def test_a_library_that_nothing_compiles_for() -> None:
    made = transform.FuseOpsByPattern([("nothing.dense", DENSE)], annotate_codegen=True)(Model)
    with pytest.raises(PassError, match=r"register_func\('relax\.ext\.nothing'\)"):
        transform.RunCodegen()(made)


def test_a_library_that_returns_nothing() -> None:
    made = transform.FuseOpsByPattern([("empty.dense", DENSE)], annotate_codegen=True)(Model)
    runtime.register_func("relax.ext.empty", lambda functions, options: None)
    with pytest.raises(PassError, match="returns a list of callables"):
        transform.RunCodegen()(made)
    runtime.remove_global_func("relax.ext.empty")
