"""LSTM, GRU and simple recurrent networks of several layers and directions."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.frontend.recurrent import recurrent_layer
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op


def _network(
    m: Importer, x: Any, states: Sequence[Any], params: Sequence[Any], has_biases: bool,
    layers: int, is_bidirectional: bool, batch_first: bool, cell: str,
) -> list[Any]:  # fmt: skip
    """Return the results over time and the last states of all layers, (layers, batch, hidden)."""
    has_batch = x.ty.ndim == 3
    if not has_batch:
        x = op.expand_dims(x, axis=0 if batch_first else 1)
        states = [op.expand_dims(each, axis=1) for each in states]
    if batch_first:
        x = op.permute_dims(x, [1, 0, 2])
    directions = 2 if is_bidirectional else 1
    per_layer = 4 if has_biases else 2
    if len(params) != layers * directions * per_layer:
        raise ExprError("LSTMs whose state is projected (proj_size) are not supported")
    lasts: list[list[Any]] = []
    for layer in range(layers):
        x = m.block_builder.emit(x)
        index, end = layer * directions, (layer + 1) * directions
        first = [op.strided_slice(each, axes=[0], begin=[index], end=[end]) for each in states]
        own = params[index * per_layer : end * per_layer]
        stacked = [m.block_builder.emit(op.stack(own[i::per_layer])) for i in range(per_layer)]
        weights = [*stacked, *[None] * (4 - per_layer)]
        ways = [False, True][:directions]
        x, last = recurrent_layer(m.block_builder, cell, x, first, weights, ways)
        x = op.reshape(x, (*x.ty.dims[:2], x.ty.dims[2] * x.ty.dims[3]))
        lasts.append(last)
    if batch_first:
        x = op.permute_dims(x, [1, 0, 2])
    finals = [op.concat([last[i] for last in lasts], axis=0) for i in range(len(states))]
    if not has_batch:
        x = op.squeeze(x, axis=[0 if batch_first else 1])
        finals = [op.squeeze(each, axis=[1]) for each in finals]
    return [x, *finals]


def _recurrent(cell: str) -> Callable[..., Any]:
    def convert(
        m: Importer, x: Any, state: Any, params: Sequence[Any], has_biases: bool, layers: int,
        dropout: float, train: bool, is_bidirectional: bool, batch_first: bool,
    ) -> list[Any]:  # fmt: skip
        states = list(state) if cell == "lstm" else [state]
        return _network(
            m, x, states, params, has_biases, layers, is_bidirectional, batch_first, cell
        )

    return convert


converts("lstm.input")(_recurrent("lstm"))
converts("gru.input")(_recurrent("gru"))
converts("rnn_tanh.input")(_recurrent("tanh"))
converts("rnn_relu.input")(_recurrent("relu"))
