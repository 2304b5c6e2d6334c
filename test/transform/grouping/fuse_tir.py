# RUN: %PYTHON %s | FileCheck %s
"""Pass `FuseTIR`: functions of calls of prim funcs become one prim func each."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Chain:
    @T.prim_func(private=True)
    def add(a: T.handle, b: T.handle, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("add"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] + T.Cast("float32", k)

    @T.prim_func(private=True)
    def split(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.block("split"):
                v = T.axis.spatial(n, i)
                B[v] = T.floor(A[v])
                C[v] = A[v] - T.floor(A[v])

    # What is between the calls is a buffer of the prim func. Tuples are passed by their fields, of
    # which the unused one is not; shapes are passed as integers.
    # CHECK-LABEL: def fused(
    # CHECK: [[BETWEEN:[a-z0-9]+]] = T.alloc_buffer((n,)
    # CHECK: [[BETWEEN]][v] = {{.*}} + T.Cast("float32", m)
    # CHECK: T.floor([[BETWEEN]][
    # CHECK-LABEL: def main(t:
    # CHECK: [[X:[a-z0-9]+]]: R.Tensor((n,), {{.*}}) = t[0]
    # CHECK-NEXT: = R.call_tir(cls.fused, ([[X]],), out_ty=[R.Tensor((n,), {{.*}}), R.Tensor((n,)
    # CHECK-SAME: tir_vars=R.shape([m]))
    @R.function(private=True)
    def fused(
        t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((4,), "float32")), s: R.Shape(["m"])
    ):
        R.func_attr({"Primitive": True})
        n, m = T.int64(), T.int64()
        cls = Chain
        with R.dataflow():
            x = t[0]
            y = R.call_tir(cls.add, (x,), R.Tensor((n,), "float32"), tir_vars=R.shape([m]))
            z = R.call_tir(cls.split, (y,), [R.Tensor((n,), "float32"), R.Tensor((n,), "float32")])
            R.output(z)
        return z

    @R.function
    def main(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((4,), "float32")), s: R.Shape(["m"])):
        m = T.int64()
        cls = Chain
        with R.dataflow():
            y = cls.fused(t, R.shape([m]))
            R.output(y)
        return y


print(transform.FuseTIR()(Chain).script())


@I.ir_module
class Stays:
    @T.prim_func(private=True)
    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    # A prim func has no result that is a parameter; and packed functions are none.
    # CHECK-LABEL: def same(
    # CHECK: R.call_tir(cls.copy
    @R.function(private=True)
    def same(x: R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        cls = Stays
        y = R.call_tir(cls.copy, (x,), R.Tensor((4,), "float32"))
        return x, y

    # CHECK-LABEL: def packed(
    # CHECK: R.call_dps_packed("copy"
    @R.function(private=True)
    def packed(x: R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        y = R.call_dps_packed("copy", (x,), R.Tensor((4,), "float32"))
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Stays
        return cls.same(x), cls.packed(x)


print(transform.FuseTIR()(Stays).script())
