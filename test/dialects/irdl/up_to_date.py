# RUN: %PYTHON -m relax_mlir.tools.relax_irdl --check
# RUN: %PYTHON -m relax_mlir.tools.relax_irdl -o %t && %PYTHON %s %t | FileCheck %s
"""The shipped IRDL files are what the dialects say now; run the generator when this fails."""

import sys
from pathlib import Path

for path in sorted(Path(sys.argv[1]).iterdir()):
    text = path.read_text()
    print(path.name, text.count("irdl.dialect @"))
    if path.name == "relax.irdl.mlir":
        print(text)

# CHECK: relax.irdl.mlir 1
# CHECK: irdl.dialect @relax {
# CHECK: irdl.attribute @dims {
# CHECK: irdl.operation @dataflow {
# CHECK: relax_mlir.irdl.mlir 3
# CHECK: tir.irdl.mlir 1
# CHECK: vm.irdl.mlir 1
