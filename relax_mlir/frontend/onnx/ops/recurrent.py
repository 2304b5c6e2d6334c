"""Recurrent layers and Fourier transforms."""

from typing import Any

from relax_mlir.frontend.registry import converts

_ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
# Operands of a layer: of them RNN and GRU have six, LSTM eight.
_OPERANDS = 8


@converts("onnx", "RNN", "GRU", "LSTM", since=7)
def recurrent(node: Any) -> Any:
    """Run a recurrent layer in one or both directions.

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
    )[: 3 if kind == "LSTM" else 2]  # fmt: skip


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
