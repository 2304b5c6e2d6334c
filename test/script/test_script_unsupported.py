"""Scripts that once crashed, gave a foreign exception or silently meant something else."""

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
RELAX = HEAD + '@R.function\ndef f(x: R.Tensor(("n", 2), "float32")):\n'
TIR = HEAD + (
    "@T.prim_func\n"
    'def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32"), C: T.Buffer(("m",), "int8")):'
    "\n"
)


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def signature(params: str) -> str:
    return f"{HEAD}@R.function\ndef f({params}):\n    return x\n"


def check(text: str, underlined: str, message: str, **variables: Any) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source(text, variables, filename="bad.py")
    error = caught.value
    assert error.message[: len(message)] == message
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert "\n" not in error.message
    return error


@pytest.mark.parametrize(
    ("body", "index", "message"),
    [
        ("A[-1] = T.float32(0)", "-1", "index -1 is outside the buffer: indices do not count"),
        ("A[4] = T.float32(0)", "4", "index 4 is outside a dimension of 4"),
        ("A[0] = A[7]", "7", "index 7 is outside a dimension of 4"),
        ("B[4] += 1", "4", "index 4 is outside a dimension of 4"),
        ("A[T.int64(9)] = A[0]", "T.int64(9)", "index 9 is outside a dimension of 4"),
        ("A[2 + 3] = A[0]", "2 + 3", "index 5 is outside a dimension of 4"),
        ("C[m] = T.int8(0)", "m", "index m is outside a dimension of m"),
        ("C[m + 1] = T.int8(0)", "m + 1", "index m + 1 is outside a dimension of m"),
    ],
)
def test_indices_outside_a_buffer(body: str, index: str, message: str) -> None:
    check(TIR + indented(body), index, message)


@pytest.mark.parametrize(
    "body",
    [
        "A[0] = T.if_then_else(4 < 4, A[4], A[0])",
        "if 0 > 0:\n    A[0 - 1] = A[0]",
        "Z = T.alloc_buffer((0, 4))\nfor i in range(0):\n    Z[0, i] = A[i]",
    ],
)
def test_indices_that_are_never_used(body: str) -> None:
    module = from_source(TIR + indented(body))
    assert_structural_equal(from_source(module.script()), module)


@pytest.mark.parametrize(
    ("body", "index", "range_"),
    [
        ("for i in range(5):\n    A[i] = A[0]", "i", "0 to 4"),
        ("for i in range(4):\n    A[0] = A[i - 1]", "i - 1", "-1 to 2"),
        ("for i, j in T.grid(2, 3):\n    A[i * 2 + j] = A[0]", "i * 2 + j", "0 to 4"),
        ("for i in T.parallel(9):\n    A[i // 2] = A[0]", "i // 2", "0 to 4"),
        ("for i in range(T.int32(5)):\n    A[T.int64(i)] = A[0]", "T.int64(i)", "0 to 4"),
        ("for i in range(m + 1):\n    C[i] = T.int8(0)", "i", "0 to m"),
        ("for i in range(4):\n    A[i] = T.Select(i > 0, A[i - 1], A[i])", "i - 1", "-1 to 2"),
        ("for i in range(5):\n    with T.block('b'):\n        v = T.axis.S(5, i)\n"
         "        A[v] = A[0]", "v", "0 to 4"),
        ("for i, k in T.grid(5, 4):\n    with T.block('b'):\n"
         "        v, r = T.axis.remap('SR', [i, k])\n        with T.init():\n"
         "            A[v] = T.float32(0)\n        A[v] = A[v] + A[r]", "v", "0 to 4"),
    ],
)  # fmt: skip
def test_indices_that_loops_take_outside(body: str, index: str, range_: str) -> None:
    check(TIR + indented(body), index, f"this index goes from {range_}, outside a dimension of ")


