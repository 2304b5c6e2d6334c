"""Views of programs as the AST classes of TVM, their types and shape field."""

import gc
import inspect
import threading

import numpy as np
import pytest

from relax_mlir import IRModule, ir, relax, tir, transform
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax import op
from relax_mlir.relax.expr import as_type, functions, get_shape_of, shape_kind, view
from relax_mlir.script import from_source
from relax_mlir.script import relax as R

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, R.const(1.0))
            s: R.Shape = R.call_packed("shape_func", R.shape([n, 4]))
            d = R.call_dps_packed("fill", (a,), out_sinfo=R.Tensor(s, dtype="float32"))
            u = R.unique(R.flatten(d))
            R.output(b, u)
        e = R.match_cast(u, R.Tensor((m,), "float32"))
        if c:
            g = R.multiply(b, b)
        else:
            g = b
        t = (g, e)
        return t[0]
"""


@pytest.fixture(scope="module")
def mod() -> IRModule:
    return from_source(PROGRAM)


@pytest.fixture
def func(mod: IRModule) -> relax.Function:
    return relax.Function.of(mod["main"], mod)


def test_function(mod: IRModule, func: relax.Function) -> None:
    assert func.name == "main"
    assert [p.name_hint for p in func.params] == ["x", "c"]
    assert func.params[0].ty == relax.TensorType(("n", 4), "float32")
    assert func.ret_type == relax.TensorType(("n", 4), "float32")
    assert isinstance(func.body, relax.SeqExpr)
    assert not func.is_private
    assert func == relax.Function.of(mod["main"], mod)
    both = functions(mod)
    assert [type(f).__name__ for f in both.values()] == ["PrimFunc", "Function"]
    assert [isinstance(f, tir.PrimFunc) for f in both.values()] == [True, False]
    assert both["twice"].is_private
    assert "def main(" in func.script()


def test_blocks_and_bindings(func: relax.Function) -> None:
    dataflow, rest = func.body.blocks
    assert type(dataflow) is relax.DataflowBlock
    assert type(rest) is relax.BindingBlock
    names = [(type(b.var).__name__, b.var.name_hint) for b in dataflow.bindings]
    assert names == [
        ("DataflowVar", "a"), ("Var", "b"), ("DataflowVar", "s"), ("DataflowVar", "d"),
        ("DataflowVar", ""), ("Var", "u"),
    ]  # fmt: skip
    assert [v.name_hint for v in dataflow.outputs] == ["b", "u"]
    cast, branch, pair, first = rest.bindings
    assert isinstance(cast, relax.MatchCast)
    assert isinstance(cast, relax.MatchShape)
    assert cast.value == dataflow.outputs[1]
    assert cast.ty == relax.TensorType(("m",), "float32")
    assert isinstance(branch.value, relax.If)
    assert branch.value.cond == func.params[1]
    (inner,) = branch.value.true_branch.blocks
    assert inner.bindings[0].value.args == (dataflow.outputs[0], dataflow.outputs[0])
    assert branch.value.false_branch.body == dataflow.outputs[0]
    assert isinstance(pair.value, relax.Tuple)
    assert pair.value.fields == (branch.var, cast.var)
    assert isinstance(first.value, relax.TupleGetItem)
    assert (first.value.tuple_value, first.value.index) == (pair.var, 0)


def test_one_variable_inside_and_outside_of_its_block(func: relax.Function) -> None:
    dataflow, rest = func.body.blocks
    inside = dataflow.bindings[1].var
    (inner,) = rest.bindings[1].value.true_branch.blocks
    outside = inner.bindings[0].value.args[0]
    assert inside == outside
    assert hash(inside) == hash(outside)
    assert inside.same_as(outside)
    assert inside.mlir_value != outside.mlir_value
    assert {inside: 1}[outside] == 1
    assert inside != dataflow.bindings[0].var
    assert inside.vid == outside.vid


def test_calls(func: relax.Function) -> None:
    dataflow = func.body.blocks[0]
    exp, add, packed, dps, _, _ = (b.value for b in dataflow.bindings)
    assert exp.op is relax.expr.Op.get("relax.exp")
    assert exp.args == (func.params[0],)
    assert isinstance(add.args[1], relax.Constant)
    assert add.args[1].data == np.float32(1)
    assert packed.op.name == "relax.call_pure_packed"
    assert packed.args[0] == relax.ExternFunc("shape_func")
    assert [str(v) for v in packed.args[1].values] == ["n", "4"]
    assert dps.args[0].global_symbol == "fill"
    assert dps.args[1].fields == (dataflow.bindings[0].var,)
    assert dps.sinfo_args[0].ndim == -1


def test_the_three_cases_of_the_shape_field(func: relax.Function) -> None:
    dataflow = func.body.blocks[0]
    a, b, s, d, _, u = (b.var for b in dataflow.bindings)
    assert [shape_kind(v) for v in (a, b, d, u)] == ["V0", "V0", "V1", "V2"]
    assert isinstance(a.shape_, relax.ShapeExpr)
    assert get_shape_of(d) == s
    assert u.shape_ is None
    assert u.shape.op.name == "relax.shape_of"
    assert (u.ndim, u.dtype) == (1, "float32")
    assert a.checked_type == relax.DynTensorType(2, "float32")
    assert a.struct_info == a.ty
    with pytest.raises(ExprTypeError, match="only tensors have a shape"):
        get_shape_of(func.body.blocks[1].bindings[2].var)


def test_texts(func: relax.Function) -> None:
    dataflow, rest = func.body.blocks
    assert repr(dataflow.bindings[1]) == (
        'b: R.Tensor((n, 4), "float32") = R.add(a, R.const(1.0, "float32"))'
    )
    assert repr(rest.bindings[0]) == (
        'e: R.Tensor((m,), "float32") = R.match_cast(u, R.Tensor((m,), "float32"))'
    )
    deep = func.params[0]
    for _ in range(10_000):
        deep = -deep
    assert "..." in repr(deep)


def test_views_keep_the_module_alive() -> None:
    func = relax.Function.of(from_source(PROGRAM)["main"])
    (variable, *_) = [b.var for b in func.body.blocks[0].bindings]
    del func
    gc.collect()
    assert variable.ty == relax.TensorType(("n", 4), "float32")
    assert repr(variable) == "a"


def test_view_of_a_value(mod: IRModule, func: relax.Function) -> None:
    argument = mod["main"].mlir_op.regions[0].blocks[0].arguments[0]
    assert view(argument, mod) == func.params[0]
    assert func.params[0].mlir_value == argument


def test_types_as_people_write_them() -> None:
    n = tir.Var("n", "int64")
    expected = relax.TensorType((n, 4), "float32")
    for written in (
        R.Tensor(("n", 4), "float32"), R.Tensor((n, 4), "f32"), R.Tensor[(n, 4), "f32"],
        relax.TensorStructInfo([n, 4], np.float32), relax.TensorType(("n", "2 + 2"), "float32"),
        R.Tensor((n, 4), dtype="float32", ndim=2), R.Tensor(relax.ShapeExpr([n, 4]), "float32"),
    ):  # fmt: skip
        assert as_type(written) == expected
        assert hash(as_type(written)) == hash(expected)
    assert as_type(R.Tensor) == relax.TensorType(dtype=None)
    assert relax.TensorType((3,)) == relax.TensorType((3,), "float32")
    assert as_type(R.Tensor("float32")) == relax.TensorType(dtype="float32")
    assert as_type(R.Tensor(ndim=3)).shape is None
    assert as_type(R.Tuple(R.Object, R.Shape(ndim=2))).fields[1].ndim == 2
    assert as_type(R.Prim(value="n * 2")).value == n * 2
    assert as_type(R.Shape(("n", 1))).values == (n, 1)
    assert as_type(R.Callable((R.Object,), R.Object)).params == (relax.ObjectType(),)
    assert as_type(relax.ObjectType) == relax.AnyType()
    assert str(expected) == 'R.Tensor((n, 4), "float32")'
    for text, error in (
        (R.Tensor((4,), "floot"), ExprError), (R.Tensor((1.5,)), ExprTypeError), (3, ExprTypeError),
        (R.Tensor((2, 3), "float32", 4), ExprError), (R.Tensor(("n +",)), ExprError),
        (R.prim_func, ExprTypeError), (R.Prim("floot"), ExprError),
    ):  # fmt: skip
        with pytest.raises(error):
            as_type(text)


def test_types_of_expressions_not_emitted() -> None:
    n = tir.Var("n")
    x = relax.Var("x", R.Tensor((n, 4), "float32"))
    w = relax.Var("w", R.Tensor((4, 3), "float32"))
    assert (op.relu(x @ w) + 1).ty == relax.TensorType((n, 3), "float32")
    assert (x < 0).ty == relax.TensorType((n, 4), "bool")
    assert op.reshape(x, (-1,)).shape.values == (n * 4,)
    assert op.concat([x, x], axis=1).shape.values == (n, 8)
    assert relax.Tuple([x, w])[1] is w
    assert op.split(x, 2, axis=1)[0].ty == relax.TensorType((n, 2), "float32")
    assert x.sum(axis=[0]).shape.values == (4,)
    assert x.T.shape.values == (4, n)
    assert x.astype("float16").dtype == "float16"
    assert (relax.PrimValue(n) * 2 + 1).value == n * 2 + 1
    assert relax.const(1).dtype == "int32"
    assert relax.const(1.5).dtype == "float32"
    assert relax.const(np.arange(3)).dtype == "int64"
    with pytest.raises(ExprError, match="cannot be broadcast"):
        (x + relax.const([1.0, 2.0])).ty


def test_identity_and_truth() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    assert x == x
    assert x != relax.Var("x", R.Tensor((4,), "float32"))
    assert x + 1 != x + 1
    assert relax.ShapeExpr([4]) == relax.ShapeExpr([4])
    assert relax.GlobalVar("f") == relax.GlobalVar("f")
    with pytest.raises(ExprTypeError, match="no truth value"):
        bool(x < 1)
    with pytest.raises(ExprTypeError, match="only tuples can be unpacked"):
        list(x)
    with pytest.raises(AttributeError, match="no attribute 'summ'; did you mean 'sum'"):
        x.summ
    with pytest.raises(ExprTypeError, match="'add' takes expressions and numbers, got str"):
        x + "1"


def test_arrays_on_the_left() -> None:
    """An array leaves the operator to the expression instead of making an array of expressions."""
    x = relax.Var("x", R.Tensor((2, 2), "float32"))
    array = np.ones((2, 2), "float32")
    for made in (array + x, array @ x, np.float32(2) * x, array < x):
        assert isinstance(made, relax.Call)


def test_types_are_free_of_contexts() -> None:
    """A type written in one thread is used in another, whose MLIR context is another."""
    made: list[relax.Var] = []
    worker = threading.Thread(
        target=lambda: made.append(relax.Var("x", R.Tensor(("n",), "float32")))
    )
    worker.start()
    worker.join()
    bb = relax.BlockBuilder()
    with bb.function("main", made):
        bb.emit_func_output(made[0] * 2)
    bb.get().verify()


def test_values_of_another_thread_are_refused() -> None:
    held: list[relax.Var] = []

    def work() -> None:
        bb = relax.BlockBuilder()
        y = relax.Var("y", R.Tensor((2,), "float32"))
        with bb.function("f", [y]):
            bb.emit_func_output(y)
        held.extend(relax.Function.of(bb.get()["f"], bb.get()).params)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    bb = relax.BlockBuilder()
    with (
        pytest.raises(RuntimeError, match="another MLIR context"),
        bb.function("main", [relax.Var("x", R.Tensor((2,), "float32"))]),
    ):
        bb.emit(held[0] + 1)


SHAPES = {"static": (5, 4), "symbolic": ("n", "m"), "rank": None, "unknown": None}
SYMBOLIC = [
    "x + y", "x - y", "x * y", "x / (y + 2)", "x // 0.3", "x % 0.3", "x ** 2", "2 - x",
    "1 / (x + 1)", "-x", "abs(-x)", "x < y", "x <= y", "x > 0.5", "x >= 0.5", "0.5 < x",
    "(x + 1) * (y - 1)", "x @ y.T",
]  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_operators(kind: str) -> None:
    ndim = 2 if kind == "rank" else -1
    type_ = relax.TensorType(SHAPES[kind], "float32", ndim=ndim)
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", type_), relax.Var("y", type_)
    scope = {"x": x, "y": y}
    with bb.function("main", [x, y]):
        texts = [text.replace("y.T", "y.permute_dims()") for text in SYMBOLIC]
        bb.emit_func_output([eval(text, scope) for text in texts])
    a, b = np.random.default_rng(0).random((2, 5, 4), "float32")
    results = relax.VirtualMachine(relax.build(bb.get()))["main"](a, b)
    for text, result in zip(SYMBOLIC, results, strict=True):
        expected = eval(text, {"x": a, "y": b})
        assert result.dtype == expected.dtype, text
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6, err_msg=text)


INDICES = [
    "x[0]", "x[-1]", "x[1:3]", "x[:2, 1:]", "x[..., 1]", "x[:, None, 2]", "x[::2, 1:]",
    "x[-2:, -1]", "x[None]", "x[::-1]", "x[1:-1]", "x[..., None]", "x[3:3]", "x[:100]",
    "x[4, 3]", "x[:]",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["static", "symbolic"])
def test_indexing(kind: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(SHAPES[kind], "int32"))
    with bb.function("main", [x]):
        bb.emit_func_output([eval(text, {"x": x}) for text in INDICES])
    a = np.arange(20, dtype="int32").reshape(5, 4)
    results = relax.VirtualMachine(relax.build(bb.get()))["main"](a)
    for text, result in zip(INDICES, results, strict=True):
        np.testing.assert_array_equal(result, eval(text, {"x": a}), err_msg=text)


def test_symbolic_indices() -> None:
    n = tir.Var("n")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    with bb.function("main", [x]):
        half = bb.emit(x[: n // 2])
        last = bb.emit(x[n - 1])
        bb.emit_func_output((half, last, op.reshape(x, (x.shape[0] * 4,))))
    a = np.arange(20, dtype="float32").reshape(5, 4)
    half, last, flat = relax.VirtualMachine(relax.build(bb.get()))["main"](a)
    np.testing.assert_array_equal(half, a[:2])
    np.testing.assert_array_equal(last, a[4])
    np.testing.assert_array_equal(flat, a.reshape(-1))


def test_wrong_indices() -> None:
    x = relax.Var("x", relax.TensorType((5, 4), "float32"))
    for index, error in (
        ((0, 0, 0), IndexError), ((..., 0, ...), IndexError), (5, IndexError), (-6, IndexError),
        ("a", ExprTypeError), (1.5, ExprTypeError), (slice(0, 1, 0), ExprError),
        (True, ExprTypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            x[index]
    with pytest.raises(IndexError):
        relax.Var("t", R.Tuple(R.Object))[1]
    with pytest.raises(ExprError, match="not known here"):
        relax.Var("s", R.Shape(ndim=2))[0]
    assert relax.Var("s", R.Shape(("n", 2)))[1] == 2


@pytest.mark.parametrize(
    ("name", "mlir_name"),
    [
        ("relax.nn.conv2d", "relax.conv2d"), ("relax.image.resize2d", "relax.resize2d"),
        ("relax.vision.roi_align", "relax.roi_align"), ("relax.memory.view", "relax.memory_view"),
        ("relax.grad.no_grad", "relax.grad_no_grad"), ("relax.matmul", "relax.matmul"),
        ("relax.builtin.alloc_tensor", "relax.alloc_tensor"),
    ],
)  # fmt: skip
def test_operations_have_the_names_of_tvm(name: str, mlir_name: str) -> None:
    found = relax.expr.Op.get(name)
    assert (found.name, found.mlir_name) == (name, mlir_name)
    assert relax.expr.Op.get(mlir_name) is found
    assert str(found) == name.replace("relax.", "R.")
    assert name in relax.expr.Op.list_op_names()
    assert not found.has_attr("TOpPattern")
    assert found.get_attr("TOpPattern") is None


def test_lowered_operations_have_the_names_of_tvm() -> None:
    program = from_source("""
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")):
    storage = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
    y = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
    z = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
    R.memory.kill_tensor(y)
    return z
