"""What a script takes from the Python program around it: values, functions, macros, modules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

SIZE = 4
WEIGHT = np.arange(4, dtype="float32")
DTYPE = "float32"


class Config:
    size = 4
    shape = (4,)


def padded(n: int, to: int = 4) -> int:
    return (n + to - 1) // to * to


@T.prim_func
def increment(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + T.float32(1)


@R.function
def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return x + x


@I.ir_module
class Library:
    @R.function
    def helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x * R.const(2.0, "float32")

    @R.function
    def triple(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x + cls.helper(x)


@T.macro
def scaled(B, i, value, factor=2.0):
    B[i] = value * T.float32(factor)


@R.macro
def layer(x, w, activate):
    y = R.add(x, w)
    if activate:
        y = R.nn.relu(y)
    return y


@R.macro
def wrong(x):
    y = R.nonsense(x)
    return y


def test_values_and_functions() -> None:
    factor = 3.0

    @I.ir_module
    class Module:
        @T.prim_func
        def scale(A: T.Buffer((SIZE,), DTYPE), B: T.Buffer((Config.size,), DTYPE)):
            for i in range(padded(3)):
                scaled(B, i, A[i], factor=factor)

        @R.function
        def main(x: R.Tensor(Config.shape, DTYPE)):
            y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((SIZE,), DTYPE))
            z = R.call_tir(increment, (y,), out_sinfo=R.Tensor((SIZE,), DTYPE))
            w = double(z)
            t = Library.triple(w)
            q = layer(t, R.const(WEIGHT), False)
            p = layer(q, R.const(-10.0, "float32"), True)
            return R.reshape(p, (padded(1), 1)) + R.const(math.sqrt(4.0), "float32")

    assert set(Module.function_names) == {
        "scale", "main", "increment", "double", "helper", "triple",
    }  # fmt: skip
    vm = relax.VirtualMachine(relax.build(Module))
    x = np.array([-4, -1, 0, 2], np.float32)
    wanted = np.maximum(6 * (3 * x + 1) + WEIGHT - 10, 0)[:, None] + 2
    np.testing.assert_allclose(vm["main"](x), wanted)


def test_functions_whose_names_are_taken_get_others() -> None:
    outer = double

    @I.ir_module
    class Module:
        @R.function
        def double(x: R.Tensor((3,), "float32")):
            y = outer(x)
            return outer(y)

    vm = relax.VirtualMachine(relax.build(Module))
    np.testing.assert_allclose(vm["double"](np.ones(3, np.float32)), np.full(3, 4.0))


def test_python_decides_branches_and_unrolls_loops() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32")):
        y = x
        for size in Config.shape:
            if size > 3:  # noqa: SIM108
                y = R.add(y, x)
            else:
                y = R.nonsense(y)
        return y

    assert str(f.module).count('"relax.add"') == 1
    assert '"relax.if"' not in str(f.module)


def error_of(text: str, **variables: object) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source("from relax_mlir.script import relax as R, tir as T\n" + text, variables)
    return caught.value


FUNCTION = '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return '


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("R.reshape(x, (padded(x), 1))", "x", "'padded' is a Python function, called while"),
        ("R.const(padded('a'))", "padded('a')", "'padded' failed: TypeError"),
        ("layer(x)", "layer(x)", "the macro 'layer' needs argument 'w'"),
        ("layer(x, x, True, 1)", "layer(x, x, True, 1)", "the macro 'layer' takes 3 arguments"),
        ("layer(x, x, other=1)", "other=1", "the macro 'layer' has no argument 'other' left"),
        ("Library.missing(x)", "Library.missing", "undefined function 'Library.missing'"),
    ],
)
def test_refused(body: str, underlined: str, message: str) -> None:
    error = error_of(FUNCTION + body, padded=padded, layer=layer, Library=Library)
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


def test_errors_in_a_macro_show_its_own_line() -> None:
    error = error_of(FUNCTION + "wrong(x)", wrong=wrong)
    assert error.filename == __file__
    assert error.source_line.strip() == "y = R.nonsense(x)"


def test_a_macro_cannot_expand_for_ever() -> None:
    global forever

    @R.macro
    def forever(x):
        return forever(x)

    error = error_of(FUNCTION + "forever(x)", forever=forever)
    assert "expands more than 64 times" in error.message


def test_a_macro_is_no_python_function() -> None:
    with pytest.raises(TypeError, match="the macro 'layer' can only be used in a script"):
        layer(1, 2, 3)