@pytest.mark.parametrize("name", ["threadIdx.q", "threadldx.x", ""])
def test_threads_that_there_are_not(name: str) -> None:
    loop = f"for i in T.thread_binding(4, thread='{name}'):\n    A[i] = A[0]"
    check(TIR + indented(loop), f"'{name}'", f"'{name}' is no thread; ")
    launched = f"with T.launch_thread('{name}', 4) as i:\n    A[i] = A[0]"
    check(TIR + indented(launched), f"'{name}'", f"'{name}' is no thread; ")


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(9):\n    if i < 4:\n        A[i] = A[0]",
        "for i in range(4):\n    A[i] = T.if_then_else(i > 0, A[i - 1], A[i])",
        "for i in range(9):\n    if i == 4:\n        break\n    A[i] = A[0]",
        "for i in range(9):\n    T.Assert(i < 4, 'i')\n    A[i] = A[0]",
        "for i in range(9):\n    A[i % 4] = A[i // 4 - i // 4]",
        "for i in range(0):\n    A[i + 9] = A[0]",
        "for i in range(m):\n    A[i + 9] = A[0]",
        "for i in range(B[0]):\n    A[i + 9] = A[0]",
        "while B[0] > 0:\n    for i in range(9):\n        A[i] = A[0]",
        "for i in range(9):\n    with T.block('b'):\n        T.where(i < 4)\n"
        "        v = T.axis.S(9, i)\n        A[v] = A[v]",
        "for i, j in T.grid(2, 3):\n    with T.block('b'):\n"
        "        v = T.axis.S(4, i * 3 + j)\n        A[v] = A[v]",
    ],
)
def test_indices_that_may_stay_inside(body: str) -> None:
    from_source(TIR + indented(body))


def test_indices_that_may_be_inside_stay() -> None:
    body = "A[3] = A[0]\nC[m - 1] = T.int8(0)\nC[7] = T.int8(0)\nA[B[0]] = A[B[1]]"
    from_source(TIR + indented(body))


def test_buffers_of_an_outer_scope_do_not_change() -> None:
    body = "x = A[0]\nfor i in range(4):\n    x = T.alloc_buffer((1,), 'float32')"
    check(TIR + indented(body), "x", "'x' of the outer scope cannot change here; use a buffer of")


def test_scalars_change_in_their_own_scope() -> None:
    body = """x = A[0]
x = x + x
A[0] = x
for i in range(1, 4):
    y = A[i]
    y = y + x
    A[i] = y
for i in range(4):
    y = A[i] * A[i]
    A[i] = y"""
    module = from_source(TIR + indented(body))
    assert script(from_source(script(module))) == script(module)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            "y = x\nwith R.dataflow():\n    y = R.exp(y)\n    z = y\n    R.output(z)\nreturn y",
            "dataflow block",
        ),
        (
            "y = x\nif c:\n    with R.dataflow():\n        y = R.exp(y)\n        z = y\n"
            "        R.output(z)\n    w = z\nelse:\n    w = x\nreturn y",
            "branch",
        ),
    ],
)
def test_variables_that_a_block_binds_again(body: str, kind: str) -> None:
    text = f'{HEAD}@R.function\ndef f(x: R.Tensor, c: R.Tensor((), "bool")):\n{indented(body)}'
    check(text, "y", f"'y' was bound again in a {kind} that does not give it back")


def test_both_branches_see_the_variable_before_them() -> None:
    body = "y = R.exp(x)\nif c:\n    y = R.exp(y)\nelse:\n    y = R.abs(y)\nreturn y"
    head = '@R.function\ndef f(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):\n'
    vm = relax.VirtualMachine(relax.build(from_source(HEAD + head + indented(body))))
    # e to a power multiplies the power's relative error by the power.
    x = np.array([-1, 0, 0.5], np.float32)
    for condition, wanted in ((True, np.exp(np.exp(x))), (False, np.exp(x))):
        np.testing.assert_allclose(vm["f"](x, np.array(condition)), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        ("T.evaluate()", "T.evaluate()", "T.evaluate takes 1 argument, got 0"),
        ("A[0] = A[1].astype()", "A[1].astype()", "A[1].astype takes 1 argument, got 0"),
        ("A[0] = T.likely()", "T.likely()", "T.likely takes 1 argument, got 0"),
        ('A[0] = T.float32("abc")', '"abc"', "'abc' is not a number"),
        ("B[0] = T.int32(1e400)", "1e400", "inf has no value in int32"),
        ("A[0] = -A", "A", "'A' is a buffer; index it"),
        (f"D = T.alloc_buffer(({10**23},))", str(10**23), "a dimension does not fit 64 bits"),
        (
            f"D = T.alloc_buffer(({2**62}, 4), 'float32')",
            f"T.alloc_buffer(({2**62}, 4), 'float32')",
            f"a tensor of {2**66} bytes",
        ),
        (f"B[0] = {'-' * 700}B[0]", f"B[0] = {'-' * 700}B[0]", "this is nested too deeply"),
        (f"A[0] = {10**400}", str(10**400), "the integer is too large for float32"),
        ('with T.block("b"):\n    T.where()\n    A[0] = A[1]', "T.where()", "T.where takes 1 arg"),
        (
            'with T.block("b"):\n    T.where(B[0] > 0)\n    T.where(B[0] < 9)\n    A[0] = A[1]',
            "T.where(B[0] < 9)", "a block has one T.where",
        ),
        ("D = T.match_buffer()", "T.match_buffer()", "T.match_buffer needs a handle"),
    ],
)  # fmt: skip
def test_tir(body: str, underlined: str, message: str) -> None:
    check(TIR + indented(body), underlined, message)


