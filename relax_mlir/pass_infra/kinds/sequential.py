"""Sequential: a list of passes; each runs if it is enabled, after the passes it requires."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from relax_mlir.errors import PassTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra import config
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.pass_manager import flatten
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.passes import MLIRPass, Pass, make_info
from relax_mlir.pass_infra.required_passes import Results, required_passes, results_of
from relax_mlir.pass_infra.text.pass_text import group_info, text_of
from relax_mlir.pass_infra.text.pipeline import MODULE, SEQUENTIAL, Pipeline, Step
from relax_mlir.pass_infra.text.reproducer import remaining


class Sequential(Pass):
    """Passes in a row, nesting allowed; leaves out what the context does not enable.

    The module is copied once for all of them. Before each pass run those that it requires, and what
    these require; one whose result still stands, because nothing has changed the module since, is
    not run again. `PassContext(config={"transform.transitive_required": False})` gives TVM's rule.

    Args:
        passes: the passes, in order.
        opt_level: the level of the whole, or its PassInfo, as C++ takes it.
        name: its name.
        required: passes to run first.
        traceable: as in PassInfo.

    Raises:
        TypeError: `passes` is not a list or tuple, or holds something that is not a pass.
    """

    is_sequence = True

    def __init__(
        self,
        passes: Sequence[AnyPass] | None = None,
        opt_level: int | PassInfo = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
        traceable: bool = False,
    ) -> None:
        if not isinstance(passes or (), (list, tuple)):
            raise PassTypeError(
                f"passes must be a list of Pass objects, got {type(passes).__name__} {passes!r}"
            )
        self.passes: list[AnyPass] = list(passes or ())
        for each in self.passes:
            if each is None:
                raise PassTypeError("Found undefined pass for optimization.")
            if not isinstance(each, Pass):
                raise PassTypeError(
                    f"passes must be a list of Pass objects, got {each!r} in it{_meant(each)}"
                )
        if isinstance(opt_level, PassInfo):
            self.info = opt_level
        else:
            self.info = make_info(name, opt_level, required, traceable)

    @classmethod
    def parse(cls, pipeline: str, opt_level: int = 0, name: str = "sequential") -> "Sequential":
        """Return the passes of a pipeline's text, upstream's too: the inverse of `pipeline`.

        Raises:
            PipelineError: the text is malformed, or names a pass or an option that does not exist.
        """
        return cls(passes_of(Pipeline.parse(pipeline)), opt_level, name)

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        """Run the enabled passes, each after the passes that it requires.

        Raises:
            PassError: a pass failed.
            PipelineError: a required pass does not exist, or passes require each other.
        """
        with results_of(self, mod, ctx) as results:
            self._execute(mod, ctx, results)

    def _execute(self, mod: IRModule, ctx: PassContext, results: Results | None) -> None:
        transitive = ctx.option(config.TRANSITIVE_REQUIRED)
        for index, each in enumerate(self.passes):
            if not ctx.pass_enabled(each.info):
                continue
            first = required_passes(each, transitive=transitive)
            for number, step in enumerate([*first, each]):
                if step is not each and results is not None and results.stands(step):
                    continue
                with remaining(lambda n=number, f=first, i=index: self._rest(f, n, i, ctx)):
                    ran = step.run_in_place(mod, ctx)
                if ran and results is not None:
                    results.note(step)

    def apply(self, mod: IRModule, ctx: PassContext) -> None:
        """Run as one step of a PassManager."""
        self.execute(mod, ctx)

    @property
    def pipeline(self) -> str:
        """The text that recreates the passes, and that `relax-opt --pass-pipeline=` takes.

        Raises:
            PipelineError: a pass in it is not registered, so that no text names it.
        """
        if self.element is not None:
            return super().pipeline
        return f"{MODULE}({','.join(text for text in map(text_of, self.passes) if text)})"

    def _rest(
        self, first: Sequence[AnyPass], number: int, index: int, ctx: PassContext
    ) -> list[str]:
        """Return what comes after a step: the number-th of `first`, or the index-th pass itself."""
        rest = [*first[number + 1 :], self.passes[index]] if number < len(first) else []
        return [*_texts(rest, ctx), *self._planned(self.passes[index + 1 :], ctx)]

    def _planned(self, passes: Sequence[AnyPass], ctx: PassContext) -> list[str]:
        """Return what passes of this one will run, in order."""
        result: list[str] = []
        for each in passes:
            if ctx.pass_enabled(each.info):
                transitive = ctx.option(config.TRANSITIVE_REQUIRED)
                result += _texts([*required_passes(each, transitive=transitive), each], ctx)
        return result

    def __str__(self) -> str:
        if self.element is not None:
            return self.element
        return ",".join(text for text in map(str, self.passes) if text)


def passes_of(pipeline: Pipeline) -> list[AnyPass]:
    """Return a pipeline's elements as passes, upstream's too.

    Raises:
        PipelineError: a pass or an option does not exist, or a pass stands under the wrong anchor.
    """
    result: list[AnyPass] = []
    for element in pipeline.steps:
        if element.is_group:
            result.append(_group_pass(element))
            continue
        for step in flatten([element], ()):
            result.append(MLIRPass(str(step)) if isinstance(step, Step) else step[1])
    return result


def _group_pass(step: Step) -> AnyPass:
    """Return `sequential{...}(...)` or `mlir{...}(...)` as a pass."""
    values, children = group_info(step), step.children or ()
    if step.name == SEQUENTIAL:
        return Sequential(passes_of(Pipeline(children)), **values)
    made = MLIRPass(",".join(map(str, children)))
    made.info = replace(made.info, **values)
    return made


def _meant(each: object) -> str:
    """Say what somebody may have meant who put something else than a pass into a list of them."""
    if isinstance(each, str):
        return f"; write get_pass('{each}')"
    name = getattr(each, "__name__", "")
    if isinstance(each, type) or (name[:1].isupper() and callable(each)):
        return f"; make one of it: {name}()"
    return "; is a decorator such as @module_pass missing?" if callable(each) else ""


def _texts(passes: Sequence[AnyPass], ctx: PassContext) -> list[str]:
    """Return passes as a command line runs them: a Sequential as what the context enables of it."""
    result: list[str] = []
    for each in passes:
        if isinstance(each, Sequential) and each.element is None:
            result += each._planned(each.passes, ctx)
        else:
            result.append(str(each))
    return result
