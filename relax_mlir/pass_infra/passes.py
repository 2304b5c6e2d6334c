"""Pass classes: module to module, run by MLIR's PassManager, instrumented."""

import logging
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import PassError, PassTypeError, PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function
from relax_mlir.lowering.pass_spec import PassSpec
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.diagnostics import hand_over
from relax_mlir.pass_infra.execution.pass_manager import build
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.required_passes import required_passes, results_of
from relax_mlir.pass_infra.text.options import coerce_options, format_options
from relax_mlir.pass_infra.text.pass_text import text_of
from relax_mlir.pass_infra.text.pipeline import MODULE, Pipeline, Step, parse_steps, singled
from relax_mlir.pass_infra.text.reproducer import recording, remaining

ModuleLike = TypeVar("ModuleLike", IRModule, ir.Module)
_LOGGER = logging.getLogger("relax_mlir.passes")


class Pass(AnyPass):
    """A module-to-module transformation; subclasses say what it does in `apply`."""

    def __call__(
        self, mod: ModuleLike, ctx: PassContext | None = None, *, required: bool | None = None
    ) -> ModuleLike:
        """Run on a copy of a module under a context, by default the current one.

        The argument stays as it was, also when the pass fails. The pass runs whatever the context's
        level says: only Sequential looks at that.

        Args:
            mod: the module; of a function alone one is made.
            ctx: the context.
            required: whether the passes that this one requires run before it; by default what the
                context's option `transform.required_on_call` says, which is no.

        Raises:
            PassError: the pass failed or left IR that does not verify.
            PipelineError: a required pass does not exist, or passes require each other.
            TypeError: `mod` is not a module, or `ctx` no context.
        """
        if isinstance(mod, ir.Module):
            return self(IRModule(mod), ctx, required=required).mlir_module
        if is_function(mod):
            mod = IRModule.from_expr(mod)
        if not isinstance(mod, IRModule):
            raise PassTypeError(
                f"a pass runs on an IRModule, got {type(mod).__name__}{_module_of(mod)}"
            )
        if ctx is not None and not isinstance(ctx, PassContext):
            raise PassTypeError(
                f"a pass runs under a PassContext, got {type(ctx).__name__}: P(mod, PassContext())"
            )
        with lock_of(mod.context):
            return self._on_copy(mod, ctx or PassContext.current(), required)

    def _on_copy(self, mod: IRModule, ctx: PassContext, required: bool | None) -> IRModule:
        if required is None:
            required = ctx.option(config.REQUIRED_ON_CALL)
        before = fingerprint(mod.mlir_module) if ctx.option(config.IMMUTABLE_MODULE) else None
        first: list[AnyPass] = []
        if required:
            first = required_passes(self, transitive=ctx.option(config.TRANSITIVE_REQUIRED))
        if first:
            working = mod.clone()
            with results_of(self, working, ctx) as results:
                for each in first:
                    if each.run_in_place(working, ctx) and results is not None:
                        results.note(each)
                self.run_in_place(working, ctx)
        else:
            if not ctx.instrument_before_pass(mod, self.info):
                return mod
            working = mod.clone()
            self._run(working, ctx)
        if before is not None and fingerprint(mod.mlir_module) != before:
            raise PassError(
                self.info.name, f"Immutable module has been modified in pass: {self.info.name}"
            )
        return working

    def run_in_place(self, mod: IRModule, ctx: PassContext) -> bool:
        """Run on the module itself, with the instruments around it.

        Returns:
            Whether the pass ran: an instrument may have rejected it.

        Raises:
            PassError: as `__call__`; the module is then in an unknown state.
        """
        with lock_of(mod.context):
            if not ctx.instrument_before_pass(mod, self.info):
                return False
            self._run(mod, ctx)
            return True

    def _run(self, mod: IRModule, ctx: PassContext) -> None:
        start = time.perf_counter()
        path = ctx.option(config.REPRODUCER)
        # An instrument may find the pass wrong afterwards, which the file reproduces too.
        with recording(path, mod.mlir_module, self, ctx.instruments) if path else nullcontext():
            try:
                self.execute(mod, ctx)
            except BaseException as error:
                ctx.instrument_pass_failed(mod, self.info, error)
                raise
            _LOGGER.debug("%s: %.1f ms", self.info.name, (time.perf_counter() - start) * 1e3)
            ctx.instrument_after_pass(mod, self.info)

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        """Run on the module itself through MLIR's PassManager, which verifies the result."""
        execution = Execution(mod.context)
        if not ctx.option(config.VERIFY_EACH):
            execution.manager.enable_verifier(False)
        self.add_to(execution, ctx)
        try:
            execution.run(mod.mlir_module, self.info.name)
        except PassError:
            if ctx.diag_ctx is not None:
                hand_over(execution.diagnostics, ctx.diag_ctx)
            raise
        hand_over(execution.diagnostics, ctx.diag_ctx)

    def add_to(self, execution: Execution, ctx: PassContext | None = None) -> None:
        """Append this pass to a PassManager."""

        def step(module: ir.Module) -> None:
            # Whoever writes a pass builds IR in it; a context and a location are at hand then.
            with module.context, ir.Location.unknown():
                self.apply(IRModule(module), ctx or PassContext.current())

        execution.add_python(self.info.name, step, flag=str(self))

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Change the module in place: the pass's own work."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does")

    @property
    def pipeline(self) -> str:
        """The text that recreates this pass, and that `relax-opt --pass-pipeline=` takes.

        Raises:
            PipelineError: a pass in it is not registered, so that no text names it.
        """
        # Called directly it runs whatever its level, and so does what the text recreates.
        return f"{MODULE}({text_of(self, level=0)})"

    def __str__(self) -> str:
        """Return the pass as a pipeline element."""
        if self.element is not None:
            return self.element
        entry = registry.find(self.info.name)
        return entry.flag if entry else registry.flag_of(self.info.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name}, opt_level={self.info.opt_level})"


