"""Configuration of lit, the runner of the tests that read IR and of the runnable scripts."""

import importlib.util
import os
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import lit.formats

config.name = "relax-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
# A folder with tests says so in its lit.local.cfg; `lit .` then finds those and no other file.
config.suffixes = []
config.excludes = [".venv", "build"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parent / "build")

# A bare checkout imports relax_mlir from the current folder but not what install maps into it.
if (
    importlib.util.find_spec("relax_mlir") is None
    or importlib.util.find_spec("relax_mlir.dialects") is None
):
    lit_config.fatal("relax_mlir is not installed: run `make test` or `pip install -e .[test]`")


def tool(*names: str) -> str | None:
    """Return the path of the first of these programs that is on PATH, quoted for a command."""
    return next((shlex.quote(path) for path in map(shutil.which, names) if path), None)


def substitute(word: str, command: str) -> None:
    """Replace `word` where it stands alone as a command, not inside a path or a longer word."""
    config.substitutions.append((rf"(?<![\w./-]){word}(?![\w./-])", command.replace("\\", r"\\")))


# Threads do not survive a fork, and pools of tests side by side would fight for the cores.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RELAX_MLIR_NUM_THREADS"):
    config.environment[variable] = os.environ.get(variable, "1")
# What is compiled for where no target is named: what LLVM's optimiser does is none of these tests.
config.environment["RELAX_MLIR_TARGET"] = os.environ.get("RELAX_MLIR_TARGET", "llvm -O=0")
# Tests compile what they check, and the user's folder stays as it is.
config.environment["RELAX_MLIR_CACHE"] = "off"


def python_server() -> str:
    """Start the process that forks for each Python command; return its client's command line."""
    support = Path(__file__).parent / "test" / "support"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # the kernel chooses an abstract name
        listener.listen(64)
        # The server lives as long as this pipe, which the last process of lit closes.
        end, _ = os.pipe()
        subprocess.Popen(
            [sys.executable, support / "tool_server.py", str(listener.fileno())],
            stdin=end,
            pass_fds=[listener.fileno()],
            env=os.environ | config.environment,
        )
        os.close(end)
        name = listener.getsockname().hex()
    return shlex.join([sys.executable, "-I", "-S", str(support / "tool_client.py"), name])


# `lit --param quick=1` leaves tests that compile native code out: they say `REQUIRES: codegen`.
if not lit_config.params.get("quick"):
    config.available_features.add("codegen")
python = python_server()
# For tests that start tools themselves.
config.environment["TEST_PYTHON"] = python
substitute("%PYTHON", python)
substitute("relax-compile", f"{python} -m relax_mlir.tools.relax_compile")
substitute("relax-run", f"{python} -m relax_mlir.tools.relax_run")
substitute("relax-opt", f"{python} -m relax_mlir.tools.relax_opt")
substitute("FileCheck", tool("FileCheck", "FileCheck-22") or f"{python} -m filecheck")
if mlir_opt := tool("mlir-opt-22"):
    config.available_features.add("mlir-opt")
    substitute("mlir-opt", mlir_opt)
