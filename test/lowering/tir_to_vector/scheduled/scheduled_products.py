# RUN: %PYTHON %s | FileCheck %s
"""Products of matrices in loops of a schedule (pass `lower-tir`): register tiles as without one."""

from relax_mlir import te, tir, transform

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"

a, b = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
k = te.reduce_axis((0, 64), "k")
c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
sch = tir.Schedule(te.create_prim_func([a, b, c]))
block = sch.get_block("C")
loops = sch.get_loops(block)
(i0, i1), (j0, j1), (k0, k1) = (
    sch.split(x, [None, n]) for x, n in zip(loops, (32, 32, 4), strict=True)
)
sch.reorder(i0, j0, k0, i1, k1, j1)
sch.vectorize(j1)
sch.decompose_reduction(block, k0)

# No nest fills C first: sums begin with zeros in registers, and C is stored once.
# CHECK-LABEL: func.func @main
# CHECK-NOT: vector.store {{.*}}, %C
# CHECK: scf.for {{.*}} iter_args({{.*}}) -> ({{(vector<16xf32>, )+}}vector<16xf32>)
# CHECK: vector.fma
# CHECK-NOT: vector.load %C
# CHECK: return
print(transform.LowerTIR(target=TARGET)(sch.mod))
