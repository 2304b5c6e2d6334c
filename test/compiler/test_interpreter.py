"""What builds and loads change of Python's interpreter is as before after the last of them."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from relax_mlir import relax
from relax_mlir.interpreter import tuned_for_builds
from relax_mlir.runtime import Executable, executable
from relax_mlir.runtime.vm import virtual_machine


def test_settings_are_restored_after_the_last_build() -> None:
    before = gc.isenabled(), sys.getswitchinterval()
    both_in, one_out = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def first() -> None:
        with tuned_for_builds():
            both_in.wait()
        one_out.wait()

    with ThreadPoolExecutor(1) as pool, tuned_for_builds():
        result = pool.submit(first)
        both_in.wait()
        one_out.wait()
        assert not gc.isenabled()
        assert sys.getswitchinterval() < before[1]
        result.result()
    assert (gc.isenabled(), sys.getswitchinterval()) == before


def test_loads_collect_no_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    path, seen = tmp_path / "model.rxe", list[bool]()
    relax.build(builder.get()).save(path)

    def watched(real: Any) -> Any:
        return lambda *args: (seen.append(gc.isenabled()), real(*args))[1]

    for module, name in ((executable, "parse"), (virtual_machine, "translate")):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    before = gc.isenabled()
    relax.VirtualMachine(Executable.load(path))["main"]
    assert seen == [False, False]
    assert gc.isenabled() == before
