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
    return parse_model(f'<ir_version: 9, opset_import: ["" : 23]> {text}')


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
    "counts": (
        "g (float[1,4,8] x) => (float[1,4,8] y) "
        "{ y = Attention<kv_num_heads = 0, q_num_heads = 2>(x, x, x) }",
        "kv_num_heads must be positive",
    ),
    "parts": (
        "g (float[2] x) => (float[a] y, float[b] z) <int64[2] s = {-5, 7}> { y, z = Split(x, s) }",
        r"parts of sizes \[-5, 7\]",
    ),
    "scanned": (
        "g (float[2] x) => (float[a] y) { y = Scan<num_scan_inputs = 5, body = b (float a) => "
        "(float c) { c = Relu(a) }>(x) }",
        "5 of 1 inputs",
    ),
    "attribute": (
        "g (float[2] x) => (int32[2] y) { y = Cast(x) }",
        "Cast 'y': attribute 'to' is m",
    ),
    "absurd": ("g (float[99999999999, 99999999999] x) => (float[1] y) { y = Relu(x) }", "2.*48"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_broken_graphs(name: str) -> None:
    text, message = TEXTS[name]
    with pytest.raises(ModelError, match=message):
        from_onnx(model(text))


def function(name: str, *calls: str) -> onnx.FunctionProto:
    names = [f"v{i}" for i in range(len(calls) + 1)]
    nodes = [
        onnx.helper.make_node(call, [a], [b], domain="" if call == "Relu" else "my")
        for call, a, b in zip(calls, names, names[1:], strict=False)
    ]
    opsets = [onnx.helper.make_opsetid("my", 1), onnx.helper.make_opsetid("", 21)]
    return onnx.helper.make_function("my", name, names[:1], names[-1:], nodes, opsets)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([function("F0", "F1"), function("F1", "F0")], "F0 is part of itself"),
        (
            [*(function(f"F{i}", f"F{i + 1}", f"F{i + 1}") for i in range(30)),
             function("F30", "Relu")],
            "more than 1000000 nodes",
        ),
    ],
)  # fmt: skip
def test_functions_without_end(functions: list[onnx.FunctionProto], message: str) -> None:
    made = parse_model(
        '<ir_version: 9, opset_import: ["" : 21, "my" : 1]> '
        "g (float[4] x) => (float[4] y) { y = my.F0(x) }"
    )
    made.functions.extend(functions)
    with pytest.raises(ModelError, match=message):
        from_onnx(made)


def test_loops_in_loops_are_not_unrolled_without_end() -> None:
    body = "y = Relu(s0)"
    for i in range(6):
        body = (
            f"t{i} = Loop<body = b{i} (int64 i{i}, bool c{i}, float[4] s{i}) => (bool d{i}, "
            f"float[4] y{i}) {{ d{i} = Identity(c{i}) {body.replace('y =', f'y{i} =', 1)} }}>"
            f'(m, "", s{i + 1})'.replace(f"t{i} =", "y =")
        )
    text = body.replace("s6", "x")
    made = model(f"g (float[4] x) => (float[4] y) <int64 m = {{60}}> {{ {text} }}")
    assert from_onnx(made).script().count("R.nn.relu") < 500


def test_names_that_are_no_text() -> None:
    whole = model("g (float[4] x) => (float[4] y) { y = Relu(x) }").SerializeToString()
    with pytest.raises(ModelError, match="not UTF-8"):
        from_onnx(whole.replace(b"Relu", b"Re\xff\xff"))


def test_nodes_in_any_order() -> None:
    made = model("g (float[4] x) => (float[4] y) { y = Relu(x) }")
    for i in range(2000):
        made.graph.node.add(op_type="Relu", input=[f"v{i + 1}"], output=[f"v{i}"])
    made.graph.node[0].input[0] = "v0"
    made.graph.node[-1].input[0] = "x"
    assert from_onnx(made).script().count("R.nn.relu") == 2001


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
