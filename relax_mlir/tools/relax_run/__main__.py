"""relax-run: runs a compiled model or a program and reports its speed."""

import importlib.metadata
import sys
from collections.abc import Sequence

from relax_mlir.tools.common import entry, loading
from relax_mlir.tools.relax_run import flags


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    return entry.run(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    options = flags.parse(argv)
    if options["version"]:
        print(f"relax-run {importlib.metadata.version('relax-mlir')}")
        return 0
    loading.load(options["load"] or ())
    # Here, so that a wrong command line is reported at once.
    from relax_mlir.tools.relax_run.session import Session

    return Session(options).process()


if __name__ == "__main__":
    sys.exit(main())
