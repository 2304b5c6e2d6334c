"""Layers of LSTM, GRU and simple recurrent networks: a loop over time, whatever the length.

Gates are in torch's order: input, forget, cell, output; reset, update, new.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.script import from_source

# A row at a time that is known to be inside: results are written where they are, not copied.
_ROWS = """
@I.ir_module
class Rows:
    @T.prim_func
    def take_row(data: T.handle, out: T.handle, i: T.int64):
        time, batch, width = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(data, (time, batch, width), "DTYPE")
        B = T.match_buffer(out, (batch, width), "DTYPE")
        for b, w in T.grid(batch, width):
            with T.block("take_row"):
                vb, vw = T.axis.remap("SS", [b, w])
                B[vb, vw] = A[i, vb, vw]

    @T.prim_func
    def put_row(data: T.handle, row: T.handle, i: T.int64):
        time, batch, width = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(data, (time, batch, width), "DTYPE")
        B = T.match_buffer(row, (batch, width), "DTYPE")
        for b, w in T.grid(batch, width):
            with T.block("put_row"):
                vb, vw = T.axis.remap("SS", [b, w])
                A[i, vb, vw] = B[vb, vw]
"""
# Gets what the input adds to the gates, the state, the weight and the bias of the state.
Step = Callable[[Any, Sequence[Any], Any, Any], list[Any]]


def lstm_step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
    """Return the next hidden state and cell."""
    hidden, cell = state
    enter, forget, change, leave = _columns(op.add(projected, project(hidden, weight, bias)), 4)
    kept = op.multiply(op.sigmoid(forget), cell)
    cell = op.add(kept, op.multiply(op.sigmoid(enter), op.tanh(change)))
    return [op.multiply(op.sigmoid(leave), op.tanh(cell)), cell]


def gru_step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
    """Return the next hidden state; the state is reset after its product with the weight."""
    (hidden,) = state
    inputs = _columns(projected, 3)
    hiddens = _columns(project(hidden, weight, bias), 3)
    reset, update = (op.sigmoid(op.add(inputs[i], hiddens[i])) for i in range(2))
    return [_mixed(hidden, update, op.add(inputs[2], op.multiply(reset, hiddens[2])))]


def gru_step_reset_first(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
    """Return the next hidden state; the state is reset before its product with the weight."""
    (hidden,) = state
    width = hidden.ty.dims[-1]
    weights = [_part(weight, 0, *ends) for ends in ((0, 2 * width), (2 * width, 3 * width))]
    biases = [None, None]
    if bias is not None:
        biases = [_part(bias, 0, *ends) for ends in ((0, 2 * width), (2 * width, 3 * width))]
    gates = op.add(_part(projected, 1, 0, 2 * width), project(hidden, weights[0], biases[0]))
    reset, update = (op.sigmoid(each) for each in _columns(gates, 2))
    new = project(op.multiply(reset, hidden), weights[1], biases[1])
    return [_mixed(hidden, update, op.add(_part(projected, 1, 2 * width, 3 * width), new))]


def simple_step(activation: Callable[[Any], Any]) -> Step:
    """Return the step of a network that only has an activation."""

    def step(projected: Any, state: Sequence[Any], weight: Any, bias: Any) -> list[Any]:
        return [activation(op.add(projected, project(state[0], weight, bias)))]

    return step


def _mixed(hidden: Any, update: Any, new: Any) -> Any:
    new = op.tanh(new)
    return op.add(op.multiply(op.subtract(hidden, new), update), new)


def _part(x: Any, axis: int, begin: Any, end: Any) -> Any:
    return op.strided_slice(x, axes=[axis], begin=[begin], end=[end])


def _columns(x: Any, count: int) -> list[Any]:
    """Return equal parts of the last dimension."""
    width = x.ty.dims[-1] // count
    return [_part(x, 1, width * i, width * (i + 1)) for i in range(count)]


def project(x: Any, weight: Any, bias: Any) -> Any:
    """Return a product with a transposed weight, and a bias added if there is one."""
    product = op.matmul(x, op.permute_dims(weight, [1, 0]))
    return product if bias is None else op.add(product, bias)


def recurrent_layer(
    builder: Any, x: Any, state: Sequence[Any], weights: Sequence[Any], step: Step,
    is_reversed: bool,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Return a layer's results over time (time, batch, hidden) and its last state.

    Args:
        builder: the block builder; loops may stand where it is.
        x: (time, batch, input).
        state: (batch, hidden) each.
        weights: of the input and of the state, and the bias of each, which may be None.
        step: what gives the next state.
        is_reversed: whether it goes backwards.
    """
    inputs, hiddens, bias, hidden_bias = weights
    if is_reversed:
        x = op.flip(x, axis=0)
    projected = builder.emit(project(x, inputs, bias))
    (time, batch, _), dtype = x.ty.dims, x.ty.dtype
    rows = from_source(_ROWS.replace("DTYPE", dtype))
    take_row, put_row = (builder.add_func(rows[name], name) for name in ("take_row", "put_row"))
    state = [builder.emit(each) for each in state]
    outputs = op.zeros((time, batch, state[0].ty.dims[-1]), dtype)
    with builder.for_((0, time), [*state, outputs]) as loop, loop.body() as (i, *carried):
        *current, results = carried
        at = ShapeExpr([i])
        given = TensorType(projected.ty.dims[1:], dtype)
        now = builder.emit(op.call_tir(take_row, [projected], given, tir_vars=at))
        new = [builder.emit(each) for each in step(now, current, hiddens, hidden_bias)]
        filled = op.call_tir_inplace(put_row, [results, new[0]], [0], results.ty, tir_vars=at)
        loop.yield_(*new, filled)
    *last, results = loop.results
    return (op.flip(results, axis=0) if is_reversed else results), last
