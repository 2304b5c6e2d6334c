"""Entry point of the tools: errors become one line and an exit code."""

import contextlib
import logging
import os
import sys
from collections.abc import Callable

from relax_mlir.errors import RelaxMLIRError, ScriptError
from relax_mlir.tools.common.streams import InputError


class _Lines(logging.Handler):
    """Prints what the library warns of as the tools print things: a line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        if sys.stderr is not None:
            print(f"{record.levelname.lower()}: {record.getMessage()}", file=sys.stderr)


def run(main: Callable[[], int]) -> int:
    """Run a tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    logger, lines = logging.getLogger("relax_mlir"), _Lines(logging.WARNING)
    logger.addHandler(lines)
    try:
        return _code(main)
    finally:
        logger.removeHandler(lines)


def _code(main: Callable[[], int]) -> int:
    try:
        code = main()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as stop:
        return int(stop.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader left: say nothing, and keep the interpreter from flushing into the dead pipe.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except (InputError, ScriptError) as error:
        message = str(error)
        return _fail(message if ": error: " in message else f"error: {message}")
    except OSError as error:
        where = f"'{error.filename}': " if error.filename else ""
        return _fail(f"error: {where}{error.strerror or error}")
    except (RelaxMLIRError, MemoryError, RecursionError) as error:
        return _fail(f"error: {error or type(error).__name__}")


def _fail(message: str) -> int:
    # Python has no stream where the shell closed it (`2>&-`), and print would take stdout then.
    if sys.stderr is not None:
        print(message, file=sys.stderr)
    return 1
