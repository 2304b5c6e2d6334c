"""Convolution, pooling and normalisation against numpy: compiled, and by the library."""

import itertools

import numpy as np
import pytest
from programs import Program, tensor

from relax_mlir import relax
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.errors import ExprError

RTOL = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-5, 6, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def to(x, source, target):
    return x.transpose([source.index(letter) for letter in target])


def pads(padding):
    return padding if len(padding) == 4 else [padding[0], padding[-1]] * 2


def conv_reference(x, w, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    """Add up one product of shifted images per element of the kernel, in NCHW and OIHW."""
    top, left, bottom, right = pads(padding)
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, _, h, wd = x.shape
    o, i, kh, kw = w.shape
    oh = (h - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (wd - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    out = np.zeros((n, o, oh, ow), np.float64)
    for y, z in itertools.product(range(kh), range(kw)):
        a, b = y * dilation[0], z * dilation[1]
        part = x[:, :, a : a + (oh - 1) * strides[0] + 1 : strides[0]]
        part = part[:, :, :, b : b + (ow - 1) * strides[1] + 1 : strides[1]]
        for g in range(groups):
            rows = slice(g * o // groups, (g + 1) * o // groups)
            out[:, rows] += np.einsum(
                "nchw,oc->nohw", part[:, g * i : (g + 1) * i], w[rows, :, y, z]
            )
    return out


def pool_reference(x, size, strides, padding, dilation, ceil_mode, include, average):
    top, left, bottom, right = pads(padding)
    n, c, h, w = x.shape
    spans = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    counts = [
        (extent - span + (stride - 1 if ceil_mode else 0)) // stride + 1
        for extent, span, stride in zip(
            (h + top + bottom, w + left + right), spans, strides, strict=True
        )
    ]
    out = np.zeros((n, c, *counts))
    for i, j in itertools.product(*map(range, counts)):
        rows = [i * strides[0] - top + k * dilation[0] for k in range(size[0])]
        columns = [j * strides[1] - left + k * dilation[1] for k in range(size[1])]
        inner = x[:, :, [r for r in rows if 0 <= r < h]][
            :, :, :, [s for s in columns if 0 <= s < w]
        ]
        inner = inner.astype(np.float64)
        if average and include:
            rows = [r for r in rows if -top <= r < h + bottom]
            columns = [s for s in columns if -left <= s < w + right]
            out[:, :, i, j] = inner.sum((2, 3)) / (len(rows) * len(columns))
        elif average:
            out[:, :, i, j] = inner.sum((2, 3)) / max(inner.shape[2] * inner.shape[3], 1)
        else:
            out[:, :, i, j] = inner.max((2, 3), initial=-np.inf)
    return out


def check(got, want, dtype, scale=1.0):
    assert got.dtype == np.dtype(dtype)
    assert got.shape == want.shape
    tolerance = RTOL.get(dtype, 0)
    np.testing.assert_allclose(
        got.astype("f8"), want.astype("f8"), rtol=tolerance, atol=tolerance * scale
    )


# data and weight shapes in NCHW and OIHW, then attributes
CONVOLUTIONS = [
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((2, 3, 8, 9), (5, 3, 3, 3), {"padding": [1, 1]}),
    ((1, 4, 11, 7), (6, 2, 3, 2), {"groups": 2, "strides": [2, 3], "padding": [1, 0, 2, 1]}),
    ((2, 4, 9, 9), (8, 1, 3, 3), {"groups": 4, "dilation": [2, 1], "padding": [2]}),
    ((1, 16, 17, 33), (40, 16, 3, 3), {"strides": [2], "padding": [1]}),
    ((3, 8, 5, 5), (7, 8, 1, 1), {"strides": [2, 1]}),
    ((0, 2, 4, 4), (3, 2, 3, 3), {"padding": [1]}),
    ((1, 2, 5, 13), (3, 2, 5, 1), {"data_layout": "NHWC", "kernel_layout": "HWIO"}),
    (
        (2, 4, 6, 5),
        (4, 2, 3, 3),
        {"groups": 2, "data_layout": "NHWC", "kernel_layout": "OHWI", "padding": [1]},
    ),
    ((2, 3, 6, 5), (4, 3, 3, 3), {"data_layout": "NHWC", "out_layout": "NCHW", "padding": [1]}),
]


def convolution(program, name, case, dtype, kind):
    data, weight, attrs = case
    shapes = [to(np.empty(data), "NCHW", attrs.get("data_layout", "NCHW")).shape,
              to(np.empty(weight), "OIHW", attrs.get("kernel_layout", "OIHW")).shape]  # fmt: skip
    if kind == "symbolic":
        layout = attrs.get("data_layout", "NCHW")
        image = [
            letter.lower() if letter != "C" else shapes[0][i] for i, letter in enumerate(layout)
        ]
        types = [(image, dtype), (shapes[1], dtype)]
    elif kind == "unknown":
        types = [(None, dtype, 4), (None, dtype, 4)]
    else:
        types = [(shapes[0], dtype), (shapes[1], dtype)]
    program.op(name, "conv2d", *types, **attrs)


@pytest.fixture(scope="module")
def convolutions():
    program = Program()
    for index, case in enumerate(CONVOLUTIONS):
        for kind in ("static", "symbolic", "unknown"):
            convolution(program, f"{kind}{index}", case, "float32", kind)
    for dtype in ("float16", "float64", "int32"):
        convolution(program, dtype, CONVOLUTIONS[2], dtype, "symbolic")
    program.op(
        "int8", "conv2d", ((1, 4, "h", "w"), "int8"), ((6, 4, 3, 3), "int8"), out_dtype="int32"
    )
    return program.build()


@pytest.mark.parametrize("index", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("kind", ["static", "symbolic", "unknown"])
def test_conv2d(convolutions, index, kind):
    data, weight, attrs = CONVOLUTIONS[index]
    x, w = sample(data, "float32"), sample(weight, "float32", 1)
    layouts = {k: attrs[k] for k in attrs if k.endswith("layout")}
    plain = {k: attrs[k] for k in attrs if k not in layouts}
    for key in ("strides", "dilation"):
        plain[key] = [plain.get(key, [1])[0], plain.get(key, [1])[-1]]
    want = conv_reference(x, w, **plain)
    data_layout = layouts.get("data_layout", "NCHW")
    want = to(want, "NCHW", layouts.get("out_layout", data_layout))
    x = np.ascontiguousarray(to(x, "NCHW", data_layout))
    w = np.ascontiguousarray(to(w, "OIHW", layouts.get("kernel_layout", "OIHW")))
    check(convolutions[f"{kind}{index}"](x, w), want, "float32", 30)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_conv2d_dtypes(convolutions, dtype):
    data, weight, attrs = CONVOLUTIONS[2]
    x, w = sample(data, dtype), sample(weight, dtype, 1)
    check(
        convolutions[dtype](x, w),
        conv_reference(x.astype("f8"), w.astype("f8"), **attrs),
        dtype,
        10,
    )


def test_conv2d_sums_of_bytes_do_not_wrap(convolutions):
    x, w = np.full((1, 4, 5, 6), 100, "int8"), np.full((6, 4, 3, 3), 100, "int8")
    want = conv_reference(x.astype("f8"), w.astype("f8"))
    check(convolutions["int8"](x, w), want, "int32")


POOLS = [
    ([2, 2], [2, 2], [0, 0], [1, 1], False, False),
    ([3, 2], [2, 3], [1, 0, 1, 1], [1, 1], False, True),
    ([3, 3], [2, 2], [1, 1], [1, 1], True, False),
    ([3, 3], [2, 2], [1, 1], [1, 1], True, True),
    ([2, 3], [1, 2], [0, 1], [2, 2], False, False),
]


def pool_attrs(case):
    names = ("pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad")
    return dict(zip(names, case, strict=True))


@pytest.fixture(scope="module")
def pools():
    program = Program()
    for name, (index, case) in itertools.product(("max_pool2d", "avg_pool2d"), enumerate(POOLS)):
        attrs = pool_attrs(case)
        program.op(f"{name}_static{index}", name, ((2, 3, 9, 8), "float32"), **attrs)
        program.op(f"{name}_symbolic{index}", name, (("n", 3, "h", "w"), "float32"), **attrs)
        program.op(f"{name}_unknown{index}", name, (None, "float32", 4), **attrs)
        program.op(
            f"{name}_nhwc{index}", name, (("n", "h", "w", 3), "float32"), layout="NHWC", **attrs
        )
    program.op("half", "avg_pool2d", ((1, 2, "h", "w"), "float16"), **pool_attrs(POOLS[1]))
    program.op("bytes", "max_pool2d", ((1, 2, "h", "w"), "int8"), **pool_attrs(POOLS[1]))
    return program.build()


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize("index", range(len(POOLS)))
def test_pool2d(pools, name, index):
    average = name == "avg_pool2d"
    for shape in ((2, 3, 9, 8), (1, 3, 5, 7), (0, 3, 4, 6)):
        x = sample(shape, "float32")
        want = pool_reference(x, *POOLS[index], average)
        kinds = ["symbolic", "unknown"] + ["static"] * (shape == (2, 3, 9, 8))
        for kind in kinds:
            check(pools[f"{name}_{kind}{index}"](x), want, "float32")
        got = pools[f"{name}_nhwc{index}"](np.ascontiguousarray(to(x, "NCHW", "NHWC")))
        check(to(got, "NHWC", "NCHW"), want, "float32")


def test_pool2d_dtypes(pools):
    x = sample((1, 2, 9, 8), "float16")
    check(pools["half"](x), pool_reference(x, *POOLS[1], True), "float16")
    x = sample((1, 2, 9, 8), "int8")
    check(pools["bytes"](x), pool_reference(x, *POOLS[1], False), "int8")


def batch_norm_reference(x, gamma, beta, mean, var, axis, epsilon, training, momentum=0.1):
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    running = mean, var
    if training:
        mean, var = x.mean(axes), x.var(axes)
        running = (running[0] * (1 - momentum) + mean * momentum,
                   running[1] * (1 - momentum) + var * momentum)  # fmt: skip
    around = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    out = (x - mean.reshape(around)) / np.sqrt(var.reshape(around) + epsilon)
    return out * gamma.reshape(around) + beta.reshape(around), *running


@pytest.fixture(scope="module")
def norms():
    program = Program()
    for dtype, training in itertools.product(("float16", "float32", "float64"), (False, True)):
        parameters = [((5,), dtype)] * 4
        name = f"{dtype}_{training}"
        program.op(name, "batch_norm", (("n", 5, "h", 3), dtype), *parameters, training=training)
        program.op(
            f"{name}_last", "batch_norm", (("n", 5), dtype), *parameters,
            training=training, axis=-1, epsilon=1e-3,
        )  # fmt: skip
        program.op(
            f"{name}_unknown", "batch_norm", (None, dtype, 4), *[(None, dtype, 1)] * 4,
            training=training,
        )  # fmt: skip
    for dtype in ("float16", "float32", "float64"):
        program.op(
            f"ln_{dtype}", "layer_norm", (("n", "m"), dtype), (("m",), dtype), (("m",), dtype)
        )
        program.op(
            f"ln2_{dtype}", "layer_norm", (("n", 3, "m"), dtype), *[((3, "m"), dtype)] * 2,
            axes=[1, 2], epsilon=1e-2,
        )  # fmt: skip
        program.op(
            f"lnu_{dtype}", "layer_norm", (None, dtype), (None, dtype, 1), (None, dtype, 1),
        )  # fmt: skip
    for dtype in ("float32", "int8"):
        program.op(f"dropout_{dtype}", "dropout", (("n", 3), dtype))
    return program.build()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(norms, dtype, training):
    parameters = [np.abs(sample((5,), dtype, i)) for i in range(4)]
    wide = [p.astype("f8") for p in parameters]
    for shape in ((2, 5, 7, 3), (1, 5, 1, 3), (3, 5, 33, 3)):
        x = sample(shape, dtype, 9)
        want = batch_norm_reference(x.astype("f8"), *wide, 1, 1e-5, training)
        for suffix in ("", "_unknown"):
            got = norms[f"{dtype}_{training}{suffix}"](x, *parameters)
            for a, b in zip(got, want, strict=True):
                check(a, b, dtype, 10)
    x = sample((17, 5), dtype, 9)
    want = batch_norm_reference(x.astype("f8"), *wide, -1, 1e-3, training)
    for a, b in zip(norms[f"{dtype}_{training}_last"](x, *parameters), want, strict=True):
        check(a, b, dtype, 10)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_layer_norm(norms, dtype):
    for shape, names, axes, epsilon in (
        ((4, 7), ("ln", "lnu"), (1,), 1e-5),
        ((1, 1), ("ln", "lnu"), (1,), 1e-5),
        ((0, 5), ("ln", "lnu"), (1,), 1e-5),
        ((33, 129), ("ln", "lnu"), (1,), 1e-5),
        ((2, 3, 5), ("ln2",), (1, 2), 1e-2),
        ((5, 3, 40), ("ln2",), (1, 2), 1e-2),
    ):
        x = sample(shape, dtype) + np.asarray(3, dtype)
        gamma, beta = (sample([shape[a] for a in axes], dtype, i) for i in (1, 2))
        wide = x.astype("f8")
        centred = wide - wide.mean(axes, keepdims=True)
        want = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon) * gamma + beta
        for name in names:
            check(norms[f"{name}_{dtype}"](x, gamma, beta), want, dtype, 10)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_dropout_is_the_identity(norms, dtype):
    x = sample((7, 3), dtype)
    if dtype == "float32":
        x[0, 0] = np.nan
    out, mask = norms[f"dropout_{dtype}"](x)
    np.testing.assert_array_equal(out, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))


def test_result_of_dropout_can_be_written_to():
    program = Program()

    def body(x):
        from relax_mlir.dialects.bindings import ir
        from relax_mlir.dialects.relax.tuples import make_tuple

        pair = relax_op("dropout", [x], {})
        index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        out = ir.Operation.create(
            "relax.tuple_get_item", results=[x.type], operands=[pair], attributes={"index": index}
        ).result
        ir.Operation.create(
            "relax.call_packed", results=[x.type], operands=[make_tuple([out])],
            attributes={"func": ir.StringAttr.get("test.nn.clear")},
        )  # fmt: skip
        return relax_op("add", [x, out], {})

    from relax_mlir import register_func

    @register_func("test.nn.clear", override=True)
    def clear(x):
        x[:] = 0
        return x

    program.function("main", lambda: [tensor(("n",))], body)
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(program.build()["main"](x), np.arange(5, dtype="float32"))


def test_names_and_numbers_are_looked_at_when_a_call_is_made() -> None:
    x = relax.Var("x", relax.TensorType((2, 3, 4, 8), "float32"))
    bias = relax.Var("bias", relax.TensorType((2, 4, 3, 3), "float32"))
    attended = relax.op.nn.attention_bias(x, x, x, bias)
    assert attended.op == relax.op.nn.attention(x, x, x, bias).op
    with pytest.raises(ExprError, match="at least one section, got 0"):
        relax.op.split(x, 0)