class RegisteredPass(Pass):
    """A pass from a table: its function is imported when it first runs.

    Raises:
        PipelineError: an option does not exist or has a wrong value.
    """

    def __init__(self, spec: PassSpec, *values: Any, **options: Any) -> None:
        if len(values) > len(spec.options):
            module = any(isinstance(value, IRModule) or is_function(value) for value in values)
            hint = f"; {spec.name}()(mod) runs it on a module" if module else ""
            raise PipelineError(
                f"pass '{spec.flag}' takes {len(spec.options)} options, got {len(values)}{hint}"
            )
        positional = {
            option.name: value for option, value in zip(spec.options, values, strict=False)
        }
        self.spec = spec
        given = {**positional, **options}
        # None is TVM's way to ask for the default.
        self.given: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        self.options: dict[str, Any] = coerce_options(spec.flag, spec.options, self.given)
        self.info: PassInfo = PassInfo(spec.name, spec.opt_level, spec.required)

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Call the function of the table's entry on the `builtin.module` operation."""
        self.spec.load()(mod.mlir_module.operation, **self.options)

    def __str__(self) -> str:
        return str(Step(self.spec.flag, options=format_options(self._written)))

    @property
    def _written(self) -> dict[str, Any]:
        """The options given; lists as lists, however they were given, to be written in one way."""
        read = {name: self.options[name.replace("-", "_")] for name in self.given}
        return {
            name: read[name] if isinstance(read[name], (list, tuple)) else value
            for name, value in self.given.items()
        }


