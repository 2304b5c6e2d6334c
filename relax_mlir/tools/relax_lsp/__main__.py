"""relax-lsp: answers an editor on standard input and output."""

import sys
from collections.abc import Sequence

from relax_mlir.errors import RelaxMLIRError
from relax_mlir.tools.common import entry
from relax_mlir.tools.common.arguments import Parser


def main(argv: list[str] | None = None) -> int:
    """Run the server until the editor ends it; return the exit code."""
    return entry.run(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    parser = Parser(
        "relax-lsp", "Serve an editor: definitions, uses, types, errors and completions."
    )
    parser.add_argument("--stdio", action="store_true", help="the default, which editors name")
    parser.parse_args(argv)
    try:
        from relax_mlir.tools.relax_lsp.server import SERVER
    except ImportError as error:
        raise RelaxMLIRError(
            f"relax-lsp needs {error.name}: pip install 'relax-mlir[lsp]'"
        ) from error
    SERVER.start_io()
    return 0


if __name__ == "__main__":
    sys.exit(main())
