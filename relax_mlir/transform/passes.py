"""Passes as Python objects: module to module, run by MLIR's PassManager, instrumented (P07-P14)."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.pass_spec import PassSpec
from relax_mlir.transform import registry
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.execution import Execution
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.options import coerce_options, format_options
from relax_mlir.transform.pipeline import MODULE, Pipeline, Step, parse_steps

ModuleLike = TypeVar("ModuleLike", IRModule, ir.Module)


class Pass:
    """A module-to-module transformation; subclasses say what it does in `apply`.

    Attributes:
        info: the pass's PassInfo.
    """

    info: PassInfo

    def __call__(self, mod: ModuleLike, ctx: PassContext | None = None) -> ModuleLike:
        """Run on a copy of a module under a context, by default the current one (P07).

        The argument stays as it was, also when the pass fails. The pass runs whatever the context's
        level says, and without its `required` passes: only Sequential looks at those (P13).

        Raises:
            PassError: the pass failed or left IR that does not verify.
            TypeError: `mod` is not a module.
        """
        if isinstance(mod, ir.Module):
            return self(IRModule(mod), ctx).mlir_module
        if not isinstance(mod, IRModule):
            raise TypeError(f"a pass runs on an IRModule, got {type(mod).__name__}")
        ctx = ctx or PassContext.current()
        if not ctx.instrument_before_pass(mod, self.info):
            return mod
        working = mod.clone()
        self.execute(working, ctx)
        ctx.instrument_after_pass(working, self.info)
        return working

    def run_in_place(self, mod: IRModule, ctx: PassContext) -> None:
        """Run on the module itself, with the instruments around it (P26).

        Raises:
            PassError: as `__call__`; the module is then in an unknown state.
        """
        if ctx.instrument_before_pass(mod, self.info):
            self.execute(mod, ctx)
            ctx.instrument_after_pass(mod, self.info)

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        """Run on the module itself through MLIR's PassManager, which verifies the result."""
        execution = Execution(mod.context)
        self.add_to(execution, ctx)
        execution.run(mod.mlir_module, self.info.name)

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

    def __str__(self) -> str:
        """Return the pass as a pipeline element."""
        entry = registry.find(self.info.name)
        return entry.flag if entry else registry.flag_of(self.info.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name}, opt_level={self.info.opt_level})"


class SpecPass(Pass):
    """A pass from a table: its function is imported when it first runs.

    Raises:
        PipelineError: an option does not exist or has a wrong value.
    """

    def __init__(self, spec: PassSpec, *values: Any, **options: Any) -> None:
        if len(values) > len(spec.options):
            raise PipelineError(
                f"pass '{spec.flag}' takes {len(spec.options)} options, got {len(values)}"
            )
        positional = {
            option.name: value for option, value in zip(spec.options, values, strict=False)
        }
        self.spec = spec
        self.given = {**positional, **options}
        self.options = coerce_options(spec.flag, spec.options, self.given)
        self.info = PassInfo(spec.name, spec.opt_level, spec.required)

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Call the function of the table's entry on the `builtin.module` operation."""
        self.spec.load()(mod.mlir_module.operation, **self.options)

    def __str__(self) -> str:
        return str(Step(self.spec.flag, options=format_options(self.given)))


class MLIRPass(Pass):
    """Upstream passes, given as pipeline text.

    Raises:
        PipelineError: the text is malformed.
    """

    def __init__(self, pipeline: str, opt_level: int = 0, name: str | None = None) -> None:
        steps = parse_steps(pipeline)
        if len(steps) == 1 and steps[0].children is not None and steps[0].name in (MODULE, "any"):
            steps = steps[0].children
        self.steps = steps
        self.info = PassInfo(name or ",".join(map(str, steps)), opt_level)

    def add_to(self, execution: Execution, ctx: PassContext | None = None) -> None:
        """Append the text; a name of ours inside it is built as ours."""
        from relax_mlir.transform.builder import build

        build(Pipeline(self.steps), execution)

    def __str__(self) -> str:
        return ",".join(map(str, self.steps))


class ModulePass(Pass):
    """`pass_func(mod, ctx)` returns a module: the one it was given, changed, or another (P08)."""

    def __init__(
        self, pass_func: Callable[[IRModule, PassContext], IRModule], pass_info: PassInfo
    ) -> None:
        self.pass_func = pass_func
        self.info = pass_info

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Call the function; what it returns takes the place of the module's contents.

        Raises:
            TypeError: it returned something that is not a module.
            ValueError: it returned a module of another MLIR context.
        """
        result = self.pass_func(mod, ctx)
        module = result.mlir_module if isinstance(result, IRModule) else result
        if not isinstance(module, ir.Module):
            raise TypeError(f"a module pass returns a module, got {type(result).__name__}")
        if module != mod.mlir_module:
            _replace_contents(mod.mlir_module, module)


class PrintIR(Pass):
    """Print the module to stderr and leave it as it is (P21)."""

    def __init__(self, header: str = "") -> None:
        self.header = header
        self.info = PassInfo("PrintIR")

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Print header and module."""
        print(f"PrintIR({self.header}):\n{mod.mlir_module}", file=sys.stderr)


class Sequential(Pass):
    """Passes in a row, nesting allowed; leaves out what the context does not enable (P11-P14).

    Raises:
        TypeError: `passes` is not a list or tuple, or holds something that is not a pass.
    """

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
    ) -> None:
        if not isinstance(passes or (), (list, tuple)):
            raise TypeError("passes must be a list of Pass objects.")
        self.passes = list(passes or ())
        for each in self.passes:
            if each is None:
                raise TypeError("Found undefined pass for optimization.")
            if not isinstance(each, Pass):
                raise TypeError(f"passes must be a list of Pass objects, got {each!r} in it.")
        self.info = make_info(name, opt_level, required)

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the enabled passes, each after the passes that it requires (P14)."""
        for each in self.passes:
            if not ctx.pass_enabled(each.info):
                continue
            for name in each.info.required:
                registry.get_pass(name).run_in_place(mod, ctx)
            each.run_in_place(mod, ctx)

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run as one step of a PassManager."""
        self.execute(mod, ctx)

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))

    @property
    def pipeline(self) -> str:
        """The text that `relax-opt --pass-pipeline=` takes to run the same passes."""
        return f"{MODULE}({self})"


def make_info(name: str, opt_level: int, required: Iterable[str] | None) -> PassInfo:
    """Return a PassInfo.

    Raises:
        TypeError: `required` is not a list or tuple (P18).
    """
    required = () if required is None else required
    if not isinstance(required, (list, tuple)):
        raise TypeError("Required is expected to be the type of list/tuple.")
    return PassInfo(name, opt_level, tuple(required))


def mlir(pipeline: str, opt_level: int = 0, name: str | None = None) -> MLIRPass:
    """Return upstream passes as a pass: `mlir("cse")`, `mlir("func.func(canonicalize)")`.

    Raises:
        PipelineError: the text is malformed; unknown names are found when it runs.
    """
    return MLIRPass(pipeline, opt_level, name)


def _replace_contents(target: ir.Module, source: ir.Module) -> None:
    if source.context != target.context:
        raise ValueError("the module that a pass returns must be of the same MLIR context")
    for operation in list(target.body.operations):
        operation.operation.erase()
    for operation in list(source.body.operations):
        # A clone, not a move: the pass may hold on to what it returned.
        operation.operation.clone(ip=ir.InsertionPoint(target.body))
    ours, theirs = target.operation.attributes, source.operation.attributes
    for name in set(ours) - set(theirs):
        del ours[name]
    for name in theirs:
        ours[name] = theirs[name]
