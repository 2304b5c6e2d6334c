"""Programs and passes written for TVM, with other imports."""

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, te, tir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.relax.expr_functor import PyExprMutator, mutator
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def test_a_network() -> None:
    n = tir.Var("n", "int64")
    shapes = ([n, 78], [78, 12], [12], [12, 10])
    x, w1, b1, w2 = (
        relax.Var(name, relax.TensorStructInfo(shape, "float32"))
        for name, shape in zip(("x", "w1", "b1", "w2"), shapes, strict=True)
    )
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w1, b1, w2], attrs={"num_input": 1}):
        with bb.dataflow():
            lv0 = bb.emit(relax.op.add(relax.op.matmul(x, w1), b1))
            lv1 = bb.emit(relax.op.nn.relu(lv0))
            gv = bb.emit_output(relax.op.nn.softmax(relax.op.matmul(lv1, w2), axis=-1))
        bb.emit_func_output(gv)
    mod = bb.get()
    assert relax.analysis.well_formed(mod)
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    rng = np.random.default_rng(0)
    a = [rng.normal(size=s).astype("float32") for s in ((3, 78), (78, 12), (12,), (12, 10))]
    h = np.maximum(a[0] @ a[1] + a[2], 0) @ a[3]
    e = np.exp(h - h.max(-1, keepdims=True))
    np.testing.assert_allclose(vm["main"](*a), e / e.sum(-1, keepdims=True), rtol=1e-3, atol=1e-5)


def test_a_pass() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            with R.dataflow():
                lv = R.nn.relu(x)
                lv1 = R.add(lv, R.const(0, "float32"))
                gv = R.multiply(lv1, lv1)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            with R.dataflow():
                lv = R.nn.gelu(x)
                gv = R.multiply(lv, lv)
                R.output(gv)
            return gv

    @mutator
    class Rewriter(PyExprMutator):
        def __init__(self, mod: tvm.IRModule) -> None:
            super().__init__(mod)
            self.mod_ = mod

        def transform(self) -> tvm.IRModule:
            for gv, func in self.mod_.functions_items():
                if isinstance(func, relax.Function):
                    updated = relax.analysis.remove_all_unused(self.visit_expr(func))
                    self.builder_.update_func(gv, updated)
            return self.builder_.get()

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if call.op == tvm.ir.Op.get("relax.nn.relu"):
                return relax.op.nn.gelu(call.args[0])
            if call.op == tvm.ir.Op.get("relax.add"):
                zero = call.args[1]
                if isinstance(zero, relax.Constant) and np.all(zero.data.numpy() == 0):
                    return call.args[0]
            return call

    assert_structural_equal(Rewriter(Before).transform(), Expected)


def test_a_model_of_dynamic_shape() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")) -> R.Tensor(
            ("(n + m) * 4",), "float32"
        ):
            n = T.int64()
            m = T.int64()
            z = R.concat([x, y], axis=0)
            return R.reshape(z, R.shape([(n + m) * 4]))

    vm = relax.VirtualMachine(relax.build(Module, target="llvm"), tvm.cpu())
    x, y = np.ones((2, 4), "float32"), np.zeros((3, 4), "float32")
    np.testing.assert_array_equal(vm["main"](x, y), np.concatenate([x, y]).reshape(20))


def test_the_functions_of_a_module() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            return x

    assert [gv.name_hint for gv in Module.get_global_vars()] == ["main", "other"]
    main = Module.get_global_var("main")
    assert main in Module
    assert Module[main].mlir_op == Module["main"].mlir_op
    assert isinstance(Module.functions[main], relax.Function)


def test_functions_alone_and_in_modules() -> None:
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    func = te.create_prim_func([a, te.compute((n, 4), lambda i, j: a[i, j] * 2.0, name="B")])
    buffers = [func.buffer_map[param] for param in func.params]
    assert [(each.name, each.dtype, each.ndim) for each in buffers] == [
        ("A", "float32", 2), ("B", "float32", 2),
    ]  # fmt: skip
    assert str(buffers[0].shape[0]) == "n"
    assert buffers[0].shape[1] == 4
    named = func.with_attr({"global_symbol": "double", "tir.noalias": True})
    mod = tvm.IRModule.from_expr(named)
    assert mod["double"].attrs == {"global_symbol": "double", "tir.noalias": True}
    assert mod["double"].script() == mod.script()
    assert_structural_equal(tvm.IRModule.from_expr(mod["double"]), mod)
    mod["twice"] = mod["double"]
    mod.update_func(mod.get_global_var("double"), mod["twice"].with_attr("x", 1))
    assert set(mod.function_names) == {"double", "twice"}
    assert mod["double"].attrs["x"] == 1
    noted = func.with_attrs({"x": 1, "y": "text"}).without_attr("x").without_attr("z")
    assert noted.attrs == {"global_symbol": "main", "y": "text"}
    assert noted.without_attr("global_symbol").is_private
    assert "tir.block" not in str(tvm.lower(mod))
    with pytest.raises(AttributeError, match="has no attribute 'params'"):
        _ = mod.params

    lib = tvm.build(func, target={"kind": "llvm", "num-cores": 1, "opt-level": 2}, name="double")
    x, y = np.ones((3, 4), "float32"), np.zeros((3, 4), "float32")
    lib(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    timed = lib.time_evaluator(lib.entry_name, tvm.cpu(), number=1)(x, y)
    assert timed.mean > 0


def test_ranges_of_symbols() -> None:
    x = te.var("x")
    analyzer = tvm.arith.Analyzer()
    analyzer.bind(x, tvm.ir.Range(2, 8))
    assert analyzer.const_int_bound(x * 2) == (4, 14)
    k = te.reduce_axis(tvm.ir.Range.from_min_extent(1, 4))
    assert [str(k.dom.min), str(k.dom.extent)] == ["1", "4"]
    with pytest.raises(ExprTypeError, match="takes integers and sizes"):
        tvm.ir.Range("x")


def test_strides_of_a_matched_region_are_bound_together():
    @T.prim_func
    def tiles(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(2, 2):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                s0, s1 = T.int32(), T.int32()
                AA = T.match_buffer(
                    A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), strides=[s0, s1],
                    offset_factor=1,
                )  # fmt: skip
                for a, b in T.grid(4, 4):
                    B[vi * 4 + a, vj * 4 + b] = AA[a, b] * 2.0

    x, y = np.arange(64, dtype="float32").reshape(8, 8), np.zeros((8, 8), "float32")
    tvm.build(tiles)(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_blocks_under_their_later_names_and_axes_with_ranges():
    a = te.placeholder((4, 5), name="a")
    b = te.compute((4, 5), lambda i, j: a[i, j] + 1.0, name="b")
    assert (b.op.axis[1].dom.min.value, b.op.axis[1].dom.extent.value) == (0, 5)
    schedule = tir.Schedule(te.create_prim_func([a, b]))
    root = schedule.get_sblock("root")
    names = [schedule.get(block).name_hint for block in schedule.get_child_sblocks(root)]
    assert names == ["b"]
    assert [schedule.get(x).name_hint for x in schedule.get_output_sblocks(root)] == ["b"]
