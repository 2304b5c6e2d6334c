# RUN: %PYTHON %s | FileCheck %s
"""LLVM looks for better addresses in main tiles of unknown products, not at edges of rows."""

import re

from relax_mlir import transform
from relax_mlir.script import from_source

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"

SOURCE = """
@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, l in T.grid(n, m, k):
        with T.block("product"):
            vi, vj, vl = T.axis.remap("SSR", [i, j, l])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]
"""


def tiles(text: str) -> list[tuple[int, str]]:
    """Return the FMAs of each loop of a tile, and its loop hints."""
    hints = dict(re.findall(r"^(#loop_annotation\d*) = (.*)$", text, re.M))
    found: list[tuple[int, str]] = []
    counts: list[int] = []
    for line in text.splitlines():
        if line.strip().startswith("}") and counts:
            count, given = counts.pop(), re.search(r"#loop_annotation\d*", line)
            if count > 1 and given:
                found.append((count, hints[given[0]]))
        if line.endswith("{"):
            counts.append(0)
        elif counts and ("vector.fma" in line or "math.fma" in line):
            counts[-1] += 1
    return found


# Nine rows of one vector where there are no more columns, which has half the work of two; else of
# three vectors in two steps, or of fewer at the last columns.
# CHECK: {{^}}9 {{.*}}unroll = #loop_unroll
# CHECK: 54 {{.*}}unroll = #loop_unroll
# CHECK: {{^}}18 {{.*}}unroll = #loop_unroll
# Eight rows and three, where rows end.
# CHECK: 24 #llvm.loop_annotation<disableNonforced = true>
# CHECK: 16 #llvm.loop_annotation<disableNonforced = true>
# CHECK: {{^}}9 #llvm.loop_annotation<disableNonforced = true>
# CHECK: {{^}}6 #llvm.loop_annotation<disableNonforced = true>
# CHECK-NOT: unroll = #loop_unroll
for count, hint in tiles(str(transform.LowerTIR(TARGET)(from_source(SOURCE)))):
    print(count, hint)