""")
    names = [binding.value.op.name for binding in program["main"].body.blocks[0].bindings]
    assert names == [
        "relax.vm.alloc_storage", "relax.vm.alloc_tensor", "relax.builtin.alloc_tensor",
        "relax.vm.kill_object",
    ]  # fmt: skip
    assert set(names) <= set(relax.expr.Op.list_op_names())


def test_rewritten_calls_are_calls_of_functions() -> None:
    program = from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.twice, (x,), R.Tensor((4,), "float32"))
        return R.call_dps_packed("packed", (y,), R.Tensor((4,), "float32"))
""")
    bindings = transform.CallTIRRewrite()(program)["main"].body.blocks[0].bindings
    calls = [binding.value for binding in bindings]
    assert [str(call.op) for call in calls] == [
        "R.builtin.alloc_tensor", "twice", "R.builtin.alloc_tensor", "packed",
    ]  # fmt: skip
    assert isinstance(calls[1].op, relax.GlobalVar)
    assert [str(arg) for arg in calls[1].args] == ["x", "y"]
    assert isinstance(calls[3].op, relax.ExternFunc)


def test_a_variable_of_int64_is_a_dimension() -> None:
    n = relax.Var("n", relax.PrimType("int64"))
    x = relax.Var("x", relax.TensorType((n, 3), "float32"))
    assert x.ty == relax.TensorType(("n", 3), "float32")
    func = relax.Function([n, x], relax.op.exp(x))
    assert 'n: R.Prim(value="n"), x: R.Tensor(("n", 3)' in func.script()
    assert ir.is_prim_var(n)
    assert ir.is_prim_var(relax.TensorType(("m",)).shape[0])
    assert not ir.is_prim_var(relax.TensorType(("m + 1",)).shape[0])
    assert ir.is_prim_expr(tir.Var("m", "int64") + 1)
    assert not ir.is_prim_expr(x)
    for wrong in (x, relax.Var("f", relax.PrimType("float32"))):
        with pytest.raises(ExprTypeError, match="made of integers and symbols"):
            relax.TensorType((wrong,))


