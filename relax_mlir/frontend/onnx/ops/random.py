"""Random numbers: uniform, normal, Bernoulli, multinomial, dropout."""

from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.weights import dtype_name
from relax_mlir.frontend.random import dropout, key_of_seed, next_key
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import const


def key(node: Any) -> Any:
    """Return the key of a node: that of its seed, else another one at each run."""
    seed = node.attrs.get("seed")
    return next_key(node.emit) if seed is None else key_of_seed(seed)


def _dtype(node: Any, default: str) -> str:
    to = node.attrs.get("dtype")
    return default if to is None else dtype_name(to, node.proto.op_type)


def _numbers(node: Any, dims: Any, default: str) -> Any:
    dtype = _dtype(node, default)
    if "Uniform" in node.proto.op_type:
        low, high = node.attrs["low"], node.attrs["high"]
        return op.random.uniform(key(node), dims, low, high, dtype=dtype)
    mean, scale = node.attrs["mean"], node.attrs["scale"]
    return op.random.normal(key(node), dims, mean, scale, dtype=dtype)


@converts("onnx", "RandomUniform", "RandomNormal")
def random(node: Any) -> Any:
    """Return random numbers of a shape that is an attribute."""
    return _numbers(node, tuple(node.attrs["shape"]), "float32")


@converts("onnx", "RandomUniformLike", "RandomNormalLike")
def random_like(node: Any) -> Any:
    """Return random numbers of the shape of another tensor, and of its dtype."""
    return _numbers(node, node.dims(), node.dtype())


@converts("onnx", "Bernoulli")
def bernoulli(node: Any) -> Any:
    """Return 1 with the probabilities that the input has, else 0."""
    numbers = op.random.uniform(key(node), node.dims(), dtype=node.dtype())
    return op.astype(op.less(numbers, node.x()), _dtype(node, node.dtype()))


@converts("onnx", "Multinomial")
def multinomial(node: Any) -> Any:
    """Return samples of indices by unnormalised log-probabilities."""
    probabilities = op.nn.softmax(node.x(), axis=-1)
    count, dtype = node.attrs["sample_size"], _dtype(node, "int32")
    return op.random.multinomial(key(node), probabilities, count, dtype=dtype)


@converts("onnx", "Dropout")
def dropout_inference(node: Any) -> Any:
    """Return the input; the mask keeps everything."""
    x = node.x()
    return [of_expr(x), op.ones_like(x, "bool")] if node.wants(1) else node.value(0)


@converts("onnx", "Dropout", since=12)
def dropout_training(node: Any) -> Any:
    """Return the input; in training mode with elements set to 0 at random."""
    is_training = node.const(2) if node.has(2) else np.array(False)
    if is_training is not None and not is_training:
        return dropout_inference(node)
    rate = op.astype(node.x(1), "float32") if node.has(1) else const(0.5, "float32")
    if is_training is None:
        rate = op.where(node.x(2), rate, const(0, "float32"))
    results = dropout(node.emit, key(node), node.x(), node.dims(), node.emit(rate))
    return list(results) if node.wants(1) else results[0]
