"""docs/passes.md: every snippet runs, in order, and prints what stands under it."""

import contextlib
import io
import linecache
import re
import shlex

import pytest
from checkout import ROOT

from relax_mlir.pass_infra.registry import unregister_pass
from relax_mlir.runtime.registry import remove_global_func
from relax_mlir.tools.relax_opt import __main__ as relax_opt

GUIDE = ROOT / "docs" / "passes.md"
_BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
MODEL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.mlir").write_text(MODEL)
    yield
    for name in ("Analyse", "Prepare", "First", "Second", "Refuse", "MarkLargeOnes"):
        unregister_pass(name)
    remove_global_func("relax.ext.numpy")


def run_python(source, number, namespace):
    # TVMScript reads the source of what it decorates.
    name = f"<docs/passes.md, snippet {number}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, name, "exec"), namespace)
    return out.getvalue()


def test_every_snippet(in_folder, capfd):
    namespace = {"__name__": "guide"}
    blocks = _BLOCK.findall(GUIDE.read_text())
    assert len(blocks) > 15
    for number, (language, source, expected) in enumerate(blocks, 1):
        if language == "python":
            printed = run_python(source, number, namespace)
        else:
            program, *arguments = shlex.split(source)
            assert program == "relax-opt"
            capfd.readouterr()
            assert relax_opt.main(arguments) == 0
            printed = capfd.readouterr().out
        assert printed.rstrip() == expected.rstrip(), f"snippet {number}:\n{source}"


def test_every_instrument_is_named():
    from relax_mlir import instrument

    text = GUIDE.read_text()
    unnamed = [name for name in instrument.__all__ if name not in text]
    # Variations of what is named, and what one reads on those.
    assert set(unnamed) <= {
        "Culprit",
        "PassInstrument",
    }
