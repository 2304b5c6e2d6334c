"""The functions that check arguments, compiled once and linked into every object."""

import functools
import re

import llvmlite.binding as llvm

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.c_library import translate
from relax_mlir.lowering.codegen.ffi.argument_check import argument_checks
from relax_mlir.lowering.codegen.ffi.call_check import check_all
from relax_mlir.lowering.codegen.ffi.table import Strings
from relax_mlir.lowering.codegen.llvm.optimize import optimize
from relax_mlir.lowering.target.target import Target

# What exported functions call of them, as the module of these declares it.
DECLARATIONS = """
llvm.func @relax_ffi_check(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32 attributes {dso_local}
llvm.func @relax_ffi_stride(!llvm.ptr, i64, i64) -> i64 attributes {dso_local}
llvm.func @relax_ffi_fail(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i64, i64) -> i32 attributes {dso_local, passthrough = ["cold", "noinline"]}
"""  # noqa: E501
CHECKS = "relax_ffi_"
# Of an assembly file, what is about the file, and what would make the functions known outside.
_DROPPED = re.compile(r"\s*(?:\.(?:file|ident|addrsig\w*|globl|section\s+\"\.note)\b|#)")


def link_checks(module: llvm.ModuleRef, target: Target) -> None:
    """Add the functions that check arguments to an optimised module, known only in it."""
    if not any(f.is_declaration and f.name.startswith(CHECKS) for f in module.functions):
        return
    module.link_in(llvm.parse_assembly(compiled_checks(target.serial()), module._context))
    for function in module.functions:
        if function.name.startswith(CHECKS) and not function.is_declaration:
            function.linkage = "internal"


@functools.lru_cache(maxsize=8)
def compiled_checks(target: Target) -> str:
    """Return LLVM IR of the functions: as assembly code where that can be read, else optimised.

    Args:
        target: without threads.
    """
    module, machine = optimize(_source(), target)
    if not target.reads_assembly:
        return str(module)
    lines = machine.emit_assembly(module).splitlines()
    # Local labels must differ from those of the functions that this is linked with.
    kept = [re.sub(r"\.L(?=\w)", ".Lffi_", line) for line in lines if not _DROPPED.match(line)]
    text = "\\0A".join(line.replace("\\", "\\5C").replace('"', "\\22") for line in kept)
    return f'target triple = "{target.triple}"\nmodule asm "{text}"\n'


def _source() -> str:
    strings = Strings("relax_ffi_messages")
    parts = [argument_checks(strings), check_all(strings), strings.definition()]
    with ir.Context() as context:
        context.load_all_available_dialects()
        with ir.Location.unknown():
            return translate(ir.Module.parse("\n".join(parts)).operation)
