"""`relax.build`: an IRModule in, an Executable out."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

from relax_mlir.compiler.arenas import arenas
from relax_mlir.compiler.build_cache import build_once
from relax_mlir.compiler.build_log import BuildLog
from relax_mlir.compiler.codegen_vm import codegen_vm
from relax_mlir.compiler.kernel_costs import kernel_costs
from relax_mlir.compiler.specialize import enable_by_default
from relax_mlir.compiler.working_copy import working_copy
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.locations import at_source
from relax_mlir.dialects.relax.background_copy import copy_in_background
from relax_mlir.errors import CompileError, PassTypeError, PipelineError, did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.interpreter import tuned_for_builds
from relax_mlir.ir.module import IRModule, module_of
from relax_mlir.lowering.codegen.compile_cache import CompileCache
from relax_mlir.lowering.codegen.ffi.linked_checks import compiled_checks
from relax_mlir.lowering.codegen.native import (
    NativeCode,
    compile_module,
)
from relax_mlir.lowering.codegen.rehearsal import needs_rehearsal
from relax_mlir.lowering.target.of_module import annotate_target, target_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.walk import first_below
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.pass_manager_run import interruptible, suspend_verification
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.passes import mlir
from relax_mlir.pass_infra.text.reproducer import recorded, remaining
from relax_mlir.runtime.exec_builder import ExecBuilder
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.program import NativeObject

# The names of the passes that every build runs, in order. ToNonDataflow, CallTIRRewrite,
# VMMemoryLower and VMShapeLower are the document's.
# `symbol-dce` is upstream's: private prim funcs that nothing calls are not compiled.
DEFAULT_PIPELINE = (
    "WellFormed",
    "LambdaLift",
    "CanonicalizeBindings",
    "SimplifyKnownStatistics",
    "Conv3dToConv2d",
    "ReorderResizeAfterConv",
    "SplitConvOfConcat",
    "FoldScaleAxis",
    "AlterOpLayout",
    "PackConvWeights",
    "FoldConstant",
    "FuseAttention",
    "ComposePermuteDims",
    "InferType",
    "LegalizeOps",
    "EliminateCommonSubexpr",
    "FuseKernels",
    "PackWeights",
    "PackWinograd",
    "PackVNNI",
    "symbol-dce",
    "ToNonDataflow",
    "OutlineNative",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "VMMemoryLower",
    "VMShapeLower",
)
_EXEC_MODES = ("bytecode", "compiled")
# Operations that name a function by a string.
_CALLS_BY_NAME = ("vm.call", "vm.call_tir_dyn", "relax.call_packed")
# Passes that only make the result better, and the opt_level from which on a build runs them. The
# levels are a build's own: a Sequential goes by those that the passes declare.
_LEVELS = {
    "CanonicalizeBindings": 1,
    "InferType": 1,
    "EliminateCommonSubexpr": 1,
    "FuseAttention": 1,
    "ComposePermuteDims": 1,
    "FuseKernels": 1,
    "PackWeights": 2,
    "PackWinograd": 2,
    "PackVNNI": 2,
    "OutlineNative": 1,
    "StaticPlanBlockMemory": 1,
    "PackConvWeights": 2,
    "FoldConstant": 2,
    "SimplifyKnownStatistics": 2,
    "FoldScaleAxis": 3,
    "ReorderResizeAfterConv": 2,
    "SplitConvOfConcat": 2,
    "Conv3dToConv2d": 2,
    "AlterOpLayout": 3,
}


@interruptible()
@tuned_for_builds()
def build(
    mod: Any,
    target: str | Target | None = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    exec_mode: str = "bytecode",
    *,
    log: BuildLog | None = None,
) -> Executable:
    """Compile a module, as TVM's `relax.build` does: `relax_mlir.compile` with its passes and log.

    The current PassContext's instruments see every pass. Its `disabled_pass` leaves passes out, and
    its `opt_level` those that only optimise: at 0 all of them; 2, the default, leaves out what
    moves scales into weights and changes layouts; `required_pass` overrides that. What an equal
    build gave is taken from the cache on disk where nothing observes or changes passes: no
    instruments, log, lists of passes or custom operators.

    Args:
        mod: Relax functions and prim funcs, in a module, a schedule or alone; it stays as it is.
        target: `llvm` means this machine; TVM's options `-mcpu`, `-mattr`, `-mtriple` are known.
            None is the module's attribute `tir.target`, else `Target.default()`: the target of the
            innermost `with target.Target(...)`, else of the environment variable
            `RELAX_MLIR_TARGET`, else this machine.
        params: arrays by the names of parameters of `main`, or of the only function, which become
            constants.
        relax_pipeline: `default`; the name of a registered pipeline or a pass, which runs before
            the default passes lower what it leaves; names of passes to run instead of these
            (relax_mlir's, or upstream's pipeline text), which must end in the VM dialect; None for
            no passes.
        tir_pipeline: `default`, or a pass that runs on the prim funcs before they are compiled.
        exec_mode: TVM's `bytecode` or `compiled`. Runs of kernels are native code, and what is
            between them bytecode, in both.
        log: filled with the stages, their times and, if it has a folder, the IR after each.

    Raises:
        TypeError: `mod` is none of these.
        VerifyError: the program breaks a rule of its dialect.
        PassError: a pass failed.
        PipelineError: unknown pass or target.
        CompileError: code generation could not continue.
    """
    mod = module_of(mod)
    check_exec_mode(exec_mode)
    kernel_pass = None if tir_pipeline == "default" else tir_pipeline
    if not isinstance(kernel_pass, AnyPass | None):
        raise PassTypeError(f"tir_pipeline is 'default' or a pass, got {tir_pipeline!r}")
    pipeline = extension("compiler.resolve_pipeline")(relax_pipeline)
    enable_by_default()
    resolved = _resolved(mod, target)
    context = PassContext.current()
    with resolved:
        if params:
            mod = extension("compiler.bind_params")(mod, params)
        if isinstance(pipeline, AnyPass):
            mod, pipeline = pipeline(mod), None
        if log is None and kernel_pass is None and _is_plain(pipeline, context, BuildLog()):
            return build_once(
                mod, resolved, context, lambda: _built(mod, resolved, None, context, BuildLog())
            )
        return _built(mod, resolved, pipeline, context, log or BuildLog(), kernel_pass)


def check_exec_mode(exec_mode: str) -> None:
    """Raise PipelineError where this is none of TVM's modes of execution."""
    if exec_mode not in _EXEC_MODES:
        raise PipelineError(f"exec_mode is {' or '.join(_EXEC_MODES)}, got {exec_mode!r}")


