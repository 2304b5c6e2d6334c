"""Seconds that ONNX Runtime takes to make a session of an ONNX file, and IREE to compile it."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnxruntime

# As IREE compiles for `worker.py`.
_IREE = (
    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-opt-data-tiling=true",
)  # fmt: skip


def main(path):
    """Print the seconds of both as JSON; IREE's are missing where it does not compile the model."""
    start = time.perf_counter()
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = {"ONNX Runtime": time.perf_counter() - start}
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "in.mlir")
        commands = (
            [tools / "iree-import-onnx", path, "-o", text],
            [tools / "iree-compile", text, "-o", Path(folder, "out.vmfb"), *_IREE],
        )
        start = time.perf_counter()
        if not any(subprocess.run(each, capture_output=True).returncode for each in commands):
            found["IREE"] = time.perf_counter() - start
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
