// RUN: relax-opt %s --pass-pipeline='builtin.module(dead-code-elimination{entry-functions=main,called})' | FileCheck %s --check-prefix=MAIN
// RUN: not relax-opt %s --dead-code-elimination=entry_functions=calledd 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no function 'calledd' to keep; did you mean 'called'?

// Functions that none of the entries reaches go; an entry that is not there is an error.

!T = tensor<4xf32>

// MAIN-NOT: @unreached
// MAIN: func.func private @called
// MAIN-LABEL: func.func @main
// MAIN-NOT: func.func
func.func private @unreached(%x: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call"(%t) {callee = @only_from_unreached} : (tuple<!T>) -> !T
  return %y : !T
}
func.func private @only_from_unreached(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func private @called(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func private @by_name(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func @main(%x: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call"(%t) {callee = @called} : (tuple<!T>) -> !T
  %u = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %z = "relax.call_packed"(%u) {func = "by_name"} : (tuple<!T>) -> !T
  return %z : !T
}
