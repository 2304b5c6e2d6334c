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
// CHECK: unmet.mlir:21:4: error: malformed expected-eror: there are expected-error, -warning, -remark and -note
// CHECK: unmet.mlir:22:4: error: malformed expected-note@+1000: there is no line 1022
// CHECK: unmet.mlir:23:4: error: malformed expected-note@-30: there is no line -7
// CHECK-NOT: malformed
