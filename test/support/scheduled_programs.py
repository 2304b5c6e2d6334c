"""Prim funcs that schedules are tried on, each with its arrays and what numpy makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import tir as T\n\n@T.prim_func\n"


@dataclass
class Program:
    """A prim func: inputs first, the output last.

    `sizes` are what the symbols of its parameters are bound to when it runs.
    """

    name: str
    text: str
    shapes: Sequence[tuple[int, ...]]
    want: Callable[..., np.ndarray]

    @property
    def module(self) -> IRModule:
        return from_source(HEAD + self.text)

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(len(self.name))
        return [rng.standard_normal(shape).astype("float32") for shape in self.shapes[:-1]]


ELEMENTWISE = Program(
    "elementwise",
    """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for i, j in T.grid(12, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    [(12, 10), (12, 10)],
    lambda a: a * 2 + 1,
)
DYNAMIC = Program(
    "dynamic",
    """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] * 2.0
""",
    [(7, 5), (5, 7)],
    lambda a: a.T * 2,
)
MATMUL = Program(
    "matmul",
    """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"),
             C: T.Buffer((6, 10), "float32")):
    for i, j, k in T.grid(6, 10, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    [(6, 8), (8, 10), (6, 10)],
    lambda a, b: a @ b,
)
DYNAMIC_MATMUL = Program(
    "dynamic_matmul",
    """def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, 6), "float32")
    B = T.match_buffer(b, (6, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, k in T.grid(n, m, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    [(5, 6), (6, 9), (5, 9)],
    lambda a, b: a @ b,
)
ROW_SUM = Program(
    "row_sum",
    """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
""",
    [(5, 11), (5,)],
    lambda a: a.sum(1),
)
CONVOLUTION = Program(
    "convolution",
    """def main(A: T.Buffer((3, 10), "float32"), W: T.Buffer((4, 3, 3), "float32"),
             C: T.Buffer((4, 8), "float32")):
    for o, x, c, r in T.grid(4, 8, 3, 3):
        with T.block("C"):
            vo, vx, vc, vr = T.axis.remap("SSRR", [o, x, c, r])
            with T.init():
                C[vo, vx] = 0.0
            C[vo, vx] = C[vo, vx] + A[vc, vx + vr] * W[vo, vc, vr]
""",
    [(3, 10), (4, 3, 3), (4, 8)],
    lambda a, w: np.stack([np.einsum("cr,ocr->o", a[:, x : x + 3], w) for x in range(8)], 1),
)
CHAIN = Program(
    "chain",
    """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    B = T.alloc_buffer((8, 9), "float32")
    C = T.alloc_buffer((8, 9), "float32")
    for i, j in T.grid(8, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + A[vi, vj]
    for i, j in T.grid(8, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * B[vi, vj]
""",
    [(8, 9), (8, 9)],
    lambda a: (a * 2 + a) * (a * 2),
)
MATMUL_RELU = Program(
    "matmul_relu",
    """def main(a: T.handle, b: T.handle, d: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8, 6), "float32")
    D = T.match_buffer(d, (n, 6), "float32")
    C = T.alloc_buffer((n, 6), "float32")
    for i, j, k in T.grid(n, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(n, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)
""",
    [(7, 8), (8, 6), (7, 6)],
    lambda a, b: np.maximum(a @ b, 0),
)
SOFTMAX = Program(
    "softmax",
    """def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 12), "float32")
    B = T.match_buffer(b, (n, 12), "float32")
    most = T.alloc_buffer((n,), "float32")
    power = T.alloc_buffer((n, 12), "float32")
    total = T.alloc_buffer((n,), "float32")
    for i, k in T.grid(n, 12):
        with T.block("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                most[vi] = T.float32(-1000)
            most[vi] = T.max(most[vi], A[vi, vk])
    for i, j in T.grid(n, 12):
        with T.block("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(A[vi, vj] - most[vi])
    for i, k in T.grid(n, 12):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = 0.0
            total[vi] = total[vi] + power[vi, vk]
    for i, j in T.grid(n, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = power[vi, vj] / total[vi]
""",
    [(5, 12), (5, 12)],
    lambda a: (
        np.exp(a - a.max(1, keepdims=True))
        / np.exp(a - a.max(1, keepdims=True)).sum(1, keepdims=True)
    ),
)
WINDOW = Program(
    "window",
    """def main(A: T.Buffer((14,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((14,), "float32")
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * 3.0
    for i, k in T.grid(12, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(-1000)
            C[vi] = T.max(C[vi], B[vi + vk])
""",
    [(14,), (12,)],
    lambda a: np.max(np.lib.stride_tricks.sliding_window_view(a * 3, 3), axis=1),
)
BIAS = Program(
    "bias",
    """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 6), "float32"),
             bias: T.Buffer((6,), "float32"), D: T.Buffer((6, 6), "float32")):
    C = T.alloc_buffer((6, 6), "float32")
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(6, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]
""",
    [(6, 8), (8, 6), (6,), (6, 6)],
    lambda a, b, bias: a @ b + bias,
)
STENCIL = Program(
    "stencil",
    """def main(A: T.Buffer((12, 9), "float32"), C: T.Buffer((8, 7), "float32")):
    P = T.alloc_buffer((14, 9), "float32")
    B = T.alloc_buffer((10, 9), "float32")
    for i, j in T.grid(14, 9):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < 13, A[vi - 1, vj], T.float32(0))
    for i, j, k in T.grid(10, 9, 5):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = 0.0
            B[vi, vj] = B[vi, vj] + P[vi + vk, vj]
    for i, j, r, s in T.grid(8, 7, 3, 3):
        with T.block("C"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = T.float32(-1000)
            C[vi, vj] = T.max(C[vi, vj], B[vi + vr, vj + vs])
""",
    [(12, 9), (8, 7)],
    lambda a: _largest(_sums(np.pad(a, ((1, 1), (0, 0))))),
)
NEAREST = Program(
    "nearest",
    """def main(A: T.Buffer((5, 7), "float32"), B: T.Buffer((9, 12), "float32")):
    for i, j in T.grid(9, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 5 // 9, vj * 7 // 12] + A[vi * 5 // 9, vj * 7 // 12 % 3]
""",
    [(5, 7), (9, 12)],
    lambda a: _nearest(a, np.arange(9) * 5 // 9, np.arange(12) * 7 // 12),
)


def _sums(a: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(a, 5, axis=0).sum(-1)


def _largest(a: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(a, (3, 3)).max((-1, -2))


def _nearest(a: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return a[np.ix_(rows, columns)] + a[np.ix_(rows, columns % 3)]


PROGRAMS = [
    ELEMENTWISE, DYNAMIC, MATMUL, DYNAMIC_MATMUL, ROW_SUM, CONVOLUTION, CHAIN, MATMUL_RELU, SOFTMAX,
    WINDOW, BIAS, STENCIL, NEAREST,
]  # fmt: skip


def matmul(m, n, k, dynamic=False):
    sizes = ("m", "n", "k") if dynamic else (m, n, k)
    names = "".join(f"    {each} = T.int64()\n" for each in sizes if dynamic)
    text = f"""def main(a: T.handle, b: T.handle, c: T.handle):
{names}    A = T.match_buffer(a, ({sizes[0]}, {sizes[2]}), "float32")
    B = T.match_buffer(b, ({sizes[2]}, {sizes[1]}), "float32")
    C = T.match_buffer(c, ({sizes[0]}, {sizes[1]}), "float32")
    for i, j, k in T.grid({sizes[0]}, {sizes[1]}, {sizes[2]}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    return Program("matmul", text, [(m, k), (k, n), (m, n)], lambda a, b: a @ b)


def tiled(sch, block, factors):
    pairs = [
        sch.split(loop, [None, f]) for loop, f in zip(sch.get_loops(block), factors, strict=True)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
