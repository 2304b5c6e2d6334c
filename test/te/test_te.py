"""`te`: stages, reductions, several outputs, externs: the prim funcs and the numbers they give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_classes import classify
from te_cases import Case, check, random

import relax_mlir
from relax_mlir import relax, te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir import IRModule, assert_structural_equal
from relax_mlir.script import from_source, script
from relax_mlir.script import tir as T

X = random(5, 7)


def test_the_documents_elementwise_function() -> None:
    """`te.create_prim_func` gives what a person writes by hand."""

    @T.prim_func
    def tir_element_wise(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (128, 128))
        B = T.match_buffer(c, (128, 128))
        with T.block([128, 128]) as [i, j]:
            B[i, j] = A[i, j] * 2.0

    A = te.placeholder((128, 128), name="A")
    B = te.compute((128, 128), lambda x, y: A[x, y] * 2, name="B")
    func = te.create_prim_func([A, B], name="tir_element_wise")
    assert_structural_equal(func, tir_element_wise)


def test_stages_are_blocks() -> None:
    @T.prim_func
    def main(var_A: T.handle, var_B: T.handle, var_D: T.handle) -> None:
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(var_A, (n, m), "float32")
        B = T.match_buffer(var_B, (m, 8), "float32")
        D = T.match_buffer(var_D, (n, 8), "float32")
        C = T.alloc_buffer((n, 8), "float32")
        for i, j, k in T.grid(n, 8, m):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(n, 8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.if_then_else(vi < 4, T.exp(C[vi, vj]), T.Select(vj > 2, 1.0, 0.0))

    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m, 8), name="B")
    k = te.reduce_axis((0, m), name="k")
    C = te.compute((n, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute(
        (n, 8),
        lambda i, j: tir.if_then_else(
            i < 4, tir.exp(C[i, j]), tir.Select(j > 2, te.const(1.0), 0.0)
        ),
        name="D",
    )
    func = te.create_prim_func([A, B, D])
    assert_structural_equal(func, main)
    again = from_source(func.script())["main"]
    assert_structural_equal(again, func)
    assert (C.op.reduce_axis, C.op.input_tensors, C.ndim) == ([k], [A, B], 2)
    assert te.placeholders_of(D) == [A, B]


def test_symbols_of_no_buffer_become_parameters() -> None:
    """The document's `2 * floordiv(m, 2)`: `m` is passed."""
    n, m, p = te.var("n"), te.var("m"), te.size_var("p")
    A = te.placeholder((n, 2 * tir.floordiv(m, 2)), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] + p, name="B")
    text = te.create_prim_func([A, B]).script()
    assert "m: T.int64, p: T.int64)" in text
    text = te.create_prim_func([A, B, n]).script()
    assert "n: T.int64" in text


def test_ranks_and_shapes() -> None:
    def product(x: te.Tensor) -> list[te.Tensor]:
        k0 = te.reduce_axis((0, x.shape[0]), "k0")
        k1 = te.reduce_axis((1, x.shape[1]), "k1")
        total = te.compute((), lambda: te.sum(x[k0, k1], axis=[k0, k1]), name="total")
        k1 = te.reduce_axis((1, x.shape[1]), "k1")
        part = te.compute(x.shape[:1], lambda i: te.max(x[i, k1], axis=k1, where=k1 < 4))
        spread = te.compute((2, *x.shape), lambda b, i, j: total[()] * part[i] + x[i, j] * b)
        return [total, part, spread]

    want = X[:, 1:].sum(), X[:, 1:4].max(1)
    spread = want[0] * want[1][:, None] + X * np.arange(2, dtype="float32")[:, None, None]
    check([
        Case("product", product, [X], [*want, spread], ["nm"]),
        Case("empty", product, [X[:, :1]], [np.float32(0), np.full(5, -np.inf, "float32"),
             np.full((2, 5, 1), np.nan, "float32")]),
        Case("other", product, [X[:1]], [X[:1, 1:].sum(), X[:1, 1:4].max(1),
             X[:1, 1:].sum() * X[:1, 1:4].max(1)[:, None]
             + X[:1] * np.arange(2, dtype="float32")[:, None, None]]),
    ])  # fmt: skip


