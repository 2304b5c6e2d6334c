"""What a schedule makes of a matrix product: the program, and the trace as a transform script."""
# RUN: %PYTHON %s | FileCheck %s

from relax_mlir import tir
from relax_mlir.script import tir as T


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    B = T.match_buffer(b, (64, 32), "float32")
    C = T.match_buffer(c, (n, 32), "float32")
    for i, j, k in T.grid(n, 32, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


sch = tir.Schedule(matmul)
i, j, k = sch.get_loops("C")
i0, i1 = sch.split(i, [None, 16])
k0, k1 = sch.split(k, [None, 8])
sch.reorder(i0, k0, i1, k1, j)
sch.parallel(i0)
sch.vectorize(j)
sch.annotate(k1, "note", 1)

# The size of the outer loop is one expression; no number of the schedule is left.
# CHECK: [[CEIL:#map[0-9]*]] = affine_map<()[s0] -> ((s0 + 15) floordiv 16)>
# CHECK-LABEL: func.func @matmul
# CHECK-NOT: tir.sref
# CHECK: [[STEPS:%.*]] = "tir.symbol"() {value = #relax.dims<["n"], [[CEIL]]>}
# CHECK: "tir.for"({{.*}}, [[STEPS]]) ({
# CHECK: ^bb0(%i_0: index):
# CHECK: ^bb0(%k_0: index):
# CHECK: ^bb0(%i_1: index):
# CHECK: ^bb0(%k_1: index):
# CHECK: ^bb0(%j: index):
# CHECK: arith.cmpi slt
# CHECK: "tir.block"({{.*}}) ({
# CHECK: "tir.where"(
# CHECK: memref.store {{.*}}, %C
# CHECK: }) {kind = "vectorized"}
# CHECK: }) {annotations = {note = 1 : i64}, kind = "serial"}
# CHECK: }) {kind = "parallel"}
print(sch.mod)

# CHECK: transform.named_sequence @__transform_main
# CHECK: [[BLOCK:%.*]] = "schedule.get_block"({{.*}}) {func_name, name = "C"}
# CHECK: [[LOOPS:%.*]]:3 = "schedule.get_loops"([[BLOCK]]) {block = @x0}
# CHECK: [[I:%.*]]:2 = "schedule.split"([[LOOPS]]#0) {disable_predication = false,
# CHECK-SAME: factors = [unit, 16], loop = @x0, preserve_unit_iters = true}
# CHECK: [[K:%.*]]:2 = "schedule.split"([[LOOPS]]#2) {{.*}}factors = [unit, 8]
# CHECK: "schedule.reorder"([[I]]#0, [[K]]#0, [[I]]#1, [[K]]#1, [[LOOPS]]#1)
# CHECK-SAME: {ordered_loops = [@x0, @x1, @x2, @x3, @x4]}
# CHECK: "schedule.parallel"([[I]]#0) {loop = @x0}
# CHECK: "schedule.vectorize"([[LOOPS]]#1)
# CHECK: "schedule.annotate"([[K]]#1) {ann_key = "note", ann_val = 1 : i64, block_or_loop = @x0}
# CHECK: transform.yield
assert sch.trace is not None
print(sch.trace.as_mlir())
