"""Prim funcs over memrefs to native code: numbers, vectors, programs that are refused."""

import math

import numpy as np
import pytest
import tvm_ffi
from codegen_text import buffer, compile_text, elementwise, load, unary
from targets import AVX2, AVX512

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import CompileError, PassError
from relax_mlir.lowering.codegen.llvm import emit
from relax_mlir.lowering.codegen.llvm.masked_stores import may_store_single, store_single
from relax_mlir.lowering.codegen.native import compile_module
from relax_mlir.lowering.target.target import Target

SIZES = (0, 1, 7, 16, 31, 64, 127, 1021, 4096 + 3)


FLOATS = {"f16": "float16", "f32": "float32", "f64": "float64"}
INTEGERS = {f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}


@pytest.fixture(scope="module")
def additions() -> dict[str, tvm_ffi.Function]:
    text = ""
    for element, dtype in (FLOATS | INTEGERS).items():
        add = "arith.addf" if element in FLOATS else "arith.addi"
        text += elementwise(f"add_{element}", element, dtype, f"%r = {add} %a, %b : {element}")
    text += elementwise("add_u8", "i8", "uint8", "%r = arith.addi %a, %b : i8")
    text += elementwise("both", "i1", "bool", "%r = arith.andi %a, %b : i1")
    return load(compile_text(text))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS, "u8"])
def test_add(additions: dict[str, tvm_ffi.Function], element: str, size: int) -> None:
    dtype = {**FLOATS, **INTEGERS, "u8": "uint8"}[element]
    rng = np.random.default_rng(size)
    a, b = (rng.integers(0, 50, size).astype(dtype) for _ in range(2))
    y = np.full(size, 99, dtype)
    additions[f"add_{element}"](a, b, y)
    np.testing.assert_array_equal(y, a + b)


@pytest.mark.parametrize("size", SIZES)
def test_bool_is_a_byte(additions: dict[str, tvm_ffi.Function], size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = (rng.integers(0, 2, size).astype(bool) for _ in range(2))
    y = np.zeros(size, bool)
    additions["both"](a, b, y)
    np.testing.assert_array_equal(y, a & b)


def test_bfloat16() -> None:
    body = "%e = math.exp %a : bf16\n    %r = arith.addf %e, %b : bf16"
    code = compile_text(elementwise("f", "bf16", "uint16", body))
    a = np.linspace(-3, 3, 101, dtype=np.float32)
    bits = (a.view(np.uint32) >> 16).astype(np.uint16)
    y = np.zeros_like(bits)
    load(code)["f"](bits, np.zeros_like(bits), y)
    got = (y.astype(np.uint32) << 16).view(np.float32)
    rounded = (bits.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(got, np.exp(rounded), rtol=2**-8)


REFERENCES = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}  # fmt: skip
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 88.72283, 88.72284, -103.9,
         -104.5, 127.99999, 128.0, -149.0, -150.0, 3.4e38, -3.4e38, -1.0, 1.0, 0.925]  # fmt: skip


@pytest.fixture(scope="module", params=["host", "llvm -mcpu=x86-64"])
def functions(request: pytest.FixtureRequest) -> dict[str, tvm_ffi.Function]:
    text = "".join(unary(name, "f32", "float32") for name in REFERENCES)
    if request.param == "host":
        return load(compile_text(text))
    if not Target().arch.startswith("x86_64"):
        pytest.skip("the baseline without fused multiply-add is an x86-64 one")
    return load(compile_text(text, Target(request.param)))


@pytest.mark.parametrize("name", REFERENCES)
def test_error_of_elementary_functions(functions: dict[str, tvm_ffi.Function], name: str) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, 60_000, dtype=np.uint32).view(np.float32)
    ordinary = np.concatenate([rng.uniform(-110, 95, 30_000), rng.uniform(-2, 2, 30_000)])
    x = np.concatenate([np.float32(EDGES), patterns, ordinary.astype(np.float32)])
    y = np.empty_like(x)
    functions[name](x, x, y)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        finite = np.isfinite(rounded) & np.isfinite(y)
        unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.float32(1e-45))
        error = np.abs(y[finite] - exact[finite]) / unit
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    np.testing.assert_array_equal(np.signbit(y[finite]), np.signbit(rounded[finite]))
    assert error.max() <= 2.5


@pytest.mark.parametrize("name", ["expm1", "log1p"])
def test_doubles_near_zero(name: str) -> None:
    f = load(compile_text(unary(name, "f64", "float64")))[name]
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-300, 2, 10_000) * rng.choice([-1, 1], 10_000),
                        [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1e300, -1e300]])  # fmt: skip
    y = np.empty_like(x)
    f(x, x, y)
    with np.errstate(all="ignore"):
        wanted = REFERENCES[name](x)
    np.testing.assert_allclose(y, wanted, rtol=1e-15, atol=0)


