// RUN: relax-opt %s --legalize-ops | FileCheck %s

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>

func.func @f(%x: tensor<?x?xf32, #nm>, %h: tensor<4x8xf16>) -> tuple<> attributes {relax.function} {
  %0 = "relax.softmax"(%x) {axis = -1} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm>
  %1 = "relax.log_softmax"(%h) {axis = 0} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// Row maximum, exponentials kept in the output, their sum, its inverse, the products.
// CHECK-LABEL: func.func private @softmax(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xf32> {{.*}}, %[[OUT:[a-z0-9]+]]: memref<?x?xf32>
// CHECK: %[[PEAK:.*]] = memref.alloc(%{{.*}}) {{.*}}tir.name = "Peak"
// CHECK: %[[TOTAL:.*]] = memref.alloc(%{{.*}}) {{.*}}tir.name = "Total"
// CHECK-NOT: tir.name = "Exps"
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}, %[[PEAK]]
// CHECK: block_name = "peak", iter_types = ["spatial", "reduction"]
// CHECK: arith.subf
// CHECK-NEXT: %[[E:.*]] = math.exp
// CHECK-NEXT: memref.store %[[E]], %[[OUT]]
// CHECK: block_name = "exps", iter_types = ["spatial", "spatial"]
// CHECK: memref.store %{{.*}}, %[[TOTAL]]
// CHECK: block_name = "total", iter_types = ["spatial", "reduction"]
// CHECK: arith.divf
// CHECK-NEXT: memref.store %{{.*}}, %[[TOTAL]]
// CHECK: block_name = "scale", iter_types = ["spatial"]
// CHECK: arith.mulf
// CHECK-NEXT: memref.store %{{.*}}, %[[OUT]]
// CHECK: block_name = "softmax"

// Half precision is computed in float32 throughout.
// CHECK-LABEL: func.func private @log_softmax(
// CHECK: memref.alloc() {tir.dtype = "float32", tir.name = "Exps"
// CHECK: block_name = "peak", iter_types = ["reduction", "spatial"]
// CHECK: math.log %{{.*}} : f32
// CHECK: arith.truncf
// CHECK: block_name = "log_softmax"
