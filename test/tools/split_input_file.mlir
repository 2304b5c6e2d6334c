// Parts are separate inputs: the same name twice is no clash, and one bad part stops no other.
// RUN: relax-opt %s --split-input-file | FileCheck %s
// RUN: relax-opt -split-input-file < %s | FileCheck %s
// RUN: not relax-opt %S/Inputs/split.mlir --split-input-file > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=OUT < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: not relax-opt %s 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK: @same(f32)
// CHECK: {{^}}// -----
// CHECK: @same(f64)
func.func private @same(f32)

// -----

func.func private @same(f64)

// OUT: @first
// OUT-NOT: @second
// OUT: // -----
// OUT: @third
// The lines are those of the whole file.
// ERR: split.mlir:5:37: error: use of undeclared SSA value name
// ERR-NEXT: func.func @second() -> f32 { return %y : f32 }
// ERR-NOT: error
// WHOLE: error: redefinition of symbol named 'same'
