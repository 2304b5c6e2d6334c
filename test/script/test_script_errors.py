"""What is wrong is said where it is: each message, and the exact text under its carets."""

# ruff: noqa: E501

import pytest

from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
RELAX = '@R.function\ndef f(x: R.Tensor(("n", 2), "float32")):\n'
TIR = """@T.prim_func
def f(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "int32")
"""


def failure(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source(text, filename="bad.py")
    return caught.value


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def check(text: str, underlined: str, message: str) -> None:
    error = failure(text)
    found = error.source_line[error.col_offset : error.end_col_offset]
    assert (found, error.message[: len(message)]) == (underlined, message)
    assert error.source_line == text.splitlines()[error.lineno - 1]
    head, line, carets = str(error).splitlines()
    assert head.startswith(f"bad.py:{error.lineno}:{error.col_offset + 1}: error: ")
    assert line[carets.index("^") : carets.rindex("^") + 1] == underlined


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("return R.relux(x)", "R.relux", "there is no operation R.relux; did you mean 'relu'?"),
        ("lv0 = R.exp(x)\nreturn lv1", "lv1", "undefined variable 'lv1'; did you mean 'lv0'?"),
        ("return R.add(x, nope)", "nope", "undefined variable 'nope'"),
        ("return foo(x)", "foo", "undefined function 'foo'"),
        ("return cls.foo(x)", "cls.foo", "undefined function 'cls.foo'"),
        (
            "with R.dataflow():\n    lv = R.exp(x)\n    gv = R.exp(lv)\n    R.output(gv)\nreturn lv",
            "lv", "'lv' is local to its dataflow block; add it to R.output(...)",
        ),
        (
            "if R.const(True):\n    t = x\n    y = t\nelse:\n    y = x\nreturn t",
            "t", "'t' is bound in one branch only; bind it before the 'if'",
        ),
        (
            "if R.const(True):\n    y = x\nelse:\n    z = x\nreturn y",
            "y", "'y' is bound in one branch only; bind it before the 'if'",
        ),
        ("if x:\n    y = x\nelse:\n    y = x\nreturn y", "x", "the condition must be a scalar bool"),
        ("if R.const(True):\n    y = x\nreturn y", "y", "'y' is bound in one branch only"),
        ("with R.dataflow():\n    R.output(x)\nreturn x", "x", "'x' is bound outside this dataflow"),
        ("with R.dataflow():\n    R.output(y)\nreturn x", "y", "undefined variable 'y'"),
        ("with R.dataflow:\n    pass\nreturn x", "R.dataflow", "write R.dataflow() with parentheses"),
        (
            'with R.dataflow():\n    y = R.call_packed("g", x)\nreturn x',
            'R.call_packed("g", x)', "R.call_packed may have side effects",
        ),
        ("with R.dataflow():\n    R.print(x)\nreturn x", "R.print(x)", "R.print has a side effect"),
        (
            "with R.dataflow():\n    with R.dataflow():\n        pass\nreturn x",
            "R.dataflow()", "a dataflow block cannot stand inside another",
        ),
        ("y: R.Tensor((n, 3)) = x\nreturn y", "R.Tensor((n, 3))", "declared R.Tensor((n, 3))"),
        ("y: R.Tensor((m, 2)) = x\nreturn y", "m", "undefined symbol 'm'"),
        (
            "m = T.int64()\ny: R.Tensor((m, 2)) = x\nreturn y",
            "m", "symbol 'm' has no value here",
        ),
        (
            "y = R.match_cast(x, R.Tensor((m * k, 2)))\nreturn y",
            "m", "symbol 'm' occurs only inside expressions",
        ),
        (
            "return R.match_cast(x, R.Tensor((n, 3)))",
            "R.match_cast(x, R.Tensor((n, 3)))", "this cannot succeed",
        ),
        ("return R.matmul(x)", "R.matmul(x)", "R.matmul needs argument 'x2'"),
        (
            "return R.matmul(x, x, x)", "x",
            "expected a literal or a Python value from around the script; 'x' is a value of the",
        ),
        (
            "return R.matmul(x, R.const(weight))", "weight",
            "expected a literal or a Python value from around the script; 'weight' is none, and",
        ),
        ("return R.matmul(x, x, x, x)", "x", "R.matmul takes 3 arguments, got 4"),
        ("return R.sum(x, axes=1)", "axes=1", "R.sum has no argument 'axes'; did you mean 'axis'?"),
        ("return R.sum(x, axis=2)", "R.sum(x, axis=2)", "R.sum: axis 2 is out of range"),
        ("return R.reshape(x, x)", "x", "expected a shape such as (n, 4), got R.Tensor"),
        ("return R.reshape(x, (2, -2))", "(2, -2)", "a dimension cannot be negative, got -2"),
        ("return x + R.const(1)", "x + R.const(1)", "R.add: operand dtypes must match"),
        ('return R.const("a", "int8")', 'R.const("a", "int8")', "not a constant of the Relax"),
        ('return R.const(1, "int7")', '"int7"', "unknown dtype 'int7'; did you mean 'int"),
        ("return R.call_tir((n,), foo, [x])", "foo", "undefined variable 'foo'"),
        ("return R.call_tir(foo, (x,), R.Tensor((n,)))", "foo", "undefined variable 'foo'"),
        ("return R.call_tir(cls.foo, (x,), R.Tensor((n,)))", "cls.foo", "undefined function 'cls.foo'"),
        ("return R.nn.softmax(x, axis=5)", "R.nn.softmax(x, axis=5)", "R.nn.softmax: "),
        ("return R.nn.softmax(x, dim=1)", "dim=1", "R.nn.softmax has no argument 'dim'"),
        ("return R.nn.relu(x, x)", "x", "R.nn.relu takes 1 argument, got 2"),
        ("return R.ewise_add(x, R.const([1, 2, 3]))", "R.ewise_add(x, R.const([1, 2, 3]))", "R.ewise_add: "),
        ("return cls", "cls", "'cls' is the module; name a function of it"),
        ('return R.call_tir(x, "g", [x])', "x", "expected a shape such as (n, 4), got R.Tensor"),
        ('return R.call_tir("g", x)', 'R.call_tir("g", x)', "R.call_tir needs argument 'out_sinfo'"),
        ("return (x, x)[2]", "(x, x)[2]", "index 2 is out of range for 2 fields"),
        ("return x[0, 0, 0, 0]", "x[0, 0, 0, 0]", "4 indices for a tensor of"),
        ("a, b = x\nreturn a", "a, b", "only tuples can be unpacked"),
        ("for i in range(3):\n    break\nreturn x", "break", "'break' is not part of the Relax"),
        ("y = R.exp(x)", "y = R.exp(x)", "a Relax function must end with 'return'"),
        ("return x\ny = x", "y = x", "nothing can follow 'return'"),
        ("return None", "None", "None has no meaning as a Relax value"),
        ("return R.Tensor((2,))", "R.Tensor((2,))", "R.Tensor is a type, not a value"),
        ("x[0] = x\nreturn x", "x[0]", "only variables can be bound"),
        ("x\nreturn x", "x", "this statement has no effect"),
        ("return lambda: x", "lambda: x", "this Python expression means nothing"),
        ("é = x\nreturn é + ü", "ü", "undefined variable 'ü'"),
        ("return R.exp(x", "(", "'(' was never closed"),
    ],
)  # fmt: skip
def test_relax(body: str, underlined: str, message: str) -> None:
    check(HEAD + RELAX + indented(body), underlined, message)


