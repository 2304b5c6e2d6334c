"""Every pass of ours by name: the lowering table, this package's, and those of users."""

import copy
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PipelineError, did_you_mean
from relax_mlir.lowering import PASSES
from relax_mlir.lowering.pass_spec import PassOption, PassSpec
from relax_mlir.tir.transform.table import TIR_PASSES
from relax_mlir.transform.layouts import DesiredLayouts
from relax_mlir.transform.options import coerce_options, format_options
from relax_mlir.transform.pipeline import Pipeline, Step
from relax_mlir.transform.refused import REFUSED
from relax_mlir.transform.upstream import NAMES as UPSTREAM_NAMES

if TYPE_CHECKING:
    from relax_mlir.transform.passes import Pass

# What a pipeline may say of any pass: its PassInfo.
RESERVED_OPTIONS = ("opt-level", "required")
PREFIXES = ("relax.transform.", "tir.transform.", "transform.")

# What a target multiplies with: which layout of weights it reads.
_PRODUCTS = (
    PassOption("vector_bits", int, 512, "width of a vector register"),
    PassOption("vector_registers", int, 32, "how many vector registers there are"),
    PassOption("dot_products", str, "", "dot-product instructions, between commas"),
)

# Flag -> PassSpec of the passes written in relax_mlir.transform itself.
TRANSFORM_PASSES: dict[str, PassSpec] = {
    "legalize-ops": PassSpec(
        flag="legalize-ops",
        name="LegalizeOps",
        entry="relax_mlir.transform.legalize_ops:legalize_ops",
        summary="Turn relax operations into call_tir of generated prim funcs",
    ),
    "fuse-attention": PassSpec(
        flag="fuse-attention",
        name="FuseAttention",
        entry="relax_mlir.transform.fuse_attention:fuse_attention",
        summary="Turn a softmax between two matrix products into one attention",
        opt_level=1,
    ),
    "fuse-ops": PassSpec(
        flag="fuse-ops",
        name="FuseOps",
        entry="relax_mlir.transform.fuse_ops:fuse_ops",
        summary="Merge chains of elementwise call_tir into one kernel each",
    ),
    "outline-native": PassSpec(
        flag="outline-native",
        name="OutlineNative",
        entry="relax_mlir.transform.outline_native:outline_native",
        summary="Merge straight-line runs of call_tir into one native function",
    ),
    "eliminate-common-subexpr": PassSpec(
        flag="eliminate-common-subexpr",
        name="EliminateCommonSubexpr",
        entry="relax_mlir.transform.eliminate_common_subexpr:eliminate_common_subexpr",
        summary="Merge equal bindings and drop unused ones",
        opt_level=3,
    ),
    "dead-code-elimination": PassSpec(
        flag="dead-code-elimination",
        name="DeadCodeElimination",
        entry="relax_mlir.transform.dead_code_elimination:dead_code_elimination",
        summary="Remove unused bindings, outputs, parameters and functions",
        opt_level=1,
        options=(PassOption("entry_functions", tuple, (), "functions to keep, by comma"),),
    ),
    "canonicalize-bindings": PassSpec(
        flag="canonicalize-bindings",
        name="CanonicalizeBindings",
        entry="relax_mlir.transform.canonicalize_bindings:canonicalize_bindings",
        summary="Remove bindings that only rename something, and symbols that only repeat one",
        opt_level=1,
    ),
    "fold-constant": PassSpec(
        flag="fold-constant",
        name="FoldConstant",
        entry="relax_mlir.transform.fold_constant:fold_constant",
        summary="Compute at compile time what is known then",
        opt_level=2,
        options=(
            PassOption("max_bytes", int, 65536, "limit for results larger than their operands"),
            PassOption("evaluate_tir", bool, True, "compile and run prim funcs on constants"),
        ),
    ),
    "infer-type": PassSpec(
        flag="infer-type",
        name="InferType",
        entry="relax_mlir.transform.infer_type:infer_type",
        summary="Refine the types of bindings by what their operands say",
    ),
    "refine-shapes-backward": PassSpec(
        flag="refine-shapes-backward",
        name="RefineShapesBackward",
        entry="relax_mlir.transform.refine_shapes_backward:refine_shapes_backward",
        summary="Refine the types of values by what is made of them",
        options=(
            PassOption("broadcast", bool, True, "operands of unknown shape do not broadcast"),
        ),
    ),
    "extract-shape-functions": PassSpec(
        flag="extract-shape-functions",
        name="ExtractShapeFunctions",
        entry="relax_mlir.transform.extract_shape_functions:extract_shape_functions",
        summary="Compute shapes of what functions return without calling them",
    ),
    "normalize": PassSpec(
        flag="normalize",
        name="Normalize",
        entry="relax_mlir.transform.normalize:normalize",
        summary="Bring Relax functions into the normal form that passes count on",
    ),
    "to-a-normal-form": PassSpec(
        flag="to-a-normal-form",
        name="ToANormalForm",
        entry="relax_mlir.transform.normalize:to_a_normal_form",
        summary="Relay's name of normalize",
        opt_level=1,
    ),
    "simplify-inference": PassSpec(
        flag="simplify-inference",
        name="SimplifyInference",
        entry="relax_mlir.transform.simplify_inference:simplify_inference",
        summary="Write normalisation and dropout as the arithmetic that inference needs",
    ),
    "simplify-known-statistics": PassSpec(
        flag="simplify-known-statistics",
        name="SimplifyKnownStatistics",
        entry="relax_mlir.transform.simplify_inference:simplify_known_statistics",
        summary="Write batch normalisations by constants as arithmetic that can be folded",
    ),
    "backward-fold-scale-axis": PassSpec(
        flag="backward-fold-scale-axis",
        name="BackwardFoldScaleAxis",
        entry="relax_mlir.transform.fold_scale_axis:backward_fold_scale_axis",
        summary="Move scales of what convolutions return into their weights",
        opt_level=3,
    ),
    "forward-fold-scale-axis": PassSpec(
        flag="forward-fold-scale-axis",
        name="ForwardFoldScaleAxis",
        entry="relax_mlir.transform.fold_scale_axis:forward_fold_scale_axis",
        summary="Move scales of what convolutions take into their weights",
        opt_level=3,
    ),
    "fold-scale-axis": PassSpec(
        flag="fold-scale-axis",
        name="FoldScaleAxis",
        entry="relax_mlir.transform.fold_scale_axis:fold_scale_axis",
        summary="Move scales by channel into the weights of convolutions, backward and forward",
        opt_level=3,
        parts=("BackwardFoldScaleAxis", "ForwardFoldScaleAxis"),
    ),
    "convert-layout": PassSpec(
        flag="convert-layout",
        name="ConvertLayout",
        entry="relax_mlir.transform.convert_layout:convert_layout",
        summary="Bring convolutions and pooling to the layouts asked for",
        options=(
            PassOption(
                "desired_layouts",
                DesiredLayouts,
                "conv2d=NHWC,HWIO",
                "as in conv2d=NHWC,HWIO;max_pool2d=NHWC",
            ),
        ),
    ),
    "alter-op-layout": PassSpec(
        flag="alter-op-layout",
        name="AlterOpLayout",
        entry="relax_mlir.transform.convert_layout:alter_op_layout",
        summary="Bring convolutions to the layouts in which kernels are fastest",
        opt_level=3,
    ),
    "pack-kernels": PassSpec(
        flag="pack-kernels",
        name="PackKernels",
        entry="relax_mlir.transform.pack_kernels:pack_kernels",
        summary="Bring constant weights of convolutions into blocks of output channels",
        opt_level=2,
    ),
    "pack-weights": PassSpec(
        flag="pack-weights",
        name="PackWeights",
        entry="relax_mlir.transform.pack_weights:pack_weights",
        summary="Bring constant matrices into the panels that contractions read",
        opt_level=2,
        options=_PRODUCTS,
    ),
    "pack-groups": PassSpec(
        flag="pack-groups",
        name="PackGroups",
        entry="relax_mlir.transform.pack_groups:pack_groups",
        summary="Put constant kernels of convolutions into the groups that targets multiply",
        opt_level=2,
        options=_PRODUCTS,
    ),
    "pack-winograd": PassSpec(
        flag="pack-winograd",
        name="PackWinograd",
        entry="relax_mlir.transform.pack_winograd:pack_winograd",
        summary="Transform constant kernels of 3 x 3 for convolutions that add up fewer products",
        opt_level=2,
        options=(
            PassOption("vector_bits", int, 512, "width of a vector register"),
            PassOption("vector_registers", int, 32, "how many vector registers there are"),
            PassOption("l2_bytes", int, 2 << 20, "size of a core's second-level cache"),
            PassOption("fma_units", int, 2, "multiply-adds of vectors that start in a cycle"),
        ),
    ),
    "convert-to-dataflow": PassSpec(
        flag="convert-to-dataflow",
        name="ConvertToDataflow",
        entry="relax_mlir.transform.convert_to_dataflow:convert_to_dataflow",
        summary="Put runs of pure bindings into dataflow blocks",
        options=(PassOption("min_size", int, 2, "how many bindings are worth a block"),),
    ),
    "lambda-lift": PassSpec(
        flag="lambda-lift",
        name="LambdaLift",
        entry="relax_mlir.transform.lambda_lift:lambda_lift",
        summary="Make functions of the module of functions written in place",
        opt_level=1,
    ),
    **TIR_PASSES,
}

