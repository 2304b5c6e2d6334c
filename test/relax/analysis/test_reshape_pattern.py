"""relax.analysis.has_reshape_pattern: prim funcs that keep the order of the elements."""

from mutation import HEAD

from relax_mlir.relax import analysis
from relax_mlir.script import from_source

RESHAPES = """
    @T.prim_func(private=True)
    def flatten(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n * 4",), "float32")):
        n = T.int64()
        for i in range(n * 4):
            with T.block("b"):
                vi = T.axis.spatial(n * 4, i)
                B[vi] = A[vi // 4, vi % 4]

    @T.prim_func(private=True)
    def transpose(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @T.prim_func(private=True)
    def double(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]

    @T.prim_func(private=True)
    def dynamic(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (1, n, 4096), "float32")
        B = T.match_buffer(b, (1, n, 32, 128), "float32")
        for i, j, k, l in T.grid(1, n, 32, 128):
            with T.block("b"):
                vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, k, l])
                B[vi, vj, vk, vl] = A[
                    0, ((vk * 128 + vl) // 4096 + vi * n + vj) % n, (vk * 128 + vl) % 4096]

    @T.prim_func(private=True)
    def rotated(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[(vi + 1) % n]

    @T.prim_func(private=True)
    def ragged(A: T.Buffer((8, 6), "float32"), starts: T.Buffer((3,), "int64"),
               B: T.Buffer((8, 2, 3), "float32")):
        for i in range(2):
            with T.block("outer"):
                vi = T.axis.spatial(2, i)
                for j, k, l in T.grid(starts[vi + 1] - starts[vi], 2, 3):
                    with T.block("inner"):
                        vj, vk, vl = T.axis.remap("SSS", [j, k, l])
                        B[starts[vi] + vj, vk, vl] = A[starts[vi] + vj, vk * 3 + vl]
"""


def test_has_reshape_pattern():
    mod = from_source(HEAD + RESHAPES)
    found = {name for name in mod if analysis.has_reshape_pattern(mod[name])}
    assert found == {"flatten", "dynamic", "ragged"}
