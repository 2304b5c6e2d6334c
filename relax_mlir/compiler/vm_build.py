"""`relax.vm_build`: the steps of a build after its passes, under TVM's names."""

from collections.abc import Iterable

from relax_mlir.compiler.build_log import BuildLog
from relax_mlir.compiler.codegen_vm import codegen_vm
from relax_mlir.compiler.pipeline import (
    build,
    check_exec_mode,
    lower,
    native_objects,
)
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.runtime.exec_builder import ExecBuilder
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.module import Module

# TVM's name of it since 0.20.
VMExecutable = Executable

__all__ = ["Executable", "VMExecutable", "build"]

# Programs given to the code generator are lowered but for these steps, which change nothing that
# is lowered already. Arguments are not checked: that is what VMShapeLower adds.
_CODEGEN = ("ToNonDataflow", "CallTIRRewrite", "VMMemoryLower")


def _vmcodegen(builder: ExecBuilder, mod: IRModule, exec_mode: str = "bytecode") -> IRModule:
    """Emit the Relax functions of a lowered module, and return it for `_vmlink`.

    Args:
        builder: where the instructions go.
        mod: prim funcs, and Relax functions that call them.
        exec_mode: as for `build`; both give bytecode.
    """
    check_exec_mode(exec_mode)
    working = lower(mod, _CODEGEN[-1], pipeline=_CODEGEN)
    with lock_of(working.context), working.context, ir.Location.unknown():
        codegen_vm(working.mlir_module, builder)
    return working


def _vmlink(
    builder: ExecBuilder,
    target: str | Target | None,
    tir_mod: IRModule | None = None,
    ext_libs: Iterable[Module] | None = None,
) -> Executable:
    """Compile prim funcs and return the executable with them and the builder's instructions.

    Args:
        builder: what `_vmcodegen` filled.
        target: as for `build`.
        tir_mod: what `_vmcodegen` returned; None for no prim funcs.
        ext_libs: modules with more functions that the instructions call.

    Raises:
        CompileError: code generation could not continue.
    """
    native = []
    if tir_mod is not None:
        build_target = (
            target_of(tir_mod.mlir_module.operation) if target is None else Target(target)
        )
        with build_target, lock_of(tir_mod.context), tir_mod.context, ir.Location.unknown():
            native = native_objects(tir_mod, build_target, PassContext.current(), BuildLog())
    executable = builder.get(native=native)
    for library in ext_libs or ():
        executable.import_module(library)
    return executable
