"""What prim funcs can say in script: compiled together, run, printed and read back."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pytest

from relax_mlir import ir, relax, transform
from relax_mlir.errors import ScriptError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source, script

HEAD = "from relax_mlir.script import relax as R, tir as T\n"


def each(expression: str) -> str:
    return f"""
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = {expression}
"""


def unary(name: str, reference, dtype: str = "float32") -> tuple:
    return (each(f"T.{name}(A[vi])"), reference, dtype)


CASES = {
    **{
        name: unary(name, reference)
        for name, reference in {
            "exp": np.exp, "exp2": np.exp2, "exp10": lambda a: 10**a, "log": np.log,
            "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh,
            "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a),
            "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
            "nearbyint": np.round, "fabs": np.abs, "erf": np.vectorize(math.erf),
            "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
        }.items()
    },
    "isnan": (each("T.if_then_else(T.isnan(A[vi]), T.float32(1), T.float32(0))"), np.zeros_like),
    "isinf": (each("T.if_then_else(T.isinf(A[vi]), T.float32(1), T.float32(0))"), np.zeros_like),
    "isfinite": (each("T.Select(T.isfinite(A[vi]), A[vi], T.float32(0))"), lambda a: a),
    "fmod": (each("T.fmod(A[vi], T.float32(3.0))"), lambda a: np.fmod(a, 3)),
    "pow": (each("T.pow(A[vi], 2)"), lambda a: a**2),
    "whole_pow": (each("T.pow(A[vi], 5)"), lambda a: a**5, "int32"),
    "hypot": (each("T.hypot(A[vi] * T.float32(1e30), A[vi])"), lambda a: np.hypot(a * 1e30, a)),
    "atan2": (each("T.atan2(A[vi], T.float32(2))"), lambda a: np.arctan2(a, 2)),
    "copysign": (each("T.copysign(A[vi], T.float32(-1))"), lambda a: -np.abs(a)),
    "ldexp": (each("T.ldexp(A[vi] * T.float32(1e-30), 170)"),
              lambda a: np.ldexp(a * np.float32(1e-30), 170)),
    "fma": (each("T.fma(A[vi], A[vi], A[vi])"), lambda a: a * a + a),
    "clz": (each("T.clz(A[vi])"), lambda a: np.array([32 - int(x).bit_length() for x in a]),
            "int32"),
    "ctz": (each("T.ctz(A[vi])"), lambda a: np.array([(int(x) & -int(x)).bit_length() - 1
                                                      for x in a]), "int32"),
    "popcount": (each("T.popcount(A[vi])"), lambda a: np.array([bin(x).count("1") for x in a]),
                 "uint8"),
    "invert": (each("~A[vi]"), lambda a: ~a, "int32"),
    "invert_unsigned": (each("T.bitwise_not(A[vi])"), lambda a: ~a, "uint8"),
    "invert_bool": (each("~A[vi]"), lambda a: ~a, "bool"),
    "reinterpret": (each("T.reinterpret('float32', T.reinterpret('int32', A[vi]) + 1)"),
                    lambda a: (a.view("int32") + 1).view("float32")),
    "dtype_of_a_buffer": (each("T.Cast(A.dtype, vi)"), lambda a: np.arange(8)),
    "while_": ("""
c = T.alloc_buffer((1,), "int32")
for i in range(8):
    c[0] = 0
    B[i] = A[i]
    while c[0] < i and B[i] < T.float32(50):
        B[i] = B[i] * T.float32(2)
        c[0] = c[0] + 1
""", lambda a: np.array([1, 4, 12, 32, 80, 96, 56, 64])),
    "threads": ("""
for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(0, 4, thread="threadIdx.x"):
        B[bx * 4 + tx] = A[bx * 4 + tx]
""", lambda a: a),
    "let_statement": ("""
for i in range(8):
    with T.LetStmt(A[i] * T.float32(2)) as x:
        B[i] = x
""", lambda a: 2 * a),
    "let_expression": ("""
for i in range(8):
    x = T.float32()
    B[i] = T.Let(x + x, where={x: A[i]})