def _built(
    mod: IRModule,
    resolved: Target,
    pipeline: Sequence[str] | None,
    context: PassContext,
    log: BuildLog,
    kernel_pass: AnyPass | None = None,
) -> Executable:
    # Whoever sees the program between passes is to see its constants.
    copying = copy_in_background if _is_plain(pipeline, context, log) else nullcontext
    with recorded(context.option(config.REPRODUCER)), copying():
        working = _lowered(mod, pipeline, context, log, resolved)
        with lock_of(working.context), working.context, ir.Location.unknown():
            builder = ExecBuilder(warn_unused_inputs=False)
            with log.stage("CodeGenVM"):
                emitted = codegen_vm(working.mlir_module, builder)
            log.memory = arenas(working.mlir_module.operation)
            kernels = kernel_costs(working.mlir_module)
            native = native_objects(working, resolved, context, log, kernel_pass)
    private = _private_names(working)
    metadata = {
        "target": f"llvm -mtriple={resolved.triple} -mcpu={resolved.cpu}",
        "private": private,
        "sources": emitted.sources,
        "bytecode": emitted.reasons,
        "memory": {name: arena.texts() for name, arena in log.memory.items()},
        "kernels": kernels,
    }
    return builder.get(native=native, metadata=metadata)


@interruptible()
def lower(
    mod: IRModule,
    to: str,
    *,
    target: str | Target | None = None,
    pipeline: Sequence[str] | None = None,
    log: BuildLog | None = None,
) -> IRModule:
    """Return a module as it is after one of the passes of a build; the module itself stays.

    Args:
        mod: Relax functions and prim funcs.
        to: the last pass to run, one of `stages(pipeline)`.
        target: as in `build`.
        pipeline: names of passes, as for `relax_pipeline` of `build`.
        log: as in `build`.

    Raises:
        PipelineError: unknown target, or the pass is none that a build runs under the current
            PassContext.
        PassError: a pass failed.
    """
    names = stages(pipeline)
    if to not in names:
        hint = did_you_mean(to, names) or f"; the stages are {', '.join(names)}"
        raise PipelineError(f"a build runs no stage '{to}'{hint}")
    resolved = _resolved(mod, target)
    log = log if log is not None else BuildLog()
    context = PassContext.current()
    working = _copy(mod, log, IRModule.clone, resolved)
    with (
        resolved,
        lock_of(mod.context),
        working.context,
        ir.Location.unknown(),
        recorded(context.option(config.REPRODUCER)),
    ):
        _run(names[: names.index(to) + 1], working, context, log)
    return working


