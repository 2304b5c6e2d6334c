// RUN: not relax-opt %s --split-input-file 2>&1 | FileCheck %s
// RUN: relax-opt %S/Inputs/unregistered.mlir --allow-unregistered-dialect | FileCheck %s --check-prefix=ALLOWED

// CHECK: unregistered operation 'relax.addd' {{.*}}; did you mean 'relax.add'?
func.func @operation(%x: tensor<4xf32>) {
  %0 = "relax.addd"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: unregistered dialect. {{.*}}; did you mean 'relax'?
func.func @dialect(%x: tensor<4xf32>) {
  %0 = "relx.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: unregistered dialect. {{.*}}; did you mean 'relax'?
func.func private @type(!relx.object)

// -----

// CHECK: Dialect `arth' not found {{.*}}; did you mean 'arith'?
func.func @custom_form(%x: f32) {
  %0 = arth.addf %x, %x : f32
  return
}

// ALLOWED: "relx.add"
