"""Builtins of control flow: comparisons and counting of integers, logic of conditions."""

import math
import operator
from collections.abc import Callable, Sequence
from sys import getrecursionlimit
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, VMError
from relax_mlir.runtime.device.memory import DEFAULT_STATE, Storage, VMState
from relax_mlir.runtime.values.convert import DTYPES, describe, numpy_dtype, to_value
from relax_mlir.runtime.values.ndarray import as_tensors
from relax_mlir.runtime.vm.call_depth import TRUSTED_LIMIT, bounded


def for_continues(index: int, stop: int, step: int) -> bool:
    """Return whether a loop over a range has another turn.

    Raises:
        VMError: the step is 0.
    """
    if step > 0:
        return index < stop
    if step < 0:
        return index > stop
    raise VMError("the step of a loop is 0")


# Names without their prefix; those of comparisons are what `relax.compare_prim` calls its kinds.
INTEGERS: dict[str, Callable[..., Any]] = {
    "for_continues": for_continues,
    "int_add": operator.add,
    "int_less": operator.lt,
    "int_less_equal": operator.le,
    "int_greater": operator.gt,
    "int_greater_equal": operator.ge,
    "int_equal": operator.eq,
    "int_not_equal": operator.ne,
}


ndarray = np.ndarray
_I64 = np.dtype("int64")
PREFIX = "vm.builtin."
LIBRARY_PREFIX = "vm.op."
MODEL_PREFIX = "vm.model."
# Defined where functions are found by name.
CALL_TIR_DYN = ("vm.call_tir_dyn", PREFIX + "call_tir_dyn")
# The second and third are the design document's.
KILLS = tuple(PREFIX + name for name in ("kill_object", "free_tensor", "free_storage"))
# Bytes up to which a tensor alone in its storage is numpy's own allocation.
SMALL_TENSOR = 1 << 16
BUILTINS: dict[str, Callable[..., Any]] = {PREFIX + n: f for n, f in INTEGERS.items()}


class AssertOpError(VMError, AssertionError):
    """An `assert_op` of the program failed."""


