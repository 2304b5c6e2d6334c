"""BlockBuilder: functions and modules, views, locations, attributes, large programs."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest

from relax_mlir import IRModule, relax, tir
from relax_mlir.errors import BuilderError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.relax import op
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


def tensor(*dims: object, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(dims, dtype)


def run(mod: IRModule, *args: object, name: str = "main") -> object:
    return relax.VirtualMachine(relax.build(mod))[name](*args)


def test_functions_are_found_again() -> None:
    """Identical prim funcs are one; another of that name gets a name of its own."""
    text = """
@T.prim_func
def {name}(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] {what}
"""
    bb = relax.BlockBuilder()
    first = bb.add_func(from_source(text.format(name="f", what="+ T.float32(1)")), "f")
    same = bb.add_func(from_source(text.format(name="g", what="+ T.float32(1)")), "g")
    other = bb.add_func(from_source(text.format(name="f", what="* T.float32(2)")), "f")
    assert first == same
    assert (first.name_hint, other.name_hint) == ("f", "f1")
    assert bb.get().function_names == ["f", "f1"]


def test_functions_from_another_thread() -> None:
    """Modules of other threads live in another MLIR context; functions are carried over."""
    made: list[IRModule] = []
    text = '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return R.add(x, x)\n'
    worker = threading.Thread(target=lambda: made.append(from_source(text)))
    worker.start()
    worker.join()
    bb = relax.BlockBuilder()
    gv = bb.add_func(made[0], "f")
    np.testing.assert_array_equal(run(bb.get(), np.ones(2, "float32"), name="f"), np.full(2, 2.0))
    assert gv.name_hint == "f"


def test_update_func_and_function_written_out() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        bb.emit_func_output(x + 1)
    old = relax.Function.of(bb.get()["main"], bb.get())
    y, lv, gv = relax.Var("y", tensor("n")), relax.DataflowVar("lv"), relax.Var("gv")
    block = relax.DataflowBlock([relax.VarBinding(lv, y * 2), relax.VarBinding(gv, lv + y)])
    func = relax.Function([y], relax.SeqExpr([block], gv))
    bb.update_func(relax.GlobalVar("main"), func)
    mod = bb.get()
    mod.verify()
    assert mod.function_names == ["main"]
    np.testing.assert_array_equal(run(mod, np.ones(2, "float32")), np.full(2, 3.0))
    # What was replaced can still be looked at.
    assert old.body.blocks[0].bindings[0].value.op.name == "relax.add"


def test_a_module_given_is_copied() -> None:
    mod = from_source('@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return R.add(x, x)\n')
    before = mod.script()
    bb = relax.BlockBuilder(mod)
    x = relax.Var("x", tensor(2))
    with bb.function("g", [x]):
        bb.emit_func_output(relax.GlobalVar("f")(x))
    assert mod.script() == before
    assert bb.get().function_names == ["f", "g"]
    over = relax.BlockBuilder.over(mod)
    assert over.get() is mod


def test_insert_before_in_place() -> None:
    mod = from_source("""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    with R.dataflow():
        lv = R.exp(x)
        gv = R.add(lv, lv)
        R.output(gv)
    return gv
""")
    bb = relax.BlockBuilder.over(mod)
    func = relax.Function.of(mod["main"], mod)
    binding = func.body.blocks[0].bindings[1]
    with bb.insert_before(binding.mlir_op):
        new = bb.emit(func.body.blocks[0].bindings[0].var + func.params[0], "lv")
        assert isinstance(new, relax.DataflowVar)
        assert new.name_hint == "lv1"
    binding.mlir_op.operands[1] = new.mlir_value
    mod.verify()
    value = np.ones(2, "float32")
    np.testing.assert_allclose(run(mod, value), 2 * np.exp(value) + value, rtol=1e-6)


def test_views_are_emitted_again() -> None:
    """What a mutator does: take a function apart and build it anew from its views."""
    mod = from_source("""
@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            lv = R.add(x, R.const([1.0, 2.0, 3.0, 4.0]))
            lv1 = R.call_tir(cls.twice, (lv,), out_sinfo=R.Tensor((4,), "float32"))
            lv2 = R.sum(lv1, axis=[0], keepdims=True)
            gv = R.split(lv1, 2)
            R.output(lv2, gv)
        gv1 = R.call_packed("vm.builtin.print", lv2)
        return (gv[1], lv2)
