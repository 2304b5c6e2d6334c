// RUN: relax-opt --pass-pipeline='builtin.module(cse)' %s | FileCheck %s
// RUN: relax-opt -pass-pipeline='any( func.func( cse ) )' %s | FileCheck %s
// RUN: relax-opt --pass-pipeline 'builtin.module(to-non-dataflow,func.func(cse,canonicalize{max-iterations=3}))' %s | FileCheck %s
// RUN: relax-opt --pass-pipeline='builtin.module(func.func(  cse ),to-non-dataflow)' --dump-pass-pipeline %s 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: not relax-opt --pass-pipeline='builtin.module(csee)' %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not relax-opt --pass-pipeline='builtin.module(to-non-dataflw)' %s 2>&1 | FileCheck %s --check-prefix=OURS
// RUN: not relax-opt --pass-pipeline='builtin.module(canonicalize{max-iteration=3})' %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not relax-opt --pass-pipeline='builtin.module(canonicalize{max-iterations=x})' %s 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not relax-opt --pass-pipeline='builtin.module(to-non-dataflow{a=1})' %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not relax-opt --pass-pipeline='builtin.module(cse' %s 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not relax-opt --pass-pipeline=cse %s 2>&1 | FileCheck %s --check-prefix=ANCHOR
// RUN: not relax-opt --pass-pipeline='builtin.module(func.func(to-non-dataflow))' %s 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not relax-opt --pass-pipeline='builtin.module(cse)' --cse %s 2>&1 | FileCheck %s --check-prefix=BOTH

// CHECK-LABEL: func.func @f
// CHECK: arith.addf
// CHECK-NOT: arith.addf
func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %x, %x : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}

// DUMP: Pass Manager with 2 passes:
// DUMP-NEXT: builtin.module(func.func(cse),to-non-dataflow)
// NAME: {{^}}error: unknown pass 'csee'; did you mean 'cse'?
// OURS: {{^}}error: unknown pass 'to-non-dataflw'; did you mean 'to-non-dataflow'?
// OPTION: {{^}}error: pass 'canonicalize' has no option 'max-iteration'; did you mean 'max-iterations'?
// VALUE: {{^}}error: pass 'canonicalize' does not accept options 'max-iterations=x'
// NONE: {{^}}error: pass 'to-non-dataflow' has no option 'a'; it takes none
// SYNTAX: {{^}}error: pass pipeline, column 19: expected ')' to close the pipeline
// SYNTAX-NEXT: builtin.module(cse
// SYNTAX-NEXT: {{^                  \^}}
// ANCHOR: {{^}}error: expected pass pipeline to be wrapped {{.*}} did you mean 'builtin.module(cse)'?
// NESTED: {{^}}error: pass 'to-non-dataflow' runs on 'builtin.module' and cannot be nested under 'func.func'
// BOTH: {{^}}error: give either --pass-pipeline or passes as flags ('--cse'), not both
