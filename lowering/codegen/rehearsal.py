"""Trial compilation in a child process, for code at which LLVM may abort.

LLVM and the translation to it end the process, by `exit`, `abort` or a crash, at what they cannot
compile. What this project's lowering makes for the targets that its tests compile for is known not
to be such. What else there may be is what a user wrote: operations of the LLVM dialect, such as
inline assembly and intrinsics; types that no lowering here makes; and features and architectures
that have not been tried. Only such modules are compiled twice.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from io import BytesIO

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import CompileError
from relax_mlir.extension_points import extension
from relax_mlir.lowering.target.target import Target

STAGE = "native code generation"
_ARCHITECTURES = ("x86_64", "aarch64", "arm64")
# Features that kernels are compiled with and without.
_FEATURES = re.compile(r"[+-](avx\w+|amx-\w+|fma|f16c|sse4a|gfni|vaes|bmi2?|dotprod|bf16|i8mm)$")
# Whether a word begins there is asked behind it: before it, the search would stop at each letter.
_STRANGE = re.compile(
    r"llvm\.(?<=\bllvm\.)|f80\b(?<=\bf80)|f128\b(?<=\bf128)|ppc_fp|vector<[\dx]*\["
    r"|passthrough\b(?<=\bpassthrough)"
)
_SURVIVED = b"survived"
_REASON = re.compile(r"(?:error|ERROR|Assertion):? .*")
_LONG = 16


def needs_rehearsal(op: ir.Operation, target: Target) -> bool:
    """Whether compiling prim funcs may end the process.

    Args:
        op: a module before `lower-tir`, so that what that makes is not taken for a user's.
        target: what it is to be compiled for.
    """
    given = [part for part in target.attrs.get("mattr", "").split(",") if part]
    if target.arch not in _ARCHITECTURES or not all(map(_FEATURES.match, given)):
        return True
    text = op.get_asm(assume_verified=True, large_elements_limit=_LONG, large_resource_limit=_LONG)
    return _STRANGE.search(text) is not None


def rehearse(module: ir.Module, target: Target) -> None:
    """Compile a module in a process of its own; what it gives is thrown away.

    Args:
        module: as `compile_module` takes it.
        target: what for.

    Raises:
        CompileError: that process died. Another error is left to the compilation itself.
    """
    code = BytesIO()
    module.operation.write_bytecode(code)
    ran = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(target.export()).encode() + b"\n" + code.getvalue(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if not ran.stdout.endswith(_SURVIVED):
        match = _REASON.search(ran.stderr.decode(errors="replace"))
        reason = match[0] if match else f"its process ended with status {ran.returncode}"
        raise CompileError(
            STAGE,
            f"LLVM cannot compile this for '{target}': {reason}; see the module's inline assembly, "
            "intrinsics and types, and the target's -mattr and -mtriple",
        )


def _main() -> None:
    compile_module = extension("codegen.compile_module")
    target, code = sys.stdin.buffer.read().split(b"\n", 1)
    # Whoever asked gets the same exceptions; only what ends this process is reported here.
    with default_context(), ir.Location.unknown(), contextlib.suppress(Exception):
        compile_module(ir.Module.parse(code), Target(json.loads(target)))
    sys.stdout.buffer.write(_SURVIVED)


if __name__ == "__main__":
    _main()
