"""The text that recreates a pass: name, options, and the PassInfo fields that differ.

A level or a `required` list is written where the pass has another than the one of its name:
`fold-constant{opt-level=0}`. Options of upstream's passes are upstream's, so there it is written
around them, `mlir{opt-level=3}(cse)`, and around a Sequential that is one pass of another:
`sequential{name=tidy opt-level=3}(cse,canonicalize)`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relax_mlir.errors import PipelineError, RelaxMLIRError
from relax_mlir.lowering.pass_spec import PassOption
from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.text.options import coerce_options, format_options, parse_options
from relax_mlir.pass_infra.text.pipeline import SEQUENTIAL, UPSTREAM, Step, parse_steps

# What may be said of every pass, next to the options that it declares.
OF_EVERY_PASS = (
    PassOption("opt-level", int, 0, "its level"),
    PassOption("required", tuple, (), "names of the passes to run first"),
)
_OF_GROUPS = (PassOption("name", str, "", "its name"), *OF_EVERY_PASS)


def text_of(each: AnyPass, level: int | None = None) -> str:
    """Return the elements of a pipeline that recreate a pass.

    Args:
        each: the pass.
        level: the level that the recreated pass has; by default its own.

    Raises:
        PipelineError: a pass is not registered, so that no text names it, or a value cannot be
            written.
    """
    info = each.info if level is None else replace(each.info, opt_level=level)
    if each.passes is not None and each.element is None:
        inner = ",".join(text for text in map(text_of, each.passes) if text)
        return _group(SEQUENTIAL, info, PassInfo(SEQUENTIAL), inner)
    element = str(each)
    steps = parse_steps(element)
    if each.is_upstream:
        names = {inner.name for step in steps for inner in step.walk() if not inner.is_anchor}
        if any(map(registry.find, names)):
            # By themselves relax_mlir's passes would have the levels of their names.
            return f"{UPSTREAM}{_braces(_differences(info, PassInfo(element)))}({element})"
        # PrintIR is upstream's pass in a text, and called as that is called.
        known = names == {info.name} or not hasattr(each, "steps")
        plain = info.name if known else element
        return _group(UPSTREAM, info, PassInfo(plain), element)
    if registry.find(steps[0].name) is None:
        raise PipelineError(
            f"no text can recreate pass '{each.info.name}', which is not registered: "
            f"register_pass('{each.info.name}', ...) gives it a name"
        )
    changes = _differences(replace(info, name=each.info.name), _as_named(each, steps[0]))
    changes.pop("name", None)
    options = " ".join(filter(None, [steps[0].options, format_options(changes)]))
    return str(Step(steps[0].name, options=options or None))


def split_info(step: Step, declared: tuple[PassOption, ...]) -> tuple[Step, dict[str, Any]]:
    """Return a step without the options that are of its PassInfo, and these in their types.

    Args:
        step: the step.
        declared: the options that are of the PassInfo.

    Raises:
        PipelineError: an option has a wrong value.
    """
    given = parse_options(step.options or "")
    of_info = {name: value for name, value in given.items() if name in {d.name for d in declared}}
    if not of_info:
        return step, {}
    rest = {name: value for name, value in given.items() if name not in of_info}
    values = coerce_options(step.name, declared, of_info)
    return (
        replace(step, options=format_options(rest) or None),
        {name.replace("-", "_"): values[name.replace("-", "_")] for name in of_info},
    )


def group_info(step: Step) -> dict[str, Any]:
    """Return what a group says of itself: `name`, `opt_level` and `required`, where given.

    Raises:
        PipelineError: there is no such option, or it has a wrong value.
    """
    given = parse_options(step.options or "")
    values = coerce_options(step.name, _OF_GROUPS, given)
    return {name.replace("-", "_"): values[name.replace("-", "_")] for name in given}


def _group(head: str, info: PassInfo, plain: PassInfo, inner: str) -> str:
    differences = _differences(info, plain)
    return f"{head}{_braces(differences)}({inner})" if differences else inner


def _differences(info: PassInfo, plain: PassInfo) -> dict[str, Any]:
    return {
        what: getattr(info, what)
        for what in ("name", "opt_level", "required")
        if getattr(info, what) != getattr(plain, what)
    }


def _braces(values: Mapping[str, Any]) -> str:
    return f"{{{format_options(values)}}}" if values else ""


def _as_named(each: AnyPass, step: Step) -> PassInfo:
    """Return the PassInfo of the pass that a step makes."""
    try:
        return registry.get_pass(step.name, **parse_options(step.options or "")).info
    except (RelaxMLIRError, TypeError):
        # A factory that cannot be asked without its arguments.
        return each.info
