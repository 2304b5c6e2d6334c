"""Weights in safetensors files, one or several with an index."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import ExecutableFormatError
from relax_mlir.frontend import load_safetensors
from relax_mlir.runtime.files.safetensors import save_file


def _write(folder: Path, weight_map: Any) -> Path:
    save_file({"a": np.arange(3.0), "b": np.ones((2, 2), "float16")}, folder / "1.safetensors")
    save_file({"c": np.zeros(0, "int8")}, folder / "2.safetensors")
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 32}, "weight_map": weight_map}))
    return path


def test_one_file(tmp_path: Path) -> None:
    _write(tmp_path, {})
    found = load_safetensors(tmp_path / "1.safetensors")
    assert {name: array.dtype.name for name, array in found.items()} == {
        "a": "float64", "b": "float16",
    }  # fmt: skip


def test_several_files(tmp_path: Path) -> None:
    files = {"c": "2.safetensors", "a": "1.safetensors"}
    found = load_safetensors(_write(tmp_path, files))
    assert list(found) == ["c", "a"]
    np.testing.assert_array_equal(found["a"], [0, 1, 2])
    assert found["c"].shape == (0,)


@pytest.mark.parametrize(
    ("weight_map", "message"),
    [
        (["a"], "no `weight_map`"),
        ({"a": 1}, "no file of its folder"),
        ({"a": "../1.safetensors"}, "no file of its folder"),
        ({"a": "/etc/passwd"}, "no file of its folder"),
        ({"a": ".."}, "no file of its folder"),
        ({"a": ""}, "no file of its folder"),
        ({"d": "1.safetensors"}, "has no array 'd'"),
    ],
)
def test_wrong_indices(tmp_path: Path, weight_map: Any, message: str) -> None:
    path = _write(tmp_path, weight_map)
    with pytest.raises(ExecutableFormatError, match=message):
        load_safetensors(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", "[" * 100000])
def test_indices_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text)
    with pytest.raises(ExecutableFormatError, match="no `weight_map`"):
        load_safetensors(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_safetensors(_write(tmp_path, {"a": "3.safetensors"}))
