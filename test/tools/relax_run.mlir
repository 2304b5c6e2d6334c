// Programs and executables run: results, latency, a table per kernel, a trace.
// REQUIRES: codegen
// RUN: relax-run %s --input=x=ones:2x4 | FileCheck %s --check-prefix=ONCE
// RUN: relax-run - --dim=n=3 --print=values < %s | FileCheck %s --check-prefix=VALUES
// RUN: relax-compile %s -o %t.rxe && relax-run %t.rxe --dim=n=8 --benchmark --profile --trace=%t.json | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: relax-run %s --dim=n=8 --profile --repeat=3 --no-peak | FileCheck %s --check-prefix=APART
// RUN: relax-run %t.rxe --show | FileCheck %s --check-prefix=SHOW
// RUN: relax-run %t.rxe --list-functions | FileCheck %s --check-prefix=LIST
// RUN: relax-run --help | FileCheck %s --check-prefix=HELP
// RUN: relax-run --version | FileCheck %s --check-prefix=VERSION
// RUN: not relax-run %t.rxe 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not relax-run %t.rxe --input=x=ones:2x5 2>&1 | FileCheck %s --check-prefix=CHECK
// RUN: not relax-run %t.rxe --benchmrk 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not relax-run %t.none.rxe 2>&1 | FileCheck %s --check-prefix=FILE

func.func @main(%x: tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>> attributes {relax.function, relax.params = ["x"]} {
  %sum = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
    %b = "relax.softmax"(%a) {axis = -1 : i64} : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
    "relax.output"(%b) : (tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
  return %sum : tensor<?x4xf32, #relax.dims<["n"], affine_map<()[n] -> (n, 4)>>>
}

// ONCE: output: float32[2, 4] min 0.25 max 0.25 mean 0.25 std 0
// VALUES: output: float32[3, 4]
// VALUES-NEXT: {{\[\[ *0}}.
// TABLE: latency of 100 calls in us: mean {{.*}} p50 {{.*}} p99
// TABLE: function {{.*}}GFLOP/s{{.*}}% of peak{{.*}}GB/s{{.*}}% of copy
// TABLE: peak of one core: {{[0-9.]+}} GFLOP/s
// TABLE: one native call of 2 kernels: exp, softmax
// TRACE: "traceEvents"
// APART-NOT: % of peak
// APART-DAG: exp {{ *}}native {{ *}}3
// APART-DAG: softmax {{ *}}native {{ *}}3
// SHOW: Globals (#1): [main]
// SHOW: @main:
// LIST: main(x: R.Tensor((n, 4), "float32"))
// HELP: usage: relax-run
// VERSION: relax-run {{[0-9]}}
// SHAPE: {{^}}error: argument 'x': its shape is not static{{.*}}--dim=n=4
// CHECK: {{^}}error: main: argument 'x'{{.*}}dimension 1 is 5, expected 4
// FLAG: {{^}}error: unknown flag '--benchmrk'; did you mean '--benchmark'?
// FILE: {{^}}error: cannot open input file
