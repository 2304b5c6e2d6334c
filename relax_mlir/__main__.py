"""`python -m relax_mlir`: the version, the tools, and the MLIR bindings that were found."""

import sys
from importlib.metadata import version

_TOOLS = {
    "relax-compile": "compile a program to an executable",
    "relax-opt": "run passes over MLIR or TVMScript",
    "relax-run": "run an executable",
    "relax-reduce": "reduce a program that shows a bug",
}


def main() -> int:
    """Print what there is; return 1 where the MLIR bindings are missing."""
    print(f"relax-mlir {version('relax-mlir')}")
    for name, summary in _TOOLS.items():
        print(f"  {name:<14}{summary}")
    from relax_mlir.errors import BindingsError

    try:
        from relax_mlir.dialects.bindings import PACKAGE
    except BindingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"MLIR bindings: {PACKAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
