"""Ctrl-C that MLIR made an ordinary exception of, on its way through C++."""

from collections.abc import Iterator
from contextlib import contextmanager

# What Operation.walk raises, whatever its callback raised: the traceback is all that is left of it.
_FROM_CALLBACK = "Exception raised in callback: "


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an exception, or one that it was raised from, once was a KeyboardInterrupt."""
    while error is not None:
        text = str(error) if isinstance(error, RuntimeError) else ""
        if text.startswith(_FROM_CALLBACK):
            return text.rstrip().rsplit("\n", 1)[-1].startswith(KeyboardInterrupt.__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C leave the body as what it is, also out of callbacks; works as a decorator too."""
    try:
        yield
    except Exception as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        raise
