"""Large programs become several objects, which compute what one does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from targets import DEFAULT

from relax_mlir import relax, script
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen import native, split_module
from relax_mlir.lowering.codegen.split_module import take_large_kernels
from relax_mlir.runtime import load_module
from relax_mlir.runtime.executable import Executable
from relax_mlir.transform import PassContext

# Without optimising a program stays one object.
OPTIMIZED = f"{DEFAULT} -O=2"
PROGRAM = """
memref.global constant @table : memref<2xi32> = dense<[1, 2]>
memref.global @counter : memref<2xi32>
func.func private @outside(memref<2xi32>)
func.func @run(%p: memref<2xi32>) {
  func.call @a(%p) : (memref<2xi32>) -> ()
  func.call @b(%p) : (memref<2xi32>) -> ()
  return
}
func.func @a(%p: memref<2xi32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %t = memref.get_global @table : memref<2xi32>
  memref.copy %t, %p : memref<2xi32> to memref<2xi32>
  func.call @outside(%p) : (memref<2xi32>) -> ()
  return
}
func.func @b(%p: memref<2xi32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %c = memref.get_global @counter : memref<2xi32>
  memref.copy %c, %p : memref<2xi32> to memref<2xi32>
  return
}
"""
MODEL = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n", 48), "float32"), w: R.Tensor((48, 48), "float32")):
        with R.dataflow():
            a = R.nn.softmax(R.matmul(x, w), axis=-1)
            y = R.sum(R.tanh(a), axis=0)
            R.output(y)
        return y
"""


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_module, "_MIN_MODULE", 4)
    monkeypatch.setattr(split_module, "_MIN_PART", 4)


@pytest.mark.usefixtures("_small_parts")
def test_kernels_leave_a_module_that_share_nothing_with_others() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(PROGRAM)
        parts = take_large_kernels(module.operation)
        assert [*parts] == ["a"]
        made, names = parts["a"]
        for each in (module, made):
            assert each.operation.verify()
        part, rest = str(made), str(module)
    assert {"func.func", "func.call", "memref.get_global"} <= names
    assert all(name in part for name in ("constant @table", "private @outside", "func.func @a("))
    assert not any(name in part for name in ("@run", "@b", "@counter"))
    assert "func.func private @a(memref<2xi32>)\n" in rest


def test_a_small_module_stays_whole() -> None:
    with make_context(), ir.Location.unknown():
        assert not take_large_kernels(ir.Module.parse(PROGRAM).operation)


def _model(changed: bool = False) -> IRModule:
    return script.from_source(MODEL.replace("R.tanh(a)", "R.exp(a)") if changed else MODEL)


@pytest.mark.usefixtures("_small_parts")
def test_several_objects_compute_what_one_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((48, 48)).astype("f4")
    built = []
    for several in (False, True):
        with PassContext(
            config={"relax.split_objects": several, "relax.compile_cache": tmp_path / "cache"}
        ):
            built.append(relax.build(_model(), OPTIMIZED))
    one, many = built
    assert len(one.native) == 1
    assert len(many.native) > 1
    assert len({obj.name for obj in many.native}) == len(many.native)
    many.save(tmp_path / "model.rxe")
    loaded = Executable.load(tmp_path / "model.rxe")
    for n in (0, 1, 7, 64, 131):
        x = rng.standard_normal((n, 48)).astype("f4")
        results = [relax.VirtualMachine(each)["main"](x, w) for each in (one, many, loaded)]
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])


@pytest.mark.usefixtures("_small_parts")
def test_several_objects_are_exported(tmp_path: Path) -> None:
    with PassContext(config={"relax.compile_cache": False}):
        ex = relax.build(_model(), f"{OPTIMIZED} -num-threads=1")
    assert len(ex.native) > 1
    ex.export_library(tmp_path / "model.o")
    assert (tmp_path / "model.o").read_bytes()[:4] == b"\x7fELF"
    ex.export_library(tmp_path / "model.so")
    x, w = np.ones((5, 48), "f4"), np.eye(48, dtype="f4")
    expected = relax.VirtualMachine(ex)["main"](x, w)
    loaded = relax.VirtualMachine(load_module(tmp_path / "model.so"))["main"](x, w)
    np.testing.assert_array_equal(loaded, expected)


@pytest.mark.usefixtures("_small_parts")
def test_objects_are_found_in_the_cache(tmp_path: Path) -> None:
    with PassContext(config={"relax.compile_cache": tmp_path}):
        first = relax.build(_model(), OPTIMIZED, log=relax.BuildLog())
        again = relax.build(_model(), OPTIMIZED, log=relax.BuildLog())
    assert len(first.native) > 1
    assert first.native == again.native


@pytest.mark.usefixtures("_small_parts")
def test_a_changed_program_finds_the_kernels_that_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile_part = native._compile_part

    def counted(part: str, *rest: Any) -> bytes:
        compiled.append(part)
        return compile_part(part, *rest)

    monkeypatch.setattr(native, "_compile_part", counted)
    with PassContext(config={"relax.compile_cache": tmp_path}):
        relax.build(_model(), OPTIMIZED, log=relax.BuildLog())
        before = len(compiled)
        many = relax.build(_model(changed=True), OPTIMIZED, log=relax.BuildLog())
        assert before < len(compiled) < 2 * before
        # Entries that are damaged, here all of them, are compiled again.
        for path in tmp_path.glob("*.relaxobj"):
            path.write_bytes(path.read_bytes()[:-1])
        compiled.clear()
        again = relax.build(_model(changed=True), OPTIMIZED, log=relax.BuildLog())
    assert len(compiled) == len(many.native)
    assert again.native == many.native
    with PassContext(config={"relax.compile_cache": False, "relax.split_objects": False}):
        one = relax.build(_model(changed=True), OPTIMIZED)
    x, w = np.linspace(-1, 1, 240, dtype="f4").reshape(5, 48), np.eye(48, dtype="f4")
    results = [relax.VirtualMachine(each)["main"](x, w) for each in (one, many)]
    np.testing.assert_array_equal(*results)
