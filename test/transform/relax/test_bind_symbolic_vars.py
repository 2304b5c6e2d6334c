"""`BindSymbolicVars`: sizes become numbers, or expressions of others."""

import pytest

from relax_mlir import tir, transform
from relax_mlir.errors import ParameterNameError, PassError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            y = R.reshape(x, (n * m,))
            R.output(y)
        return y


@I.ir_module
class After:
    @R.function
    def main(x: R.Tensor((3, "m"), "float32")):
        m = T.int64()
        with R.dataflow():
            y = R.reshape(x, (3 * m,))
            R.output(y)
        return y


@pytest.mark.parametrize("name", ["n", tir.Var("n", "int64")])
@pytest.mark.parametrize("func", [None, "main"])
def test_bound(name: object, func: str | None) -> None:
    made = transform.BindSymbolicVars({name: 3}, func)(Before)
    assert_structural_equal(made, After)
    made.verify()


def test_unknown() -> None:
    with pytest.raises(PassError, match=r"function 'main' has no symbol 'k'; there are: m, n"):
        transform.BindSymbolicVars({"k": 3}, "main")(Before)


@R.function(private=True)
def part(x: R.Tensor(("n", "m"), "float32")):
    m = T.int64()
    return R.strided_slice(x, [1], [0], [m // 4])


def test_function_alone() -> None:
    @R.function(private=True)
    def expected(x: R.Tensor(("n", 32), "float32")):
        return R.strided_slice(x, [1], [0], [8])

    made = part.bind_symbolic_vars({part.params[0].ty.shape[1]: 32})
    assert_structural_equal(made, expected)
    assert_structural_equal(part.bind_symbolic_vars({"m": 32}), expected)


def test_symbols_of_a_function_alone_that_are_wrong() -> None:
    m = part.params[0].ty.shape[1]
    with pytest.raises(ParameterNameError, match="has no symbol 'k'; there are: m, n"):
        part.bind_symbolic_vars({"k": 1})
    with pytest.raises(ParameterNameError, match="two values of symbol 'm'"):
        part.bind_symbolic_vars({m: 1, "m": 2})