""")
    func = relax.Function.of(mod["main"], mod)
    bb = relax.BlockBuilder(mod)
    known: dict[relax.Var, relax.Var] = {p: relax.Var(p.name_hint, p.ty) for p in func.params}

    def renamed(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Var):
            return known[expr]
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([renamed(f) for f in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(renamed(expr.tuple_value), expr.index)
        if isinstance(expr, relax.Call):
            return relax.Call(expr.op, [renamed(a) for a in expr.args], expr.attrs, expr.sinfo_args)
        return expr

    with bb.function("copy", list(known.values())):
        for block in func.body.blocks:
            if isinstance(block, relax.DataflowBlock):
                with bb.dataflow():
                    for b in block.bindings:
                        emit = bb.emit if isinstance(b.var, relax.DataflowVar) else bb.emit_output
                        known[b.var] = emit(renamed(b.value), b.var.name_hint)
            else:
                for b in block.bindings:
                    known[b.var] = bb.emit(renamed(b.value), b.var.name_hint)
        bb.emit_func_output(renamed(func.body.body))
    bb.get().verify()
    script = bb.get().script()
    original, copy = (script[script.index(f"def {name}(") :] for name in ("main", "copy"))
    body = original[original.index("\n") : original.index("@R.function")]
    assert copy[copy.index("\n") :].strip() == body.strip()


def test_testing_scope() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.testing_scope(def_vars=[tir.Var("n")]):
        assert bb.emit(op.exp(x)).ty == tensor("n")
    bb.begin_scope([relax.Var("y", tensor(2))])
    inner = bb.emit(relax.const(1.0) + 2)
    body = bb.end_scope()
    assert [b.var for block in body.blocks for b in block.bindings] == [inner]
    assert bb.get().function_names == []


def test_locations_are_the_callers() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    with bb.function("main", [x]):
        y = bb.emit(op.exp(x))
        bb.emit_func_output(y)
    code = test_locations_are_the_callers.__code__
    location = str(relax.Function.of(bb.get()["main"]).body.blocks[0].bindings[0].mlir_op.location)
    assert location == f'loc("gv"("{code.co_filename}":{code.co_firstlineno + 4}:1))'


def test_function_attributes() -> None:
    bb = relax.BlockBuilder()
    n = tir.Var("n")
    x, k = relax.Var("x", tensor(n)), relax.Var("k", R.Prim(value="k"))
    with bb.function("main", [x, k], attrs={"num_input": 1}, is_pure=True, private=True):
        bb.emit_func_output(op.broadcast_to(op.sum(x, keepdims=True), (tir.Var("k"),)))
    func = relax.Function.of(bb.get()["main"])
    assert func.attrs == {"num_input": 1, "pure": True}
    assert func.is_pure
    assert func.is_private
    assert func.ret_type == tensor("k")


def test_reuse_of_parameters_in_another_function() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    for name in ("f", "g"):
        with bb.function(name, [x]):
            bb.emit_func_output(x + 1)
    bb.get().verify()
    assert bb.get().function_names == ["f", "g"]


@pytest.mark.slow
def test_many_bindings_and_deep_expressions() -> None:
    """Neither the number of bindings nor the depth of an expression is recursed over."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", tensor("n"))
    deep: relax.Expr = x
    for _ in range(20_000):
        deep = op.add(deep, x)
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(deep)
            for _ in range(20_000):
                lv = bb.emit(op.add(lv, x))
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    (block,) = relax.Function.of(bb.get()["main"]).body.blocks
    bindings = block.bindings
    assert len(bindings) == 40_000
    assert isinstance(bindings[-1].var, relax.Var)
    assert all(isinstance(b.var, relax.DataflowVar) for b in bindings[:-1])


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("outer", [False, True])
def test_bodies_of_other_functions_are_emitted(inner, outer):
    def write(bb, values, dataflow):
        with bb.dataflow() if dataflow else nullcontext():
            left, right = (bb.emit(value) for value in values())
            emit = bb.emit_output if dataflow else bb.emit
            found = emit(relax.op.add(left, right))
        bb.emit_func_output(found)

    one, two, three = (relax.const(i, "int64") for i in (1, 2, 3))
    bb = relax.BlockBuilder()
    with bb.function("inner", []):
        write(bb, lambda: (one, two), inner)
    body = bb.get()["inner"].body
    bb = relax.BlockBuilder()
    with bb.function("outer", []):
        write(bb, lambda: (three, body), outer)
    func = bb.finalize()["outer"]
    func.module.verify()
    names = [b.var.name for block in func.body.blocks for b in block.bindings]
    assert len(set(names)) == len(names) == 5
    blocks = [type(block) is relax.DataflowBlock for block in func.body.blocks]
    assert blocks == ([True] if outer else [False, True, False] if inner else [False])