def test_a_function_that_leaves_a_dataflow_block_keeps_its_signature() -> None:
    program = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        @R.function
        def twice(y: R.Tensor((4,), "float32")):
            return R.add(y, y)
        z = R.exp(x)
        R.output(twice, z)
    return R.exp(twice(z))
""")
    assert program["main"].ret_ty == relax.TensorType((4,), "float32")


def test_namespaces() -> None:
    assert op.nn.softmax is op.softmax
    assert op.nn.relu(relax.const([1.0])).op.name == "relax.nn.relu"
    assert "matmul" in dir(op)
    assert "softmax" in dir(op.nn)
    parameters = inspect.signature(op.softmax).parameters
    assert len(parameters) == 2
    assert parameters["axis"].default == -1
    assert "axis" in str(op.softmax.__doc__)
    n, m = tir.Var("n"), tir.SizeVar("m", "int64")
    assert tir.floordiv(n * 4, 2) == n * 2
    assert tir.ceildiv(n * 4 + 1, 4) == n + 1
    assert tir.floormod(n * 4, 4) == 0
    assert str(tir.max(n, m)) == "T.max(m, n)"
    assert n.name_hint == "n"
    for wrong in ("2n", 3):
        with pytest.raises(ExprError):
            tir.Var(wrong)


def test_what_a_type_or_shape_does_not_take() -> None:
    for made, sizes in ((relax.TensorType, [1, 2]), (relax.ShapeType, [1, 2])):
        for ndim in (2, 3):
            with pytest.raises(ValueError, match=r"takes .* or ndim, got .1, 2. and"):
                made(sizes, ndim=ndim)
    assert as_type(R.Tensor((1, 2), ndim=2)).ndim == as_type(R.Shape((1, 2), ndim=2)).ndim == 2
    with pytest.raises(ExprError, match="ndim is 3, there are 2 sizes"):
        as_type(R.Tensor((1, 2), ndim=3))
    for made in (relax.ShapeExpr, relax.TensorType):
        with pytest.raises(RuntimeError, match=r"can only have dtype of int64, 'm' is .* int32"):
            made([tir.Var("m", "int32"), 3])


def test_relax_var_takes_types_of_scripts_in_the_place_of_a_shape() -> None:
    assert str(relax.var("x", R.Tensor((2, 3), "float32")).ty) == 'R.Tensor((2, 3), "float32")'
    assert str(relax.var("x", shape=[2], dtype="int32").ty) == 'R.Tensor((2,), "int32")'
