"""bfloat16 in whole programs: constants of every form, in files, scripts and text."""

from pathlib import Path

import numpy as np
import pytest

from relax_mlir import relax, tir, transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script_with_metadata

pytestmark = pytest.mark.unoptimized

ml_dtypes = pytest.importorskip("ml_dtypes")
_BF = np.dtype(ml_dtypes.bfloat16)
_SOURCE = """
@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 70), "bfloat16")):
        with R.dataflow():
            t = R.multiply(x, R.const(0.5, "bfloat16"))
            y = R.add(R.matmul(t, R.const(W)), R.const(b))
            R.output(y)
        return y, R.const(W)
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dense<5.0e-01> : tensor<bf16>", 0.5),
        ("dense<-3.0> : tensor<2x2xbf16>", [[-3, -3], [-3, -3]]),
        ("dense<0x7FC0> : tensor<3xbf16>", [np.nan] * 3),
        ("dense<[1.5, 0xFF80, -0.3, 1.0e-38]> : tensor<4xbf16>", [1.5, -np.inf, -0.3, 1e-38]),
        ("dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>", [[1, 2], [3, 4]]),
        ("dense<> : tensor<0x3xbf16>", np.zeros((0, 3))),
        (f'dense<"0x803F{"0040" * 149}"> : tensor<150xbf16>', [1.0] + [2.0] * 149),
    ],
)
def test_elements_of_attributes(text: str, values: object) -> None:
    with default_context():
        array = constant_array(ir.Attribute.parse(text))
    want = np.array(values, "f4").astype(_BF)
    assert (array.dtype, array.shape) == (_BF, want.shape)
    assert array.tobytes() == want.tobytes()


def test_constants_of_programs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((70, 96)).astype(_BF)
    bias = rng.standard_normal(96).astype(_BF)
    module = from_source(_SOURCE, extra_vars={"W": weights, "b": bias})
    x = rng.standard_normal((5, 70)).astype(_BF)
    want = 0.5 * x.astype("f8") @ weights.astype("f8") + bias.astype("f8")

    executable = relax.build(module)
    got, again = relax.VirtualMachine(executable)["main"](x)
    np.testing.assert_allclose(got.astype("f8"), want, rtol=2**-7, atol=2**-5)
    assert again.tobytes() == weights.tobytes()

    text, metadata = script_with_metadata(module)
    others = [relax.build(from_source(text, extra_vars={"metadata": metadata}))]
    executable.save(tmp_path / "model.rxe")
    others.append(relax.Executable.load(tmp_path / "model.rxe"))
    executable.save(tmp_path / "apart.rxe", weights=tmp_path / "model.safetensors")
    others.append(
        relax.Executable.load(tmp_path / "apart.rxe", weights=tmp_path / "model.safetensors")
    )
    for other in others:
        for a, b in zip(relax.VirtualMachine(other)["main"](x), (got, again), strict=True):
            assert a.tobytes() == b.tobytes()


_MOVES = """
@I.ir_module
class Kernels:
    @R.function
    def main(x: R.Tensor(("n", 70), "bfloat16"), w: R.Tensor((70, 64), "bfloat16")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            z = R.astype(R.astype(R.sum(y, axis=1), "float64"), "bfloat16")
            t = R.concat((R.permute_dims(y), R.permute_dims(R.flip(y, axis=1))), axis=1)
            R.output(z, t)
        return z, t, R.cumsum(t, axis=1)
"""


@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512", "znver4", "sapphirerapids"])
def test_moving_needs_no_library(cpu: str) -> None:
    executable = relax.build(from_source(_MOVES), f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    for each in executable.native:
        assert b"__truncsfbf2" not in each.data
        assert b"__truncdfbf2" not in each.data


_UNARY = (
    "R.abs", "R.ceil", "R.cos", "R.erf", "R.exp", "R.floor", "R.log", "R.negative", "R.round",
    "R.rsqrt", "R.sigmoid", "R.sign", "R.sin", "R.sqrt", "R.square", "R.tan", "R.tanh", "R.trunc",
    "R.acos", "R.asinh", "R.atan", "R.cosh", "R.exp2", "R.expm1", "R.log1p", "R.isnan", "R.isinf",
    "R.nn.gelu", "R.nn.relu", "R.nn.silu", "R.nn.softplus",
)  # fmt: skip


def test_constants_are_moved_at_compile_time() -> None:
    """Weights of a convolution are in blocks before it runs."""
    source = """
@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((1, 3, 5, 5), "bfloat16")):
        with R.dataflow():
            w = R.reshape(R.permute_dims(R.const(W)), (16, 3, 3, 3))
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y
"""
    weight = np.arange(16 * 27).reshape(27, 16).astype(_BF)
    given = from_source(source, extra_vars={"W": weight})
    module = relax.transform.FoldConstant()(given)
    for moved in ("permute_dims", "reshape"):
        assert moved in str(given)
        assert moved not in str(module)
    x = np.ones((1, 3, 5, 5), _BF)
    got = np.asarray(relax.VirtualMachine(relax.build(module))["main"](x))
    wanted = weight.astype("float32").sum(0).astype(_BF)
    np.testing.assert_array_equal(got[0, :, 0, 0], wanted)


def test_constants_are_computed_at_compile_time() -> None:
    """As kernels compute them: in float32, rounded once; what only moves keeps its bits."""
    results = (
        "R.multiply(R.const(a), R.const(b))", "R.astype(R.const(a), 'float64')",
        "R.concat((R.const(a), R.const(b)), axis=1)",
        "R.nn.pad(R.const(a), (1, 0, 0, 2), pad_value=1.5)",
        "R.sum(R.const(b), axis=1)", "R.take(R.const(a), R.const(at), axis=1)",
        "R.split(R.const(a), 2, axis=0)[1]", "R.greater(R.const(a), R.const(b))",
        "R.astype(R.const(wide), 'bfloat16')",
    )  # fmt: skip
    source = f"""
