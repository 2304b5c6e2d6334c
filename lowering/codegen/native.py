"""Compiles a module of prim funcs to one native object."""

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.compile_cache import CompileCache, Entry, key_of
from relax_mlir.lowering.codegen.deduplicate_kernels import deduplicate_kernels
from relax_mlir.lowering.codegen.ffi.abi import emit_wrappers
from relax_mlir.lowering.codegen.ffi.linked_checks import link_checks
from relax_mlir.lowering.codegen.ffi.signature import take_signatures
from relax_mlir.lowering.codegen.ffi.wrapper import SYMBOL_PREFIX
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.codegen.llvm.optimize import optimize
from relax_mlir.lowering.codegen.rehearsal import STAGE, rehearse
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps


@dataclass(frozen=True)
class NativeCode:
    """Native code of a module.

    Attributes:
        object: a relocatable object file for the target.
        names: the functions in it, as they are called in the program.
        target: what it was made for.
        seconds: how long each step took, in order.
    """

    object: bytes
    names: tuple[str, ...]
    target: Target
    seconds: dict[str, float] = field(compare=False, repr=False)
    _source: str = field(compare=False, repr=False)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The exported C symbols, one for each name."""
        return tuple(SYMBOL_PREFIX + name for name in self.names)

    @property
    def is_parallel(self) -> bool:
        """Whether the code calls the thread pool."""
        return b"relax_mlir_parallel" in self.object

    def llvm_ir(self, *, optimized: bool = True) -> str:
        """Return the module as LLVM IR text, before or after LLVM's optimiser."""
        if not optimized:
            return self._source
        return str(self._optimized[0])

    def assembly(self) -> str:
        """Return the target's assembly text."""
        module, machine = self._optimized
        return machine.emit_assembly(module)

    @functools.cached_property
    def _optimized(self) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
        return optimize(self._source, self.target)


def compile_module(
    module: ir.Module,
    target: Target | None = None,
    cache: CompileCache | None = None,
    *,
    rehearsed: bool = False,
) -> NativeCode:
    """Compile the prim funcs of a module; the module stays as it is.

    Args:
        module: prim funcs over memrefs in upstream dialects; Relax functions in it are left out.
        target: the machine; by default the module's (`target_of`).
        cache: where to look first, and to keep the code.
        rehearsed: whether to try it in a process of its own before (`needs_rehearsal`).

    Raises:
        PassError: a lowering step failed.
        CompileError: something has no native form, or LLVM rejected it.
    """
    target = target or target_of(module.operation)
    seconds: dict[str, float] = {}
    with _timed(seconds, "clone"):
        native = _native_part(module)
    key = ""
    if cache is not None:
        with _timed(seconds, "cache"):
            program = native.operation.get_asm(assume_verified=True, enable_debug_info=False)
            key = key_of(program, target.settings)
            found = cache.load(key)
        if found is not None:
            return NativeCode(found.object, found.names, target, seconds, found.source)
    if rehearsed:
        with _timed(seconds, "rehearsal"):
            rehearse(native, target)
    names, source = _lower(native, target, seconds)
    with _timed(seconds, "llvm-optimize"):
        optimized, machine = optimize(source, target)
    with _timed(seconds, "llvm-emit"):
        link_checks(optimized, target)
        try:
            image = machine.emit_object(optimized)
        except RuntimeError as error:
            raise CompileError(
                STAGE, f"LLVM makes no object for {target.triple}: {error}"
            ) from error
    if cache is not None:
        with _timed(seconds, "cache"):
            cache.store(key, Entry(image, names, source))
    return NativeCode(image, names, target, seconds, source)


def _lower(
    native: ir.Module, target: Target, seconds: dict[str, float]
) -> tuple[tuple[str, ...], str]:
    """Return the names of the exported functions, and the module as LLVM IR."""
    op = native.operation
    with native.context:
        with _timed(seconds, "signatures"):
            signatures = deduplicate_kernels(op, take_signatures(op))
        seconds.update(run_steps(op, target))
        with _timed(seconds, "ffi-wrappers"):
            emit_wrappers(op, signatures, target)
        with _timed(seconds, "translate"):
            source = to_llvm_ir(op, hide_counters=target.has_wide_registers)
    return tuple(signature.name for signature in signatures if not signature.internal), source


def _native_part(module: ir.Module) -> ir.Module:
    with module.operation.location:
        part = ir.Module.create()
        with ir.InsertionPoint(part.body):
            for op in module.body.operations:
                is_relax = "relax.function" in op.operation.attributes
                if op.operation.name in ("func.func", "memref.global") and not is_relax:
                    op.operation.clone()
    return part


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
