"""`tir.stmt_functor` and `tir.analysis`: looking at prim funcs; counts are TVM 0.27's."""

import copy
import gc

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, tir
from relax_mlir.errors import ExprError, ExprTypeError, VerifyError
from relax_mlir.script import tir as T
from relax_mlir.tir import analysis, stmt_functor


def _product(dtype="float32", n=16):
    a, b = te.placeholder((64, 32), dtype, "A"), te.placeholder((32, n), dtype, "B")
    k = te.reduce_axis((0, 32), "k")
    c = te.compute((64, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((64, n), lambda i, j: tir.max(c[i, j], 0) + c[i, j], name="D")
    return te.create_prim_func([a, b, d])


@T.prim_func
def mixed(
    A: T.Buffer((16,), "float32"), N: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")
):
    T.func_attr({"global_symbol": "mixed"})
    for i in range(16):
        if i < 8:
            B[i] = A[N[i] + 1] * T.float32(2) + T.float32(1)
        else:
            B[i] = A[i]
        count = T.alloc_buffer((1,), "int32", scope="local")
        count[0] = N[i]
        while count[0] > 0:
            count[0] = count[0] - 1
        assert count[0] <= 0, "counted down"


def test_statements_are_visited_inner_ones_first():
    seen = []
    stmt_functor.post_order_visit(_product().body, seen.append)
    gc.collect()
    loops = [op for op in seen if isinstance(op, tir.For)]
    assert [(op.loop_var, op.extent.value, op.kind) for op in loops[:3]] == [
        ("k", 32, "serial"), ("j", 16, "serial"), ("i", 64, "serial"),
    ]  # fmt: skip
    blocks = [op for op in seen if isinstance(op, tir.Block)]
    assert [op.name_hint for op in blocks] == ["C", "D"]
    loads = [op for op in seen if isinstance(op, tir.BufferLoad)]
    assert [(op.buffer.name, str(op.indices)) for op in loads[:3]] == [
        ("C", "[v_i, v_j]"), ("A", "[v_i, v_k]"), ("B", "[v_k, v_j]"),
    ]  # fmt: skip
    assert seen.index(blocks[0]) > seen.index(loads[0])
    made = next(op for op in seen if isinstance(op, tir.AllocBuffer))
    assert (made.buffer.name, made.buffer.shape, made.buffer.scope) == ("C", (64, 16), "global")


def test_statements_are_visited_outer_ones_first():
    seen = []

    def visit(op):
        seen.append(op)
        return not isinstance(op, (tir.Block, tir.While))

    stmt_functor.pre_order_visit(mixed, visit)
    kinds = (tir.For, tir.IfThenElse, tir.BufferStore, tir.While, tir.AssertStmt)
    names = [type(op).__name__ for op in seen if isinstance(op, kinds)]
    assert names == [
        "For", "IfThenElse", "BufferStore", "BufferStore", "BufferStore", "While",
        "AssertStmt",
    ]  # fmt: skip
    assert seen[-1].name == "func.return"
    assert next(op for op in seen if isinstance(op, tir.AssertStmt)).message == "counted down"


def test_parts_of_a_function_and_of_a_module():
    found = []
    mod = relax_mlir.IRModule({"f": mixed, "g": _product()})
    for each in (mod, mod["f"], mod["f"].body, mod.functions[mod.get_global_var("f")].body):
        seen = []
        stmt_functor.post_order_visit(each, seen.append)
        found.append(sum(isinstance(op, tir.For) for op in seen))
    assert found == [6, 1, 1, 1]
    inner = next(op for op in seen if isinstance(op, tir.For))
    again = []
    stmt_functor.post_order_visit(inner, again.append)
    assert again[-1] == inner


def test_expressions():
    i, a = tir.Var("i"), te.placeholder((8,), name="a")
    expr = a[i + 1] * 2.0 + tir.if_then_else(i < 3, a[i], 0.0)
    seen = []
    stmt_functor.post_order_visit(expr, seen.append)
    assert seen[-1] is expr
    assert sum(isinstance(each, tir.ProducerLoad) for each in seen) == 2
    assert str(stmt_functor.substitute(expr, {i: 5})) == (
        "((a[6] * 2.0) + IfThenElse((5 < 3), a[5], 0.0))"
    )
    assert str(stmt_functor.substitute(i * 2 + 1, {i: tir.Var("m")})) == "m * 2 + 1"
    assert stmt_functor.substitute(expr, {}) is expr
    b = te.compute((4,), lambda x: stmt_functor.substitute(expr, {i: x}), name="b")
    x, y = np.arange(8, dtype="float32"), np.empty(4, "float32")
    relax_mlir.build(te.create_prim_func([a, b]))(x, y)
    np.testing.assert_array_equal(y, x[1:5] * 2 + np.where(np.arange(4) < 3, x[:4], 0))


def test_substitute_of_a_prim_func_makes_numbers():
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0)])
    assert stmt_functor.substitute(func, {n: 3}).buffer_map[func.params[0]].shape == (3,)


