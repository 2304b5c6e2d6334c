"""tvm_ffi is imported without torch, which takes seconds where it is installed."""

import subprocess
import sys

PROGRAM = """
import sys
from relax_mlir.runtime.native.ffi import tvm_ffi

print("torch" in sys.modules, "hashlib" in sys.modules, callable(tvm_ffi.cpp.load_inline))
import torch
print(torch.VALUE, [type(each).__name__ for each in sys.meta_path].count("_Lean"))
"""


def test_torch_is_imported_by_its_user_only(tmp_path):
    (tmp_path / "torch.py").write_text("VALUE = 7\n")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "False", "True", "7", "0"], done.stderr
