"""LegalizeOps: functions for some operations, operations that stay, and warnings."""

import warnings
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, topi, transform
from relax_mlir.errors import PassError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

X, Y = np.float32([1, 2, 3]), np.float32([5, 7, 11])


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            z = R.subtract(x, y)
            w = R.nn.relu(z)
            R.output(w)
        return w


@I.ir_module
class Unknown:
    @R.function
    def main(x: R.Tensor("float32")):
        return R.exp(x)


def run(mod: Any, *inputs: np.ndarray) -> np.ndarray:
    return relax.VirtualMachine(relax.build(mod))["main"](*inputs)


def test_functions_for_operations() -> None:
    seen: list[str] = []

    def swapped(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        seen.append(call.op.name)
        return builder.call_te(topi.subtract, call.args[1], call.args[0])

    legalized = transform.LegalizeOps({"relax.subtract": swapped})(Model)
    assert seen == ["relax.subtract"]
    assert "relax.relu" not in str(legalized)
    np.testing.assert_array_equal(run(legalized, X, Y), Y - X)
    np.testing.assert_array_equal(run(Model, Y, X), Y - X)
    negated = transform.LegalizeOps({"relax.nn.relu": lambda _, call: R.negative(call.args[0])})
    np.testing.assert_array_equal(run(negated(Model), X, Y), Y - X)


@pytest.mark.parametrize("name", ["relax.nn.relu", "relax.relu", "relu"])
def test_operations_that_stay(name: str) -> None:
    legalized = transform.LegalizeOps(skip_ops=[name])(Model)
    assert "relax.relu" in str(legalized)
    assert "relax.subtract" not in str(legalized)
    np.testing.assert_array_equal(run(legalized, Y, X), Y - X)


def test_unknown_operations() -> None:
    for wrong in (
        transform.LegalizeOps(skip_ops=["relax.nn.rleu"]),
        transform.LegalizeOps({"relax.nn.rleu": lambda _, call: call}),
    ):
        with pytest.raises(PassError, match=r"did you mean 'relax\.nn\.relu'"):
            wrong(Model)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="no kernel for 'exp'"):
        transform.LegalizeOps(enable_warning=True)(Unknown)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transform.LegalizeOps(enable_warning=True)(Model)
        transform.LegalizeOps()(Unknown)
