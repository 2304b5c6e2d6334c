"""The loggers that docs/tools.md lists are those that there are, and they say something."""

import logging
import re
from pathlib import Path

import pytest

from relax_mlir import relax, transform
from relax_mlir.script import from_source

ROOT = Path(__file__).parents[2]
SOURCE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.nn.relu(x)
"""


def test_loggers_are_those_of_the_guide() -> None:
    made = {
        name
        for folder in ("relax_mlir", "dialects", "lowering")
        for file in (ROOT / folder).rglob("*.py")
        for name in re.findall(r'getLogger\("(relax_mlir\.\w+)"\)\n', file.read_text())
    }
    listed = re.findall(r"^\| `(relax_mlir\.\w+)` \|", (ROOT / "docs/tools.md").read_text(), re.M)
    assert made == set(listed)


def test_times_of_passes_and_stages(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "relax_mlir"):
        mod = transform.FoldConstant()(from_source(SOURCE))
        relax.build(mod)
    names = {record.name for record in caplog.records}
    assert {"relax_mlir.passes", "relax_mlir.build"} <= names
    assert any(
        re.fullmatch(r"FoldConstant: \d+\.\d ms", each.getMessage()) for each in caplog.records
    )
