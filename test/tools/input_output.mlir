// Text and bytecode, files and standard input, to a file and to standard output.
// RUN: relax-opt %S/Inputs/relu.py --eliminate-common-subexpr | FileCheck %s --check-prefix=SCRIPT
// SCRIPT: func.func @main
// SCRIPT: "relax.relu"

// RUN: relax-opt %s | FileCheck %s
// RUN: relax-opt - < %s | FileCheck %s
// RUN: relax-opt < %s | FileCheck %s
// RUN: relax-opt %s -o %t.mlir && FileCheck %s < %t.mlir
// RUN: relax-opt -o=%t.mlir %s && FileCheck %s < %t.mlir
// RUN: relax-opt %s --emit-bytecode -o %t.mlirbc && relax-opt %t.mlirbc | FileCheck %s
// RUN: relax-opt %s -emit-bytecode | relax-opt | FileCheck %s
// A failing run leaves the output file that was there alone.
// RUN: not relax-opt %S/Inputs/undeclared.mlir -o %t.mlir 2>&1 | FileCheck %s --check-prefix=ERR
// RUN: FileCheck %s < %t.mlir

// CHECK-LABEL: func.func @square
// CHECK: arith.mulf
func.func @square(%x: f32) -> f32 {
  %0 = arith.mulf %x, %x : f32
  return %0 : f32
}

// ERR: undeclared.mlir:2:10: error: use of undeclared SSA value name
// ERR-NEXT: return %y : f32
// ERR-NEXT: {{^         \^}}