_ACRONYM_END = re.compile(r"([A-Z]+)([A-Z][a-z])")
_WORD_END = re.compile(r"([a-z0-9])([A-Z])")
_UPSTREAM_NAME = re.compile(r"[a-z][\w.-]*")
# What a pipeline's text can name.
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class Entry:
    """What the registry knows of a pass; `make` builds it from its options."""

    flag: str
    name: str
    summary: str
    options: tuple[PassOption, ...]
    make: "Callable[..., Pass]"


_USER_ENTRIES: dict[str, Entry] = {}


def flag_of(name: str) -> str:
    """Return the flag for a pass's name: `CallTIRRewrite` gives `call-tir-rewrite`."""
    spaced = _WORD_END.sub(r"\1-\2", _ACRONYM_END.sub(r"\1-\2", name))
    return spaced.replace("_", "-").lower()


def register_pass(
    name: str,
    make: "Callable[..., Pass] | None" = None,
    *,
    flag: str | None = None,
    summary: str = "",
    options: Iterable[PassOption] = (),
) -> Any:
    """Make a pass findable by name and flag, in `required` lists and in pipelines.

    Args:
        name: the pass's name, such as `FoldConstant`.
        make: called with the options that are given, in their types and with `_` for `-`, to
            build the pass; or the pass itself, where it has no options. Without it this returns
            a decorator.
        flag: its name in pipelines; by default the name in kebab case.
        summary: one line for listings.
        options: the options that a pipeline may give.

    Raises:
        PipelineError: the name or flag belongs to another pass, ours or upstream's, or cannot be
            written in a pipeline. The same name with the same flag replaces what it was.
        TypeError: `make` is not callable.
    """
    if make is None:
        return lambda factory: register_pass(
            name, factory, flag=flag, summary=summary, options=options
        )
    given = make
    if hasattr(type(make), "pipeline"):
        if tuple(options):
            raise TypeError(f"pass '{name}' has options, so give what makes it of them")
        make = _constant(make)
    if not callable(make):
        raise TypeError(f"what makes a pass is callable, got {type(make).__name__}")
    entry = Entry(flag or flag_of(name), name, summary, tuple(options), make)
    for option in entry.options:
        if option.name.replace("_", "-") in RESERVED_OPTIONS:
            raise PipelineError(
                f"pass '{name}': a pipeline says '{option.name}' of every pass, it cannot be an "
                "option of this one"
            )
    for word in (entry.name, entry.flag):
        if not _NAME.fullmatch(word):
            raise PipelineError(f"'{word}' cannot be the name of a pass in a pipeline")
    if entry.flag in UPSTREAM_NAMES:
        raise PipelineError(f"pass '{name}': upstream has a pass '{entry.flag}'")
    for known in _USER_ENTRIES.values():
        if (known.name == name) != (known.flag == entry.flag):
            raise PipelineError(f"pass '{name}' is already registered as '{known.flag}'")
    for taken in (PASSES, TRANSFORM_PASSES):
        for spec in taken.values():
            if entry.flag == spec.flag or entry.name == spec.name:
                raise PipelineError(f"pass '{name}' is already registered as '{spec.flag}'")
    _USER_ENTRIES[entry.flag] = entry
    return given


