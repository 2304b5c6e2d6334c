"""Constant matrices in panels: the same numbers, packed once however often they are used."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from kernel_classes import classify
from targets import AVX2, AVX512, DEFAULT, DOT_PRODUCTS, SSE, skip_unless_runs, with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.script import relax as R
from relax_mlir.transform.packing.pack_weights import packed_weights


def bound(op: str, shape: tuple, w: np.ndarray) -> IRModule:
    """Return relu(x op w + c), where w is a constant."""
    m, k, n = shape
    rows = tir.Var("m", "int64") if m is None else m
    dtype = str(w.dtype)
    x = relax.Var("x", R.Tensor((rows, k), dtype))
    c = relax.Var("c", R.Tensor((n,), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, c]):
        with bb.dataflow():
            y = bb.emit(getattr(relax.op, op)(x, relax.const(w)))
            z = bb.emit(relax.op.add(y, c))
            u = bb.emit_output(relax.op.nn.relu(z))
        bb.emit_func_output(u)
    return bb.get()


def packed(module: IRModule, target: str = AVX2) -> ir.Module:
    """Return a module as it is after its weights were packed."""
    return lower(module, "PackWeights", target=target).mlir_module


def weights(shape: tuple[int, int], dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype) * 0.1


# Of x, of the constant, and of the result; None says the operands' own.
SMALL = (
    ("bfloat16", "bfloat16", "float32"), ("float16", "float16", "float32"),
    ("bfloat16", "bfloat16", None), ("int8", "int8", "int32"), ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"), ("uint8", "uint8", "int32"), ("int16", "int16", "int32"),
    ("int16", "int8", "int32"),
)  # fmt: skip
# None, those that read a panel at once, and those that are cut into tiles of every size.
ROWS = (0, 1, 2, 3, 4, 5, 8, 9, 12, 13, 25, 40)


def small_numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) + len(dtype))
    if "int" in dtype:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return rng.standard_normal(shape).astype(kind)


def small_module(all_types: bool, transposed: bool) -> tuple[IRModule, dict[str, tuple]]:
    """Return a module of products by small constants, of any number of rows, and those by name."""
    bb, known = relax.BlockBuilder(), {}
    # Steps that fill groups of four, of two, and none; columns that do not fill panels.
    cases = [(types, (600, 77)) for types in (SMALL if all_types else SMALL[:2] + SMALL[3:4])]
    if all_types:
        cases += [(SMALL[0], (514, 97)), (SMALL[1], (601, 65))]
    for (xs, ws, out), (k, n) in cases:
        name = f"{xs}_{ws}_{out}_{k}_{n}"
        w = small_numbers((k, n), ws)
        x = relax.Var("x", R.Tensor((tir.Var("m", "int64"), k), xs))
        with bb.function(name, [x]):
            with bb.dataflow():
                given = relax.const(np.ascontiguousarray(w.T) if transposed else w)
                if transposed:
                    given = bb.emit(relax.op.permute_dims(given))
                y = bb.emit_output(relax.op.matmul(x, given, out_dtype=out))
            bb.emit_func_output(y)
        known[name] = xs, w, out
    return bb.get(), known


def check_small(got: np.ndarray, x: np.ndarray, w: np.ndarray, out: str | None) -> None:
    if out == "int32":
        np.testing.assert_array_equal(got, x.astype("int32") @ w.astype("int32"))
        return
    exact, size = x.astype("f8") @ w.astype("f8"), abs(x.astype("f8")) @ abs(w.astype("f8"))
    # Each of the additions rounds by half a unit of at most the sum of magnitudes; the result by
    # half of one of its own.
    bound = 2.0**-23 * (len(w) + 1) * size + (0 if out else 2.0**-8 * abs(exact))
    assert (abs(got.astype("f8") - exact) <= bound).all()


@pytest.mark.parametrize(("target", "grouped"), [(AVX512, 2), (AVX2, 2), (SSE, 1)])
def test_small_numbers_stay_small(target: str, grouped: int) -> None:
    # Bytes and halves stay what they are, in panels; those of a group adjacent.
    module, _ = small_module(False, False)
    text = str(packed(module, target))
    assert "tensor<3x600x32xf16>" in text
    assert ("tensor<3x300x32x2xi8>" in text) == (grouped == 2)
    assert "tensor<3x600x32xbf16>" in text


@pytest.mark.parametrize(
    ("target", "transposed"), [(DEFAULT, False), (AVX512, True), (AVX2, False), (SSE, False)]
)
def test_small_numbers(target: str, transposed: bool) -> None:
    if target != DEFAULT:
        skip_unless_runs(target)
    module, known = small_module(target == DEFAULT, transposed)
    machine = relax.VirtualMachine(relax.build(module, target))
    for name, (xs, w, out) in known.items():
        for m in ROWS:
            x = small_numbers((m, len(w)), xs)
            check_small(np.asarray(machine[name](x)), x, w, out)


def test_small_numbers_in_a_layer() -> None:
    # One row and several that are known, three dimensions, and what follows from sums.
    bb, cases = relax.BlockBuilder(), {}
    for i, (shape, (xs, ws, out)) in enumerate(
        (shape, types)
        for shape in ((1,), (2, 7), (19,))
        for types in (SMALL[0], SMALL[1], SMALL[3])
    ):
        w = small_numbers((320, 200), ws)
        x = relax.Var("x", R.Tensor((*shape, 320), xs))
        with bb.function(f"f{i}", [x]):
            with bb.dataflow():
                y = bb.emit(relax.op.matmul(x, relax.const(w), out_dtype=out))
                z = bb.emit(relax.op.astype(y, "float32"))
                u = bb.emit_output(relax.op.nn.relu(z))
            bb.emit_func_output(u)
        cases[f"f{i}"] = shape, xs, w
    module = bb.get()
    lowered = packed(module, DOT_PRODUCTS)
    assert str(lowered).count("relax.constant") == 9
    # Nineteen rows, which are known, read halves as they lie.
    assert packed_weights(lowered.operation).startswith("weights: 8 packed")
    machine = relax.VirtualMachine(relax.build(module))
    for name, (shape, xs, w) in cases.items():
        x = small_numbers((*shape, 320), xs)
        want = np.maximum(x.astype("f8") @ w.astype("f8"), 0)
        size = abs(x.astype("f8")) @ abs(w.astype("f8"))
        got = np.asarray(machine[name](x))
        assert (abs(got - want) <= 2.0**-23 * 321 * size).all()


def dequantised() -> tuple[IRModule, dict[str, tuple]]:
    """Return a module of products by what is computed from constants, and what by, by name."""
    bb, known = relax.BlockBuilder(), {}

    def case(name, w, *others, transposed=False, dtype="float32", values=None, ends="relu"):
        k, n = w.shape[::-1] if transposed else w.shape
        x = relax.Var("x", R.Tensor((tir.Var("m", "int64"), k), dtype))
        given = relax.Var("s", R.Tensor((n,), "float32")) if values is None else None
        with bb.function(name, [x] if given is None else [x, given]):
            with bb.dataflow():
                made = bb.emit(relax.op.astype(relax.const(w), dtype))
                for op, other in others:
                    other = given if other is None else relax.const(other)
                    made = bb.emit(getattr(relax.op, op)(made, other))
                if ends == "turned":
                    y = bb.emit(relax.op.matmul(x, bb.emit(relax.op.permute_dims(made))))
                else:
                    y = bb.emit((relax.op.linear if transposed else relax.op.matmul)(x, made))
                if ends == "relu":
                    y = bb.emit(relax.op.nn.relu(y))
                z = bb.emit_output(y)
                if ends == "twice":
                    made = bb.emit_output(made)
            bb.emit_func_output(relax.Tuple([z, made]) if ends == "twice" else z)
        known[name] = dtype, values, ends

    def scales(*shape):
        return (np.random.default_rng(7).random(shape) + 0.1).astype("float32")

    w = small_numbers((600, 96), "int8")
    s = scales(96)
    case("columns", w, ("multiply", s), values=w * s.astype("f8"))
    k = scales(600, 1)
    u = small_numbers((600, 96), "uint8")
    points = ("subtract", np.float32(128)), ("multiply", k)
    case("rows", u, *points, values=(u - 128.0) * k.astype("f8"))
    case("given", w, ("multiply", None))
    h = small_numbers((600, 96), "float16")
    case("halves", h, values=h.astype("f8"))
    lines = scales(96, 1)
    t = small_numbers((96, 600), "int8")
    turned = (t * lines.astype("f8")).T
    case("linear", t, ("multiply", lines), values=turned, transposed=True, ends="")
    case("turned", t, ("multiply", lines), values=turned, transposed=True, ends="turned")
    zero = np.int32(9)
    case("whole", w, ("subtract", zero), values=w.astype("i8") - 9, dtype="int32")
    ragged = small_numbers((600, 97), "int8")
    case("ragged", ragged, ("multiply", s[:1]), values=ragged * s[:1].astype("f8"))
    case("twice", w, ("multiply", s), values=w * s.astype("f8"), ends="twice")
    return bb.get(), known


def test_computed_from_constants() -> None:
    module, known = dequantised()
    lowered = packed(module)
    text = str(lowered)
    for dtype, steps in (("i8", 600), ("f16", 600)):
        assert f"tensor<3x{steps}x32x{dtype}>" in text
    # What has columns beside whole panels, or is wanted itself, is computed by a kernel of its own.
    assert "tensor<600x97xi8>" in text
    assert "tensor<600x96xi8>" in text
    assert packed_weights(lowered.operation).startswith("weights: 7 packed")
    machine = relax.VirtualMachine(relax.build(module))
    given = (np.random.default_rng(3).random(96) + 0.1).astype("float32")
    raw = small_numbers((600, 96), "int8") * given.astype("f8")
    for name, (dtype, values, ends) in known.items():
        by = raw if values is None else values
        for m in (0, 1, 3, 8, 9, 40):
            x = np.random.default_rng(m).standard_normal((m, 600)).astype("float32")
            if dtype == "int32":
                x = (x * 100).astype(dtype)
            got = machine[name](*([x] if values is not None else [x, given]))
            got = np.asarray(got[0] if ends == "twice" else got)
            want, size = x.astype("f8") @ by, abs(x.astype("f8")) @ abs(by)
            want = np.maximum(want, 0) if ends == "relu" else want
            bound = 0 if dtype == "int32" else 2.0**-23 * 604 * size
            assert (abs(got - want) <= bound).all(), (name, m)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op", "transposed"), [("matmul", False), ("linear", True)])
@pytest.mark.parametrize(
    ("k", "n"), [(512, 32), (70, 352), (1100, 96), (601, 1024), (70, 251), (1100, 97), (601, 1001)]
)
def test_numbers(op: str, transposed: bool, k: int, n: int, dtype: str) -> None:
    w = weights((k, n), dtype)
    given = np.ascontiguousarray(w.T) if transposed else w
    module = bound(op, (None, k, n), given)
    lowered = packed(module)
    (name,) = {each.name.value for each in lowered.body.operations if "_packed" in each.name.value}
    with lowered.context:
        found = classify(ir.SymbolTable(lowered.operation)[name], AVX2)
    assert found[0].kind == "contraction"
    function = relax.VirtualMachine(relax.build(module))["main"]
    # None, few, and the others so that tiles of each size are needed, with rows that are not there.
    for m in (0, 1, 2, 3, 7, 9, 11, 12, 13, 22, 26, 37, 59, 77):
        x, c = weights((m, k), dtype), weights((n, 1), dtype)[:, 0]
        want = np.maximum(x.astype("f8") @ w + c, 0)
        np.testing.assert_allclose(np.asarray(function(x, c)), want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("k", "n"), [(512, 32), (70, 352), (512, 33), (70, 1001)])
def test_a_single_row(k: int, n: int, dtype: str) -> None:
    w = weights((k, n), dtype)
    module = bound("matmul", (1, k, n), w)
    assert "_packed" in str(packed(module))
    x, c = weights((1, k), dtype), weights((n, 1), dtype)[:, 0]
    got = relax.VirtualMachine(relax.build(module))["main"](x, c)
    want = np.maximum(x.astype("f8") @ w + c, 0)
    np.testing.assert_allclose(np.asarray(got), want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize(
    ("k", "n", "turned", "in_panels"),
    [(1031, 1024, False, True), (1037, 1025, False, True), (1023, 1024, False, False),
     (1025, 1031, True, False)],
)  # fmt: skip
def test_vectors(k: int, n: int, turned: bool, in_panels: bool, follows: bool, dtype: str) -> None:
    # A vector reads a matrix once: only large ones are packed, and not those it reads in order.
    w = weights((n, k) if turned else (k, n), dtype)
    x = relax.Var("x", R.Tensor((k,), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            sides = (relax.const(w), x) if turned else (x, relax.const(w))
            y = bb.emit(relax.op.matmul(*sides))
            z = bb.emit_output(relax.op.nn.relu(y) if follows else y)
        bb.emit_func_output(z)
    module = bb.get()
    columns = 16 if dtype == "float32" else 8
    assert (f"x{k}x{columns}x" in str(packed(module))) == in_panels
    value = np.random.default_rng(k).standard_normal(k).astype(dtype)
    want = w.astype("f8") @ value if turned else value @ w.astype("f8")
    results = []
    for threads in (1, 2):
        built = relax.build(module, with_threads(threads))
        results.append(np.asarray(relax.VirtualMachine(built)["main"](value)))
    np.testing.assert_allclose(
        results[0], np.maximum(want, 0) if follows else want, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(
    "shape", [(0, 512, 64), (40, 16, 64), (40, 16, 65), (40, 2048, 15), (40, 1, 16385)]
)
def test_left_as_they_are(shape: tuple[int, int, int]) -> None:
    w = weights(shape[1:])
    module = bound("matmul", shape, w)
    assert "_packed" not in str(packed(module))


@pytest.mark.parametrize("m", [None, 1, 5, 40])
@pytest.mark.parametrize("what", ["sums", "softmax", "batch"])
def test_ragged_panels_whatever_follows(what: str, m: int | None) -> None:
    # Sums that are the result, that more than one element follows from, and in three dimensions.
    w = weights((600, 77))
    leading = (3,) if what == "batch" else ()
    length = tir.Var("m", "int64") if m is None else m
    x = relax.Var("x", R.Tensor((*leading, length, 600), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.matmul(x, relax.const(w)))
            if what == "softmax":
                y = bb.emit(relax.op.nn.softmax(bb.emit(relax.op.negative(y))))
            z = bb.emit_output(y)
        bb.emit_func_output(z)
    module = bb.get()
    assert "tensor<5x600x16xf32>" in str(packed(module))
    function = relax.VirtualMachine(relax.build(module))["main"]
    for rows in (0, 1, 4, 23) if m is None else (m,):
        value = np.random.default_rng(rows).standard_normal((*leading, rows, 600)).astype("f4")
        want = value.astype("f8") @ w
        if what == "softmax":
            powers = np.exp(-want - (-want).max(-1, keepdims=True))
            want = powers / powers.sum(-1, keepdims=True)
        np.testing.assert_allclose(np.asarray(function(value)), want, rtol=2e-4, atol=2e-4)


def test_ragged_panels_of_numbers_that_are_not_finite() -> None:
    # Zeros beside the last column times infinity are NaN, which nobody may see.
    w = weights((512, 65))
    module = bound("matmul", (None, 512, 65), w)
    function = relax.VirtualMachine(relax.build(module))["main"]
    for m in (1, 5, 30):
        x, c = weights((m, 512)), weights((65, 1))[:, 0]
        x[0, 3] = np.inf
        got = np.asarray(function(x, c))
        want = np.maximum(x.astype("f8") @ w + c, 0)
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def test_bytes_are_told() -> None:
    def told(module: IRModule) -> str:
        lowered = lower(module, "VMShapeLower", target=AVX2)
        return packed_weights(lowered.mlir_module.operation)

    assert told(bound("matmul", (40, 16, 64), weights((16, 64)))) == ""
    size = 4 * 512 * 64
    assert told(bound("matmul", (40, 512, 64), weights((512, 64)))) == (
        f"weights: 1 packed at compile time, {size} bytes; "
        f"{size} of the {size} bytes they were made of are freed"
    )
    w = weights((512, 64))
    x = relax.Var("x", R.Tensor((40, 512), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(relax.op.matmul(x, relax.const(w)))
            z = bb.emit_output(relax.op.add(relax.const(w), bb.emit(relax.op.mean(y))))
        bb.emit_func_output(relax.Tuple([y, z]))
    assert f"0 of the {size} bytes" in told(bb.get())


def test_shared_weights_are_packed_once() -> None:
    w = weights((256, 256))
    x = relax.Var("x", R.Tensor((tir.Var("m", "int64"), 256), "float32"))
    one, other = relax.const(w), relax.const(w)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.tanh(bb.emit(relax.op.matmul(x, one))))
            d = bb.emit(relax.op.matmul(a, one))
            e = bb.emit_output(relax.op.add(d, bb.emit(relax.op.matmul(x, other))))
        bb.emit_func_output(e)
    module = bb.get()
    text = str(packed(module))
    constants = {
        line.split("value = ")[1] for line in text.splitlines() if "relax.constant" in line
    }
    panels = [each for each in constants if "16x256x16" in each]
    assert len(panels) == 1
    value = weights((9, 256))
    got = np.asarray(relax.VirtualMachine(relax.build(module))["main"](value))
    wide = w.astype("f8")
    want = np.tanh(value @ wide) @ wide + value @ wide
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("n", "dtype"),
    [(1056, "float32"), (96, "float32"), (1001, "float32"), (1001, "bfloat16"), (96, "float16")],
)
def test_same_bits_on_any_threads(n: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Threads share out columns where there are many, else rows.
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    w = small_numbers((602, n), dtype)
    module = bound("matmul", (None, 602, n), w)
    assert "_packed" in str(packed(module))
    serial = relax.VirtualMachine(relax.build(module))["main"]
    threaded = relax.VirtualMachine(relax.build(module, with_threads(4)))["main"]
    for m in (1, 6, 12, 37, 95, 106):
        x, c = small_numbers((m, 602), dtype), small_numbers((n,), dtype)
        check_bits(partial(bits, threaded, x, c), bits(serial, x, c))