""", lambda a: 2 * a),
    "annotated": ("for i in range(8):\n    x: T.let = A[i]\n    B[i] = x", lambda a: a),
    "allocate": ("""
W = T.allocate([8], "float32", "global")
V = T.decl_buffer((2, 4), "float32", data=W)
for i, j in T.grid(2, 4):
    V[i, j] = A[i * 4 + j]
for i, j in T.grid(2, 4):
    B[i * 4 + j] = V[i, j]
""", lambda a: a),
    "with_allocate": ("""
with T.allocate([8], "float32", "global") as W:
    V = T.Buffer((8,), "float32", data=W)
    for i in range(8):
        V[i] = A[i]
    for i in range(8):
        B[i] = V[7 - i]
""", lambda a: a[::-1]),
    "declared": ("""
W = T.decl_buffer((8,), "float32", scope="shared")
for i in range(8):
    W[i] = A[i]
for i in range(8):
    B[i] = W[i]
""", lambda a: a),
    "other_shape": ("""
V = T.decl_buffer((2, 4), "float32", data=A.data)
for i, j in T.grid(4, 2):
    B[i * 2 + j] = V[j, i]
""", lambda a: a.reshape(2, 4).T.ravel()),
    "region": ("""
for i in range(2):
    with T.block("b"):
        vi = T.axis.spatial(2, i)
        S = T.match_buffer(A[vi * 4 : vi * 4 + 4], (4,), "float32")
        D = T.match_buffer(B[vi * 4 : vi * 4 + 4], (4,), "float32")
        for j in range(4):
            D[j] = S[3 - j]
""", lambda a: a.reshape(2, 4)[:, ::-1].ravel()),
    "axis_that_begins_later": ("""
B[0] = A[0]
B[1] = A[1]
for i in range(6):
    with T.block("b"):
        vi = T.axis.spatial((2, 8), i + 2)
        B[vi] = A[vi] + A[vi - 2]
""", lambda a: np.concatenate([a[:2], a[2:] + a[:-2]])),
    "guard": ("""
for i, j in T.grid(3, 3):
    with T.block("b"):
        T.where(i * 3 + j < 8)
        vi = T.axis.spatial(8, i * 3 + j)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi]
""", lambda a: a),
    "kinds": ("""
for i in T.parallel(2):
    for j in T.vectorized(4):
        B[i * 4 + j] = A[i * 4 + j]
for i in T.unroll(2):
    B[i] = A[i] + T.float32(1)
for i in T.serial(4, 8, annotations={"pragma": 1}):
    B[i] = A[i] * T.float32(2)
""", lambda a: np.concatenate([a[:2] + 1, a[2:4], a[4:] * 2])),
    "likely": ("""
for i in range(8):
    if T.likely(i < 4):
        B[i] = A[i]
    else:
        B[i] = T.float32(0)
""", lambda a: np.where(np.arange(8) < 4, a, 0)),
    "wrapping": (each("A[vi] + T.uint8(250)"), lambda a: (a + 250).astype("uint8"), "uint8"),
    "half": (each("A[vi] * T.float16(2)"), lambda a: a * 2, "float16"),
}  # fmt: skip


def source(name: str, body: str, dtype: str = "float32") -> str:
    buffers = f'A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}")'
    text = textwrap.indent(body.strip("\n"), "    ")
    return f"@T.prim_func\ndef {name}({buffers}):\n{text}\n"


def dtype_of(case: tuple) -> str:
    return case[2] if len(case) > 2 else "float32"


@pytest.fixture(scope="module")
def module() -> IRModule:
    parts = [HEAD]
    for name, case in CASES.items():
        parts.append(source(f"f_{name}", case[0], dtype_of(case)))
    return from_source("\n".join(parts))


@pytest.fixture(scope="module")
def machine(module: IRModule) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(module))


@pytest.mark.parametrize("name", CASES)
def test_results(machine: relax.VirtualMachine, name: str) -> None:
    reference, dtype = CASES[name][1], dtype_of(CASES[name])
    a = (np.arange(8) % 2 == 0) if dtype == "bool" else np.arange(1, 9).astype(dtype)
    b = np.zeros(8, dtype)
    machine[f"f_{name}"](a, b)
    np.testing.assert_allclose(b, np.asarray(reference(a)).astype(dtype), rtol=1e-5)


def test_printed_prim_funcs_read_back(module: IRModule) -> None:
    text = script(module)
    back = from_source(text)
    ir.assert_structural_equal(module, back)
    assert script(back) == text


def test_layouts_that_are_what_they_would_be_anyway() -> None:
    text = (
        HEAD
        + """
