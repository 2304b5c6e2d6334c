// REQUIRES: mlir-opt
// Bytecode goes to a stock mlir-opt and back.
//
// MLIR 24 writes an affine map that stands by itself in an encoding that MLIR 22 does not know ("unknown
// attribute code"), so prim funcs, whose accesses are such maps, travel as text; inside #relax.dims maps
// are text anyway.
//
// DEFINE: %{irdl} = %S/../../../dialects/irdl/relax_mlir.irdl.mlir
// RUN: relax-opt %s -o %t.ours
// RUN: relax-opt %s -export-stock --emit-bytecode -o %t.bc
// RUN: mlir-opt --irdl-file=%{irdl} %t.bc --emit-bytecode -o %t.stock.bc
// RUN: relax-opt %t.stock.bc -import-stock -o %t.back
// RUN: diff %t.ours %t.back
// RUN: FileCheck %s --input-file=%t.back

#n4 = affine_map<()[s0] -> (s0, 4)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>

// CHECK-LABEL: func.func @main(
func.func @main(%x: !n4) -> !n4 attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    // CHECK: "relax.softmax"(%{{.*}}) {axis = 1 : i64}
    %1 = "relax.softmax"(%x) {axis = 1 : i64} : (!n4) -> !n4
    // CHECK: "relax.output"
    "relax.output"(%1) : (!n4) -> ()
  }) : () -> !n4
  return %0 : !n4
}

// CHECK-LABEL: func.func @lowered(
func.func @lowered(%x: tensor<?x4xf32>) -> !relax.shape<2 : i64> {
  %0 = "vm.alloc_shape_heap"() {size = 2 : i64} : () -> !vm.heap
  // CHECK: slots = array<i64: 0, -1>
  "vm.store_shape"(%x, %0) {slots = array<i64: 0, -1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  %1 = "vm.load_shape"(%0) {slots = array<i64: 0, 0>} : (!vm.heap) -> !relax.shape<2 : i64>
  return %1 : !relax.shape<2 : i64>
}
