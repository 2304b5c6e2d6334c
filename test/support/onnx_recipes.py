"""How random ONNX models grow: for each group of operations, nodes that are valid where they stand.

A recipe takes the model under construction, `random_onnx_models.Maker`, and returns the nodes'
results, or None where nothing in the model fits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper
from random_models import FLOATS, INTS, NUMBERS

# What a comparison or a rounding has to be away from its edge: results of others differ by less.
MARGIN = 1e-2

# Operations with steps: data that was not looked at may be at one. And Einsum, of which
# onnxruntime broadcasts axes of one element.
STEPS = (
    "ThresholdedRelu", "Floor", "Ceil", "Round", "Sign", "Equal", "Less", "Greater",
    "LessOrEqual", "GreaterOrEqual", "Cast", "ArgMax", "ArgMin", "TopK", "NonZero",
    "QuantizeLinear", "OneHot", "Einsum",
)  # fmt: skip
# onnx's reference is wrong at some of these: groups, reverse directions, ranks, uneven padding,
# more channels than images, squares of small integers.
ONLY_ONNXRUNTIME = (
    "ConvTranspose", "GlobalMaxPool", "LRN", "MaxPool", "ReduceSumSquare", "RNN", "GRU", "LSTM",
)  # fmt: skip
UNARY = (
    "Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Log", "Erf", "Sin", "Cos", "Tan",
    "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Softplus", "Softsign",
    "Reciprocal", "Identity", "Mish", "HardSwish",
)  # fmt: skip
WITH_ALPHA = ("Elu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Swish", "Selu")
ROUNDING = ("Floor", "Ceil", "Round", "Sign")
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum")
COMPARISONS = ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSumExp",
)  # fmt: skip


def unary(m: Any) -> Any:
    """Functions of each element."""
    name = m.choice(UNARY)
    return m.node(name, m.pick(FLOATS if name != "Neg" else NUMBERS))


def with_alpha(m: Any) -> Any:
    """Activations with attributes."""
    name = m.choice(WITH_ALPHA)
    x = m.pick(("float32",))
    alpha = round(float(m.rng.uniform(0.1, 2)), 3)
    if name == "ThresholdedRelu" and np.abs(m.data(x) - alpha).min(initial=1) < MARGIN:
        return None
    return m.node(name, x, alpha=alpha)


def gelu(m: Any) -> Any:
    """Both forms of Gelu."""
    return m.node("Gelu", m.pick(("float32",)), approximate=m.choice(("none", "tanh")))


def rounding(m: Any) -> Any:
    """Steps, at inputs away from them."""
    name, x = m.choice(ROUNDING), m.pick(("float32", "float64"))
    at = m.data(x) * (1 if name == "Sign" else 2)
    near = at if name == "Sign" else at - np.round(at)
    return None if np.abs(near).min(initial=1) < MARGIN else m.node(name, x)


def arithmetic(m: Any) -> Any:
    """Operations of two tensors that broadcast."""
    name = m.choice(ARITHMETIC)
    x = m.pick(FLOATS if name == "Mean" else NUMBERS)
    y = m.other(x)
    x, y = m.shuffled(x, y)
    if name == "Div":
        below = m.data(y).astype("float64")
        signs = np.minimum(m.data(x).min(initial=0), below.min(initial=0))
        # onnx's reference rounds integers down, and not to zero.
        if np.abs(below).min(initial=1) < MARGIN or (m.dtype(x) in INTS and signs < 0):
            return None
    return m.node(name, x, y)


def modulo(m: Any) -> Any:
    """Remainders of integers, with both signs."""
    x = m.pick(INTS)
    y = m.other(x)
    return None if not m.data(y).all() else m.node("Mod", x, y, fmod=m.flag())


def compare(m: Any) -> Any:
    """Comparisons, and selection by them."""
    x = m.pick(NUMBERS)
    y = m.other(x)
    apart = np.abs(m.data(x).astype("float64") - m.data(y))
    if m.dtype(x) in FLOATS and apart.min(initial=1) < MARGIN:
        return None
    (condition,) = m.node(m.choice(COMPARISONS), x, y)
    return m.node("Where", condition, x, y) if m.flag() else [condition]


def logic(m: Any) -> Any:
    """Logic of conditions."""
    x = m.pick(("bool",))
    if m.flag():
        return m.node("Not", x)
    return m.node(m.choice(("And", "Or", "Xor")), x, m.other(x))


def cast(m: Any) -> Any:
    """Casts, of floats away from whole numbers."""
    x = m.pick((*NUMBERS, "float16", "bool", "uint8", "int8"))
    to = m.choice((*NUMBERS, "float16", "bool"))
    data = m.data(x)
    if m.dtype(x) == "float16" and to in ("float32", "float64") and x in m.results:
        # onnxruntime does not round what it computes to float16 before such a cast.
        return None
    if m.dtype(x) in FLOATS and to not in FLOATS:
        whole = np.abs(data - np.round(data))
        if whole.min(initial=1) < MARGIN or np.abs(data).min(initial=1) < MARGIN:
            return None
    return m.node("Cast", x, to=m.element(to))


def clip(m: Any) -> Any:
    """Clips at one or both ends."""
    x = m.pick(NUMBERS)
    low = m.const(np.array(-1, m.dtype(x))) if m.flag() else ""
    return m.node("Clip", x, low, m.const(np.array(2, m.dtype(x))))


def reduction(m: Any) -> Any:
    """Reductions along some axes."""
    name = m.choice(REDUCTIONS)
    x = m.pick(("float32", "float64", "int32"))
    axes = m.axes(x)
    given = [] if not axes else [m.const(np.array(axes, "int64"))]
    return m.node(name, x, *given, keepdims=m.flag())


def position(m: Any) -> Any:
    """Positions of the greatest and least elements, where they are clear."""
    x = m.pick(("float32", "int64"), rank=1)
    axis = m.axis(x)
    ordered = np.sort(m.data(x).astype("float64"), axis)
    if np.diff(ordered, axis=axis).min(initial=1) < MARGIN or not m.data(x).size:
        return None
    if m.flag():
        return m.node(m.choice(("ArgMax", "ArgMin")), x, axis=axis, keepdims=m.flag(),
                      select_last_index=m.flag())  # fmt: skip
    k = m.const(np.array([m.rng.integers(1, ordered.shape[axis] + 1)], "int64"))
    return m.node("TopK", x, k, outputs=2, axis=axis, largest=m.flag())


def softmax(m: Any) -> Any:
    """Softmax and its like."""
    x = m.pick(("float32", "float64"), rank=1)
    return m.node(m.choice(("Softmax", "LogSoftmax")), x, axis=m.axis(x))


def normalization(m: Any) -> Any:
    """Normalizations of the last axes and of channels."""
    name = m.choice(("Layer", "RMS", "Instance", "Group", "Batch", "Lp", "LRN", "MeanVariance"))
    x = m.pick(("float32",), rank=1 if name in ("Layer", "RMS", "Lp") else 3)
    dims = m.dims(x)
    if 0 in dims:
        return None
    if name in ("Layer", "RMS"):
        axis = m.axis(x)
        weights = [m.weight(dims[axis:]) for _ in range(2 if name == "Layer" else 1)]
        return m.node(f"{name}Normalization", x, *weights, axis=axis)
    if name == "Lp":
        axis = m.axis(x)
        if np.linalg.norm(m.data(x), axis=axis).min(initial=1) < MARGIN:
            # What others round to zero has no direction.
            return None
        # onnx's reference takes p=1 as the sum of signed elements.
        return m.node("LpNormalization", x, axis=axis, p=2)
    if name == "LRN":
        return m.node("LRN", x, size=3)
    if name == "MeanVariance":
        if len(dims) != 4 or np.std(m.data(x), axis=(0, 2, 3)).min(initial=1) < MARGIN:
            # onnxruntime divides by zero, where onnx's function adds to the deviation.
            return None
        return m.node("MeanVarianceNormalization", x)
    scale, shift = m.weight(dims[1:2]), m.weight(dims[1:2])
    if name == "Instance":
        return m.node("InstanceNormalization", x, scale, shift)
    if name == "Group":
        groups = m.choice([n for n in range(1, dims[1] + 1) if dims[1] % n == 0])
        return m.node("GroupNormalization", x, scale, shift, num_groups=groups)
    (variance,) = m.node("Abs", m.weight(dims[1:2]))
    return m.node("BatchNormalization", x, scale, shift, m.weight(dims[1:2]), variance)


def matmul(m: Any) -> Any:
    """Products of matrices, of stacks of them, and with vectors."""
    x = m.pick(("float32", "float64", "int32"), rank=1)
    dims = m.dims(x)
    shape = m.choice(([dims[-1], m.size()], [dims[-1]], [*dims[:-2], dims[-1], m.size()]))
    return m.node("MatMul", x, m.tensor(shape, m.dtype(x)))


def gemm(m: Any) -> Any:
    """Gemm, each operand perhaps transposed."""
    x = m.pick(("float32",), rank=2, most=2)
    if 0 in m.dims(x):
        return None
    trans_a, trans_b = m.flag(), m.flag()
    inner, rows = m.dims(x)[:: -1 if not trans_a else 1]
    columns = m.size()
    y = m.tensor([columns, inner] if trans_b else [inner, columns], "float32")
    bias = m.choice(([columns], [rows, columns], [rows, 1], [1]))
    return m.node("Gemm", x, y, m.tensor(bias, "float32"), alpha=0.5, beta=2.0, transA=trans_a,
                  transB=trans_b)  # fmt: skip


def einsum(m: Any) -> Any:
    """Sums of products by letters."""
    x = m.pick(("float32",), rank=3, most=3)
    b, _, k = m.dims(x)
    if not b or not k:  # onnxruntime divides by them, and dies
        return None
    y = m.tensor([b, m.size(), k], "float32")
    return m.node(
        "Einsum", x, y, equation=m.choice(("bik,bjk->bij", "bik,bjk->jb", "bik,ajk->ija"))
    )


def convolution(m: Any) -> Any:
    """Convolutions in one to three dimensions, and transposed ones."""
    x = m.pick(("float32",), rank=3, most=5)
    _, channels, *sizes = m.dims(x)
    kernel = [int(m.rng.integers(1, min(size, 4) + 1)) for size in sizes]
    rank = len(sizes)
    group = m.choice([n for n in range(1, channels + 1) if channels % n == 0])
    filters = int(m.rng.integers(1, 4))
    attrs = {
        "strides": m.ints(rank, 1, 3), "dilations": m.ints(rank, 1, 3), "group": group,
        "pads": m.ints(2 * rank, 0, 2),
    }  # fmt: skip
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, attrs["dilations"], strict=True)]
    if any(n < each for n, each in zip(sizes, reach, strict=True)):
        return None
    if m.flag():
        if min(reach) <= 2:
            del attrs["pads"]
        weight = m.weight([channels, filters, *kernel])
        return m.node("ConvTranspose", x, weight, m.weight([filters * group]), **attrs)
    if m.flag():
        del attrs["pads"]
        # Not VALID, which onnx's reference pads.
        attrs["auto_pad"] = m.choice(("SAME_UPPER", "SAME_LOWER"))
    weight = m.weight([filters * group, channels // group, *kernel])
    return m.node("Conv", x, weight, m.weight([filters * group]), **attrs)


def pooling(m: Any) -> Any:
    """Pooling, of windows and of all there is."""
    name = m.choice(("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"))
    x = m.pick(("float32",), rank=3, most=5)
    if name.startswith("Global"):
        is_wrong = name == "GlobalMaxPool" and len(m.dims(x)) != 4  # in onnx's reference
        return None if is_wrong else m.node(name, x)
    sizes = m.dims(x)[2:]
    kernel = [int(m.rng.integers(1, min(size, 3) + 1)) for size in sizes]
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": m.ints(len(sizes), 1, 3)}
    attrs["pads"] = [int(m.rng.integers(0, each)) for each in kernel * 2]
    attrs["ceil_mode"] = m.flag()
    if name == "AveragePool":
        attrs["count_include_pad"] = m.flag()
    return m.node(name, x, **attrs)


def reshape(m: Any) -> Any:
    """Shapes with the same number of elements: by numbers, 0, -1, or computed of other shapes."""
    x = m.pick()
    dims = m.dims(x)
    kind = m.choice(("flatten", "rest", "keep", "computed"))
    if kind == "flatten":
        return m.node("Flatten", x, axis=int(m.rng.integers(0, len(dims) + 1)))
    if kind == "rest":
        return m.node("Reshape", x, m.const(np.array([-1], "int64")))
    if not dims or 0 in dims:
        return None
    if kind == "keep":
        return m.node("Reshape", x, m.const(np.array([0, -1, 1], "int64")))
    (shape,) = m.node("Shape", x)
    (first,) = m.node("Gather", shape, m.const(np.array([0], "int64")))
    (to,) = m.node("Concat", m.const(np.array([1, -1], "int64")), first, axis=0)
    return m.node("Reshape", x, to)


def move(m: Any) -> Any:
    """Transposes, new axes and axes of one."""
    x = m.pick(rank=1)
    dims = m.dims(x)
    kind = m.choice(("Transpose", "Unsqueeze", "Squeeze"))
    if kind == "Transpose":
        return m.node(kind, x, perm=[int(each) for each in m.rng.permutation(len(dims))])
    if kind == "Unsqueeze":
        at = int(m.rng.integers(-len(dims) - 1, len(dims) + 1))
        return m.node(kind, x, m.const(np.array([at], "int64")))
    ones = [i for i, dim in enumerate(dims) if dim == 1]
    return m.node(kind, x, m.const(np.array(ones, "int64"))) if ones else None


def join(m: Any) -> Any:
    """Tensors one after the other, and cut apart again."""
    x = m.pick(rank=1)
    axis, dims = m.axis(x), list(m.dims(x))
    if m.flag():
        first = int(m.rng.integers(0, dims[axis] + 1))
        return m.node("Split", x, m.const(np.array([first, dims[axis] - first], "int64")),
                      outputs=2, axis=axis)  # fmt: skip
    dims[axis] = m.size()
    return m.node("Concat", *m.shuffled(x, m.tensor(dims, m.dtype(x))), axis=axis)


def cut(m: Any) -> Any:
    """Slices with any start, end and step."""
    x = m.pick(rank=1)
    axes = m.axes(x) or [0]
    sizes = [m.dims(x)[axis] for axis in axes]
    steps = [m.choice((1, 1, 2, -1, -2)) for _ in axes]
    # onnx's reference, which is numpy, has nothing where a negative step starts before the first
    # element; the specification has that element.
    starts = [int(m.rng.integers(-size - (step > 0), size + 1))
              for size, step in zip(sizes, steps, strict=True)]  # fmt: skip
    ends = [int(m.rng.integers(-size - 1, size + 2)) for size in sizes]
    # Some take the greatest end for the beginning where the step is negative.
    ends = [m.choice((end, 2**63 - 1)) if step > 0 else end
            for end, step in zip(ends, steps, strict=True)]  # fmt: skip
    given = [m.const(np.array(each, "int64")) for each in (starts, ends, axes, steps)]
    return m.node("Slice", x, *given)


def extend(m: Any) -> Any:
    """Pads, tiles and broadcasts."""
    kind = m.choice(("Pad", "Tile", "Expand"))
    x = m.pick(NUMBERS, rank=1)
    dims = m.dims(x)
    if kind == "Tile":
        return m.node(kind, x, m.const(np.array(m.ints(len(dims), 1, 3), "int64")))
    if kind == "Expand":
        to = [2, *(m.choice((1, dim)) if dim != 1 else 3 for dim in dims)]
        return m.node(kind, x, m.const(np.array(to, "int64")))
    mode = m.choice(("constant", "edge", "reflect"))
    most = min(dims) if mode == "reflect" else 3
    if most < 1:
        return None
    pads = m.const(np.array(m.ints(2 * len(dims), 0, most), "int64"))
    return m.node(kind, x, pads, mode=mode)


def blocks(m: Any) -> Any:
    """Channels into blocks and back."""
    x = m.pick(("float32",), rank=4, most=4)
    _, channels, rows, columns = m.dims(x)
    if channels % 4 == 0:
        return m.node("DepthToSpace", x, blocksize=2, mode=m.choice(("DCR", "CRD")))
    if rows % 2 or columns % 2:
        return None
    return m.node("SpaceToDepth", x, blocksize=2)


def indexing(m: Any) -> Any:
    """Elements by their indices, taken and written."""
    name = m.choice(("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"))
    x = m.pick(("float32", "int64"), rank=1)
    axis, dims = m.axis(x), m.dims(x)
    if 0 in dims:
        return None
    if name == "Gather":
        return m.node(name, x, m.index(m.shape(2), dims[axis]), axis=axis)
    if name == "GatherND":
        return m.node(name, x, m.index([3, 1], dims[0], ("int64",)))
    if name == "ScatterND":
        places = m.rng.permutation(dims[0])[: m.rng.integers(1, dims[0] + 1), None]
        updates = m.tensor([len(places), *dims[1:]], m.dtype(x))
        return m.node(name, x, m.const(places.astype("int64")), updates)
    shape = [int(m.rng.integers(1, dim + 1)) for dim in dims]
    if name == "GatherElements":
        return m.node(name, x, m.index(shape, dims[axis]), axis=axis)
    order = np.argsort(m.rng.random(dims), axis)[tuple(slice(n) for n in shape)]
    return m.node(name, x, m.const(order), m.tensor(shape, m.dtype(x)), axis=axis)


def along(m: Any) -> Any:
    """Sums up to each element, triangles, one-hot vectors."""
    name = m.choice(("CumSum", "Trilu", "OneHot"))
    if name == "OneHot":
        hot = m.const(np.array([0.5, 2], "float32"))
        indices = m.index(m.shape(2), 4, ("int64",))
        return m.node(name, indices, m.const(np.array(5, "int64")), hot, axis=-1)
    x = m.pick(("float32", "int64"), rank=2 if name == "Trilu" else 1)
    if name == "Trilu":
        return m.node(name, x, m.const(np.array(m.rng.integers(-2, 3), "int64")), upper=m.flag())
    axis = m.const(np.array(m.axis(x), "int64"))
    return m.node(name, x, axis, exclusive=m.flag(), reverse=m.flag())


def counted(m: Any) -> Any:
    """Results whose size depends on data."""
    if m.flag():
        x = m.pick(("float32", "int64", "bool"), rank=1)
        data = m.data(x).astype("float64")
        clear = np.abs(data[data != 0]).min(initial=1) > MARGIN
        return m.node("NonZero", x) if clear else None
    x = m.pick(("float32",), rank=1)
    axis = m.axis(x)
    rank = len(m.dims(x))
    others = [each for each in range(rank) if each != axis % rank]
    seen = x
    if others:
        (seen,) = m.node("ReduceMax", x, m.const(np.array(others, "int64")), keepdims=0)
    if np.abs(m.data(seen)).min(initial=1) <= MARGIN:
        return None
    # Of the axis' size, whatever that is: of longer conditions ONNX says nothing.
    (keep,) = m.node("Greater", seen, m.const(np.array(0, "float32")))
    return m.node("Compress", x, keep, axis=axis)


def resize(m: Any) -> Any:
    """Images of another size."""
    x = m.pick(("float32",), rank=4, most=4)
    if not 0 < np.prod(m.dims(x)) <= 64:  # onnx's reference takes a millisecond for each
        return None
    mode = m.choice(("nearest", "linear", "cubic"))
    place = m.choice(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    factor = m.choice((1.5, 3))
    if place == "align_corners" and factor * m.dims(x)[3] % 1:
        return None  # onnx's reference keeps the fraction of the new size, onnxruntime does not
    scales = m.const(np.array([1, 1, 2, factor], "float32"))
    return m.node("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=place,
                  nearest_mode="floor")  # fmt: skip


def quantized(m: Any) -> Any:
    """Through 8 bits and back, as quantized models do; products of integers."""
    if m.flag():
        dtype = m.choice(("uint8", "int8"))
        x = m.tensor([m.size(), 5], dtype)
        zeros = [m.const(np.array(m.rng.integers(0, 5), dtype)) for _ in range(2)]
        return m.node("MatMulInteger", x, m.weight([5, m.size()], dtype), *zeros)
    x = m.pick(("float32",), rank=1)
    scale, dtype = m.const(np.array(0.25, "float32")), m.choice(("uint8", "int8"))
    zero = m.const(np.array(m.rng.integers(0, 9), dtype))
    at = m.data(x) * 8
    if np.abs((at - 1) / 2 - np.round((at - 1) / 2)).min(initial=1) < MARGIN:
        return None
    (y,) = m.node("QuantizeLinear", x, scale, zero)
    return m.node("DequantizeLinear", y, scale, zero)


def recurrent(m: Any) -> Any:
    """Recurrent layers in one or two directions."""
    kind = m.choice(("RNN", "GRU", "LSTM"))
    x = m.pick(("float32",), rank=3, most=3)
    if 0 in m.dims(x):  # onnxruntime ends the process
        return None
    directions = m.choice((1, 2))
    gates, size = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 3
    weights = [
        m.weight([directions, gates * size, m.dims(x)[2]]),
        m.weight([directions, gates * size, size]), m.weight([directions, 2 * gates * size]),
    ]  # fmt: skip
    way = "bidirectional" if directions == 2 else m.choice(("forward", "reverse"))
    return m.node(kind, x, *weights, outputs=2, hidden_size=size, direction=way)


def loop(m: Any) -> Any:
    """Loops of a few turns that import knows, or does not."""
    x = m.pick(("float32",))
    scalars = {"i": "int64", "c": "bool", "d": "bool"}
    steps = [helper.make_node("Identity", ["c"], ["d"]),
             helper.make_node(m.choice(("Tanh", "Relu", "Softplus")), ["s"], ["r"]),
             helper.make_node(m.choice(("Add", "Sub")), ["r", "s"], ["t"])]  # fmt: skip
    given, results = (
        [helper.make_tensor_value_info(name, m.element(scalars.get(name, "float32")),
                                       [] if name in scalars else None) for name in names]
        for names in ("ics", "dt")
    )  # fmt: skip
    body = helper.make_graph(steps, "body", given, results)
    going = m.const(np.array(True))
    return m.node("Loop", m.count(m.rng.integers(1, 4)), going, x, body=body)


RECIPES: dict[Callable[[Any], Any], int] = {
    unary: 6, with_alpha: 3, gelu: 1, rounding: 2, arithmetic: 8, modulo: 1, compare: 3, logic: 2,
    cast: 3, clip: 2, reduction: 5, position: 2, softmax: 3, normalization: 4, matmul: 5, gemm: 3,
    einsum: 1, convolution: 4, pooling: 3, reshape: 5, move: 4, join: 4, cut: 4, extend: 4,
    blocks: 1, indexing: 4, along: 2, counted: 1, resize: 1, quantized: 2, recurrent: 1, loop: 1,
}  # fmt: skip
