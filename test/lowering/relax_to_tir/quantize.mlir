// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>

func.func @f(%x: tensor<?x4xf32, #n4>, %s: tensor<4xf32>, %z: tensor<4xi8>) -> tensor<?x4xf16, #n4> attributes {relax.function} {
  %q = "relax.quantize"(%x, %s, %z) {axis = 1} : (tensor<?x4xf32, #n4>, tensor<4xf32>, tensor<4xi8>) -> tensor<?x4xi8, #n4>
  %zero = "relax.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %y = "relax.dequantize"(%q, %s, %zero) {out_dtype = "float16"} : (tensor<?x4xi8, #n4>, tensor<4xf32>, tensor<i32>) -> tensor<?x4xf16, #n4>
  return %y : tensor<?x4xf16, #n4>
}

// CHECK-LABEL: func.func private @quantize(
// CHECK: arith.divf
// CHECK-NEXT: math.roundeven
// CHECK: arith.sitofp {{.*}} : i8 to f32
// CHECK-NEXT: arith.addf
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: arith.fptosi {{.*}} : f32 to i8
// CHECK: block_name = "quantized", iter_types = ["spatial", "spatial"]

// A zero point of 0 is not taken off; half precision has no infinity.
// CHECK-LABEL: func.func private @dequantize(
// CHECK-NOT: arith.subi
// CHECK: arith.sitofp {{.*}} : i8 to f32
// CHECK-NEXT: arith.mulf
// CHECK: 6.550400e+04
// CHECK: arith.truncf {{.*}} : f32 to f16
