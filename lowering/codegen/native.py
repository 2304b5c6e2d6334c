"""Compiles a module of prim funcs to one native object."""

import functools
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.compile_cache import CompileCache, Entry, key_of
from relax_mlir.lowering.codegen.deduplicate_kernels import deduplicate_kernels
from relax_mlir.lowering.codegen.ffi.abi import describe_kernels, emit_wrappers
from relax_mlir.lowering.codegen.ffi.linked_checks import CHECKS, link_checks
from relax_mlir.lowering.codegen.ffi.signature import KERNEL_PREFIX, Signature, take_signatures
from relax_mlir.lowering.codegen.ffi.wrapper import SYMBOL_PREFIX
from relax_mlir.lowering.codegen.llvm.emit import emit_object, llvm_context, llvm_machine
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.codegen.llvm.optimize import optimize
from relax_mlir.lowering.codegen.llvm.unused_arguments import drop_unused_arguments
from relax_mlir.lowering.codegen.progress import kernel_progress
from relax_mlir.lowering.codegen.rehearsal import STAGE, rehearse
from relax_mlir.lowering.codegen.split_module import publish, take_large_kernels
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import (
    PROGRAM_STEPS,
    run_step,
    run_steps,
    steps_for,
)

# Between modules of LLVM IR, and what is made of them, in texts.
_BETWEEN = "\n\f\n"
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
        return _BETWEEN.join(str(module) for module, _ in self._optimized)

    def assembly(self) -> str:
        """Return the target's assembly text."""
        return _BETWEEN.join(machine.emit_assembly(module) for module, machine in self._optimized)

    @functools.cached_property
    def _optimized(self) -> list[tuple[llvm.ModuleRef, llvm.TargetMachine]]:
        return [optimize(each, self.target) for each in self._source.split(_BETWEEN)]


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
    op = native.operation
    with native.context:
        with _timed(seconds, "signatures"):
            signatures = deduplicate_kernels(op, take_signatures(op))
        with _timed(seconds, "split"):
            for step in PROGRAM_STEPS:
                run_step(op, step, target)
            # Elsewhere LLVM's passes look at functions together.
            parts = take_large_kernels(op) if split and target.opt_level in (1, 2) else {}
    with kernel_progress(len({each.kernel for each in signatures}), shown=progress) as count:

        def compile_part(part: str, taken: dict[str, float]) -> bytes:
            # Of several, each is in the cache by itself: another program may have the same kernel.
            kept = cache if parts else None
            image = _known_part(part, target, taken, kept)
            count(len(_KERNEL.findall(part)))
            return image

        sources = _lower(op, parts, signatures, target, seconds)
        source, images = _compile_parts(sources, compile_part, seconds)
    names = tuple(signature.name for signature in signatures if not signature.internal)
    objects = tuple(ObjectFile(image, () if i else names) for i, image in enumerate(images))
    if cache is not None:
        with _timed(seconds, "cache"):
            kept = tuple((each.data, each.names) for each in objects)
            cache.store(key, Entry(kept, source))
    return NativeCode(objects, target, seconds, source)


def _compile_parts(
    sources: Iterable[str],
    compile_part: Callable[[str, dict[str, float]], bytes],
    seconds: dict[str, float],
) -> tuple[str, list[bytes]]:
    """Return modules of LLVM IR, joined, and their object files, those of the last one first.

    Other threads make these while the next module is lowered, in this thread; then it helps them,
    from the last one on. So as many work as there are cores.
    """
    parts: list[str] = []
    taken: list[dict[str, float]] = []
    futures: list[Future[bytes]] = []
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1)) as pool:
        for source in sources:
            parts.append(source)
            taken.append({})
            futures.append(pool.submit(compile_part, source, taken[-1]))
        start = time.perf_counter()
        helped = {
            future: compile_part(part, each)
            for future, part, each in reversed([*zip(futures, parts, taken, strict=True)])
            if future.cancel()
        }
        images = [helped.get(each) or each.result() for each in futures]
    total = sum(sum(each.values()) for each in taken)
    share = (time.perf_counter() - start) / total if total else 0.0
    for each in taken:
        for name, spent in each.items():
            seconds[name] = seconds.get(name, 0.0) + spent * share
    return _BETWEEN.join([parts[-1], *parts[:-1]]), [images[-1], *images[:-1]]


def _known_part(
    source: str, target: Target, seconds: dict[str, float], cache: CompileCache | None
) -> bytes:
    key = "" if cache is None else key_of(source, target.settings)
    known = None if cache is None else cache.load(key)
    if known is not None:
        ((image, _),) = known.objects
        return image
    image = _compile_part(source, target, seconds)
    if cache is not None:
        cache.store(key, Entry(((image, ()),), ""))
    return image


def _compile_part(source: str, target: Target, seconds: dict[str, float]) -> bytes:
    with llvm_context() as context, llvm_machine(target) as machine:
        with _timed(seconds, "llvm-optimize"):
            optimized, _ = optimize(source, target, context, machine)
        with _timed(seconds, "llvm-emit"), closing(optimized):
            if CHECKS in source:
                link_checks(optimized, target)
            try:
                return emit_object(optimized, machine)
            except RuntimeError as error:
                raise CompileError(
                    STAGE, f"LLVM makes no object for {target.triple}: {error}"
                ) from error


def _lower(
    op: ir.Operation,
    parts: Mapping[str, tuple[ir.Module, set[str]]],
    signatures: list[Signature],
    target: Target,
    seconds: dict[str, float],
) -> Iterator[str]:
    """Yield LLVM IR of the modules of large kernels, then of what is left."""
    kept: dict[str, list[int]] = {}
    steps = steps_for(target)[len(PROGRAM_STEPS) :]
    for part, there in (*((each.operation, names) for each, names in parts.values()), (op, None)):
        with op.context:
            for name, taken in run_steps(part, target, steps, there).items():
                seconds[name] = seconds.get(name, 0.0) + taken
            with _timed(seconds, "ffi-wrappers"):
                describe_kernels(part, signatures, target)
                if part == op:
                    emit_wrappers(op, signatures, target)
            with _timed(seconds, "unused-arguments"):
                kept |= drop_unused_arguments(part, kept)
                publish(part, parts)
            with _timed(seconds, "translate"):
                source = to_llvm_ir(part, hide_counters=target.has_wide_registers)
        yield source


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
