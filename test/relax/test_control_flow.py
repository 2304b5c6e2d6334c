"""Branches that bind several variables, early returns, recursion, functions as values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from control_flow import after_passes, same

from relax_mlir import ir, relax, transform
from relax_mlir.errors import ScriptError, VMError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source, script
from relax_mlir.transform import PassContext

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
SOURCE = (
    HEAD
    + """
@I.ir_module
class Module:
    @R.function
    def even(n: R.Prim(value="n")) -> R.Prim("int64"):
        if n == 0:
            return 1
        return cls.odd(n - 1)

    @R.function
    def odd(n: R.Prim(value="n")) -> R.Prim("int64"):
        if n == 0:
            return 0
        r = cls.even(n - 1)
        return r

    @R.function
    def factorial(n: R.Prim(value="n")) -> R.Prim("int64"):
        if n <= 1:
            return 1
        else:
            r = cls.factorial(n - 1)
            return r * n

    @R.function
    def sign(x: R.Tensor((), "float32")):
        if x < R.const(0.0, "float32"):
            return R.const(-1)
        elif x > R.const(0.0, "float32"):
            y = R.const(1)
            return y
        return R.const(0)

    @R.function
    def several(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        a = x
        if c:
            a = x + x
            t = a + x
            b = t
        else:
            t = x
            b = x
        if c:
            d = a
        elif R.const(True):
            d = b
        else:
            d = a + b
        return (a, b, d)

    @R.function
    def without_else(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        if c:
            x = x + x
        return x

    @R.function
    def selected(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
        y = x + x if k > 2 else x
        return y if k < 5 else R.exp(y)

    @R.function
    def shapes(x: R.Tensor(("n",), "f32"), y: R.Tensor(("m",), "f32"), k: R.Prim(value="k")):
        if k < 3:
            z = x
            s = 2
        else:
            z = y
            s = k + 1
        return R.call_dps_packed("test.flow.fill", (z,), out_sinfo=R.Tensor((s,), "float32"))

    @R.function
    def closure(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        @R.function
        def inner(z: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            w = R.add(z, x)
            return w

        a = inner(y)
        return inner(a)

    @R.function
    def returned(x: R.Tensor(("n",), "float32")):
        @R.function
        def inner(z: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            return R.multiply(z, R.sum(x))

        return (inner, x)

    @R.function
    def twice(
        f: R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32")),
        x: R.Tensor(("k",), "float32"),
    ) -> R.Tensor(("k",), "float32"):
        return f(f(x))

    @R.function
    def doubled(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x + x

    @R.function
    def passed(x: R.Tensor(("n",), "float32")):
        g = cls.doubled
        p = cls.twice(g, x)
        return cls.twice(cls.doubled, p)

    @R.function
    def recursive(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
        @R.function
        def go(i: R.Prim("int64"), total: R.Tensor(("n",), "f32")) -> R.Tensor(("n",), "f32"):
            if i == 0:
                r = total
            else:
                r = go(i - 1, total + x)
            return r

        return go(k, x)

    @R.function
    def composed(x: R.Tensor((3,), "float32"), k: R.Prim(value="k")):
        f = cls.doubled
        for i in range(k):
            @R.function
            def following(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                q: R.Tensor((3,), "float32") = f(z)
                return q + x

            f = following
        out: R.Tensor((3,), "float32") = f(x)
        return out

    @R.function
    def chosen(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
        if c:
            f = cls.doubled
        else:
            @R.function
            def halved(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                return z * R.const(0.5, "float32")

            f = halved
        fs = (f, x)
        y: R.Tensor((3,), "float32") = fs[0](fs[1])
        return y
"""
)


@pytest.fixture(scope="module")
def module() -> IRModule:
    from relax_mlir import register_func

    def fill(*args):
        args[-1][...] = args[0].sum()

    register_func("test.flow.fill", fill, override=True)
    return from_source(SOURCE)


def check(module: IRModule) -> None:
    vm = relax.VirtualMachine(relax.build(module))
    x = np.array([1, 2, 3], np.float32)
    same((vm["even"](10), vm["odd"](7), vm["even"](7), vm["factorial"](10)), (1, 1, 0, 3628800))
    same(tuple(vm["sign"](np.float32(v)) for v in (-2, 0, 2)), (-1, 0, 1))
    same(vm["several"](x, np.array(True)), (2 * x, 3 * x, 2 * x))
    same(vm["several"](x, np.array(False)), (x, x, x))
    same(vm["without_else"](x, np.array(True)), 2 * x)
    same(vm["without_else"](x, np.array(False)), x)
    same(tuple(vm["selected"](x, k) for k in (1, 3, 7)), (x, 2 * x, np.exp(2 * x)))
    same(vm["shapes"](x, x[:1], 2), np.full(2, 6.0))
    same(vm["shapes"](x, x[:1], 4), np.full(5, 1.0))
    same(vm["closure"](x, x + 1), 3 * x + 1)
    function, captured = vm["returned"](x)
    same((function(x[:2]), captured), (6 * x[:2], x))
    same(vm["twice"](lambda v: v * 3, x), 9 * x)
    same((vm["passed"](x), vm["recursive"](x, 5), vm["composed"](x, 3)), (16 * x, 6 * x, 5 * x))
    same(vm["chosen"](x, np.array(True)), 2 * x)
    same(vm["chosen"](x, np.array(False)), x / 2)


@pytest.mark.parametrize("level", [0, 3])
def test_results(module: IRModule, level: int) -> None:
    with PassContext(opt_level=level):
        check(module)


def test_passes_keep_results(module: IRModule) -> None:
    check(after_passes(module))


@pytest.mark.parametrize("lifted", [False, True])
def test_printed_functions_read_back(module: IRModule, lifted: bool) -> None:
    module = transform.LambdaLift()(module) if lifted else module
    text = script(module)
    back = from_source(text)
    ir.assert_structural_equal(module, back)
    assert script(back) == text


def test_printed_branches_are_what_one_would_write(module: IRModule) -> None:
    text = script(module)
    for line in (
        'elif R.const(True, "bool"):',
        "gv: T.int64 = cls.odd(n - 1)",
        'def inner(z: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):',
        "g = cls.doubled",
        "f = following",
    ):
        assert f" {line}\n" in text


def test_callees_that_call_themselves_run_until_python_says_no(module: IRModule) -> None:
    vm = relax.VirtualMachine(relax.build(module))
    with pytest.raises(VMError, match="functions of the executable call each other too deeply"):
        vm["factorial"](10**6)


UNSUPPORTED = [
    ("if c:\n    return x", "if c:", "a Relax function must end with 'return'"),
    ("if c:\n    return x\nelse:\n    return x\ny = x\nreturn y", "y = x", "nothing can follow"),
    ("if c:\n    y = x\n    if c:\n        return x\nreturn y", "return x",
     "a branch that returns must do so on all of its paths"),
    ("if c:\n    y = x\nreturn y", "y", "'y' is bound in one branch only; bind it before the 'if'"),
    ("if c:\n    y = x\nelse:\n    y = (x, x)\nreturn y", "y = (x, x)",
     "the branches give R.Tensor((n, 2), \"float32\") and R.Tuple"),
    ("if c:\n    return x\nreturn (x, x)", "if c:", "the branches give R.Tensor"),
    ("@R.function\ndef g(y):\n    return y\nreturn g(x)", "y", "parameter 'y' needs a type"),
    ("@R.function\ndef g(y: R.Object):\n    return g(y)\nreturn g(x)", "def g(y: R.Object):",
     "'g' calls itself, so it must declare what it returns"),
    ("@T.prim_func\ndef g():\n    pass\nreturn x", "def g():", "'g' needs @R.function; prim funcs"),
    ("def g(y: R.Object):\n    return y\nreturn x", "def g(y: R.Object):", "'g' needs @R.function"),
    ("@R.function\ndef g(y: R.Tensor((3,), 'float32')):\n    return y\nreturn g(x)", "x",
     "argument 0 of 'g' must be R.Tensor((3,), \"float32\"), got"),
    ("@R.function\ndef g(y: R.Object):\n    return y\nreturn g(x, x)", "g(x, x)",
     "'g' takes 1 argument, got 2"),
    ("@R.function\ndef g(y: R.Object):\n    return z\nreturn g(x)", "z", "undefined variable 'z'"),
    ("@R.function\ndef g(y: R.Object):\n    w = y\n    return w\nreturn w", "w",
     "'w' is local to its function"),
    ("y = x if c else (x, x)\nreturn y", "(x, x)",
     "the branches give R.Tensor((n, 2), \"float32\") and R.Tuple"),
    ("with R.dataflow():\n    y = x if c else x\n    R.output(y)\nreturn y", "x if c else x",
     "a dataflow block holds no control flow"),
    ("return x(x)", "x", "only functions can be called, this is R.Tensor"),
    ("y = x and c\nreturn y", "x", "'and', 'or' and 'not' take scalar bools, this is R.Tensor"),
    ("y = not x\nreturn y", "x", "'and', 'or' and 'not' take scalar bools"),
    ("x += 'a'\nreturn x", "'a'", "a Python str has no meaning as a Relax value"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "underlined", "message"), UNSUPPORTED)
def test_refused(body: str, underlined: str, message: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    signature = 'def f(x: R.Tensor(("n", 2), "float32"), c: R.Tensor((), "bool")):\n'
    with pytest.raises(ScriptError) as caught:
        from_source(f"{HEAD}@R.function\n{signature}{lines}")
    error = caught.value
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


def test_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "script.md").read_text(encoding="utf-8")
    code = guide.split("```python\n")[1].split("```")[0]
    vm = relax.VirtualMachine(relax.build(from_source(code)))
    x = np.array([1, 2, 3], np.float32)
    same((vm["power"](x, 3), vm["settle"](x)), (x**3, (x / 4, 2)))
    same(vm["apply"](x, np.array(True)), x * x + x)
    same(vm["apply"](x, np.array(False)), 2 * x)
