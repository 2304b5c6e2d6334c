"""The cache of attention that grows, or keeps a window."""

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError

PREFIX = "vm.builtin.attention_kv_cache_"


def call(name: str, *args: Any) -> Any:
    return relax_mlir.get_global_func(PREFIX + name)(*args)


def rows(*numbers: int, dtype: str = "float32") -> np.ndarray:
    return np.repeat(np.array(numbers, dtype)[:, None], 2, axis=1)


def test_rows_are_appended_and_replaced() -> None:
    cache = call("create", rows(7), (2, 2), 0)
    for i in range(5):
        cache = call("append", cache, rows(i))
    np.testing.assert_array_equal(call("view", cache, (5, 2)), rows(*range(5)))
    cache = call("append", cache, rows())
    cache = call("update", cache, rows(8, 9))
    np.testing.assert_array_equal(call("view", cache, (2, 2)), rows(8, 9))
    np.testing.assert_array_equal(call("view", call("create", rows(7), (2, 2), 1), (1, 2)), rows(7))


@pytest.mark.parametrize("sinks", [0, 1, 3])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_a_window_keeps_the_last_rows(sinks: int, step: int) -> None:
    size = 8
    cache = call("create", rows(), (size, 2), 0)
    history: list[int] = []
    for start in range(0, 30, step):
        added = list(range(start, start + step))
        history += added
        if sinks:
            cache = call("window_override_with_sinks", cache, rows(*added), size, sinks)
        else:
            cache = call("window_override", cache, rows(*added), size)
        used = min(len(history), size)
        found = call("view", cache, (used, 2))[:, 0].astype(int).tolist()
        kept = history[: min(sinks, used)]
        expected = kept + history[len(kept) :][-(size - len(kept)) :]
        assert found[: len(kept)] == kept
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("create", ((1, 2), (2, 2), 0), ArgumentTypeError),
        ("create", (rows(1), (2, 3), 0), ShapeMismatchError),
        ("append", (None, rows(1)), ArgumentTypeError),
        ("append", ("cache", np.ones((1, 3), "float32")), ShapeMismatchError),
        ("append", ("cache", rows(1, dtype="int32")), ArgumentTypeError),
        ("update", ("cache", 3), ArgumentTypeError),
        ("window_override", ("cache", rows(1), 100), ShapeMismatchError),
        ("window_override", ("cache", rows(1, 2, 3), 2), ShapeMismatchError),
        ("window_override_with_sinks", ("cache", rows(1), 2, 2), ShapeMismatchError),
        ("create", (rows(1), (2, 2), 2), ShapeMismatchError),
        ("view", ("cache", (7, 2)), ShapeMismatchError),
        ("view", (rows(1), (1, 2)), ArgumentTypeError),
    ],
)
def test_wrong_arguments(name: str, args: tuple[Any, ...], error: type) -> None:
    cache = call("create", rows(1), (4, 2), 1)
    with pytest.raises(error):
        call(name, *[cache if isinstance(a, str) else a for a in args])
