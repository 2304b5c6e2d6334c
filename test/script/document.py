# RUN: %PYTHON %s | FileCheck %s
"""The design document's first program, in its own spelling, as IR."""

from __future__ import annotations

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class MyIRModule:
    # CHECK-LABEL: func.func @tir_exp_func
    # CHECK-SAME: %X: memref<?xf32> {tir.dtype = "float32", tir.name = "X"
    # CHECK: [[N:%.*]] = "tir.symbol"() {value = #relax.dims<["n"]
    # CHECK: "tir.for"({{.*}}, [[N]])
    # CHECK-NEXT: ^bb0(%i: index):
    # CHECK: "tir.block"(%i, [[N]])
    # CHECK: "tir.reads"(%X)
    # CHECK: "tir.writes"(%Y)
    # CHECK: math.exp
    # CHECK: block_name = "Y", iter_types = ["spatial"]
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle):
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        with T.grid(n) as i:
            Y[i] = T.exp(X[i])

    # CHECK-LABEL: func.func @relax_func
    # CHECK-SAME: %x: tensor<?x?xf32, #relax.dims<["k", "n"]
    # CHECK-SAME: %w: tensor<*xf32>
    @R.function
    def relax_func(x: R.Tensor[(n, k), "f32"], w: R.Tensor[_, "f32"]):
        # CHECK: %gv0 = "relax.dataflow"
        with R.dataflow():
            # CHECK: %lv0 = "relax.match_cast"(%w)
            lv0 = R.match_shape(w, (k, m))
            # CHECK: %lv1 = "relax.matmul"(%x, %lv0)
            lv1: R.Tensor[(n, m), "f32"] = R.dot(x, lv0)
            # CHECK: %lv2 = "relax.flatten"(%lv1)
            lv2: R.Tensor[(n * m,), "f32"] = R.flatten(lv1)
            # CHECK: %lv3 = "relax.shape_expr"
            lv3: R.Shape = (n * m,)
            # CHECK: "relax.call_tir"(%lv3, {{.*}}) {callee = @tir_exp_func}
            gv0: R.Tensor[lv3, "f32"] = R.call_tir(lv3, tir_exp_func, [lv2])
            # CHECK: "relax.output"
            R.outputs(gv0)

        # CHECK: "relax.call_packed"({{.*}}) {func = "custom_inplace_update"}
        R.call_packed("custom_inplace_update", gv0)
        # CHECK: return %gv0
        return gv0


print(MyIRModule.mlir_module.operation.get_asm(use_name_loc_as_prefix=True))
