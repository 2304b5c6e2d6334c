# RUN: %PYTHON %s %t | FileCheck %s
"""Whatever relax-opt is given, it says one line and returns 1: never a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
FOLDER.mkdir(exist_ok=True)
TOOL = [*shlex.split(os.environ["TEST_PYTHON"]), "-m", "relax_mlir.tools.relax_opt"]


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

# CHECK-LABEL: no name: 1 ''
# CHECK-NEXT: {{^}}error: cannot open input file '': No such file or directory
show("no name", "")

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
# CHECK-NEXT: {{^}}error: cannot write output file '{{.*}}out.mlir': No such file or directory
show("unwritable output", "-o", str(FOLDER / "none" / "out.mlir"), data=b"module {}")

# CHECK-LABEL: full disk: 1 ''
# CHECK-NEXT: {{^}}error: cannot write output file '/dev/full': No space left on device
show("full disk", "-o=/dev/full", data=b"module {}")

# CHECK-LABEL: unwritable folder: 1 ''
# CHECK-NEXT: {{^}}error: cannot make folder '/proc/none': No such file or directory
flags = ["--mlir-print-ir-after-all", "--mlir-print-ir-tree-dir=/proc/none"]
show("unwritable folder", "--cse", *flags, data=b"module {}")

# CHECK-LABEL: unwritable trace: 1 ''
# CHECK-NEXT: {{^}}error: '{{.*}}none/trace.json': No such file or directory
show("unwritable trace", "--cse", f"--time-trace={FOLDER}/none/trace.json", data=b"module {}")

# CHECK-LABEL: bytes in a symbol: 1 ''
# CHECK-NEXT: {{^}}<stdin>:2:1: error: (MLIR's message holds a name that is not UTF-8 text)
# CHECK-NEXT: func.func private @"\FF"()
show("bytes in a symbol", data=b'func.func private @"\\FF"()\n' * 2)

# CHECK-LABEL: bytes in an operation: 1 ''
# CHECK-NEXT: {{^}}<stdin>:1:1: error: (MLIR's message holds a name that is not UTF-8 text)
show("bytes in an operation", data=b'"relax.\\FF"() : () -> ()')

symbolic = b'func.func private @f(tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>)'
good = subprocess.run([*TOOL, "--emit-bytecode"], input=symbolic, capture_output=True).stdout
# What the position names is text inside the bytecode.
# CHECK-LABEL: bytes in a position: 1 ''
# CHECK-NEXT: #relax.dims<["n"]\xe4 affine_map{{.*}}:1:18: error: unexpected character
show("bytes in a position", data=good.replace(b'["n"],', b'["n"]\xe4'))

# CHECK-LABEL: bytes in a dialect: 1 ''
# CHECK-NEXT: {{.*}}error: (MLIR's message holds a name that is not UTF-8 text)
show("bytes in a dialect", data=good.replace(b"builtin", b"\xe2uiltin"))

# CHECK-LABEL: deep regions: 1 ''
# CHECK-NEXT: {{^}}<stdin>: error: MLIR's parser crashes on it: brackets are nested 20000 deep
show("deep regions", data=b"module {" * 20000 + b"}" * 20000)

# CHECK-LABEL: deep types: 1 ''
# CHECK-NEXT: {{^}}<stdin>: error: MLIR's parser crashes on it: brackets are nested 20001 deep
deep = b"(" * 20000 + b"i1" + b")->()" * 20000
show("deep types", data=b"func.func private @f(" + deep + b")")

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
