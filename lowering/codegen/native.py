"""Compiles a module of prim funcs to one native object."""

import functools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.compile_cache import CompileCache, Entry, key_of
from relax_mlir.lowering.codegen.deduplicate_kernels import deduplicate_kernels
from relax_mlir.lowering.codegen.ffi.abi import emit_wrappers
from relax_mlir.lowering.codegen.ffi.linked_checks import link_checks
from relax_mlir.lowering.codegen.ffi.signature import KERNEL_PREFIX, Signature, take_signatures
from relax_mlir.lowering.codegen.ffi.wrapper import SYMBOL_PREFIX
from relax_mlir.lowering.codegen.llvm.emit import emit_object, llvm_context
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.codegen.llvm.optimize import is_vector_code, optimize
from relax_mlir.lowering.codegen.llvm.split import split_source
from relax_mlir.lowering.codegen.llvm.unused_arguments import drop_unused_arguments
from relax_mlir.lowering.codegen.progress import kernel_progress
from relax_mlir.lowering.codegen.rehearsal import STAGE, rehearse
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps

# The definition of a kernel; its parallel regions have its name, and more after two dots.
_KERNEL = re.compile(rf'^define [^\n]*?@"?{KERNEL_PREFIX}(?:(?!\.\.)[^\n("])*"?\(', re.M)


@dataclass(frozen=True)
class ObjectFile:
    """A relocatable object file.

    Attributes:
        data: its bytes.
        names: the functions that it exports, as they are called in the program.
    """

    data: bytes
    names: tuple[str, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The exported C symbols, one for each name."""
        return tuple(SYMBOL_PREFIX + name for name in self.names)

    @property
    def is_parallel(self) -> bool:
        """Whether the code calls the thread pool."""
        return b"relax_mlir_parallel" in self.data


@dataclass(frozen=True)
class NativeCode:
    """Native code of a module.

    Attributes:
        objects: relocatable object files for the target, which call each other.
        target: what they were made for.
        seconds: how long each step took, in order.
    """

    objects: tuple[ObjectFile, ...]
    target: Target
    seconds: dict[str, float] = field(compare=False, repr=False)
    _source: str = field(compare=False, repr=False)

    @property
    def object(self) -> bytes:
        """The only object file: there is one unless the module was compiled with `split`."""
        (only,) = self.objects
        return only.data

    @property
    def names(self) -> tuple[str, ...]:
        """The exported functions, as they are called in the program."""
        return tuple(name for each in self.objects for name in each.names)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The exported C symbols, one for each name."""
        return tuple(symbol for each in self.objects for symbol in each.symbols)

    @property
    def is_parallel(self) -> bool:
        """Whether the code calls the thread pool."""
        return any(each.is_parallel for each in self.objects)

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
    split: bool = False,
    progress: bool = False,
) -> NativeCode:
    """Compile the prim funcs of a module; the module stays as it is.

    Args:
        module: prim funcs over memrefs in upstream dialects; Relax functions in it are left out.
        target: the machine; by default the module's (`target_of`).
        cache: where to look first, and to keep the code.
        rehearsed: whether to try it in a process of its own before (`needs_rehearsal`).
        split: whether a large module may become several objects, which LLVM makes at the same time.
        progress: whether to show on a terminal how many kernels are compiled.

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
            key = key_of(program, {**target.settings, "split": split})
            result = cache.load(key)
        if result is not None:
            objects = tuple(ObjectFile(*each) for each in result.objects)
            return NativeCode(objects, target, seconds, result.source)
    if rehearsed:
        with _timed(seconds, "rehearsal"):
            rehearse(native, target)
    signatures, source = _lower(native, target, seconds)
    parts = [source]
    kernels = {signature.kernel for signature in signatures}
    if split and is_vector_code(source, target):
        parts = split_source(source, kernels)
    with kernel_progress(len(kernels), shown=progress) as count:
        images = _compile_parts(parts, target, seconds, count, cache)
    names = tuple(signature.name for signature in signatures if not signature.internal)
    objects = tuple(ObjectFile(image, () if i else names) for i, image in enumerate(images))
    if cache is not None:
        with _timed(seconds, "cache"):
            kept = tuple((each.data, each.names) for each in objects)
            cache.store(key, Entry(kept, source))
    return NativeCode(objects, target, seconds, source)


def _compile_parts(
    parts: Sequence[str],
    target: Target,
    seconds: dict[str, float],
    count: Callable[[int], object],
    cache: CompileCache | None,
) -> list[bytes]:
    """Return object files of modules of LLVM IR; as many threads make them as there are cores.

    Each of several parts is in the cache by itself: another program may have the same kernel.
    """
    steps: list[dict[str, float]] = [{} for _ in parts]

    def compile_part(part: str, taken: dict[str, float]) -> bytes:
        key = key_of(part, target.settings) if cache is not None and len(parts) > 1 else ""
        known = cache.load(key) if key and cache is not None else None
        if known is None:
            image = _compile_part(part, target, taken)
            if key and cache is not None:
                cache.store(key, Entry(((image, ()),), ""))
        else:
            ((image, _),) = known.objects
        count(len(_KERNEL.findall(part)))
        return image

    start = time.perf_counter()
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        images = [*pool.map(compile_part, parts, steps)]
    total = sum(sum(each.values()) for each in steps)
    share = (time.perf_counter() - start) / total if total else 0.0
    for each in steps:
        for name, taken in each.items():
            seconds[name] = seconds.get(name, 0.0) + taken * share
    return images


def _compile_part(source: str, target: Target, seconds: dict[str, float]) -> bytes:
    with llvm_context() as context:
        with _timed(seconds, "llvm-optimize"):
            optimized, machine = optimize(source, target, context)
        with _timed(seconds, "llvm-emit"), closing(optimized):
            link_checks(optimized, target)
            try:
                return emit_object(optimized, machine)
            except RuntimeError as error:
                raise CompileError(
                    STAGE, f"LLVM makes no object for {target.triple}: {error}"
                ) from error


def _lower(
    native: ir.Module, target: Target, seconds: dict[str, float]
) -> tuple[list[Signature], str]:
    """Return the signatures of the functions, and the module as LLVM IR."""
    op = native.operation
    with native.context:
        with _timed(seconds, "signatures"):
            signatures = deduplicate_kernels(op, take_signatures(op))
        seconds.update(run_steps(op, target))
        with _timed(seconds, "ffi-wrappers"):
            emit_wrappers(op, signatures, target)
        with _timed(seconds, "unused-arguments"):
            drop_unused_arguments(op)
        with _timed(seconds, "translate"):
            source = to_llvm_ir(op, hide_counters=target.has_wide_registers)
    return signatures, source


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
