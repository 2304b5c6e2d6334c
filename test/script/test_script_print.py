"""Printing gives script that parses back to the same module (issue 2, item 5)."""

# ruff: noqa: E501

import numpy as np
import pytest
from scripts import DOCUMENT, assembly, round_trip

import relax_mlir
from relax_mlir import relax, transform
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source, script, script_with_metadata

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"


@pytest.mark.parametrize("name", DOCUMENT)
def test_document(name: str) -> None:
    printed = round_trip(DOCUMENT[name])
    # What is printed prints as itself.
    assert round_trip(printed) == printed


RELAX = {
    "calls": """
@I.ir_module
class M:
    @R.function(private=True)
    def helper(x: R.Tensor(("n", "k"), "float32"), s: R.Shape(["n"]), v: R.Prim(value="q")):
        R.func_attr({"num_input": 2, "name": "a\\"b", "f": 1.5, "l": [1, 2]})
        return R.sum(x, axis=1)
    @R.function(pure=True)
    def main(x: R.Tensor(("a * 2", "b", "a"), "float32"), t: R.Tuple(R.Tensor((3,), "int64"), R.Object)):
        i = t[0]
        y = R.reshape(x, (-1, a))
        z = R.permute_dims(x, (2, 0, 1))
        return cls.helper(y, R.shape([2 * x.shape[1] * a]), 5)
""",
    "branches": """
@R.function
def main(x: R.Tensor(("a", "b"), "float32"), c: R.Tensor((), "bool")):
    if c:
        with R.dataflow():
            p = R.astype(x, "float16")
            q = R.astype(p, dtype="float32")
            R.output(q)
        w = q
    else:
        if R.const(False):
            w = x + x
        else:
            w = x * 2.0
    if c:
        R.print(w)
    else:
        R.call_packed("effect", w)
    return w
""",
    "tuples": """
@R.function
def main(x: R.Tensor(("n", 10), "float32"), n2: R.Prim("int64")) -> R.Tensor:
    b, c = R.call_dps_packed("two", (x, n2), out_sinfo=[R.Tensor(("n", 2), "float32"), R.Tensor((3,), "int8")])
    u = R.call_packed("g", x, 3, n2, (b, x))
    d: R.Tensor((3,), "int8") = R.call_pure_packed("h", c)
    t = (d, (b, c), u)
    with R.dataflow():
        zz = x
        yy = R.exp(x)
        R.output(zz, yy)
    with R.dataflow():
        pass
    m = R.call_packed("pair", yy, sinfo_args=(R.Tuple(R.Tensor, R.Shape(ndim=2)),))
    R.assert_op(R.const(True))
    return t[1][0]
""",
    "dynamic": """
@R.function
def main(x: R.Tensor, s: R.Shape(ndim=2), o: R.Object) -> R.Tensor(("p", "q")):
    y = R.match_cast(x, R.Tensor((p, q, p * q // 3), "float32"))
    z = R.reshape(y, s)
    w = R.match_cast(s, R.Shape([p, T.ceildiv(q, 2)]))
    v = R.match_cast(o, R.Tensor((p, q)))
    k = R.prim_value(p % 7)
    return v
""",
}


@pytest.mark.parametrize("name", RELAX)
def test_relax(name: str) -> None:
    printed = round_trip(HEAD + RELAX[name])
    assert round_trip(printed) == printed


def test_names_survive() -> None:
    printed = round_trip(HEAD + RELAX["tuples"])
    for name in ("b:", "c:", "u =", "d =", "t =", "zz =", "yy:", "m =", "R.output(zz, yy)"):
        assert f"        {name}" in printed, name


def test_names_are_identifiers_and_unique() -> None:
    text = HEAD + "@R.function\ndef f(x: R.Tensor((3,), 'float32')):\n    x = R.exp(x)\n    x = R.exp(x)\n" \
        "    return x\n"  # fmt: skip
    printed = round_trip(text)
    assert "x1: R.Tensor" in printed
    assert "x2: R.Tensor" in printed


