"""Functions that Python built fit wherever functions of scripts do."""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

from relax_mlir import IRModule, ir, register_func, relax, te, tir, transform
from relax_mlir.errors import ExprError
from relax_mlir.relax import analysis
from relax_mlir.relax.expr.script_text import script_text
from relax_mlir.script import from_source
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

n = tir.Var("n", "int64")
MATRIX = R.Tensor((n, 4), "float32")
x, y = relax.Var("x", MATRIX), relax.Var("y", MATRIX)
flag = relax.Var("flag", R.Tensor((), "bool"))
unknown = relax.Var("unknown", R.Tensor(ndim=2, dtype="float32"))
op = relax.op


def blocks():
    lv, gv, last = relax.DataflowVar("lv"), relax.Var("gv"), relax.Var("last")
    dataflow = [relax.VarBinding(lv, op.add(x, y)), relax.VarBinding(gv, op.multiply(lv, y))]
    plain = relax.BindingBlock([relax.VarBinding(last, op.add(gv, gv))])
    return relax.Function([x, y], relax.SeqExpr([relax.DataflowBlock(dataflow), plain], last))


def tuples():
    pair = relax.Tuple([x, op.exp(y)])
    return relax.Function([x, y], relax.Tuple([relax.TupleGetItem(pair, 1), pair]))


def cast():
    v = relax.Var("v")
    bind = relax.MatchCast(v, unknown, MATRIX)
    return relax.Function([unknown], relax.SeqExpr([relax.BindingBlock([bind])], op.add(v, v)))


def inner():
    z, g = relax.Var("z", MATRIX), relax.Var("g")
    bind = relax.VarBinding(g, relax.Function([z], op.add(z, z)))
    return relax.Function([x], relax.SeqExpr([relax.BindingBlock([bind])], relax.Call(g, [x])))


FORMS = {
    "calls": lambda: relax.Function([x, y], op.add(op.exp(x), y)),
    "blocks": blocks,
    "branches": lambda: relax.Function([flag, x, y], relax.If(flag, op.add(x, y), x)),
    "tuples": tuples,
    "cast": cast,
    "inner": inner,
}


@pytest.mark.parametrize("form", FORMS)
def test_everywhere(form):
    made = FORMS[form]
    func = made()
    assert isinstance(func.body, relax.SeqExpr)
    module = IRModule({"main": func})
    for other in (
        IRModule({relax.GlobalVar("main"): made()})["main"], IRModule.from_expr(made())["main"],
        from_source(func.script())["main"], made(),
    ):  # fmt: skip
        assert ir.structural_equal(module["main"], other)
    assert ir.structural_hash(func) == ir.structural_hash(made())
    assert analysis.well_formed(func)
    assert all(p != q for p, q in zip(func.params, module["main"].params, strict=True))
    assert str(func) == func.script() == module.script()
    assert repr(func) == "<Function>"
    assert analysis.to_dot(func).startswith("digraph")
    with redirect_stdout(io.StringIO()) as shown:
        func.show()
    assert "def main(" in shown.getvalue()
    assert str(func.ret_ty) == str(module["main"].ret_ty)
    changed = IRModule()
    changed[relax.GlobalVar("f")] = made()
    assert changed.function_names == ["f"]
    assert type(changed["f"]) is type(next(iter(changed.functions.values()))) is relax.Function


@pytest.mark.parametrize("form", FORMS)
def test_passes_return_them(form):
    module = IRModule.from_expr(relax.Function([x], x))
    found = transform.function_pass(lambda func, mod, ctx: FORMS[form](), opt_level=0)(module)
    assert ir.structural_equal(found["main"], FORMS[form]())


@pytest.mark.codegen
@pytest.mark.parametrize("form", FORMS)
def test_builds(form):
    executable = relax.build(FORMS[form]())
    assert relax.VirtualMachine(executable)["main"]


@pytest.mark.codegen
def test_parameters_are_bound_at_build():
    w = relax.Var("w", R.Tensor((4, "k"), "float32"))
    weights = np.arange(8, dtype="float32").reshape(4, 2)
    func = relax.Function([x, w], op.matmul(x, w))
    data = np.ones((3, 4), "float32")
    run = relax.VirtualMachine(relax.build(func.bind_params({w: weights})))["main"]
    np.testing.assert_allclose(run(data), data @ weights)
    fixed = relax.Var("w", R.Tensor((4, 2), "float32"))
    func = relax.Function([x, fixed], op.matmul(x, fixed))
    run = relax.VirtualMachine(relax.build(func, params={"w": weights}))["main"]
    np.testing.assert_allclose(run(data), data @ weights)


@pytest.mark.parametrize("declared", [
    R.Tensor((16,), "float32"), R.Tensor(("m",), "float32"), R.Tensor(ndim=1, dtype="float32"),
    R.Tensor(dtype="float32"), R.Tensor((16,)), R.Tensor,
])  # fmt: skip
def test_bound_parameters_refine_types(declared):
    a = relax.Var("a", declared)
    func = relax.Function([a], op.add(a, a))
    found = func.bind_params({"a": np.zeros(16, "float32")})
    assert found.params == []
    assert str(found.ret_ty) == 'R.Tensor((16,), "float32")'
    assert len(func.params) == 1


