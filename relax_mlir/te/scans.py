"""Scans: tensors whose parts along the first axis are computed from the parts before them."""

from collections.abc import Iterator, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.te.operation import current_tag, one_or_all
from relax_mlir.te.stage import Stage
from relax_mlir.te.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from relax_mlir.tir.scalar.axes import plain
from relax_mlir.tir.scalar.nodes import Add, ProducerLoad, Sub, nodes_of
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr


class ScanOp(Operation):
    """A scan.

    Attributes:
        init: for each state what it begins with.
        update: for each state the stage that computes a step.
        state: the placeholders that stand for the states in `update`.
        inside: the stages that are computed at each step, in order; `update` is among them.
        tag: free for use.
        attrs: free for use.
    """

    init: list[Tensor]
    update: list[Tensor]
    state: list[Tensor]
    tag: str

    def __init__(
        self, name: str, init: Sequence[Tensor], update: Sequence[Tensor],
        state: Sequence[Tensor], tag: str, attrs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, [each.shape for each in state], [each.dtype for each in state])
        self.init, self.update, self.state = list(init), list(update), list(state)
        self.tag = tag
        self.attrs: dict[str, Any] = attrs or {}
        self.inside: list[ComputeOp] = _inside(name, self.update, self.state)
        self._check_steps()

    @property
    def scan_axis(self) -> Any:
        """The axis of the first state along which the scan goes."""
        op = self.update[0].op
        assert isinstance(op, ComputeOp)
        return op.axis[0]

    @property
    def hidden(self) -> list[Tensor]:
        """The tensors of the stages inside that are no states."""
        states = {id(each) for each in self.update}
        return [t for op in self.inside for t in op.outputs if id(t) not in states]

    @property
    def input_tensors(self) -> list[Tensor]:
        """What it begins with, and what else its steps read."""
        own = {id(each) for each in self.state}
        own |= {id(t) for op in self.inside for t in op.outputs}
        read = [t for op in self.inside for t in op.input_tensors if id(t) not in own]
        return list({id(t): t for t in (*self.init, *read)}.values())

    def _check_steps(self) -> None:
        """Check that each step reads only steps before it, of stages inside also the same one.

        Raises:
            ExprError: one reads others, or it is not known which.
        """
        own = {id(t): 0 for op in self.inside for t in op.outputs}
        least = {**own, **{id(t): 1 for t in self.state}}
        for op in self.inside:
            if not op.axis or SymExpr.of(op.axis[0].dom.extent) != self.state[0].shape[0]:
                raise ExprError(
                    f"in te.scan '{self.name}', stage '{op.name}' has no first axis of "
                    f"{self.state[0].shape[0]} steps"
                )
            for load in _loads(op):
                if id(load.producer) not in least:
                    continue
                back = _steps_back(load.indices[0], op.axis[0])
                if back is None or back < least[id(load.producer)]:
                    raise ExprError(
                        f"in te.scan '{self.name}', stage '{op.name}' reads {load!r}: at each step "
                        "states are read at a step before it, `t - 1`, and stages inside at it "
                        "or before"
                    )
                if back > self.init_steps:
                    raise ExprError(
                        f"in te.scan '{self.name}', stage '{op.name}' reads {load!r}: the states "
                        f"begin with {self.init_steps} steps only"
                    )

    @property
    def init_steps(self) -> int:
        """How many steps the states begin with."""
        steps = self.init[0].shape[0]
        assert isinstance(steps, int), "checked when it was made"
        return steps

    def write(self, builder: PrimFuncBuilder, buffers: dict[int, Buffer]) -> None:
        """Write the scan at the current insertion point.

        Args:
            builder: the function's.
            buffers: of all tensors, by their identities; the states' are entered.
        """
        for output, state, update in zip(self.outputs, self.state, self.update, strict=True):
            buffers[id(state)] = buffers[id(update)] = buffers[id(output)]
        for init, output in zip(self.init, self.outputs, strict=True):
            source, target = buffers[id(init)], buffers[id(output)]
            # There may be less steps than it begins with.
            dims = [source.dims[0].min(target.dims[0]), *source.dims[1:]]
            with builder.nest(f"{self.name}_init", [("spatial", d) for d in dims]) as block:
                target.store(source[tuple(block)], tuple(block))
        steps = SymExpr.of(self.state[0].shape[0])
        first = self.init_steps
        # The rest is in order: a step reads those before it.
        with builder.loop((steps - first).max(0), start=first, name="t") as t:
            for op in self.inside:
                Stage(builder, op, buffers).write(t)


def _loads(op: ComputeOp) -> Iterator[ProducerLoad]:
    return (node for node in nodes_of(op.body) if isinstance(node, ProducerLoad))


def _steps_back(index: PrimExpr, axis: PrimExpr) -> int | None:
    """Return `c` of an index `axis - c`, None where it is none."""
    if index is axis:
        return 0
    if isinstance(index, (Add, Sub)) and index.a is axis and isinstance(index.b, IntImm):
        return -index.b.value if isinstance(index, Add) else index.b.value
    return None


