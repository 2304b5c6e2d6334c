"""relax-opt: mlir-opt for our dialects and passes."""

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import BindingsError, RelaxMLIRError
from relax_mlir.tools import opt_flags
from relax_mlir.tools.opt_flags import Options
from relax_mlir.tools.sources import InputError, read

_PASS_NAME = re.compile(r"[A-Za-z_][\w-]*")


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    try:
        code = _main(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader left: say nothing, and keep the interpreter from flushing into the dead pipe.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except InputError as error:
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


def _main(argv: Sequence[str]) -> int:
    options = opt_flags.parse(argv, _is_pass)
    if options["help"]:
        print(opt_flags.usage())
        return 0
    from relax_mlir.tools import listings

    for name in ("version", "list-passes", "show-dialects"):
        if options[name]:
            print(getattr(listings, name.replace("-", "_"))())
            return 0
    # The command line is judged before the input is read: a typo should not wait for stdin.
    session = _session(options)
    return session.process(read(options.file))


def _is_pass(name: str) -> bool:
    """Whether a flag names a pass of ours or of MLIR's."""
    from relax_mlir.transform import registry

    if not _PASS_NAME.fullmatch(name):
        return False
    if registry.find(name) is not None:
        return True
    from relax_mlir.dialects.bindings import ir, passmanager

    with ir.Context():
        try:
            passmanager.PassManager.parse(f"any({name})")
        except ValueError:
            return False
    return True


def _session(options: Options) -> Any:
    try:
        from relax_mlir.tools.opt_session import Session
    except BindingsError as error:
        raise RelaxMLIRError(str(error)) from None
    return Session(options)


if __name__ == "__main__":
    sys.exit(main())
