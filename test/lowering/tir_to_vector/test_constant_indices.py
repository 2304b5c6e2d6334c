"""Indices that are constants: looked at when a program is built, not when it runs."""

from typing import Any

import numpy as np
import pytest
from programs import Program, tensor

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.errors import PassError, ShapeMismatchError


def constant(array: np.ndarray) -> ir.Value:
    """Return a constant."""
    value = constant_attribute(np.ascontiguousarray(array))
    return ir.Operation.create(
        "relax.constant", results=[value.type], attributes={"value": value}
    ).result


def _add(
    program: Program, name: str, op: str, shape: list[Any], given: list[np.ndarray], **attrs: Any
) -> None:
    """Add a function of one tensor: an operation on it and constants."""
    program.function(
        name,
        lambda: [tensor(shape)],
        lambda x: relax_op(op, [x, *map(constant, given)], attrs),
    )


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
def test_constant_places(dtype: str) -> None:
    rng = np.random.default_rng(0)
    signed = dtype[0] == "i"
    rows = rng.integers(-7 if signed else 0, 7, (5, 3)).astype(dtype)
    many = rng.integers(-33 if signed else 0, 33, (7, 41)).astype(dtype)
    pairs = np.stack([rows[:, 0].astype("int64"), rng.integers(0, 33, 5)], 1).astype(dtype)
    far = np.array([100, 33, 0, 6, 127]).astype(dtype)
    news = rng.standard_normal((7, 41)).astype("float32")
    few = rng.standard_normal(5).astype("float32")
    none = np.zeros((0,), dtype)
    program = Program()
    for n in ("7", "n"):
        shape: list[Any] = [7 if n == "7" else n, 33]
        _add(program, f"take{n}", "take", shape, [rows], axis=0)
        _add(program, f"last{n}", "take", shape, [many], axis=1)
        _add(program, f"none{n}", "take", shape, [none], axis=0)
        _add(program, f"wrap{n}", "take", shape, [far], axis=0, mode="wrap")
        _add(program, f"clip{n}", "take", shape, [far], axis=0, mode="clip")
        _add(program, f"nd{n}", "gather_nd", shape, [pairs])
        _add(program, f"set{n}", "scatter_nd", shape, [pairs[:1], few[:1]])
        if n == "7":
            _add(program, "elements", "gather_elements", shape, [many], axis=1)
            _add(program, "scatter", "scatter_elements", shape, [many, news], axis=1,
                 reduction="add")  # fmt: skip
    program.function(
        "each",
        lambda: [tensor([7, 33])],
        lambda x: relax_op("index_tensor", [x, (constant(rows), constant(many[:5, :3]))], {}),
    )
    vm = program.build()
    x = rng.standard_normal((7, 33)).astype("float32")
    places, columns, both = (each.astype("int64") for each in (rows, many, pairs))
    changed = x.copy()
    changed[tuple(both[:1].T)] = few[:1]
    added = x.copy()
    np.add.at(added, (np.arange(7)[:, None], columns), news)
    for n in ("7", "n"):
        np.testing.assert_array_equal(vm[f"take{n}"](x), x[places])
        np.testing.assert_array_equal(vm[f"last{n}"](x), x[:, columns])
        np.testing.assert_array_equal(vm[f"none{n}"](x), x[:0])
        np.testing.assert_array_equal(vm[f"wrap{n}"](x), x[far.astype("int64") % 7])
        np.testing.assert_array_equal(vm[f"clip{n}"](x), x[np.clip(far.astype("int64"), 0, 6)])
        np.testing.assert_array_equal(vm[f"nd{n}"](x), x[tuple(both.T)])
        np.testing.assert_array_equal(vm[f"set{n}"](x), changed)
    np.testing.assert_array_equal(vm["elements"](x), np.take_along_axis(x, columns % 33, 1))
    np.testing.assert_allclose(vm["scatter"](x), added, rtol=1e-5)
    np.testing.assert_array_equal(vm["each"](x), x[places, columns[:5, :3]])


def test_constants_that_are_too_large_for_int32_are_refused() -> None:
    for value in (2**40, -(2**40), 2**63):
        program = Program()
        dtype = "uint64" if value == 2**63 else "int64"
        _add(program, "main", "take", [7, 3], [np.array([1, value], dtype)], axis=0)
        with pytest.raises(PassError, match=f"index {value} is out of range: the axis has length"):
            program.build()


@pytest.mark.parametrize(
    ("op", "given", "attrs"),
    [
        ("take", [np.array([0, 4])], {"axis": 0}),
        ("take", [np.array(-5)], {"axis": 0}),
        ("take", [np.array([12], "uint8")], {"axis": None}),
        ("gather_elements", [np.array([[0, 3]])], {"axis": 1}),
        ("gather_nd", [np.array([[1, 2], [2, -4]])], {}),
        ("scatter_nd", [np.array([[4]]), np.zeros((1, 3), "float32")], {}),
        ("scatter_elements", [np.array([[4]]), np.zeros((1, 1), "float32")], {"axis": 0}),
    ],
)
def test_constants_out_of_range(op: str, given: list[np.ndarray], attrs: Any) -> None:
    program = Program()
    _add(program, "main", op, [4, 3], given, **attrs)
    with pytest.raises(PassError, match=rf"'relax.{op}' op index -?\d+ is out of range") as caught:
        program.build()
    assert any("error:" in line for line in caught.value.diagnostics)


def test_an_axis_that_turns_out_too_short() -> None:
    program = Program()
    _add(program, "low", "take", ["n", 3], [np.array([0, -3])], axis=0)
    _add(program, "high", "take", ["n", 3], [np.array([0, 2])], axis=0)
    _add(program, "column", "gather_nd", ["n", "m"], [np.array([[1, 2], [0, 4]])])
    vm = program.build()
    x = np.arange(9, dtype="float32").reshape(3, 3)
    np.testing.assert_array_equal(vm["low"](x), x[[0, -3]])
    np.testing.assert_array_equal(vm["high"](x), x[[0, 2]])
    wide = np.arange(10, dtype="float32").reshape(2, 5)
    np.testing.assert_array_equal(vm["column"](wide), wide[[1, 0], [2, 4]])
    with pytest.raises(ShapeMismatchError, match="index -3 is out of range"):
        vm["low"](x[:2])
    with pytest.raises(ShapeMismatchError, match="index 2 is out of range"):
        vm["high"](x[:2])
    with pytest.raises(ShapeMismatchError, match="index 4 is out of range"):
        vm["column"](wide[:, :4].copy())
    with pytest.raises(ShapeMismatchError, match="index 1 is out of range"):
        vm["column"](wide[:1])
