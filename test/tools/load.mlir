// Passes that a user's file registers are passes like the others, on every command line.
// RUN: relax-opt %s --load=%S/Inputs/users_pass.py --exp-to-sin --mark-functions=mark=here | FileCheck %s
// RUN: not relax-opt %s --exp-to-sin --pass-pipeline="builtin.module(exp-to-sin,func.func(cse,mark-functions{mark=here}))" --load %S/Inputs/users_pass.py 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: relax-opt %s --pass-pipeline="builtin.module(exp-to-sin,func.func(cse,mark-functions{mark=here}))" --load %S/Inputs/users_pass.py | FileCheck %s
// RUN: relax-opt --load=%S/Inputs/users_pass.py --list-passes | FileCheck %s --check-prefix=LIST
// RUN: relax-compile %s --load=%S/Inputs/users_pass.py --pipeline=exp-to-sin --to=ExpToSin | FileCheck %s --check-prefix=COMPILE
// RUN: %PYTHON -m relax_mlir.tools.relax_reduce %s -q --load %S/Inputs/users_pass.py --test "%PYTHON -m relax_mlir.tools.relax_opt --exp-to-sin --cse=nope --load=%S/Inputs/users_pass.py" --max-tests 3 | FileCheck %s --check-prefix=REDUCE
// RUN: not relax-opt %s --load=%S/Inputs/nobody.py --cse 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not relax-compile %s --load=%S/Inputs/nobody.py 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %s --load=%S/Inputs/nobody.py --test true 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not relax-opt %s --load=%S/Inputs/users_bug.py --cse 2>&1 | FileCheck %s --check-prefix=BUG
// RUN: not relax-opt %s --load=%s --cse 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not relax-opt %s --load 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not relax-opt %s --exp-to-sin 2>&1 | FileCheck %s --check-prefix=WITHOUT

// CHECK: mark = "here"
// CHECK: "relax.sin"
// BOTH: {{^}}error: give either --pass-pipeline or passes as flags
// LIST: mark-functions{{.*}}Leave a mark
// COMPILE: "relax.sin"
// REDUCE: module {
// MISSING: {{^}}error: cannot load '{{.*}}nobody.py': there is no such file
// BUG: {{^}}error: cannot load '{{.*}}users_bug.py': AttributeError: {{.*}} (line 5)
// KIND: {{^}}error: cannot load '{{.*}}load.mlir': it is no Python file (.py)
// VALUE: {{^}}error: flag '--load' needs a value: --load=<file>
// WITHOUT: {{^}}error: unknown flag or pass '--exp-to-sin'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
