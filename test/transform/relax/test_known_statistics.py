"""Batch normalisations by constants: folded at every level, and the same numbers as before."""

import numpy as np
import pytest

from relax_mlir import relax, transform

RTOL = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


def parameters(channels, dtype):
    rng = np.random.default_rng(channels)
    draws = [rng.random(channels) + 0.5 for _ in range(4)]
    return [(draw - shift).astype(dtype) for draw, shift in zip(draws, (0, 1, 1, 0), strict=True)]


def normalised(x, values, axis, epsilon=1e-5):
    gamma, beta, mean, var = (
        value.astype("f8").reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        for value in values
    )
    return (x.astype("f8") - mean) / np.sqrt(var + epsilon) * gamma + beta


def run(module, x, level):
    with transform.PassContext(opt_level=level):
        return relax.VirtualMachine(relax.build(module))["main"](x)


@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [((2, 3, 5, 7), 1, "float32"), ((1, 17), -1, "float64"), ((3, 4, 5), 2, "float16"),
     ((0, 3, 2, 2), 1, "float32"), (("n", 3, 2), 1, "float32")],
)  # fmt: skip
def test_alone_with_its_statistics(level, shape, axis, dtype):
    sizes = [4 if dim == "n" else dim for dim in shape]
    axis %= len(shape)
    values = parameters(sizes[axis], dtype)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    with builder.function("main", [x]):
        consts = [relax.const(value) for value in values]
        out = builder.emit(relax.op.nn.batch_norm(x, *consts, axis=axis, training=False))
        builder.emit_func_output(out)
    data = np.random.default_rng(1).standard_normal(sizes).astype(dtype)
    got, mean, var = (np.asarray(each) for each in run(builder.get(), data, level))
    want = normalised(data, values, axis)
    np.testing.assert_allclose(got, want, rtol=RTOL[dtype], atol=RTOL[dtype])
    np.testing.assert_array_equal(mean, values[2])
    np.testing.assert_array_equal(var, values[3])


@pytest.mark.parametrize("level", [0, 2, 3])
def test_after_a_convolution(level):
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((19, 5, 1, 1)).astype("float32")
    values = parameters(19, "float32")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 5, 7, 9), "float32"))
    with builder.function("main", [x]):
        made = builder.emit(relax.op.nn.conv2d(x, relax.const(weight)))
        consts = [relax.const(value) for value in values]
        out = builder.emit(relax.op.nn.batch_norm(made, *consts, axis=1, training=False)[0])
        builder.emit_func_output(builder.emit(relax.op.nn.relu(out)))
    data = rng.standard_normal((2, 5, 7, 9)).astype("float32")
    conv = np.einsum("ncyx,oc->noyx", data.astype("f8"), weight[:, :, 0, 0].astype("f8"))
    want = np.maximum(normalised(conv, values, 1), 0)
    np.testing.assert_allclose(
        np.asarray(run(builder.get(), data, level)), want, rtol=2e-5, atol=2e-5
    )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("level", [0, 2])
def test_infinite_factors_keep_signs(known, level):
    x = np.array([[-1, 0.5, 3], [1, 0.25, np.inf]], "float32")
    values = [
        np.array(each, "float32")
        for each in ([np.inf, np.inf, 2], [1, 2, 3], [0.5, 0.25, 1], [1, 2, 3])
    ]
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorStructInfo(x.shape, "float32"))
    given = [relax.Var(f"p{i}", relax.TensorStructInfo((3,), "float32")) for i in range(4)]
    with builder.function("main", [data] if known else [data, *given]):
        stats = [relax.const(value) for value in values] if known else given
        out = builder.emit(relax.op.nn.batch_norm(data, *stats, axis=1, training=False)[0])
        builder.emit_func_output(out)
    with transform.PassContext(opt_level=level):
        main = relax.VirtualMachine(relax.build(builder.get()))["main"]
    got = np.asarray(main(x) if known else main(x, *values))
    with np.errstate(invalid="ignore"):
        want = normalised(x, values, 1)
    np.testing.assert_allclose(got, want, rtol=2e-5)
