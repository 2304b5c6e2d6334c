"""`relax.BlockBuilder`: what it emits, what it is called, where it came from, what it computes."""

import numpy as np
import pytest

from relax_mlir import IRModule, relax, tir
from relax_mlir.errors import BuilderError
from relax_mlir.relax import op
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


def tensor(*dims: object, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(dims, dtype)


def run(mod: IRModule, *args: object, name: str = "main") -> object:
    return relax.VirtualMachine(relax.build(mod))[name](*args)


def perceptron(weights: list[np.ndarray]) -> IRModule:
    """Build a network of dense layers over a batch of any size."""
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((n, weights[0].shape[0]), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            h = x
            for w in weights[:-1]:
                h = bb.emit(op.nn.relu(h @ w + 0.5))
            probabilities = bb.emit_output(op.nn.softmax(h @ weights[-1]))
        bb.emit_func_output(probabilities)
    return bb.finalize()


@pytest.mark.parametrize("batch", [0, 1, 7, 64])
def test_perceptron_with_any_batch(batch: int) -> None:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(s).astype("float32") for s in ((64, 32), (32, 16), (16, 10))]
    x = rng.standard_normal((batch, 64)).astype("float32")
    expected = x
    for w in weights[:-1]:
        expected = np.maximum(expected @ w + 0.5, 0)
    expected = np.exp(expected @ weights[-1] - (expected @ weights[-1]).max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(run(perceptron(weights), x), expected, rtol=1e-4, atol=1e-6)


def test_example_of_the_document() -> None:
    """The document's staging example, in today's spelling."""
    bb = relax.BlockBuilder()
    n, m = tir.Var("n"), tir.Var("m")
    x = relax.Var("x", [n, m], relax.DynTensorType(2, "float32"))
    y = relax.Var("y", [n], relax.DynTensorType(1, "float32"))
    with bb.function("func", [x, y]):
        with bb.dataflow():
            lv0 = bb.emit(op.add(x, op.reshape(y, (n, 1))))
            assert lv0.shape.values == (n, m)
            assert lv0.checked_type == relax.DynTensorType(2, "float32")
            lv1 = bb.emit(op.multiply(lv0, lv0))
            gv = bb.emit_output(lv1)
        bb.emit_func_output(gv)
    func = relax.Function.of(bb.get()["func"])
    assert [p.name_hint for p in func.params] == ["x", "y"]
    assert func.params[0] == x
    assert func.body.body == gv
    (block,) = func.body.blocks
    assert isinstance(block, relax.DataflowBlock)
    assert len(block.bindings) == 3
    a, b = np.ones((3, 2), "float32"), np.arange(3, dtype="float32")
    np.testing.assert_allclose(run(bb.get(), a, b, name="func"), (a + b[:, None]) ** 2)


def test_names_and_kinds_of_variables() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        assert relax.BlockBuilder.current() is bb
        assert not bb.current_block_is_dataflow()
        with bb.dataflow():
            assert bb.current_block_is_dataflow()
            a, b = bb.emit(x + 1), bb.emit(x + 2)
            named = bb.emit(x * 2, name_hint="twice")
            again = bb.emit(x * 2, "twice")
            gv = bb.emit_output(a + b, "sum")
        outside = bb.emit(gv + 1)
        assert bb.get_unique_name("twice") == "twice2"
        bb.emit_func_output(outside)
    assert relax.BlockBuilder.current() is None
    assert [v.name_hint for v in (a, b, named, again, gv, outside)] == [
        "lv", "lv1", "twice", "twice1", "sum", "gv",
    ]  # fmt: skip
    assert [type(v) for v in (a, gv, outside)] == [relax.DataflowVar, relax.Var, relax.Var]


def test_nested_calls_become_bindings_of_their_own() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n", 4))
    with bb.function("main", [x]):
        with bb.dataflow():
            gv = bb.emit_output(op.exp(op.add(x, op.sqrt(x))))
        bb.emit_func_output(gv)
    (block,) = relax.Function.of(bb.get()["main"]).body.blocks
    assert [b.value.op.name for b in block.bindings] == ["relax.sqrt", "relax.add", "relax.exp"]
    assert all(isinstance(a, relax.Var) for b in block.bindings for a in b.value.args)


def test_a_shared_part_is_emitted_once() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor(4))
    with bb.function("main", [x]):
        part = op.exp(x)
        bb.emit_func_output(part + part)
    (block,) = relax.Function.of(bb.get()["main"]).body.blocks
    assert [b.value.op.name for b in block.bindings] == ["relax.exp", "relax.add"]


def test_several_outputs_and_uses_after_the_block() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit_output(x + 1, "a")
            b = bb.emit_output(a * 2, "b")
        with bb.dataflow():
            c = bb.emit_output(a + b, "c")
        bb.emit_func_output([a, (b, c)])
    mod = bb.get()
    mod.verify()
    value = np.arange(3, dtype="float32")
    first, (second, third) = run(mod, value)
    np.testing.assert_array_equal(first, value + 1)
    np.testing.assert_array_equal(second, (value + 1) * 2)
    np.testing.assert_array_equal(third, (value + 1) * 3)
    func = relax.Function.of(mod["main"])
    assert func.body.blocks[0].outputs == [a, b]
    assert {a: 1}[func.body.blocks[1].bindings[0].value.args[0]] == 1
    assert from_source(mod.script()).script() == mod.script()


def test_an_output_may_be_a_parameter() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor(2))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(x)
        bb.emit_func_output(y)
    bb.get().verify()
    np.testing.assert_array_equal(run(bb.get(), np.ones(2, "float32")), np.ones(2, "float32"))