def test_variables():
    x, y = tir.Var("x"), tir.Var("y")
    a = te.placeholder((8,), name="a")
    k = te.reduce_axis((0, 8), "k")
    named = [str(each) for each in analysis.undefined_vars(a[x * y] + a[x], [y])]
    assert named == ["x"]
    assert analysis.undefined_vars(a[k] * 2.0) == [k]
    assert [
        str(each) for each in analysis.undefined_vars(te.sum(a[k] * tir.Cast("float32", y), axis=k))
    ] == ["y"]


def test_arithmetic_is_counted():
    func = _product()
    assert analysis.estimate_tir_flops(func) == 2 * 64 * 16 * 32 + 2 * 64 * 16
    assert analysis.estimate_tir_flops(_product("int32")) == 2 * 64 * 16 * 32 + 2 * 64 * 16
    assert analysis.estimate_tir_flops(relax_mlir.IRModule({"f": func, "g": func})) == 2 * 67584
    # The branch of two that has more, a while once; what an index is made of is none.
    assert analysis.estimate_tir_flops(mixed) == 16 * (2 + 1)
    schedule = tir.Schedule(func)
    block = schedule.get(schedule.get_block("C"))
    assert analysis.estimate_tir_flops(block) == 2
    assert analysis.find_anchor_block(func).name_hint == "C"
    assert analysis.find_anchor_block(mixed) is None


def test_memory_is_counted():
    assert analysis.calculate_allocated_bytes(_product()) == {"main": {"global": 64 * 16 * 4}}
    assert analysis.calculate_allocated_bytes(mixed) == {"main": {"local": 4}}
    both = relax_mlir.IRModule({"f": mixed, "g": _product("int8")})
    assert analysis.calculate_allocated_bytes(both) == {
        "f": {"local": 4}, "g": {"global": 64 * 16},
    }  # fmt: skip


def test_regions():
    @T.prim_func
    def tiles(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            with T.block("tile"):
                vi = T.axis.spatial(4, i)
                for j, k in T.grid(4, 8):
                    B[vi * 4 + j] = A[vi * 4 + j, k]

    schedule = tir.Schedule(tiles)
    block = schedule.get(schedule.get_block("tile"))
    reads, writes, opaque = analysis.get_block_access_region(block, {})
    assert (str(reads), str(writes), opaque) == (
        "[A[vi * 4:vi * 4 + 4, 0:8]]", "[B[vi * 4:vi * 4 + 4]]", [],
    )  # fmt: skip
    assert str(analysis.get_sblock_read_write_region(block)) == str([reads, writes])
    assert str([block.reads, block.writes]) == str([reads, writes])
    region = block.reads[0]
    assert (region.buffer.name, region.region[0].extent.value) == ("A", 4)
    axis = block.iter_vars[0]
    assert (str(axis.var), axis.dom.extent.value, axis.iter_type) == ("vi", 4, "spatial")


def test_forms():
    func = _product()
    assert analysis.verify_well_formed(func)
    assert analysis.verify_ssa(func)
    assert analysis.verify_memory(func)
    broken = copy.deepcopy(func)
    found = []
    stmt_functor.post_order_visit(broken, found.append)
    name = next(op for op in found if isinstance(op, tir.Block)).attributes["block_name"]
    next(op for op in found if isinstance(op, tir.For)).attributes["kind"] = name
    assert not analysis.verify_well_formed(broken, assert_mode=False)
    with pytest.raises(VerifyError, match="kind must be one of"):
        analysis.verify_well_formed(broken)


def _symbolic():
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    return te.create_prim_func([a, te.compute((n,), lambda i: b[i] + 1.0, name="c")])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: stmt_functor.post_order_visit(3, print), ExprTypeError, "got int"),
        (lambda f: stmt_functor.pre_order_visit(f, 3), ExprTypeError, "fvisit is a function"),
        (lambda f: stmt_functor.ir_transform, AttributeError, "tir.Schedule splits, reorders"),
        (lambda f: stmt_functor.visit, AttributeError, "tir.stmt_functor has no 'visit'|no attr"),
        (lambda f: stmt_functor.substitute(f, 3), ExprTypeError, "a dict by variable, got 3"),
        (lambda f: stmt_functor.substitute(tir.Var("x"), {3: 1}), ExprTypeError, "variables, got"),
        (lambda f: stmt_functor.substitute("x", {}), ExprTypeError, "expression or a prim func"),
        (lambda f: analysis.estimate_tir_flops(3), ExprTypeError, "a module or a function, got"),
        (lambda f: analysis.estimate_tir_flops(f), ExprError, "'i' is no number; specialize"),
        (lambda f: analysis.calculate_allocated_bytes(f), ExprError, "'b' is no number; special"),
        (lambda f: analysis.get_block_access_region(f), ExprTypeError, "takes a tir.Block"),
        (lambda f: analysis.undefined_vars(f), ExprTypeError, "takes a scalar expression"),
        (lambda f: analysis.OOBChecker, AttributeError, "InstrumentBoundCheckers"),
        (lambda f: tir.For("i", 0, 8, "serial", None), TypeError, "loop_var of tir.For is a var"),
        (lambda f: tir.Block("b", [], [], "b", None), ExprTypeError, "iter_vars of tir.Block"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_symbolic())
