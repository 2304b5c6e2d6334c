"""relax-opt: mlir-opt for our dialects and passes."""

import contextlib
import re
import sys
from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import BindingsError, PipelineError, RelaxMLIRError
from relax_mlir.tools.common import entry, loading
from relax_mlir.tools.common.flags import UsageError
from relax_mlir.tools.common.streams import read
from relax_mlir.tools.relax_opt import flags
from relax_mlir.tools.relax_opt.flags import Options

_PASS_NAME = re.compile(r"[A-Za-z_][\w-]*")


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    return entry.run(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    loading.load(loading.paths(argv))
    options = flags.parse(argv, _is_pass)
    if options["help"]:
        print(flags.usage())
        return 0
    from relax_mlir.tools.common import listings

    for name in ("version", "list-passes", "show-dialects"):
        if options[name]:
            print(getattr(listings, name.replace("-", "_"))())
            return 0
    # The command line is judged before the input is read: a typo should not wait for stdin.
    session = _session(options)
    with _target(options["target"]):
        return session.process(read(options.file))


def _is_pass(name: str) -> bool:
    """Whether a flag names a pass of relax_mlir or of MLIR."""
    from relax_mlir.pass_infra import registry

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


def _target(text: str | None) -> Any:
    """Return what makes a target the current one."""
    if text is None:
        return contextlib.nullcontext()
    from relax_mlir.lowering.target.target import Target

    try:
        return Target(text)
    except PipelineError as error:
        raise UsageError(f"flag '--target': {error}") from None


def _session(options: Options) -> Any:
    try:
        from relax_mlir.tools.relax_opt.session import Session
    except BindingsError as error:
        raise RelaxMLIRError(str(error)) from None
    return Session(options)


if __name__ == "__main__":
    sys.exit(main())