def test_parameters_may_be_given_at_the_end() -> None:
    bb = relax.BlockBuilder()
    x, y, z = (relax.Var(name, tensor("n")) for name in "xyz")
    with bb.function("main"):
        difference = bb.emit(y - x)
        bb.emit_func_output(difference, params=[x, z, y])
    mod = bb.get()
    mod.verify()
    ones = np.ones(3, "float32")
    np.testing.assert_array_equal(run(mod, ones, ones * 9, ones * 3), ones * 2)
    assert [p.name_hint for p in relax.Function.of(mod["main"]).params] == ["x", "z", "y"]


def test_no_parameters_is_said() -> None:
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(relax.const([1.0, 2.0]))
    np.testing.assert_array_equal(run(bb.get()), np.array([1, 2], "float32"))


def test_match_cast_and_match_shape() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor)
    with bb.function("main", [x]):
        a = bb.match_cast(x, R.Tensor(("n", "m"), "float32"))
        b = bb.match_shape(x, [tir.Var("n"), tir.Var("m")])
        s = bb.match_shape(op.shape_of(x), ("n", "m"), name_hint="s")
        assert (a.dtype, a.ndim, str(a.shape)) == ("float32", 2, "R.shape([n, m])")
        assert b.dtype == ""
        assert s.name_hint == "s"
        bb.emit_func_output(a + 1)
    value = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(run(bb.get(), value), value + 1)
    casts = [
        b
        for block in relax.Function.of(bb.get()["main"]).body.blocks
        for b in block.bindings
        if isinstance(b, relax.MatchCast)
    ]
    assert len(casts) == 3
    assert casts[0].value == x
    assert [str(d) for d in casts[0].pattern] == ["n", "m"]


def test_bindings_written_out() -> None:
    """The document's binding classes as a person writes them."""
    n, m = tir.Var("n"), tir.Var("m")
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(ndim=2, dtype="float32"))
    y, s, z = relax.Var("y"), relax.Var("s"), relax.Var("z")
    with bb.function("main", [x]):
        bb.emit_normalized(relax.MatchShape(x, [n, m], y))
        bb.emit_normalized(relax.MatchShape(op.shape_of(y), (n, m), s))
        bb.emit_normalized(relax.VarBinding(z, y + 1))
        assert y.ty == tensor(n, m)
        assert s.ty == relax.ShapeType((n, m))
        bb.emit_func_output(z)
    names = [b.var.name_hint for b in relax.Function.of(bb.get()["main"]).body.blocks[0].bindings]
    assert names == ["y", "gv", "s", "z"]
    np.testing.assert_array_equal(run(bb.get(), np.ones((2, 3), "float32")), np.full((2, 3), 2.0))


