"""`Function.inline_functions`: bodies of chosen functions in the place of their calls."""

import pytest

from relax_mlir import relax
from relax_mlir.errors import ExprError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Model
        y = cls.outer(x)
        return R.add(y, cls.inner(y))

    @R.function(private=True)
    def outer(x: R.Tensor(("n",), "float32")):
        cls = Model
        return R.exp(cls.inner(x))

    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32")):
        return R.tanh(x)


def test_named_functions_are_inlined() -> None:
    inner = Model["inner"]
    made = Model["main"].inline_functions(
        {"inner": inner, relax.GlobalVar("outer"): Model["outer"]}
    )
    text = made.script()
    assert "cls." not in text
    assert [text.count(name) for name in ("R.tanh", "R.exp")] == [2, 1]
    assert "n" not in {str(dim) for dim in made.ret_ty.dims}
    assert "cls.outer" in Model["main"].inline_functions({"inner": inner}).script()


def test_recursive_functions_are_not() -> None:
    @I.ir_module
    class Loop:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Loop
            return cls.main(x)

    with pytest.raises(ExprError, match="'main' calls itself"):
        Loop["main"].inline_functions({"main": Loop["main"]})
    twice = {"inner": Model["inner"], relax.GlobalVar("inner"): Model["inner"]}
    with pytest.raises(ExprError, match="'inner' is given twice"):
        Model["main"].inline_functions(twice)