def test_several_outputs_and_combiners() -> None:
    argmax = te.comm_reducer(
        lambda x, y: (
            tir.Select(x[1] >= y[1], x[0], y[0]),
            tir.Select(x[1] >= y[1], x[1], y[1]),
        ),
        lambda place, value: (te.const(-1, place), te.min_value(value)),
        name="argmax",
    )

    def places(x: te.Tensor) -> Any:
        k = te.reduce_axis((0, x.shape[1]), "k")
        return te.compute(x.shape[:1], lambda i: argmax((k, x[i, k]), axis=k), name="best")

    def both(x: te.Tensor) -> Any:
        return te.compute(x.shape, lambda i, j: (x[i, j] + 1, x[i, j] > 0), name="both")

    def hypotenuse(x: te.Tensor) -> Any:
        reducer = te.comm_reducer(lambda a, b: tir.hypot(a, b), lambda t: te.const(0, t), "hypot")
        k = te.reduce_axis((0, x.shape[1]), "k")
        return te.compute(x.shape[:1], lambda i: reducer(x[i, k], axis=k), name="length")

    def truths(x: te.Tensor) -> Any:
        k, r = te.reduce_axis((0, x.shape[1]), "k"), te.reduce_axis((0, x.shape[1]), "r")
        every = te.compute(x.shape[:1], lambda i: te.all(x[i, k] > -1, axis=k), name="every")
        some = te.compute(x.shape[:1], lambda i: te.any(x[i, r] > 1.9, axis=r), name="some")
        return [every, some]

    check([
        Case("places", places, [X], [X.argmax(1), X.max(1)], ["nm"]),
        Case("both", both, [X], [X + 1, X > 0], ["nm"]),
        Case("hypotenuse", hypotenuse, [X], np.linalg.norm(X, axis=1), ["nm"]),
        Case("truths", truths, [X], [(X > -1).all(1), (X > 1.9).any(1)], ["nm"]),
    ])  # fmt: skip
    assert te.max(te.const(3), 4).value == 4