def test_call_forms() -> None:
    """Prim funcs, packed functions, other functions, closures."""
    prim = from_source("""
@T.prim_func
def add_k(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), k: T.int64):
    for i in range(n):
        with T.block("b"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.cast(k, "float32")
""")
    n = tir.Var("n")
    bb = relax.BlockBuilder()
    gv_prim = bb.add_func(prim, "add_k")
    x = relax.Var("x", tensor(n))
    with bb.function("helper", [x], private=True):
        bb.emit_func_output(x * 3)
    y = relax.Var("y", tensor(n, 4))
    with bb.function("main", [y]):
        flat = bb.emit(op.flatten(y))
        added = bb.emit(op.call_tir(gv_prim, [flat], tensor(n * 4), tir_vars=[n]))
        assert added.ty == tensor(n * 4)
        tripled = bb.emit(relax.GlobalVar("helper")(added))
        assert tripled.ty == tensor(n * 4)
        bb.emit(op.call_packed("vm.builtin.print", tripled))
        closure = bb.emit(op.make_closure(relax.GlobalVar("helper"), ()))
        called = bb.emit(closure(tripled))
        result = bb.match_cast(called, tensor(n * 4))
        bb.emit_func_output(result)
    mod = bb.get()
    mod.verify()
    value = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(run(mod, value), np.full(8, 27, "float32"))
    calls = [b.value for b in relax.Function.of(mod["main"]).body.blocks[0].bindings]
    assert [str(type(c.op).__name__) for c in calls if isinstance(c, relax.Call)] == [
        "Op", "Op", "GlobalVar", "ExternFunc", "Op", "Var",
    ]  # fmt: skip
    assert calls[1].args[0] == gv_prim
    assert list(calls[1].args[1].fields) == [flat]
    assert calls[1].attrs.tir_vars == [n]


def test_if() -> None:
    bb = relax.BlockBuilder()
    x, c = relax.Var("x", tensor("n")), relax.Var("c", tensor(dtype="bool"))
    with bb.function("main", [x, c]):
        with bb.if_(c) as branch:
            with branch.then_():
                branch.yield_(bb.emit(x + 1) * 2)
            with branch.else_():
                branch.yield_(x)
        other = bb.emit(relax.If(c, x * 2, op.exp(x)))
        bb.emit_func_output((branch.result, other))
    mod = bb.get()
    mod.verify()
    value = np.arange(3, dtype="float32")
    for flag in (True, False):
        first, second = run(mod, value, np.array(flag))
        np.testing.assert_array_equal(first, (value + 1) * 2 if flag else value)
        np.testing.assert_allclose(second, value * 2 if flag else np.exp(value), rtol=1e-5)
    value_of = relax.Function.of(mod["main"]).body.blocks[0].bindings[0].value
    assert isinstance(value_of, relax.If)
    assert value_of.cond == c
    assert value_of.false_branch.body == x