@pytest.mark.parametrize(
    ("params", "underlined", "message"),
    [
        ("x: R.Tensr((2,))", "R.Tensr((2,))", "expected a type"),
        ("x: R.Tensor((n * m,))", "n", "symbol 'n' occurs only inside expressions"),
        ('x: R.Tensor(("n // 2",))', '"n // 2"', "symbol 'n' occurs only inside expressions"),
        ('x: R.Tensor(("n *",))', '"n *"', "'n *' is not an integer expression"),
        ("x: R.Tensor((1.5,))", "1.5", "a dimension must be an integer expression"),
        ("x: R.Tensor((-1,))", "-1", "a dimension cannot be negative"),
        ("x: R.Tensor((2,), ndim=3)", "3", "ndim is 3, the shape has 1"),
        ('x: R.Tensor((2,), "f33")', '"f33"', "unknown dtype 'f33'"),
        ("x: R.Tensor((2,), dtipe='f32')", "dtipe='f32'", "R.Tensor has no argument 'dtipe'"),
        ("x", "x", "parameter 'x' needs a type"),
        ("x: R.Object = 1", "1", "a Relax function has no default arguments"),
        ("*x: R.Object", "x: R.Object", "a Relax function has plain positional parameters"),
    ],
)  # fmt: skip
def test_signatures(params: str, underlined: str, message: str) -> None:
    check(f"{HEAD}@R.function\ndef f({params}):\n    return x\n", underlined, message)


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("for i in range(n):\n    B[i] = A[i]", "A[i]", "buffer 'A' has 2 dimensions, indexed with 1"),
        ("for i in range(n):\n    B[i, i] = 1", "B[i, i]", "buffer 'B' has 1 dimensions"),
        ("for i in range(n):\n    B[i] = C[i]", "C", "undefined buffer 'C'"),
        ("for i in range(n):\n    B[i] = A[i, 0]", "A[i, 0]", "buffer 'B' holds int32, got a value"),
        ("for i in range(n):\n    B[i] = 1.5", "1.5", "1.5 is not an integer, int32 is needed"),
        (
            "for i in range(n):\n    B[i] = B[i] + A[i, 0]",
            "B[i] + A[i, 0]", "buffer 'B' holds int32, got a value of float32",
        ),
        ("for i in range(n):\n    B[i] = B[i] / 2", "B[i] / 2", "'/' needs floating-point operands"),
        ("for i in range(n):\n    B[A[i, 0]] = 1", "A[i, 0]", "an index must be an integer, got float32"),
        ("for i in range(k):\n    B[i] = 1", "k", "undefined variable 'k'"),
        ("for i in range(n):\n    B[j] = 1", "j", "undefined variable 'j'"),
        ("for i in T.paralel(n):\n    B[i] = 1", "T.paralel(n)", "expected range, T.serial"),
        ("for i, j in T.grid(n):\n    B[i] = 1", "i, j", "1 extents need 1 variables"),
        ("B[0] = T.expp(1)", "T.expp", "there is no T.expp; did you mean 'exp"),
        ("if n:\n    B[0] = 1", "n", "the condition must be a bool, got index"),
        ("return B", "B", "say what the function returns"),
        ("B[0:n] = 1", "0:n", "the lanes of a vector are a constant from 1 to"),
        ("B[0] = B[0:1]", "0:1", "a buffer is read and written one element at a time"),
        ("with T.blok():\n    pass", "T.blok()", "expected T.block, T.grid or T.init; did you mean"),
        (
            'for i in range(n):\n    with T.block("B"):\n        v = T.axis.spacial(n, i)\n        B[v] = 1',
            "T.axis.spacial", "there is no T.axis.spacial; did you mean 'spatial'?",
        ),
        ("while True:\n    pass", "True", "this loop never ends"),
        ("if n > 1:\n    break", "break", "'break' is outside of loops"),
        ("assert B[0]", "B[0]", "the condition must be a bool, got int32"),
        ("B[0] = k", "k", "undefined variable 'k'"),
        ("k = T.int64()\nB[0] = k", "k", "symbol 'k' has no value: no buffer has it as a dimension"),
        ("C = T.alloc_buffer((k,))", "k", "undefined symbol 'k'"),
    ],
)  # fmt: skip
def test_tir(body: str, underlined: str, message: str) -> None:
    check(HEAD + TIR + indented(body), underlined, message)


