"""Object files linked without LLVM: every kind of relocation, and what is left to JITLink."""

import contextlib
import ctypes
import dataclasses
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_code import add_one_model, compile_object
from targets import with_threads

from relax_mlir import relax, runtime, script
from relax_mlir.runtime.native import elf, jit

llvm = pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.skipif(
    not llvm.get_process_triple().startswith("x86_64") or sys.platform != "linux",
    reason="links what is for x86-64 and Linux",
)

# Constants, zeroed and written data, addresses in data, functions and data of others, of libc, and
# of libgcc; a function that both objects have.
FIRST = """
@table = private unnamed_addr constant [2 x ptr] [ptr @twice, ptr @thrice]
@counter = internal global i64 0
@start = internal global i64 5
@shared = external global i64
declare i64 @thrice(i64)
declare i64 @labs(i64)
define linkonce_odr i64 @same() noinline {
  ret i64 100
}
define internal i64 @twice(i64 %x) {
  %y = mul i64 %x, 2
  ret i64 %y
}
define i64 @main(i64 %which, i64 %x) {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %slot = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %f = load ptr, ptr %slot
  %a = call i64 %f(i64 %x)
  %b = call i64 @labs(i64 %a)
  %s = load i64, ptr @start
  %o = load i64, ptr @shared
  %same = call i64 @same()
  %c = add i64 %b, %s
  %d = add i64 %c, %o
  %e = add i64 %d, %new
  %g = add i64 %e, %same
  ret i64 %g
}
"""
SECOND = """
@shared = global i64 1000
define linkonce_odr i64 @same() noinline {
  ret i64 100
}
define i64 @thrice(i64 %x) {
  %y = mul i64 %x, 3
  ret i64 %y
}
"""


def objects(*sources: str, codemodel: str = "default") -> list[bytes]:
    made = [compile_object("x", source, codemodel=codemodel) for source in sources]
    return [each.data for each in made]


@pytest.mark.parametrize("linker", [elf, jit])
def test_objects_use_each_other_and_the_process(linker: Any) -> None:
    image = linker.Image(objects(FIRST, SECOND), {}, ["main"])
    main = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(image.symbols["main"])
    assert [main(0, -7), main(1, -7)] == [14 + 5 + 1000 + 1 + 100, 21 + 5 + 1000 + 2 + 100]


def test_tables_of_objects_are_small() -> None:
    images = objects(SECOND)
    tracemalloc.start()
    elf.Image(images, {}, ["thrice"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_other_kinds_of_code_are_left_to_llvm() -> None:
    with pytest.raises(elf.UnsupportedObjectError, match="relocations of type"):
        elf.Image(objects(FIRST, SECOND, codemodel="large"), {})
    with pytest.raises(elf.UnsupportedObjectError, match="section"):
        elf.Image(objects("@x = thread_local global i32 1"), {})
    executable = add_one_model()
    large = compile_object("kernels", ADD_NOTHING, "add1", codemodel="large")
    executable.native = [dataclasses.replace(executable.native[0], data=large.data)]
    assert set(executable.load_native()) == {"add1"}


ADD_NOTHING = """
@zero = internal global i32 0
define i32 @__tvm_ffi_add1(ptr %self, ptr %args, i32 %count, ptr %ret) {
  %z = load i32, ptr @zero
  ret i32 %z
}
"""


def test_what_cannot_be_linked() -> None:
    with pytest.raises(ValueError, match="'thrice' is defined twice"):
        elf.Image(objects(SECOND, SECOND.replace("1000", "0")), {})
    with pytest.raises(ValueError, match="symbols not found: shared, thrice"):
        elf.Image(objects(FIRST), {})
    (data,) = objects(SECOND)
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = np.frombuffer(data, np.uint8).copy()
        damaged[rng.integers(len(data), size=3)] = rng.integers(256, size=3)
        with contextlib.suppress(ValueError, IndexError, OSError):
            elf.Image([damaged.tobytes()], {})


MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w))
            R.output(y)
        return y
"""


@pytest.mark.codegen
def test_a_saved_model_runs_without_llvm(tmp_path: Path) -> None:
    executable = relax.build(script.from_source(MODEL), with_threads(4))
    assert any(each.is_parallel for each in executable.native)
    executable.save(tmp_path / "model.rxe")
    assert runtime.Executable.load(tmp_path / "model.rxe").native == executable.native
    code = (
        "import sys, numpy as np\n"
        "from relax_mlir import runtime\n"
        "runtime.set_num_threads(2)\n"
        f"model = runtime.load_module({str(tmp_path / 'model.rxe')!r})\n"
        "y = runtime.VirtualMachine(model)['main'](np.ones((3, 64), 'f'), np.eye(64, dtype='f'))\n"
        "assert np.allclose(y, 1 / 64) and runtime.num_threads() == 2\n"
        "print({'llvmlite', 'torch_mlir', 'mlir'} & {*sys.modules})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
