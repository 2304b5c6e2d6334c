// RUN: relax-opt --list-passes | FileCheck %s --check-prefix=PASSES
// RUN: relax-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: relax-opt --help | FileCheck %s --check-prefix=HELP
// RUN: relax-opt -h | FileCheck %s --check-prefix=HELP
// RUN: relax-opt --version | FileCheck %s --check-prefix=VERSION

// PASSES: passes of relax-mlir:
// PASSES-DAG: --to-non-dataflow {{.*}}(ToNonDataflow)
// PASSES-DAG: --call-tir-rewrite {{.*}}(CallTIRRewrite)
// PASSES-DAG: --vm-memory-lower {{.*}}(VMMemoryLower)
// PASSES-DAG: --vm-shape-lower {{.*}}(VMShapeLower)
// PASSES: passes of upstream MLIR
// PASSES: --canonicalize
// PASSES: --cse
// DIALECTS: Available Dialects: {{.*}}builtin, {{.*}}relax, {{.*}}tir, {{.*}}vm,
// HELP: usage: relax-opt
// HELP: --pass-pipeline=<text>
// VERSION: relax-opt {{[0-9]}}
// VERSION-NEXT: MLIR bindings: {{.*[0-9]}}
