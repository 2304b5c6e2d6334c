"""Pass options in text, `{name=value other=value}`: parsing and printing typed values."""

from collections.abc import Mapping
from typing import Any

from relax_mlir.errors import PipelineError, did_you_mean
from relax_mlir.lowering.pass_spec import PassOption

_TRUE = {"true", "1", "True"}
_FALSE = {"false", "0", "False"}
_CLOSING = {"(": ")", "{": "}", "[": "]"}


def split_top_level(text: str, separators: str) -> list[str]:
    """Split at separators that stand outside brackets and quotes; empty parts are dropped.

    Raises:
        PipelineError: a bracket or a quote stays open.
    """
    parts: list[str] = []
    current = ""
    closers: list[str] = []
    quote = ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _CLOSING:
            closers.append(_CLOSING[char])
        elif closers and char == closers[-1]:
            closers.pop()
        elif not closers and char in separators:
            parts.append(current)
            current = ""
            continue
        current += char
    if quote or closers:
        raise PipelineError(f"missing '{quote or closers[-1]}' in pass options '{text}'")
    parts.append(current)
    return [part.strip() for part in parts if part.strip()]


def parse_options(text: str) -> dict[str, str]:
    """Return the options of `a=1 b="x y" flag` as text values; a bare name means `true`.

    Raises:
        PipelineError: a bracket or a quote stays open, or an option is given twice.
    """
    values: dict[str, str] = {}
    for part in split_top_level(text, " \t\n"):
        name, equals, value = part.partition("=")
        if name in values:
            raise PipelineError(f"option '{name}' is given twice in '{text}'")
        values[name] = _unquote(value) if equals else "true"
    return values


def coerce_options(
    pass_name: str, declared: tuple[PassOption, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return every declared option's value: the given one in its type, else the default.

    Raises:
        PipelineError: an option does not exist, or its value is not of its type.
    """
    known = {option.name: option for option in declared}
    # Python spells `max_depth` what a pipeline spells `max-depth`; both are accepted.
    by_python_name = {option.name.replace("-", "_"): option for option in declared}
    values = {option.name.replace("-", "_"): option.default for option in declared}
    for name, value in given.items():
        option = by_python_name.get(name.replace("-", "_"))
        if option is None:
            hint = did_you_mean(name, known)
            if not known:
                hint = "; it takes none"
            elif not hint:
                hint = f"; it takes {', '.join(known)}"
            raise PipelineError(f"pass '{pass_name}' has no option '{name}'{hint}")
        values[option.name.replace("-", "_")] = _coerce(pass_name, option, value)
    return values


def format_options(values: Mapping[str, Any]) -> str:
    """Return options as a pipeline writes them, without braces.

    Raises:
        PipelineError: a value holds both kinds of quotes, which no pipeline can write.
    """
    return " ".join(f"{name.replace('_', '-')}={_format(value)}" for name, value in values.items())


def _unquote(value: str) -> str:
    # MLIR writes a list or a nested pipeline as `name={...}`: there the braces are quotes too.
    if len(value) >= 2 and value[0] + value[-1] in ('""', "''", "{}"):
        return value[1:-1]
    return value


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_format(item) for item in value)
    # A function is named only: no text can recreate it.
    text = getattr(value, "__name__", "function") if callable(value) else str(value)
    if text and not any(char in " \t\n{}(),\"'" for char in text):
        return text
    # MLIR knows both quotes and no escapes.
    quote = "'" if '"' in text else '"'
    if quote in text:
        raise PipelineError(f"a pipeline cannot write both kinds of quotes: {text!r}")
    return f"{quote}{text}{quote}"


def _coerce(pass_name: str, option: PassOption, value: Any) -> Any:
    if option.type is bool and isinstance(value, str):
        if value not in _TRUE | _FALSE:
            raise _bad_value(pass_name, option, value)
        return value in _TRUE
    if option.type in (list, tuple):
        items = split_top_level(value, ",") if isinstance(value, str) else value
        return option.type(items)
    if isinstance(value, str) and option.type is not str:
        try:
            return option.type(value)
        except ValueError:
            raise _bad_value(pass_name, option, value) from None
    # An int is a fine float, but a bool is no int and a float no int either.
    if isinstance(value, option.type) and not (option.type is int and isinstance(value, bool)):
        return value
    if option.type is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if value is None and option.default is None:
        return None
    raise _bad_value(pass_name, option, value)


def _bad_value(pass_name: str, option: PassOption, value: Any) -> PipelineError:
    return PipelineError(
        f"option '{option.name}' of pass '{pass_name}' wants {option.type.__name__}, got '{value}'"
    )
