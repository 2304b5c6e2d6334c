// What each kernel becomes, and one line for each that has no fast path; equal ones are told once.
// REQUIRES: codegen
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe 2>&1 | FileCheck %s --check-prefix=WARN
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe --quiet 2>&1 | not grep .
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe --report --quiet 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe --report --quiet --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4" 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe --report --quiet --report-size n=31,m=5 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: relax-compile %S/Inputs/kernels.py -o %t.rxe --report --quiet --target="llvm -mtriple=aarch64-linux-gnu" --report-size n=3 2>&1 | FileCheck %s --check-prefix=CROSS
// RUN: not relax-compile %S/Inputs/kernels.py -o %t.rxe --report-size=n=x 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not relax-compile %S/Inputs/kernels.py --to=LegalizeOps --report 2>&1 | FileCheck %s --check-prefix=TO

// WARN: warning: kernel 'logistic' has no fast path (chaos: it has an iterator that neither maps nor reduces)
// WARN-NOT: warning
// OPEN: kernel {{ *}}class {{ *}}tile {{ *}}vector {{ *}}threads {{ *}}limit {{ *}}expected {{ *}}measured
// OPEN: logistic {{ *}}opaque {{ *}}1 {{ *}}none {{ *}}1 {{ *}}- {{ *}}- {{ *}}- {{ *}}no fast path: chaos: it has an iterator that neither maps nor reduces; for times give --report-size=n=...
// OPEN: logistic_again
// OPEN: plan of logistic: plain loops
// OPEN-NEXT: classes that do not match: {{.*}}map with branches{{.*}} (it has an iterator that neither maps nor reduces)
// WIDE: matmul {{.*}}contraction{{.*}} 16 x f32
// WIDE: plan of matmul: GEMM: skinny 8x{{[0-9]+}} ({{.*}} cycles) or, as run time says, tiles {{[0-9x]+}} ({{.*}} cycles)
// WIDE-NEXT: other ways: tall-skinny {{.*}} cycles)
// WIDE-NEXT: other classes that match: {{.*}}maps and reductions: vectors ({{.*}} cycles)
// SIZES: matmul {{.*}}contraction{{.*}} {{FMA|copy}} {{[0-9]+ [GFLOP/sB]+ +[0-9]+% .*}} ms
// CROSS: matmul {{.*}} 4 x f32 {{.*}}is for aarch64
// SIZE: error: flag '--report-size' wants name=size, got 'n=x'
// TO: error: give either '--to' or '--report', not both: nothing is compiled
