// MLIR and scripts to executables and native code; `--to` stops after a stage.
// REQUIRES: codegen
// RUN: relax-compile %s -o %t.rxe --stats --time-passes 2>&1 | FileCheck %s --check-prefix=STATS
// RUN: relax-compile - -o %t1.rxe < %s && ls %t1.rxe
// RUN: relax-opt %s --emit-bytecode -o %t.mlirbc && relax-compile %t.mlirbc -o %t2.rxe && ls %t2.rxe
// RUN: relax-compile %S/Inputs/relu.py -o %t.py.rxe && ls %t.py.rxe
// RUN: relax-compile %s --to=legalize-ops | FileCheck %s --check-prefix=TO
// RUN: relax-compile %s --emit=llvm -o - | FileCheck %s --check-prefix=LLVM
// RUN: relax-compile %s --emit=asm --target="llvm -mtriple=aarch64-linux-gnu" -o - | FileCheck %s --check-prefix=ASM
// RUN: relax-compile --help | FileCheck %s --check-prefix=HELP
// RUN: relax-compile --version | FileCheck %s --check-prefix=VERSION
// RUN: relax-compile --list-stages --disable-pass=fuse-kernels | FileCheck %s --check-prefix=STAGES

// The flags of relax-opt that watch passes.
// RUN: rm -rf %t.dir && relax-compile %s -o %t.rxe --dump-ir-dir=%t.dir && ls %t.dir | FileCheck %s --check-prefix=DUMP
// RUN: relax-compile %s -o %t.rxe --check-well-formed --pass-statistics 2>&1 | FileCheck %s --check-prefix=STATISTICS
// RUN: relax-compile %s -o %t.rxe --time-trace=%t.json && FileCheck %s --check-prefix=TRACE < %t.json
// RUN: relax-compile %s --to=EliminateCommonSubexpr --print-ir-diff 2>&1 >%t | FileCheck %s --check-prefix=DIFF
// RUN: relax-compile %s --to=LegalizeOps --print-ir-after-change 2>&1 >%t | FileCheck %s --check-prefix=CHANGE
// RUN: relax-compile %s -o %t.rxe --opt-bisect-limit=1 2>&1 | FileCheck %s --check-prefix=BISECT

// A module without functions is one, though seldom what was meant.
// RUN: echo | relax-compile - -o %t4.rxe 2>&1 | FileCheck %s --check-prefix=EMPTY

// What fails is said in a line, and writes nothing.
// RUN: rm -f %t3.rxe %t.repro.mlir
// RUN: not relax-compile %S/Inputs/not_well_formed.mlir -o %t3.rxe --crash-reproducer=%t.repro.mlir 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not ls %t3.rxe
// RUN: not relax-opt %t.repro.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not relax-compile %s --opt-levl=3 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not relax-compile %s --disable-pass=FuseOp 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: not relax-compile %s --to=FuseKernel 2>&1 | FileCheck %s --check-prefix=STAGE

func.func @main(%x: tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>> attributes {relax.function} {
  %sum = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
    %b = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
    %c = "relax.add"(%a, %b) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>, tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
    "relax.output"(%c) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
  return %sum : tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
}

// STATS: LegalizeOps {{ *[0-9.]+}} ms
// STATS: total {{ *[0-9.]+}} ms 100.0%
// STATS: Globals (#1): [main]
// STATS: Native code: {{[0-9]+}} bytes
// TO: relax.call_tir
// TO: tir.prim_func
// LLVM: target triple
// LLVM: @__tvm_ffi_exp_add
// ASM: stp	x29, x30
// HELP: usage: relax-compile
// HELP: --target TEXT
// VERSION: relax-compile {{[0-9]}}
// STAGES: AlterOpLayout {{ *}}left out (from --opt-level=3)
// STAGES: FuseKernels {{ *}}left out (--disable-pass)
// STAGES: VMShapeLower
// DUMP: 00_input.mlir
// DUMP-NEXT: 01_WellFormed.mlir
// DUMP: _LowerTIR.mlir
// DUMP: _llvm_optimize.ll
// STATISTICS: EliminateCommonSubexpr {{.*}}relax.call_tir -1
// TRACE: "name": "LowerTIR"
// DIFF: --- before EliminateCommonSubexpr
// CHANGE-NOT: After WellFormed
// CHANGE: IR Dump After LegalizeOps
// BISECT-NOT: LegalizeOps
// BISECT: BISECT: running pass (1) CanonicalizeBindings
// BISECT-NEXT: BISECT: NOT running pass (2) SimplifyKnownStatistics
// BISECT-NEXT: BISECT: NOT running pass (3) Conv3dToConv2d
// BISECT-NEXT: BISECT: NOT running pass (4) ReorderResizeAfterConv
// BISECT-NEXT: BISECT: NOT running pass (5) SplitConvOfConcat
// BISECT-NEXT: BISECT: NOT running pass (6) PackConvWeights
// BISECT-NEXT: BISECT: NOT running pass (7) FoldConstant
// EMPTY: {{^}}<stdin>: warning: there is nothing to call: the module has no Relax function and no prim func with a body{{$}}
// EMPTY-NOT: {{^.}}
// FORM: not_well_formed.mlir:2:8: error: symbol 'n'
// FLAG: {{^}}error: unknown flag '--opt-levl'; did you mean '--opt-level'?
// PASS: {{^}}error: unknown pass 'FuseOp'; did you mean 'FuseOps'?
// STAGE: {{^}}error: unknown stage 'FuseKernel'; did you mean 'FuseKernels'?
