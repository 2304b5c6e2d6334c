"""Functions of te tensors, run through `emit_te` and a build, beside what numpy gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir import relax, tir
from relax_mlir.script import relax as R


@dataclass
class Case:
    """A te function, arrays to call it with, and what it must give.

    `dims` says which dimensions are symbolic: for each array a string of names, `_` for a number.
    """

    name: str
    function: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    want: Any
    dims: Sequence[str] = ()
    rtol: float = 1e-5


def random(*shape: int, dtype: str = "float32", low: float = -2, high: float = 2) -> np.ndarray:
    """Return numbers that are the same each time."""
    rng = np.random.default_rng(sum(shape) + len(shape))
    if "int" in dtype:
        return rng.integers(int(low), int(high), shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def build(cases: Sequence[Case], symbolic: bool) -> relax.VirtualMachine:
    """Build one module with a function for each case."""
    bb = relax.BlockBuilder()
    for case in cases:
        params = []
        for index, array in enumerate(case.inputs):
            marks = case.dims[index] if symbolic else "_" * array.ndim
            dims = [
                size if mark == "_" else tir.Var(mark)
                for size, mark in zip(array.shape, marks, strict=True)
            ]
            params.append(relax.Var(f"x{index}", R.Tensor(tuple(dims), str(array.dtype))))
        with bb.function(case.name, params):
            out = bb.emit_te(case.function, *params, primfunc_name_hint=f"te_{case.name}")
            bb.emit_func_output(out)
    return relax.VirtualMachine(relax.build(bb.get()))


def check(cases: Sequence[Case]) -> None:
    """Run every case with static shapes, and those that name dimensions with symbolic ones."""
    for symbolic in (False, True):
        chosen = [case for case in cases if case.dims or not symbolic]
        if not chosen:
            continue
        vm = build(chosen, symbolic)
        for case in chosen:
            got = vm[case.name](*case.inputs)
            many = isinstance(case.want, (list, tuple))
            for mine, want in zip(
                got if many else [got], case.want if many else [case.want], strict=True
            ):
                said = f"{case.name}, symbolic={symbolic}"
                want = np.asarray(want)
                assert mine.dtype == want.dtype, f"{said}: {mine.dtype}, not {want.dtype}"
                assert mine.shape == want.shape, f"{said}: {mine.shape}, not {want.shape}"
                np.testing.assert_allclose(mine, want, rtol=case.rtol, atol=case.rtol, err_msg=said)
