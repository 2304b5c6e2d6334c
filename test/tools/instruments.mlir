// Instruments as flags: the passes then run one by one.
// RUN: relax-opt %s --cse --canonicalize --time-passes --time-trace=%t.json 2>&1 >%t | FileCheck %s --check-prefix=TIME
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: relax-opt %s --cse --canonicalize --pass-statistics 2>&1 >%t | FileCheck %s --check-prefix=STATISTICS
// RUN: relax-opt %s --canonicalize=top-down=false --cse --print-ir-diff 2>&1 >%t | FileCheck %s --check-prefix=DIFF
// RUN: relax-opt %s --cse --to-non-dataflow --dump-ir-dir=%t.dir && ls %t.dir | FileCheck %s --check-prefix=DUMP
// RUN: relax-opt %s --cse --canonicalize --opt-bisect-limit=1 2>&1 >%t | FileCheck %s --check-prefix=BISECT
// RUN: relax-opt %s --opt-bisect-limit=0 --cse | FileCheck %s --check-prefix=NONE
// RUN: not relax-opt %S/Inputs/not_well_formed.mlir --cse --check-well-formed 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not relax-opt %s --load=%S/Inputs/users_pass.py --cse --exp-to-sin --check-equivalence 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: relax-opt %s --cse --legalize-ops --check-equivalence 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not relax-opt %s --cse --time-passes --mlir-timing 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not relax-opt %s --csee --time-passes 2>&1 | FileCheck %s --check-prefix=NAME

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// TIME: {{^}}pipeline: {{[0-9]+}}us [{{[0-9]+}}us] (100.00%; 100.00%)
// TIME-NEXT: cse: {{[0-9]+}}us
// TIME-NEXT: canonicalize: {{[0-9]+}}us
// TRACE: "traceEvents"
// TRACE-SAME: "name": "cse"
// STATISTICS: cse {{ *}}5 -> 4
// STATISTICS-SAME: relax.exp -1
// STATISTICS-NEXT: canonicalize {{ *}}4 -> 4
// DIFF-NOT: canonicalize
// DIFF: --- before cse
// DIFF: +++ after cse
// DIFF: {{^}}-{{.*}}relax.exp
// DUMP: 000_cse.mlir
// DUMP-NEXT: 001_ToNonDataflow.mlir
// BISECT: BISECT: running pass (1) cse
// BISECT-NEXT: BISECT: NOT running pass (2) canonicalize
// NONE-COUNT-2: relax.exp
// FORM: error: pass 'cse' failed: it left a module that is not well-formed
// SAME: error: pass 'ExpToSin' failed: it changes what '@f' computes
// SAME-NEXT: note: smallest input found: #0 = float32[4] [0.0, 0.0, 0.0, 0.0]
// SAME-NEXT: note: the result[0] is 2.0 before the pass, 0.0 after it; 4 of 4 elements differ
// NOTHING-NOT: remark
// NOTHING: relax.call_tir
// BOTH: {{^}}error: give either '--time-passes' or '--mlir-timing', not both
// NAME: {{^}}error: unknown flag or pass '--csee'; did you mean '--cse'?
