# RUN: %PYTHON %s | FileCheck %s
"""Pass `AnnotateTIROpPattern`: the pattern kind of each prim func, TVM's numbers."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Ops:
    @R.function
    def main(
        x: R.Tensor(("n", 8), "float32"), b: R.Tensor((8,), "float32"),
        w: R.Tensor((8, 6), "float32"), i: R.Tensor((4,), "int64"),
    ):  # fmt: skip
        with R.dataflow():
            v0 = R.exp(x)
            v1 = R.add(v0, b)
            v2 = R.broadcast_to(b, R.shape([5, 8]))
            v3 = R.permute_dims(v1)
            v4 = R.concat((v1, v1), axis=0)
            v5 = R.sum(v4, axis=[0])
            v6 = R.matmul(x, w)
            v7 = R.nn.softmax(v6)
            v8 = R.reshape(v2, R.shape([8, 5]))
            v9 = R.take(v3, i, axis=0)
            v10 = R.cumsum(v5)
            R.output(v7, v8, v9, v10)
        return v7, v8, v9, v10


# Elementwise, also where an operand is broadcast.
# CHECK-LABEL: def exp(
# CHECK: "op_pattern": 0
# CHECK-LABEL: def add(
# CHECK: "op_pattern": 0
# CHECK-LABEL: def broadcast_to(
# CHECK: "op_pattern": 1
# CHECK-LABEL: def permute_dims(
# CHECK: "op_pattern": 2
# Each operand has a part of the result.
# CHECK-LABEL: def concat(
# CHECK: "op_pattern": 2
# CHECK-LABEL: def sum(
# CHECK: "op_pattern": 3
# CHECK-LABEL: def matmul(
# CHECK: "op_pattern": 4
# A reduction, and a map of it.
# CHECK-LABEL: def softmax(
# CHECK: "op_pattern": 4
# The same elements in another shape.
# CHECK-LABEL: def reshape(
# CHECK: "op_pattern": 2
# Where it reads depends on data.
# CHECK-LABEL: def take(
# CHECK: "op_pattern": 8
# CHECK-LABEL: def cumsum(
# CHECK: "op_pattern": 8
print(transform.AnnotateTIROpPattern()(transform.LegalizeOps()(Ops)).script())


@I.ir_module
class Given:
    # What is there stays.
    # CHECK-LABEL: def given(
    # CHECK: "op_pattern": 8
    @T.prim_func
    def given(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 8})
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    # Two places are written.
    # CHECK-LABEL: def two(
    # CHECK: "op_pattern": 8
    @T.prim_func
    def two(A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]
                B[v + 4] = A[v]

    # Pooling slides a window: it takes elementwise functions of its result.
    # CHECK-LABEL: def pool(
    # CHECK: "op_pattern": 4
    @T.prim_func
    def pool(A: T.Buffer((9,), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 3):
            with T.block("B"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = T.max(B[v], A[v * 2 + r])


print(transform.AnnotateTIROpPattern()(Given).script())
