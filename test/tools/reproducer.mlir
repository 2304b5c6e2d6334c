// A failing pipeline leaves the module before the pass that failed, and the passes that remained.
// RUN: not relax-opt %s --allow-unregistered-dialect --cse --one-shot-bufferize --canonicalize --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=ERR
// RUN: FileCheck %s < %t.mlir
// RUN: not relax-opt %t.mlir --allow-unregistered-dialect --run-reproducer 2>&1 | FileCheck %s --check-prefix=ERR
// RUN: not relax-opt %t.mlir --allow-unregistered-dialect --run-reproducer --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: not relax-opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=NOT
// RUN: not relax-opt %t.mlir --run-reproducer --cse 2>&1 | FileCheck %s --check-prefix=BOTH

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  %1 = arith.addf %x, %x : tensor<4xf32>
  %2 = "test.unknown"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// ERR: reproducer.mlir:10:8: error: op was not bufferized
// CHECK: arith.addf
// CHECK-NOT: arith.addf
// CHECK: mlir_reproducer: {
// CHECK-NEXT: pipeline: "builtin.module(one-shot-bufferize,canonicalize)"
// DUMP: builtin.module(one-shot-bufferize,canonicalize)
// NOT: {{^}}error: the input is not a reproducer
// BOTH: {{^}}error: a reproducer brings its pipeline: give no passes with --run-reproducer