def test_loops() -> None:
    """Loops of the graph with carried values, which TVM has none of."""
    n = tir.Var("n")
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor(n, 4))
    with bb.function("main", [x]):
        with bb.while_([x, 0]) as loop:
            with loop.cond() as (_, i):
                loop.yield_(i < 3)
            with loop.body() as (y, i):
                loop.yield_(y * 2, i + 1)
        doubled, count = loop.results
        with bb.for_((0, n), [doubled]) as loop, loop.body() as (i, z):
            loop.yield_(z + z[i])
        grown = relax.TensorType(None, "float32", ndim=2)
        with bb.for_(2, [x], types=[grown]) as growing, growing.body() as (_, z):
            growing.yield_(op.concat([z, z], axis=0))
        last = op.full((count.value,), 1.0, "float32")
        bb.emit_func_output((doubled, loop.results[0], growing.results[0], last))
    mod = bb.get()
    mod.verify()
    assert from_source(mod.script()).script() == mod.script()
    value = np.arange(12, dtype="float32").reshape(3, 4)
    first, second, third, last = run(mod, value)
    expected = value * 8
    np.testing.assert_array_equal(first, expected)
    for i in range(3):
        expected = expected + expected[i]
    np.testing.assert_array_equal(second, expected)
    np.testing.assert_array_equal(third, np.concatenate([value] * 4))
    np.testing.assert_array_equal(last, np.ones(3, "float32"))
    loops = [
        b.value
        for b in relax.Function.of(mod["main"]).body.blocks[0].bindings
        if isinstance(b.value, (relax.While, relax.For))
    ]
    assert [type(each) for each in loops] == [relax.While, relax.For, relax.For]
    assert loops[0].initial[0] == x
    assert [v.name_hint for v in loops[0].loop_vars] == ["x1", "v"]
    assert loops[1].index.name_hint == "i"
    assert [str(b.value) for b in loops[1].bounds] == ["0", "n", "1"]


def test_in_place_calls() -> None:
    """`call_tir_inplace` writes over an argument that nobody uses after it."""
    prim = from_source("""
@T.prim_func
def add_one(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            A[vi] = A[vi] + T.float32(1)
""")
    bb = relax.BlockBuilder()
    gv = bb.add_func(prim, "add_one")
    x = relax.Var("x", tensor(4))
    with bb.function("main", [x]):
        y = bb.emit(x * 2)
        z = bb.emit(op.call_tir_inplace(gv, [y], 0, tensor(4)))
        bb.emit_func_output(z)
    bb.get().verify()
    call = bb.lookup_binding(z)
    assert (call.op.name, call.attrs.inplace_indices) == ("relax.call_tir_inplace", [0])
    ones = np.ones(4, "float32")
    np.testing.assert_array_equal(run(bb.get(), ones), np.full(4, 3, "float32"))
    np.testing.assert_array_equal(ones, np.ones(4))


def test_lookup_binding_and_normalize() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(op.exp(x))
            assert bb.lookup_binding(lv).op.name == "relax.exp"
            assert bb.lookup_binding(x) is None
            normal = bb.normalize(op.add(op.sqrt(lv), lv))
            assert all(isinstance(arg, relax.Var) for arg in normal.args)
            assert normal.ty == tensor("n")
            gv = bb.emit_output(normal)
        assert bb.lookup_binding(gv).op.name == "relax.add"
        bb.emit_func_output(gv)


def test_a_function_with_its_output_is_in_the_module() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor(4))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
        assert bb.get().function_names == ["main"]
        with pytest.raises(BuilderError, match="outside of a function"):
            bb.emit(op.exp(x))
    with bb.function("again", [x]):
        bb.emit_func_output(x)
    assert bb.finalize().function_names == ["main", "again"]


def test_external_functions_are_no_values() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor(4))
    with bb.function("main", [x]):
        func = bb.emit(relax.ExternFunc("f"))
        y = bb.emit(relax.call_dps_packed(func, x, tensor(4)))
        bb.emit_func_output(y)
    assert len(bb.get()["main"].body.blocks[0].bindings) == 1


def test_memory_that_is_not_set() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        y = bb.emit(op.builtin.alloc_tensor(x.ty.shape, "float32", 0))
        bb.emit_func_output(bb.emit(op.shape_of(y)))
    assert "R.builtin.alloc_tensor(R.shape([n])" in bb.get().script()
    assert tuple(run(bb.get(), np.ones(3, "float32"))) == (3,)


def test_outputs_are_in_the_order_of_bindings() -> None:
    texts = []
    for order in (0, 1), (1, 0):
        bb = relax.BlockBuilder()
        x = relax.Var("x", tensor(4))
        with bb.function("main", [x]):
            with bb.dataflow():
                made = [bb.emit(op.exp(x)), bb.emit(op.sin(x))]
                out = {index: bb.emit_output(made[index]) for index in order}
            bb.emit_func_output(relax.Tuple([out[0], out[1]]))
        texts.append(bb.get().script())
    assert texts[0] == texts[1]
