"""Pages that `make docs` generates: whole, whatever is added to the tables they are made of."""

import importlib.util
import sys
from types import ModuleType

import pytest
from checkout import ROOT

from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.schedule import PRIMITIVES
from relax_mlir.pass_infra import registry


def _generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"docs_{name}", ROOT / "docs" / "generate" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_dialects() -> None:
    pages = _generator("dialect_pages").pages()
    assert not [
        name for name in COMPUTE_OPS if f"### `relax.{name}`" not in pages["dialects/relax.md"]
    ]
    assert "| `axis` | attribute, `int` | `-1` |" in pages["dialects/relax.md"]
    assert "### `tir.block`" in pages["dialects/tir.md"]
    assert "### `!vm.storage`" in pages["dialects/vm.md"]
    assert not [
        name for name in PRIMITIVES if f"`schedule.{name}`" not in pages["dialects/schedule.md"]
    ]


def test_operations_are_under_their_category() -> None:
    page = _generator("dialect_pages").pages()["dialects/relax.md"]
    group = page[: page.index("### `relax.conv2d`")].rpartition("## Operations: ")[2]
    assert group.partition("\n")[0] == "convolution"


def test_passes() -> None:
    page = _generator("pass_pages").pages()["reference/passes.md"]
    for entry in registry.entries():
        assert f"| `--{entry.flag}` | `{entry.name}` | {entry.summary} |" in page


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("relax_mlir", "::: relax_mlir.compiler.driver.compile"),
        ("relax_mlir.relax", "::: relax_mlir.relax.builder.block_builder.BlockBuilder"),
        ("relax_mlir.topi.nn", "::: relax_mlir.topi.nn.activation.softmax"),
        ("relax_mlir.errors", "::: relax_mlir.errors.ShapeMismatchError"),
    ],
)
def test_api(package: str, line: str) -> None:
    api = _generator("api_pages")
    assert f"{line}\n" in api.pages()[api.path_of(package)]


def test_every_definition_has_one_page() -> None:
    pages = _generator("api_pages").pages().values()
    lines = [line for page in pages for line in page.splitlines() if line.startswith("::: ")]
    assert len(lines) == len(set(lines)) > 200
