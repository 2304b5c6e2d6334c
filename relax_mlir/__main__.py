"""`python -m relax_mlir`: the version, the tools, the MLIR bindings and the target."""

import sys
from importlib.metadata import version

_TOOLS = {
    "relax-compile": "compile a program to an executable",
    "relax-opt": "run passes over MLIR or TVMScript",
    "relax-run": "run an executable",
    "relax-reduce": "reduce a program that shows a bug",
    "relax-lsp": "serve an editor: definitions, types, errors, completions",
}


def main() -> int:
    """Print what there is; return 1 for missing bindings or a wrong `RELAX_MLIR_TARGET`."""
    print(f"relax-mlir {version('relax-mlir')}")
    for name, summary in _TOOLS.items():
        print(f"  {name:<14}{summary}")
    from relax_mlir.errors import RelaxMLIRError

    try:
        from relax_mlir.dialects.bindings import PACKAGE

        print(f"MLIR bindings: {PACKAGE}")
        from relax_mlir.lowering.target.target import Target

        target = Target.default()
    except RelaxMLIRError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"target: {target} ({target.cpu}, vectors of {target.vector_bits} bits)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
