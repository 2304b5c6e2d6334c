"""Formats generated text as ruff formats the checkout."""

import subprocess
import sys


def formatted(text: str) -> str:
    """Return the text of a stub as `ruff format` writes it, its imports sorted."""
    for command in (["check", "--select", "I,RUF022", "--fix", "-q"], ["format", "-q"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", "stub.pyi", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text