def test_tir_signatures() -> None:
    text = HEAD + TIR.replace("buffer(b,", "buffer(c,")
    check(text, "c", "'c' is not a handle of this function")
    check(HEAD + TIR.replace("b: T.handle", "b: int"), "int", "expected T.handle, T.Buffer")
    check(
        HEAD + TIR.replace("b: T.handle", "b: T.float31"), "T.float31",
        "expected T.handle, T.Buffer(shape, dtype) or a dtype such as T.float32; did you mean",
    )  # fmt: skip
    check(HEAD + TIR.replace("b: T.handle", "b, c"), "c", "no T.match_buffer says what 'c'")
    check(HEAD + TIR.replace("(n,)", "(k // 2,)"), "k", "symbol 'k' occurs only inside expressions")


def test_calls_between_functions() -> None:
    module = (
        HEAD
        + """@I.ir_module
class M:
    @T.prim_func
    def g(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32"), n: T.int64):
        B[0] = A[0]
    @T.prim_func
    def k(A: T.Buffer((2,), "float32"), j: T.int64, B: T.Buffer((2,), "float32")):
        B[0] = A[j]
    @R.function
    def h(x: R.Tensor((2,), "float32")):
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return {}
"""
    )
    out = 'R.Tensor((2,), "float32")'
    check(module.format("cls.g(x)"), "cls.g", "'g' is a prim func; call it by R.call_tir")
    check(module.format("cls.h(x, x)"), "cls.h(x, x)", "'h' takes 1 argument, got 2")
    check(
        module.format("cls.h(R.exp(R.const([1.0])))"), "R.exp(R.const([1.0]))", "argument 0 of 'h'"
    )
    call = f"R.call_tir(cls.g, (x, x), {out})"
    check(module.format(call), call, "'g' takes 2 buffers, the call passes 2 and 1 output")
    call = f"R.call_tir(cls.g, (x,), {out})"
    check(module.format(call), call, "'g' takes 1 integers after its buffers")
    for call in (f"R.call_tir(cls.k, (x,), {out})", "R.call_tir((2,), cls.k, (x,))"):
        check(
            module.format(call), "cls.k", "'k' takes 'j', which is no buffer, before buffer 'B'; "
        )
    call = f"R.call_tir_inplace(cls.k, (x, 1), [0], {out})"
    check(module.format(call), "(x, 1)", "an in-place call takes its integers by tir_vars=")
    check(module.format(f"R.call_tir(cls.h, (x,), {out})"), "cls.h", "'h' is a Relax function")
    check(module.format("cls.hh(x)"), "cls.hh", "undefined function 'cls.hh'; did you mean 'h")