def test_large_constants_travel_beside_the_text() -> None:
    array = np.arange(100, dtype="float32").reshape(10, 10)
    text = HEAD + "@R.function\ndef f(x: R.Tensor((10, 10), 'float32')):\n    return x @ w + w\n"
    module = from_source(text, {"w": array})
    printed, metadata = script_with_metadata(module)
    assert printed == script(module)
    assert 'metadata["relax.expr.Constant"][0]' in printed
    np.testing.assert_array_equal(metadata["relax.expr.Constant"][0], array)
    again = from_source(printed, {"metadata": metadata})
    assert assembly(again) == assembly(module)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [0.1, -0.0, 1e-30, 3.4028235e38, float("inf"), -float("inf")]),
        ("float64", [0.1, 1 / 3, 1e300]),
        ("float16", [0.1, 65504.0]),
        ("bfloat16", [0.1, 1e38]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [0, 2**64 - 1]),
        ("uint8", [0, 255]),
        ("bool", [True, False]),
    ],
)
def test_small_constants_are_exact(dtype: str, values: list[float]) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    text = ", ".join(
        f'float("{v}")' if v in (float("inf"), -float("inf")) else repr(v) for v in values
    )
    printed = round_trip(f'{HEAD}@R.function\ndef f():\n    return R.const([{text}], "{dtype}")\n')
    assert "R.const([" in printed


TIR = {
    "matmul": """
@T.prim_func(private=True)
def f(a: T.handle, b: T.handle, c: T.handle, m: T.int64):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, k, 2 * T.floordiv(m, 2)))
    B = T.match_buffer(b, (k, n), "float32")
    C = T.match_buffer(c, (n, n), "float32")
    for i, j, kk in T.grid(n, n, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, kk])
            T.reads(A[vi, vk, 0])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk, 0] * B[vk, vj]
    for i in T.parallel(n):
        if i < 3 and B[i, 0] > 1.0:
            B[i, 0] = T.if_then_else(i + 1 < n, B[i + 1, 0], 0.0)
        else:
            B[i, 0] += 1.0
""",
    "integers": """
@T.prim_func
def f(A: T.Buffer((16, 16), "int32"), B: T.Buffer[(16, 16), "uint8"], C: T.Buffer((16,), "bool")):
    T.func_attr({"global_symbol": "f", "tir.noalias": True})
    for i in T.serial(2, 16):
        for j in range(i):
            A[i, j] = A[i, j] % 3 + A[j, i] // 2 * T.max(A[0, 0], 7) - T.truncdiv(A[1, 1], 3)
            A[i, j] = A[i, j] // A[j, i] + A[i, j] % A[j, i] - T.truncmod(A[i, j], A[j, i])
            v = A[i, j] + 1
            A[i, j] = v * v - (v - 1) - (1 - v) * -2
            A[A[0, 0], j] = T.cast(i, "int32") + j
    for i in T.vectorized(16):
        B[i, 0] = B[i, 1] // T.uint8(3) + T.cast(A[0, i], "uint8") % B[i, 2]
        C[i] = C[i] and not A[i, 0] < 3 or B[i, 0] >= 200
        A[i, 0] = (A[i, 1] & 7) | (A[i, 2] ^ 1) << 2
        A[i, 3] = A[i, 1] >> A[i, 2] + 1
        B[i, 3] = B[i, 1] >> B[i, 2] << B[i, 3]
        A[i, 1] = T.cast(B[i, i], "int32") + T.cast(C[i], "int32")
""",
    "floats": """
@T.prim_func
def f(D: T.Buffer((), "float16"), E: T.Buffer((16,), "bfloat16"), F: T.Buffer((16,), "float32")):
    S = T.alloc_buffer((16,), "float32")
    for i in T.unroll(16):
        with T.block("S"):
            vi = T.axis.spatial(16, i)
            T.where(vi < 10)
            S[vi] = T.float32(vi) * 0.1 + -S[vi] ** 2.0
            E[vi] = T.cast(T.sigmoid(T.cast(E[vi], "float32")), "bfloat16")
            D[()] = T.float16(1) / T.cast(E[vi], "float16")
    for i in T.parallel(16):
        x = S[i]
        S[i] = 2.0
        S[15 - i] = x - T.Select(x > 1.0, x, 0.5) + T.exp(x) - T.sqrt(T.abs(x))
        if x < 0.0:
            S[0] = T.min_value("float32")
        else:
            S[0] = T.infinity("float32")
        F[i] = T.pow(x, T.erf(x)) - (x - (x - 1.0)) / (x * (x + x))
""",
    "short": """
@T.prim_func
def f(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    with T.grid(n, m) as i, j:
        B[i] = T.max(B[i], A[i, j])
    with T.grid(n) as i:
        with T.block(m) as j:
            A[i, j] = A[i, j] * B[i]
    for i in range(n * m):
        A[i // m, i % m] = 0.0
""",
}


