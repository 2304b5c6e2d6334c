// The test command is relax-opt itself: one pass refuses one operation.
// RUN: %PYTHON -m relax_mlir.tools.relax_reduce %s --test "%PYTHON -m relax_mlir.tools.relax_opt --one-shot-bufferize" --expect "not bufferized" --max-tests 12 -q | FileCheck %s
// RUN: %PYTHON -m relax_mlir.tools.relax_reduce %s --test "%PYTHON -c \"import sys; sys.exit('relax.sin' in open(sys.argv[1]).read())\"" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=LOG
// RUN: FileCheck %s --check-prefix=OUT < %t.mlir
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %s --test "true" 2>&1 | FileCheck %s --check-prefix=GOOD
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %s --test "relax-no-such-command" 2>&1 | FileCheck %s --check-prefix=COMMAND
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %s --test " " 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %s --test "%PYTHON -c 1/0" --expect "rubbish" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: %PYTHON -m relax_mlir.tools.relax_reduce %S/Inputs/relu.py --test "%PYTHON -c 1/0" -q | FileCheck %s --check-prefix=SCRIPT
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce %S/Inputs/not_mlir.txt --test "%PYTHON -c 1/0" 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not %PYTHON -m relax_mlir.tools.relax_reduce no_such_file.mlir --test "true" 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: func.func
// CHECK: "relax.
// CHECK-NOT: "relax.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  return %x : tensor<4xf32>
}

// LOG: start: 7 operations
// LOG: a function: {{[0-9]+}} operations left
// OUT: @main
// OUT-NOT: @other
// GOOD: {{^}}error: the module does not fail to begin with: the test command exits with 0
// COMMAND: {{^}}error: cannot run 'relax-no-such-command': No such file or directory
// EMPTY: {{^}}error: the test command is empty
// OTHER: {{^}}error: the module does not fail to begin with: the test command fails (1) without saying 'rubbish', and its last line is 'ZeroDivisionError: division by zero'
// SCRIPT: module {
// INPUT: not_mlir.txt:1:1: error: custom op 'no' is unknown
// MISSING: {{^}}error: cannot open input file 'no_such_file.mlir'
