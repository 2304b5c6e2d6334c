// MLIR prints; what it prints goes to standard error.
// RUN: relax-opt %s --cse --to-non-dataflow --mlir-print-ir-before-all 2>&1 >%t | FileCheck %s --check-prefix=BEFORE
// RUN: relax-opt %s --cse --to-non-dataflow --mlir-print-ir-after-all 2>&1 >%t | FileCheck %s --check-prefix=AFTER
// RUN: relax-opt %s --cse --to-non-dataflow --cse -mlir-print-ir-after-change 2>&1 >%t | FileCheck %s --check-prefix=CHANGE
// RUN: not relax-opt %S/Inputs/not_bufferized.mlir --allow-unregistered-dialect --cse --one-shot-bufferize --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILURE
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-all --mlir-print-ir-module-scope 2>&1 >%t | FileCheck %s --check-prefix=SCOPE
// RUN: relax-opt %s --cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.dir && ls %t.dir | FileCheck %s --check-prefix=TREE
// RUN: relax-opt %s --cse --to-non-dataflow --mlir-print-ir-before=cse --mlir-print-ir-after=to-non-dataflow,cse 2>&1 >%t | FileCheck %s --check-prefix=NAMED
// RUN: not relax-opt %s --cse --mlir-print-ir-after=dce 2>&1 >%t | FileCheck %s --check-prefix=ABSENT
// RUN: relax-opt %s --cse --verify-roundtrip --mlir-disable-threading | FileCheck %s --check-prefix=ROUND

func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %x, %x : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}

// BEFORE: IR Dump Before CSEPass: cse
// BEFORE-COUNT-2: arith.addf
// BEFORE: IR Dump Before ToNonDataflow: to-non-dataflow
// BEFORE-COUNT-1: arith.addf
// BEFORE-NOT: arith.addf
// AFTER: IR Dump After CSEPass: cse
// AFTER: IR Dump After ToNonDataflow: to-non-dataflow
// CHANGE: IR Dump After CSEPass: cse
// CHANGE-NOT: IR Dump
// FAILURE-NOT: IR Dump After CSE
// FAILURE: IR Dump After OneShotBufferizePass Failed: one-shot-bufferize
// FAILURE: not_bufferized.mlir:3:8: error: op was not bufferized
// SCOPE: IR Dump After CSEPass: cse
// SCOPE: module {
// TREE: builtin_module
// NAMED: Before cse
// NAMED: After cse
// NAMED-NOT: Before
// NAMED: After ToNonDataflow
// ABSENT: error: flag '--mlir-print-ir-after': the pipeline has no pass 'dce'; did you mean 'cse'?
// ROUND-COUNT-1: arith.addf