def test_scalar_functions_and_promotion() -> None:
    ints = random(6, dtype="int32", low=-20, high=20)
    bytes_ = random(6, dtype="uint8", low=0, high=255)
    flat = X[0, :6].copy()

    def each(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: te.compute(xs[0].shape, lambda i: function(*(x[i] for x in xs), i))

    at = np.arange(6)
    check([
        Case("truncdiv", each(lambda a, i: tir.truncdiv(a, 7)), [ints],
             np.trunc(ints / 7).astype("int32"), ["n"]),
        Case("truncmod", each(lambda a, i: tir.truncmod(a, 7)), [ints],
             np.fmod(ints, 7).astype("int32"), ["n"]),
        Case("floordiv", each(lambda a, i: a // 7), [ints], ints // 7, ["n"]),
        Case("floormod", each(lambda a, i: tir.floormod(a, 7)), [ints], ints % 7, ["n"]),
        Case("wide", each(lambda a, i: a + i), [ints], ints + at, ["n"]),
        Case("index", each(lambda a, i: tir.indexdiv(i, 2) * 2 + tir.indexmod(i, 2)), [ints], at,
             ["n"]),
        Case("float_", each(lambda a, i: a * i), [flat], (flat * at).astype("float32"), ["n"]),
        Case("signed", each(lambda a, b, i: a + b), [ints.astype("int8"), bytes_],
             ints.astype("int8") + bytes_.view("int8"), ["n", "n"]),
        Case("counts", each(lambda a, i: (a > 0) + (a > 5)), [ints],
             ((ints > 0).astype("int32") + (ints > 5)), ["n"]),
        Case("shifts", each(lambda a, i: (a >> 1) << 2), [ints], (ints >> 1) << 2, ["n"]),
        Case("bits", each(lambda a, i: ~a & 255 ^ 3), [ints], ~ints & 255 ^ 3, ["n"]),
        Case("ones", each(lambda a, i: tir.popcount(a)), [bytes_],
             np.array([bin(x).count("1") for x in bytes_], "uint8"), ["n"]),
        Case("power", each(lambda a, i: tir.pow(tir.abs(a), 1.5)), [flat], abs(flat) ** 1.5,
             ["n"]),
        Case("logic", each(lambda a, i: tir.any(tir.all(a > 0, i > 2), tir.Not(a < 1))), [flat],
             ((flat > 0) & (at > 2)) | ~(flat < 1), ["n"]),
        Case("half", each(lambda a, i: a * 2.5), [flat.astype("float16")],
             flat.astype("float16") * np.float16(2.5), ["n"], 1e-3),
        Case("casts", each(lambda a, i: a.astype("int8").astype("float64")), [flat],
             flat.astype("int8").astype("float64"), ["n"]),
        Case("sizes", lambda x: te.compute(x.shape, lambda i: x.shape[0] - i), [flat], 6 - at,
             ["n"]),
    ])  # fmt: skip


def test_guards_keep_loads_inside() -> None:
    def shifted(x: te.Tensor) -> te.Tensor:
        n = x.shape[0]
        return te.compute(
            (n,), lambda i: tir.if_then_else(tir.all(i >= 2, i < n), x[i - 2], 0.0), name="shifted"
        )

    def twice(x: te.Tensor) -> te.Tensor:
        """Read within the tensor although the parts of the index alone would not be."""
        return te.compute(x.shape, lambda i: x[i * 2 - i], name="twice")

    flat = X[0].copy()
    check([
        Case("shifted", shifted, [flat], np.concatenate([[0, 0], flat[:-2]]).astype("float32"),
             ["n"]),
        Case("twice", twice, [flat], flat, ["n"]),
    ])  # fmt: skip


def test_extern() -> None:
    def swapped(x: te.Tensor) -> Any:
        def body(ins: list[Any], outs: list[Any]) -> None:
            ib = tir.ir_builder.create()
            source, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
            seen = ib.allocate("float32", [1], "seen")
            seen[0] = 0.0
            with ib.for_range(0, x.shape[0], "i") as i:
                row = ib.let("row", i * x.shape[1])
                with ib.for_range(0, x.shape[1], "j", kind="serial") as j:
                    seen[0] += source[i, j]
                    with ib.if_scope(source[i, j] > 0):
                        out[i, j] = seen[0]
                    with ib.else_scope():
                        out[row + j] = -1

        return te.extern(x.shape, [x], body, name="swapped")

    sums = np.cumsum(X.ravel()).reshape(X.shape)
    check([Case("swapped", swapped, [X], np.where(X > 0, sums, -1).astype("float32"), ["nm"])])


def test_kernels_are_recognised() -> None:
    """What the library writes becomes vector code, as what legalisation writes does."""
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, m), name="a"), te.placeholder((m, 64), name="b")
    image, kernel = te.placeholder((1, 16, 20, 20), name="x"), te.placeholder((8, 16, 3, 3))
    wanted = [
        ([a, b, topi.matmul(a, b)], ["contraction"]),
        ([a, topi.exp(topi.add(a, 1))], ["elementwise", "elementwise"]),
        ([a, topi.sum(a, 1)], ["reduction"]),
        ([a, topi.transpose(a)], ["injective"]),
        ([a, topi.nn.softmax(a)], ["reduction", "broadcast", "reduction", "broadcast"]),
        ([image, kernel, topi.nn.conv2d(image, kernel, 1, 0, 1)], ["window"]),
    ]
    for tensors, kinds in wanted:
        module = te.create_prim_func(tensors).module
        with module.context:
            found = classify(module["main"].mlir_op)
        assert [info.kind for info in found] == kinds
        assert all(info.fast for info in found), found


def test_deep_and_shared_expressions() -> None:
    """Neither long sums nor what occurs twice at every level cost more than their size."""
    A = te.placeholder((4,), name="A")

    def long(i: Any) -> Any:
        total: Any = A[i]
        for _ in range(3000):
            total = total + 1.0
        return total

    def shared(i: Any) -> Any:
        value: Any = A[i]
        for _ in range(60):
            value = value + value
        return value

    for function, count in ((long, 3000), (shared, 60)):
        B = te.compute((4,), function, name="B")
        assert te.create_prim_func([A, B]).module.as_text().count("arith.addf") == count


def test_views_of_a_stage() -> None:
    n = tir.Var("n")
    A = te.placeholder((n, 4), "float16", name="A")
    B = te.compute((n, 4), lambda *i: A[i] * 2, name="B", tag="twice", attrs={"k": 1})
    assert repr(A) == "Tensor(shape=[n, 4], dtype=float16, op.name=A)"
    assert (B.op.tag, B.op.attrs, B.op.name, B.op.num_outputs) == ("twice", {"k": 1}, "B", 1)
    assert [axis.name for axis in B.op.axis] == ["i0", "i1"]
    assert repr(B.op.body[0]) == "(A[i0, i1] * 2.0)"
    assert B.op.output(0) is B
    assert (A + B).dtype == "float16"
    assert topi.add(A, B).op.input_tensors == [A, B]


@pytest.mark.parametrize("module", [te, tir, topi, topi.nn])
def test_names_are_listed_and_found(module: Any) -> None:
    for name in dir(module):
        if not name.startswith("_"):
            assert getattr(module, name) is not None


def test_arg_reductions_and_tags() -> None:
    n, m = te.var("n"), te.size_var("m")
    a = te.placeholder((n, m), name="a")
    x = np.random.default_rng(0).integers(0, 4, (6, 7)).astype("float32")
    x[1] = -np.inf
    x[2, 3] = x[2, 5] = np.nan
    for reducer, reference in ((te.argmax, np.argmax), (te.argmin, np.argmin)):
        k = te.reduce_axis((0, m), name="k")
        with te.tag_scope(tag="arg"):
            where, best = te.compute((n,), lambda i, f=reducer, k=k: f((k, a[i, k]), axis=k))
        assert where.op.tag == "arg"
        index, value = np.zeros(6, "int64"), np.zeros(6, "float32")
        module = te.create_prim_func([a, where, best])
        relax.VirtualMachine(relax.build(module))["main"](x, index, value)
        np.testing.assert_array_equal(index, reference(x, 1))
        np.testing.assert_array_equal(value, np.take_along_axis(x, index[:, None], 1)[:, 0])
    assert te.compute((n,), lambda i: a[i, 0]).op.tag == ""


def test_calls_of_c_functions() -> None:
    a = te.placeholder((5,), name="a")
    roots = te.compute((5,), lambda i: tir.call_extern("float32", "cbrtf", a[i]) + 1.0)
    copy = te.extern(
        (5,),
        [roots],
        lambda ins, outs: tir.call_extern("void", "memcpy", outs[0], ins[0], te.const(20, "int64")),
        name="copy",
    )
    module = te.create_prim_func([a, copy])
    assert_structural_equal(module, from_source(script(module))["main"])
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    relax.VirtualMachine(relax.build(module))["main"](x, y)
    np.testing.assert_allclose(y, np.cbrt(x) + 1, rtol=1e-6)
    with pytest.raises(ExprTypeError, match="takes the name of a packed function first"):
        tir.call_packed(1)
    with pytest.raises(ExprTypeError, match="passes numbers, strings and buffers"):
        tir.call_packed("f", object())
    with pytest.raises(ExprError, match="the name of a C function"):
        tir.call_extern("float32", "no name")
    with pytest.raises(ExprError, match="dtype"):
        tir.call_extern("float31", "f")


def test_a_packed_function_and_a_loop_with_a_condition() -> None:
    @relax_mlir.register_func("test.te_product", override=True)
    def product(a, b, c, turned, text) -> None:
        assert text == "text"
        np.from_dlpack(c)[:] = np.from_dlpack(a) @ (np.from_dlpack(b).T if turned else b)

    def halve(ins: Any, outs: Any) -> None:
        ib = tir.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with pytest.raises(ExprTypeError, match="buffer_ptr takes one of the buffers"):
            ib.buffer_ptr(3)
        with ib.for_range(0, 5) as i:
            result[i] = source[0, i]
            with ib.while_loop(result[i] > 1.0):
                result[i] = result[i] * 0.5

    n = te.var("n")
    a, b = te.placeholder((n, 4), name="a"), te.placeholder((5, 4), name="b")
    c = te.extern(
        (n, 5), [a, b], name="c", dtype="float32",
        fcompute=lambda ins, outs: tir.call_packed(
            "test.te_product", ins[0], ins[1], outs[0], True, "text"
        ),
    )  # fmt: skip
    module = te.create_prim_func([a, b, te.extern((5,), [-c], halve, name="d")])
    x, y = np.full((3, 4), -2, "f4"), np.arange(20, dtype="f4").reshape(5, 4)
    result = np.zeros(5, "f4")
    relax_mlir.build(module, name="halved")(x, y, result)
    expected = 2 * y.sum(-1)
    while (expected > 1).any():
        expected = np.where(expected > 1, expected * np.float32(0.5), expected)
    np.testing.assert_array_equal(result, expected)
    assert_structural_equal(module, from_source(script(module))["main"])


def test_prim_funcs_get_attributes_and_become_modules() -> None:
    a = te.placeholder((4, 8), name="A")
    double = te.create_prim_func([a, te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="B")])
    half = te.create_prim_func([a, te.compute((4, 8), lambda i, j: a[i, j] / 2.0, name="B")])
    named = double.with_attr("global_symbol", "twice").with_attr({"tir.noalias": True, "note": 3})
    assert "def twice(" in named.script()
    assert '"note": 3' in named.script()
    assert "twice" not in double.script()
    both = tir.build(IRModule({"twice": named, "half": half.with_attr("global_symbol", "other")}))
    data, out = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    for name, factor in (("twice", 2), ("half", 0.5)):
        both[name](data, out)
        np.testing.assert_array_equal(out, data * factor)
    noted = IRModule({"a": double, "b": half}).with_attr("note", 3)
    assert noted.attrs == {"note": 3}