class MLIRPass(Pass):
    """Upstream passes, given as pipeline text.

    Raises:
        PipelineError: the text is malformed.
    """

    is_upstream = True

    def __init__(self, pipeline: str, opt_level: int = 0, name: str | None = None) -> None:
        steps = parse_steps(pipeline)
        if len(steps) == 1 and steps[0].children is not None and steps[0].name in (MODULE, "any"):
            steps = steps[0].children
        self.steps = steps
        self.element = ",".join(map(str, steps))
        self.info: PassInfo = PassInfo(name or self.element, opt_level)

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        """Run on the module itself; step by step where a reproducer is to begin with the right."""
        path = ctx.option(config.REPRODUCER)
        steps = singled(self.steps)
        if not path or len(steps) < 2:
            super().execute(mod, ctx)
            return
        for index, step in enumerate(steps):
            with remaining(lambda after=index + 1: [str(each) for each in steps[after:]]):
                part = MLIRPass(str(step), name=self.info.name)
                with recording(path, mod.mlir_module, part):
                    part.execute(mod, ctx)

    @property
    def is_sequence(self) -> bool:  # type: ignore[override]
        """Whether it is several passes, for reproducers."""
        return len(singled(self.steps)) > 1

    def add_to(self, execution: Execution, ctx: PassContext | None = None) -> None:
        """Append the text; relax_mlir's passes inside it are built as such."""
        build(Pipeline(self.steps), execution)


class ModulePass(Pass):
    """`pass_func(mod, ctx)` returns a module: the one it was given, changed, or another."""

    def __init__(
        self, pass_func: Callable[[IRModule, PassContext], IRModule], pass_info: PassInfo
    ) -> None:
        self.pass_func = pass_func
        self.info: PassInfo = pass_info

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Call the function; what it returns takes the place of the module's contents.

        Raises:
            TypeError: it returned something that is not a module.
        """
        result = self.pass_func(mod, ctx)
        module = result.mlir_module if isinstance(result, IRModule) else result
        if not isinstance(module, ir.Module):
            hint = "; is `return mod` missing?" if result is None else ""
            raise PassTypeError(
                f"a module pass returns a module, got {type(result).__name__}{hint}"
            )
        if module != mod.mlir_module:
            _replace_contents(mod.mlir_module, module)


class PrintIR(Pass):
    """Print the module to stderr and leave it as it is."""

    is_upstream = True

    def __init__(self, header: str = "") -> None:
        self.header = header
        self.info: PassInfo = PassInfo("PrintIR")
        # In a pipeline's text it is upstream's pass of that name, which prints the same.
        label = header.replace('"', "'") if "'" in header else header
        options = format_options({"label": label}) if header else None
        self.element = str(Step("print-ir", options=options))

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Print header and module."""
        print(f"PrintIR({self.header}):\n{mod.mlir_module}", file=sys.stderr)


def make_info(
    name: str, opt_level: int, required: Iterable[str] | None, traceable: bool = False
) -> PassInfo:
    """Return a PassInfo.

    Raises:
        TypeError: `required` is not a list or tuple.
    """
    required = () if required is None else required
    if not isinstance(required, (list, tuple)):
        raise PassTypeError(
            f"Required is expected to be the type of list/tuple of names, got {required!r}"
        )
    return PassInfo(name, opt_level, tuple(required), traceable)


def _module_of(given: Any) -> str:
    """Return how to make a module of what is none."""
    if isinstance(given, str):
        return ": script.from_source reads TVMScript, IRModule.parse MLIR"
    return ""


def mlir(pipeline: str, opt_level: int = 0, name: str | None = None) -> MLIRPass:
    """Return upstream passes as a pass: `mlir("cse")`, `mlir("func.func(canonicalize)")`.

    Raises:
        PipelineError: the text is malformed; unknown names are found when it runs.
    """
    return MLIRPass(pipeline, opt_level, name)


def _replace_contents(target: ir.Module, source: ir.Module) -> None:
    source = IRModule(source).moved_to(target.context).mlir_module
    for operation in list(target.body.operations):
        operation.operation.erase()
    for operation in list(source.body.operations):
        # A clone, not a move: the pass may hold on to what it returned.
        operation.operation.clone(ip=ir.InsertionPoint(target.body))
    old, new = target.operation.attributes, source.operation.attributes
    for name in set(old) - set(new):
        del old[name]
    for name in new:
        old[name] = new[name]
