"""Scripts in colour: for terminals by escape sequences, for notebooks as HTML."""

import os
import sys
from typing import TextIO

import pygments
from pygments.formatter import Formatter
from pygments.formatters import HtmlFormatter, TerminalFormatter
from pygments.lexers import PythonLexer


def terminal(text: str) -> str:
    """Return a script with the escape sequences of a terminal."""
    return _format(text, TerminalFormatter())


def page(text: str) -> str:
    """Return a script as HTML, all of it in one `<pre>`."""
    return f"<pre>{_format(text, HtmlFormatter(noclasses=True, nowrap=True))}</pre>"


def _format(text: str, formatter: Formatter) -> str:
    # Not by `pygments.highlight`, which strips blank lines from both ends.
    tokens = PythonLexer().get_tokens_unprocessed(text)
    return pygments.format(((kind, piece) for _, kind, piece in tokens), formatter)


def show(text: str, style: str | None = None, stream: TextIO | None = None) -> None:
    """Print a script, in colour where that is a terminal.

    Args:
        text: the script.
        style: `"ansi"` for colour always, `"plain"` for none; by default, and by TVM's `"light"`
            and `"dark"`, colour on terminals, unless the environment says `NO_COLOR`.
        stream: where to, standard output by default.

    Raises:
        ValueError: unknown style.
    """
    if style not in (None, "ansi", "plain", "light", "dark"):
        raise ValueError(f"a style is 'ansi' or 'plain', got {style!r}")
    stream = stream or sys.stdout
    if style not in ("ansi", "plain"):
        coloured = getattr(stream, "isatty", lambda: False)() and not os.environ.get("NO_COLOR")
        style = "ansi" if coloured else "plain"
    print(terminal(text) if style == "ansi" else text, file=stream)
