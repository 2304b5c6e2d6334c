"""`relax.testing`: models as modules of layers, expressions as trees; `relax.utils`."""

import numpy as np
import pytest

from relax_mlir import ir, relax, tir
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.relax.testing import dump_ast, nn
from relax_mlir.relax.testing.ast_printer import ASTPrinter
from relax_mlir.relax.utils import copy_with_new_vars, prim_value
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


class Scale(nn.Module):
    define_subroutine = True

    def __init__(self, size):
        self.factor = nn.Parameter((size,), name="factor")

    def forward(self, data):
        return relax.op.multiply(data, self.factor)


class Model(nn.Module):
    def __init__(self):
        self.layers = [Scale(4), nn.Linear(4, 3), nn.ReLU(), Scale(3), Scale(3)]

    def forward(self, data):
        return nn.Sequential(*self.layers)(data)


def built(model, shape):
    bb = relax.BlockBuilder()
    data = nn.Placeholder(shape)
    weights = model.parameters()
    with bb.function("main", [data, *weights]):
        bb.emit_func_output(model(data))
    return bb.get(), weights


@pytest.mark.codegen
def test_models_of_layers():
    mod, weights = built(Model(), (tir.Var("n", "int64"), 4))
    # Two layers of one size share their subroutine.
    assert {"main", "scale", "scale1"} <= set(mod.function_names)
    assert "scale2" not in mod.function_names
    assert mod["scale"].is_private
    assert [array.shape for array in nn.init_params(mod)] == [(4,), (4, 3), (3,), (3,), (3,)]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal([int(d.value) for d in w.ty.dims], "float32") for w in weights]
    data = rng.standard_normal((5, 4), "float32")
    found = relax.VirtualMachine(relax.build(mod))["main"](data, *arrays)
    scale, weight, bias, second, third = arrays
    expected = np.maximum(data * scale @ weight + bias, 0) * second * third
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_modules_need_a_function():
    with pytest.raises(BuilderError, match="modules write into a function"):
        nn.ReLU()(relax.Var("x", R.Tensor((2,), "float32")))
    with pytest.raises(ExprTypeError, match="the shape of Parameter is a tuple"):
        nn.Parameter(3)


def test_trees_of_text():
    x = relax.Var("x", R.Tensor(("n",), "float32"))
    assert dump_ast(relax.Var("v")) == 'Var(name="v")'
    text = dump_ast(relax.op.add(x, relax.const(1.0)), include_ty_annotations=False)
    assert (
        text
        == """Call(
    op=Op(name="relax.add"),
    args=[
        Var(name="x"),
        Constant(data=1.0)
    ]
)"""
    )
    typed = dump_ast(relax.DataflowVar("lv", R.Tensor(ndim=2, dtype="int8")), indent_str="  ")
    assert (
        typed
        == """DataflowVar(
  name="lv",
  ty=TensorType(
    dtype=int8,
    ndim=2
  )
)"""
    )
    branch = relax.If(relax.const(True), x, relax.Tuple([x, relax.ShapeExpr((3,))])[0])
    func = relax.Function([x], branch).with_attr("k", 3)
    text = dump_ast(func)
    for part in ('attrs={"k": 3}', "is_pure=True", "true_branch=SeqExpr(", "Expr(value=`n`)"):
        assert part in text
    main = from_source("""
from relax_mlir.script import relax as R
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.match_cast(R.exp(x), R.Tensor((2,), "float32"))
        R.output(y)
    return R.call_pure_packed("f", y, sinfo_args=R.Tuple(R.Object, R.Shape((2,))))
""")["main"]
    text = dump_ast(main)
    for part in ("DataflowBlock(", "MatchCast(", 'ExternFunc(global_symbol="f")', "AnyType()"):
        assert part in text


def test_copies_have_variables_and_symbols_of_their_own():
    x = relax.Var("x", R.Tensor(("n", "n_1"), "float32"))
    func = relax.Function([x], relax.op.add(x, x))
    made = copy_with_new_vars(func)
    assert ir.structural_equal(func, made)
    assert made.params[0] != func.params[0]
    assert [str(dim) for dim in made.params[0].ty.dims] == ["n_1_1", "n_1_1_1"]


def test_short_names():
    n = tir.var("n")
    x = relax.var("x", shape=[n, 2 * tir.floordiv(n, 2), tir.const(3, "int64") * 4])
    assert str(x.ty) == 'R.Tensor((n, (n // 2) * 2, 12), "float32")'
    assert relax.make_shape([1, n]).values == (1, n)
    with pytest.raises(TypeError, match="a shape is a list or tuple"):
        relax.make_shape(3)
    assert prim_value(n) is n
    assert prim_value(np.float32(1.5)).ty == ir.PrimType("float64")
    with pytest.raises(TypeError, match="Cannot convert"):
        prim_value(x)


