"""Blocks with `T.if_then_else` and `if` inside: lanes load and store only where they may."""

from collections.abc import Callable

import numpy as np
import pytest
from guard_pages import GuardedPages
from kernel_classes import classify
from targets import DEFAULT, WIDTHS, with_threads

from relax_mlir import tir
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import tir as T\n\n"
# Threads, and a target whose vectors have no masks.
TARGETS = (DEFAULT, with_threads(3), WIDTHS[128])


def _kernel(body: str, n: str, m: str, shapes: str, dtype: str = "float32") -> str:
    """Return the text of a prim func: a block over `n` rows and `m` columns."""
    names = dict(each.split(":") for each in shapes.split())
    params = ", ".join(f"{name}: T.handle" for name in names)
    lines = [f"@T.prim_func\ndef main({params}):", "    n = T.int64()", "    m = T.int64()"]
    lines += [
        f'    {name} = T.match_buffer({name}, ({shape}), "{dtype}")'
        for name, shape in names.items()
    ]
    lines += [f"    for i, j in T.grid({n}, {m}):", '        with T.block("b"):']
    lines += ['            vi, vj = T.axis.remap("SS", [i, j])']
    lines += ["            " + line for line in body.splitlines()]
    return HEAD + "\n".join(lines) + "\n"


def _pad(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    return np.pad(x, ((1, 1), (2, 1)))


def _some(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    return np.where(x > 1, x + x, out)


CASES: dict[str, tuple[str, str, str, str, Callable[..., np.ndarray]]] = {
    "pad": (
        "Out[vi, vj] = T.if_then_else((vi >= 1) & (vi < n + 1) & (vj >= 2) & (vj < m + 2), "
        "A[vi - 1, vj - 2], ZERO)",
        "n + 2", "m + 3", "A:n,m Out:n+2,m+3", _pad,
    ),
    "triangle": (
        "Out[vi, vj] = T.if_then_else(vj <= vi, A[vi, vj], ZERO)",
        "n", "m", "A:n,m Out:n,m", lambda x, out: np.tril(x),
    ),
    "nested": (
        "Out[vi, vj] = T.if_then_else(vj < 3, A[vi, vj], "
        "T.if_then_else(vj < m - 2, A[vi, vj - 3] + A[vi, vj + 2], A[vi, 0]))",
        "n", "m", "A:n,m Out:n,m",
        lambda x, out: np.stack(
            [
                x[:, j] if j < 3 else x[:, j - 3] + x[:, j + 2] if j < x.shape[1] - 2 else x[:, 0]
                for j in range(x.shape[1])
            ],
            1,
        ) if x.shape[1] else x,
    ),
    "backwards": (
        "Out[vi, vj] = T.if_then_else(vj >= 5, A[vi, m + 4 - vj], ZERO)",
        "n", "m", "A:n,m Out:n,m",
        lambda x, out: np.concatenate([np.zeros_like(x[:, :5]), x[:, 5:][:, ::-1]], 1),
    ),
    "spread": (
        "Out[vi, vj] = T.if_then_else(vj * 2 < m, A[vi, vj * 2], ZERO)",
        "n", "m", "A:n,m Out:n,m",
        lambda x, out: np.concatenate([x[:, ::2], np.zeros_like(x[:, : x.shape[1] // 2])], 1),
    ),
    "row": (
        "Out[vi, vj] = T.if_then_else(vi >= 2, A[vi - 2, 0], A[vi, vj])",
        "n", "m", "A:n,m Out:n,m",
        lambda x, out: np.concatenate([x[:2], np.repeat(x[:-2, :1], x.shape[1], 1)]),
    ),
    "some": (
        "if A[vi, vj] > ONE:\n    Out[vi, vj] = A[vi, vj] + A[vi, vj]",
        "n", "m", "A:n,m Out:n,m", _some,
    ),
    "some_of_others": (
        "if vj < m - 1:\n    Out[vi, vj] = A[vi, vj + 1] + Out[vi, vj]",
        "n", "m", "A:n,m Out:n,m",
        lambda x, out: np.concatenate([out[:, :-1] + x[:, 1:], out[:, -1:]], 1),
    ),
}  # fmt: skip


def _source(name: str, dtype: str) -> str:
    body, n, m, shapes, _ = CASES[name]
    body = body.replace("ZERO", f"T.{dtype}(0)").replace("ONE", f"T.{dtype}(1)")
    return _kernel(body, n, m, shapes, dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_branches(name: str, target: str) -> None:
    *_, shapes, want = CASES[name]
    for dtype in ("float32", "int8") if target == DEFAULT else ("float32",):
        main = tir.build(from_source(_source(name, dtype)), target)["main"]
        for shape in ((1, 1), (3, 5), (2, 16), (4, 33), (5, 131), (3, 64), (0, 7), (3, 0)):
            x = (np.arange(np.prod(shape)) % 5).reshape(shape).astype(dtype)
            more = (2, 3) if "n+2" in shapes else (0, 0)
            out = np.full((shape[0] + more[0], shape[1] + more[1]), 9, dtype)
            expected = want(x, out.copy())
            for at_end in (False, True):
                given, result = GuardedPages(x, at_end), GuardedPages(out, at_end)
                main(given.array, result.array)
                np.testing.assert_array_equal(result.array, expected, f"{name} {shape}")


@pytest.mark.parametrize("name", CASES)
def test_branches_have_a_fast_path(name: str) -> None:
    module = from_source(_source(name, "float32")).mlir_module
    with module.context:
        (info,) = classify(module.body.operations[0])
    assert info.fast, info.reason


def test_branches_that_stay_loops() -> None:
    """What would compute something that the program does not, or twice, is left as it is."""
    bodies = {
        "divides": "Out[vi, vj] = T.if_then_else(A[vi, vj] > 0, T.floordiv(7, A[vi, vj]), 0)",
        "both": "if A[vi, vj] > 0:\n    Out[vi, vj] = 1\nelse:\n    Out[vi, vj] = 2",
        "looks_up": "Out[vi, vj] = T.if_then_else(A[vi, vj] > 0, A[vi, A[vi, 0]], 0)",
    }
    x = np.array([[1, 0, 3], [0, 2, 0]], "int32")
    want = {
        "divides": np.where(x > 0, 7 // np.maximum(x, 1), 0), "both": np.where(x > 0, 1, 2),
        "looks_up": np.where(x > 0, np.take_along_axis(x, x[:, :1], 1), 0),
    }  # fmt: skip
    for name, body in bodies.items():
        module = from_source(_kernel(body, "n", "m", "A:n,m Out:n,m", "int32"))
        with module.mlir_module.context:
            (info,) = classify(module.mlir_module.body.operations[0])
        assert not info.fast, name
        out = np.zeros_like(x)
        tir.build(module)["main"](x, out)
        np.testing.assert_array_equal(out, want[name], name)
