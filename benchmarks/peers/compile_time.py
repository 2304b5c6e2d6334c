"""Seconds that ONNX Runtime takes to make a session of an ONNX file, and IREE to compile it."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnxruntime

# As IREE compiles for `worker.py`, but for the limit of what a function has on the stack: a layer
# normalization of any length takes 136 KB of it, the vocabulary of GPT-2 784 KB, not 32.
_IREE = (
    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-opt-data-tiling=true",
    "--iree-llvmcpu-stack-allocation-limit=1048576",
)  # fmt: skip

# How much of the beginning and of the end of what a failed command said is shown.
_MAX_REASON = 400


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
        for command in commands:
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode:
                print(ran.stderr[:_MAX_REASON], ran.stderr[-_MAX_REASON:], file=sys.stderr)
                break
        else:
            found["IREE"] = time.perf_counter() - start
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