SUM = "+".join(["x"] * 800)
BIG = f"n * {2**63 - 1} * {2**63 - 1}"


@pytest.mark.parametrize(
    ("body", "underlined", "message"),
    [
        (f"return R.reshape(x, ({BIG},))", f"({BIG},)", f"{(2**63 - 1) ** 2} in a shape"),
        (f"return R.prim_value({BIG})", f"R.prim_value({BIG})", f"{(2**63 - 1) ** 2} in a shape"),
        ('return R.sum(x, axis=-"a")', '-"a"', "'-' needs a number, got 'a'"),
        (f"return {SUM}", f"return {SUM}", "this is nested too deeply"),
        (r"return R.call_packed('\udcff', x)", r"'\udcff'", "this string is not valid Unicode"),
        ("return x + float()", "float()", "float takes 1 argument, got 0"),
        ("return R.add(**{'a': 1})", "**{'a': 1}", "write the arguments of R.add one by one"),
        ("return R.const(**{'a': 1})", "**{'a': 1}", "write the arguments of R.const one by one"),
        (f"R.func_attr({{'a': {10**20}}})\nreturn x", str(10**20), "an integer attribute has 64"),
        (
            "if R.const(True):\n    y = R.match_cast(x, R.Tensor((m, 2)))\nelse:\n    y = x\n"
            "return R.prim_value(m)",
            "m", "'m' is local to its branch",
        ),
        (
            "if R.const(True):\n    y = R.match_cast(x, R.Tensor((m, 2)))\nelse:\n    y = x\n"
            "return R.reshape(y, (m, 2))",
            "m", "'m' is local to its branch",
        ),
        (
            "return R.call_tir(R.ExternFunc(), (x,), out_sinfo=R.Tensor((2,)))",
            "R.ExternFunc()", "R.ExternFunc needs argument 'global_symbol'",
        ),
        (
            "return R.call_tir(M.ff, (x,), out_sinfo=R.Tensor((2,)))",
            "M", "undefined variable 'M'",
        ),
    ],
)  # fmt: skip
def test_relax(body: str, underlined: str, message: str) -> None:
    check(RELAX + indented(body), underlined, message)


@pytest.mark.parametrize(
    ("body", "wrong", "dtype"),
    [
        ('return R.const(1.5, "int8")', "1.5", "int8"),
        ('return R.const([1.0, 2.5], "int32")', "2.5", "int32"),
        ('return R.const(0.5, "bool")', "0.5", "bool"),
        ('return R.const(float("nan"), "int64")', "nan", ""),
        ('return R.const(held, "int8")', "300", "int8"),
        ('return R.const(held, "uint8")', "300", "uint8"),
    ],
)
def test_constants_keep_their_value(body: str, wrong: str, dtype: str) -> None:
    call = body.removeprefix("return ")
    held = np.array([1, 300])
    error = check(RELAX + indented(body), call, "not a constant of the Relax language", held=held)
    assert dtype in error.message
    assert wrong in error.message.lower()


def test_constants_that_fit() -> None:
    body = 'return (R.const(2.0, "int8"), R.const(held, "int16"), R.const(1, "bool"))'
    from_source(RELAX + indented(body), {"held": np.array([1, 300])})


def test_numbers_beside_integer_tensors_keep_their_value() -> None:
    text = HEAD + '@R.function\ndef f(x: R.Tensor((2,), "int32")):\n    return x * 1.5\n'
    check(text, "1.5", "not a constant of the Relax language: 1.5 is not a number of dtype int32")


