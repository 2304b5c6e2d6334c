"""Scripts of N layers: loops, conditions and macros that the parser unrolls."""

import numpy as np
import pytest

from relax_mlir import ir
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source, script
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

LAYERS = 3
BIASES = [1.0, 2.0, 4.0]
ARRAYS = [np.full((2,), value, "float32") for value in BIASES]


@R.macro
def layers(x, ws, count):
    for i in range(count):
        x = R.add(x, ws[i])
    return x


@I.ir_module
class Looped:
    @R.function
    def by_range(
        x: R.Tensor((2,), "float32"),
        ws: R.Tuple(
            R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
        ),
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            for i in range(LAYERS):
                if i == 0:
                    y = R.add(x, ws[i])
                    x = y
                else:
                    x = R.multiply(x, ws[i - 1])
                x = R.subtract(x, R.const(BIASES[(i + 1) % 3], "float32"))
            y = R.nn.relu(x)
            R.output(y)
        return y

    @R.function
    def by_sequence(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            for bias in BIASES:
                x = R.add(x, R.const(bias, "float32"))
            for array in ARRAYS:
                x = R.multiply(x, R.const(array))
            y = x
            R.output(y)
        return y

    @R.function
    def by_macro(
        x: R.Tensor((2,), "float32"),
        ws: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = layers(x, ws, 2)
            R.output(y)
        return y


@I.ir_module
class Written:
    @R.function
    def by_range(
        x: R.Tensor((2,), "float32"),
        ws: R.Tuple(
            R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
        ),
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.subtract(R.add(x, ws[0]), R.const(2.0, "float32"))
            b = R.subtract(R.multiply(a, ws[0]), R.const(4.0, "float32"))
            c = R.subtract(R.multiply(b, ws[1]), R.const(1.0, "float32"))
            y = R.nn.relu(c)
            R.output(y)
        return y

    @R.function
    def by_sequence(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            b = R.add(a, R.const(2.0, "float32"))
            c = R.add(b, R.const(4.0, "float32"))
            d = R.multiply(c, R.const([1.0, 1.0], "float32"))
            e = R.multiply(d, R.const([2.0, 2.0], "float32"))
            y = R.multiply(e, R.const([4.0, 4.0], "float32"))
            R.output(y)
        return y

    @R.function
    def by_macro(
        x: R.Tensor((2,), "float32"),
        ws: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.add(x, ws[0])
            y = R.add(a, ws[1])
            R.output(y)
        return y


@pytest.mark.parametrize("name", ["by_range", "by_sequence", "by_macro"])
def test_unrolled_layers_are_those_written_out(name: str) -> None:
    ir.assert_structural_equal(Looped[name], Written[name])


def test_unrolled_layers_read_back() -> None:
    ir.assert_structural_equal(from_source(script(Looped)), Looped)


REFUSED = [
    ("while c:\n            x = R.add(x, x)", "relax.BlockBuilder takes any Python code"),
    ("for i in x:\n            x = R.add(x, x)", "relax.BlockBuilder takes any Python loop"),
    ("for i in range(2):\n            y = t[x]", "relax.BlockBuilder takes any Python index"),
    ("for i in range(2):\n            y = t[i // 0]", "relax.BlockBuilder takes any Python index"),
    ("for i in range(3):\n            y = t[i]", "out of range"),
    ('x = R.add(x, metadata["relax.expr.Constant"][0])', "script_with_metadata(module)"),
    ("del x", "relax.BlockBuilder takes any Python code"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_what_a_script_cannot_say(body: str, message: str) -> None:
    tensor = 'R.Tensor((2,), "float32")'
    with pytest.raises(ScriptError) as caught:
        from_source(
            f"""from tvm.script import relax as R
@R.function
def f(x: {tensor}, t: R.Tuple({tensor}, {tensor}), c: R.Tensor((), "bool")):
    with R.dataflow():
        {body}
        R.output(x)
    return x
"""
        )
    assert message in str(caught.value)
