// Every pass is a flag; they run in the order given, with one dash or two.
// RUN: relax-opt --cse %s | FileCheck %s
// RUN: relax-opt -cse %s | FileCheck %s
// RUN: relax-opt %s --to-non-dataflow -canonicalize="max-iterations=3 top-down=false" -cse | FileCheck %s
// RUN: relax-opt %s --cse --to-non-dataflow --cse --canonicalize=max-iterations=3 --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not relax-opt --csee %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not relax-opt --emit-bytecod %s 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not relax-opt --canonicalize=max-iteration=3 %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not relax-opt --to-non-dataflow=a=1 %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not relax-opt -o 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not relax-opt --verify-each=maybe %s 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: not relax-opt --mlir-elide-elementsattrs-if-larger=x %s 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not relax-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO

// CHECK-LABEL: func.func @f
// CHECK: arith.addf
// CHECK-NOT: arith.addf
func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %x, %x : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}

// ORDER: builtin.module(cse,to-non-dataflow,cse,canonicalize{max-iterations=3})
// NAME: {{^}}error: unknown flag or pass '--csee'; did you mean '--cse'?
// FLAG: {{^}}error: unknown flag or pass '--emit-bytecod'; did you mean '--emit-bytecode'?
// OPTION: {{^}}error: pass 'canonicalize' has no option 'max-iteration'; did you mean 'max-iterations'?
// NONE: {{^}}error: pass 'to-non-dataflow' has no option 'a'; it takes none
// VALUE: {{^}}error: flag '-o' needs a value: -o=<file>
// BOOL: {{^}}error: flag '--verify-each' is true or false, got 'maybe'
// NUMBER: {{^}}error: flag '--mlir-elide-elementsattrs-if-larger' wants a number, got 'x'
// TWO: {{^}}error: one input at a time, got '{{.*}}' and '{{.*}}'
