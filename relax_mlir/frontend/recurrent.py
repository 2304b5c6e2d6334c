"""Layers of LSTM, GRU and simple recurrent networks: one kernel for all steps, of any length.

Gates are in torch's order: input, forget, cell, output; reset, update, new.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.script import from_source

# How many gates a cell has, and how many tensors of state.
CELLS = {"lstm": (4, 2), "gru": (3, 1), "gru_reset_first": (3, 1), "tanh": (1, 1), "relu": (1, 1)}
_NEST = """
for b, w in T.grid(batch, {width}):
    with T.block("{name}"):
        vd, vb, vw = T.axis.remap("SSS", [d, b, w])
        {target} = T.cast({value}, "{dtype}")
"""
# Some rows of the weight at a time, which stay in cache for all of the batch.
_PRODUCT = """
for k, b, w, r in T.grid({hidden} // {rows}, batch, {width}, {rows}):
    with T.block("product"):
        vd, vb, vw = T.axis.remap("SSS", [d, b, w])
        vk = T.axis.reduce({hidden}, k * {rows} + r)
        G[vd, vb, vw + {first}] = (
            G[vd, vb, vw + {first}]
            + T.cast({state}[vd, vb, vk], "{sums}") * T.cast(R[vd, vk, vw + {first}], "{sums}")
        )
"""
# Most rows. A way of L1d has the size of a page: lines that are so far apart share a set of eight
# or twelve, in which those of the sums and of what the hardware prefetches have to stay too.
_ROWS, _ROWS_OF_A_SET, _WAY_BYTES = 8, 4, 4096
_KERNEL = """
@T.prim_func
def {name}({params}):
    time, batch = T.int64(), T.int64()
    P = T.match_buffer(p, (time, batch, {all_gates}), "{dtype}")
    R = T.match_buffer(r, ({directions}, {hidden}, {gates}), "{dtype}")
    B = T.match_buffer(b, ({directions}, {gates}), "{dtype}")
    Y = T.match_buffer(y, (time, batch, {directions}, {hidden}), "{dtype}")
{buffers}
    G = T.alloc_buffer(({directions}, batch, {gates}), "{sums}")
    S = T.alloc_buffer(({directions}, batch, {hidden}), "{sums}")
    for d in T.parallel({directions}):
{start}
        for t in T.serial(time):
{steps}
"""


def recurrent_layer(
    builder: Any, cell: str, x: Any, state: Sequence[Any], weights: Sequence[Any],
    is_reversed: Sequence[bool],
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Return a layer's results (time, batch, directions, hidden) and its last state.

    Two directions run at once where there are threads.

    Args:
        builder: the block builder.
        cell: one of `CELLS`; `gru_reset_first` resets the state before its product.
        x: (time, batch, input).
        state: (directions, batch, hidden) each.
        weights: (directions, gates, input) of the input, (directions, gates, hidden) of the state,
            and the bias (directions, gates) of each, which may be None.
        is_reversed: whether each direction goes backwards.
    """
    inputs, hiddens, bias, hidden_bias = weights
    directions, gates, hidden = hiddens.ty.dims
    width, (time, batch, _), dtype = directions * gates, x.ty.dims, x.ty.dtype
    projected = op.matmul(
        x, op.permute_dims(op.reshape(inputs, (width, inputs.ty.dims[2])), [1, 0])
    )
    if bias is not None:
        projected = op.add(projected, op.reshape(bias, (width,)))
    if hidden_bias is None:
        hidden_bias = op.zeros((directions, gates), dtype)
    way = "bidirectional_" if len(is_reversed) > 1 else "reversed_" if is_reversed[0] else ""
    name = f"{cell}_{way}{hidden}_{dtype}"
    text = _kernel(name, cell, int(hidden.value), dtype, is_reversed)
    kernel = builder.add_func(from_source(text)[name], name)
    last = TensorType((directions, batch, hidden), dtype)
    types = [TensorType((time, batch, directions, hidden), dtype), *[last] * len(state)]
    given = [projected, op.permute_dims(hiddens, [0, 2, 1]), hidden_bias, *state]
    made = builder.emit(op.call_tir(kernel, [builder.emit(each) for each in given], types))
    return made[0], [made[i + 1] for i in range(len(state))]


def _kernel(name: str, cell: str, hidden: int, dtype: str, is_reversed: Sequence[bool]) -> str:
    """Return the script of a prim func that goes over all steps."""
    count, states = CELLS[cell]
    directions, gates = len(is_reversed), count * hidden
    kinds = {"hidden": hidden, "gates": gates, "dtype": dtype, "directions": directions,
             "all_gates": directions * gates}  # fmt: skip
    sums = "float64" if dtype == "float64" else "float32"
    # The second of two directions goes backwards.
    at = "time - 1 - t" if is_reversed[0] else "t"
    at = at if directions == 1 else "t + d * (time - 1 - t * 2)"
    apart = gates * int(dtype[-2:]) // 8
    most = _ROWS_OF_A_SET if apart % _WAY_BYTES == 0 else _ROWS
    rows = next(rows for rows in (8, 4, 2, 1) if rows <= most and hidden % rows == 0)

    def nest(name: str, target: str, value: str, width: int = hidden, to: str = dtype) -> str:
        return _NEST.format(name=name, target=target, value=value, width=width, dtype=to)

    def product(source: str, first: int, width: int) -> str:
        return _PRODUCT.format(
            state=source, first=first, width=width, rows=rows, hidden=hidden, sums=sums
        )

    def wide(text: str) -> str:
        return f'T.cast({text}, "{sums}")'

    given = [wide(f"P[{at}, vb, vd * {gates} + vw + {i * hidden}]") for i in range(count)]
    summed = [f"G[vd, vb, vw + {i * hidden}]" for i in range(count)]
    gate = [f"({x} + {h})" for x, h in zip(given, summed, strict=True)]
    old, kept = wide("H[vd, vb, vw]"), wide("C[vd, vb, vw]")
    steps = [nest("clear", "G[vd, vb, vw]", "B[vd, vw]", gates, sums)]
    early = 2 * hidden if cell == "gru_reset_first" else gates
    steps.append(product("H", 0, early))
    if cell == "lstm":
        value = f"T.sigmoid({gate[1]}) * {kept} + T.sigmoid({gate[0]}) * T.tanh({gate[2]})"
        steps.append(nest("cell", "C[vd, vb, vw]", value))
        steps.append(nest("hidden", "H[vd, vb, vw]", f"T.sigmoid({gate[3]}) * T.tanh({kept})"))
    elif cell.startswith("gru"):
        new = f"T.tanh({given[2]} + T.sigmoid({gate[0]}) * {summed[2]})"
        if cell == "gru_reset_first":
            steps.append(nest("reset", "S[vd, vb, vw]", f"T.sigmoid({gate[0]}) * {old}", to=sums))
            steps.append(product("S", early, hidden))
            new = f"T.tanh({gate[2]})"
        steps.append(nest("new", "S[vd, vb, vw]", new, to=sums))
        mixed = f"({old} - S[vd, vb, vw]) * T.sigmoid({gate[1]}) + S[vd, vb, vw]"
        steps.append(nest("hidden", "H[vd, vb, vw]", mixed))
    else:
        zero = f"T.{sums}(0)"
        value = f"T.tanh({gate[0]})" if cell == "tanh" else f"T.max({gate[0]}, {zero})"
        steps.append(nest("hidden", "H[vd, vb, vw]", value))
    steps.append(nest("put", f"Y[{at}, vb, vd, vw]", "H[vd, vb, vw]"))
    buffers, start = [], []
    for each in ("H", "C")[:states]:
        for handle, buffer in ((f"{each.lower()}0", f"{each}0"), (each.lower(), each)):
            buffers.append(
                f'{buffer} = T.match_buffer({handle}, ({directions}, batch, {hidden}), "{dtype}")\n'
            )
        start.append(nest("start", f"{each}[vd, vb, vw]", f"{each}0[vd, vb, vw]"))
    handles = ["p", "r", "b", "h0", "c0", "y", "h", "c"]
    handles = [each for each in handles if states == 2 or not each.startswith("c")]
    return _KERNEL.format(
        name=name, params=", ".join(f"{each}: T.handle" for each in handles), sums=sums,
        buffers=textwrap.indent("".join(buffers), "    "),
        start=textwrap.indent("".join(start), "        "),
        steps=textwrap.indent("".join(steps), "            "), **kinds,
    )  # fmt: skip
