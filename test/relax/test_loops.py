"""Loops in the graph: what they carry, what they compute, how they print, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from control_flow import after_passes, same

from relax_mlir import ir, register_func, relax, transform
from relax_mlir.errors import ScriptError, VMError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source, script
from relax_mlir.transform import PassContext

HEAD = "from relax_mlir.script import relax as R, tir as T\n"
SOURCE = (
    HEAD
    + """
@R.function
def repeated(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    y = x
    for i in range(k):
        y = y + x
    return y

@R.function
def on_tensors(x: R.Tensor((), "float32")):
    c = R.const(0, "int64")
    while x < R.const(100.0, "float32"):
        x = x * R.const(2.0, "float32")
        c = c + R.const(1, "int64")
    return (x, c)

@R.function
def grown(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    i = 0
    while i < k:
        x = R.call_pure_packed("test.loops.twice", x, sinfo_args=R.Tensor(ndim=1, dtype="float32"))
        i += 1
    return x

@R.function
def fibonacci(k: R.Prim(value="k")):
    a = 0
    b = 1
    for i in range(k):
        a, b = b, a + b
    return (a, b)

@R.function
def nested(x: R.Tensor((2,), "float32"), n: R.Prim(value="n")):
    for i in range(n):
        for j in range(i):
            if j % 2 == 0:
                x = x + R.const(1.0, "float32")
            else:
                x = x * R.const(2.0, "float32")
    return x

@R.function
def shapes(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    y = x
    for i in range(k):
        z = R.call_dps_packed("test.loops.fill", (x,), out_sinfo=R.Tensor((i + 1, 2), "float32"))
        y = y + R.sum(z)
    return y

@R.function
def tuples(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    t = (x, (x, k))
    for i in range(k):
        a = t[0]
        t = (a + x, (a, i))
    return t

@R.function
def around(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    if k > 2 and k < 10:
        for i in range(k):
            x = x + x
        y = x
    else:
        y = x
        while not (R.max(y) > R.const(10.0, "float32")):
            with R.dataflow():
                a = R.add(y, R.const(1.0, "float32"))
                b = R.add(a, a)
                R.output(b)
            y = b
    return y

@R.function
def swapped(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), k: R.Prim(value="k")):
    for i in range(k):
        x, y = y, x + y
    return (x, y)

@R.function
def sized(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    p = 1
    for i in range(k):
        p = p * 2
    return R.call_dps_packed("test.loops.fill", (x,), out_sinfo=R.Tensor((p,), "float32"))

@R.function
def downwards(k: R.Prim(value="k")):
    c = 0
    s = 0
    while k >= 0:
        k = k - 1
        c = c + 1
    for i in range(5, -3, -2):
        s = s + i
    return (k, c, s)

@R.function
def matched(x: R.Tensor(ndim=1, dtype="float32"), k: R.Prim(value="k")):
    for i in range(k):
        y = R.match_cast(x, R.Tensor(("m",), "float32"))
        z = y + R.call_dps_packed("test.loops.fill", (x,), out_sinfo=R.Tensor((m,), "float32"))
        x = R.call_pure_packed("test.loops.twice", z, sinfo_args=R.Tensor(ndim=1, dtype="float32"))
    return x

@R.function
def written(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
    y = R.exp(x)
    s = R.sum(y)
    for i in range(k):
        R.call_packed("test.loops.double", y)
        s = s + R.sum(R.add(y, y))
    return (y, s)

@R.function
def stepped(x: R.Tensor(("n",), "float32"), step: R.Prim(value="step")):
    for i in range(0, 4, step):
        x = x + x
    return x

@R.function
def unrolled(x: R.Tensor(("n",), "float32")):
    y = x
    for item in (x, x + x):
        y = y + item
    return y
"""
)


@register_func("test.loops.twice", override=True)
def twice(x):
    return np.concatenate([x, x])


@register_func("test.loops.fill", override=True)
def fill(*args):
    args[-1][...] = 1


@register_func("test.loops.double", override=True)
def double(x):
    x *= 2


def nested(x, n):
    for i in range(n):
        for j in range(i):
            x = x + 1 if j % 2 == 0 else x * 2
    return x


def matched(x, k):
    for _ in range(k):
        x = np.concatenate([x + 1, x + 1])
    return x


def written(x, k):
    y = np.exp(x)
    s = y.sum()
    for _ in range(k):
        y = y * 2
        s = s + 2 * y.sum()
    return y, s


def check(module: IRModule) -> None:
    vm = relax.VirtualMachine(relax.build(module))
    for n in (0, 1, 3):
        x = np.arange(n, dtype=np.float32)
        for k in (0, 1, 4):
            same(vm["repeated"](x, k), x * (k + 1))
            same(vm["grown"](x, k), np.tile(x, 2**k))
            same(vm["matched"](x, k), matched(x, k))
            same(vm["written"](x, k), written(x, k))
            same(vm["shapes"](x, k), x + k * (k + 1))
            same(vm["sized"](x, k), np.ones(2**k))
        same(vm["around"](x, 4), x * 16)
        same(vm["unrolled"](x), x * 4)
    x = np.array([1, 2], np.float32)
    same(vm["on_tensors"](np.float32(3)), (192, 6))
    same(vm["on_tensors"](np.float32(300)), (300, 0))
    same(vm["fibonacci"](10), (55, 89))
    same(vm["nested"](x, 5), nested(x, 5))
    same(vm["tuples"](x, 3), (x * 4, (x * 3, 2)))
    same(vm["tuples"](x, 0), (x, (x, 0)))
    same(vm["around"](x, 1), [10, 14])
    same(vm["swapped"](x, x * 2, 5), (x * 13, x * 21))
    same(vm["downwards"](3), (-1, 4, 8))
    same(vm["stepped"](x, 2), x * 4)


@pytest.fixture(scope="module")
def module() -> IRModule:
    return from_source(SOURCE)


@pytest.mark.parametrize("level", [0, 3])
def test_results(module: IRModule, level: int) -> None:
    with PassContext(opt_level=level):
        check(module)


def test_passes_keep_results(module: IRModule) -> None:
    check(after_passes(module))


def test_printed_loops_read_back(module: IRModule) -> None:
    text = script(module)
    back = from_source(text)
    ir.assert_structural_equal(module, back)
    assert script(back) == text


def test_printed_loops_are_what_one_would_write(module: IRModule) -> None:
    text = script(module)
    for line in (
        "for i in range(k):",
        'y: R.Tensor((n,), dtype="float32") = R.add(y, x)',
        'while R.less(x, R.const(100.0, "float32")):',
        "while i < k:",
        "i: T.int64 = i + 1",
        "for i in range(5, -3, -2):",
        "if k > 2 and k < 10:",
        "p: T.int64 = p * 2",
    ):
        assert f" {line}\n" in text


def test_a_shape_that_changes_is_weakened(module: IRModule) -> None:
    text = str(module)
    body = text[text.index("@grown") : text.index("@fibonacci")]
    assert '"relax.match_cast"(%x) : (tensor<?xf32, #relax.dims' in body
    assert "-> tuple<tensor<?xf32>, i64>" in body


def test_a_step_of_0_fails_at_run_time(module: IRModule) -> None:
    vm = relax.VirtualMachine(relax.build(module))
    with pytest.raises(VMError, match=r"the step of a loop is 0\n.*'stepped', .* at <str>:\d+"):
        vm["stepped"](np.ones(2, np.float32), 0)


def test_a_long_loop_keeps_no_memory() -> None:
    module = from_source(
        HEAD
        + """
@R.function
def f(x: R.Tensor((1000,), "float32")):
    for i in range(2000):
        x = R.sin(x)
    return x
"""
    )
    vm = relax.VirtualMachine(relax.build(module))
    x = np.ones(1000, np.float32)
    wanted = x
    for _ in range(2000):
        wanted = np.sin(wanted)
    np.testing.assert_allclose(vm["f"](x), wanted, rtol=1e-3)


UNSUPPORTED = [
    ("for i in range(3):\n    break", "break", "'break' is not part of the Relax language"),
    ("for i in range(3):\n    if c:\n        continue", "continue", "'continue' is not part"),
    ("for i in range(3):\n    return x", "return x", "'return' cannot leave a loop"),
    ("while c:\n    y = x\nelse:\n    y = x", "y = x", "'while' has no 'else' here"),
    ("k = R.prim_value(x.shape[0])\nwith R.dataflow():\n    for i in range(k):\n        y = x",
     "for i in range(k):", "a dataflow block holds no control flow; move the 'for' loop outside"),
    ("with R.dataflow():\n    for i in range(1000000000):\n        y = x", "range(1000000000)",
     "1000000000 turns are too many to unroll (at most 4096)"),
    ("with R.dataflow():\n    while c:\n        y = x", "while c:", "a dataflow block holds no"),
    ("while x:\n    y = x", "x", "the condition must be a scalar bool, got R.Tensor"),
    ("while True:\n    y = x", "True", "this loop never ends"),
    ("for i in range(1, 2, 0):\n    y = x", "range(1, 2, 0)", "the step of a loop cannot be 0"),
    ("for i in range(x):\n    y = x", "x", "the bounds of a loop are integers, this is R.Tensor"),
    ("for i in range(2.5):\n    y = x", "2.5", "the bounds of a loop are integers, this is float"),
    ("for i in range():\n    y = x", "range()", "a range takes one to three integers, got 0"),
    ("for i, j in range(3):\n    y = x", "i, j", "this loop has one variable"),
    ("for i in x:\n    y = x", "x", "a loop goes over range(...), a Python sequence, or"),
    ("for i in range(3):\n    z = x\ny = z", "z", "'z' is local to its loop and means nothing"),
    ("for i in range(3):\n    pass\ny = R.call_packed('f', i)", "i", "'i' is local to its loop"),
    ("y = x\nfor i in range(3):\n    y = (y, y)\nz = y", "for i in range(3):",
     "'y' is R.Tensor((n, 2), \"float32\") before this loop and R.Tuple"),
    ("y = x\nfor i in range(3):\n    y = R.astype(y, 'int32')\nz = y", "for i in range(3):",
     "'y' is R.Tensor((n, 2), \"float32\") before this loop and R.Tensor((n, 2), \"int32\")"),
    ("for i in range(3):\n    y = R.foo(x)", "R.foo", "there is no operation R.foo"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "underlined", "message"), UNSUPPORTED)
def test_refused(body: str, underlined: str, message: str) -> None:
    lines = "".join(f"    {line}\n" for line in [*body.splitlines(), "return x"])
    signature = 'def f(x: R.Tensor(("n", 2), "float32"), c: R.Tensor((), "bool")):\n'
    with pytest.raises(ScriptError) as caught:
        from_source(f"{HEAD}@R.function\n{signature}{lines}")
    error = caught.value
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


# Each was once printed as another program.
READ_BACK = [
    # A variable that is bound again before anything reads it is not carried.
    """
w = 0
while w < 4:
    x, y = y, y + y
    y, x = x, R.tanh(y)
    w = w + 1
x, y = y, R.tanh(y)
return (x, y, w)
""",
    # A value of the body may not take the name of the inner loop's result, which is read later.
    """
for i in range(k):
    x, y = y, R.exp(x)
    w = 0
    while w < 3:
        x, y = y, y + y
        w = w + 1
    y = x * R.const(0.5, "float32")
    if w < k:
        x = R.tanh(x)
return (x, y)
""",
    # Integers of two loops have two symbols, as the variable of the first outlives it.
    """
w = 0
while w < 1:
    k = k % 50
    w = w + 1
for i in range(2):
    if i < 1:
        k = k % 7
    x = x + x
return (x, k, w)
""",
    # What a loop makes of a parameter is not the symbol that the parameter gives its value.
    """
j = k % 50
for i in range(0):
    k = 3
m = k % 50
if j < 2:
    m = k % 40
return (x, k, j, m)
""",
    # A condition is computed again in every turn, whatever passes make of it.
    """
while R.mean(x) > R.mean(y) and k < 3:
    x = x - y
    k = k + 1
return (x, k)
""",
]


@pytest.mark.parametrize("body", READ_BACK)
def test_programs_that_read_back(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    params = 'x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32"), k: R.Prim(value="k")'
    module = from_source(f"{HEAD}@R.function\ndef f({params}):\n{lines}")
    text = script(module)
    back = from_source(text)
    ir.assert_structural_equal(module, back)
    assert script(back) == text
    from_source(script(transform.ConvertToDataflow()(transform.Normalize()(module))))