def _builtin(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(func: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (PREFIX + func.__name__.rstrip("_"),):
            BUILTINS[name] = func
        return func

    return add


# Memory


@_builtin()
def alloc_storage(size: Any, device: Any = "cpu", *rest: Any) -> Storage:
    """Return aligned storage of `size` bytes (an int or a 1-tuple); VMState may come first.

    In a VM, `storage_function` of its state takes this one's place. A dtype may follow the device,
    as in TVM: then `size` is a shape, of elements of that dtype.

    Raises:
        VMError: no such memory.
    """
    return storage_function(DEFAULT_STATE)(size, device, *rest)


def storage_function(state: VMState) -> Callable[..., Storage]:
    """Return an `alloc_storage` that takes its memory from this state."""
    alloc = state.allocators[0].alloc
    several = len(state.allocators) > 1

    def alloc_storage(size: Any, device: Any = "cpu", *rest: Any) -> Storage:
        if type(size) is not int:
            if isinstance(size, VMState):
                return storage_function(size)(device, *rest)
            size = math.prod(size) if type(size) is tuple else to_int(size)
        if rest and rest[0] is not None:
            size *= numpy_dtype(rest[0]).itemsize
        return state.allocator(device).alloc(size) if several else alloc(size)

    return alloc_storage


@_builtin()
def alloc_tensor(storage: Storage, offset: Any, shape: Any, dtype: Any = "float32") -> np.ndarray:
    """Return a tensor over `storage` at `offset`; (storage, shape, offset) works too.

    Raises:
        VMError: the tensor does not fit its storage, or a dimension is negative.
    """
    if type(offset) is tuple:
        offset, shape = shape, offset
    try:
        # numpy reads this one shape as "all there is".
        if shape == (-1,):
            raise ValueError
        return ndarray(shape, DTYPES.get(dtype) or numpy_dtype(dtype), storage, offset)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, VMError):
            raise
        size = getattr(storage, "nbytes", None)
        raise VMError(
            f"a {dtype} tensor of shape {shape} at offset {offset} does not fit "
            + (f"its storage of {size} bytes" if size is not None else describe(storage))
        ) from None


@_builtin()
def storage_size(shape: tuple[int, ...], dtype: str) -> int:
    """Return the bytes of a tensor whose shape only run time knows.

    Raises:
        ArgumentTypeError: not a shape.
        ShapeMismatchError: a dimension is negative.
    """
    if type(shape) is not tuple or not all([type(dim) is int for dim in shape]):
        raise ArgumentTypeError(f"expected a shape to allocate, got {describe(shape)}")
    if min(shape, default=0) < 0:
        raise ShapeMismatchError(f"a tensor cannot have the shape {shape}")
    return math.prod(shape) * numpy_dtype(dtype).itemsize


@_builtin(*KILLS)
def kill_object(value: Any) -> None:
    """Forget a value; its destination register becomes None.

    Memory is given back when nothing refers to it any more: after its last use at the latest.
    """


def tensor_function(state: VMState) -> Callable[..., np.ndarray]:
    """Return a function of size, shape and dtype that gives a tensor in a storage of its own."""
    storage = storage_function(state)
    most = SMALL_TENSOR if state.plain else -1
    alloc = state.allocators[0].alloc if state.plain and len(state.allocators) == 1 else None

    def new_tensor(size: Any, shape: Any, dtype: Any, device: Any = "cpu") -> np.ndarray:
        # numpy's own memory costs a tenth of a storage; only large blocks are worth keeping.
        if type(size) is int and 0 <= size <= most and dtype in DTYPES:
            try:
                tensor = np.empty(shape, DTYPES[dtype])
            except (TypeError, ValueError):
                pass
            else:
                if tensor.nbytes <= size:
                    return tensor
        if alloc is not None and type(size) is int:
            return alloc_tensor(alloc(size), 0, shape, dtype)
        return alloc_tensor(storage(size, device), 0, shape, dtype)

    return new_tensor


# Values


@_builtin()
def move(value: Any) -> Any:
    """Return the value itself."""
    return value


@_builtin()
def copy(value: Any) -> Any:
    """Return a value that shares no memory with this one."""
    if type(value) is tuple:
        return tuple([copy(v) for v in value])
    return value.copy() if isinstance(value, ndarray) else value


@_builtin()
def null_value() -> None:
    """Return None."""


@_builtin()
def word(value: str) -> str:
    """Return a string that stands in the program."""
    return value


@_builtin()
def make_tuple(*values: Any) -> tuple:
    """Return the values as a tuple."""
    return values


@_builtin()
def tuple_getitem(value: tuple, index: int) -> Any:
    """Return one element; ArgumentTypeError when there is none of that index."""
    try:
        return value[index]
    except (IndexError, TypeError):
        raise ArgumentTypeError(f"{describe(value)} has no element {index}") from None


@_builtin()
def to_int(value: Any) -> int:
    """Return a Python int of an int or of an integer tensor of one element."""
    if type(value) is int:
        return value
    if isinstance(value, ndarray) and value.size == 1 and value.dtype.kind in "iub":
        return int(value.reshape(()))
    if isinstance(value, int):
        return int(value)
    raise ArgumentTypeError(f"expected one integer, got {describe(value)}")


@_builtin()
def truth(value: Any) -> bool:
    """Return the condition of an `if`: a bool, or a tensor of one element."""
    if type(value) is bool:
        return value
    if isinstance(value, ndarray):
        if value.size == 1:
            return bool(value)
    elif isinstance(value, (int, float)):
        return bool(value)
    raise ArgumentTypeError(f"a condition must be one scalar, got {describe(value)}")


@_builtin()
def logic_and(*conditions: Any) -> bool:
    """Return whether all conditions hold."""
    return all([truth(condition) for condition in conditions])


@_builtin()
def logic_or(*conditions: Any) -> bool:
    """Return whether one of the conditions holds."""
    return any([truth(condition) for condition in conditions])


@_builtin()
def logic_not(condition: Any) -> bool:
    """Return whether the condition does not hold."""
    return not truth(condition)


@_builtin()
def reshape(tensor: np.ndarray, shape: tuple) -> np.ndarray:
    """Return a view of a tensor with another shape; ShapeMismatchError when sizes differ."""
    try:
        if min(shape, default=0) >= 0:
            return tensor.reshape(shape)
    except ValueError:
        pass
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"reshape takes a tensor and a shape, got {describe(tensor)} and {describe(shape)}"
        ) from None
    raise ShapeMismatchError(
        f"cannot reshape a tensor of shape {tensor.shape} ({tensor.size} elements) to {shape}"
    )


