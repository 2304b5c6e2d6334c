"""Calls that run a function's code themselves, and all others, which take the general way."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.script import from_source

SOURCE = """
@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
    with R.dataflow():
        z = R.subtract(x, y)
        R.output(z)
    return z
"""
X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.full((2, 3), 2, "float32")


@pytest.fixture(name="vm")
def machine():
    return relax.VirtualMachine(relax.build(from_source(SOURCE)))


@pytest.fixture(name="general")
def general_calls(vm):
    """The arguments of calls that took the general way."""
    seen = []
    main = vm["main"]
    whole = main.__globals__["general0"]

    def general(*args, **kwargs):
        seen.append((len(args), sorted(kwargs)))
        return whole(*args, **kwargs)

    main.__globals__["general0"] = general
    return seen


def test_arrays_and_results_are_passed_as_they_are(vm, general):
    main = vm["main"]
    np.testing.assert_array_equal(main(X, Y), X - Y)
    np.testing.assert_array_equal(main(main(X, Y), Y), X - Y - Y)
    assert general == []


@pytest.mark.parametrize(
    "x",
    [np.asfortranarray(X), X.astype(">f4"), X.tolist, np.broadcast_to(X[:1], (2, 3))],
    ids=["columns", "swapped bytes", "no array", "read-only"],
)
def test_what_needs_a_conversion_takes_the_general_way(vm, general, x):
    if callable(x):
        with pytest.raises(ArgumentTypeError, match="main: argument 'x'"):
            vm["main"](x, Y)
    else:
        np.testing.assert_array_equal(vm["main"](x, Y), np.asarray(x, "float32") - Y)
    assert general == [(2, [])]


def test_names_and_wrong_numbers_take_the_general_way(vm, general):
    main = vm["main"]
    np.testing.assert_array_equal(main(y=Y, x=X), X - Y)
    np.testing.assert_array_equal(main(X, y=Y), X - Y)
    with pytest.raises(ArgumentTypeError, match="missing y"):
        main(X)
    with pytest.raises(ArgumentTypeError, match="takes 2 arguments, got 3"):
        main(X, Y, Y)
    assert general == [(0, ["x", "y"]), (1, ["y"]), (1, []), (3, [])]


def test_errors_say_where_they_came_from(vm):
    with pytest.raises(ShapeMismatchError, match=r"in VM function 'main', instruction \d+ \(call"):
        vm["main"](X, Y[:1])


def test_an_instrument_sees_calls_that_were_direct(vm):
    main, seen = vm["main"], []
    main(X, Y)
    vm.set_instrument(lambda func, name, before, result, *args: seen.append(name))
    main(X, Y)
    assert "subtract" in seen
    vm.set_instrument(None)
    seen.clear()
    np.testing.assert_array_equal(main(X, Y), X - Y)
    assert seen == []