def test_expressions_compare():
    x, y = (relax.Var(name, R.Tensor((2,), "float32")) for name in "xy")
    add = relax.op.add
    assert ir.structural_equal(add(x, y), add(x, y))
    assert not ir.structural_equal(add(x, y), add(y, x))
    assert ir.structural_equal(add(x, y), add(y, x), map_free_vars=True)
    assert not ir.structural_equal(add(x, y), add(x, x), map_free_vars=True)
    assert ir.structural_hash(add(x, y)) == ir.structural_hash(add(x, y))
    assert x.mlir_value is None
    assert ir.structural_equal(relax.StringImm("a"), relax.StringImm("a"))
    assert not ir.structural_equal(relax.DataTypeImm("int8"), relax.DataTypeImm("int16"))


def test_emitted_expressions_live_while_they_are_compared():
    x, y = (relax.Var(name, R.Tensor((2,), "float32")) for name in "xy")
    for _ in range(300):
        assert ir.structural_equal(relax.op.add(x, y), relax.op.add(x, y))


def test_types_that_are_missing():
    v = relax.Var("v")
    assert v.ty.is_missing()
    assert relax.Tuple([v]).ty == ir.Type.missing()
    assert not relax.ObjectType().is_missing()
    bb = relax.BlockBuilder()
    with pytest.raises(ValueError, match="needs a type"), bb.function("f", [v]):
        pass
    opaque = relax.FuncType.opaque_func()
    assert opaque.params is None
    assert relax.FuncType([v.ty], relax.ObjectType()).arg_types == (v.ty,)
    assert opaque.ret_type == relax.ObjectType()
    assert opaque.derive_func is None
    assert str(relax.PrimType("float16")) == 'R.Prim("float16")'


def test_shapes_as_expressions():
    x = relax.Var("x", R.Tensor(ndim=2, dtype="float32"))
    assert x.shape_ is None
    assert relax.get_shape_of(x).op.name == "relax.shape_of"


def test_parameters_of_prim_funcs():
    (func,) = from_source("""
@T.prim_func
def main(A: T.Buffer((4,), "float32"), n: T.int64):
    A[0] = T.float32(0)
""").functions.values()
    buffer, size = func.params
    assert tir.is_buffer_var(buffer)
    assert not tir.is_buffer_var(size)
    assert buffer.same_as(func.params[0])
    assert not buffer.same_as(size)


def test_weights_of_unknown_sizes():
    scale = relax.Var("scale", R.Tensor((), "float16"))
    mod = relax.Function([scale], scale).module
    (found,) = nn.init_params(mod)
    assert (found.shape, found.dtype) == ((), "float16")
    rows = relax.Var("rows", R.Tensor(("n",), "float32"))
    with pytest.raises(ExprTypeError, match="the size of 'rows' is not known"):
        nn.init_params(relax.Function([rows], rows).module)


def test_trees_of_numbers_and_of_shapes_that_are_variables():
    printer = ASTPrinter(indent_str="")
    flat = printer.visit_expr(relax.PrimValue(tir.const(0.5, "float32")))
    assert flat == "Expr(value=`T.float32(0.5)`)"
    s = relax.Var("s", R.Shape([2, "n"]))
    type_ = relax.TensorType(s, "int32")
    assert type_.shape is s
    assert type_.ndim == 2
    assert (
        printer.visit_ty_(type_)
        .replace("\n", "")
        .startswith('TensorType(dtype=int32,shape=Var(name="s"')
    )
    assert printer.visit_type_(type_).replace("\n", "") == "TensorType(ndim=2,dtype=int32)"


def test_trees_have_the_arguments_of_tvm():
    func = from_source("""
from relax_mlir.script import relax as R, tir as T
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), s: R.Shape(["n"])):
    n = T.int64()
    R.print(x, format="{}")
    y = R.clip(x, 0.5, 7)
    z = R.strided_slice(y, [0], [1], [n + 1])
    return R.unique(z, axis=-1)
""")["main"]
    text = "".join(dump_ast(func, include_ty_annotations=False).split())
    for part in (
        'args=[Var(name="x"),StringImm(value="{}")]',
        'args=[Var(name="x"),Expr(value=`T.float32(0.5)`),Expr(value=`T.int64(7)`)]',
        "Tuple(fields=[Expr(value=`T.int64(0)`)]),Tuple(fields=[Expr(value=`T.int64(1)`)]),"
        'Tuple(fields=[Expr(value=`n+1`)])],attrs={"assume_inbound":False}',
        "Expr(value=`T.bool(True)`),Expr(value=`T.bool(False)`),",
        "Expr(value=`T.int64(-1)`)]",
    ):
        assert part in text
