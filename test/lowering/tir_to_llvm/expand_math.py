# RUN: %PYTHON %s | FileCheck %s
"""Pass `expand-math`: what it covers becomes arithmetic, the rest stays for the C library."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.math.expand_math import expand_math

# CHECK-LABEL: target x86-64-v3
# What one nest computes often is a function: one for each kind, expanded once.
# CHECK: func.func private @[[SINE:relax_math_sin_[0-9]+]](%{{.*}}: vector<16xf32>)
# CHECK-SAME: passthrough = ["noinline", "nounwind"]
# CHECK-NOT: math.sin
# CHECK: return
# CHECK-LABEL: func.func @often(
# CHECK-COUNT-2: call @[[SINE]](
# CHECK-NOT: call
# CHECK: return
# CHECK-LABEL: func.func @vectors(
# CHECK-NOT: math.exp
# CHECK: math.fma {{.*}} : vector<16xf32>
# CHECK-NOT: math.exp
# CHECK: return
# CHECK-LABEL: func.func @half(
# CHECK: [[WIDE:%.*]] = arith.extf %{{.*}} : f16 to f32
# CHECK-NOT: math.tanh
# CHECK: arith.divf
# CHECK: math.copysign
# CHECK: arith.truncf %{{.*}} : f32 to f16
# CHECK-LABEL: func.func @left_alone(
# CHECK: math.cbrt
# What is a square or a cube is no logarithm; others of f64 have one that is a sum of two.
# CHECK-LABEL: func.func @powers(
# CHECK: arith.mulf %arg0, %arg0 : vector<8xf64>
# CHECK: [[SQUARE:%.*]] = arith.mulf %arg2, %arg2 : f32
# CHECK: arith.mulf [[SQUARE]], %arg2 : f32
# CHECK-NOT: math.powf
# CHECK: math.fma {{.*}} : vector<8xf64>
# CHECK: return
# CHECK-LABEL: func.func @doubles(
# CHECK-NOT: math.log1p
# CHECK: math.fma {{.*}} : f64
# CHECK-NOT: math.expm1
# CHECK: math.fma {{.*}} : vector<8xf64>
# CHECK: return
# Far from zero another way is taken, where any lane is: in 64 bits, for a register at a time.
# CHECK-LABEL: func.func @angles(
# CHECK: [[FAR:%.*]] = vector.reduction <or>, %{{.*}} : vector<16xi1> into i1
# CHECK: [[SELDOM:%.*]] = llvm.intr.expect [[FAR]], %{{.*}} : i1
# CHECK: scf.if [[SELDOM]]
# CHECK: scf.for
# CHECK: vector.extract_strided_slice {{.*}} : vector<16xf32> to vector<8xf32>
# CHECK: arith.muli {{.*}} : vector<8xi64>
# CHECK-NOT: arith.muli {{.*}} : vector<16xi64>
# CHECK: vector.insert_strided_slice {{.*}} {offsets = [8], strides = [1]} : vector<8xf32>
# A division stays one: each CPU estimates inverses in its own way, and LLVM only those of vectors.
# CHECK-LABEL: func.func @logistic(
# CHECK-NOT: fastmath
# CHECK-COUNT-2: arith.divf
# Activations are functions of their own, however their products are ordered; a scalar of silu has
# both of its forms.
# CHECK-LABEL: func.func @activations(
# CHECK-NOT: math.erf
# CHECK-COUNT-4: arith.divf
# CHECK-NOT: arith.divf
# CHECK: return
# What something else uses too, or is of another variable, stays what it is.
# CHECK-LABEL: func.func @parts(
# CHECK-SAME: %[[Y:arg1]]: f32
# CHECK: arith.divf %cst{{.*}} : f32
# CHECK: arith.mulf %[[Y]], %cst{{.*}} : f32
# CHECK-LABEL: target x86-64-v2
# CHECK-NOT: math.fma
# CHECK: math.log %{{.*}} : f64
# CHECK: math.exp %{{.*}} : vector<8xf64>
# CHECK: math.sin %{{.*}} : vector<16xf32>
# CHECK-LABEL: target x86-64-v4
# CHECK-LABEL: func.func @vectors(
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# What is only stored comes from a table; a logistic function would amplify its rounding.
# CHECK-LABEL: func.func @stored(
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.pd.512"
# A difference that was rounded needs no second product to bring its powers of two off.
# CHECK-LABEL: func.func @difference(
# CHECK: arith.subf
# CHECK-COUNT-2: math.fma
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
# CHECK-COUNT-2: math.fma
# CHECK-NOT: math.fma
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# An estimated inverse, and one step that puts the quotient right; of any numbers, a table.
# CHECK-LABEL: func.func @logistic(
# CHECK-NOT: vpermi2var
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
# CHECK-COUNT-2: math.fma
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
# CHECK-NOT: scalef
# CHECK: arith.divf
# What no power of normal numbers is for is seldom.
# CHECK: arith.cmpi ugt
# CHECK: [[FAR:%.*]] = vector.reduction <or>, %{{.*}} : vector<16xi1> into i1
# CHECK: [[SELDOM:%.*]] = llvm.intr.expect [[FAR]], %{{.*}} : i1
# CHECK: scf.if [[SELDOM]]
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# CHECK: arith.divf
# CHECK-NOT: arith.divf
# CHECK-LABEL: func.func @activations(
# CHECK-NOT: vpermi2var
# CHECK-COUNT-7: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
# CHECK-NOT: permvar
# CHECK: [[FAR:%.*]] = vector.reduction <or>, %{{.*}} : vector<16xi1> into i1
# CHECK: [[SELDOM:%.*]] = llvm.intr.expect [[FAR]], %{{.*}} : i1
# CHECK: scf.if [[SELDOM]]
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.max.ps.512"
# Only numbers that are known to be neither large nor small are divided by an estimate.
# CHECK-LABEL: func.func @ranges(
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
# CHECK-NOT: rcp14
# CHECK-COUNT-2: arith.divf
# CHECK-LABEL: func.func @long(
# CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
# CHECK: return
# CHECK-LABEL: func.func @power(
# CHECK-NOT: arith.cmpf
# CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
# CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
TEXT = """
func.func @often(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.sin %x {called} : vector<16xf32>
  %1 = math.sin %0 {called} : vector<16xf32>
  return %1 : vector<16xf32>
}
func.func @vectors(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}
func.func @stored(%x: vector<16xf32>, %y: vector<8xf64>, %to: memref<16xf32>, %too: memref<8xf64>) {
  %at = arith.constant 0 : index
  %0 = math.exp %x : vector<16xf32>
  vector.store %0, %to[%at] : memref<16xf32>, vector<16xf32>
  %1 = math.exp %y : vector<8xf64>
  vector.store %1, %too[%at] : memref<8xf64>, vector<8xf64>
  return
}
func.func @difference(%x: vector<16xf32>, %y: vector<16xf32>, %to: memref<16xf32>) {
  %at = arith.constant 0 : index
  %0 = arith.subf %x, %y : vector<16xf32>
  %1 = math.exp %0 : vector<16xf32>
  vector.store %1, %to[%at] : memref<16xf32>, vector<16xf32>
  return
}
func.func @half(%x: f16) -> f16 {
  %0 = math.tanh %x : f16
  return %0 : f16
}
func.func @left_alone(%x: f32) -> f32 {
  %0 = math.cbrt %x : f32
  return %0 : f32
}
func.func @powers(%x: vector<8xf64>, %y: vector<8xf64>, %z: f32)
    -> (vector<8xf64>, vector<8xf64>, f32) {
  %two = arith.constant dense<2.0> : vector<8xf64>
  %three = arith.constant 3.0 : f32
  %0 = math.powf %x, %two : vector<8xf64>
  %1 = math.powf %z, %three : f32
  %2 = math.powf %x, %y : vector<8xf64>
  return %0, %2, %1 : vector<8xf64>, vector<8xf64>, f32
}
func.func @doubles(%x: f64, %y: vector<8xf64>) -> (f64, vector<8xf64>) {
  %0 = math.log1p %x : f64
  %1 = math.expm1 %y : vector<8xf64>
  return %0, %1 : f64, vector<8xf64>
}
func.func @angles(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.sin %x : vector<16xf32>
  return %0 : vector<16xf32>
}
func.func @logistic(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = math.absf %x : vector<16xf32>
  %1 = arith.negf %0 : vector<16xf32>
  %2 = math.exp %1 : vector<16xf32>
  %3 = arith.addf %one, %2 : vector<16xf32>
  %4 = arith.divf %one, %3 : vector<16xf32>
  %5 = math.exp %x : vector<16xf32>
  %6 = arith.addf %one, %5 : vector<16xf32>
  %7 = arith.divf %one, %6 : vector<16xf32>
  return %4, %7 : vector<16xf32>, vector<16xf32>
}
func.func @activations(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, f32, f32) {
  %root = arith.constant dense<0.707106769> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %root, %x : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %x, %2 : vector<16xf32>
  %4 = arith.mulf %half, %3 : vector<16xf32>
  %two = arith.constant 1.41421354 : f32
  %5 = arith.constant 0.5 : f32
  %6 = arith.constant 1.0 : f32
  %7 = arith.divf %y, %two : f32
  %8 = math.erf %7 : f32
  %9 = arith.addf %6, %8 : f32
  %10 = arith.mulf %9, %5 : f32
  %11 = arith.mulf %y, %10 : f32
  %12 = arith.negf %y : f32
  %13 = math.exp %12 : f32
  %14 = arith.addf %13, %6 : f32
  %15 = arith.divf %6, %14 : f32
  %16 = arith.mulf %15, %11 : f32
  return %4, %11, %16 : vector<16xf32>, f32, f32
}
func.func @parts(%x: f32, %y: f32) -> (f32, f32, f32) {
  %root = arith.constant 0.707106769 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %0 = math.exp %x : f32
  %1 = arith.addf %0, %one : f32
  %2 = arith.divf %one, %1 : f32
  %3 = arith.mulf %x, %root : f32
  %4 = math.erf %3 : f32
  %5 = arith.addf %4, %one : f32
  %6 = arith.mulf %y, %half : f32
  %7 = arith.mulf %6, %5 : f32
  return %1, %2, %7 : f32, f32, f32
}
func.func @ranges(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
  %three = arith.constant dense<3.0> : vector<16xf32>
  %most = arith.constant dense<14.5> : vector<16xf32>
  %0 = math.absf %x : vector<16xf32>
  %again = arith.constant dense<14.5> : vector<16xf32>
  %less = arith.cmpf olt, %0, %again : vector<16xf32>
  %1 = arith.select %less, %0, %most : vector<16xi1>, vector<16xf32>
  %2 = arith.addf %1, %three : vector<16xf32>
  %3 = arith.divf %three, %2 : vector<16xf32>
  %4 = arith.divf %x, %2 : vector<16xf32>
  %5 = arith.divf %three, %1 : vector<16xf32>
  return %3, %4, %5 : vector<16xf32>, vector<16xf32>, vector<16xf32>
}
func.func @long(%x: vector<32xf32>) -> vector<32xf32> {
  %0 = math.exp %x : vector<32xf32>
  return %0 : vector<32xf32>
}
func.func @power(%x: vector<32xf32>) -> vector<32xf32> {
  %0 = math.exp2 %x : vector<32xf32>
  return %0 : vector<32xf32>
}"""

for cpu in ("x86-64-v3", "x86-64-v2", "x86-64-v4"):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        expand_math(module.operation, Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}"))
        assert module.operation.verify()
        print("target", cpu)
        print(module)
