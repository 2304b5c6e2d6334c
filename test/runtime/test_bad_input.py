"""Wrong and unusual arguments of compiled functions: typed errors, arrays and process intact."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from misuse import HOOK, Converts, Producer, build, good, hooked

from relax_mlir import relax, runtime
from relax_mlir.errors import (
    ArgumentTypeError,
    ExecutableFormatError,
    FunctionNotFoundError,
    RelaxMLIRError,
    ShapeMismatchError,
    VMError,
)


@pytest.fixture(autouse=True)
def _hook() -> Iterator[None]:
    with hooked():
        yield


@pytest.fixture(scope="module")
def executable() -> relax.Executable:
    return build()


@pytest.fixture(scope="module")
def vm(executable: relax.Executable) -> relax.VirtualMachine:
    return relax.VirtualMachine(executable)


class Hostile:
    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("no")


def endless() -> list:
    items: list = []
    items.append(items)
    return items


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "rank": (good()[0], ArgumentTypeError, "expected 2 dimensions, got ndim 1"),
    "scalar": (np.float32(1), ArgumentTypeError, "expected 2 dimensions, got ndim 0"),
    "many dimensions": (np.zeros((1,) * 30, "f4"), ArgumentTypeError, "expected 2 dim"),
    "float64": (good().astype("f8"), ArgumentTypeError, "expected dtype float32, got float64"),
    "float16": (good().astype("f2"), ArgumentTypeError, "got float16"),
    "int32": (good().astype("i4"), ArgumentTypeError, "got int32"),
    "bool": (good() > 0, ArgumentTypeError, "got bool"),
    "long double": (good().astype("g"), ArgumentTypeError, "expected dtype float32"),
    "complex": (good().astype("c8"), ArgumentTypeError, "got complex64"),
    "objects": (good().astype(object), ArgumentTypeError, "got object"),
    "structured": (np.zeros((3, 4), [("a", "f4")]), ArgumentTypeError, "got void32"),
    "dates": (np.zeros((3, 4), "M8[s]"), ArgumentTypeError, "got datetime64"),
    "strings": (np.array([["a"] * 4] * 3), ArgumentTypeError, "expected dtype float32"),
    "masked": (np.ma.array(good(), mask=False), ArgumentTypeError, "'y': masked arrays"),
    "columns": (good()[:, :3], ShapeMismatchError, "dimension 1 is 3, expected 4"),
    "rows": (good()[:2], ShapeMismatchError, "dimension 0 is"),
    "no rows": (good()[:0], ShapeMismatchError, "dimension 0 is"),
    "None": (None, ArgumentTypeError, "expected a tensor, got None"),
    "str": ("x", ArgumentTypeError, "expected a tensor, got a str"),
    "bytes": (b"x" * 48, ArgumentTypeError, "got a bytes"),
    "memoryview": (memoryview(good()), ArgumentTypeError, "got a memoryview"),
    "list": ([[1.0] * 4] * 3, ArgumentTypeError, "got a tuple of 3; pass numpy.asarray"),
    "shape": ((3, 4), ArgumentTypeError, "expected a tensor, got a shape"),
    "float": (1.0, ArgumentTypeError, r"pass numpy.float32\(1.0\)"),
    "dict": ({}, ArgumentTypeError, "got a dict"),
    "type": (np.float32, ArgumentTypeError, "got a type"),
    "function": (len, ArgumentTypeError, "got a builtin_function"),
    "generator": ((i for i in ()), ArgumentTypeError, "got a generator"),
    "dlpack fails": (Producer(good(), BufferError("no")), ArgumentTypeError, "'y': cannot read"),
    "dlpack on a GPU": (Producer(good(), RuntimeError("cuda")), ArgumentTypeError, "cuda"),
    "array fails": (Converts(None), ArgumentTypeError, "cannot read"),
    "hostile": (Hostile(), ArgumentTypeError, "cannot read"),
    "endless": (endless(), ArgumentTypeError, "recursion"),
    "too large": (np.broadcast_to(np.float32(1), (1 << 44, 4)), VMError, "'y': .*allocate"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_arguments(vm: relax.VirtualMachine, kind: str) -> None:
    value, error, message = WRONG[kind]
    x = good()
    before = value.tobytes() if isinstance(value, np.ndarray) and value.nbytes < 1000 else None
    with pytest.raises(error, match=message) as raised:
        vm["plus"](x, value)
    assert isinstance(raised.value, RelaxMLIRError)
    with pytest.raises(error):
        vm["plus"](value, x)
    assert before is None or value.tobytes() == before
    np.testing.assert_array_equal(x, good())
    np.testing.assert_array_equal(vm["plus"](x, x), x + x)


def misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.frombuffer(b"x" + array.tobytes(), array.dtype, array.size, offset=1)
    assert not raw.flags.aligned
    return raw.reshape(array.shape)


def strided(array: np.ndarray) -> np.ndarray:
    far = np.lib.stride_tricks.as_strided(np.zeros(1 << 18, "f4"), array.shape, (1 << 18, 1 << 12))
    far[...] = array
    return far


UNUSUAL: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "negative strides": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "far strides": strided,
    "byte-swapped": lambda x: x.astype(">f4"),
    "misaligned": misaligned,
    "read-only": lambda x: np.frombuffer(x.tobytes(), "f4").reshape(x.shape),
    "matrix": lambda x: x.view(np.matrix),
    "recarray": lambda x: x.view(np.recarray),
    "dlpack": Producer,
    "dlpack of strides": lambda x: Producer(np.asfortranarray(x)),
    "__array__": Converts,
}


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_unusual_arrays(vm: relax.VirtualMachine, kind: str, rows: int) -> None:
    x = good()[:rows].copy()
    value = UNUSUAL[kind](x.copy()) if rows or kind != "misaligned" else x.copy()
    result = vm["plus"](value, x)
    assert type(result) is runtime.Tensor
    np.testing.assert_array_equal(result, x + x)
    result[...] = -1
    array = getattr(value, "array", getattr(value, "result", value))
    np.testing.assert_array_equal(array, x)


def test_no_copy_of_zero_strides_is_written(vm: relax.VirtualMachine) -> None:
    one = np.broadcast_to(np.float32(1), (3, 4))
    np.testing.assert_array_equal(vm["plus"](one, good()), good() + 1)
    assert float(one[0, 0]) == 1


def test_arguments_that_overlap(vm: relax.VirtualMachine) -> None:
    x = np.arange(20, dtype="f4").reshape(5, 4)
    np.testing.assert_array_equal(vm["plus"](x[:-1], x[1:]), x[:-1] + x[1:])
    np.testing.assert_array_equal(vm["plus"](x, x), 2 * x)
    np.testing.assert_array_equal(vm["plus"](x, x[::-1]), x + x[::-1])


def test_symbols_that_contradict(vm: relax.VirtualMachine) -> None:
    x = np.ones((5, 13), "f4")
    np.testing.assert_allclose(vm["dot"](x, x[0]), np.full(5, 13.0))
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 5, expected 13"):
        vm["dot"](x, x[:, 0])
    assert vm["dot"](x[:0], x[0]).shape == (0,)
    np.testing.assert_array_equal(vm["dot"](x[:, :0], x[0, :0]), np.zeros(5))


def test_wrong_calls(vm: relax.VirtualMachine) -> None:
    x = good()
    calls = (((), {}), ((x,), {}), ((x, x, x), {}), ((x,), {"z": x}), ((x, x), {"x": x}))
    for args, kwargs in calls:
        with pytest.raises(ArgumentTypeError, match=r"plus\("):
            vm["plus"](*args, **kwargs)
    with pytest.raises(FunctionNotFoundError, match="did you mean 'plus'"):
        vm["plu"]
    with pytest.raises(FunctionNotFoundError):
        vm[3]


WRONG_FIELDS: dict[str, tuple[Any, type[Exception]]] = {
    "rows": ((good(), (np.zeros(2, "f4"), (3, 4))), ShapeMismatchError),
    "shape": ((good(), (np.zeros(3, "f4"), (4, 4))), ShapeMismatchError),
    "tensor for shape": ((good(), (np.zeros(3, "f4"), good())), ArgumentTypeError),
    "tensor for tuple": ((good(), good()), ArgumentTypeError),
    "short": ((good(), (good(),)), ArgumentTypeError),
    "empty": ((), ArgumentTypeError),
    "no tuple": (good(), ArgumentTypeError),
    "None": ((None, None), ArgumentTypeError),
}


@pytest.mark.parametrize("kind", WRONG_FIELDS)
def test_wrong_tuples(vm: relax.VirtualMachine, kind: str) -> None:
    value, error = WRONG_FIELDS[kind]
    with pytest.raises(error, match="argument"):
        vm["fields"](value)
    x = good()
    np.testing.assert_array_equal(vm["fields"]([x, [x[:, 0], [3, 4]]]), x)


WRONG_SHAPES: dict[str, tuple[Any, type[Exception]]] = {
    "constant": ((3, 5), ShapeMismatchError),
    "negative": ((-1, 4), ShapeMismatchError),
    "above 64 bits": ((1 << 63, 4), ShapeMismatchError),
    "far above": ((1 << 80, 4), ShapeMismatchError),
    "bytes overflow to 0": ((1 << 62, 4), VMError),
    "bytes overflow to few": (((1 << 60) + 1, 4), VMError),
    "no such memory": ((1 << 42, 4), VMError),
    "rank": ((3,), ArgumentTypeError),
    "floats": ((3.0, 4), ArgumentTypeError),
    "bools": ((True, 4), ArgumentTypeError),
    "tensor": (np.array([3, 4]), ArgumentTypeError),
    "int": (3, ArgumentTypeError),
    "None": (None, ArgumentTypeError),
}


@pytest.mark.parametrize("kind", WRONG_SHAPES)
def test_wrong_shapes(vm: relax.VirtualMachine, kind: str) -> None:
    HOOK["call"] = lambda out: out.fill(3)
    value, error = WRONG_SHAPES[kind]
    with pytest.raises(error):
        vm["fill"](value)
    np.testing.assert_array_equal(vm["fill"]((2, 4)), np.full((2, 4), 3))
    assert vm["fill"]((0, 4)).shape == (0, 4)


# Lifetimes


def test_results_stay_as_they_are(executable: relax.Executable) -> None:
    vm = relax.VirtualMachine(executable)
    results = [vm["plus"](good(), good() + i) for i in range(20)]
    constants = [vm["constant"]() for _ in range(2)]
    constants[0][...] = 0
    assert (constants[1] == 1.5).all()
    plus = vm["plus"]
    del vm
    gc.collect()
    np.testing.assert_array_equal(plus(good(), good()), 2 * good())
    del plus
    gc.collect()
    assert [np.full(1 << 12, i, "f4") for i in range(200)]  # whatever was freed is written over
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, 2 * good() + i)
        assert result.flags.writeable


def test_results_share_nothing(vm: relax.VirtualMachine) -> None:
    x = good()
    results = [vm["plus"](x, x) for _ in range(3)]
    for i, result in enumerate(results):
        assert not np.shares_memory(result, x)
        assert not any(np.shares_memory(result, other) for other in results[:i])


# Native functions called by hand


def test_outputs_of_native_functions(vm: relax.VirtualMachine) -> None:
    add, x = vm["add"], good()
    for out in (np.zeros((3, 4), "f4"), np.zeros((4, 3), "f4").T, np.zeros((3, 4), ">f4"),
                np.zeros((3, 8), "f4")[:, ::-2]):  # fmt: skip
        add(x, x[::-1], out)
        np.testing.assert_array_equal(out, x + x[::-1])
    data = bytes(48)
    locked = np.frombuffer(data, "f4").reshape(3, 4)
    with pytest.raises(ArgumentTypeError, match="argument 2 is an output, but the array is read-"):
        add(x, x, locked)
    assert data == bytes(48)
    # An output is one also where it has the numbers already.
    with pytest.raises(ArgumentTypeError, match="argument 2 is an output, but the array is read-"):
        add(locked, locked, locked)
    add(locked, locked, x)
    assert (x == 0).all()
    for wrong in ((x,), (x, x), (x, x, None), (x, x, x[0]), (x, x, x.astype("f8"))):
        with pytest.raises(ArgumentTypeError):
            add(*wrong)
    with pytest.raises(ShapeMismatchError):
        add(x, x, x[:2])


def test_wrong_executables() -> None:
    for wrong in (None, 3):
        with pytest.raises(TypeError):
            relax.VirtualMachine(wrong)
    with pytest.raises(FileNotFoundError):
        relax.VirtualMachine("no such file")
    with pytest.raises(ExecutableFormatError, match="header"):
        relax.VirtualMachine("/dev/null")
    with pytest.raises(TypeError, match="got str: script"):
        relax.build("module {}")
