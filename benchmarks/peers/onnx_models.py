"""A workload as an ONNX model, for ONNX Runtime, OpenVINO and IREE."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from workload import data, places

OPSET = 20
# Ours -> ONNX's name; attributes are made below where they differ.
NAMES = {
    "matmul": "MatMul", "multiply": "Mul", "add": "Add", "sigmoid": "Sigmoid", "tanh": "Tanh",
    "relu": "Relu", "gelu": "Gelu", "exp": "Exp", "softmax": "Softmax",
    "layer_norm": "LayerNormalization", "sum": "ReduceSum", "max": "ReduceMax",
    "log_softmax": "LogSoftmax", "argmax": "ArgMax", "transpose": "Transpose", "conv": "Conv",
    "clip": "Clip",
}  # fmt: skip


class _Graph:
    def __init__(self, weights):
        self.nodes = []
        self.constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind, args, result, **attrs):
        self.nodes.append(helper.make_node(kind, args, [result], **attrs))
        return result


def _attention(graph, node, result, work):
    q, k, v = node.args
    flipped = graph.add("Transpose", [k], "k_flipped", perm=[0, 2, 1])
    scores = graph.add("MatMul", [q, flipped], "scores")
    scale = graph.constant("scale", data(work)[0][q].dtype.type(node.attrs["scale"]))
    scaled = graph.add("Mul", [scores, scale], "scaled")
    shares = graph.add("Softmax", [scaled], "shares", axis=-1)
    graph.add("MatMul", [shares, v], result)


def _fused_attention(graph, node, result, work):
    graph.add(
        "MultiHeadAttention", list(node.args), result,
        domain="com.microsoft", num_heads=1, scale=node.attrs["scale"],
    )  # fmt: skip


def _reduction(graph, node, result, work):
    axes = node.attrs["axes"]
    if node.op == "argmax":
        graph.add("ArgMax", list(node.args), result, axis=axes[0], keepdims=0)
    else:
        name = graph.constant("axes", np.array(axes, "int64"))
        graph.add(NAMES[node.op], [*node.args, name], result, keepdims=0)


def _conv(graph, node, result, work):
    pad, stride = node.attrs["padding"], node.attrs["strides"]
    graph.add(
        "Conv", list(node.args), result,
        pads=[pad] * 4, strides=[stride] * 2, group=node.attrs["groups"],
    )  # fmt: skip


def _batch_norm(graph, node, result, work):
    graph.add("BatchNormalization", list(node.args), result, epsilon=1e-5)


def _max_pool(graph, node, result, work):
    graph.add("MaxPool", list(node.args), result, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)


def _mean(graph, node, result, work):
    axes = graph.constant(f"{result}_axes", np.array(node.attrs["axes"], "int64"))
    graph.add("ReduceMean", [*node.args, axes], result, keepdims=0)


def _clip(graph, node, result, work):
    limits = [graph.constant(f"{result}_{k}", np.float32(node.attrs[k])) for k in ("min", "max")]
    graph.add("Clip", [*node.args, *limits], result)


def _take(graph, node, result, work):
    axis, (shape,) = node.attrs["axis"], work.inputs.values()
    where = graph.constant("where", places([node.attrs["count"]], shape[axis]))
    graph.add("Gather", [*node.args, where], result, axis=axis)


def _gather(graph, node, result, work):
    ((n, m),) = work.inputs.values()
    where = graph.constant("where", places([n, node.attrs["count"]], m))
    graph.add("GatherElements", [*node.args, where], result, axis=1)


def _scatter(graph, node, result, work):
    ((n, m),) = work.inputs.values()
    count = node.attrs["count"]
    where = graph.constant("where", places([count, 1], n))
    news = graph.constant("news", np.ones((count, m), "float32"))
    graph.add("ScatterND", [*node.args, where, news], result)


def _slice(graph, node, result, work):
    step = node.attrs.get("step", -1)
    ends = (0, 1 << 60) if step > 0 else (-1, -(1 << 60))
    limits = [
        graph.constant(f"limit{i}", np.array([number], "int64"))
        for i, number in enumerate((*ends, 1, step))
    ]
    graph.add("Slice", [*node.args, *limits], result)


def _concat(graph, node, result, work):
    graph.add("Concat", [*node.args, *node.args], result, axis=1)


def _pad(graph, node, result, work):
    by = graph.constant("by", np.array(([0, 0] + [node.attrs["by"]] * 2) * 2, "int64"))
    graph.add("Pad", [*node.args, by], result, mode=node.attrs["mode"])


def _upsample(graph, node, result, work):
    scales = graph.constant("scales", np.array([1, 1, 2, 2], "float32"))
    more = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    graph.add("Resize", [*node.args, "", scales], result, mode="nearest", **more)


def _topk(graph, node, result, work):
    k = graph.constant("k", np.array([node.attrs["k"]], "int64"))
    graph.nodes.append(helper.make_node("TopK", [*node.args, k], [result, "which"], axis=1))


def _sort(graph, node, result, work):
    # ONNX has no other sort.
    ((_, count),) = work.inputs.values()
    k = graph.constant("k", np.array([count], "int64"))
    results = [result, "other"] if node.op == "sort" else ["other", result]
    made = helper.make_node("TopK", [*node.args, k], results, axis=1, largest=0)
    graph.nodes.append(made)


def _silu(graph, node, result, work):
    share = graph.add("Sigmoid", list(node.args), f"{result}_share")
    graph.add("Mul", [*node.args, share], result)


def _rms_norm(graph, node, result, work):
    x, gamma = node.args
    two, epsilon = (graph.constant(f"{result}_{n}", np.float32(n)) for n in (2, 1e-5))
    axes = graph.constant(f"{result}_axes", np.array([-1], "int64"))
    square = graph.add("Pow", [x, two], f"{result}_square")
    mean = graph.add("ReduceMean", [square, axes], f"{result}_mean", keepdims=1)
    root = graph.add("Sqrt", [graph.add("Add", [mean, epsilon], f"{result}_sum")], f"{result}_root")
    normal = graph.add("Div", [x, root], f"{result}_normal")
    graph.add("Mul", [normal, gamma], result)


def _cumsum(graph, node, result, work):
    axis = graph.constant(f"{result}_axis", np.int64(node.attrs["axis"]))
    graph.add("CumSum", [*node.args, axis], result)


def _matmul(graph, node, result, work):
    graph.add("MatMulInteger" if node.attrs.get("out_dtype") else "MatMul", list(node.args), result)


def _dequantize(graph, node, result, work):
    graph.add("DequantizeLinear", list(node.args), result, axis=1)


def _dequantize_groups(graph, node, result, work):
    w, scale = node.args
    (k, n), (groups, _) = work.weights[w], work.weights[scale]
    split, one, whole = (
        graph.constant(f"{result}_{name}", np.array(shape, "int64"))
        for name, shape in (("split", (groups, -1, n)), ("one", (groups, 1, n)), ("whole", (k, n)))
    )
    wide = graph.add("Cast", [w], f"{result}_wide", to=TensorProto.FLOAT)
    wide = graph.add("Reshape", [wide, split], f"{result}_groups")
    scales = graph.add("Reshape", [scale, one], f"{result}_scales")
    made = graph.add("Mul", [wide, scales], f"{result}_scaled")
    graph.add("Reshape", [made, whole], result)


def _four_bits(graph, node, result, work):
    """Nothing: the product does it, by numbers of four bits two in a byte, columns outside."""


def _matmul_four_bits(graph, node, result, work):
    if work.nodes[0].op != "dequantize_groups":
        _matmul(graph, node, result, work)
        return
    weights, group = data(work)[1], work.nodes[0].attrs["group"]
    k, n = weights["w"].shape
    counted = (weights["w"].T + 8).astype("uint8").reshape(n, k // group, group // 2, 2)
    bytes_ = graph.constant("bytes", counted[..., 0] | counted[..., 1] << 4)
    scales = graph.constant("scales", np.ascontiguousarray(weights["scale"].T).reshape(-1))
    graph.add(
        "MatMulNBits", [node.args[0], bytes_, scales], result,
        domain="com.microsoft", K=k, N=n, bits=4, block_size=group,
    )  # fmt: skip


def _plain(graph, node, result, work):
    attrs = {
        "softmax": {"axis": -1},
        "log_softmax": {"axis": -1},
        "layer_norm": {"axis": -1, "epsilon": 1e-5},
        "transpose": {"perm": list(node.attrs.get("axes", ()))},
    }.get(node.op, {})
    graph.add(NAMES[node.op], list(node.args), result, **attrs)


WRITERS = {
    "attention": _attention, "sum": _reduction, "max": _reduction, "argmax": _reduction,
    "batch_norm": _batch_norm, "max_pool": _max_pool, "mean": _mean,
    "conv": _conv, "clip": _clip, "take": _take, "gather": _gather, "scatter": _scatter,
    "concat": _concat, "flip": _slice, "step": _slice, "pad": _pad, "upsample": _upsample,
    "topk": _topk, "sort": _sort, "argsort": _sort, "silu": _silu, "rms_norm": _rms_norm,
    "cumsum": _cumsum, "matmul": _matmul, "dequantize": _dequantize,
    "dequantize_groups": _dequantize_groups,
}  # fmt: skip
# Other ways to say the same that ONNX Runtime knows: it gets them all, and its fastest counts.
OTHERS = {"attention": _fused_attention, "dequantize_groups": _four_bits}


def models(work, contrib=False):
    """Return the ways to write a workload, serialised."""
    found = [_model(work, WRITERS)]
    if contrib and any(node.op in OTHERS for node in work.nodes):
        found.append(_model(work, {**WRITERS, **OTHERS, "matmul": _matmul_four_bits}))
    return found


def _model(work, writers):
    weights = data(work)[1]
    graph = _Graph(weights)
    last = len(work.nodes) - 1
    for i, node in enumerate(work.nodes):
        writers.get(node.op, _plain)(graph, node, f"t{i}", work)
    types = {name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in data(work)[0].items()}
    kind = TensorProto.INT64 if work.nodes[-1].op in ("argmax", "argsort") else TensorProto.FLOAT
    if work.dtypes:
        whole = work.nodes[-1].attrs.get("out_dtype")
        kind = TensorProto.INT32 if whole else next(iter(types.values()))
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "main",
            [
                helper.make_tensor_value_info(name, types[name], shape)
                for name, shape in work.inputs.items()
            ],
            [helper.make_tensor_value_info(f"t{last}", kind, None)],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
    )
    if not any(node.domain for node in graph.nodes):
        del made.opset_import[1]
        made = onnx.shape_inference.infer_shapes(made)
    return made.SerializeToString()