@T.prim_func
def f(a: T.handle, B: T.Buffer((8, 2), "float32", strides=[2, 1], elem_offset=0, align=64)):
    s = T.int64()
    A = T.match_buffer(a, (8,), "float32", strides=(s,), elem_offset=s, scope="global")
    for i in range(8):
        B[i, 0] = A[i]
"""
    )
    from_source(text)


UNSUPPORTED = [
    ("B[0] = T.call_extern('float32', 'my kernel', A[0])", "'my kernel'",
     "'my kernel' is no name of a C function"),
    ("B[0] = T.call_extern('float31', 'f', A[0])", "'float31'", "unknown dtype"),
    ("B[0] = T.call_extern('handle', 'f', A[0])",
     "'handle'", "a C function that returns an address"),
    ("B[0] = T.call_extern('float32', 'f', A)", "A", "pass the address of a buffer, 'A.data'"),
    ("B[0] = T.call_extern('float32')",
     "T.call_extern('float32')", "T.call_extern takes the dtype"),
    ("T.call_extern('void', 'f', T.address_of(A))", "A", "T.address_of takes an element"),
    ("B[0] = T.call_extern('float32', 'expf', A[0], A[1])", "T.call_extern",
     "expf takes 1 argument, got 2"),
    ("B[0] = T.ramp(0, 1, 4)", "T.ramp(0, 1, 4)", "T.ramp makes a vector: store it"),
    ("B[0:4] = A[T.ramp(0, 1, 3)]", "A[T.ramp(0, 1, 3)]", "4 lanes are stored, this has 3"),
    ("B[0:4] = A[0:4] + A[0:3]", "A[0:4] + A[0:3]", "4 lanes meet 3"),
    ("B[0:4] = T.Shuffle([A[0:2]], [0, 1, 2, 0])",
     "T.Shuffle([A[0:2]], [0, 1, 2, 0])", "lane 2 of"),
    ("B[0:2000] = A[0]", "0:2000", "the lanes of a vector are a constant from 1 to 1024"),
    ("B[T.ramp(0, 1, T.vscale())] = A[0]", "T.ramp(0, 1, T.vscale())", "the lanes of a vector"),
    ("B[0] = T.nextafter(T.int32(1), 2)", "T.nextafter(T.int32(1), 2)", "T.nextafter needs floats"),
    ("B[0] = T.Cast('float32', T.q_multiply_shift(T.int32(1), 2, 80, 0))",
     "T.q_multiply_shift(T.int32(1), 2, 80, 0)", "T.q_multiply_shift shifts by 80"),
    ("T.tvm_storage_sync('shared')", "T.tvm_storage_sync", "T.tvm_storage_sync is for threads"),
    ("T.ret(A[0])", "A[0]", "say what the function returns"),
    ("with T.attr(0, 'device_scope', 0):\n    pass", "'device_scope'", "attribute 'device_scope'"),
    ("with T.If(A[0] > T.float32(0)):\n    B[0] = A[0]", "B[0] = A[0]", "T.If holds one"),
    ("with T.launch_thread('threadIdx.x', 4):\n    pass", "T.launch_thread('threadIdx.x', 4)",
     "T.launch_thread takes a thread"),
    ("W = T.allocate_const([1, 2], 'int32', [3])", "[3]", "2 numbers do not have this shape"),
    ("for i in T.serial(8, annotations=[1]):\n    pass", "[1]", "annotations are a dictionary"),
    ("for i in T.serial(8, annotations={'a': None}):\n    pass",
     "None", "an annotation is a number"),
    ("for i in T.serial(8, annotation={}):\n    pass", "annotation={}", "T.serial has no argument"),
    ("T.reads(A[0:2])", "T.reads(A[0:2])", "T.reads belongs inside a block"),
    ("with T.block('b'):\n    T.reads(A[0:4:2])", "2", "a region has no step"),
    ("with T.block('b'):\n    T.reads(A[0, 1:2])", "A[0, 1:2]", "'A' has 1 dimensions, got 2"),
    ("with T.block('b'):\n    T.where(A[0])", "A[0]", "the condition must be a bool"),
    ("V = T.decl_buffer((2, 2), 'float32', data=A.data, strides=(7, 1))",
     "T.decl_buffer((2, 2), 'float32', data=A.data, strides=(7, 1))",
     "'A' has 8 elements, this view needs 9"),
    ("V = T.decl_buffer((4,), 'float32', data=A.data, elem_offset=5)",
     "T.decl_buffer((4,), 'float32', data=A.data, elem_offset=5)",
     "'A' has 8 elements, this view needs 9"),
    ("with T.Assert(A[0] > 0, 3):\n    pass", "3", "the message of an assertion must be a string"),
    ("while True:\n    pass", "True", "this loop never ends"),
    ("while A[0] > 0:\n    pass\nelse:\n    pass", "pass", "'while' has no 'else' here"),
    ("while A[0]:\n    pass", "A[0]", "the condition must be a bool, got float32"),
    ("for i in T.thread_binding(8):\n    pass", "T.thread_binding(8)", "T.thread_binding needs"),
    ("V = T.decl_buffer((3, 3), 'float32', data=A.data)",
     "T.decl_buffer((3, 3), 'float32', data=A.data)", "'A' has 8 elements, this shape 9"),
    ("V = T.decl_buffer((8,), 'int32', data=A.data)",
     "T.decl_buffer((8,), 'int32', data=A.data)", "'A' holds float32, not int32"),
    ("V = T.decl_buffer((8,), 'float32', data=A)", "A", "data= is the data of another buffer"),
    ("T.evaluate(0)\nS = T.match_buffer(A, (8,))", "T.match_buffer(A, (8,))",
     "inside a function, T.match_buffer"),
    ("S = T.match_buffer(A[0:4:2], (2,))", "2", "a region has no step"),
    ("S = T.match_buffer(A[0:4], (2, 2))", "T.match_buffer(A[0:4], (2, 2))", "the region has 1"),
    ("B[0] = ~A[0]", "~A[0]", "'~' needs an integer or a bool, got float32"),
    ("B[0] = T.clz(A[0])", "T.clz(A[0])", "'clz' needs an integer operand, got float32"),
    ("B[0] = T.isnan(T.int32(1))", "T.isnan(T.int32(1))", "T.isnan needs a float, got int32"),
    ("B[0] = T.reinterpret('int8', A[0])", "T.reinterpret('int8', A[0])", "the bits of float32"),
    ("T.pow(T.int32(2), -1)", "T.pow(T.int32(2), -1)", "this statement has no effect"),
    ("B[0] = T.Let(A[0])", "T.Let(A[0])", "T.Let takes an expression and where="),
    ("with T.block('b'):\n    v = T.axis.spatial((1, 2, 3), 0)\n    B[v] = A[v]", "(1, 2, 3)",
     "the domain of an iterator is (first, end)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "underlined", "message"), UNSUPPORTED)
def test_refused(body: str, underlined: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(HEAD + source("f", body))
    error = caught.value
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


@pytest.mark.parametrize(
    ("argument", "underlined", "message"),
    [
        ("strides=[2, 1]", "[2, 1]", "1 dimensions need 1 strides"),
        ("strides=2", "2", "strides are a list, one for each dimension"),
        ("align='64'", "'64'", "'align' must be an integer"),
        ("scope=1", "1", "'scope' must be a string"),
        ("axis_separators=[2]", "[2]", "axis_separators are increasing positions"),
        ("stride=[1]", "[1]", "a buffer has no argument 'stride'; did you mean 'strides'?"),
        ("elem_offset=4", "4", "buffers begin at the first element here"),
    ],
)
def test_refused_layouts(argument: str, underlined: str, message: str) -> None:
    text = f'{HEAD}@T.prim_func\ndef f(A: T.Buffer((8,), "float32", {argument})):\n    pass\n'
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    error = caught.value
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined
    assert error.message[: len(message)] == message


def test_maxima_of_sizes_stay_sizes() -> None:
    text = (
        HEAD
        + """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (T.max(n - 1, 3),), "float32")
    for i in range(T.max(n - 1, 3)):
        B[i] = A[T.min(i, 0)]
