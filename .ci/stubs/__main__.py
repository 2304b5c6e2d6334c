"""Write the type stubs: `python .ci/stubs`; with `--check` only say which are not current."""

import argparse
import sys

from formatting import formatted


def main() -> int:
    """Return 1 when `--check` found a stub that is not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--bindings", action="store_true", help="those of the MLIR bindings")
    arguments = parser.parse_args()
    if arguments.bindings:
        # Alone: some of our modules put methods of their own in the place of the bindings'.
        import bindings

        raw = bindings.files()
    else:
        import languages
        import packages

        raw = packages.files() | languages.files()
    made = {path: formatted(text) for path, text in raw.items()}
    old = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in old:
        print(f"{path} is not current" if arguments.check else f"wrote {path}")
        if not arguments.check:
            path.write_text(made[path])
    return int(arguments.check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
