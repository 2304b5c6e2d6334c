"""Recurrent layers, as scans over time."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute, placeholder
from relax_mlir.te.scans import scan
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import plain
from relax_mlir.tir.scalar.conversion import const
from relax_mlir.topi.linear_algebra import check_inner
from relax_mlir.topi.support import tensor

_sigmoid, _tanh = functions.UNARY["sigmoid"], functions.UNARY["tanh"]


def lstm(
    Xs: Tensor, Wi: Tensor, Wh: Tensor, Bi: Tensor | None = None, Bh: Tensor | None = None,
    h_init: Tensor | None = None, c_init: Tensor | None = None, proj: Tensor | None = None,
    p_i: Tensor | None = None, p_f: Tensor | None = None, p_o: Tensor | None = None,
    f_act: Callable[[Any], Any] = _sigmoid, g_act: Callable[[Any], Any] = _tanh,
    h_act: Callable[[Any], Any] = _tanh, reverse: bool = False, weight_layout: str = "IFGO",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the hidden states and the cell states of a long short-term memory.

    Args:
        Xs: (time, batch, input).
        Wi: (4 * hidden, input), the gates in the order of `weight_layout`.
        Wh: (4 * hidden, hidden), or as many columns as `proj` has rows.
        Bi: (4 * hidden,) added to the products with inputs.
        Bh: (4 * hidden,) added to those with hidden states.
        h_init: (batch, hidden) hidden states before the first step, zeros by default.
        c_init: (batch, hidden) cell states before the first step, zeros by default.
        proj: (projected, hidden) what hidden states are multiplied by.
        p_i: (batch, hidden) how cell states count in the input gate, with `p_f`.
        p_f: likewise in the forget gate.
        p_o: likewise in the output gate.
        f_act: of the gates.
        g_act: of the cell gate.
        h_act: of cell states.
        reverse: from the last input to the first.
        weight_layout: the order of the gates: input, forget, cell (G) and output.

    Returns:
        (time, batch, hidden or projected) and (time, batch, hidden), in the order of the steps.

    Raises:
        ExprError: the shapes or the layout do not fit.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise ExprError(f"topi.nn.lstm: weight_layout is an order of IFGO, got '{weight_layout}'")
    if tensor(Xs, "nn.lstm").ndim != 3 or Wi.ndim != 2 or Wh.ndim != 2:
        raise ExprError(f"topi.nn.lstm takes (time, batch, input) and matrices: {Xs}, {Wi}, {Wh}")
    steps, batch, width = Xs.shape
    hidden = plain(SymExpr.of(Wi.shape[0]) // 4)
    out = hidden if proj is None else proj.shape[0]
    check_inner(Wi.shape[1], width, "nn.lstm")
    check_inner(plain(SymExpr.of(hidden) * 4), Wi.shape[0], "nn.lstm")
    check_inner(Wh.shape[0], Wi.shape[0], "nn.lstm")
    check_inner(Wh.shape[1], out, "nn.lstm")
    # All products with inputs at once, before the scan.
    k = te.reduce_axis((0, width), "ki2h")
    inputs = compute(
        (steps, batch, Wi.shape[0]),
        lambda t, b, j: te.sum(Xs[t, b, k] * Wi[j, k], axis=k), name="Xi2h",
    )  # fmt: skip
    length = plain(SymExpr.of(steps) + 1)
    h_state = placeholder((length, batch, out), Xs.dtype, "h_state")
    c_state = placeholder((length, batch, hidden), Xs.dtype, "c_state")

    def begin(given: Tensor | None, size: Any, name: str) -> Tensor:
        return compute(
            (1, batch, size),
            lambda _, b, i: const(0, Xs.dtype) if given is None else given[b, i], name=name,
        )  # fmt: skip

    kh = te.reduce_axis((0, out), "kh2h")
    products = compute(
        (length, batch, Wi.shape[0]),
        lambda t, b, j: te.sum(h_state[t - 1, b, kh] * Wh[j, kh], axis=kh), name="s_h2h",
    )  # fmt: skip

    def gate(letter: str, t: Any, b: Any, j: Any) -> Any:
        place = j + hidden * weight_layout.index(letter)
        # Step 0 is what it begins with.
        at = functions.max(functions.min(steps - t if reverse else t - 1, steps - 1), 0)
        total = inputs[at, b, place] + products[t, b, place]
        for bias in (Bi, Bh):
            total = total if bias is None else total + bias[place]
        return total

    def peeped(letter: str, weights: Tensor | None, t: Any, b: Any, j: Any, cell: Any) -> Any:
        total = gate(letter, t, b, j)
        return f_act(total if weights is None else total + weights[b, j] * cell)

    peeps = p_i is not None and p_f is not None

    def next_cell(t: Any, b: Any, j: Any) -> Any:
        before = c_state[t - 1, b, j]
        forget = peeped("F", p_f if peeps else None, t, b, j, before)
        taken = peeped("I", p_i if peeps else None, t, b, j, before)
        return forget * before + taken * g_act(gate("G", t, b, j))

    next_c = compute((length, batch, hidden), next_cell, name="next_c")
    next_h = compute(
        (length, batch, hidden),
        lambda t, b, j: peeped("O", p_o, t, b, j, next_c[t, b, j]) * h_act(next_c[t, b, j]),
        name="next_h",
    )
    if proj is not None:
        kr, unprojected = te.reduce_axis((0, hidden), "kh2p"), next_h
        next_h = compute(
            (length, batch, out),
            lambda t, b, j: te.sum(unprojected[t, b, kr] * proj[j, kr], axis=kr),
            name="next_h_proj",
        )
    starts = [begin(h_init, out, "h_init"), begin(c_init, hidden, "c_init")]
    states = scan(starts, [next_h, next_c], [h_state, c_state], name="lstm_scan")
    sizes = ((out, "hidden_states"), (hidden, "cell_states"))
    result = [
        compute((steps, batch, size), lambda t, b, j, s=state: s[t + 1, b, j], name=name)
        for state, (size, name) in zip(states, sizes, strict=True)
    ]
    return result[0], result[1]