def test_modules_hold_functions() -> None:
    check(HEAD + "@I.ir_module\nclass M:\n    x = 1\n", "x = 1", "a module holds functions only")
    text = HEAD + "@I.ir_module\nclass M:\n    def f(x): return x\n"
    check(text, "def f(x): return x", "'f' needs @R.function or @T.prim_func")


def test_the_module_is_untouched_by_an_error() -> None:
    for _ in range(3):
        failure(HEAD + RELAX + "    with R.dataflow():\n        y = R.nope(x)\n    return y\n")
    assert from_source(HEAD + RELAX + "    return x\n").mlir_module.operation.verify()


CALLS = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i]

    @R.function
    def g(x: R.Tensor((8,), "float32")):
        return x

    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), W: T.Buffer((64,), "uint8")):
        cls = Module
"""


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("cls.copi(A, A)", "cls.copi", "undefined function 'cls.copi'; did you mean 'copy'?"),
        ("cls.g(A)", "cls.g(A)", "'g' is a Relax function; a prim func cannot call it"),
        ("cls.f(A, W)", "cls.f(A, W)", "'f' calls itself; a prim func cannot be recursive"),
        ("cls.copy(A)", "cls.copy(A)", "'copy' takes 2 arguments, got 1"),
        ("cls.copy(A, W)", "W", "'copy' needs memref<8xf32>, 'W' is memref<64xi8>"),
        ("cls.copy(A, 3)", "3", "'copy' needs a buffer here"),
        (
            "for i in range(2):\n    cls.copy(A, A)",
            "cls.copy(A, A)",
            "call prim funcs outside loops",
        ),
        (
            "B = T.decl_buffer((4,), data=A.data, elem_offset=99)",
            "T.decl_buffer((4,), data=A.data, elem_offset=99)",
            "'A' has",
        ),
    ],
)
def test_calls_of_prim_funcs(body: str, underlined: str, message: str) -> None:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    check(HEAD + CALLS + lines, underlined, message)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print(A[0])", "T.call_packed calls a registered function, which may print"),
        ("A[0] = foo(A[0])", "T.macro makes another, and T.call_extern calls a function of C"),
        ("for i, j in T.grid(8):\n    A[i] = 0.0", "1 extents need 1 variables, got 2"),
        (
            "for i in range(8):\n    with T.block('b'):\n        v = T.axis.remap('SX', [i])",
            "one letter of S, R, or C for each loop, got 'SX' for 1",
        ),
        ("a, b = 1, 2", "write 'a = x' and 'b = y' for 'a, b = x, y'"),
    ],
)
def test_what_to_do_in_prim_funcs(body, said):
    lines = "\n".join("    " + line for line in body.split("\n"))
    text = f'@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n{lines}\n'
    with pytest.raises(ScriptError) as raised:
        from_source(text)
    assert said in raised.value.message
