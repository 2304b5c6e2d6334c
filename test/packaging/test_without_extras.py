"""Programs are written, compiled and run with the packages alone that the project depends on."""

import subprocess
import sys
from pathlib import Path

EXTRAS = ("ml_dtypes", "onnx", "pygls", "safetensors", "scipy", "sklearn", "torch", "tqdm")
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({extras}))
import numpy as np
from relax_mlir import ir, relax
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            y = R.add(R.nn.relu(x), R.const(T.float64(1), "float32"))
            R.output(y)
        return y

model = ir.load_json(ir.save_json(Model))
numbers = ir.load_json(ir.save_json(np.arange(3, dtype="float16")))
assert numbers.dtype == "float16", numbers.dtype
x = np.arange(-4, 4, dtype="float32").reshape(2, 4)
found = relax.VirtualMachine(relax.build(model))["main"](x)
np.testing.assert_array_equal(found, np.maximum(x, 0) + 1)
"""


def test_programs_need_no_extras(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(extras=EXTRAS))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