@pytest.mark.parametrize("name", TIR)
def test_tir(name: str) -> None:
    printed = round_trip(HEAD + TIR[name])
    assert round_trip(printed) == printed


def test_a_load_stays_before_the_store_that_changes_it() -> None:
    printed = round_trip(HEAD + TIR["floats"])
    assert printed.index("x = S[i]") < printed.index("S[i] = 2.0")


def test_casts_are_spelled_as_tvm_does() -> None:
    printed = round_trip(
        HEAD
        + """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")):
    for k in range(16):
        A[k] = T.Cast("float32", k) + T.Cast("float32", B[k])
        wide = T.Cast("int64", k)
        A[15 - k] = T.Cast("float32", wide) * T.Cast("float32", wide)
        B[k] = T.Cast("int32", A[k])
"""
    )
    assert 'A[k] = T.Cast("float32", k) + T.Cast("float32", B[k])' in printed
    assert 'wide = T.Cast("int64", k)' in printed
    assert 'A[15 - k] = T.Cast("float32", wide) * T.Cast("float32", wide)' in printed
    assert "T.cast(" not in printed


def test_variables_of_prim_funcs_survive() -> None:
    printed = round_trip(
        HEAD
        + """
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for k in range(16):
        half = A[k] / 2.0
        rest = A[15 - k] - half
        A[k] = rest * rest
        A[15 - k] = half
"""
    )
    assert "half = A[k] / 2.0\n" in printed
    assert "rest = A[15 - k] - half\n" in printed


PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            gv = R.nn.softmax(lv2, axis=-1)
            R.output(gv)
        return gv
"""


def compute(module: relax_mlir.IRModule, *args: np.ndarray) -> np.ndarray:
    return relax.VirtualMachine(relax.build(module))["main"](*args)


@pytest.mark.parametrize("outlined", [False, True])
def test_what_passes_make_is_readable_and_reads_back(outlined: bool) -> None:
    passes = [transform.LegalizeOps(), transform.FuseKernels()]
    if outlined:
        passes.append(transform.OutlineNative())
    module = transform.Sequential(passes)(from_source(HEAD + PROGRAM))
    printed = script(module)
    assert "# mlir:" not in printed
    assert "unknown" not in printed
    assert "between1[v0, v1] = between0[v0, v1] + arg2[v1]\n" in printed
    assert "out[v0, v1] = T.max(between1[v0, v1], 0.0)\n" in printed
    if outlined:
        assert "        cls = Module\n        view = T.decl_buffer((n, 4), " in printed
        assert "        cls.matmul_add_relu(arg0, arg1, arg2, view)\n" in printed
    again = from_source(printed)
    assert script(again) == printed
    args = [
        np.random.default_rng(i).random(s, "float32") for i, s in enumerate(((5, 8), (8, 4), 4))
    ]
    np.testing.assert_allclose(compute(again, *args), compute(module, *args), rtol=1e-5)


def test_what_script_cannot_say_is_not_dropped() -> None:
    module = from_source(HEAD + PROGRAM)
    module.update(relax_mlir.IRModule.parse("func.func private @g(i64)"))
    printed = script(module)
    assert "    # mlir: func.func private @g(i64)\n" in printed
    with pytest.raises(ScriptError, match="script has no words for this operation"):
        from_source(printed)


def test_show_prints_script(capsys: pytest.CaptureFixture[str]) -> None:
    module = from_source(HEAD + PROGRAM)
    module.show()
    assert capsys.readouterr().out.strip() == module.script().strip()
