"""Broken models give one ModelError: truncated, cyclic, incomplete, data outside of the folder."""

import struct
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx import from_onnx


def model(text: str) -> onnx.ModelProto:
    return parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {text}')


def external(**entries: str) -> onnx.ModelProto:
    made = model("g (float[4] x) => (float[4] y) <float[4] w> { y = Add(x, w) }")
    weight = made.graph.initializer.add(name="w", data_type=1, dims=[4])
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    return made


def with_weight(dims: list[int], raw: bytes) -> onnx.ModelProto:
    made = model("g (float[4] x) => (float[4] y) <float[4] w> { y = Add(x, w) }")
    made.graph.initializer.add(name="w", data_type=1, dims=dims, raw_data=raw)
    return made


TEXTS = {
    "cycle": ("g (float[4] x) => (float[4] y) { y = Add(x, z) z = Relu(y) }", "cycle through"),
    "missing input": ("g (float[4] x) => (float[4] y) { y = Add(x, w) }", "takes 'w', which is no"),
    "missing output": ("g (float[4] x) => (float[4] y) { z = Relu(x) }", "nothing makes"),
    "made twice": ("g (float[4] x) => (float[4] y) { y = Relu(x) y = Abs(x) }", "more than once"),
    "shapes": ("g (float[4] x, float[3] z) => (float[4] y) { y = Add(x, z) }", "Add 'y'"),
    "axis": ("g (float[4] x) => (float[4] y) { y = Softmax<axis = 7>(x) }", "axis 7"),
    "absurd": ("g (float[99999999999, 99999999999] x) => (float[1] y) { y = Relu(x) }", "2.*48"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_broken_graphs(name: str) -> None:
    text, message = TEXTS[name]
    with pytest.raises(ModelError, match=message):
        from_onnx(model(text))


@pytest.mark.parametrize("dims", [[5], [2**40, 2**40], [-4]])
def test_weights_that_have_not_their_elements(dims: list[int]) -> None:
    with pytest.raises(ModelError, match="tensor 'w'"):
        from_onnx(with_weight(dims, struct.pack("4f", 1, 2, 3, 4)))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../secret.bin"}, "not in the folder"),
        ({"location": "/etc/passwd"}, "not in the folder"),
        ({"location": "none.bin"}, "there is no file"),
        ({"location": "short.bin"}, "which has 8"),
        ({"location": "short.bin", "offset": "-4"}, "do not give them"),
        ({"location": "short.bin", "offset": "x"}, "no number"),
        ({}, "not in the folder"),
    ],
)
def test_external_data_stays_in_the_folder(
    tmp_path: Path, entries: dict[str, str], message: str
) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(16))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "short.bin").write_bytes(bytes(8))
    (folder / "model.onnx").write_bytes(external(**entries).SerializeToString())
    with pytest.raises(ModelError, match=message):
        from_onnx(folder / "model.onnx")


def test_external_data_is_mapped(tmp_path: Path) -> None:
    np.arange(6, dtype="float32").tofile(tmp_path / "w.bin")
    made = external(location="w.bin", offset="8", length="16")
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    assert "2.0, 3.0, 4.0, 5.0" in from_onnx(tmp_path / "model.onnx").script()


def test_every_truncated_model_is_an_error_or_a_model() -> None:
    whole = with_weight([4], struct.pack("4f", 1, 2, 3, 4)).SerializeToString()
    for length in range(len(whole)):
        try:
            from_onnx(whole[:length])
        except ModelError:
            continue


def test_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        from_onnx(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="no ONNX model"):
        from_onnx(b"\xff\x00garbage")
