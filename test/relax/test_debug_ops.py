"""Printing and asserting in a program: in order, with messages, never in a dataflow block."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import RelaxMLIRError, ScriptError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Noisy:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        total = R.sum(x)
        R.print(total, R.shape([n]), format="{} of {}")
        R.assert_op(R.less(total, R.const(100.0, "float32")), [total], format="too large: {}")
        R.print(x)
        R.assert_op(R.const(True))
        return R.add(x, x)


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(Noisy))


def test_they_happen_in_order(
    machine: relax.VirtualMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    result = machine["main"](np.ones(3, "float32"))
    np.testing.assert_array_equal(result, np.full(3, 2, "float32"))
    assert capsys.readouterr().out == "3.0 of (3,)\n[1. 1. 1.]\n"


def test_an_assertion_says_what_and_where(
    machine: relax.VirtualMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RelaxMLIRError, match=r"Assertion Failed: too large: 150\.0") as caught:
        machine["main"](np.full(3, 50, "float32"))
    assert "test_debug_ops.py" in str(caught.value)
    assert capsys.readouterr().out == "150.0 of (3,)\n"


def test_printed_and_parsed_again() -> None:
    text = Noisy.script()
    assert 'R.print(total, R.shape([n]), format="{} of {}")' in text
    assert 'format="too large: {}")' in text


def test_not_in_a_dataflow_block() -> None:
    with pytest.raises(ScriptError, match="has a side effect; move it outside the dataflow block"):

        @I.ir_module
        class Refused:
            @R.function(pure=False)
            def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                with R.dataflow():
                    R.print(x)
                    y = R.add(x, x)
                    R.output(y)
                return y


def test_what_is_no_message() -> None:
    with pytest.raises(ScriptError, match="'format' is a string"):

        @I.ir_module
        class Refused:
            @R.function(pure=False)
            def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                R.print(x, format=3)
                return x

    with pytest.raises(ScriptError, match="takes values and 'format'"):

        @I.ir_module
        class Also:
            @R.function(pure=False)
            def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                R.print(x, end="")
                return x


def test_calls_that_the_builder_emits(capsys: pytest.CaptureFixture[str]) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    good = relax.Var("good", relax.TensorType((), "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, good], pure=False):
        builder.emit(relax.op.print(x, format="x is {}"))
        builder.emit(relax.op.print(x, x))
        builder.emit(relax.op.assert_op(good, [x], format="wrong: {}"))
        builder.emit(relax.op.assert_op(good, x))
        builder.emit_func_output(x)
    main = relax.VirtualMachine(relax.build(builder.get()))["main"]
    main(np.zeros(2, "float32"), np.array(True))
    assert capsys.readouterr().out == "x is [0. 0.]\n[0. 0.] [0. 0.]\n"
    with pytest.raises(RelaxMLIRError, match=r"Assertion Failed: wrong: \[0. 0.\]"):
        main(np.zeros(2, "float32"), np.array(False))
