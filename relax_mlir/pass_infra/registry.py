"""The registry of passes by name: lowering passes, transforms, and passes of users."""

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import PipelineError, did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.lowering import PASSES
from relax_mlir.lowering.pass_spec import PassOption, PassSpec
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.text.options import coerce_options, format_options
from relax_mlir.pass_infra.unsupported import UNSUPPORTED
from relax_mlir.pass_infra.upstream import NAMES as UPSTREAM_NAMES

# What a pipeline may say of any pass: its PassInfo.
RESERVED_OPTIONS = ("opt-level", "required")
PREFIXES = ("relax.transform.", "tir.transform.", "transform.")

_ACRONYM_END = re.compile(r"([A-Z]+)([A-Z][a-z])")
# The "2D" of a name is one word with what is before it.
_WORD_END = re.compile(r"([a-z0-9])(?!D$)([A-Z])")
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
    make: Callable[..., AnyPass]


_USER_ENTRIES: dict[str, Entry] = {}


def flag_of(name: str) -> str:
    """Return the flag for a pass's name: `CallTIRRewrite` gives `call-tir-rewrite`."""
    spaced = _WORD_END.sub(r"\1-\2", _ACRONYM_END.sub(r"\1-\2", name))
    return spaced.replace("_", "-").lower()


def register_pass(
    name: str,
    make: Callable[..., AnyPass] | None = None,
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
        PipelineError: the name or flag belongs to another pass, also of upstream, or cannot be
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
    for spec in _tables():
        if entry.flag == spec.flag or entry.name == spec.name:
            raise PipelineError(f"pass '{name}' is already registered as '{spec.flag}'")
    _USER_ENTRIES[entry.flag] = entry
    return given


def _constant(made: Any) -> Callable[[], AnyPass]:
    """Return a function that returns a pass; `inspect` finds the source of the pass."""

    def make() -> AnyPass:
        return made

    rewrites = [each.rewrite for each in getattr(made, "patterns", ())]
    wrapped = getattr(made, "pass_func", None) or next(iter(rewrites), None)
    if wrapped is not None:
        make.__wrapped__ = wrapped  # type: ignore[attr-defined]
    return make


def file_of(name: str) -> str | None:
    """Return the Python file that registered a user's pass, None for built-in passes."""
    entry = find(name)
    if entry is None or _USER_ENTRIES.get(entry.flag) is not entry:
        return None
    make = inspect.unwrap(getattr(entry.make, "func", entry.make))
    try:
        result = inspect.getsourcefile(make) or inspect.getfile(make)
    except TypeError:
        return ""
    return "" if result == __file__ else result


def unregister_pass(name: str) -> None:
    """Forget a user-registered pass, by name or flag; unknown names are ignored."""
    for flag, entry in list(_USER_ENTRIES.items()):
        if name in (flag, entry.name):
            del _USER_ENTRIES[flag]


def entries() -> list[Entry]:
    """Return every pass of relax_mlir in table order, user-registered ones last."""
    return [*map(_from_spec, _tables()), *_USER_ENTRIES.values()]


def spec_of(name: str) -> PassSpec | None:
    """Return the table's row of a pass, named as for `find`; None if it has none."""
    return _specs().get(_bare(name))


def _bare(name: str) -> str:
    return name.removeprefix(next((each for each in PREFIXES if name.startswith(each)), ""))


def find(name: str) -> Entry | None:
    """Return the pass called `X`, `[relax.|tir.]transform.X`, or by its flag; None if unknown."""
    spec = spec_of(name)
    if spec is not None:
        return _from_spec(spec)
    name = _bare(name)
    if name in _USER_ENTRIES:
        return _USER_ENTRIES[name]
    return next((entry for entry in _USER_ENTRIES.values() if entry.name == name), None)


def lookup(name: str) -> Entry:
    """Return the pass called so, relax_mlir's before upstream's.

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
    make = functools.partial(extension("pass_infra.upstream"), name)
    make()
    return Entry(name, name, "", (), make)


def get_pass(name: str, **options: Any) -> AnyPass:
    """Build the pass called so, relax_mlir's or upstream's.

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


# C++'s name.
GetPass = get_pass


def unknown_pass(name: str) -> PipelineError:
    """Return the error for a name that is no pass, with the closest names."""
    own = entries()
    candidates = [entry.flag for entry in own]
    candidates += UPSTREAM_NAMES
    hint = did_you_mean(name, candidates)
    # A CamelCase name is compared with CamelCase names first: `FuseOpps` means `FuseKernels`.
    if not name.islower():
        hint = did_you_mean(name, [entry.name for entry in own]) or hint
    if name in UNSUPPORTED:
        hint = f": {UNSUPPORTED[name]}"
    return PipelineError(f"unknown pass '{name}'{hint}")


def _tables() -> list[PassSpec]:
    """Return the passes of the tables: those of lowerings, then those of the layers above."""
    return [*PASSES.values(), *extension("pass_infra.passes").values()]


@functools.cache
def _specs() -> dict[str, PassSpec]:
    """Return the tables' passes by flag and by name."""
    specs = _tables()
    return {**{spec.name: spec for spec in specs}, **{spec.flag: spec for spec in specs}}


@functools.cache
def _from_spec(spec: PassSpec) -> Entry:
    def make(*values: Any, **options: Any) -> AnyPass:
        return extension("pass_infra.from_spec")(spec, *values, **options)

    make.__name__ = make.__qualname__ = spec.name
    make.__doc__ = f"{spec.summary[:1].upper()}{spec.summary[1:]}."
    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                option.name.replace("-", "_"),
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=option.default,
                annotation=option.type,
            )
            for option in spec.options
        ],
        return_annotation="Pass",
    )
    return Entry(spec.flag, spec.name, spec.summary, spec.options, make)
