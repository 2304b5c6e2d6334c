"""`relax.pipeline`: pipelines by name, and the passes of a build in their four phases."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE, level_of, make_pass
from relax_mlir.errors import PassTypeError, PipelineError, did_you_mean
from relax_mlir.lowering.target.target import Target
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.kinds.sequential import Sequential
from relax_mlir.pass_infra.registry import get_pass

Maker = Callable[..., AnyPass]


def _made(names: Sequence[str]) -> list[AnyPass]:
    passes = []
    for name in names:
        each = make_pass(name)
        # The level at which a build runs it, which another Sequential need not go by.
        each.info = replace(each.info, opt_level=level_of(name))
        passes.append(each)
    return passes


def _phase(target: Any, first: str, last: str = "") -> list[AnyPass]:
    if target is not None:
        # An unknown target is an error here, as it is in a build.
        Target(target)
    begin = DEFAULT_PIPELINE.index(first)
    end = DEFAULT_PIPELINE.index(last) if last else len(DEFAULT_PIPELINE)
    return _made(DEFAULT_PIPELINE[begin:end])


def library_dispatch_passes(target: Any = None) -> list[AnyPass]:
    """Return the passes of a build before operations become kernels.

    Raises:
        PipelineError: there is no such target. This holds for the other phases too.
    """
    return _phase(target, DEFAULT_PIPELINE[0], "LegalizeOps")


def legalize_passes(target: Any = None) -> list[AnyPass]:
    """Return the passes that make kernels of operations, merge them and pack their constants."""
    return _phase(target, "LegalizeOps", "ToNonDataflow")


def dataflow_lower_passes(target: Any = None) -> list[AnyPass]:
    """Return the passes that make calls with explicit outputs of dataflow blocks."""
    return _phase(target, "ToNonDataflow", "StaticPlanBlockMemory")


def finalize_passes(target: Any = None) -> list[AnyPass]:
    """Return the passes that plan memory and lower shapes: the VM dialect is what they leave."""
    return _phase(target, "StaticPlanBlockMemory")


def get_default_pipeline(target: Any = None) -> Sequential:
    """Return the passes of a build as one pass; a build of what it gives has nothing left to do."""
    if target is not None:
        Target(target)
    return Sequential(_made(DEFAULT_PIPELINE), name="default_pipeline")


def zero_pipeline() -> Sequential:
    """Return the pass that makes kernels of operations and merges them: TVM's pipeline `zero`."""
    names = ("LegalizeOps", "FoldConstant", "FuseOps")
    return Sequential([get_pass(name) for name in names], name="zero_pipeline")


PIPELINE_MAP: dict[str, Maker] = {
    "zero": zero_pipeline,
    "default": get_default_pipeline,
    "default_build": get_default_pipeline,
}


def get_pipeline(name: str = "zero", **options: Any) -> AnyPass:
    """Return the pipeline that is registered under a name.

    Args:
        name: `zero`, `default`, or what `register_pipeline` was given.
        options: of the function that was registered.

    Raises:
        PipelineError: there is none of that name.
    """
    if name not in PIPELINE_MAP:
        known = ", ".join(PIPELINE_MAP)
        hint = did_you_mean(name, PIPELINE_MAP) or f"; there are: {known}"
        raise PipelineError(f"unknown pipeline '{name}'{hint}")
    return PIPELINE_MAP[name](**options)


def register_pipeline(name: str) -> Callable[[Any], Any]:
    """Return a decorator that registers a function that returns a pass, or a pass, under a name.

    Raises:
        PipelineError: the name is taken.
    """
    if name in PIPELINE_MAP:
        raise PipelineError(f"pipeline '{name}' is registered already")

    def register(given: Any) -> Any:
        if not isinstance(given, AnyPass) and not callable(given):
            raise PassTypeError(f"a pipeline is a pass, or returns one, got {given!r}")
        make: Callable[..., Any] = (lambda: given) if isinstance(given, AnyPass) else given
        PIPELINE_MAP[name] = make
        return given

    return register


def resolve(given: Any) -> "AnyPass | tuple[str, ...] | None":
    """Return what a build runs for its argument `relax_pipeline`.

    Args:
        given: the name of a pipeline, a pass, names of passes, or None for no passes at all.

    Returns:
        A pass to run first, names of passes to run instead, or None for the default.

    Raises:
        PipelineError: there is no such pipeline.
        PassTypeError: it is none of these.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        if given in ("default", "default_build"):
            return None
        return get_pipeline(given)
    if isinstance(given, AnyPass):
        return given
    if isinstance(given, (list, tuple)) and all(isinstance(each, str) for each in given):
        return None if tuple(given) == DEFAULT_PIPELINE else tuple(given)
    raise PassTypeError(
        "a pipeline is its name, a pass, or a list of names such as "
        f"relax.pipeline.DEFAULT_PIPELINE, got {given!r}"
    )