def _resolved(mod: IRModule, target: Any) -> Target:
    return target_of(mod.mlir_module.operation) if target is None else Target(target)


def stages(pipeline: Sequence[str] | None = None) -> list[str]:
    """Return the passes of a pipeline that a build runs under the current PassContext."""
    context = PassContext.current()
    return [n for n in (DEFAULT_PIPELINE if pipeline is None else pipeline) if _runs(n, context)]


def is_optional(name: str) -> bool:
    """Whether a build can do without a pass, which then only makes the result better."""
    return name in _LEVELS or name not in (*DEFAULT_PIPELINE, "LowerTIR")


def level_of(name: str) -> int:
    """Return the opt_level from which on a build runs a pass."""
    return _LEVELS.get(name, 0)


def _copy(
    mod: IRModule, log: BuildLog, copy: Callable[[IRModule], IRModule], target: Target
) -> IRModule:
    # Any number of threads may build, also modules of one context: these wait here.
    with log.stage("input", mod.mlir_module), lock_of(mod.context):
        made = copy(mod)
        annotate_target(made.mlir_module.operation, target)
        return made


def _lowered(
    mod: IRModule,
    pipeline: Sequence[str] | None,
    context: PassContext,
    log: BuildLog,
    target: Target,
) -> IRModule:
    """Return a copy of a module after the passes of a build.

    What our own passes leave is verified after the first and the last: verifying a whole module
    after each was an eighth of its compilation. Should it not be sound they run again, each
    verified, to say which one it was.
    """
    # Passes that we do not know may hold objects of the module's context.
    copy = working_copy if pipeline is None else IRModule.clone
    for once in (True, False) if _is_plain(pipeline, context, log) else (False,):
        working = _copy(mod, log, copy, target)
        with lock_of(working.context), working.context, ir.Location.unknown():
            names = stages(pipeline)
            if _calls_by_name(working.mlir_module):
                # Upstream's pass does not see a name as a use.
                names = [name for name in names if name != "symbol-dce"]
            _run(names, working, context, log, once=once)
            if not once or _is_sound(working.mlir_module.operation):
                break
    return working


def _calls_by_name(module: ir.Module) -> bool:
    """Whether passes that lower calls to names have run: some name is a private function's."""
    private = {
        ir.StringAttr(view.operation.attributes["sym_name"]).value
        for view in module.body.operations
        if "sym_visibility" in view.operation.attributes
    }

    def calls(op: ir.Operation) -> bool:
        return op.name in _CALLS_BY_NAME and ir.StringAttr(op.attributes["func"]).value in private

    return bool(private) and first_below(module.operation, calls) is not None


def _is_plain(pipeline: Sequence[str] | None, context: PassContext, log: BuildLog) -> bool:
    """Whether the passes are built in, and no instrument observes them."""
    diagnosed = config.VERIFY_EACH in context.config or context.option(config.REPRODUCER)
    return pipeline is None and not context.instruments and not log.dumps and not diagnosed


def _is_sound(op: ir.Operation) -> bool:
    try:
        return op.verify()
    except ir.MLIRError:
        return False


