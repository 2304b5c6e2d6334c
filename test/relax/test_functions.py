"""`relax.Function(params, body)` is taken wherever a function of a script is."""

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import IRModule, relax, te, topi
from relax_mlir.ir import structural_equal
from relax_mlir.script import relax as R
from relax_mlir.transform import function_pass

X = relax.Var("x", R.Tensor((3,), "float32"))


def twice() -> relax.Function:
    return relax.Function([X], relax.op.add(X, X))


@R.function
def negative(x: R.Tensor((3,), "float32")):
    return R.negative(x)


def test_in_modules() -> None:
    late = IRModule()
    late["main"] = twice()
    for mod in (IRModule({"main": twice()}), IRModule.from_expr(twice()), late):
        assert isinstance(mod["main"], relax.Function)
        assert mod["main"] == mod.functions[mod.get_global_var("main")]
        assert structural_equal(mod["main"], twice())


def test_alone(capsys: pytest.CaptureFixture[str]) -> None:
    func = twice()
    func.show()
    assert str(func) == func.script() == capsys.readouterr().out.rstrip("\n") + "\n"
    assert "R.add(x, x)" in func.script()
    assert "add(0)" in relax.analysis.to_dot(func)
    for each in (func, negative):
        renamed = each.with_attr("global_symbol", "doubled")
        assert isinstance(renamed, relax.Function)
        assert renamed.name == renamed.module["doubled"].name == "doubled"
    value = np.ones(3, "float32")
    for built in (relax_mlir.compile(func), relax_mlir.relax.build(func)):
        np.testing.assert_array_equal(built["main"](value), 2 * value)


@pytest.mark.parametrize(("func", "op"), [(twice(), "relax.add"), (negative, "relax.negative")])
def test_function_passes_return_it(func: Any, op: str) -> None:
    """Whatever its name, it takes the place of the function that the pass was given."""
    replace = function_pass(lambda *_: func, opt_level=0, name="Replace")
    out = replace(IRModule({"f": negative, "g": twice()}))
    assert out.function_names == ["f", "g"]
    assert str(out).count(f'"{op}"') == 2


def test_scalars_of_numpy_are_python_numbers() -> None:
    two, one = np.int64(2), np.int32(1)
    marked = negative.with_attr(
        {"count": two, "sizes": [one], "flag": np.bool_(True), "scale": 0.5}
    )
    given = {"count": 2, "sizes": [1], "flag": True, "scale": 0.5}
    assert marked.attrs == {"global_symbol": "negative", **given}
    tensor = te.placeholder((two, 3), name="A")
    assert topi.sum(topi.transpose(tensor, (one, np.int8(0))), axis=one).shape == (3,)
    indices = relax.const(np.array([0, 1]))
    hot = relax.op.one_hot(indices, relax.PrimValue(one), relax.PrimValue(0), two, np.int64(-1))
    built = relax_mlir.compile(relax.Function([], hot))
    np.testing.assert_array_equal(built["main"](), np.eye(2))


def test_functions_of_the_parts_of_another_are_copies() -> None:
    func = relax.Function(negative.params, negative.body, negative.ret_ty)
    mod = IRModule({"main": func.with_attr("global_symbol", "main")})
    assert mod.function_names == ["main"]
    assert structural_equal(mod["main"], negative)