def test_other_math_goes_to_the_c_library() -> None:
    body = (
        "%c = math.cos %a : f32\n    %p = math.powf %b, %c : f32\n    %r = math.atan2 %p, %a : f32"
    )
    f = load(compile_text(elementwise("f", "f32", "float32", body)))["f"]
    a, b = (np.random.default_rng(0).uniform(0.1, 9, 37).astype(np.float32) for _ in range(2))
    y = np.empty_like(a)
    f(a, b, y)
    np.testing.assert_allclose(y, np.arctan2(b ** np.cos(a), a), rtol=1e-5)


@pytest.mark.parametrize("element", ["f16", "f64"])
def test_other_float_widths(element: str) -> None:
    text = "".join(unary(name, element, FLOATS[element]) for name in ("exp", "log", "tanh", "erf"))
    loaded = load(compile_text(text))
    x = np.linspace(0.1, 5, 61).astype(FLOATS[element])
    for name, function in loaded.items():
        y = np.empty_like(x)
        function(x, x, y)
        tolerance = 2 * np.finfo(x.dtype).eps
        np.testing.assert_allclose(y, REFERENCES[name](x.astype(np.float64)), rtol=tolerance)


def test_elementwise_loop_vectorizes_without_checks() -> None:
    text = unary("exp", "f32", "float32")
    code = compile_text(text, Target(AVX2))
    assert "expf" not in code.assembly()
    optimized = code.llvm_ir()
    assert "<8 x float>" in optimized
    assert "%zmm" in compile_text(text, Target(AVX512)).assembly()
    # no run-time overlap check before the vector loop: the wrapper has made it
    assert "vector.memcheck" not in optimized


VECTOR = """
func.func @masked({params}) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.1 : f32
  %w = arith.constant dense<[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]> : vector<8xf32>
  %n = memref.dim %A, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c8 {{
    %left = arith.subi %n, %i : index
    %mask = vector.create_mask %left : vector<8xi1>
    %a = vector.transfer_read %A[%i], %pad, %mask : memref<?xf32>, vector<8xf32>
    %e = math.erf %a : vector<8xf32>
    %f = math.fma %e, %w, %w : vector<8xf32>
    vector.transfer_write %f, %Y[%i] : vector<8xf32>, memref<?xf32>
    %s = vector.transfer_read %B[%i], %pad : memref<?xf32>, vector<8xf32>
    %gt = arith.cmpf ogt, %s, %f : vector<8xf32>
    vector.transfer_write %gt, %M[%i] : vector<8xi1>, memref<?xi1>
  }}
  return
}}
"""


@pytest.mark.parametrize("size", SIZES)
def test_vectors_and_masks(size: int) -> None:
    floats = [buffer(p, "n", "s0", "memref<?xf32>", "float32") for p in "ABY"]
    params = ", ".join([*floats, buffer("M", "n", "s0", "memref<?xi1>", "bool")])
    f = load(compile_text(VECTOR.format(params=params)))["masked"]
    rng = np.random.default_rng(size)
    a, b = (rng.uniform(-2, 2, size).astype(np.float32) for _ in range(2))
    guarded, guarded_mask = np.full(size + 8, 7, np.float32), np.ones(size + 8, bool)
    f(a, b, guarded[:size], guarded_mask[:size])
    weights = np.resize(np.float32([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]), size)
    np.testing.assert_allclose(guarded[:size], REFERENCES["erf"](a) * weights + weights, atol=1e-7)
    np.testing.assert_array_equal(guarded_mask[:size], b > guarded[:size])
    assert (guarded[size:] == 7).all()
    assert guarded_mask[size:].all()


def test_copies_views_and_allocations() -> None:
    flipped = "memref<?x?xf32, affine_map<(d0, d1)[s0] -> (d1 * s0 + d0)>>"
    output = buffer("Y", "m,n", "s1, s0", "memref<?x?xf32>", "float32")
    text = f"""func.func @f({buffer("A", "m,n", "s0, s1", "memref<?x?xf32>", "float32")},
        {output}) attributes {{tir.prim_func}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %A, %c0 : memref<?x?xf32>
      %n = memref.dim %A, %c1 : memref<?x?xf32>
      %t = memref.transpose %A (i, j) -> (j, i) : memref<?x?xf32> to {flipped}
      %x = memref.alloc(%n, %m) : memref<?x?xf32>
      memref.copy %t, %x : {flipped} to memref<?x?xf32>
      memref.copy %x, %Y : memref<?x?xf32> to memref<?x?xf32>
      return
    }}"""
    f = load(compile_text(text))["f"]
    for m, n in ((0, 4), (1, 1), (5, 3), (97, 61)):
        a = np.random.default_rng(0).random((m, n), dtype=np.float32)
        y = np.empty((n, m), np.float32)
        f(a, y)
        np.testing.assert_array_equal(y, a.T)


def test_module_is_left_as_it_was() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(unary("exp", "f32", "float32"))
        before = str(module)
        compile_module(module)
        assert str(module) == before


