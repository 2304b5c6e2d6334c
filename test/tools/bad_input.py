# RUN: %PYTHON %s %t | FileCheck %s
"""Whatever relax-opt is given, it says one line and returns 1: never a traceback."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
FOLDER.mkdir(exist_ok=True)
TOOL = [sys.executable, "-m", "relax_mlir.tools.relax_opt"]


def show(what: str, *flags: str, data: bytes = b"") -> None:
    """Run the tool and print how it ended."""
    run = subprocess.run([*TOOL, *flags], input=data, capture_output=True)
    print(f"{what}: {run.returncode} {run.stdout.decode()!r}")
    print(run.stderr.decode())
    assert b"Traceback" not in run.stderr


def write(name: str, data: bytes) -> str:
    """Write a file and return its path."""
    (FOLDER / name).write_bytes(data)
    return str(FOLDER / name)


# CHECK-LABEL: missing file: 1 ''
# CHECK-NEXT: {{^}}error: cannot open input file 'no_such_file.mlir': No such file or directory
show("missing file", "no_such_file.mlir")

# CHECK-LABEL: folder: 1 ''
# CHECK-NEXT: {{^}}error: cannot open input file '{{.*}}': Is a directory
show("folder", str(FOLDER))

# CHECK-LABEL: null in name: 1 ''
# CHECK-NEXT: {{^}}error: cannot open input file
show("null in name", "")

# CHECK-LABEL: garbage: 1 ''
# CHECK-NEXT: garbage.mlir:1:5: error: neither MLIR bytecode nor UTF-8 text
show("garbage", write("garbage.mlir", b"\x7fELF\xff\x00\x01" + bytes(range(256)) * 8))

# CHECK-LABEL: latin 1: 1 ''
# CHECK-NEXT: latin.mlir:2:4: error: neither MLIR bytecode nor UTF-8 text
show("latin 1", write("latin.mlir", b"module {\n// \xe9t\xe9\n}"))

# CHECK-LABEL: from stdin: 1 ''
# CHECK-NEXT: {{^}}<stdin>:1:1: error: neither MLIR bytecode nor UTF-8 text
show("from stdin", data=b"\xff\xfe\x00\x01")

# CHECK-LABEL: bytecode of the future: 1 ''
# CHECK-NEXT: {{.*}}error: bytecode version 48 is newer
show("bytecode of the future", data=b"ML\xefRabc")

# CHECK-LABEL: unwritable output: 1 ''
# CHECK-NEXT: {{^}}error: {{.*}}No such file or directory
show("unwritable output", "-o", str(FOLDER / "none" / "out.mlir"), data=b"module {}")

# CHECK-LABEL: broken pipe: 1 b''
closed = subprocess.Popen([*TOOL, "--list-passes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
closed.stdout.close()
error = closed.stderr.read()
print(f"broken pipe: {closed.wait()} {error!r}")

# CHECK-LABEL: truncated bytecode: True
source = write("good.mlir", b"func.func @f(%x: f32) -> f32 { return %x : f32 }")
good = subprocess.run([*TOOL, "--emit-bytecode", source], capture_output=True).stdout
ended = set()
for size in range(4, len(good), len(good) // 12):
    run = subprocess.run([*TOOL], input=good[:size], capture_output=True)
    ended.add(run.returncode)
    assert run.stderr.startswith((b"error: ", b"<stdin>")), (size, run.stderr)
print(f"truncated bytecode: {ended == {1}}")
