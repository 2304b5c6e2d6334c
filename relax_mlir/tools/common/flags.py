"""Command lines in MLIR's style: one dash or two, values after `=` or as the next argument."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.errors import RelaxMLIRError

_TRUE = ("true", "1", "TRUE", "True")
_FALSE = ("false", "0", "FALSE", "False")


class UsageError(RelaxMLIRError):
    """The command line is wrong; the message is one line."""


@dataclass(frozen=True)
class Flag:
    """One flag: without `value` it is a switch, with it it takes a value of that kind."""

    name: str
    doc: str
    value: str = ""
    type: Callable[[str], Any] = str
    # Given several times it is a list; else the last one counts.
    repeated: bool = False


@dataclass
class Options:
    """The parsed command line.

    Attributes:
        file: the input; `-` is standard input.
        passes: flags that are passes, with the text of their options, in the order given.
        values: the other flags.
    """

    file: str = "-"
    passes: list[tuple[str, str]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)


def scan(
    argv: Sequence[str],
    flags: Iterable[Flag],
    unknown: Callable[[str, str], UsageError],
    is_pass: Callable[[str], bool],
) -> Options:
    """Read a command line; single and double dashes mean the same.

    Args:
        argv: the arguments without the program's name.
        flags: what there is; `-h` is `help` everywhere.
        unknown: returns the error for a word and the name in it.
        is_pass: whether a word that is no flag names a pass; asked only where needed.

    Raises:
        UsageError: an unknown flag, a missing or wrong value, or two inputs.
    """
    by_name = {flag.name: flag for flag in flags}
    by_name["h"] = by_name["help"]
    options = Options()
    files: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            files += words
            break
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        flag = by_name.get(name)
        if flag is None:
            if not is_pass(name):
                raise unknown(word, name)
            options.passes.append((name, value))
            continue
        if flag.value and flag.value != "bool" and not equals:
            if not words:
                raise UsageError(f"flag '{word}' needs a value: {word}=<{flag.value}>")
            value = words.pop(0)
        read = _value(flag, word, value, bool(equals))
        if flag.repeated:
            options.values.setdefault(flag.name, []).append(read)
        else:
            options.values[flag.name] = read
    if len(files) > 1:
        raise UsageError(f"one input at a time, got '{files[0]}' and '{files[1]}'")
    options.file = files[0] if files else "-"
    return options


def table(flags: Iterable[Flag]) -> list[str]:
    """Return the lines of the help text that list flags."""
    lines = []
    for flag in flags:
        dash = "-" if len(flag.name) == 1 else "--"
        value = f"=<{flag.value}>" if flag.value else ""
        lines.append(f"  {dash + flag.name + value:<52} {flag.doc}")
    return lines


def _value(flag: Flag, word: str, value: str, given: bool) -> Any:
    if flag.value and flag.value != "bool":
        try:
            return flag.type(value)
        except ValueError:
            raise UsageError(f"flag '--{flag.name}' wants a number, got '{value}'") from None
    if not given or value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise UsageError(f"flag '{word.partition('=')[0]}' is true or false, got '{value}'")
