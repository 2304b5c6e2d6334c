"""Building a PassManager from a pipeline: Python passes as callbacks, upstream passes as text."""

import re
from collections.abc import Iterable
from dataclasses import replace

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.errors import PipelineError, did_you_mean
from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.text.options import parse_options
from relax_mlir.pass_infra.text.pass_text import OF_EVERY_PASS, group_info, split_info
from relax_mlir.pass_infra.text.pipeline import MODULE, Pipeline, Step

_NO_OPTION = re.compile(r"no such option (\S+)")
_RESTRICTED = re.compile(r"restricted to '([^']+)'")


def build(pipeline: Pipeline, execution: Execution) -> None:
    """Append a pipeline to a PassManager.

    Raises:
        PipelineError: a pass or an option does not exist, or a pass stands under the wrong anchor.
    """
    pending: list[Step] = []
    for step in flatten(pipeline.steps, ()):
        if isinstance(step, Step):
            pending.append(step)
            continue
        _add_upstream(execution, pending)
        pending = []
        _, made = step
        made.add_to(execution)
    _add_upstream(execution, pending)


def make_pass(step: Step) -> AnyPass:
    """Build the pass of relax_mlir that a step names, with its options.

    Raises:
        PipelineError: the pass or an option does not exist, or an option has a wrong value.
    """
    step, values = split_info(step, OF_EVERY_PASS)
    made = registry.get_pass(step.name, **parse_options(step.options or ""))
    if made.element is not None:
        made.element = str(step)
    if values:
        made.info = replace(made.info, **values)
    return made


def nest_implicitly(step: Step, context: ir.Context) -> Step:
    """Return an upstream pass under the anchor that it insists on, as mlir-opt does for flags."""
    if step.is_anchor or registry.find(step.name):
        return step
    try:
        passmanager.PassManager(MODULE, context).add(str(step))
    except ValueError as error:
        anchor = _RESTRICTED.search(str(error))
        if anchor:
            return Step(anchor.group(1), children=(step,))
    return step


def option_names(name: str, context: ir.Context) -> list[str]:
    """Return the options of an upstream pass, or nothing where MLIR does not print them."""
    try:
        printed = str(passmanager.PassManager.parse(f"any({name})", context))
        (step,) = Pipeline.parse(printed).steps
        return list(parse_options(step.options or ""))
    except ValueError:
        return []


def flatten(
    steps: Iterable[Step], anchors: tuple[str, ...]
) -> Iterable[Step | tuple[registry.Entry, AnyPass]]:
    """Yield passes of relax_mlir as made passes, and everything else as steps at module level."""
    for step in steps:
        if step.is_group:
            if anchors:
                raise PipelineError(
                    f"'{step.name}(...)' stands directly in '{MODULE}(...)', not in '{anchors[-1]}'"
                )
            group_info(step)
            yield from flatten(step.children or (), anchors)
            continue
        if step.children is not None:
            inside = list(step.walk())
            if any(each.is_group or registry.find(each.name) for each in inside):
                yield from flatten(step.children, (*anchors, step.name))
            else:
                yield _nested(step, anchors)
            continue
        entry = registry.find(step.name)
        if entry is None:
            yield _nested(step, anchors)
            continue
        made = make_pass(step)
        if anchors and not (anchors == ("func.func",) and made.runs_on_functions):
            raise PipelineError(
                f"pass '{entry.flag}' runs on '{MODULE}' and cannot be nested under "
                f"'{anchors[-1]}'; write it directly in '{MODULE}(...)'"
            )
        yield entry, made


def _nested(step: Step, anchors: tuple[str, ...]) -> Step:
    for anchor in reversed(anchors):
        step = Step(anchor, children=(step,))
    return step


def _add_upstream(execution: Execution, steps: list[Step]) -> None:
    if not steps:
        return
    try:
        execution.add_text(",".join(map(str, steps)))
    except ValueError as error:
        raise _explain(str(error), steps, execution.context) from None


def _explain(message: str, steps: list[Step], context: ir.Context) -> PipelineError:
    """Say which element MLIR did not accept, with the closest name there is."""
    for step in (inner for outer in steps for inner in outer.walk()):
        if step.is_anchor:
            continue
        try:
            passmanager.PassManager.parse(f"any({step.name})", context)
        except ValueError as error:
            if "does not refer to a registered pass" in str(error):
                return registry.unknown_pass(step.name)
        try:
            passmanager.PassManager.parse(f"any({step})", context)
        except ValueError as error:
            return _bad_option(step, str(error), context)
    restricted = _RESTRICTED.search(message)
    if restricted:
        return PipelineError(message.splitlines()[0])
    return PipelineError(message.strip())


def _bad_option(step: Step, message: str, context: ir.Context) -> PipelineError:
    names = option_names(step.name, context)
    missing = _NO_OPTION.search(message)
    if missing is None:
        return PipelineError(f"pass '{step.name}' does not accept options '{step.options}'")
    name = missing.group(1)
    if name in (option.name for option in OF_EVERY_PASS):
        return PipelineError(
            f"pass '{step.name}' is upstream's and has no option '{name}'; write it around the "
            f"pass: 'mlir{{{name}=...}}({step.name})'"
        )
    hint = did_you_mean(name, names)
    if not hint:
        hint = f"; it takes {', '.join(names)}" if names else "; it takes none"
    return PipelineError(f"pass '{step.name}' has no option '{name}'{hint}")
