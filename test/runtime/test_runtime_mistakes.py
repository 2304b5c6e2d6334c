"""What people get wrong with files, machines and the graph executor, and what they are told."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relax_mlir import relax, runtime
from relax_mlir.contrib import graph_executor
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError, VMError
from relax_mlir.runtime import ExecBuilder, Executable, VirtualMachine
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Static:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.add(x, x)
        return (y, R.sum(y))


@I.ir_module
class Dynamic:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        return R.add(x, x)


def small() -> Executable:
    ib = ExecBuilder()
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.copy", [np.arange(5.0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    return ib.get()


WRONG = {"text": b"hello world\n" * 20, "empty": b"", "zero": b"\0" * 4096, "elf": b"\x7fELF"}


@pytest.mark.parametrize("kind", [*WRONG, "huge"])
def test_wrong_files_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{kind}.rxe"
    data = small().to_bytes()
    path.write_bytes(WRONG.get(kind, data[:12] + b"\xff" * 40 + data[52:]))
    for load in (Executable.load, VirtualMachine, runtime.load_module):
        with pytest.raises(ExecutableFormatError, match=f"{kind}.rxe"):
            load(path)


def test_errors_of_saving_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder.rxe").mkdir()
    with pytest.raises(IsADirectoryError, match=r"replace a folder: .*folder\.rxe'$"):
        small().save(tmp_path / "folder.rxe")
    with pytest.raises(FileNotFoundError, match=r"no such folder.*none/m\.rxe'$"):
        small().save(tmp_path / "none" / "m.rxe")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.rxe"]


SAVER = """
import sys
from relax_mlir.runtime import Executable
ex = Executable.load(sys.argv[1], mmap=False)
print("ready", flush=True)
while True:
    ex.save(sys.argv[1])
"""


def test_a_saver_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.rxe"
    ib = ExecBuilder()
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.copy", [np.arange(300_000)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ib.get().save(path)
    before = path.read_bytes()
    savers = [
        subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for saver in savers:
            assert saver.stdout is not None
            saver.stdout.readline()
        for _ in range(20):
            assert VirtualMachine(path)["main"]()[-1] == 299_999
    finally:
        for saver in savers:
            os.kill(saver.pid, signal.SIGKILL)
            saver.communicate()
    assert path.read_bytes() == before


def test_a_machine_runs_executables() -> None:
    for wrong in (Dynamic, None, 5, {}):
        with pytest.raises(TypeError, match=r"runs an Executable, which relax\.build gives"):
            VirtualMachine(wrong)


def test_a_profile_of_nothing() -> None:
    vm = VirtualMachine(small())
    for repeat in (0, -1, 1.5, True):
        with pytest.raises(ArgumentTypeError, match="'repeat' must be at least 1"):
            vm.profile("main", repeat=repeat)
    vm["main"]()


def test_the_graph_executor_says_why_not() -> None:
    with pytest.raises(VMError, match=r"'main' has symbolic shapes .*relax\.VirtualMachine"):
        relax.build(Dynamic)["default"]()


def test_inputs_that_nobody_set_are_zero() -> None:
    lib = relax.build(Static)
    for _ in range(3):
        m = graph_executor.GraphModule(lib["default"]())
        m.run()
        assert not m.get_output(0).any()
        assert m.get_output(1) == 0
        m.run(x=np.full((2, 3), np.nan, "float32"))
        del m
    m = graph_executor.GraphModule(lib["default"]())
    with pytest.raises(ArgumentTypeError, match="no output 2; the graph has 2, from 0"):
        m.get_output(2)
    with pytest.raises(ArgumentTypeError, match="another GraphModule's, got None"):
        m.share_params(None, runtime.save_param_dict({}))
