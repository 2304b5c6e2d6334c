"""Products by what groups of small numbers stand for, each group with a scale and a zero point."""

import numpy as np
import pytest
from targets import AVX2, DEFAULT, WIDTHS, skip_unless_runs, with_threads

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.ir.module import IRModule
from relax_mlir.script import relax as R

K, N = 640, 160
ROWS = (0, 1, 2, 3, 5, 8, 9, 40)


def emitted(
    bb: relax.BlockBuilder, form: str, numbers: list[np.ndarray], given: relax.Var | None
) -> relax.Var:
    """Write `(w - z) * s` for each group, `[K, N]`, from arrays of that kind, and return it."""
    w, z, s = numbers
    k, n = w.shape
    groups = len(s)
    scale = relax.const(s) if given is None else given

    def call(name, *args, **attrs):
        return bb.emit(getattr(relax.op, name)(*args, **attrs))

    if form == "divided":
        zeros, scales = (
            call("repeat", each, k // groups, axis=0) for each in (relax.const(z), scale)
        )
        wide = call("astype", relax.const(w), "float32")
        return call("multiply", call("subtract", wide, zeros), scales)
    if form == "rows":
        split, one, whole = (groups, k // groups, n), (groups, 1, n), (k, n)
    else:
        w, z = (np.ascontiguousarray(each.T) for each in (w, z))
        if given is None:
            scale = relax.const(np.ascontiguousarray(s.T))
        split, one, whole = (n, groups, k // groups), (n, groups, 1), (n, k)
    wide = call("astype", relax.const(w.reshape(split)), "float32")
    less = call("subtract", wide, relax.const(z.reshape(one)))
    made = call("reshape", call("multiply", less, call("reshape", scale, one)), whole)
    return made if form == "rows" else call("permute_dims", made)


def module_of(cases: dict[str, tuple]) -> tuple[IRModule, dict[str, np.ndarray]]:
    """Return a function for each case, `x @ matrix`, and the matrices."""
    bb, known = relax.BlockBuilder(), {}
    for name, (form, group, dtype, limits, shape, rows) in cases.items():
        k, n = shape
        rng = np.random.default_rng(group + n)
        w = rng.integers(*limits, shape).astype(dtype)
        w[0, 0], w[-1, -1] = limits[0], limits[1] - 1
        s = rng.random((k // group, n)).astype("float32") + np.float32(0.1)
        z = rng.integers(*limits, s.shape).astype("float32")
        length = tir.Var("m", "int64") if rows is None else rows
        x = relax.Var("x", R.Tensor((length, k), "float32"))
        given = None
        if name == "given":
            given = relax.Var("s", R.Tensor(s.shape, "float32"))
        if name == "given across":
            given = relax.Var("s", R.Tensor(s.T.shape, "float32"))
        name = name.replace(" ", "_")
        with bb.function(name, [x] if given is None else [x, given]):
            with bb.dataflow():
                y = bb.emit(relax.op.matmul(x, emitted(bb, form, [w, z, s], given)))
                y = bb.emit_output(relax.op.nn.relu(y))
            bb.emit_func_output(y)
        matrix = (w - np.repeat(z, group, 0).astype("f8")) * np.repeat(s, group, 0)
        known[name] = matrix, given is not None, s if "across" not in name else s.T, rows
    return bb.get(), known


S4, U4, S8 = (-8, 8), (0, 16), (-128, 128)
CASES = {
    "rows": ("rows", 128, "int8", S4, (K, N), None),
    "across": ("across", 32, "uint8", U4, (K, N), None),
    "divided": ("divided", 64, "int8", S4, (1280, N), None),
    "one": ("rows", 64, "uint8", U4, (K, N), 1),
    "bytes": ("across", 64, "int8", S8, (K, N), None),
    "odd": ("rows", 5, "int8", S4, (K, N), None),
    "given": ("rows", 128, "int8", S4, (K, N), None),
    "pairs": ("rows", 2, "int8", S4, (K, N), None),
    "whole": ("across", K, "int8", S4, (K, N), None),
    # Left to kernels of their own.
    "single": ("rows", 1, "int8", S4, (K, N), 3),
    "single divided": ("divided", 1, "int8", S4, (K, N), 3),
    "given across": ("across", 128, "int8", S4, (K, N), None),
    "ragged": ("rows", 64, "int8", S4, (K, 97), None),
}


def check(target: str, cases: dict[str, tuple]) -> None:
    module, known = module_of(cases)
    machine = relax.VirtualMachine(relax.build(module, target))
    for name, (matrix, takes, scales, known_rows) in known.items():
        for rows in ROWS if known_rows is None else (known_rows,):
            x = np.random.default_rng(rows).standard_normal((rows, len(matrix))).astype("float32")
            arguments = [x, np.ascontiguousarray(scales)] if takes else [x]
            got = np.asarray(machine[name](*arguments))
            want, size = np.maximum(x @ matrix, 0), abs(x.astype("f8")) @ abs(matrix)
            assert (abs(got - want) <= 2.0**-23 * (len(matrix) + 4) * size).all(), (name, rows)


def test_numbers() -> None:
    text = str(lower(module_of(CASES)[0], "PackWeights", target=AVX2).mlir_module)
    # Numbers of four bits lie two in a byte, unless a group has no halves.
    assert "tensor<5x320x32xui8>" in text
    assert "tensor<5x640x32xi8>" in text
    check(DEFAULT, CASES)


@pytest.mark.parametrize("target", [WIDTHS[256], with_threads(2)])
def test_other_targets(target: str) -> None:
    skip_unless_runs(target)
    check(target, {name: CASES[name] for name in ("rows", "bytes", "one")})