def test_one_output_is_a_tensor_however_it_is_asked_for():
    a = te.placeholder((4, 3), name="a")
    one = te.compute((4, 3), lambda i, j: (a[i, j] + 1.0,))

    def copied(ins, outs):
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, "i") as i:
            target[i, 0] = source[i, 0]
        return ib.get()

    other = te.extern([(4, 3)], [one], copied, dtype="float32")
    state = te.placeholder((4, 3), name="state")
    first = te.compute((1, 3), lambda _, j: other[0, j])
    step = te.compute((4, 3), lambda t, j: state[t - 1, j] + other[t, j])
    last = te.scan([first], [step], [state])
    assert all(isinstance(each, te.Tensor) for each in (one, other, last))


@T.prim_func
def _product(a: T.handle, b: T.handle, c: T.handle):
    n, m, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    t = T.alloc_buffer((n, m), "float32")
    for i, j, p in T.grid(n, m, k):
        with T.block("sum"):
            vi, vj, vp = T.axis.remap("SSR", [i, j, p])
            with T.init():
                t[vi, vj] = 0.0
            t[vi, vj] = t[vi, vj] + A[vi, vp] * B[vp, vj]
    for i, j in T.grid(n, m):
        with T.block("plus"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = t[vi, vj] + 1.0


@pytest.mark.parametrize("sizes", [(4, 5, 6), ("m", "i", "n"), (4, "k", "k")])
def test_a_prim_func_is_a_stage(sizes: tuple[Any, ...]) -> None:
    """`te.extern_primfunc`: symbols become those of the tensors, whatever their names."""
    n, m, k = (te.var(each) if isinstance(each, str) else each for each in sizes)
    X, Y = te.placeholder((n, k), name="X"), te.placeholder((k, m), name="Y")
    Z = te.extern_primfunc([topi.nn.relu(X), Y], _product)
    assert Z.op.name == "_product"
    func = te.create_prim_func([X, Y, Z * 2.0])
    assert_structural_equal(from_source(func.script())["main"], func)
    known = {"m": 3, "i": 2, "n": 7, "k": 5}
    rows, columns, inner = (known.get(each, each) for each in sizes)
    x, y = random(rows, inner), random(inner, columns)
    out = np.zeros((rows, columns), "float32")
    tir.build(func)["main"](x, y, out)
    np.testing.assert_allclose(out, 2 * (np.maximum(x, 0) @ y + 1), rtol=1e-5, atol=1e-5)


def test_prim_funcs_in_a_row_have_blocks_of_their_own() -> None:
    X = te.placeholder((5, 5), name="X")
    Y = te.extern_primfunc([te.extern_primfunc([X, X], _product), X], _product, name="again")
    func = te.create_prim_func([X, Y])
    assert_structural_equal(from_source(func.script())["main"], func)
    sch = tir.Schedule(func)
    sch.compute_inline("plus")
    sch.compute_at("sum", sch.get_loops("sum_1")[0])
    with pytest.raises(ExprError, match="reads 2 buffers that it does not write, A, B; got 1"):
        te.extern_primfunc([X], _product)
    with pytest.raises(ExprError, match=r"'k' is 5 and 4 by the shape of 'W'"):
        te.extern_primfunc([X, te.placeholder((4, 5), name="W")], _product)
    with pytest.raises(ExprError, match=r"the tensor 'W' \(5,\) of float32"):
        te.extern_primfunc([X, te.placeholder((5,), name="W")], _product)
    with pytest.raises(ExprTypeError, match="takes tensors, got 3"):
        te.extern_primfunc([X, 3], _product)
