"""Writes the dialects as the `.irdl.mlir` files that are shipped, or checks those."""

import argparse
import sys
from pathlib import Path

from relax_mlir.errors import RelaxMLIRError


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 1 for an error or files that `--check` finds stale."""
    parser = argparse.ArgumentParser(prog="relax-irdl", description=__doc__)
    parser.add_argument("-o", metavar="DIR", type=Path, help="folder (default: the shipped files')")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    options = parser.parse_args(argv)
    try:
        from relax_mlir.dialects import irdl

        folder = options.o or Path(irdl.__file__).parent
        return (
            _check(folder, irdl.irdl_files())
            if options.check
            else _write(folder, irdl.irdl_files())
        )
    except (RelaxMLIRError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _write(folder: Path, files: dict[str, str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
        print(folder / name)
    return 0


def _check(folder: Path, files: dict[str, str]) -> int:
    stale = [n for n, text in files.items() if not _same(folder / n, text)]
    for name in stale:
        print(f"error: {folder / name} is not what the dialects say now", file=sys.stderr)
    return int(bool(stale))


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
