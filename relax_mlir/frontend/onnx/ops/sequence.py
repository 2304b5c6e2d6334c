"""Sequences and optionals: tuples where import knows their length, else objects of run time."""

from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.forms import Form, as_object, form_of, joined
from relax_mlir.frontend.onnx.ops.shape import parts
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import ObjectValue, TupleValue, Value, materialize, of_ints
from relax_mlir.relax import op

# Of more parts, import makes no tuple.
_MAX_PARTS = 256


def _place(node: Any, index: int, default: int) -> int | None:
    """Return a position, None where only run time knows it."""
    if not node.has(index):
        return default
    known = node.const(index)
    return None if known is None else int(known.reshape(-1)[0])


def _known(node: Any) -> tuple[Any, ...] | None:
    sequence = node.inputs[0]
    return sequence.fields if isinstance(sequence, TupleValue) else None


def _args(node: Any) -> list[Any]:
    """Return the sequence and the other operands that are given."""
    rest = [node.x(i) for i in range(1, len(node.inputs)) if node.has(i)]
    return [as_object(node, node.inputs[0]).expr, *rest]


@converts("onnx", "SequenceConstruct", since=11)
def sequence_construct(node: Any) -> Any:
    """Return tensors as a sequence."""
    return TupleValue(tuple(node.inputs))


@converts("onnx", "SequenceEmpty", since=11)
def sequence_empty(node: Any) -> Any:
    """Return a sequence without elements."""
    return TupleValue(())


@converts("onnx", "SequenceInsert", since=11)
def sequence_insert(node: Any) -> Any:
    """Insert a tensor at a position, without one at the end."""
    fields = _known(node)
    at = _place(node, 2, len(fields or ()))
    if fields is not None and at is not None:
        at = _checked(node, at, len(fields), extra=1)
        return TupleValue((*fields[:at], node.value(1), *fields[at:]))
    item = form_of(TupleValue((node.value(1),)))
    return node.object("sequence_insert", _args(node), joined(form_of(node.inputs[0]), item))


@converts("onnx", "SequenceErase", since=11)
def sequence_erase(node: Any) -> Any:
    """Drop the tensor at a position, without one the last."""
    fields, at = _known(node), _place(node, 1, -1)
    if fields is not None and at is not None:
        at = _checked(node, at, len(fields))
        return TupleValue((*fields[:at], *fields[at + 1 :]))
    return node.object("sequence_erase", _args(node), form_of(node.inputs[0]))


@converts("onnx", "SequenceAt", since=11)
def sequence_at(node: Any) -> Any:
    """Return an element of a sequence."""
    fields, at = _known(node), _place(node, 1, 0)
    if fields is not None and at is not None:
        return fields[_checked(node, at, len(fields))]
    return node.runtime("sequence_at", _args(node), [_element(form_of(node.inputs[0]))])


def _checked(node: Any, at: int, count: int, extra: int = 0) -> int:
    if not -count <= at < count + extra:
        raise node.fail(f"position {at} in a sequence of {count}")
    return at + count if at < 0 else at


def _element(form: Form) -> tuple[str, int | None]:
    """Return what `Node.runtime` wants to know of the tensors in an object."""
    return form.dtype, None if form.ndim in (None, -1) else form.ndim


@converts("onnx", "SequenceLength", since=11)
def sequence_length(node: Any) -> Any:
    """Return how many elements a sequence has."""
    fields = _known(node)
    if fields is not None:
        return of_ints(len(fields))
    return node.runtime("sequence_length", _args(node), [("int64", [])])


@converts("onnx", "ConcatFromSequence", since=11)
def concat_from_sequence(node: Any) -> Any:
    """Join the tensors of a sequence along an axis, or along a new one."""
    axis, stacks = node.attrs["axis"], bool(node.attrs["new_axis"])
    fields = _known(node)
    if fields:
        return (op.stack if stacks else op.concat)([materialize(each) for each in fields], axis)
    dtype, rank = _element(form_of(node.inputs[0]))
    shape = None if rank is None else rank + stacks
    return node.runtime("sequence_concat", _args(node), [(dtype, shape)], axis=axis, stacks=stacks)


@converts("onnx", "SplitToSequence", since=11)
def split_to_sequence(node: Any) -> Any:
    """Cut a tensor into a sequence: parts of given sizes, of one size, or slices."""
    axis, keep = node.axis(), bool(node.attrs["keepdims"]) or node.has(1)
    total = node.dims()[axis]
    sizes = node.ints(1) if node.has(1) else (1,)
    if sizes is not None and (not node.has(1) or node.ndim(1) == 0):
        # All of one size but the last.
        each, count = sizes[0], total.value
        if isinstance(each, int) and each < 1:
            raise node.fail(f"parts of size {each}")
        full = None
        if count is not None and isinstance(each, int) and count <= each * _MAX_PARTS:
            full = divmod(count, each)
        sizes = None if full is None else (*[each] * full[0], *[full[1]] * bool(full[1]))
    if sizes is not None and len(sizes) <= _MAX_PARTS:
        made = [node.emit(part) for part in parts(node, axis, sizes)]
        made = made if keep else [op.squeeze(part, [axis]) for part in made]
        return TupleValue(tuple(node.graph.bound(each, "part") for each in made))
    args = [node.x(i) for i in range(len(node.inputs)) if node.has(i)]
    form = Form(node.dtype(), None, "sequence", node.ndim() - (not keep))
    return node.object("sequence_split", args, form, axis=axis, keepdims=keep)


@converts("onnx", "Optional", since=15)
def optional(node: Any) -> Any:
    """Return an optional: what is in it, or nothing."""
    return node.inputs[0] if node.inputs else None


@converts("onnx", "OptionalHasElement", since=15)
def optional_has_element(node: Any) -> Any:
    """Tell whether an optional has an element."""
    value = node.inputs[0] if node.inputs else None
    if isinstance(value, ObjectValue):
        return node.runtime("optional_has", [value.expr], [("bool", [])])
    return Value("bool", data=np.array(value is not None))


@converts("onnx", "OptionalGetElement", since=15)
def optional_get_element(node: Any) -> Any:
    """Return what is in an optional.

    Raises:
        ModelError: it is known to be empty.
    """
    value = node.inputs[0]
    if value is None:
        raise node.fail("the optional has no element")
    if not isinstance(value, ObjectValue):
        return value
    if value.kind == "optional":
        return node.runtime("optional_get", [value.expr], [_element(form_of(value))])
    return node.object("optional_get", [value.expr], form_of(value))
