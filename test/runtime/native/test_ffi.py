"""tvm_ffi is imported without torch and CUDA, and to run a model nothing of it but its core."""

import subprocess
import sys

import pytest

from relax_mlir import relax
from relax_mlir.relax.frontend import nn

TORCH = """
import sys
from relax_mlir.runtime.native.ffi import tvm_ffi

print("torch" in sys.modules, "hashlib" in sys.modules, callable(tvm_ffi.cpp.load_inline))
import torch
print(torch.VALUE, [type(each).__name__ for each in sys.meta_path].count("_Lean"))
"""
# CUDA's driver as its package has it, which a user of its streams imports.
DRIVER = """
class CUstream:
    def __int__(self):
        return 4096
"""
STREAM = """
import sys
from relax_mlir.runtime.native.ffi import tvm_ffi

echo, is_loaded = tvm_ffi.core._get_global_func("testing.echo", False), "cuda" in sys.modules
class Other:
    pass
print(is_loaded, type(echo(Other())).__name__)
from cuda.bindings.driver import CUstream
print(echo(CUstream()))
"""
RUN = """
import sys
import numpy as np
from relax_mlir.runtime import Executable, VirtualMachine

machine = VirtualMachine(Executable.load(sys.argv[1]))
x = np.ones((2, 3), "float32")
number = float(machine["main"](x)[1, 2])
print(number, "tvm_ffi.registry" in sys.modules, "ml_dtypes" in sys.modules)
"""
# Whatever is asked of it first imports the rest, which then is as if it had come at once.
USES = {
    "an attribute": "import tvm_ffi; print(tvm_ffi.convert([1, 2])[1], tvm_ffi.core.Function)",
    "a module": "import tvm_ffi.container; print(len(tvm_ffi.container.Array([1, 2])))",
    "a name": "from tvm_ffi import Shape; print(Shape((1, 2))[1])",
    "its names": "import tvm_ffi; print('structural_hash' in dir(tvm_ffi))",
    "the wrong name": "import tvm_ffi; print(hasattr(tvm_ffi, 'no_such_name'))",
    "an error": """
try:
    next(iter(machine.executable.load_native().values()))(x)
except TypeError as error:
    print(error)
""",
    "a text": """
from relax_mlir.runtime.native.ffi import tvm_ffi
print(tvm_ffi.core._get_global_func("ffi.String", False)("text"))
""",
    "a Python function": """
from relax_mlir import register_func
from relax_mlir.runtime import get_global_func
register_func("test.twice", lambda x: 2 * x)
import tvm_ffi
print(tvm_ffi.get_global_func("test.twice")(x).shape)
""",
}
ANSWERS = {
    "an attribute": "2 <class 'tvm_ffi.core.Function'>", "a module": "2", "a name": "2",
    "its names": "True", "the wrong name": "False", "a text": "text",
    "an error": "add: expected 3 arguments, got 1",
    "a Python function": "(2, 3)",
}  # fmt: skip


def _printed(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_torch_is_imported_by_its_user_only(tmp_path):
    (tmp_path / "torch.py").write_text("VALUE = 7\n")
    found = _printed(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{TORCH}")
    assert found == ["False False True", "7 0"]


def test_cuda_is_imported_by_its_user_only(tmp_path):
    folder = tmp_path / "cuda" / "bindings"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "driver.py").write_text(DRIVER)
    found = _printed(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{STREAM}")
    assert found == ["False Other", "c_void_p(4096)"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    class Net(nn.Module):
        def main(self, x: nn.Tensor):
            return nn.op.add(x, x)

    mod, _ = Net().export_tvm({"main": {"x": nn.spec.Tensor(["n", 3], "float32")}})
    path = tmp_path_factory.mktemp("saved") / "model.rxe"
    relax.build(mod).save(path)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all of tvm_ffi is imported")
@pytest.mark.parametrize("use", USES)
def test_the_rest_comes_when_it_is_asked_for(saved, use):
    run = RUN + USES[use] + "\nprint('tvm_ffi.registry' in sys.modules)"
    first, *rest = _printed(run, str(saved))
    assert first == "2.0 False False"
    assert rest == [ANSWERS[use], "True"]
