"""Tensors that grow along their first dimension: the caches of keys and values of attention."""

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

    def append(self, new: np.ndarray) -> None:
        """Add elements at the end.

        Raises:
            ShapeMismatchError: they have another shape.
            ArgumentTypeError: they have another dtype.
        """
        if new.shape[1:] != self._data.shape[1:]:
            raise ShapeMismatchError(
                f"the cache holds elements of shape {self._data.shape[1:]}, got {describe(new)}"
            )
        if new.dtype != self._data.dtype:
            raise ArgumentTypeError(f"the cache holds {self._data.dtype}, got {describe(new)}")
        end = self._count + len(new)
        if end > len(self._data):
            room = np.empty((max(end, 2 * len(self._data)), *self._data.shape[1:]), new.dtype)
            room[: self._count] = self._data[: self._count]
            self._data = room
        self._data[self._count : end] = new
        self._count = end

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
    """Return a cache with room of a shape, and the first elements of some data in it."""
    room = np.zeros(shape, data.dtype)
    room[:count] = data[:count]
    return AttentionKVCache(room, count)


def append(cache: Any, new: np.ndarray) -> AttentionKVCache:
    """Add elements to a cache, and return it.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not isinstance(cache, AttentionKVCache):
        raise ArgumentTypeError(f"a cache of keys and values is needed, got {describe(cache)}")
    cache.append(new)
    return cache


KV_CACHE = {
    f"{PREFIX}attention_kv_cache_create": create,
    f"{PREFIX}attention_kv_cache_append": append,
    f"{PREFIX}attention_kv_cache_view": lambda cache, shape: cache.view(shape),
}
