"""Parsing in a child process first, for input that can crash MLIR: bytecode, deep nesting.

MLIR's bytecode reader trusts some of what it reads, and its parser recurses without a limit. Such
an input then costs the child, and the parent says what is wrong with it.
"""

import faulthandler
import itertools
import os
import pickle
import re
import signal
from collections.abc import Callable
from typing import Any

from relax_mlir.pass_infra.execution.diagnostics import Diagnostic

# MLIR's stack lasts for some thousand levels; what people and compilers write has a few dozen.
DEEP = 500
# A number that may be taken for a size: `%x:4294967296`, the dimensions of a convolution.
_LARGE = re.compile(r"(?<![.\w])\d{9,}\b")
_BRACKET = re.compile(r"->|[()<>{}\[\]]")
_STEP = {**dict.fromkeys("([{<", 1), **dict.fromkeys(")]}>", -1), "->": 0}


def failure(name: str, text: str | None, read: Callable[[], list[Diagnostic]]) -> list[Diagnostic]:
    """Return the errors of reading an input that can crash MLIR, nothing where it can be read.

    Args:
        name: of the input, for messages.
        text: of the input, None for bytecode; text of ordinary depth is not tried, and nothing
            returned.
        read: reads it and returns the errors, none where there is no error.
    """
    if text is None:
        suspicion = "MLIR's bytecode reader crashes on it: the file is damaged"
    else:
        depth = nesting(text)
        number = _LARGE.search(text)
        if depth <= DEEP and number is None:
            return []
        nested = f"brackets are nested {depth} deep"
        what = nested if number is None or depth > DEEP else f"a number is too large, {number[0]}"
        suspicion = f"MLIR's parser crashes on it: {what}"
    result = in_child(read)
    return [Diagnostic("error", suspicion, name)] if result is None else result


def nesting(text: str) -> int:
    """Return how deep the brackets of a text are nested, those in strings and comments included."""
    return max(itertools.accumulate(map(_STEP.__getitem__, _BRACKET.findall(text))), default=0)


def in_child(read: Callable[[], Any]) -> Any:
    """Return what a function returns in a child process, or None if a signal ends the child.

    Without `fork`, and where the child cannot answer, an empty list.

    The child is a fork: it needs the context with the dialects and passes that were loaded into it,
    and MLIR runs without threads in our contexts.
    """
    if not hasattr(os, "fork"):
        return []
    answer, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _be_quiet()
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(read(), pipe)
        finally:
            # Nothing of this process may run twice: no handlers, no flushing.
            os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(answer, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    if data:
        return pickle.loads(data)
    # A child that could not answer, for want of memory say, proves nothing.
    return None if os.WIFSIGNALED(status) else []


def _be_quiet() -> None:
    """Let a crash neither print nor leave a core file."""
    import resource

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
