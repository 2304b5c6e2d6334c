"""Passes from an entry of the pass table, or from the name of an upstream pass."""

from dataclasses import replace
from typing import Any

from relax_mlir.dialects.context import default_context
from relax_mlir.lowering.pass_spec import PassSpec
from relax_mlir.pass_infra.execution import pass_manager
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.kinds.sequential import Sequential
from relax_mlir.pass_infra.passes import MLIRPass, Pass, RegisteredPass
from relax_mlir.pass_infra.registry import get_pass
from relax_mlir.pass_infra.text.options import format_options
from relax_mlir.pass_infra.text.pipeline import Pipeline, Step


def from_spec(spec: PassSpec, *values: Any, **options: Any) -> Pass:
    """Return the pass of a table's entry.

    Raises:
        PipelineError: an option does not exist or has a wrong value.
    """
    return _sequence(spec) if spec.parts else RegisteredPass(spec, *values, **options)


def upstream(name: str, **options: Any) -> MLIRPass:
    """Return upstream's pass; MLIR is asked at once whether it and its options exist.

    Raises:
        PipelineError: they do not.
    """
    context = default_context()
    step = Step(name, options=format_options(options) or None)
    step = pass_manager.nest_implicitly(step, context)
    pass_manager.build(Pipeline((step,)), Execution(context))
    return MLIRPass(str(step), name=name)


def _sequence(spec: PassSpec) -> Sequential:
    parts = [get_pass(part) for part in spec.parts]
    for part in parts:
        # Whoever runs the whole runs its parts: the level is checked once.
        part.info = replace(part.info, opt_level=0)
    whole = Sequential(parts, spec.opt_level, spec.name, spec.required)
    # Its text is its own name: written as its parts they would have their own levels again.
    whole.element = spec.flag
    return whole
