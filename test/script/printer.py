# RUN: %PYTHON %s | FileCheck %s
"""What a module looks like as script."""

# ruff: noqa: E501

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import script
from relax_mlir.script import tir as T


# CHECK: # from relax_mlir.script import ir as I, relax as R, tir as T
# CHECK: @I.ir_module
# CHECK-NEXT: class Module:
@I.ir_module
class Module:
    # CHECK-NEXT: @T.prim_func(private=True)
    # CHECK-NEXT: def row_sum(var_A: T.handle, var_B: T.handle):
    # CHECK-NEXT: n = T.int64()
    # CHECK-NEXT: A = T.match_buffer(var_A, (n, 8), "float32")
    # CHECK-NEXT: B = T.match_buffer(var_B, (n,), "float32")
    # CHECK-NEXT: for i, k in T.grid(n, 8):
    # CHECK-NEXT: with T.block("B"):
    # CHECK-NEXT: vi, vk = T.axis.remap("SR", [i, k])
    # CHECK-NEXT: with T.init():
    # CHECK-NEXT: B[vi] = 0.0
    # CHECK-NEXT: B[vi] = B[vi] + A[vi, vk]
    @T.prim_func(private=True)
    def row_sum(a: T.handle, b: T.handle):
        A = T.match_buffer(a, ("n", 8), "float32")
        B = T.match_buffer(b, ("n",), "float32")
        for i in T.serial(n):
            for k in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(n, i)
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        B[vi] = 0.0
                    B[vi] += A[vi, vk]

    # CHECK: @R.function
    # CHECK-NEXT: def main(x: R.Tensor(("m", 8), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
    # CHECK-NEXT: m = T.int64()
    # CHECK-NEXT: cls = Module
    # CHECK-NEXT: with R.dataflow():
    # CHECK-NEXT: lv: R.Tensor((m, 8), dtype="float32") = R.nn.relu(x)
    # CHECK-NEXT: total = R.call_tir(cls.row_sum, (lv,), out_ty=R.Tensor((m,), dtype="float32"))
    # CHECK-NEXT: R.output(total)
    # CHECK-NEXT: return total
    @R.function
    def main(x: R.Tensor(("m", 8), "float32")):
        with R.dataflow():
            total = R.call_tir(row_sum, R.nn.relu(x), R.Tensor((m,), "float32"))
            R.output(total)
        return total


print(script(Module))
