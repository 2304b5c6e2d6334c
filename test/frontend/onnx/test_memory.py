"""The memory that import and build of a model with its weights in a file take."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

_SIZE, _LAYERS = 1536, 12
_CODE = """
import sys
import relax_mlir

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

relax_mlir.compile(sys.argv[1])
before = peak()
relax_mlir.compile(sys.argv[2])
print(peak() - before)
"""


def _write(folder: Path, name: str, size: int) -> Path:
    steps = " ".join(f"h{i + 1} = MatMul(h{i}, w{i})" for i in range(_LAYERS))
    model = parse_model(
        f'<ir_version: 10, opset_import: ["" : 23]> g (float[n,{size}] h0) => '
        f"(float[n,{size}] h{_LAYERS}) {{ {steps} }}"
    )
    for i in range(_LAYERS):
        array = np.random.default_rng(i).random((size, size), np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, f"w{i}"))
    path = folder / f"{name}.onnx"
    onnx.save(model, path, save_as_external_data=True, location=f"{name}.bin")
    return path


@pytest.mark.codegen
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory")
def test_weights_are_in_memory_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    paths = [_write(tmp_path, "small", 256), _write(tmp_path, "large", _SIZE)]
    command = [sys.executable, "-c", _CODE, *map(str, paths)]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 1.3 * _LAYERS * _SIZE * _SIZE * 4
