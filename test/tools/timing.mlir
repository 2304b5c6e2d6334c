// RUN: relax-opt %s --cse --to-non-dataflow --mlir-timing 2>&1 >%t | FileCheck %s

func.func private @f()

// CHECK: Execution time report
// CHECK: CSEPass
// CHECK: ToNonDataflow
// CHECK: Total
