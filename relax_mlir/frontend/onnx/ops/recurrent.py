"""Recurrent layers and Fourier transforms."""

from typing import Any

from relax_mlir.frontend.recurrent import recurrent_layer
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType

_ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
# Operands of a layer: of them RNN and GRU have six, LSTM eight.
_OPERANDS = 8
_LENGTHS, _PEEPHOLES = 4, 7
# Where ONNX has the gates that `relax_mlir.frontend.recurrent` has in its order.
_GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}


@converts("onnx", "RNN", "GRU", "LSTM", since=7)
def recurrent(node: Any) -> Any:
    """Run a recurrent layer in one or both directions.

    The library does it where sequences have lengths of their own, or gates see the cell.

    Raises:
        ModelError: it clips, or has activations other than the default.
    """
    kind, attrs = node.op_type, node.attrs
    directions = 2 if attrs["direction"] == "bidirectional" else 1
    default = _ACTIVATIONS[kind] * directions
    # The default of RNN's schema is for both directions.
    given = (attrs.get("activations") or default)[: len(default)]
    if given != default or attrs.get("clip"):
        raise node.fail(f"activations {given} or clipping are not supported")
    outputs = 3 if kind == "LSTM" else 2
    is_plain = not (node.has(_LENGTHS) or node.has(_PEEPHOLES) or attrs.get("input_forget"))
    if is_plain and node.dims(2)[2].value is not None:
        return _native(node, directions)[:outputs]
    dims, size, layout = node.dims(), node.dims(2)[2], attrs.get("layout", 0)
    time, batch = (dims[1], dims[0]) if layout else (dims[0], dims[1])
    state: list[Any] = [batch, directions, size] if layout else [directions, batch, size]
    y = [batch, time, directions, size] if layout else [time, directions, batch, size]
    args = [node.x(i) if node.has(i) else None for i in range(_OPERANDS)]
    dtype = node.dtype()
    return node.runtime(
        "recurrent", args, [(dtype, y), (dtype, state), (dtype, state)], kind=kind,
        direction=attrs["direction"], layout=layout,
        variant=bool(attrs.get("linear_before_reset", attrs.get("input_forget", 0))),
    )[:outputs]  # fmt: skip


def _native(node: Any, directions: int) -> list[Any]:
    kind, layout = node.op_type, node.attrs.get("layout", 0)
    cell = {"RNN": "tanh", "LSTM": "lstm", "GRU": "gru_reset_first"}[kind]
    if kind == "GRU" and node.attrs.get("linear_before_reset"):
        cell = "gru"
    batch, size, dtype = node.dims()[0 if layout else 1], node.dims(2)[2], node.dtype()
    x = node.x()
    x = node.emit(op.permute_dims(x, [1, 0, 2])) if layout else x
    weights = [_gates(node, i, size) for i in (1, 2)]
    biases: list[Any] = [None, None]
    if node.has(3):
        biases = list(node.emit(op.split(_gates(node, 3, 2 * size), 2, axis=1)))
    weights = [_reordered(node, each, size) for each in (*weights, *biases)]
    state = [node.x(i) if node.has(i) else None for i in (5, 6)[: 2 if kind == "LSTM" else 1]]
    state = [
        op.zeros((directions, batch, size), dtype) if each is None
        else op.permute_dims(each, [1, 0, 2]) if layout else each for each in state
    ]  # fmt: skip
    reversals = [False, True] if directions == 2 else [node.attrs["direction"] == "reverse"]
    y, last = recurrent_layer(node.graph.builder, cell, x, state, weights, reversals)
    y = op.permute_dims(y, [1, 0, 2, 3] if layout else [0, 2, 1, 3])
    states = [op.permute_dims(each, [1, 0, 2]) if layout else each for each in last]
    return [of_expr(node.emit(each)) for each in (y, *states)]


def _gates(node: Any, index: int, size: Any) -> Any:
    """Return weights or biases, of each direction as many rows as all gates together have."""
    first, rows, *others = node.dims(index)
    given = node.x(index)
    if rows.value is not None:
        return given
    dims = [first, size * len(_GATES[node.op_type]), *others]
    return node.graph.builder.match_cast(given, TensorType(dims, node.dtype()))


def _reordered(node: Any, weight: Any, size: Any) -> Any:
    """Return a weight or bias with its gates in the order of the steps."""
    if weight is None:
        return None
    parts = [
        op.strided_slice(weight, axes=[1], begin=[size * i], end=[size * (i + 1)])
        for i in _GATES[node.op_type]
    ]
    return node.emit(op.concat(parts, axis=1) if len(parts) > 1 else parts[0])


@converts("onnx", "DFT", since=17)
def dft(node: Any) -> Any:
    """Transform along an axis; the last axis has real and imaginary parts."""
    args = [node.x(i) if node.has(i) else None for i in range(3)]
    return node.runtime(
        "dft", args, [(node.dtype(), node.ndim())],
        at=node.attrs.get("axis", -2 if node.version >= 20 else 1),
        inverse=bool(node.attrs["inverse"]), onesided=bool(node.attrs["onesided"]),
    )  # fmt: skip


@converts("onnx", "STFT", since=17)
def stft(node: Any) -> Any:
    """Transform frames of a signal."""
    args = [node.x(i) if node.has(i) else None for i in range(4)]
    onesided = bool(node.attrs["onesided"])
    return node.runtime("stft", args, [(node.dtype(), 4)], onesided=onesided)


@converts("onnx", "Col2Im", since=18)
def col2im(node: Any) -> Any:
    """Add columns of windows into an image."""
    image = node.value(1).dims
    rank = image[0].value if image else None
    names = ("dilations", "pads", "strides")
    config = {name: list(node.attrs.get(name) or []) for name in names}
    args = [node.x(0), node.x(1), node.x(2)]
    return node.runtime(
        "col2im", args, [(node.dtype(), None if rank is None else rank + 2)], **config
    )
