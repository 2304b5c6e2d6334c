"""Tensors that grow along their first dimension: the caches of keys and values of attention."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.values.convert import describe


class AttentionKVCache:
    """Elements of one shape, one after another; room doubles when it is used up.

    Args:
        data: the room at first, (elements, *shape of one), and what is in it.
        count: how many elements of it count.
    """

    def __init__(self, data: np.ndarray, count: int) -> None:
        self._data, self._count = data, count
        # Where the next element of a window goes.
        self._position = count

    def _check(self, new: Any) -> None:
        if not isinstance(new, np.ndarray):
            raise ArgumentTypeError(f"the cache holds tensors, got {describe(new)}")
        if new.shape[1:] != self._data.shape[1:]:
            raise ShapeMismatchError(
                f"the cache holds elements of shape {self._data.shape[1:]}, got {describe(new)}"
            )
        if new.dtype != self._data.dtype:
            raise ArgumentTypeError(f"the cache holds {self._data.dtype}, got {describe(new)}")

    def append(self, new: np.ndarray) -> None:
        """Add elements at the end.

        Raises:
            ShapeMismatchError: they have another shape.
            ArgumentTypeError: they have another dtype, or are no tensor.
        """
        self._check(new)
        end = self._count + len(new)
        if end > len(self._data):
            room = np.empty((max(end, 2 * len(self._data)), *self._data.shape[1:]), new.dtype)
            room[: self._count] = self._data[: self._count]
            self._data = room
        self._data[self._count : end] = new
        self._count = self._position = end

    def update(self, new: np.ndarray) -> None:
        """Replace all elements; raises as `append`."""
        self._check(new)
        self._count = 0
        self.append(new)

    def override(self, new: np.ndarray, size: int, sinks: int) -> None:
        """Add elements to a window, over its oldest ones except the first.

        Args:
            new: the elements.
            size: how many the window holds.
            sinks: how many of the first ones are kept.

        Raises:
            ShapeMismatchError: they have another shape, or are more than the window takes.
            ArgumentTypeError: they have another dtype, or are no tensor.
        """
        self._check(new)
        if not sinks < size <= len(self._data) or len(new) > size - sinks:
            raise ShapeMismatchError(
                f"a window of {size} elements that keeps {sinks}, in a cache with room for "
                f"{len(self._data)}, does not take {len(new)} at once"
            )
        self._count = max(self._count, min(self._position + len(new), size))
        first = min(len(new), size - self._position)
        self._data[self._position : self._position + first] = new[:first]
        self._position += first
        if self._position == size:
            rest = len(new) - first
            self._data[sinks : sinks + rest] = new[first:]
            self._position = sinks + rest

    def view(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the first elements, as many as the shape says.

        Raises:
            ShapeMismatchError: there are not so many, or they have another shape.
        """
        if shape[1:] != self._data.shape[1:] or not 0 <= shape[0] <= self._count:
            raise ShapeMismatchError(
                f"the cache has {self._count} elements of shape {self._data.shape[1:]}, a view of "
                f"shape {shape} was asked for"
            )
        return self._data[: shape[0]]


def create(data: np.ndarray, shape: tuple[int, ...], count: int = 0) -> AttentionKVCache:
    """Return a cache with room of a shape, and the first elements of some data in it.

    Raises:
        ArgumentTypeError: the data is no tensor.
        ShapeMismatchError: its elements have another shape, or there are not so many.
    """
    if not isinstance(data, np.ndarray):
        raise ArgumentTypeError(f"a cache begins with a tensor, got {describe(data)}")
    if data.shape[1:] != shape[1:] or count > min(len(data), shape[0]):
        raise ShapeMismatchError(
            f"a cache of shape {shape} cannot begin with {count} of {describe(data)}"
        )
    room = np.zeros(shape, data.dtype)
    room[:count] = data[:count]
    return AttentionKVCache(room, count)


def _changed(change: Callable[..., None]) -> Callable[..., AttentionKVCache]:
    """Return a builtin that changes a cache, its first argument, and returns it."""

    def changed(cache: Any, *args: Any) -> AttentionKVCache:
        change(_cache(cache), *args)
        return cache

    return changed


def _cache(value: Any) -> AttentionKVCache:
    if not isinstance(value, AttentionKVCache):
        raise ArgumentTypeError(f"a cache of keys and values is needed, got {describe(value)}")
    return value


KV_CACHE: dict[str, Callable[..., Any]] = {
    f"{PREFIX}attention_kv_cache_{name}": func
    for name, func in {
        "create": create,
        "append": _changed(AttentionKVCache.append),
        "update": _changed(AttentionKVCache.update),
        "view": lambda cache, shape: _cache(cache).view(shape),
        "window_override": _changed(lambda cache, new, size: cache.override(new, size, 0)),
        "window_override_with_sinks": _changed(AttentionKVCache.override),
    }.items()
}