@pytest.mark.parametrize(
    ("params", "underlined", "message"),
    [
        (f"x: R.Tensor(({2**70},))", str(2**70), "a dimension does not fit 64 bits"),
        (f"x: R.Shape(({2**63}, 2))", str(2**63), "a dimension does not fit 64 bits"),
        (
            f"x: R.Tensor(({2**63 - 1}, 2))", f"R.Tensor(({2**63 - 1}, 2))",
            f"a tensor of {2**64 - 2} bytes is more than 64 bits can address",
        ),
        ('x: R.Tensor(R.shape(), "float32")', "R.shape()", "R.shape needs the dimensions"),
        ("x: R.Tensor, x: R.Tensor", "x: R.Tensor", "there is already a parameter 'x'"),
    ],
)  # fmt: skip
def test_signatures(params: str, underlined: str, message: str) -> None:
    check(signature(params), underlined, message)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, -4), "a dimension cannot be negative, got -4"),
        ((3, "n"), "a dimension must be an integer, got 'n'"),
        ((3, 1.5), "a dimension must be an integer, got 1.5"),
        ((True,), "a dimension must be an integer, got True"),
        ((2**70,), "a dimension does not fit 64 bits"),
        (3, "expected a shape"),
    ],
)
def test_captured_shapes(shape: Any, message: str) -> None:
    check(signature('x: R.Tensor(shp, "float32")'), "shp", message, shp=shape)
    check(signature("x: R.Shape(shp)"), "shp", message, shp=shape)
    if shape != 3:
        text = HEAD + '@T.prim_func\ndef f(A: T.Buffer(shp, "float32")):\n    pass\n'
        check(text, "shp", message, shp=shape)


def test_prim_funcs_have_plain_parameters() -> None:
    for params, extra in (("*a", "a"), ("**a", "a"), ("*, a", "a"), ("a, /", "a"), ("a=3", "3")):
        check(f"{HEAD}@T.prim_func\ndef f({params}):\n    pass\n", extra, "a prim func has plain")


def test_prim_funcs_have_no_parameter_twice() -> None:
    text = HEAD + "@T.prim_func\ndef f(a: T.int64, a: T.int64):\n    pass\n"
    check(text, "a: T.int64", "there is already a parameter 'a'")


@pytest.mark.parametrize("expression", ["+".join(["x"] * 5000), "-" * 100_000 + "x"])
def test_text_beyond_python(expression: str) -> None:
    line = f"    return {expression}"
    check(RELAX + line + "\n", line, "this is nested too deeply for Python to parse it")


@pytest.mark.parametrize("text", [None, b"x", 3])
def test_what_is_no_text(text: Any) -> None:
    with pytest.raises(ScriptError, match="expected the text of a script, got a"):
        from_source(text)


