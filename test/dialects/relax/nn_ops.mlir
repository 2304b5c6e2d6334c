// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @softmax(
func.func @softmax(%x: tensor<?x10xbf16>) -> tensor<?x10xbf16> attributes {relax.function} {
  // CHECK-NEXT: "relax.softmax"(%{{.*}}) {axis = -1 : i64} : (tensor<?x10xbf16>) -> tensor<?x10xbf16>
  %0 = "relax.softmax"(%x) {axis = -1 : i64} : (tensor<?x10xbf16>) -> tensor<?x10xbf16>
  // CHECK-NEXT: "relax.log_softmax"(%{{.*}}) {axis = 0 : i64}
  %1 = "relax.log_softmax"(%0) {axis = 0 : i64} : (tensor<?x10xbf16>) -> tensor<?x10xbf16>
  return %1 : tensor<?x10xbf16>
}