def _inside(name: str, update: Sequence[Tensor], state: Sequence[Tensor]) -> list[ComputeOp]:
    """Return the stages between states and updates, each after those that it reads.

    Raises:
        ExprError: one of them is written with loops.
    """
    states = {id(each) for each in state}
    updates = {id(each.op) for each in update}
    needs: dict[int, bool] = {}
    order: list[ComputeOp] = []
    pending = [(each.op, False) for each in reversed(update)]
    while pending:
        op, ready = pending.pop()
        if id(op) in needs and not ready:
            continue
        if not ready:
            needs[id(op)] = False
            pending.append((op, True))
            pending += [(each.op, False) for each in reversed(op.input_tensors)]
            continue
        inside = id(op) in updates or any(
            id(each) in states or needs.get(id(each.op), False) for each in op.input_tensors
        )
        needs[id(op)] = inside
        if inside and not isinstance(op, ComputeOp):
            raise ExprError(
                f"in te.scan '{name}', '{op.name}' is computed at each step, so it must be a "
                "te.compute"
            )
        if inside and isinstance(op, ComputeOp):
            order.append(op)
    return order


def scan(
    init: Any, update: Any, state_placeholder: Any, inputs: Any = None, name: str = "scan",
    tag: str = "", attrs: Any = None,
) -> Any:  # fmt: skip
    """Return tensors whose parts along the first axis are computed one after the other.

    ```
    s_state = te.placeholder((m, n))
    s_init = te.compute((1, n), lambda _, i: X[0, i])
    s_update = te.compute((m, n), lambda t, i: s_state[t - 1, i] + X[t, i])
    sums = te.scan(s_init, s_update, s_state)
    ```

    Args:
        init: the first parts of each state: a tensor, or a list of them.
        update: for each state a `te.compute` of its shape, whose first axis is the step.
        state_placeholder: for each state a placeholder that stands for it in `update`.
        inputs: as in TVM; what updates read is found.
        name: of the stage.
        tag: kept in `op.tag`.
        attrs: kept in `op.attrs`.

    Returns:
        The states: a tensor, or a tuple of them.

    Raises:
        ExprTypeError: these are no tensors of that kind.
        ExprError: their numbers or shapes do not fit, or a step reads what comes after it.
    """
    lists = [
        list(each) if isinstance(each, (list, tuple)) else [each]
        for each in (init, update, state_placeholder)
    ]
    for each in (t for own in lists for t in own):
        if not isinstance(each, Tensor):
            raise ExprTypeError(f"te.scan '{name}' takes tensors, got {each!r}")
    inits, updates, states = lists
    if not len(inits) == len(updates) == len(states) or not states:
        raise ExprError(
            f"te.scan '{name}' takes as many states as begin and are updated, got {len(inits)}, "
            f"{len(updates)} and {len(states)}"
        )
    for first, step, state in zip(inits, updates, states, strict=True):
        _check_state(name, first, step, state, inits[0], states[0])
    made = ScanOp(name, inits, updates, states, tag or current_tag(), attrs)
    return one_or_all(made.outputs)


def _check_state(
    name: str, init: Tensor, update: Tensor, state: Tensor, first: Tensor, lead: Tensor
) -> None:
    where = f"te.scan '{name}'"
    if not isinstance(state.op, PlaceholderOp):
        raise ExprTypeError(f"{where}: a state is a te.placeholder, got {state}")
    if not isinstance(update.op, ComputeOp) or update.op.num_outputs != 1:
        raise ExprTypeError(f"{where}: an update is a te.compute of one output, got {update}")
    if not init.ndim == update.ndim == state.ndim or state.ndim == 0:
        raise ExprError(f"{where}: {init}, {update} and {state} have other dimensions")
    steps = [plain(SymExpr.of(each.shape[0])) for each in (init, first)]
    if not isinstance(steps[0], int) or steps[0] < 1 or steps[0] != steps[1]:
        raise ExprError(f"{where}: a known number of first steps is needed, got {init}")
    rest = zip(init.shape[1:], update.shape[1:], state.shape[1:], strict=True)
    fits = all(SymExpr.of(a) == SymExpr.of(c) == SymExpr.of(b) for a, b, c in rest)
    lengths = {str(SymExpr.of(each.shape[0])) for each in (update, state, lead)}
    if not fits or len(lengths) > 1:
        raise ExprError(f"{where}: {init} and {update} do not fit {state}")
    if len({init.dtype, update.dtype, state.dtype}) > 1:
        raise ExprError(f"{where}: {init}, {update} and {state} have other dtypes")
    room = SymExpr.of(state.shape[0]).value
    if room is not None and room < steps[0]:
        raise ExprError(f"{where}: {state} has less steps than it begins with, {steps[0]}")
