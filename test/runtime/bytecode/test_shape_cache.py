"""What is kept of a call's shapes serves calls that are like it, and no others."""

import gc
import threading
import weakref

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.relax import op
from relax_mlir.script import relax as R
from relax_mlir.tir import Var


@pytest.fixture(scope="module")
def product() -> relax.Executable:
    n, k, m = (Var(name, "int64") for name in "nkm")
    x = relax.Var("x", R.Tensor((n, k), "float32"))
    y = relax.Var("y", R.Tensor((k, m), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(op.matmul(x, y))
        bb.emit_func_output(out)
    return relax.build(bb.get())


def arrays(*dims: int, dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    n, k, m = dims
    x = (np.arange(n * k) % 7).reshape(n, k).astype(dtype)
    return x, (np.arange(k * m) % 5).reshape(k, m).astype(dtype)


SIZES = [(2, 3, 4), (2, 3, 4), (2, 3, 5), (2, 0, 5), (0, 3, 5), (1, 1, 1), (2, 3, 4), (200, 3, 150)]


def test_shapes_change_from_call_to_call(product: relax.Executable) -> None:
    main = relax.VirtualMachine(product)["main"]
    for dims in SIZES:
        x, y = arrays(*dims)
        np.testing.assert_array_equal(main(x, y), x @ y)


def test_nothing_is_found_twice(product: relax.Executable) -> None:
    """Not even a mistake in what finds it is noticed by a call with shapes that it knows."""
    vm = relax.VirtualMachine(product)
    x, y = arrays(2, 3, 4)
    vm["main"](x, y)
    ((kept, *_),) = [v for k, v in vm._namespace.items() if k == "m0"]
    assert kept[:2] == ((2, 3), (3, 4))
    vm._namespace["m0"][0] = (*kept[:-1], 1 << 20)
    assert vm["main"](x, y).shape == (2, 4)
    assert vm._namespace["m0"][0][-1] == 1 << 20
    vm["main"](*arrays(2, 3, 5))
    assert vm._namespace["m0"][0][-1] == 40


def test_what_is_refused_is_refused_after_a_good_call(product: relax.Executable) -> None:
    main = relax.VirtualMachine(product)["main"]
    x, y = arrays(2, 3, 4)
    for _ in range(2):
        np.testing.assert_array_equal(main(x, y), x @ y)
        with pytest.raises(ShapeMismatchError, match=r"argument 'y'.*dimension 0 is 4, expected 3"):
            main(x, np.ones((4, 4), "float32"))
        with pytest.raises(ArgumentTypeError, match=r"argument 'y'.*expected dtype float32"):
            main(x, y.astype("float64"))
        with pytest.raises(ArgumentTypeError, match=r"argument .x.*got ndim 3"):
            main(x[None], y)
        with pytest.raises(ArgumentTypeError, match=r"argument 'x'.*expected a tensor"):
            main((2, 3), y)


def test_threads_with_shapes_of_their_own(product: relax.Executable) -> None:
    main = relax.VirtualMachine(product)["main"]
    wrong: list[tuple[int, ...]] = []

    def run(dims: tuple[int, int, int]) -> None:
        x, y = arrays(*dims)
        wanted = x @ y
        for _ in range(300):
            result = main(x, y)
            if result.shape != wanted.shape or (result != wanted).any():
                wrong.append(dims)

    threads = [threading.Thread(target=run, args=(dims,)) for dims in SIZES[:5]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_tensor_is_kept(product: relax.Executable) -> None:
    main = relax.VirtualMachine(product)["main"]
    x, y = arrays(2, 3, 4)
    gone = weakref.ref(x)
    for _ in range(2):
        main(x, y)
    del x
    gc.collect()
    assert gone() is None


def test_sizes_of_later_tensors_and_bounds() -> None:
    """A program of several kernels and results reads sizes after memory was allocated."""
    n, m = Var("n", "int64"), Var("m", "int64")
    x = relax.Var("x", R.Tensor((n, m), "float32"))
    y = relax.Var("y", R.Tensor((n * 2,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y], attrs={"tir_var_upper_bound": {"n": 50}}):
        with bb.dataflow():
            first = bb.emit(op.exp(x))
            second = bb.emit(op.sum(first, axis=[1]))
            third = bb.emit(op.add(op.concat([second, second], axis=0), y))
            shape = bb.emit(op.permute_dims(first))
            out = bb.emit_output(relax.Tuple([third, shape, first]))
        bb.emit_func_output(out)
    main = relax.VirtualMachine(relax.build(bb.get()))["main"]
    for rows, columns in [(3, 5), (3, 5), (4, 5), (3, 5), (0, 5), (3, 0), (1, 1), (50, 700)]:
        data = np.zeros((rows, columns), "float32")
        third, moved, first = main(data, np.ones(2 * rows, "float32"))
        np.testing.assert_array_equal(third, np.full(2 * rows, columns + 1, "float32"))
        assert moved.shape == (columns, rows)
        assert first.shape == (rows, columns)
    with pytest.raises(ShapeMismatchError, match="at most 50"):
        main(np.zeros((51, 2), "float32"), np.ones(102, "float32"))
    with pytest.raises(ShapeMismatchError):
        main(np.zeros((3, 5), "float32"), np.ones(7, "float32"))


def halved(padding: int) -> relax.VirtualMachine:
    """Return a program whose result's sizes are computed."""
    h, w = Var("h", "int64"), Var("w", "int64")
    x = relax.Var("x", R.Tensor((1, 1, h, w), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            window = relax.const(np.ones((1, 1, 3, 3), "float32"))
            out = bb.emit_output(op.nn.conv2d(x, window, strides=2, padding=padding))
        bb.emit_func_output(out)
    return relax.VirtualMachine(relax.build(bb.get()))


def test_sizes_that_are_computed_are_those_of_memory() -> None:
    vm = halved(1)
    vm._namespace["new_tensor"] = None  # of a small size that is known nobody asks
    for rows, columns in [(7, 9), (7, 9), (3, 4), (1, 1), (7, 9)]:
        result = vm["main"](np.ones((1, 1, rows, columns), "float32"))
        assert result.shape == (1, 1, (rows + 1) // 2, (columns + 1) // 2)
        assert result[0, 0, 0, 0] == min(rows, 2) * min(columns, 2)


def test_sizes_that_are_computed_are_refused_where_they_are_none() -> None:
    main = halved(0)["main"]
    for _ in range(2):
        assert main(np.ones((1, 1, 7, 9), "float32")).shape == (1, 1, 3, 4)
        for rows in (0, 1, 2):
            with pytest.raises(ShapeMismatchError, match=rf"is {rows - 3}, a size cannot be neg"):
                main(np.ones((1, 1, rows, 9), "float32"))
