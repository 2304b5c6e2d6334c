"""TVM's spellings of a target, `llvm -mcpu=native` or a dictionary, to options by name."""

import shlex
from collections.abc import Mapping
from typing import Any

from relax_mlir.errors import PipelineError, did_you_mean

KINDS = ("llvm",)
OPTIONS = ("mcpu", "mattr", "mtriple", "opt-level", "num-threads")
# What TVM calls the same.
_SPELLINGS = {"num-cores": "num-threads", "O": "opt-level"}


def options_of(target: Any) -> dict[str, str]:
    """Return the options of a target given as TVM's text or dictionary, by their names.

    Raises:
        PipelineError: it is neither, of an unknown kind, or has an option that there is not.
    """
    if isinstance(target, Mapping):
        kind = str(target.get("kind", "llvm"))
        pairs = [(str(name), _joined(value)) for name, value in target.items() if name != "kind"]
    elif isinstance(target, str):
        try:
            kind, *words = shlex.split(target) or [""]
        except ValueError as error:
            raise PipelineError(f'malformed target "{target}": {error}') from error
        pairs = [_split(word) for word in words]
    else:
        raise PipelineError(
            f"a target is a text such as 'llvm -mcpu=native', got {type(target).__name__} "
            f"{target!r}"
        )
    if kind not in KINDS:
        raise PipelineError(
            f"unknown target kind '{kind}'{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}; "
            "a CPU is given as in 'llvm -mcpu=x86-64-v3'"
        )
    return dict(_checked(name, value) for name, value in pairs)


def text_of(kind: str, options: Mapping[str, str]) -> str:
    """Return the text of a target."""
    words = (
        f"-O{value}" if name == "opt-level" else shlex.quote(f"-{name}={value}")
        for name, value in options.items()
    )
    return " ".join([kind, *words])


def number(options: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    """Return the value of an option that is a number.

    Raises:
        PipelineError: it is none, or none of those allowed.
    """
    text = options.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise PipelineError(f"target option '{_dashed(name)}' must be a number, got '{text}'")
    if int(text) not in allowed:
        raise PipelineError(
            f"target option '{_dashed(name)}' must be {allowed[0]} to {allowed[-1]}, got {text}"
        )
    return int(text)


def _split(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    # `-O2` has no sign between them; TVM writes one dash or two.
    if name.startswith("-O") and not equals:
        return "O", name[2:]
    if not name.startswith("-"):
        raise PipelineError(f"target option '{name}' must begin with a dash")
    return name.removeprefix("-").removeprefix("-"), value


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _checked(name: str, value: str) -> tuple[str, str]:
    known = _SPELLINGS.get(name, name)
    if known not in OPTIONS:
        spelled = [_dashed(each) for each in OPTIONS]
        raise PipelineError(
            f"unknown target option '-{name}'{did_you_mean('-' + name, spelled)}; "
            f"known: {', '.join(spelled)}"
        )
    if not value:
        raise PipelineError(f"target option '{_dashed(known)}' needs a value")
    return known, value


def _dashed(name: str) -> str:
    return "-O" if name == "opt-level" else f"-{name}"