def _constant(made: Any) -> "Callable[[], Pass]":
    """Return a function that returns a pass; whoever looks for its source finds the pass's."""

    def make() -> "Pass":
        return made

    rewrites = [each.rewrite for each in getattr(made, "patterns", ())]
    wrapped = getattr(made, "pass_func", None) or next(iter(rewrites), None)
    if wrapped is not None:
        make.__wrapped__ = wrapped  # type: ignore[attr-defined]
    return make


def file_of(name: str) -> str | None:
    """Return the Python file that registered a user's pass, None for passes of ours and MLIR's."""
    entry = find(name)
    if entry is None or _USER_ENTRIES.get(entry.flag) is not entry:
        return None
    make = inspect.unwrap(getattr(entry.make, "func", entry.make))
    try:
        found = inspect.getsourcefile(make) or inspect.getfile(make)
    except TypeError:
        return ""
    return "" if found == __file__ else found


def unregister_pass(name: str) -> None:
    """Forget a user-registered pass, by name or flag; unknown names are ignored."""
    for flag, entry in list(_USER_ENTRIES.items()):
        if name in (flag, entry.name):
            del _USER_ENTRIES[flag]


def entries() -> list[Entry]:
    """Return every pass of ours in table order, user-registered ones last."""
    specs = [*PASSES.values(), *TRANSFORM_PASSES.values()]
    return [*map(_from_spec, specs), *_USER_ENTRIES.values()]


