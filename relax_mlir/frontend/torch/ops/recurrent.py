"""LSTM, GRU and simple recurrent networks: a loop over time, whatever the length."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op


def _columns(x: Any, count: int) -> list[Any]:
    """Return equal parts of the last dimension."""
    width = x.ty.dims[-1] // count
    return [
        op.strided_slice(x, axes=[1], begin=[width * i], end=[width * (i + 1)])
        for i in range(count)
    ]


def _lstm_step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
    hidden, cell = state
    gates = op.add(projected, _project(hidden, weight, bias))
    enter, forget, change, leave = _columns(gates, 4)
    kept = op.multiply(op.sigmoid(forget), cell)
    cell = op.add(kept, op.multiply(op.sigmoid(enter), op.tanh(change)))
    return [op.multiply(op.sigmoid(leave), op.tanh(cell)), cell]


def _gru_step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
    (hidden,) = state
    inputs = _columns(projected, 3)
    hiddens = _columns(_project(hidden, weight, bias), 3)
    reset, update = (op.sigmoid(op.add(inputs[i], hiddens[i])) for i in range(2))
    new = op.tanh(op.add(inputs[2], op.multiply(reset, hiddens[2])))
    return [op.add(op.multiply(op.subtract(hidden, new), update), new)]


def _simple_step(activation: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    def step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
        return [activation(op.add(projected, _project(state[0], weight, bias)))]

    return step


def _project(x: Any, weight: Any, bias: Any) -> Any:
    product = op.matmul(x, op.permute_dims(weight, [1, 0]))
    return product if bias is None else op.add(product, bias)


def _layer(
    m: Importer, x: Any, state: Sequence[Any], weights: Sequence[Any], step: Any, is_reversed: bool
) -> tuple[Any, list[Any]]:
    """Return a layer's results over time (time, batch, hidden) and its last state."""
    bb = m.block_builder
    inputs, hiddens, *biases = weights[:4]
    bias, hidden_bias = biases if len(biases) == 2 else (None, None)
    if is_reversed:
        x = op.flip(x, axis=0)
    projected = bb.emit(_project(x, inputs, bias))
    time, batch = x.ty.dims[0], x.ty.dims[1]
    width = state[0].ty.dims[-1]
    state = [bb.emit(each) for each in state]
    outputs = op.zeros((time, batch, width), m.dtype)
    with bb.for_((0, time), [*state, outputs]) as loop, loop.body() as (i, *carried):
        *current, results = carried
        new = [bb.emit(each) for each in step(projected[i], current, hiddens, hidden_bias)]
        place = op.reshape(op.shape_to_tensor([i]), (1, 1))
        row = op.expand_dims(new[0], axis=0)
        loop.yield_(*new, op.scatter_nd(results, place, row))
    *last, results = loop.results
    return (op.flip(results, axis=0) if is_reversed else results), last


def _network(
    m: Importer, x: Any, states: Sequence[Any], params: Sequence[Any], has_biases: bool,
    layers: int, is_bidirectional: bool, batch_first: bool, step: Any, per_layer: int,
) -> list[Any]:  # fmt: skip
    """Return the results over time and the last states of all layers, (layers, batch, hidden)."""
    has_batch = x.ty.ndim == 3
    if not has_batch:
        x = op.expand_dims(x, axis=0 if batch_first else 1)
        states = [op.expand_dims(each, axis=1) for each in states]
    if batch_first:
        x = op.permute_dims(x, [1, 0, 2])
    directions = 2 if is_bidirectional else 1
    lasts: list[list[Any]] = []
    for layer in range(layers):
        outputs = []
        x = m.block_builder.emit(x)
        for direction in range(directions):
            index = layer * directions + direction
            weights = params[index * per_layer : (index + 1) * per_layer]
            first = [
                op.squeeze(op.strided_slice(each, axes=[0], begin=[index], end=[index + 1]), [0])
                for each in states
            ]
            result, last = _layer(m, x, first, weights, step, direction == 1)
            outputs.append(result)
            lasts.append(last)
        x = outputs[0] if directions == 1 else op.concat(outputs, axis=-1)
    if batch_first:
        x = op.permute_dims(x, [1, 0, 2])
    finals = [op.stack([last[i] for last in lasts], axis=0) for i in range(len(states))]
    if not has_batch:
        x = op.squeeze(x, axis=[0 if batch_first else 1])
        finals = [op.squeeze(each, axis=[1]) for each in finals]
    return [x, *finals]


def _recurrent(step: Any, has_cell: bool = False) -> Callable[..., Any]:
    def convert(
        m: Importer, x: Any, state: Any, params: Sequence[Any], has_biases: bool, layers: int,
        dropout: float, train: bool, is_bidirectional: bool, batch_first: bool,
    ) -> list[Any]:  # fmt: skip
        states = list(state) if has_cell else [state]
        per_layer = len(params) // (layers * (2 if is_bidirectional else 1))
        return _network(
            m,
            x,
            states,
            params,
            has_biases,
            layers,
            is_bidirectional,
            batch_first,
            step,
            per_layer,
        )

    return convert


converts("lstm.input")(_recurrent(_lstm_step, has_cell=True))
converts("gru.input")(_recurrent(_gru_step))
converts("rnn_tanh.input")(_recurrent(_simple_step(op.tanh)))
converts("rnn_relu.input")(_recurrent(_simple_step(op.relu)))
