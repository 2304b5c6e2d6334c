"""Command lines by argparse: one-line errors that suggest the nearest flag."""

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from relax_mlir.errors import did_you_mean
from relax_mlir.tools.common.flags import Flag, Options, UsageError


class Parser(argparse.ArgumentParser):
    """The command line of a tool that reads one file.

    Args:
        prog: the tool.
        description: what it does, laid out as the help shows it.
    """

    def __init__(self, prog: str, description: str) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=description, formatter_class=layout, allow_abbrev=False)

    def add_flag(self, flag: Flag) -> None:
        """Add a flag that relax-opt has too."""
        name, doc = f"--{flag.name}", flag.doc
        if flag.value:
            action, metavar = "append" if flag.repeated else "store", flag.value.upper()
            self.add_argument(name, action=action, type=flag.type, metavar=metavar, help=doc)
        else:
            self.add_argument(name, action="store_true", help=doc)

    def parse(self, argv: Sequence[str]) -> Options:
        """Read a command line.

        Raises:
            UsageError: it is wrong.
            SystemExit: help was requested.
        """
        namespace, rest = self.parse_known_args(argv)
        for word in rest:
            name = word.partition("=")[0]
            if word.startswith("-"):
                hint = did_you_mean(name, self._option_string_actions)
                raise UsageError(f"unknown flag '{name}'{hint}")
        if rest:
            raise UsageError(f"one input at a time, got '{namespace.file}' and '{rest[0]}'")
        values = {name.replace("_", "-"): value for name, value in vars(namespace).items()}
        return Options(values.pop("file"), values=values)

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError."""
        raise UsageError(message)


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """Return the type of an argument that is one of some names."""

    def read(text: str) -> str:
        if text not in names:
            hint = did_you_mean(text, names) or f"; there are {', '.join(names)}"
            raise argparse.ArgumentTypeError(f"cannot be '{text}'{hint}")
        return text

    return read


def between(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the type of an argument that is an integer from `least` to `most`, or of any size."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"wants a number, got '{text}'") from None
        if value < least or (most is not None and value > most):
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"must be {allowed}, got {value}")
        return value

    return read