def test_bodies_that_do_not_fit():
    x = relax.Var("x", R.Tensor((2,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("f", [x]):
        bb.emit_func_output(bb.emit(relax.op.call_packed("f", x)))
    body = bb.get()["f"].body
    with bb.function("impure", []):
        bb.emit_func_output(bb.emit(relax.op.call_packed("f")))
    impure_body = bb.get()["impure"].body
    bb = relax.BlockBuilder()
    with pytest.raises(BuilderError, match="'x' belongs to"), bb.function("g", []):
        bb.emit(body)
    impure = pytest.raises(BuilderError, match=r"R\.call_packed may have effects")
    with impure, bb.function("h", [x]), bb.dataflow():
        bb.emit(impure_body)


def test_blocks_begun_by_calls():
    x = relax.Var("x", R.Tensor(("n",), "float32"))
    bb = relax.BlockBuilder()
    bb._begin_binding_block()
    first = bb.emit(relax.op.exp(x))
    bb._begin_dataflow_block()
    bb.emit_output(relax.op.exp(bb.emit(first + first, "sum")), "out")
    inner = bb._end_block()
    bb.emit(first)
    outer = bb._end_block()
    assert [b.var.name for b in inner.bindings] == ["sum", "out"]
    assert isinstance(inner, relax.DataflowBlock)
    assert type(outer) is relax.BindingBlock
    with pytest.raises(BuilderError, match="_end_block has no"):
        bb._end_block()
    with bb.function("f", [x]):
        bb._begin_binding_block()
        out = bb.emit(relax.op.exp(x))
        assert len(bb._end_block()) == 1
        bb.emit_func_output(out)


def test_a_function_pauses_for_another() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((3,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            twice = bb.emit(x + x)
            # The same variable is the parameter of both.
            with bb.function("square", [x]):
                square = bb.emit_func_output(bb.emit(x * x))
            with pytest.raises(KeyError), bb.function("fails", [x]):
                raise KeyError
            with pytest.raises(BuilderError), bb.function("fails", [x, x]):
                pass
            out = bb.emit_output(square(twice) + x)
        bb.emit_func_output(out)

    @I.ir_module
    class Expected:
        @R.function
        def square(x: R.Tensor((3,), "float32")):
            return R.multiply(x, x)

        @R.function
        def main(x: R.Tensor((3,), "float32")):
            cls = Expected
            with R.dataflow():
                out = R.add(cls.square(R.add(x, x)), x)
                R.output(out)
            return out

    assert_structural_equal(bb.finalize(), Expected)


@pytest.mark.parametrize("effect", [False, True])
def test_dataflow_blocks_of_functions_in_dataflow_blocks(effect: bool) -> None:
    """The block of the inner function is its own; what is called must be pure all the same."""
    type_ = relax.TensorType([4], "float32")
    x, y, out, inner_out = (relax.Var(name, type_) for name in ("x", "y", "out", "inner_out"))
    f = relax.DataflowVar("f", relax.FuncType([type_], type_))
    local = relax.DataflowVar("local", type_)
    steps = [relax.VarBinding(local, op.exp(y)), relax.VarBinding(inner_out, local)]
    blocks: list[relax.BindingBlock] = [relax.DataflowBlock(steps)]
    if effect:
        blocks.append(
            relax.BindingBlock([relax.VarBinding(relax.Var("_"), op.print(y, format="{}"))])
        )
    inner = relax.Function([y], relax.SeqExpr(blocks, inner_out), type_)
    value = relax.Call(f, [op.negative(x)]) + x
    outer = relax.DataflowBlock([relax.VarBinding(f, inner), relax.VarBinding(out, value)])
    func = relax.Function([x], relax.SeqExpr([outer], out), type_)
    if effect:
        with pytest.raises(BuilderError, match="a call of a function value may have effects"):
            IRModule.from_expr(func).verify()
        return
    data = np.arange(4, dtype="float32")
    main = relax.VirtualMachine(relax.build(IRModule.from_expr(func)))["main"]
    np.testing.assert_allclose(main(data), np.exp(-data) + data, rtol=1e-6)


def test_outputs_of_a_dataflow_block_in_one_stay_outputs() -> None:
    inner = from_source("""
@R.function
def main():
    with R.dataflow():
        a = R.const(1, "int64")
        c = R.add(a, a)
        R.output(c)
    return c
""")["main"]
    bb = relax.BlockBuilder()
    with bb.function("func", [], private=True):
        with bb.dataflow():
            d = bb.emit(relax.const(3, "int64"), "d")
            out = bb.emit_output(d + bb.emit(inner.body, "e"), "f")
        bb.emit_func_output(out)
    (block,) = bb.finalize()["func"].body.blocks
    assert [type(each.var) for each in block.bindings] == [
        relax.DataflowVar, relax.DataflowVar, relax.Var, relax.Var,
    ]  # fmt: skip
    assert [var.name for var in block.outputs] == ["c", "f"]


def test_a_size_that_no_shape_has_is_a_parameter_of_any_name() -> None:
    size = tir.Var("n", "int64")
    given = relax.Var("count", relax.PrimType("int64", size))
    bb = relax.BlockBuilder()
    with bb.function("main", [given]):
        bb.emit_func_output(bb.emit(op.zeros((size, 2), "float32")))
    assert run(bb.finalize(), 5).shape == (5, 2)
