"""Copies ONNX Runtime and OpenVINO so that they find no AVX-512 on a machine that has it.

    python benchmarks/peers/hold_to_avx2.py SITE_PACKAGES FOLDER

ONNX Runtime has no switch for it, and OpenVINO's products in float32 heed none. Both ask the
system for the registers that it saves, by `xgetbv`; in the copies' libraries that is `mov al, 7`:
those of AVX. With FOLDER first in PYTHONPATH the copies are imported. objdump finds the places.
"""

import argparse
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PACKAGES = ("onnxruntime", "openvino")
_ASKS, _KNOWS = b"\x0f\x01\xd0", b"\xb0\x07\x90"


def _places(library: Path) -> Iterator[int]:
    """Yield where in a file instructions `xgetbv` are."""
    shown = subprocess.run(
        ["objdump", "--disassemble", "--file-offsets", "--wide", library],
        capture_output=True, text=True, errors="replace", check=True,
    ).stdout  # fmt: skip
    apart = 0
    for line in shown.splitlines():
        # Before the code of a symbol its address is said, and its offset in the file.
        if begin := re.match(r"([0-9a-f]+) <.*> \(File Offset: 0x([0-9a-f]+)\):", line):
            apart = int(begin[1], 16) - int(begin[2], 16)
        elif found := re.match(r"\s*([0-9a-f]+):\t0f 01 d0\s", line):
            yield int(found[1], 16) - apart


def main() -> None:
    """Copy the packages and change the copies' libraries."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site_packages", type=Path, help="where the packages are")
    parser.add_argument("folder", type=Path, help="where their copies go")
    given = parser.parse_args()
    for package in _PACKAGES:
        copy = given.folder / package
        shutil.copytree(given.site_packages / package, copy, dirs_exist_ok=True)
        for library in sorted(copy.rglob("*.so*")):
            if _ASKS not in (code := bytearray(library.read_bytes())):
                continue
            places = [*_places(library)]
            for place in places:
                assert code[place : place + 3] == _ASKS, (library, place)
                code[place : place + 3] = _KNOWS
            library.write_bytes(code)
            print(f"{library}: {len(places)} changed")


if __name__ == "__main__":
    main()
