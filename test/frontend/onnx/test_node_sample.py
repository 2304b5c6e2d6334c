"""A sample of onnx's node tests; `make conformance` runs all of them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def _conformance() -> ModuleType:
    path = Path(__file__).with_name("conformance.py")
    spec = importlib.util.spec_from_file_location("conformance", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONFORMANCE = _conformance()
PASSING = CONFORMANCE.PASSING.read_text().split()


@pytest.mark.slow
@pytest.mark.codegen
@pytest.mark.parametrize("name", PASSING[::60])
def test_node(name: str) -> None:
    assert CONFORMANCE.run(name) == CONFORMANCE.PASS


def test_every_node_test_passes_or_has_a_reason() -> None:
    failing = [line.partition(":")[0] for line in CONFORMANCE.REASONS.read_text().splitlines()]
    assert sorted([*PASSING, *failing]) == sorted(CONFORMANCE.names())