def test_bound_shapes():
    shape = relax.Var("shape", R.Shape(("m", 4)))
    func = relax.Function([shape], op.zeros(shape, "float32"))
    found = func.bind_params({shape: relax.ShapeExpr((3, 4))})
    assert str(found.ret_ty) == 'R.Tensor((3, 4), "float32")'


def test_names_in_modules():
    empty = relax.Function([], relax.Tuple([]))
    assert IRModule.from_expr(empty, {"main": empty}).function_names == ["main", "main_1"]
    named = empty.with_attr("global_symbol", "f")
    assert IRModule.from_expr(named, {relax.GlobalVar("f"): empty}).function_names == ["f"]
    assert IRModule().function_names == []


def test_variables_are_named():
    assert relax.Var(name="v").name == relax.Var("v").name_hint == relax.Var(name_hint="v").name
    with pytest.raises(TypeError, match="either name or name_hint"):
        relax.Var(name="v", name_hint="v")


def test_the_declared_result_must_be_possible():
    for declared in (MATRIX, R.Tensor(ndim=2), R.Tensor((n, 4)), R.Object):
        func = relax.Function([x], op.exp(x), declared)
        assert IRModule({"main": func})["main"].ret_type == relax.TensorType((n, 4), "float32")
    for declared in (R.Tensor(ndim=3), R.Tensor((n, 5)), R.Tensor(dtype="int32"), R.Tuple()):
        func = relax.Function([x], op.exp(x), declared)
        with pytest.raises(ExprError, match="'main' is declared to return"):
            IRModule({"main": func}).verify()


def test_packed_functions_take_functions_of_the_module():
    taken = []
    register_func("test.takes_functions", lambda *args: taken.append(args), override=True)
    a, b = te.placeholder((3,), name="a"), None
    b = te.compute((3,), lambda i: a[i] * 2, "b")
    builder = relax.BlockBuilder()
    double = builder.add_func(te.create_prim_func([a, b]), "double")
    with builder.function("main", [x]):
        same = relax.Tuple([relax.StringImm("key"), double])
        for call in (relax.call_packed, relax.call_pure_packed):
            builder.emit(call("test.takes_functions", x, double, same, sinfo_args=R.Object))
        builder.emit_func_output(x)
    module = builder.finalize()
    assert from_source(module.script())["main"].script() == module["main"].script()
    relax.VirtualMachine(relax.build(module))["main"](np.ones((1, 4), "float32"))
    (_, func, (key, inner)), *_ = taken
    for each in (func, inner):
        result = np.empty(3, "float32")
        each(np.arange(3, dtype="float32"), result)
        np.testing.assert_array_equal(result, [0, 2, 4])
    assert key == "key"


def test_functions_as_values_must_exist():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit(relax.call_packed("f", relax.GlobalVar("none"), sinfo_args=R.Object))
        builder.emit_func_output(x)
    (problem,) = analysis.check_well_formed(builder.get())
    assert "@none is not in the module" in problem.message


@pytest.mark.parametrize(
    "number",
    [tir.const(16, "int32"), tir.const(-3, "int8"), tir.const(0.5, "float16"),
     tir.const(0.1, "float64"), tir.const(True, "bool"), tir.const(7, "int64")],
)  # fmt: skip
def test_numbers_of_any_dtype_are_expressions(number):
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output((number, builder.emit(x + 1), relax.PrimValue(number)))
    func = builder.finalize()["main"]
    first, _, last = func.body.body.fields
    assert len(func.body.blocks[0].bindings) == 1
    for made in (first, last):
        assert isinstance(made, relax.PrimValue)
        assert made.ty.dtype == number.dtype
        ir.assert_structural_equal(made, number)
    assert ir.structural_equal(from_source(func.script())["main"], func)
    got, _, again = relax.VirtualMachine(relax.build(func))["main"](np.ones((1, 4), "float32"))
    assert got == again == np.array(number.value, number.dtype)


def test_numbers_of_two_dtypes_differ():
    assert not ir.structural_equal(relax.PrimValue(tir.const(16, "int32")), relax.PrimValue(16))
    assert script_text(relax.PrimValue(tir.const(0.5, "float32"))) == "T.float32(0.5)"


@T.prim_func
def doubled(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * T.float32(2)


def test_prim_funcs_are_called_themselves():
    v = relax.Var("v", R.Tensor((4,), "float32"))
    twice = relax.call_tir(doubled, [relax.call_tir(doubled, [v], v.ty)], v.ty)
    for func in (relax.Function([v], twice), relax.Function([v], twice).with_attr("k", 1)):
        for mod in (IRModule.from_expr(func), IRModule({"main": func, "other": func})):
            assert "doubled" in mod
            assert relax.analysis.well_formed(mod)
    builder = relax.BlockBuilder()
    with builder.function("main", [v]):
        builder.emit_func_output(builder.emit(twice))
    assert sorted(builder.get()) == ["doubled", "main"]
    with pytest.raises(ExprError, match="'doubled' is the name of two functions"):
        IRModule({"main": func, "doubled": relax.Function([v], v)})
