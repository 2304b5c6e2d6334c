"""relax-mlir: Relax and TIR as MLIR dialects, compiled to native CPU code.

Importing this is cheap: MLIR and LLVM are loaded when something needs them.
"""

# Made by .ci/stubs, do not edit.

from tvm_ffi._dtype import dtype as DataType

from relax_mlir import (
    arith,
    contrib,
    errors,
    frontend,
    instrument,
    ir,
    nd,
    relax,
    runtime,
    script,
    support,
    target,
    te,
    testing,
    tir,
    topi,
    transform,
    viz,
)
from relax_mlir import errors as error
from relax_mlir import tir as s_tir
from relax_mlir import tir as tirx
from relax_mlir.compiler.driver import build, compile
from relax_mlir.errors import RelaxMLIRError as TVMError
from relax_mlir.ir.module import IRModule
from relax_mlir.runtime.device.api import cpu, device, device_from_target
from relax_mlir.runtime.registry import get_global_func, register_func
from relax_mlir.runtime.registry import register_func as register_global_func
from relax_mlir.tir.lowering import lower

__all__ = [
    "DataType",
    "IRModule",
    "TVMError",
    "__version__",
    "arith",
    "build",
    "compile",
    "contrib",
    "cpu",
    "device",
    "device_from_target",
    "error",
    "errors",
    "frontend",
    "get_global_func",
    "instrument",
    "ir",
    "lower",
    "nd",
    "register_func",
    "register_global_func",
    "relax",
    "runtime",
    "s_tir",
    "script",
    "support",
    "target",
    "te",
    "testing",
    "tir",
    "tirx",
    "topi",
    "transform",
    "viz",
]

__version__: str