@_builtin()
def print_(*values: Any) -> None:
    """Print the values on standard output; a string with places for them after them says how."""
    if values and isinstance(values[-1], str) and "{" in values[-1]:
        print(_formatted(values[-1], values[:-1]))
    else:
        print(*map(_shown, values))


def _shown(value: Any) -> Any:
    """Return a tuple as text in which arrays look as they do alone, other values as they are."""
    if not isinstance(value, tuple):
        return value
    items = ", ".join(str(_shown(item)) for item in value)
    return f"({items}{',' if len(value) == 1 else ''})"


def _formatted(message: str, values: Sequence[Any]) -> str:
    try:
        return message.format(*map(_shown, values))
    except (IndexError, KeyError, ValueError, TypeError):
        return f"{message} {tuple(values)}"


@_builtin(PREFIX + "assert_op", PREFIX + "assert")
def assert_op(condition: Any, *values: Any) -> None:
    """Raise AssertOpError unless the condition holds; the message is formatted with the values.

    It is the string before or after them.
    """
    if not truth(condition):
        messages = [value for value in values if isinstance(value, str)]
        rest = [value for value in values if not isinstance(value, str)]
        if not messages:
            shown = ", ".join(str(_shown(value)) for value in rest)
            raise AssertOpError(f"Assertion Failed{': ' * bool(rest)}{shown}")
        raise AssertOpError(f"Assertion Failed: {_formatted(messages[0], rest)}")


@_builtin()
def binary_broadcast(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to by numpy's rules.

    Raises:
        ShapeMismatchError: they do not.
    """
    try:
        return np.broadcast_shapes(lhs, rhs)
    except ValueError:
        raise ShapeMismatchError(f"shapes {lhs} and {rhs} do not broadcast") from None


@_builtin()
def make_closure(func: Callable[..., Any], *captured: Any) -> Callable[..., Any]:
    """Return a function that passes its arguments and then the captured values to `func`."""

    def closure(*args: Any) -> Any:
        if getrecursionlimit() > TRUSTED_LIMIT:
            return bounded("a closure", func)(*args, *captured)
        return func(*args, *captured)

    closure.takes_values = True
    return closure


@_builtin()
def invoke_closure(closure: Callable[..., Any], *args: Any) -> Any:
    """Call a closure: one of the program, or a function that was passed to it."""
    if hasattr(closure, "takes_values"):
        return closure(*args)
    if not type(closure).__module__.startswith("tvm_ffi"):
        args = tuple([as_tensors(a) for a in args])
    return to_value(closure(*args))


# Run-time operators whose result's shape depends on data


@_builtin()
def unique(
    tensor: np.ndarray,
    sorted: Any = True,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: int | None = None,
) -> Any:
    """Return the distinct elements, ascending or in order of first occurrence.

    With index, inverse or counts requested, the result is a tuple, numpy's order.
    """
    wanted = [truth(return_index), truth(return_inverse), truth(return_counts)]
    values, index, inverse, counts = np.unique(tensor, True, True, True, axis=axis)
    inverse = inverse.reshape(-1) if axis is None else inverse
    if not truth(sorted):
        order = np.argsort(index, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values = values.take(order, axis=0 if axis is None else axis)
        index, inverse, counts = index[order], rank[inverse], counts[order]
    extra = [x for x, w in zip((index, inverse, counts), wanted, strict=True) if w]
    return to_value((values, *extra)) if extra else to_value(values)


@_builtin()
def nonzero(tensor: np.ndarray) -> np.ndarray:
    """Return the indices of the elements that are not zero, shape (ndim, count)."""
    return np.ascontiguousarray(np.argwhere(tensor).T)


@_builtin("vm.binary_broadcast_shape_infer", PREFIX + "binary_broadcast_shape_infer")
def binary_broadcast_shape_infer(a: Any, b: Any) -> tuple[int, ...]:
    """Return the shape that two shapes (or tensors) broadcast to.

    Raises:
        ShapeMismatchError: they do not broadcast.
    """
    a, b = shape_of(a), shape_of(b)
    try:
        return tuple(np.broadcast_shapes(a, b))
    except ValueError:
        raise ShapeMismatchError(f"shapes {a} and {b} do not broadcast") from None


@_builtin()
def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor; a shape is its own."""
    if isinstance(value, ndarray):
        return value.shape
    if type(value) is tuple:
        return value
    raise ArgumentTypeError(f"only tensors have a shape, got {describe(value)}")
