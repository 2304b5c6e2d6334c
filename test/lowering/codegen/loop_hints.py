# RUN: %PYTHON %s | FileCheck %s
"""Hints of loops: what LLVM reads of them, and what it then does and does not do."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.codegen.llvm.optimize import optimize
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps
from relax_mlir.lowering.tir_to_vector.control_flow import AS_IT_IS, AS_IT_LIKES, KEEP, UNROLL

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512")
LOOP = """
func.func @{name}(%x: memref<?xf32>, %n: index) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %tenth = arith.constant 0.1 : f32
  scf.for %i = %zero to %n step %one {{
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %tenth : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }} {hints}
  return
}}"""


def show(name: str, hints: str) -> None:
    """Print a loop as it goes to LLVM's optimiser, and as it comes out of it."""
    given = f"{{llvm.loop_annotation = {hints}}}" if hints else ""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(LOOP.format(name=name, hints=given))
        run_steps(module.operation, TARGET)
        source = to_llvm_ir(module.operation, hide_counters=True)
    print(source)
    print(f"optimized {name}\n{optimize(source, TARGET)[0]}")
    # The whole pipeline, which has the vectoriser, heeds the hints too.
    body = source.partition("\n")[2]
    print(f"whole pipeline {name}\n{optimize(body, TARGET)[0]}")


# A loop that LLVM may do with as it likes becomes vector code.
# CHECK-NOT: vector code
# CHECK-LABEL: optimized likes
# CHECK: fadd <{{[0-9]+}} x float>
show("likes", AS_IT_LIKES)

# This one stays as it is, and LLVM does not see what its counter is; constants fold all the same.
# CHECK: ; vector code
# CHECK: load float, ptr @relax_float_bits_0
# CHECK: call i64 asm "", "=r,0"(i64
# CHECK: br label %{{.*}}, !llvm.loop
# CHECK: attributes #{{.*}} = { "relax.left_loops" }
# CHECK: !{!"llvm.loop.disable_nonforced"}
# CHECK-LABEL: optimized is
# CHECK-NOT: relax_float_bits
# CHECK-COUNT-1: fadd float
# CHECK-NOT: fadd
# CHECK-LABEL: whole pipeline is
# CHECK-COUNT-1: fadd float
# CHECK-NOT: fadd
show("is", AS_IT_IS)

# The addresses of this one are LLVM's to choose.
# CHECK: ; vector code
# CHECK-NOT: asm
# CHECK-DAG: !{!"llvm.loop.vectorize.width", i32 1}
# CHECK-DAG: !{!"llvm.loop.interleave.count", i32 1}
# CHECK-DAG: attributes #{{.*}} = { "relax.kept_loops" }
# CHECK-DAG: !{!"llvm.loop.unroll.disable"}
# CHECK-LABEL: optimized keep
# CHECK-COUNT-1: fadd float
# CHECK-NOT: fadd
# CHECK-LABEL: whole pipeline keep
# CHECK-COUNT-1: fadd float
# CHECK-NOT: fadd
show("keep", KEEP)

# This one may be unrolled, not made vector code.
# CHECK: ; vector code
# CHECK-NOT: relax.{{kept|left}}_loops
# CHECK-LABEL: optimized unroll
# CHECK-NOT: fadd <
# CHECK: fadd float
# CHECK: fadd float
# CHECK-NOT: fadd <
# CHECK-LABEL: whole pipeline unroll
# CHECK-NOT: fadd <
show("unroll", UNROLL)

# Of loops in each other only the innermost may be rewritten.
NEST = f"""
func.func @nest(%x: memref<?x?xf32>, %n: index) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {{
    scf.for %j = %zero to %n step %one {{
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %x[%i, %j] : memref<?x?xf32>
    }} {{llvm.loop_annotation = {KEEP}}}
  }} {{llvm.loop_annotation = {KEEP}}}
  return
}}"""
# CHECK-LABEL: nest
# CHECK: fadd
# CHECK-NOT: asm
# CHECK: br label
# CHECK: asm "", "=r,0"
# CHECK-NOT: asm
# CHECK: ret void
print("nest")
with make_context(), ir.Location.unknown():
    module = ir.Module.parse(NEST)
    run_steps(module.operation, TARGET)
    print(to_llvm_ir(module.operation, hide_counters=True))

# Two ends that are the same become one, which the second then branches back to: that is no loop.
ENDS = f"""
func.func @ends(%x: memref<?xf32>, %n: index, %wide: i1) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  cf.cond_br %wide, ^yes, ^no
^yes:
  scf.for %i = %zero to %n step %one {{
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %x[%zero] : memref<?xf32>
  }} {{llvm.loop_annotation = {KEEP}}}
  cf.br ^end
^end:
  return
^no:
  scf.for %i = %one to %n step %one {{
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %x[%one] : memref<?xf32>
  }} {{llvm.loop_annotation = {KEEP}}}
  cf.br ^end
}}"""
# CHECK-LABEL: ends
# CHECK: ; vector code
# CHECK-COUNT-2: br label {{.*}}, !llvm.loop
print("ends")
with make_context(), ir.Location.unknown():
    module = ir.Module.parse(ENDS)
    run_steps(module.operation, TARGET)
    print(to_llvm_ir(module.operation, hide_counters=True))
