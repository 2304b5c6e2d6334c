"""Control flow: `If`, `Loop` and `Scan` by Relax's own, or unrolled."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.forms import Form, as_object, form_of, joined, lifted, lowered
from relax_mlir.frontend.onnx.weights import dtype_name
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import ObjectValue, Value, materialize, of_array, of_expr, of_ints
from relax_mlir.relax import op
from relax_mlir.relax.expr import Tuple

# A loop of fewer nodes in all is unrolled, where the number of its turns is known.
_UNROLLED_NODES = 256
_UNROLLED_TURNS = 64


@converts("onnx", "If")
def if_(node: Any) -> Any:
    """Run one of two bodies; only one is imported where the condition is known."""
    known = node.const(0)
    bodies = [node.attrs["then_branch"], node.attrs["else_branch"]]
    if known is not None:
        return _run(node, bodies[0 if bool(known.reshape(-1)[0]) else 1], [])
    builder = node.graph.builder
    kinds = [_kind(left, right) for left, right in zip(*(b.output for b in bodies), strict=True)]
    forms: list[Form] = []
    with builder.if_(_scalar(node, node.value(0))) as branch:
        for region, body in zip((branch.then_(), branch.else_()), bodies, strict=True):
            with region:
                values = [
                    value if kind == "tensor" else as_object(node, value)
                    for value, kind in zip(_run(node, body, []), kinds, strict=True)
                ]
                own = [form_of(value) for value in values]
                forms = [joined(*pair) for pair in zip(forms or own, own, strict=True)]
                made = [lowered(node, *pair) for pair in zip(values, own, strict=True)]
                branch.yield_(made[0] if len(made) == 1 else Tuple(made))
    result = branch.result
    fields = [result] if len(forms) == 1 else [builder.emit(result[i]) for i in range(len(forms))]
    return [lifted(node, *pair) for pair in zip(fields, forms, strict=True)]


def _kind(left: Any, right: Any) -> str:
    kinds = {each.type.WhichOneof("value") or "tensor_type" for each in (left, right)}
    return "tensor" if kinds == {"tensor_type"} else "object"


def _scalar(node: Any, value: Value) -> Any:
    """Return a tensor of one element without dimensions."""
    x = materialize(value)
    return node.emit(op.reshape(x, ()) if value.ndim else x)


def _run(node: Any, body: Any, inputs: Sequence[Any]) -> list[Any]:
    """Convert a body in place; returns its results."""
    inner = node.graph.inner()
    if len(body.input) != len(inputs):
        raise node.fail(f"its body has {len(body.input)} inputs, expected {len(inputs)}")
    inner.values.update((each.name, value) for each, value in zip(body.input, inputs, strict=True))
    inner.add_initializers(body)
    return inner.run(body, f"a body of {node.op_type} '{node.proto.name}'")


class _WiderError(Exception):
    """What a loop carries differs from turn to turn, or its turns are not counted."""


class _Loop:
    """A loop: states go from turn to turn, slices are gathered.

    Args:
        node: the node.
        initial: the states before the first turn.
        outputs: of the body, those that are slices; they say what an empty result is.
        turn: gives the condition, the states and the slices after a turn, of its number and the
            states before it.
    """

    def __init__(
        self, node: Any, initial: Sequence[Any], outputs: Sequence[Any],
        turn: Callable[[Any, list[Any]], tuple[Any, list[Any], list[Any]]],
    ) -> None:  # fmt: skip
        self.node, self.initial, self.turn, self.outputs = node, list(initial), turn, outputs
        self.size = max(len(node.attrs["body"].node), 1)
        self.forms = [form_of(value) for value in self.initial]
        self.slices: list[Form] = []
        self.counted = True

    def run(self, count: Any, going: Any) -> tuple[list[Any], list[Any]]:
        """Return the states after the last turn, and the sequences of slices.

        Args:
            count: at most so many turns: a value, or None.
            going: whether there is a first turn: a value, or None for true.
        """
        starts = True if going is None else going.array
        most = None if count is None or count.data is None else count.data.reshape(-1)[0]
        if starts is not None and not starts:
            most = 0
        if starts is not None and (most is not None or count is None):
            unrolled = self._unrolled(most)
            if unrolled is not None:
                return unrolled
        self.counted = most is not None and starts is not None
        while True:
            try:
                return self._repeated(count, most, going)
            except _WiderError:
                continue

    def _unrolled(self, most: Any) -> tuple[list[Any], list[Any]] | None:
        """Convert turn after turn, as long as import knows whether there is another."""
        graph = self.node.graph
        copies = graph.copies * self.size * (_UNROLLED_TURNS if most is None else most)
        if not isinstance(copies, (int, np.integer)) or copies > _UNROLLED_NODES:
            return None
        before, graph.copies = graph.copies, max(int(copies), 1)
        try:
            return self._turns(most)
        finally:
            graph.copies = before

    def _turns(self, most: Any) -> tuple[list[Any], list[Any]] | None:
        states, gathered, turns = self.initial, [], 0
        while most is None or turns < most:
            if most is None and turns == _UNROLLED_TURNS:
                return None
            going, states, slices = self.turn(of_ints(turns), states)
            if going is not None and going.array is None:
                return None
            gathered.append(slices)
            turns += 1
            if going is not None and not going.array:
                break
        return states, [[each[k] for each in gathered] for k in range(len(self.outputs))]

    def _repeated(self, count: Any, most: Any, going: Any) -> tuple[list[Any], list[Any]]:
        node, builder = self.node, self.node.graph.builder
        empty = [node.object("sequence_construct", [], Form()).expr for _ in self.outputs]
        carried = [lowered(node, *pair) for pair in zip(self.initial, self.forms, strict=True)]
        if self.counted:
            scope = builder.for_(most, [*carried, *empty])
        else:
            start = _scalar(node, of_array(np.array(True)) if going is None else going)
            limit = None if count is None else _scalar(node, count)
            scope = builder.while_([0, start, *carried, *empty])
        with scope as loop:
            if not self.counted:
                with loop.cond() as (i, goes, *_):
                    if limit is not None:
                        goes = op.logical_and(goes, op.less(_index(i), limit))
                    loop.yield_(builder.emit(goes))
            with loop.body() as (i, *values):
                rest = values if self.counted else values[1:]
                loop.yield_(*self._body(i, rest))
        results = loop.results if self.counted else loop.results[2:]
        size = len(self.forms)
        states = [lifted(node, *pair) for pair in zip(results[:size], self.forms, strict=True)]
        objects = [
            ObjectValue(expr, form.dtype, "sequence", form.ndim)
            for expr, form in zip(results[size:], self.slices, strict=True)
        ]
        return states, objects

    def _body(self, i: Any, values: Sequence[Any]) -> list[Any]:
        node, size = self.node, len(self.forms)
        before = [lifted(node, *pair) for pair in zip(values[:size], self.forms, strict=True)]
        going, states, slices = self.turn(of_ints(i.value), before)
        pairs = zip(self.forms, states, strict=True)
        wider = [joined(form, form_of(value)) for form, value in pairs]
        ends = going is not None and (going.array is None or not going.array)
        if wider != self.forms or (ends and self.counted):
            self.forms, self.counted = wider, self.counted and not ends
            raise _WiderError
        self.slices = [form_of(value) for value in slices]
        after = [lowered(node, *pair) for pair in zip(states, wider, strict=True)]
        gathered = [
            node.object("sequence_insert", [acc, materialize(value)], Form()).expr
            for acc, value in zip(values[size:], slices, strict=True)
        ]
        if self.counted:
            return [*after, *gathered]
        goes = of_array(np.array(True)) if going is None else going
        return [i + 1, _scalar(node, goes), *after, *gathered]

    def stacked(self, gathered: Any, index: int, axis: int = 0, backwards: bool = False) -> Value:
        """Return the slices of an output as one tensor."""
        node = self.node
        if not gathered:
            tensor = self.outputs[index].type.tensor_type
            dims = [0, *(max(dim.dim_value, 0) for dim in tensor.shape.dim)]
            return of_array(np.zeros(dims, dtype_name(tensor.elem_type, "a scan output")))
        if isinstance(gathered, list):
            turns = gathered[::-1] if backwards else gathered
            return of_expr(node.emit(op.stack([materialize(each) for each in turns], axis)))
        form = self.slices[index]
        if form.dims is None:
            raise node.fail(f"the rank of scan output {index} has to be known")
        dims = [None if dim is None else dim.value for dim in form.dims]
        axis = node.normalized(axis, len(dims) + 1)
        empty = [dim or 0 for dim in dims]
        dims.insert(axis, None)
        empty.insert(axis, 0)
        result = node.runtime(
            "sequence_concat", [gathered.expr], [(form.dtype, dims)], axis=axis, stacks=True,
            empty=empty, dtype=form.type.dtype,
        )  # fmt: skip
        return of_expr(node.emit(op.flip(materialize(result), axis))) if backwards else result


def _index(i: Any) -> Any:
    return materialize(of_ints(i.value))


@converts("onnx", "Loop")
def loop(node: Any) -> Any:
    """Repeat a body at most so many times, as long as it says so."""
    body, initial = node.attrs["body"], node.inputs[2:]

    def turn(i: Any, states: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        # In a turn, the condition that the body is given holds.
        going, *after = _run(node, body, [i, of_array(np.array(True)), *states])
        return going, after[: len(states)], after[len(states) :]

    repeated = _Loop(node, initial, body.output[1 + len(initial) :], turn)
    count, going = (node.value(i) if node.has(i) else None for i in range(2))
    states, gathered = repeated.run(count, going)
    return [*states, *(repeated.stacked(each, k) for k, each in enumerate(gathered))]


@converts("onnx", "Scan", since=9)
def scan(node: Any) -> Any:
    """Repeat a body for each slice of some tensors."""
    count = node.attrs["num_scan_inputs"]
    states = len(node.inputs) - count
    if count < 1 or states < 0:
        raise node.fail(f"{count} of {len(node.inputs)} inputs are scanned")
    return _scanned(node, node.inputs[:states], node.inputs[states:], {
        name: node.attrs.get(f"scan_{name}")
        for name in ("input_axes", "input_directions", "output_axes", "output_directions")
    })  # fmt: skip


@converts("onnx", "Scan")
def scan_of_batch(node: Any) -> Any:
    """Repeat a body for each slice, for each element of a batch, as before opset 9.

    Raises:
        ModelError: sequences of the batch have lengths of their own, or import does not know how
            many there are.
    """
    if node.has(0):
        raise node.fail("lengths of sequences are not supported")
    count = node.attrs["num_scan_inputs"]
    if not 1 <= count < len(node.inputs):
        raise node.fail(f"{count} of {len(node.inputs) - 1} inputs are scanned")
    batch = node.dims(1)[0].value
    if batch is None:
        raise node.fail("the size of the batch has to be known at import")
    made = []
    for b in range(batch):
        at = materialize(of_ints(b))
        rest = [of_expr(node.emit(op.take(node.x(i), at, 0))) for i in range(1, len(node.inputs))]
        options = {"input_directions": node.attrs.get("directions")}
        made.append(_scanned(node, rest[:-count], rest[-count:], options))
    return [op.stack([materialize(each) for each in parts], 0) for parts in zip(*made, strict=True)]


def _scanned(node: Any, initial: Sequence[Any], inputs: Sequence[Any], options: Any) -> list[Any]:
    body, states = node.attrs["body"], len(initial)
    axes = options.get("input_axes") or [0] * len(inputs)
    axes = [node.normalized(axis, each.ndim) for axis, each in zip(axes, inputs, strict=True)]
    reversed_inputs = options.get("input_directions") or [0] * len(inputs)
    length = node.dims_of(inputs[0])[axes[0]]
    tensors = [materialize(each) for each in inputs]

    def turn(i: Any, before: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        slices = []
        for x, axis, backwards in zip(tensors, axes, reversed_inputs, strict=True):
            (at,) = (length - 1 - each if backwards else each for each in i.data.reshape(-1))
            slices.append(of_expr(node.emit(op.take(x, materialize(of_ints(at)), axis))))
        after = _run(node, body, [*before, *slices])
        return None, after[:states], after[states:]

    repeated = _Loop(node, initial, body.output[states:], turn)
    after, gathered = repeated.run(of_ints(length), None)
    places = options.get("output_axes") or [0] * len(gathered)
    backwards = options.get("output_directions") or [0] * len(gathered)
    return [*after, *(
        repeated.stacked(each, k, places[k], bool(backwards[k])) for k, each in enumerate(gathered)
    )]  # fmt: skip
