# RUN: %PYTHON %s | FileCheck %s
"""Pass `AnnotateEntryFunc`: the only prim func, or the only public one, is marked."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @only
# CHECK-SAME: tir.is_entry_func = true
@T.prim_func
def only(A: T.Buffer((8,), "float32")):
    A[0] = 1.0


print(tir.transform.AnnotateEntryFunc()(only))