def test_two_hundred_kernels() -> None:
    body = "%k = arith.constant {0}.0 : f32\n    %r = arith.addf %a, %k : f32"
    text = "".join(elementwise(f"f{k}", "f32", "float32", body.format(k)) for k in range(200))
    loaded = load(compile_text(text, Target("llvm -O1")))
    x = np.arange(5, dtype=np.float32)
    y = np.empty_like(x)
    for k in (0, 77, 199):
        loaded[f"f{k}"](x, x, y)
        np.testing.assert_array_equal(y, x + np.float32(k))


def test_a_machine_that_emitted_others_emits_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit, "_FREE_MACHINES", {})
    texts = [
        elementwise(f"f{k}", "f32", "float32", f"%r = math.{name} %a : f32")
        for k, name in enumerate(("exp", "sin", "exp"))
    ]
    alone = []
    for text in texts:
        emit._FREE_MACHINES.clear()
        alone.append(compile_text(text).object)
    (free,) = emit._FREE_MACHINES.values()
    machine = free[0]
    assert [compile_text(text).object for text in texts] == alone
    assert [*emit._FREE_MACHINES.values()] == [[machine]]


def test_names_of_library_functions_are_no_problem() -> None:
    names = ("expf", "malloc", "snprintf", "memcpy")
    text = "".join(elementwise(n, "f32", "float32", "%r = math.sin %a : f32") for n in names)
    loaded = load(compile_text(text))
    x = np.arange(5, dtype=np.float32)
    for name in names:
        y = np.empty_like(x)
        loaded[name](x, x, y)
        np.testing.assert_allclose(y, np.sin(x), rtol=1e-6)


# --- programs that are refused


def test_what_has_no_native_form_is_named() -> None:
    with make_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        text = 'func.func @f() attributes {tir.prim_func} { "test.op"() : () -> () return }'
        module = ir.Module.parse(text)
        with pytest.raises(CompileError, match=r"'test\.op' at loc\("):
            compile_module(module)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%x: index) attributes {tir.prim_func} { return }", "'arg0' of type index"),
        ("func.func @f(%x: memref<4xf32, strided<[1], offset: 2>>) attributes {tir.prim_func} "
         "{ return }", "plain strides"),
        ("func.func @f(%x: i64) -> i64 attributes {tir.prim_func} { return %x : i64 }", "returns"),
        (f"func.func @f({buffer('A', 'n', 's0 * s0', 'memref<?xf32>', 'float32')}) "
         "attributes {tir.prim_func} { return }", "gives 'n' a value"),
    ],
)  # fmt: skip
def test_signatures_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_text(text)


def test_a_failing_step_is_named() -> None:
    text = """func.func @f(%x: memref<4xi1>) attributes {tir.prim_func} {
      %c0 = arith.constant 0 : index
      %t = arith.constant true
      %0 = memref.atomic_rmw assign %t, %x[%c0] : (i1, memref<4xi1>) -> i1
      return }"""
    with pytest.raises(PassError, match=r"'bool-to-byte' failed: 'memref\.atomic_rmw'"):
        compile_text(text)


def test_spilled_vectors_are_aligned() -> None:
    loads = "\n".join(
        f"%c{k} = arith.constant {k} : index\n%v{k} = vector.load %A[%c{k}] : memref<?xf32>, "
        f"vector<16xf32>\n%r{k} = math.roundeven %v{k} : vector<16xf32>"
        for k in range(40)
    )
    stores = "\n".join(
        f"vector.store %r{k}, %Y[%c{k}] : memref<?xf32>, vector<16xf32>" for k in range(40)
    )
    params = ", ".join(buffer(p, "n", "s0", "memref<?xf32>", "float32") for p in "AY")
    text = f"""func.func @f({params}) attributes {{tir.prim_func}} {{
      {loads}
      {stores}
      return
    }}"""
    assembly = compile_text(text, Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"))
    assert "%rsp), %zmm" not in assembly.assembly() or "andq\t$-64, %rsp" in assembly.assembly()


@pytest.mark.parametrize(("lane", "align"), [(0, 16), (3, 2)])
def test_a_store_of_one_lane_is_plain(lane: int, align: int) -> None:
    mask = ", ".join(f"i1 {'true' if i == lane else 'false'}" for i in range(8))
    call = "call void @llvm.masked.store.v8i16.p0(<8 x i16> %t, ptr align 16 %p, <8 x i1> <{}>)"
    before = "%t = trunc <8 x i32> %x to <8 x i16>"
    assert may_store_single(f"{before}\n{call}")
    assert store_single(call.format(mask)) == (
        f"  %single.1 = extractelement <8 x i16> %t, i64 {lane}\n"
        f"  %place.1 = getelementptr i16, ptr %p, i64 {lane}\n"
        f"  store i16 %single.1, ptr %place.1, align {align}"
    )
    for kept in (mask.replace("false", "true"), mask.replace("true", "false")):
        assert store_single(call.format(kept)) == call.format(kept)


def test_cross_compile() -> None:
    arm = Target("llvm -mtriple=aarch64-linux-gnu")
    code = compile_text(unary("exp", "f32", "float32"), arm)
    assert code.object[:4] == b"\x7fELF"
    assert "fmla" in code.assembly()
