"""Functions that JAX exports, of any batch: portable artifacts and exports themselves."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

# ruff: noqa: E402
import jax.numpy as jnp
from jax import export

import relax_mlir
from relax_mlir.transform import PassContext

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


WEIGHTS = {
    "embed": normal(50, 16), "qkv": normal(16, 48), "out": normal(16, 16), "up": normal(16, 32),
    "down": normal(32, 16), "scale": normal(16), "kernel": normal(3, 3, 3, 8), "head": normal(8, 4),
}  # fmt: skip


def normalized(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def transformer(tokens):
    """One layer of a decoder with causal attention."""
    w, length = WEIGHTS, tokens.shape[1]
    x = jnp.take(w["embed"], tokens, axis=0)
    q, k, v = (
        each.reshape(*each.shape[:2], 4, 4)
        for each in jnp.split(normalized(x, w["scale"]) @ w["qkv"], 3, axis=-1)
    )
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    found = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
    x = x + found.reshape(x.shape) @ w["out"]
    return x + jax.nn.gelu(normalized(x, w["scale"]) @ w["up"]) @ w["down"]


def network(images):
    """A convolution, pooling, and a layer."""
    x = jax.lax.conv_general_dilated(
        images, WEIGHTS["kernel"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = jax.lax.reduce_window(
        jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )
    return jax.nn.log_softmax(x.mean((1, 2)) @ WEIGHTS["head"])


def recurrent(x):
    """A scan over time, and the largest states."""
    step = jax.lax.scan(lambda h, row: ((h := jnp.tanh(h + row)), h), x[:, 0] * 0, x.swapaxes(0, 1))
    values, places = jax.lax.top_k(step[1].swapaxes(0, 1), 2)
    return step[0], jnp.sort(values), jnp.argmax(x, -1), places


def windows(x):
    """Windows of symbolic sizes: all rows before each, and what SAME pads."""
    mean = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3), (1, 2, 2), "SAME")
    return jnp.cumsum(x, 1), jnp.nonzero(x[0, 0] > 0, size=2)[0], mean


CASES = [
    (transformer, "b, s", np.int32, [(2, 5), (3, 9)]),
    (network, "b, 12, 12, 3", np.float32, [(2, 12, 12, 3), (5, 12, 12, 3)]),
    (windows, "b, s, n", np.float32, [(2, 5, 4), (1, 6, 3)]),
    (recurrent, "b, 6, 7", np.float32, [(2, 6, 7), (4, 6, 7)]),
]


@pytest.mark.parametrize("serialized", [True, False])
@pytest.mark.parametrize(("function", "dims", "dtype", "shapes"), CASES)
def test_export(function, dims, dtype, shapes, serialized) -> None:
    shape = export.symbolic_shape(dims)
    exported = export.export(jax.jit(function))(jax.ShapeDtypeStruct(shape, dtype))
    with PassContext(opt_level=0):
        main = relax_mlir.compile(exported.mlir_module_serialized if serialized else exported)
    for sizes in shapes:
        x = normal(*sizes) if dtype == np.float32 else RNG.integers(0, 50, sizes, np.int32)
        results = main(x)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for result, expected in zip(results, jax.tree.leaves(function(x)), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, np.asarray(expected), rtol=1e-4, atol=1e-5)
