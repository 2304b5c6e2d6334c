"""Scripts in colour: for terminals by escape sequences, for notebooks as HTML."""

import html
import io
import keyword
import os
import sys
import tokenize
from collections.abc import Iterator
from typing import TextIO

# What a piece of text is -> its escape sequence and its CSS.
_STYLES = {
    "keyword": ("\x1b[35m", "color:#a626a4"),
    "namespace": ("\x1b[34m", "color:#4078f2"),
    "call": ("\x1b[36m", "color:#0184bc"),
    "text": ("\x1b[32m", "color:#50a14f"),
    "number": ("\x1b[33m", "color:#986801"),
    "comment": ("\x1b[90m", "color:#a0a1a7"),
    "decorator": ("\x1b[34;1m", "color:#4078f2;font-weight:bold"),
}
_RESET = "\x1b[0m"
_NAMESPACES = ("R", "T", "I", "cls")


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text of a script in pieces, each with its kind, `""` for plain text.

    Text that is no Python is one plain piece.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        yield text, ""
        return
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    place, before = 0, ""
    for i, token in enumerate(tokens):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if begin < place or end <= begin:
            continue
        if begin > place:
            yield text[place:begin], ""
        following = tokens[i + 1].string if i + 1 < len(tokens) else ""
        yield text[begin:end], _kind(token, before, following)
        place, before = end, token.string
    if place < len(text):
        yield text[place:], ""


def _kind(token: tokenize.TokenInfo, before: str, following: str) -> str:
    plain = {tokenize.STRING: "text", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}
    if token.type in plain:
        return plain[token.type]
    if token.type == tokenize.OP:
        return "decorator" if token.string == "@" and token.line.lstrip().startswith("@") else ""
    if token.type != tokenize.NAME:
        return ""
    if token.line.lstrip().startswith("@"):
        return "decorator"
    if keyword.iskeyword(token.string):
        return "keyword"
    if token.string in _NAMESPACES and before != ".":
        return "namespace"
    return "call" if following == "(" else ""


def terminal(text: str) -> str:
    """Return a script with the escape sequences of a terminal."""
    return "".join(
        f"{_STYLES[kind][0]}{piece}{_RESET}" if kind else piece for piece, kind in pieces(text)
    )


def page(text: str) -> str:
    """Return a script as HTML, all of it in one `<pre>`."""
    parts = [
        f'<span style="{_STYLES[kind][1]}">{html.escape(piece)}</span>'
        if kind
        else html.escape(piece)
        for piece, kind in pieces(text)
    ]
    return f'<pre style="line-height:1.3">{"".join(parts)}</pre>'


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