"""
    )
    module = from_source(text)
    assert "arith.index_cast" not in str(module)
    assert script(from_source(script(module))) == script(module)


def test_regions_of_sizes_that_are_maxima_read_back() -> None:
    module = from_source(
        HEAD
        + """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (4, T.max(n, 3)), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(4):
        with T.block("rows"):
            vi = T.axis.spatial(4, i)
            T.writes(A[vi, 0 : T.max(n, 3)])
            for j in range(T.max(n, 3)):
                with T.block("A"):
                    vj = T.axis.spatial(T.max(n, 3), j)
                    A[vi, vj] = 1.0
"""
    )
    assert "T.writes(A[vi, 0:T.max(3, n)])" in module.script()
    ir.assert_structural_equal(from_source(module.script()), module)


def test_legalized_programs_read_back() -> None:
    body = "; ".join(
        f"v{i} = {call}"
        for i, call in enumerate((
            "R.matmul(x, w)", "R.sum(x, axis=1)", "R.max(x, axis=0)", "R.nn.softmax(x)",
            "R.nn.conv2d(im, kr)", "R.strided_slice(x, [0], [1], [3])", "R.flatten(x)",
        ))
    )  # fmt: skip
    module = from_source(
        f"""{HEAD}
@R.function
def f(
    x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"),
    im: R.Tensor(("m", 3, 8, 8), "float32"), kr: R.Tensor((2, 3, 3, 3), "float32"),
):
    {body}
    return (v0, v1, v2, v3, v4, v5, v6)
