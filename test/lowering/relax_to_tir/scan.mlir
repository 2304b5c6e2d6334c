// RUN: relax-opt %s --legalize-ops | FileCheck %s

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#flat = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1)>>

// CHECK-LABEL: func.func @f(
// CHECK: "relax.call_tir"({{.*}}) {callee = @cumsum}
// CHECK: "relax.call_tir"({{.*}}) {callee = @cumprod}
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.cumsum", static_args = [0, unit, false]}
func.func @f(%x: tensor<?x?xf16, #nm>, %i: tensor<?x?xi8, #nm>, %u: tensor<*xf32>) -> tuple<> attributes {relax.function} {
  %0 = "relax.cumsum"(%x) {axis = 1 : i64} : (tensor<?x?xf16, #nm>) -> tensor<?x?xf16, #nm>
  %1 = "relax.cumprod"(%i) {dtype = "int64", exclusive = true} : (tensor<?x?xi8, #nm>) -> tensor<?xi64, #flat>
  %2 = "relax.cumsum"(%u) {axis = 0 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// One running sum in float32 for every row; the axis is one of type "scan".
// CHECK-LABEL: func.func private @cumsum(
// CHECK: memref.alloc(%{{.*}}) {tir.dtype = "float32", tir.name = "Running"
// CHECK: arith.addf {{.*}} : f32
// CHECK: block_name = "cumsum", iter_types = ["spatial", "scan"]

// CHECK-LABEL: func.func private @cumprod(
// CHECK: memref.reinterpret_cast
// CHECK: arith.extsi %{{.*}} : i8 to i64
// CHECK: arith.muli
// CHECK: block_name = "cumprod", iter_types = ["scan"]