def find(name: str) -> Entry | None:
    """Return the pass called `X`, `[relax.|tir.]transform.X`, or by its flag; None if unknown."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            name = name[len(prefix) :]
            break
    spec = _specs().get(name)
    if spec is not None:
        return _from_spec(spec)
    if name in _USER_ENTRIES:
        return _USER_ENTRIES[name]
    return next((entry for entry in _USER_ENTRIES.values() if entry.name == name), None)


def lookup(name: str) -> Entry:
    """Return the pass called so, ours before upstream's.

    Raises:
        PipelineError: there is none; names the closest.
        TypeError: the name is no string.
    """
    if not isinstance(name, str):
        hint = "; it is a pass already" if hasattr(name, "info") else ""
        raise TypeError(f"a pass is found by its name, got {type(name).__name__} {name!r}{hint}")
    entry = find(name)
    if entry is not None:
        return entry
    if not _UPSTREAM_NAME.fullmatch(name):
        raise unknown_pass(name)
    make = functools.partial(_make_upstream, name)
    make()
    return Entry(name, name, "", (), make)


def get_pass(name: str, **options: Any) -> "Pass":
    """Build the pass called so, ours or upstream's.

    Raises:
        PipelineError: there is no such pass, or it has no such option.
    """
    entry = lookup(name)
    if _USER_ENTRIES.get(entry.flag) is not entry:
        return entry.make(**options)
    # A pass of a table knows its options; a user's factory gets those given, in their types.
    values = coerce_options(entry.flag, entry.options, options)
    given = {option.replace("-", "_") for option in options}
    # A copy: the factory may hand out the same pass every time.
    made = copy.copy(entry.make(**{name: values[name] for name in values if name in given}))
    text = format_options(options)
    made.element = f"{entry.flag}{{{text}}}" if text else entry.flag
    return made


def unknown_pass(name: str) -> PipelineError:
    """Return the error for a name that is no pass, with the closest of ours and upstream's."""
    ours = entries()
    candidates = [entry.flag for entry in ours]
    candidates += UPSTREAM_NAMES
    hint = did_you_mean(name, candidates)
    # A CamelCase name is compared with CamelCase names first: `FuseOpps` means `FuseOps`.
    if not name.islower():
        hint = did_you_mean(name, [entry.name for entry in ours]) or hint
    if name in REFUSED:
        hint = f": {REFUSED[name]}"
    return PipelineError(f"unknown pass '{name}'{hint}")


@functools.cache
def _specs() -> dict[str, PassSpec]:
    """Return the tables' passes by flag and by name."""
    specs = [*PASSES.values(), *TRANSFORM_PASSES.values()]
    return {**{spec.name: spec for spec in specs}, **{spec.flag: spec for spec in specs}}


@functools.cache
def _from_spec(spec: PassSpec) -> Entry:
    def make(*values: Any, **options: Any) -> "Pass":
        if spec.parts:
            return _sequence(spec, *values, **options)
        passes = importlib.import_module("relax_mlir.transform.passes")
        return passes.SpecPass(spec, *values, **options)

    make.__name__ = make.__qualname__ = spec.name
    return Entry(spec.flag, spec.name, spec.summary, spec.options, make)


def _make_upstream(name: str, **options: Any) -> "Pass":
    """Return upstream's pass; MLIR is asked at once whether it and its options exist.

    Raises:
        PipelineError: they do not.
    """
    builder = importlib.import_module("relax_mlir.transform.builder")
    execution = importlib.import_module("relax_mlir.transform.execution")
    passes = importlib.import_module("relax_mlir.transform.passes")
    context = importlib.import_module("relax_mlir.dialects.context").default_context()
    step = builder.nest_implicitly(Step(name, options=format_options(options) or None), context)
    builder.build(Pipeline((step,)), execution.Execution(context))
    return passes.MLIRPass(str(step), name=name)


def _sequence(spec: PassSpec) -> "Pass":
    transform = importlib.import_module("relax_mlir.transform")
    parts = [get_pass(part) for part in spec.parts]
    for part in parts:
        # Whoever runs the whole runs its parts: the level is asked for once.
        part.info = replace(part.info, opt_level=0)
    whole = transform.Sequential(parts, spec.opt_level, spec.name, spec.required)
    # Its text is its own name: written as its parts they would have their own levels again.
    whole.element = spec.flag
    return whole