def test_what_nobody_foresaw_is_chained(monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_mlir.script.relax_parser import expr as relax_expr
    from relax_mlir.script.tir_parser.expr import parser as tir_expr

    def fail(*args: Any) -> None:
        raise KeyError("odd")

    monkeypatch.setattr(relax_expr.ExprParser, "_binop", fail)
    monkeypatch.setattr(tir_expr.TirExprParser, "_binop", fail)
    error = check(RELAX + "    return x + x\n", "return x + x", "this cannot be read: KeyError")
    assert isinstance(error.__cause__, KeyError)
    error = check(RELAX + "    y = x + x\n    return y\n", "y = x + x", "this cannot be read")
    assert isinstance(error.__cause__, KeyError)
    error = check(TIR + "    A[0] = A[1] + A[2]\n", "A[0] = A[1] + A[2]", "this cannot be read")
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize(
    ("decorate", "message"),
    [
        (lambda: R.function(3), "only a function can be a script function, this is a int"),
        (lambda: R.function(len), "only a function can be a script function, this is a builtin"),
        (lambda: T.prim_func(private=True)(None), "only a function can be a script function"),
        (lambda: R.function(lambda x: x), "a lambda cannot be a script function"),
        (lambda: I.ir_module(3), "I.ir_module takes a class, this is a int"),
        (lambda: I.ir_module(check), "I.ir_module takes a class; 'check' alone is a module"),
    ],
)
def test_decorators_of_other_things(decorate: Callable[[], Any], message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        decorate()
    error = caught.value
    assert error.message.startswith(message)
    assert error.filename == __file__
    assert error.source_line == linecache.getline(__file__, error.lineno).rstrip()


def test_symbols_declared_last_in_a_branch() -> None:
    body = "if R.const(True):\n    R.print(x)\n    k = T.int64()\nelse:\n    R.print(x)\nreturn x"
    from_source(RELAX + indented(body))


CALL = """@I.ir_module
class M:
    @T.prim_func
    def g(A: T.Buffer((m, 2), "float32"), B: T.Buffer((m,), "int32")):
        B[0] = 0
    @R.function
    def main(x: R.Tensor({}), s: R.Tensor(("n",), "int32")):
        return R.call_tir({}, (x,), out_sinfo=R.Tensor({}))
"""


@pytest.mark.parametrize(
    ("argument", "result", "message"),
    [
        ('("n", 2), "float16"', '(n,), "int32"', "buffer 0 of 'g', 'A', is R.Tensor((m, 2)"),
        ('("n", 3), "float32"', '(n,), "int32"', "buffer 0 of 'g', 'A', is R.Tensor((m, 2)"),
        ('("n", 2, 1), "float32"', '(n,), "int32"', "buffer 0 of 'g', 'A', is R.Tensor((m, 2)"),
        ('("n", 2), "float32"', '(n,), "float32"', "buffer 1 of 'g', 'B', is R.Tensor((m,)"),
        ('("n", 2), "float32"', '(n, 1), "int32"', "buffer 1 of 'g', 'B', is R.Tensor((m,)"),
    ],
)
def test_calls_of_prim_funcs_fit(argument: str, result: str, message: str) -> None:
    call = f"R.call_tir(cls.g, (x,), out_sinfo=R.Tensor({result}))"
    check(HEAD + CALL.format(argument, "cls.g", result), call, message)


def test_calls_of_prim_funcs_that_may_fit() -> None:
    for argument in ('("n", 2), "float32"', 'dtype="float32"', '("n", "k"), "float32"', "ndim=2"):
        from_source(HEAD + CALL.format(argument, "cls.g", '(n,), "int32"'))
    text = HEAD + CALL.format('("n", 2), "float32"', "M.ff", '(n,), "int32"')
    check(text, "M.ff", "undefined function 'M.ff'")


def test_conditions_and_regions_before_the_axes() -> None:
    before = """for i in range(5):
    with T.block("b"):
        T.where(i < 4)
        T.reads(A[i])
        T.writes(A[i])
        v = T.axis.spatial(5, i)
        A[v] = A[v] + A[v]"""
    lines = before.splitlines()
    after = "\n".join([*lines[:2], lines[5], *lines[2:5], lines[6]])
    found = [script(from_source(TIR + indented(body))) for body in (before, after)]
    assert found[0] == found[1]
    assert "T.where(i < 4)" in found[0]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint8"])
@pytest.mark.parametrize(
    "body",
    [
        "for i in range(16):\n    B[i] = A[i] << i",
        "for i in range(16):\n    B[i] = A[i] >> i",
        "for i in range(16):\n    B[i] = (A[i] << i) >> A[i]",
        "for i in range(16):\n    B[i] = T.Cast(DTYPE, i) >> T.Cast(DTYPE, i)",
        "for i in range(3):\n    for j in range(A[i]):\n        B[j] = A[i]",
        "for j in range(A[0], A[1]):\n    B[j] = A[j]",
        "for i in range(3):\n    with T.block('b'):\n        v = T.axis.spatial(A[i], i)\n"
        "        B[v] = A[v]",
        "with T.grid(A[0], A[1]) as i, j:\n    B[i] = A[j]",
    ],
)
def test_printing_shifts_and_extents(dtype: str, body: str) -> None:
    params = f"A: T.Buffer((16,), '{dtype}'), B: T.Buffer((16,), '{dtype}')"
    body = body.replace("DTYPE", f"'{dtype}'")
    printed = script(from_source(f"{HEAD}@T.prim_func\ndef f({params}):\n{indented(body)}"))
    assert '"index"' not in printed
    assert script(from_source(printed)) == printed


def test_printing_keeps_names() -> None:
    text = HEAD + "@T.prim_func\ndef f(I: T.Buffer((4,), 'int8'), Ä: T.Buffer((4,), 'int8')):\n"
    printed = script(from_source(text + "    for λ in range(4):\n        I[λ] = Ä[λ]\n"))
    assert "I[λ] = Ä[λ]" in printed
    assert script(relax_mlir.script.from_source(printed)) == printed


def test_a_symbol_without_a_name() -> None:
    text = HEAD + "@T.prim_func\ndef f(a: T.handle):\n"
    body = "A = T.match_buffer(a, (4, T.int64()), 'float32')\nA[0, 0] = T.float32(1)"
    check(text + indented(body), "T.int64()", "give the symbol a name first, as in n = T.int64()")