"""
    )
    module = transform.LegalizeOps()(module)
    text = script(module)
    back = from_source(text)
    ir.assert_structural_equal(module, back)
    assert script(back) == text


@pytest.mark.parametrize(("dtype", "suffix"), [("float32", "f"), ("float64", "")])
def test_functions_of_c(dtype, suffix) -> None:
    module = from_source(
        HEAD
        + f"""
@T.prim_func
def f(A: T.Buffer((5,), "{dtype}"), B: T.Buffer((5,), "{dtype}")):
    for i in range(5):
        B[i] = T.call_extern("{dtype}", "exp{suffix}", A[i]) + T.call_pure_extern(
            "{dtype}", "pow{suffix}", A[i], 2.0) + T.call_extern("{dtype}", "fabs{suffix}", -A[i])
@R.function
def main(x: R.Tensor((5,), "{dtype}")):
    return R.call_tir(f, (x,), R.Tensor((5,), "{dtype}"))
"""
    )
    x = np.linspace(0.5, 2, 5).astype(dtype)
    result = relax.VirtualMachine(relax.build(module))["main"](x)
    np.testing.assert_allclose(result, np.exp(x) + x**2 + x, rtol=1e-6)


@pytest.mark.parametrize(
    "symbols",
    [
        "n, m = T.int64(), T.int64()",
        "(n, m) = (T.int64(), T.int64())",
        "[n, m] = [T.int64(), T.int64()]",
        'n, m = T.var("n"), T.int64("m")',
    ],
)
def test_symbols_of_a_tuple(symbols: str) -> None:
    source = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def turn(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (m, n), "float32")
        for i, j in T.grid(n, m):
            B[j, i] = A[i, j]

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        y = R.call_tir(Module.turn, (x,), out_sinfo=R.Tensor((m, n), "float32"))
        return y
"""
    written = source.replace("n = T.int64()\n        m = T.int64()", symbols)
    assert written != source
    assert ir.structural_equal(from_source(written), from_source(source))
