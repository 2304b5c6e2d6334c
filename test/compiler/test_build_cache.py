"""A build that was made before comes from the cache on disk, whole."""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scripts import SOFTMAX_OF_PRODUCT

from relax_mlir import relax, script
from relax_mlir.compiler import pipeline
from relax_mlir.instrument import PassInstrument
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.op import register_op_attr, reset_op_attr
from relax_mlir.ir.shape_rules import ATTRIBUTES
from relax_mlir.lowering.codegen.compile_cache import CompileCache
from relax_mlir.lowering.tir_to_vector.describe import silence_warnings
from relax_mlir.transform import PassContext

SMALL = """
@I.ir_module
class Program:
    @R.function
    def {name}(x: R.Tensor(({size}, 8), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""
SLOW = """
@I.ir_module
class Program:
    @T.prim_func
    def logistic(A: T.Buffer((1000,), "float32")):
        for i in range(999):
            with T.block("chaos"):
                vi = T.axis.opaque(999, i)
                A[vi + 1] = T.float32(3.9) * A[vi] * (T.float32(1) - A[vi])
"""


def small(name: str = "main", size: object = 7) -> IRModule:
    return script.from_source(SMALL.format(name=name, size=size))


def scaled(weights: np.ndarray) -> IRModule:
    """Return a function that multiplies by constants."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(weights.shape, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            result = bb.emit_output(relax.op.multiply(x, relax.const(weights)))
        bb.emit_func_output(result)
    return bb.get()


@pytest.fixture(autouse=True)
def no_rules() -> Iterator[None]:
    """Without what other tests attached to operators: nothing is cached where there are rules."""
    with patch.dict(ATTRIBUTES, clear=True):
        yield


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[IRModule]:
    """Modules that were really built since, in a folder of the test's own."""
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path))
    made: list[IRModule] = []
    build = pipeline._built

    def counted(mod: IRModule, *rest: Any) -> relax.Executable:
        made.append(mod)
        return build(mod, *rest)

    monkeypatch.setattr(pipeline, "_built", counted)
    return made


def test_a_second_build_takes_a_tenth_of_the_time(tmp_path: Path) -> None:
    x, w = np.ones((3, 8), "f4"), np.arange(40, dtype="f4").reshape(8, 5)
    seconds, results, files = [], [], []
    with PassContext(config={"relax.compile_cache": tmp_path}):
        for _ in range(2):
            module = script.from_source(SOFTMAX_OF_PRODUCT)
            start = time.process_time()
            executable = relax.build(module)
            seconds.append(time.process_time() - start)
            results.append(relax.VirtualMachine(executable)["main"](x, w))
            files.append(executable.to_bytes())
    np.testing.assert_array_equal(*results)
    assert files[0] == files[1]
    assert seconds[1] <= 0.1 * seconds[0]


def test_equal_programs_are_built_once(builds: list[IRModule]) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((5, 9)).astype("f4")
    for _ in range(2):
        executable = relax.build(scaled(weights.copy()))
        result = relax.VirtualMachine(executable)["main"](weights)
        np.testing.assert_array_equal(result, weights * weights)
    assert len(builds) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda: relax.build(small(name="other")),
        lambda: relax.build(small(size=8)),
        lambda: relax.build(small(size='"n"')),
        lambda: relax.build(small(), "llvm -mtriple=riscv64-unknown-linux-gnu"),
        lambda: relax.build(small(), "llvm -num-threads=3"),
        lambda: relax.build(small(), "llvm -O1"),
    ],
    ids=["name", "size", "symbol", "cpu", "threads", "level"],
)
def test_what_differs_is_built(builds: list[IRModule], other: Callable[[], object]) -> None:
    relax.build(small())
    other()
    assert len(builds) == 2


def test_levels_and_options_make_a_difference(builds: list[IRModule]) -> None:
    contexts = [
        PassContext(),
        PassContext(0),
        PassContext(config={"relax.FuseOps.max_depth": 3}),
        PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}),
    ]
    for _ in range(2):
        for context in contexts:
            with context:
                relax.build(small())
    assert len(builds) == len(contexts)


def test_constants_make_a_difference(builds: list[IRModule]) -> None:
    weights = np.arange(45, dtype="f4").reshape(5, 9)
    for change in range(3):
        changed = weights.copy()
        changed[-1, -1] += change
        result = relax.VirtualMachine(relax.build(scaled(changed)))["main"](np.ones_like(weights))
        np.testing.assert_array_equal(result, changed)
    relax.build(scaled(weights.reshape(9, 5)))
    relax.build(scaled(-weights))
    assert len(builds) == 5


def test_who_looks_at_passes_has_them_run(builds: list[IRModule]) -> None:
    class Counter(PassInstrument):
        seen = 0

        def run_before_pass(self, mod: Any, info: Any) -> None:
            self.seen += 1

    relax.build(small())
    counter = Counter()
    with PassContext(instruments=[counter]):
        relax.build(small())
    assert counter.seen
    log = relax.BuildLog()
    relax.build(small(), log=log)
    assert "LegalizeOps" in [stage.name for stage in log.stages]
    with PassContext(disabled_pass=["FuseKernels"]):
        relax.build(small())
    relax.build(
        small(), relax_pipeline=[n for n in pipeline.DEFAULT_PIPELINE if n != "FuseAttention"]
    )
    assert len(builds) == 5
    relax.build(small(), relax_pipeline=list(pipeline.DEFAULT_PIPELINE))
    assert len(builds) == 5


def test_rules_of_ones_own_are_followed(builds: list[IRModule]) -> None:
    relax.build(small())
    register_op_attr("relax.exp", "FOther", 1)
    try:
        relax.build(small())
        relax.build(small())
    finally:
        reset_op_attr("relax.exp", "FOther")
    assert len(builds) == 3
    relax.build(small())
    assert len(builds) == 3


def test_kernels_without_a_fast_path_are_reported_again(
    builds: list[IRModule], caplog: pytest.LogCaptureFixture
) -> None:
    with silence_warnings():  # what would be reported is not known
        relax.build(script.from_source(SLOW))
    lines = []
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
            relax.build(script.from_source(SLOW))
        lines.append(caplog.messages)
    assert len(builds) == 2
    assert lines[0] == lines[1]
    assert "'logistic' has no fast path" in lines[0][0]
    with silence_warnings():
        relax.build(script.from_source(SLOW))
    assert len(builds) == 2


@pytest.mark.parametrize("keep", [0, 60, -1])
def test_damaged_executables_are_built_anew(
    builds: list[IRModule], tmp_path: Path, keep: int
) -> None:
    relax.build(small())
    (path,) = tmp_path.glob("*.relaxexe")
    path.write_bytes(path.read_bytes()[:keep])
    for _ in range(2):
        relax.build(small())
    assert len(builds) == 2


def test_executables_too_large_for_the_folder_are_not_kept(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, max_bytes=2000)
    cache.write("large.relaxexe", [bytes(600), bytes(401)])
    assert not list(tmp_path.iterdir())
    cache.write("small.relaxexe", [bytes(600), bytes(400)])
    path = cache.find_file("small.relaxexe")
    assert path is not None
    assert path.read_bytes() == bytes(1000)
