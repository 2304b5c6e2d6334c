"""Prim funcs built, compiled and called in tests, with canaries around every array."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from targets import skip_unless_runs

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.lowering.codegen.native import compile_module
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_for
from relax_mlir.runtime.native.loader import load_objects
from relax_mlir.runtime.program import NativeObject

Size = int | str
CANARY = 0xA5


def sizes(dims: Sequence[Size]) -> list[Any]:
    return [SymExpr.var(dim) if isinstance(dim, str) else dim for dim in dims]


def build(
    functions: Sequence[Callable[[], None]],
    target: str | None = None,
    threads: int = 1,
    **fields: Any,
) -> dict[str, Any]:
    """Build, lower, compile and load prim funcs.

    Args:
        functions: each builds one.
        target: what for, by default the current target; where this machine cannot run its code,
            the test is skipped.
        threads: most threads of a kernel.
        fields: of the machine, where it is to differ from the target's.
    """
    if target is not None:
        skip_unless_runs(target)
    chosen = Target(target or Target.default()).with_threads(threads)
    if "dot_products" in fields:
        fields["dot_products"] = tuple(filter(None, fields["dot_products"].split(",")))
    machine = replace(Machine.of(chosen), **fields)
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for function in functions:
                function()
        lower_for(module.operation, machine)
        assert module.operation.verify()
        assert '"tir.' not in str(module).replace('"tir.assert"', "")
        code = compile_module(module, chosen)
    return load_objects(
        [NativeObject("test", code.object, code.symbols, is_parallel=code.is_parallel)]
    )


class Guarded:
    """An array of exactly its size between canaries, and off every alignment but its element's."""

    def __init__(self, values: np.ndarray) -> None:
        values = np.array(values, order="C")
        self._raw = np.full(values.nbytes + 256, CANARY, np.uint8)
        self._start = (-self._raw.ctypes.data) % 64 + 64 + values.itemsize
        self._end = self._start + values.nbytes
        self.array = self._raw[self._start : self._end].view(values.dtype).reshape(values.shape)
        self.array[...] = values

    def check(self) -> None:
        assert (self._raw[: self._start] == CANARY).all()
        assert (self._raw[self._end :] == CANARY).all()


def run(
    function: Any, inputs: Sequence[np.ndarray], shape: Sequence[int], dtype: str
) -> np.ndarray:
    """Call a kernel between canaries; what it does not write is garbage."""
    garbage = np.full(shape, np.nan if "float" in dtype else 77, dtype)
    arguments = [Guarded(value) for value in (*inputs, garbage)]
    function(*(value.array for value in arguments))
    for value in arguments:
        value.check()
    for value, before in zip(arguments, inputs, strict=False):
        # By their bits: a NaN of bfloat16 is not equal to itself in numpy's eyes.
        assert value.array.tobytes() == before.tobytes()
    return arguments[-1].array


def values(shape: Sequence[int], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(abs(hash((tuple(shape), len(dtype)))) % 1000)
    if "float" in dtype:
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 50, shape).astype(dtype)


def close(got: np.ndarray, want: np.ndarray) -> None:
    tolerance = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-10}.get(str(got.dtype), 0)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def contraction(
    name: str, spec: str, dims: dict[str, Size], dtypes: Sequence[str] = ("float32", "float32"),
    init: float | None = 0,
) -> Callable[[], None]:  # fmt: skip
    """Return a builder of `numpy.einsum(spec)`; dtypes of operands, one or two, and of sums."""

    def function() -> None:
        inputs, out = spec.split("->")
        left, right = inputs.split(",")
        shape = {letter: sizes([dim])[0] for letter, dim in dims.items()}
        decls = [
            BufferDecl(buffer, [shape[letter] for letter in letters], dtype)
            for buffer, letters, dtype in (
                ("A", left, dtypes[0]), ("B", right, dtypes[-2]), ("C", out, dtypes[-1]),
            )
        ]  # fmt: skip
        letters = [*out, *(x for x in dict.fromkeys(left + right) if x not in out)]
        axes = [("spatial" if x in out else "reduction", shape[x]) for x in letters]
        builder = PrimFuncBuilder(name, decls)
        with builder.body():
            a, b, c = builder.buffers
            with builder.nest("contract", axes) as block:
                at = dict(zip(letters, block, strict=True))
                here = tuple(at[x] for x in out)
                if init is not None:
                    with block.init() as first:
                        start = dict(zip(letters, first, strict=True))
                        c.store(init, tuple(start[x] for x in out))
                x = cast(a[tuple(at[i] for i in left)], dtypes[-1])
                y = cast(b[tuple(at[i] for i in right)], dtypes[-1])
                c.store(c[here] + x * y, here)

    return function
