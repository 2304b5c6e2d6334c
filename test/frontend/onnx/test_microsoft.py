"""Operations of `com.microsoft` give what onnxruntime gives, which `microsoft.json` has.

`python test/frontend/onnx/test_microsoft.py` writes that file, where onnxruntime is installed.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relax_mlir.compiler.driver import compile
from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.pass_infra.context import PassContext

RECORDED = Path(__file__).with_name("microsoft.json")


def f(*shape: int | str) -> tuple[Any, ...]:
    """A float input."""
    return ("float32", shape)


def u8(*shape: int) -> tuple[Any, ...]:
    return ("uint8", shape)


def i8(*shape: int) -> tuple[Any, ...]:
    return ("int8", shape)


def ints(*values: Any, dtype: str = "int32") -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, dtype)


def scale(*values: float) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, "float32")


QUANTIZED = (scale(0.05), np.array(120, "uint8"))
RESULT = (scale(0.2), np.array(100, "uint8"))
HEADS = {"num_heads": 2}
# The operation, its inputs (None where one is left out), attributes, and how many outputs.
CASES: dict[str, tuple[str, list[Any], dict[str, Any], int]] = {
    "fused matmul": ("FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], {"transA": 1, "transB": 1,
                                                             "alpha": 0.5}, 1),
    "fused matmul of batches inside": ("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)],
                                       {"transBatchA": 1}, 1),
    "fused conv": ("FusedConv", [f(1, 2, 5, 5), f(4, 1, 3, 3), f(4)],
                   {"group": 2, "activation": "LeakyRelu", "activation_params": [0.1]}, 1),
    "fused conv and hard swish": ("FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)],
                                  {"activation": "HardSwish"}, 1),
    "fused conv and sum": ("FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 5, 5)],
                           {"pads": [1, 1, 1, 1], "activation": "Relu"}, 1),
    "fused gemm": ("FusedGemm", [f(3, 4), f(5, 4), f(5)], {"transB": 1, "activation": "Tanh"}, 1),
    "triangle": ("Trilu", [f(2, 3, 4)], {"upper": 0}, 1),
    "triangle above": ("Trilu", [f(2, 3, 4), ints(1, dtype="int64")], {}, 1),
    "places": ("GatherND", [f(2, 3, 4), ints([[0, 1], [1, 2]])], {}, 1),
    "another axis": ("ExpandDims", [f(2, 3), ints(-1)], {}, 1),
    "bias gelu": ("BiasGelu", [f(2, 3, 4), f(4)], {}, 1),
    "fast gelu": ("FastGelu", [f(2, 3, 4), f(4)], {}, 1),
    "quick gelu": ("QuickGelu", [f(2, 5)], {"alpha": 1.5}, 1),
    "skip layer norm": ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)],
                        {"epsilon": 1e-5}, 1),
    "skip simplified layer norm": ("SkipSimplifiedLayerNormalization",
                                   [f(2, 3, 8), f(2, 3, 8), f(8)], {"epsilon": 1e-5}, 1),
    "embeddings": ("EmbedLayerNormalization",
                   [ints([[1, 4, 2], [0, 5, 3]]), ints([[0, 0, 1], [0, 1, 1]]), f(6, 8), f(4, 8),
                    f(2, 8), f(8), f(8), ints([[1, 1, 0], [1, 1, 1]])], {"epsilon": 1e-5}, 2),
    "embeddings without segments": ("EmbedLayerNormalization",
                                    [ints([[1, 4, 2]]), None, f(6, 8), f(4, 8), None, f(8), f(8)],
                                    {"epsilon": 1e-5}, 2),
    "quantized embeddings": ("QEmbedLayerNormalization",
                             [ints([[1, 4, 2], [0, 5, 3]]), ints([[0, 0, 1], [0, 1, 1]]), u8(6, 8),
                              u8(4, 8), u8(2, 8), u8(8), u8(8), ints([[1, 1, 0], [1, 1, 1]]),
                              *map(scale, (0.02, 0.03, 0.01, 0.05, 0.04)),
                              *[np.array(each, "uint8") for each in (120, 100, 128, 90, 110)]],
                             {"epsilon": 1e-5}, 2),
    "attention": ("Attention", [f(2, 3, 8), f(8, 24), f(24)], HEADS, 1),
    "attention of lengths": ("Attention", [f(2, 3, 8), f(8, 24), f(24), ints([2, 3])], HEADS, 1),
    "attention, masked and causal": ("Attention", [f(2, 3, 8), f(8, 24), f(24),
                                     ints([[1, 1, 0], [1, 1, 1]])],
                                     {**HEADS, "unidirectional": 1}, 1),
    "attention with a past": ("Attention", [f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 5, 4)],
                              {**HEADS, "unidirectional": 1}, 2),
    "attention with a bias": ("Attention", [f(2, 3, 8), f(8, 24), f(24), None, None,
                              f(2, 2, 3, 3)], HEADS, 1),
    "attention of other widths": ("Attention", [f(2, 3, 8), f(8, 28), f(28)],
                                  {**HEADS, "qkv_hidden_sizes": [8, 8, 12]}, 1),
    "multi-head attention": ("MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)],
                             HEADS, 1),
    "multi-head attention, masked": ("MultiHeadAttention",
                                     [f(2, 3, 8), f(2, 5, 8), f(2, 5, 12), None,
                                      ints([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]), f(1, 2, 3, 5)],
                                     {**HEADS, "scale": 0.3}, 1),
    "multi-head attention with a past": ("MultiHeadAttention",
                                         [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, None,
                                          f(2, 2, 4, 4), f(2, 2, 4, 4)],
                                         {**HEADS, "unidirectional": 1}, 3),
    "multi-head attention across": ("MultiHeadAttention",
                                    [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], HEADS, 1),
    "multi-head attention across, biased": ("MultiHeadAttention",
                                            [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), f(24)],
                                            HEADS, 1),
    "multi-head attention, causal across": ("MultiHeadAttention",
                                            [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)],
                                            {**HEADS, "unidirectional": 1}, 1),
    "multi-head attention, causal across and past": ("MultiHeadAttention",
                                                     [f(2, 3, 8), f(2, 4, 8), f(2, 4, 8), None,
                                                      None, None, f(2, 2, 2, 4), f(2, 2, 2, 4)],
                                                     {**HEADS, "unidirectional": 1}, 3),
    "multi-head attention of packed lengths": ("MultiHeadAttention",
                                               [f(1, 3, 8), f(1, 5, 8), f(1, 5, 8), None,
                                                ints([3, 0, 3, 0, 5])], HEADS, 1),
    "group query attention, prompt": ("GroupQueryAttention",
                                      [f(2, 3, 64), f(2, 3, 32), f(2, 3, 32), f(2, 2, 0, 16),
                                       f(2, 2, 0, 16), ints([2, 2]), ints(3), f(8, 8), f(8, 8)],
                                      {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, 3),
    "group query attention, prompt at places": ("GroupQueryAttention",
                                      [f(2, 3, 32), f(2, 3, 32), f(2, 3, 32), f(2, 2, 0, 16),
                                       f(2, 2, 0, 16), ints([2, 2]), ints(3), f(8, 8), f(8, 8),
                                       ints([[2, 4, 6], [5, 6, 7]], dtype="int64")],
                                      {"num_heads": 2, "kv_num_heads": 2, "do_rotary": 1}, 3),
    "group query attention, next": ("GroupQueryAttention",
                                    [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 4, 16),
                                     f(2, 2, 4, 16), ints([4, 3]), ints(5), f(8, 8), f(8, 8)],
                                    {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1,
                                     "rotary_interleaved": 1}, 3),
    "group query attention, window": ("GroupQueryAttention",
                                      [f(1, 2, 32), f(1, 2, 16), f(1, 2, 16), f(1, 2, 4, 8),
                                       f(1, 2, 4, 8), ints([5]), ints(6)],
                                      {"num_heads": 4, "kv_num_heads": 2,
                                       "local_window_size": 3}, 3),
    "group query attention, packed": ("GroupQueryAttention",
                                      [f(1, 3, 64), None, None, f(1, 2, 0, 8), f(1, 2, 0, 8),
                                       ints([2]), ints(3)],
                                      {"num_heads": 4, "kv_num_heads": 2, "scale": 0.2}, 3),
    "group query attention, capped": ("GroupQueryAttention",
                                      [f(2, 1, 32), f(2, 1, 16), f(2, 1, 16), f(2, 2, 4, 8),
                                       f(2, 2, 4, 8), ints([4, 3]), ints(5)],
                                      {"num_heads": 4, "kv_num_heads": 2, "softcap": 0.5}, 3),
    "group query attention, smooth": ("GroupQueryAttention",
                                      [f(2, 3, 32), f(2, 3, 16), f(2, 3, 16), f(2, 2, 0, 8),
                                       f(2, 2, 0, 8), ints([2, 2]), ints(3)],
                                      {"num_heads": 4, "kv_num_heads": 2, "smooth_softmax": 1}, 3),
    "group query attention, sinks": ("GroupQueryAttention",
                                     [f(1, 2, 32), f(1, 2, 16), f(1, 2, 16), f(1, 2, 4, 8),
                                      f(1, 2, 4, 8), ints([5]), ints(6), None, None, None, None,
                                      f(4)],
                                     {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 3,
                                      "softcap": 2.0}, 3),
    "rotary embedding": ("RotaryEmbedding", [f(2, 3, 16), ints([1], dtype="int64"), f(6, 4),
                                             f(6, 4)], {}, 1),
    "rotary embedding of heads": ("RotaryEmbedding",
                                  [f(2, 2, 3, 8), ints([[0, 2, 1], [3, 4, 5]], dtype="int64"),
                                   f(6, 4), f(6, 4)], {"interleaved": 1}, 1),
    "rotary embedding of a part": ("RotaryEmbedding",
                                   [f(1, 2, 3, 12), ints([[0, 2, 1]], dtype="int64"), f(6, 4),
                                    f(6, 4)], {"rotary_embedding_dim": 8, "num_heads": 2}, 1),
    "quantized add": ("QLinearAdd", [u8(2, 3), *QUANTIZED, u8(3), *QUANTIZED, *RESULT], {}, 1),
    "quantized mul": ("QLinearMul", [u8(2, 3), *QUANTIZED, u8(2, 1), *QUANTIZED, *RESULT], {}, 1),
    "quantized sigmoid": ("QLinearSigmoid", [u8(2, 5), *QUANTIZED, scale(1 / 256),
                                             np.array(0, "uint8")], {}, 1),
    "quantized leaky relu": ("QLinearLeakyRelu", [u8(2, 5), *QUANTIZED, *RESULT],
                             {"alpha": 0.1}, 1),
    "quantized softmax": ("QLinearSoftmax", [u8(2, 5), *QUANTIZED, scale(1 / 256),
                                             np.array(0, "uint8")], {"axis": -1, "opset": 13}, 1),
    "quantized softmax of several axes": ("QLinearSoftmax", [u8(2, 3, 5), *QUANTIZED,
                                          scale(1 / 256), np.array(0, "uint8")],
                                          {"axis": 1, "opset": 12}, 1),
    "quantized pool of last channels": ("QLinearAveragePool", [u8(1, 5, 4, 2), *QUANTIZED,
                                        *QUANTIZED], {"kernel_shape": [2, 3], "channels_last": 1},
                                        1),
    "quantized pool": ("QLinearAveragePool", [u8(1, 2, 4, 4), *QUANTIZED, *QUANTIZED],
                       {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    "quantized global pool": ("QLinearGlobalAveragePool", [u8(1, 2, 4, 4), *QUANTIZED,
                                                           *QUANTIZED], {}, 1),
    "quantized concat": ("QLinearConcat", [*RESULT, u8(2, 3), *QUANTIZED, u8(2, 1), *QUANTIZED],
                         {"axis": 1}, 1),
    "quantized where": ("QLinearWhere", [("bool", (2, 3)), u8(2, 3), *QUANTIZED, u8(3), *QUANTIZED,
                                         *RESULT], {}, 1),
    "quantized gemm": ("QGemm", [u8(3, 4), *QUANTIZED, i8(5, 4), scale(0.02), ints(3, dtype="int8"),
                                 ints([5, -100, 0, 7, 900]), scale(0.5), np.array(100, "uint8")],
                       {"transB": 1}, 1),
    "quantized gemm to floats": ("QGemm", [u8(3, 4), *QUANTIZED, i8(4, 5), scale(0.02),
                                           ints(0, dtype="int8")], {}, 1),
    "quantized gemm, scaled": ("QGemm", [u8(4, 3), *QUANTIZED, i8(4, 5), scale(0.02),
                                         ints(0, dtype="int8"), ints([5, -100, 0, 7, 900])],
                               {"transA": 1, "alpha": 0.5}, 1),
    "product of integers to floats": ("MatMulIntegerToFloat",
                                      [u8(3, 4), i8(4, 5), scale(0.05),
                                       scale(0.1, 0.2, 0.3, 0.1, 0.2), np.array(120, "uint8"),
                                       None, f(5)], {}, 1),
    "product quantized on the way": ("DynamicQuantizeMatMul",
                                     [f(3, 4), i8(4, 5), scale(0.1), ints(0, dtype="int8"), f(5)],
                                     {}, 1),
    "quantized attention": ("QAttention", [u8(2, 3, 8), i8(8, 24), f(24), scale(0.02), scale(0.02),
                                           ints([2, 3]), np.array(120, "uint8"),
                                           ints(0, dtype="int8")], HEADS, 1),
    "product by 4 bits": ("MatMulNBits", [f(2, 3, 40), u8(6, 3, 8), f(18)],
                          {"bits": 4, "block_size": 16, "K": 40, "N": 6}, 1),
    "product by 4 bits and zero points": ("MatMulNBits",
                                          [f(3, 40), u8(6, 3, 8), f(18), u8(12), None, f(6)],
                                          {"bits": 4, "block_size": 16, "K": 40, "N": 6}, 1),
    "product by 4 bits in any order": ("MatMulNBits",
                                       [f(3, 32), u8(6, 2, 8), f(12), None,
                                        ints([i * 5 % 3 % 2 for i in range(32)])],
                                       {"bits": 4, "block_size": 16, "K": 32, "N": 6}, 1),
    "product by 8 bits": ("MatMulNBits", [f(3, 32), u8(6, 2, 16), f(12)],
                          {"bits": 8, "block_size": 16, "K": 32, "N": 6}, 1),
}  # fmt: skip


def built(name: str) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """Return the model of a case and its inputs."""
    op_type, given, attrs, outputs = CASES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    arrays = [
        each if each is None or isinstance(each, np.ndarray) else _random(rng, *each)
        for each in given
    ]
    names = ["" if each is None else f"x{i}" for i, each in enumerate(arrays)]
    inputs = [
        helper.make_tensor_value_info(
            each, helper.np_dtype_to_tensor_dtype(array.dtype),
            [f"d{n}" if n > 1 and isinstance(given[i], tuple) and k == 0 and i == 0 else n
             for k, n in enumerate(array.shape)],
        )
        for i, (each, array) in enumerate(zip(names, arrays, strict=True)) if array is not None
    ]  # fmt: skip
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, domain="com.microsoft", **attrs)
    graph = helper.make_graph(
        [node], "g", inputs, [onnx.ValueInfoProto(name=each) for each in results]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return made, [array for array in arrays if array is not None]


def _random(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "float32":
        return np.round(rng.normal(size=shape), 2).astype(dtype)
    low, high = {"uint8": (0, 256), "int8": (-128, 128), "bool": (0, 2)}[dtype]
    return rng.integers(low, high, shape).astype(dtype)


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    model, inputs = built(name)
    with PassContext(opt_level=0):
        made = compile(from_onnx(model))(*inputs)
    wanted = json.loads(RECORDED.read_text())[name]
    for mine, other in zip(made if isinstance(made, tuple) else [made], wanted, strict=True):
        assert (mine.dtype.name, list(mine.shape)) == (other["dtype"], other["shape"])
        # A sum in another order may round to the next integer.
        limit = 1 if mine.dtype.name in ("uint8", "int8") else 1e-4
        values = np.array(other["values"], "float64").reshape(mine.shape)
        np.testing.assert_allclose(np.asarray(mine).astype("float64"), values, 1e-4, limit)


@pytest.mark.parametrize(
    ("op_type", "given", "attrs", "message"),
    [
        ("Attention", [f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 5, 4), None, ints([3])],
         {"past_present_share_buffer": 1}, "past_present_share_buffer is not supported"),
        ("MultiHeadAttention", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, None,
                                f(2, 2, 7, 4), f(2, 2, 7, 4), ints([4])], {},
         "caches longer than what is in them are not supported"),
        ("MultiHeadAttention", [f("n", 3, "w"), f("n", 3, "w"), f("n", 3, "w"), f(24)], {},
         "the widths of tensors and the depth of heads have to be known at import"),
    ],
)  # fmt: skip
def test_refused(op_type: str, given: list[Any], attrs: dict[str, Any], message: str) -> None:
    inputs = [
        helper.make_tensor_value_info(
            f"x{i}", TensorProto.INT32 if isinstance(each, np.ndarray) else TensorProto.FLOAT,
            each.shape if isinstance(each, np.ndarray) else each[1],
        )
        for i, each in enumerate(given) if each is not None
    ]  # fmt: skip
    names = ["" if each is None else f"x{i}" for i, each in enumerate(given)]
    node = helper.make_node(op_type, names, ["y"], domain="com.microsoft", num_heads=2, **attrs)
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(ModelError, match=message):
        from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def record() -> None:
    """Write what onnxruntime gives."""
    import onnxruntime

    made = {}
    for name in CASES:
        model, inputs = built(name)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        names = [each.name for each in session.get_inputs()]
        made[name] = [
            {"dtype": each.dtype.name, "shape": list(each.shape),
             "values": [float(f"{value:.6g}") for value in each.reshape(-1).astype("float64")]}
            for each in session.run(None, dict(zip(names, inputs, strict=True)))
        ]  # fmt: skip
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in made.items())
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record()
