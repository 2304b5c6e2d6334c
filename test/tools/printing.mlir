// RUN: relax-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG
// RUN: relax-opt %s --mlir-pretty-debuginfo | FileCheck %s --check-prefix=PRETTY
// RUN: relax-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: relax-opt %s --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL
// RUN: relax-opt %s --mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=NAMED
// RUN: relax-opt %s --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDED
// RUN: relax-opt %s --mlir-elide-resource-strings-if-larger=8 | FileCheck %s --check-prefix=RESOURCE
// RUN: relax-opt %s | FileCheck %s --check-prefix=PLAIN

#map = affine_map<(d0) -> (d0 * 2)>
func.func @f(%x: f32) -> tensor<4xf32> attributes {test.map = #map} {
  %0 = arith.addf %x, %x : f32 loc("lv0")
  %1 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = arith.constant dense_resource<blob> : tensor<4xf32>
  return %1 : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040"
    }
  }
#-}

// DEBUG: loc("{{.*}}printing.mlir":11:
// PRETTY: arith.addf {{.*}} "lv0"
// GENERIC: "arith.addf"(%{{.*}}, %{{.*}})
// LOCAL: affine_map<(d0) -> (d0 * 2)>}
// NAMED: %lv0 = arith.addf
// ELIDED: dense_resource<__elided__>
// RESOURCE: dense_resource<blob>
// RESOURCE-NOT: 0x040000000000803F
// PLAIN-NOT: loc(
// PLAIN: dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// PLAIN-NOT: loc(
// PLAIN: blob: "0x040000000000803F000000400000404000008040"
