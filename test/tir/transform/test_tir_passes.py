"""Passes over prim funcs: each keeps what programs compute, and finds nothing to do twice."""

from typing import Any

import numpy as np
import pytest
from kernels import Guarded, close, values

from relax_mlir import tir, transform
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.registry import get_pass
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.transform.table import TIR_PASSES

NAMES = [spec.name for spec in TIR_PASSES.values()]
CONFIG = {
    "tir.UnrollLoop": {"auto_max_step": 16, "auto_max_extent": 3},
    "tir.LoopPartition": {"partition_const_loop": True},
    "tir.HoistIfThenElse": {"support_block_scope_hosting": True},
}


@I.ir_module
class Matmul:
    @T.prim_func
    def main(
        A: T.Buffer((13, 9), "float32"), B: T.Buffer((9, 21), "float32"),
        C: T.Buffer((13, 21), "float32"),
    ):  # fmt: skip
        for i0 in T.parallel(4):
            for i1, k0, k1 in T.grid(4, 3, 4):
                for j in T.vectorized(21):
                    with T.block("C"):
                        T.where(i0 * 4 + i1 < 13 and k0 * 4 + k1 < 9)
                        vi = T.axis.spatial(13, i0 * 4 + i1)
                        vj = T.axis.spatial(21, j)
                        vk = T.axis.reduce(9, k0 * 4 + k1)
                        with T.init():
                            C[vi, vj] = 0.0
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@I.ir_module
class Chain:
    """Several stages with intermediate buffers, conditions, quotients and a symbolic size."""

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 12), "float32")
        B = T.match_buffer(b, (n, 12), "float32")
        X = T.alloc_buffer((n, 12), "float32")
        Y = T.alloc_buffer((n, 12), "float32")
        for i in T.serial(n):
            for f in T.serial(12):
                with T.block("X"):
                    vi, vj = T.axis.remap("SS", [i, f])
                    X[vi, vj] = A[vi, (vj // 4) * 4 + vj % 4] * T.float32(2)
            for j0 in T.unroll(3):
                for j1 in T.vectorized(4):
                    if n > 3:
                        Y[i, j0 * 4 + j1] = X[i, T.min(j0 * 4 + j1, 11)]
                    else:
                        Y[i, j0 * 4 + j1] = X[i, 11 - j0 * 4 - j1] + T.float32(1)
        for i, f in T.grid(n, 12):
            if i < 0:
                B[i, f] = T.float32(7)
            B[i, f] = T.exp(Y[i, f]) + T.exp(Y[i, f])


def matmul_case() -> tuple[Any, list[np.ndarray], np.ndarray]:
    a, b = values((13, 9), "float32"), values((9, 21), "float32")
    return Matmul, [a, b], a @ b


def chain_case(n: int) -> tuple[Any, list[np.ndarray], np.ndarray]:
    a = values((n, 12), "float32")
    x = a * 2 if n > 3 else a[:, ::-1] * 2 + 1
    return Chain, [a], 2 * np.exp(x)


CASES = {
    "matmul": matmul_case,
    "chain": lambda: chain_case(5),
    "short chain": lambda: chain_case(2),
}


def run(mod: IRModule, inputs: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    arguments = [Guarded(value) for value in (*inputs, np.full(shape, np.nan, "float32"))]
    with transform.PassContext(config={"relax.compile_cache": False}):
        function = tir.build(mod)["main"]
    function(*(value.array for value in arguments))
    for value in arguments:
        value.check()
    return arguments[-1].array


@pytest.mark.parametrize("case", ["matmul", "chain"])
@pytest.mark.parametrize("name", NAMES)
def test_pass_keeps_results_and_is_idempotent(name: str, case: str) -> None:
    mod, inputs, want = CASES[case]()
    with transform.PassContext(config=CONFIG):
        once = get_pass(name)(mod)
        twice = get_pass(name)(once)
    assert str(twice) == str(once)
    close(run(once, inputs, want.shape), want)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("simple_mode", [False, True])
def test_lower(case: str, simple_mode: bool) -> None:
    mod, inputs, want = CASES[case]()
    lowered = tir.lower(mod, simple_mode=simple_mode)
    assert "tir.block" not in str(lowered)
    assert '"vectorized"' not in str(lowered)
    close(run(lowered, inputs, want.shape), want)


def test_lower_takes_modules_only() -> None:
    with pytest.raises(TypeError, match="expected a module, a function or a schedule, got int"):
        tir.lower(3)


def test_names_and_configs() -> None:
    assert tir.transform.UnrollLoop().info.name == "UnrollLoop"
    assert set(NAMES) <= set(dir(tir.transform))
    assert "tir.UnrollLoop" in transform.PassContext.list_configs()
    with pytest.raises(TypeError, match="no field 'auto_max_steps'; did you mean 'auto_max_step'"):
        transform.PassContext(config={"tir.UnrollLoop": {"auto_max_steps": 1}})
    with pytest.raises(TypeError, match="'auto_max_step' wants int, got str '16'"):
        transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": "16"}})
    with pytest.raises(AttributeError, match="has no attribute 'UnrollLoops'; did you mean"):
        _ = tir.transform.UnrollLoops


def test_pipeline_text_and_sequential() -> None:
    passes = transform.Sequential([tir.transform.LowerOpaqueBlock(), tir.transform.Simplify()])
    assert passes(Matmul).function_names == ["main"]
    assert "tir.block" not in str(passes(Matmul))


def test_functions_that_want_no_optimisation_stay() -> None:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        T.func_attr({"SkipOptimization": True})
        for i in T.unroll(4):
            A[i] = T.float32(1)

    assert str(tir.transform.UnrollLoop()(main)) == str(main.module)


def test_apply_and_filter() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def one(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(1)

        @T.prim_func
        def two(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(2)

    def named(func: Any) -> bool:
        return func.attributes["sym_name"].value == "two"

    def mark(func: Any) -> Any:
        func.attributes["tir.seen"] = func.attributes["sym_name"]
        return func

    assert tir.transform.Filter(named)(Module).function_names == ["two"]
    assert str(tir.transform.Apply(mark)(Module)).count("tir.seen") == 2
