"""Large programs become several objects, which compute what one does."""

from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from targets import DEFAULT

from relax_mlir import relax, script
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen import native
from relax_mlir.lowering.codegen.llvm import split
from relax_mlir.lowering.codegen.llvm.split import split_source
from relax_mlir.runtime import load_module
from relax_mlir.runtime.executable import Executable
from relax_mlir.transform import PassContext

SOURCE = """; vector code
@table = internal constant [2 x i32] [i32 1, i32 2]
declare void @outside(ptr)
define i32 @"exported f"(ptr %p) #0 {
  %r = call i32 @"kernel a"(ptr %p, i32 1)
  ret i32 %r
}
define internal i32 @"kernel a"(ptr noalias %p, i32 %n) #0 !prof !0 {
  call void @helper(ptr @"kernel a..omp_par")
  %r = call i32 @kernel_b(ptr %p)
  ret i32 %r
}
define internal void @"kernel a..omp_par"(ptr %p) {
  ret void
}
define internal i32 @kernel_b(ptr %p) {
  %r = load i32, ptr @table
  call void @helper(ptr %p)
  ret i32 %r
}
define internal void @helper(ptr %p) {
  call void @outside(ptr %p)
  ret void
}
attributes #0 = { noinline }
!0 = !{!"function_entry_count", i64 1}
"""
KERNELS = ("kernel a", "kernel_b")
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
    monkeypatch.setattr(split, "_MIN_MODULE", 16)
    monkeypatch.setattr(split, "_MIN_PART", 16)


@pytest.mark.usefixtures("_small_parts")
def test_parts_are_modules_that_call_each_other() -> None:
    parts = split_source(SOURCE, KERNELS)
    assert len(parts) == 3
    assert 'define i32 @"exported f"' in parts[0]
    (a,) = [part for part in parts if 'define hidden i32 @"kernel a"' in part]
    assert "declare hidden i32 @kernel_b(ptr %p)\n" in a
    assert 'define internal void @"kernel a..omp_par"' in a
    for part in parts:
        llvm.parse_assembly(part).verify()
        assert part.startswith("; vector code\n")
        assert ("@helper(" in part) == ("define internal void @helper" in part)
        assert part.count("\ndefine ") < SOURCE.count("\ndefine ")


@pytest.mark.usefixtures("_small_parts")
def test_variables_that_functions_share_keep_a_module_whole() -> None:
    source = SOURCE.replace("@table = internal constant", "@table = internal global")
    assert split_source(source, KERNELS) == [source]


def test_a_small_module_stays_whole() -> None:
    assert split_source(SOURCE, KERNELS) == [SOURCE]


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
            built.append(relax.build(_model(), DEFAULT))
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
        ex = relax.build(_model(), f"{DEFAULT} -num-threads=1")
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
        first = relax.build(_model(), DEFAULT, log=relax.BuildLog())
        again = relax.build(_model(), DEFAULT, log=relax.BuildLog())
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
        relax.build(_model(), DEFAULT, log=relax.BuildLog())
        before = len(compiled)
        many = relax.build(_model(changed=True), DEFAULT, log=relax.BuildLog())
        assert before < len(compiled) < 2 * before
        # Entries that are damaged, here all of them, are compiled again.
        for path in tmp_path.glob("*.relaxobj"):
            path.write_bytes(path.read_bytes()[:-1])
        compiled.clear()
        again = relax.build(_model(changed=True), DEFAULT, log=relax.BuildLog())
    assert len(compiled) == len(many.native)
    assert again.native == many.native
    with PassContext(config={"relax.compile_cache": False, "relax.split_objects": False}):
        one = relax.build(_model(changed=True), DEFAULT)
    x, w = np.linspace(-1, 1, 240, dtype="f4").reshape(5, 48), np.eye(48, dtype="f4")
    results = [relax.VirtualMachine(each)["main"](x, w) for each in (one, many)]
    np.testing.assert_array_equal(*results)


def test_numbers_do_not_depend_on_the_module() -> None:
    text = """; vector code
define void @f() #7 {
  call void @g..omp_par.9(ptr @relax_float_bits_4), !prof !3
  br label %1, !llvm.loop !5
}
@relax_float_bits_4 = internal constant i32 4, align 64
attributes #7 = { noinline }
!3 = !{i64 7}
!5 = distinct !{!5, !6}
!6 = !{i1 true}
"""
    other = text
    for old, new in (("#7", "#1"), ("!5", "!8"), ("bits_4", "bits_53"), ("par.9", "par.2")):
        other = other.replace(old, new)
    assert split._renumbered(text) == split._renumbered(other) != text
    assert "i64 7" in split._renumbered(text)