@I.ir_module
class Model:
    @R.function
    def main():
        return {", ".join(results)}
"""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((4, 70)).astype(_BF) for _ in range(2))
    a.view(np.uint16)[0, :3] = 0x7F81, 0xFFC1, 0x8000  # NaN of two kinds, and minus zero
    at, wide = np.array([3, 0, 1, 69]), 2**24 + rng.integers(0, 2**20, 70)
    values = {"a": a, "b": b, "at": at, "wide": wide}
    given = from_source(source, extra_vars=values)
    folded = relax.transform.FoldConstant()(given)
    names = ("multiply", "astype", "concat", "pad", "sum", "take", "split", "greater")
    assert all(f"relax.{name}" in str(given) for name in names)
    assert not any(f"relax.{name}" in str(folded) for name in names)
    shown = [relax.VirtualMachine(relax.build(each))["main"]() for each in (given, folded)]
    with transform.PassContext(disabled_pass=["FoldConstant"]):
        shown.append(relax.VirtualMachine(relax.build(given))["main"]())
    exact = (2, 5, 6)
    for each in shown[:2]:
        for i, (got, want) in enumerate(zip(each, shown[2], strict=True)):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            with np.errstate(invalid="ignore"):
                got_f8, want_f8 = got.astype("f8"), want.astype("f8")
            np.testing.assert_array_equal(got_f8, want_f8, err_msg=results[i])
            if i in exact:
                assert got.tobytes() == want.tobytes()


def test_functions_of_one_element() -> None:
    source = "@I.ir_module\nclass Kernels:\n" + "".join(
        f"    @R.function\n    def {dtype}(x: R.Tensor(('n',), '{dtype}')):\n"
        f"        return {', '.join(f'{op}(x)' for op in _UNARY)}\n"
        for dtype in ("bfloat16", "float32")
    )
    vm = relax.VirtualMachine(relax.build(from_source(source)))
    x = np.arange(1 << 16).astype(np.uint16).view(_BF)
    results = vm["bfloat16"](x), vm["float32"](x.astype("f4"))
    for name, got, want in zip(_UNARY, *results, strict=True):
        with np.errstate(invalid="ignore"):
            rounded = want.astype(got.dtype).astype("f4")
            np.testing.assert_array_equal(got.astype("f4"), rounded, err_msg=name)


_CASTS = """
@T.prim_func
def down(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float64")
    B = T.match_buffer(b, (n,), "bfloat16")
    for i in T.serial(n):
        with T.block("down"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.Cast("bfloat16", A[vi])

@T.prim_func
def up(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "bfloat16")
    B = T.match_buffer(b, (n,), "float64")
    for i in T.serial(n):
        with T.block("up"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.Cast("float64", A[vi])
"""


@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64", "float64"])
def test_a_cast_is_one_word(source: str) -> None:
    """Scripts and passes see one conversion; what it takes to round once comes when lowered."""
    text = _CASTS[: _CASTS.index("@T.prim_func\ndef up")].replace("float64", source)
    module = from_source(text)
    assert 'B[vi] = T.Cast("bfloat16", A[vi])' in module.script()
    assert_structural_equal(from_source(module.script()), module)
    widened = tir.transform.BF16ComputeLegalize()(module)
    assert_structural_equal(widened, module)


def test_doubles_are_rounded_once() -> None:
    vm = relax.VirtualMachine(relax.build(from_source(_CASTS)))
    low = np.arange(0x7F80).astype(np.uint16)
    number = low.view(_BF).astype("f8")
    # Half way to the next number, which is even or odd, and what lies right beside that.
    half = ((low.astype(np.uint32) << 16) | 0x8000).view("f4").astype("f8")
    cases = [
        (number, low), (half, low + (low & 1)),
        (np.nextafter(half, 0), low), (np.nextafter(half, np.inf), low + 1),
    ]  # fmt: skip
    for x, bits in cases:
        for sign, turn in ((1.0, 0), (-1.0, 0x8000)):
            got = np.zeros(x.shape, _BF)
            vm["down"](x * sign, got)
            np.testing.assert_array_equal(got.view(np.uint16), bits | turn)
            back = np.ones(x.shape)
            vm["up"](got, back)
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(back, got.astype("f8"))
    special = np.array([np.nan, 1e300, -np.inf, 1e-300, -0.0])
    got = np.zeros(5, _BF)
    vm["down"](special, got)
    np.testing.assert_array_equal(got.astype("f8"), [np.nan, np.inf, -np.inf, 0, -0.0])


_SUMS = """
@T.prim_func
def products(A: T.Buffer((5, 12), "bfloat16"), B: T.Buffer((7, 12), "int8"),
             C: T.Buffer((5, 7), "bfloat16"), D: T.Buffer((5,), "bfloat16")):
    for i, j, k in T.grid(5, 7, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.bfloat16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("bfloat16", B[vj, vk])
    for i, k in T.grid(5, 12):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                D[vi] = T.bfloat16(0)
            D[vi] = D[vi] + A[vi, vk] * A[vi, vk]
"""


@pytest.mark.parametrize("vectors", [False, True])
def test_products_added_up_in_bfloat16(vectors: bool) -> None:
    """LLVM is given no multiply-add of this dtype, in fast kernels nor in scheduled loops."""
    sch = tir.Schedule(from_source(_SUMS)["products"])
    if vectors:
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)
        sch.vectorize(j)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (rows, 12)) for rows in (5, 7))
    c, d = np.zeros((5, 7), _BF), np.zeros(5, _BF)
    relax.VirtualMachine(relax.build(sch.mod))["products"](a.astype(_BF), b.astype("i1"), c, d)
    np.testing.assert_array_equal(c.astype("i8"), a @ b.T)
    np.testing.assert_array_equal(d.astype("i8"), (a * a).sum(1))
