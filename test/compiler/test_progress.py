"""Builds on a terminal show how many kernels are compiled, unless that is turned off."""

import io
import sys
from types import SimpleNamespace

import pytest

from relax_mlir import relax
from relax_mlir.lowering.codegen import progress
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.transform import PassContext


class Output(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")):
        y = R.nn.softmax(x)
        z = R.call_packed("test.nothing", y, ty_args=R.Tensor((3, 4), "float32"))
        return R.sum(z, axis=1)


@pytest.mark.parametrize(
    ("terminal", "option", "setting", "shown"),
    [(True, True, "1", True), (False, True, "1", False), (True, False, "1", False),
     (True, True, "off", False)],
)  # fmt: skip
def test_bars_of_builds(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, option: bool, setting: str, shown: bool
) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", Output(terminal=terminal))
    monkeypatch.setenv("RELAX_MLIR_PROGRESS", setting)
    with PassContext(config={"relax.compile_cache": False, "relax.progress": option}):
        relax.build(Model)
    text = sys.stderr.getvalue()
    # A quick build is over before the bar is drawn again.
    assert ("/2 [" in text) == shown
    assert shown or not text


def test_no_bar_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.kernel_progress(3) as count:
        count(3)
