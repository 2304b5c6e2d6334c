"""MLIR that cannot be read or imported: one clear error each."""

# ruff: noqa: E501

import numpy as np
import pytest
from mlir_programs import MATMUL, SOFTMAX_TOSA

import relax_mlir
from relax_mlir import frontend
from relax_mlir.errors import ModelError, UnsupportedOpError

_SUM = "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\n"
UNSUPPORTED = f"""func.func @main(%a: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @foo(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.all_reduce"(%0) <{{replica_groups = dense<[[0]]> : tensor<1x1xi64>}}> ({{
    {_SUM} stablehlo.return %s : tensor<f32> }}) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.all_reduce"(%1) <{{replica_groups = dense<[[0]]> : tensor<1x1xi64>}}> ({{
    {_SUM} stablehlo.return %s : tensor<f32> }}) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}}"""


def test_everything_that_is_missing_is_in_one_message(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(UNSUPPORTED)
    with pytest.raises(UnsupportedOpError) as raised:
        relax_mlir.compile(path)
    assert [line.replace(str(path), "model.mlir") for line in raised.value.missing] == [
        "func.func, once, first at model.mlir:1: Relax has no values of type memref<4xf32>",
        "stablehlo.custom_call, once, first at model.mlir:2: it calls 'foo'",
        "stablehlo.all_reduce, 2 times, first at model.mlir:3",
    ]
    assert "stablehlo.all_reduce" in str(frontend.report(path))


def test_a_call_that_is_unknown_after_one_that_is_known():
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @foo(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @bar(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}"""
    with pytest.raises(UnsupportedOpError) as raised:
        frontend.from_mlir(text)
    assert raised.value.missing == (
        "stablehlo.custom_call, once, first at the module:3: it calls 'foo'",
        "stablehlo.custom_call, once, first at the module:4: it calls 'bar'",
    )
    assert "Sharding" not in str(raised.value)


def test_only_what_upstream_cannot_lower_is_missing():
    text = """func.func @main(%a: tensor<4x5xf32>) -> tensor<20xf32> {
  %s = tosa.const_shape {values = dense<[20]> : tensor<1xindex>} : () -> !tosa.shape<1>
  %0 = tosa.reshape %a, %s : (tensor<4x5xf32>, !tosa.shape<1>) -> tensor<20xf32>
  %1 = "tosa.custom"(%0) {operator_name = "f", domain_name = "d", implementation_attrs = ""} : (tensor<20xf32>) -> tensor<20xf32>
  return %1 : tensor<20xf32>
}"""
    with pytest.raises(UnsupportedOpError) as raised:
        frontend.from_mlir(text)
    assert raised.value.missing == ("tosa.custom, once, first at the module:4",)


def test_a_comparator_that_is_none():
    text = """func.func @main(%a: tensor<6xf32>) -> tensor<6xf32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %n = stablehlo.negate %x : tensor<f32>
    %c = stablehlo.compare LT, %n, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}"""
    with pytest.raises(ModelError, match="no operation of Relax is like it"):
        frontend.from_mlir(text)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "the module has no function"),
        ("missing.mlir", "'missing.mlir' cannot be read: No such file"),
        ("func.func\0@main", "cannot be read: embedded null byte"),
        ("func.func @main(\n", "the module:1:17: expected"),
        ("module { foo.bar }", "the module:1:10: Dialect `foo' not found"),
        (b"ML\xefR\x00\x01garbage", "the module: "),
        (b"ML\xefR\x0dStableHLO_v1.0.0", "the module: "),
        (b"\xff\xfe", "neither MLIR bytecode nor UTF-8 text"),
        ("(\n" * 3000, "the module:1:1: "),
        (
            "func.func @f(%x: tensor<1x2x3xf32>) {\n%r = stablehlo.convolution(%x, %x) "
            "dim_numbers = [b, 4294967296, f]x[0, i, o]->[b, 0, f]",
            "crashes on it: a number is too large, 4294967296",
        ),
        ("func.func private @f()\n", "has no body"),
    ],
)
def test_what_is_no_program(source, message):
    with pytest.raises(ModelError, match=message.replace("(", r"\(")):
        frontend.from_mlir(source)


def test_recursion():
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(ModelError, match="'@main' calls itself"):
        frontend.from_mlir(text)


def test_an_unknown_parameter_of_shape_dict():
    with pytest.raises(ModelError, match="shape_dict has 'x'; the parameters of '@main' are arg0"):
        frontend.from_mlir(MATMUL, {"x": (1, 2)})


@pytest.mark.parametrize("text", [MATMUL, SOFTMAX_TOSA])
def test_truncated_and_damaged_text_and_bytecode(text, tmp_path):
    from relax_mlir.frontend.mlir.reading import read_module

    path = tmp_path / "model.mlirbc"
    with path.open("wb") as file:
        read_module(text)[0].operation.write_bytecode(file)
    rng = np.random.default_rng(0)
    for data in (text.encode(), path.read_bytes()):
        for _ in range(12):
            damaged = bytearray(data[: rng.integers(1, len(data))])
            damaged[rng.integers(0, len(damaged))] = rng.integers(0, 256)
            with pytest.raises(ModelError):
                frontend.from_mlir(bytes(damaged))
