"""Transpositions in a row as one: how many are left, and what is computed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, tir, transform
from relax_mlir.relax import BlockBuilder, op

# From sizes to a shape and steps, axes of a transposition or the shape of a reshape; how many
# transpositions and reshapes are left.
CASES: dict[str, tuple[Callable[[Any, Any], tuple], int, int]] = {
    "two": (lambda n, m: ((n, 3, m, 5), [[0, 2, 3, 1], [1, 0, 3, 2]]), 1, 0),
    "reversed": (lambda n, m: ((n, 3, m), [None, [1, 2, 0]]), 1, 0),
    "back": (lambda n, m: ((n, 3, m, 5), [[0, 2, 3, 1], [0, -1, 1, 2]]), 0, 0),
    "three": (lambda n, m: ((n, 3, m), [[1, 2, 0]] * 3), 0, 0),
    "nothing": (lambda n, m: ((n, 3, m), [[0, 1, 2]]), 0, 0),
    "joined": (lambda n, m: ((n, 3, m, 5), [[0, 2, 3, 1], (n, m * 5, 3), [0, 2, 1]]), 0, 1),
    "split": (lambda n, m: ((6, n, m), [[1, 0, 2], (n, 2, 3, m), [1, 2, 0, 3]]), 0, 1),
    "one left": (lambda n, m: ((6, n, m), [[1, 0, 2], (n, 2, 3, m), [3, 1, 2, 0]]), 1, 1),
    "ones": (lambda n, m: ((1, n, 1, m), [[0, 3, 1, 2], (m, 1, n), [1, 2, 0]]), 1, 1),
    "mixed": (lambda n, m: ((6, n, m), [[1, 0, 2], (n, 2, 3, m), [0, 2, 1, 3]]), 2, 1),
    "across": (lambda n, m: ((6, n, m), [[1, 0, 2], (n, 3, m * 2), [2, 0, 1]]), 2, 1),
    "scalar": (lambda n, m: ((1, 1), [[1, 0], (), []]), 1, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_transpositions_in_a_row(name: str) -> None:
    make, permutations, reshapes = CASES[name]
    shape, steps = make(tir.Var("n", "int64"), tir.Var("m", "int64"))
    builder = BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        value = x
        for step in steps:
            value = op.reshape(value, step) if type(step) is tuple else op.permute_dims(value, step)
            value = builder.emit(value)
        builder.emit_func_output(builder.emit(op.abs(value)))
    text = transform.ComposePermuteDims()(builder.get()).script()
    assert text.count("permute_dims") == permutations
    assert text.count("reshape(") == reshapes
    sizes, steps = make(5, 2)
    data = np.arange(np.prod(sizes), dtype="float32").reshape(sizes)
    expected = data
    for step in steps:
        change = expected.reshape if type(step) is tuple else expected.transpose
        expected = change(step)
    result = relax.VirtualMachine(relax.build(builder.get()))["main"](data)
    np.testing.assert_array_equal(result, expected)


def test_a_pair_takes_no_memory_of_its_own() -> None:
    make, *_ = CASES["two"]
    shape, steps = make(2, 3)
    builder = BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        y = builder.emit(op.permute_dims(op.permute_dims(x, steps[0]), steps[1]))
        builder.emit_func_output(y)
    assert relax.build(builder.get()).as_text().count("alloc_storage") == 1


def test_a_result_is_not_the_memory_of_its_argument() -> None:
    builder = BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(op.permute_dims(op.permute_dims(x, [1, 0]), [1, 0]))
        builder.emit_func_output(y)
    data = np.ones((2, 3), "float32")
    result = relax.VirtualMachine(relax.build(builder.get()))["main"](data)
    np.testing.assert_array_equal(result, data)
    assert not np.shares_memory(result, data)
