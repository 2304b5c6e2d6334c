"""Pictures: HTML in notebooks, and files of SVG, PNG, Graphviz's text or HTML."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.atomic_file import write_file
from relax_mlir.errors import RelaxMLIRError

_GRAPHVIZ = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Picture:
    """Something to look at.

    Attributes:
        title: what it shows.
        body: HTML or SVG.
        dot: the same for Graphviz, "" where it is no graph.
    """

    title: str
    body: str
    dot: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: `.html` is a page by itself; `.dot`, `.svg`, `.png` and `.pdf` of graphs.

        SVG, PNG and PDF are drawn by Graphviz's program `dot`. Without it SVG is drawn here.

        Raises:
            RelaxMLIRError: another suffix, not a graph, Graphviz is missing, or it fails.
        """
        suffix = Path(path).suffix
        if suffix == ".html":
            data = page(self.title, self.body).encode()
        elif suffix == ".svg" and self.body.startswith("<svg") and not (self.dot and _program()):
            data = self.body.encode()
        elif not self.dot:
            raise RelaxMLIRError(
                f"'{os.fspath(path)}': {self.title} is written as .html"
                f"{' or .svg' if self.body.startswith('<svg') else ''}"
            )
        elif suffix == ".dot":
            data = self.dot.encode()
        elif suffix in _GRAPHVIZ:
            data = _drawn(self.dot, suffix)
        else:
            raise RelaxMLIRError(
                f"'{os.fspath(path)}' does not end in .html, .dot, {', '.join(_GRAPHVIZ)}"
            )
        write_file(path, [data])

    def _repr_html_(self) -> str:
        """Return it as notebooks show it."""
        return self.body


def page(title: str, body: str, style: str = "") -> str:
    """Return an HTML page that needs no other file.

    Args:
        title: plain text.
        body: HTML.
        style: CSS.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>body {{ font: 14px sans-serif; margin: 1em }} {style}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _program() -> str | None:
    return shutil.which("dot")


def _drawn(dot: str, suffix: str) -> bytes:
    program = _program()
    if program is None:
        raise RelaxMLIRError(
            f"{suffix} is drawn by Graphviz, which is not here: install it (Debian's `graphviz`), "
            "or save as .svg or .html"
        )
    done = subprocess.run([program, f"-T{suffix[1:]}"], input=dot.encode(), capture_output=True)
    if done.returncode:
        raise RelaxMLIRError(f"dot failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
