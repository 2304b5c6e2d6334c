"""Programs and passes written for TVM, with other imports."""

import numpy as np

import relax_mlir as tvm
from relax_mlir import relax, tir
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
    assert Module[main].operation == Module["main"].operation
    assert isinstance(Module.functions[main], relax.Function)