def _run(
    names: Sequence[str],
    working: IRModule,
    context: PassContext,
    log: BuildLog,
    *,
    once: bool = False,
) -> None:
    passes = [make_pass(name) for name in names]
    for i, (name, each) in enumerate(zip(names, passes, strict=True)):
        rest = passes[i + 1 :]
        with (
            log.stage(name, working.mlir_module),
            remaining(lambda r=rest: [*map(str, r)]),
            suspend_verification() if once and i else nullcontext(),
        ):
            each.run_in_place(working, context)


def _private_names(mod: IRModule) -> list[str]:
    """Return the functions without external callers: made by passes, or private."""
    attributes = [op.operation.attributes for op in mod.mlir_module.body.operations]
    return [
        each["sym_name"].value
        for each in attributes
        if "sym_visibility" in each and each["sym_visibility"].value == "private"
    ]


def _runs(name: str, context: PassContext) -> bool:
    if name in context.disabled_pass:
        return False
    return context.opt_level >= level_of(name) or name in context.required_pass


def make_pass(name: str) -> AnyPass:
    """Return the pass of a name in a pipeline: relax_mlir's, or upstream's by its text.

    Raises:
        PipelineError: there is none.
    """
    return registry.get_pass(name) if registry.find(name) else mlir(name)


def native_objects(
    mod: IRModule,
    target: Target,
    context: PassContext,
    log: BuildLog,
    kernel_pass: AnyPass | None = None,
) -> list[NativeObject]:
    """Compile the prim funcs of a module, whose other functions do not matter.

    Args:
        mod: stays as it is.
        target: what the code is for.
        context: options of code generation and of the compile cache.
        log: filled with the stages.
        kernel_pass: runs on the prim funcs first.

    Raises:
        CompileError: code generation could not continue.
    """
    kernels = _prim_funcs(mod)
    if kernels is None:
        return []
    if kernel_pass is not None:
        with log.stage(kernel_pass.info.name, kernels.mlir_module):
            kernel_pass.run_in_place(kernels, context)
    rehearsed = needs_rehearsal(kernels.mlir_module.operation, target)
    with ThreadPoolExecutor(1) as ahead, log.stage("LowerTIR", kernels.mlir_module):
        if not rehearsed:
            # LLVM has nothing else to do yet, and every library needs them.
            ahead.submit(compiled_checks, target.serial())
        registry.get_pass("LowerTIR").run_in_place(kernels, context)
    # Whoever wants to see the stages wants them to run.
    setting = False if log.dumps else context.option(config.COMPILE_CACHE)
    cache = CompileCache.find(setting)
    code = compile_module(
        kernels.mlir_module,
        target,
        cache,
        rehearsed=rehearsed,
        split=context.option(config.SPLIT_OBJECTS),
        progress=context.option(config.PROGRESS),
    )
    _note(code, log)
    return [
        NativeObject(
            name=f"kernels{i}" if i else "kernels",
            data=each.data,
            symbols=each.names,
            triple=target.triple,
            cpu=target.cpu,
            features=target.features,
            is_parallel=each.is_parallel,
        )
        for i, each in enumerate(code.objects)
    ]


def _note(code: NativeCode, log: BuildLog) -> None:
    llvm = {name: s for name, s in code.seconds.items() if name.startswith("llvm")}
    log.add("MemrefToLLVM", sum(code.seconds.values()) - sum(llvm.values()))
    for name, seconds in llvm.items():
        text, suffix = None, "ll"
        if log.dumps and name == "llvm-optimize":
            text = code.llvm_ir()
        elif log.dumps and name == "llvm-emit":
            text, suffix = code.assembly(), "s"
        log.add(name, seconds, text, suffix)


def _prim_funcs(mod: IRModule) -> IRModule | None:
    """Return a module of the prim funcs alone, None when there is none."""
    kernels = mod.clone()
    result = False
    for op in list(kernels.mlir_module.body.operations):
        attributes = op.operation.attributes
        if "tir.prim_func" in attributes:
            result = True
        elif "relax.function" in attributes or op.operation.name == "relax.extern_func":
            op.operation.erase()
        else:
            name = attributes.get("sym_name", op.operation.name)
            raise CompileError(
                "build",
                f"{name}{at_source(op.location)} is neither a Relax function (marked "
                "'relax.function') nor a prim func ('tir.prim_func')",
            )
    return kernels if result else None
