// What does not match is an error with its place.
// RUN: not relax-opt %S/Inputs/unmet.mlir --split-input-file --verify-diagnostics > %t.out 2>&1
// RUN: FileCheck %s < %t.out
// RUN: relax-opt %S/Inputs/not_bufferized.mlir --verify-diagnostics --allow-unregistered-dialect --one-shot-bufferize

// CHECK: unmet.mlir:2:10: error: unexpected error: use of undeclared SSA value name
// CHECK: unmet.mlir:6:33: error: expected error "never comes" was not produced
// CHECK: unmet.mlir:9:33: error: expected warning "never comes" was not produced
// CHECK: unmet.mlir:13:10: error: unexpected error: use of undeclared SSA value name
// CHECK: unmet.mlir:13:22: error: expected error "another text" was not produced
// CHECK: unmet.mlir:17:32: error: malformed expected-error
