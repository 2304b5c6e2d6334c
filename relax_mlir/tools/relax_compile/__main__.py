"""relax-compile: a program in MLIR or TVMScript to a saved executable, or native code."""

import sys
from collections.abc import Sequence

from relax_mlir.errors import BindingsError, RelaxMLIRError
from relax_mlir.tools.common import entry, loading
from relax_mlir.tools.common.streams import read
from relax_mlir.tools.relax_compile import flags


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    return entry.run(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    options = flags.parse(argv)
    loading.load(options["load"] or ())
    try:
        from relax_mlir.tools.common import listings
        from relax_mlir.tools.relax_compile.session import Session
    except BindingsError as error:
        raise RelaxMLIRError(str(error)) from None
    if options["version"]:
        print(listings.version("relax-compile"))
        return 0
    # The command line is judged before the input is read: a typo should not wait for stdin.
    session = Session(options)
    if options["list-stages"]:
        print(session.list_stages())
        return 0
    return session.process(read(options.file))


if __name__ == "__main__":
    sys.exit(main())
