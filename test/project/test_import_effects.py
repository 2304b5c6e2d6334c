"""What imports change in other libraries and in the process."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys

finders = list(sys.meta_path)

import relax_mlir

assert sys.meta_path == finders

from relax_mlir.dialects.bindings import ir

base = ir.Operation.__mro__[1]
patched = [(base, "erase"), (base, "detach_from_parent"), (ir.Value, "replace_all_uses_with"),
           (ir.OpOperandList, "__setitem__")]
methods = [getattr(*each) for each in patched]

from relax_mlir import relax, tir, transform
from relax_mlir.script import ir as I, tir as T
from relax_mlir.runtime.specializer import current

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = 0.0

assert transform.PassContext and tir.Schedule and relax.build
assert current.specializer is None
assert [getattr(*each) for each in patched] == methods
added = [each for each in sys.meta_path if each not in finders]
assert [each for each in sys.meta_path if each in finders] == finders and len(added) == 1
assert added[0].find_spec("numpy.none", None) is None
transform.DeadCodeElimination()(Module)
assert hasattr(base.erase, "is_safe")
"""


@pytest.mark.slow
def test_imports_leave_mlir_and_the_library_of_kernels_alone(tmp_path: Path) -> None:
    # A file: scripts are parsed from their source.
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    subprocess.run([sys.executable, str(program)], check=True)
