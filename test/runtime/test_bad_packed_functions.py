"""Packed functions that misbehave: garbage results, exceptions, writes, calls back into the VM."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from misuse import HOOK, Converts, build, good, hooked

from relax_mlir import relax
from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, ShapeMismatchError, VMError
from relax_mlir.runtime import register_func, remove_global_func


@pytest.fixture(autouse=True)
def _hook() -> Iterator[None]:
    with hooked():
        yield


@pytest.fixture(scope="module")
def vm() -> relax.VirtualMachine:
    return relax.VirtualMachine(build())


def test_missing_function_may_come_later(vm: relax.VirtualMachine) -> None:
    for _ in range(2):
        with pytest.raises(FunctionNotFoundError, match=r"'test\.bad\.late' is not registered"):
            vm["late"](good())
    register_func("test.bad.late", lambda x: x + 1)
    try:
        np.testing.assert_array_equal(vm["late"](good()), good() + 1)
    finally:
        remove_global_func("test.bad.late")


GARBAGE: dict[str, Callable[[np.ndarray], Any]] = {
    "None": lambda x: None,
    "str": lambda x: "x",
    "number": lambda x: 1.0,
    "object": lambda x: object(),
    "tuple": lambda x: (x, x),
    "rank": lambda x: x[0],
    "dtype": lambda x: x.astype("f8"),
    "columns": lambda x: x[:, :2],
    "rows": lambda x: np.concatenate([x, x]),
    "complex": lambda x: x.astype("c8"),
    "masked": lambda x: np.ma.array(x),
    "broken": lambda x: Converts(None),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_return_garbage(vm: relax.VirtualMachine, kind: str) -> None:
    x = good()
    HOOK["call"] = GARBAGE[kind]
    with pytest.raises((ArgumentTypeError, ShapeMismatchError), match="in VM function 'packed'"):
        vm["packed"](x)
    np.testing.assert_array_equal(x, good())
    HOOK["call"] = lambda x: x[::-1]
    np.testing.assert_array_equal(vm["packed"](x), x + x[::-1])


@pytest.mark.parametrize("error", [ValueError("boom"), KeyError(1), MemoryError(), SystemExit(3)])
def test_raise(vm: relax.VirtualMachine, error: BaseException) -> None:
    def fail(x: Any) -> None:
        raise error

    HOOK["call"] = fail
    with pytest.raises(type(error)) as raised:
        vm["packed"](good())
    assert raised.value is error
    HOOK["call"] = lambda x: x
    np.testing.assert_array_equal(vm["packed"](good()), 2 * good())


def test_update_what_they_may(vm: relax.VirtualMachine) -> None:
    HOOK["call"] = lambda x: x.fill(7)
    x = good()
    assert vm["update"](x).base is x
    assert (x == 7).all()
    turned = np.asfortranarray(good())
    assert (vm["update"](turned) == 7).all()
    assert (turned == 7).all()


def test_cannot_write_read_only_memory(vm: relax.VirtualMachine) -> None:
    data = good().tobytes()
    x = np.frombuffer(data, "f4").reshape(3, 4)
    for write in (lambda x: x.fill(7), lambda x: x.reshape(-1)[:2].fill(7)):
        HOOK["call"] = write
        with pytest.raises(ValueError, match="read-only"):
            vm["update"](x)
        with pytest.raises(ValueError, match="read-only"):
            vm["write_constant"](good())
    assert data == good().tobytes()
    HOOK["call"] = lambda x: None
    np.testing.assert_array_equal(vm["write_constant"](good()), good() + 1.5)
    assert vm["update"](x).base is x
    HOOK["call"] = lambda x: x
    np.testing.assert_array_equal(vm["packed"](x), x + x)


def test_return_their_argument(vm: relax.VirtualMachine) -> None:
    locked = np.frombuffer(good().tobytes(), "f4").reshape(3, 4)
    for give in (lambda x: x, lambda x: x[1:], lambda x: x.T, lambda x: (x, x[0])):
        HOOK["call"] = give
        for x in (good(), locked, good()[::-1]):
            before = x.copy()
            result = vm["give"](x)
            for part, want in zip(
                result if type(result) is tuple else [result],
                give(before) if type(result) is tuple else [give(before)],
                strict=True,
            ):
                np.testing.assert_array_equal(part, want)
                if part is not x:
                    part[...] = -1
            np.testing.assert_array_equal(x, before)


def test_keep_what_they_saw(vm: relax.VirtualMachine) -> None:
    kept: list[np.ndarray] = []
    HOOK["call"] = kept.append
    inputs = [good() / 12 + i for i in range(4)]
    for x in inputs:
        vm["middle"](x)
    gc.collect()
    for x, seen in zip(inputs, kept, strict=True):
        np.testing.assert_allclose(seen, np.exp(x), rtol=1e-6)


def test_call_back(vm: relax.VirtualMachine) -> None:
    depth = 20

    def again(x: np.ndarray) -> np.ndarray:
        return vm["packed"](x - 1) if x[0, 0] > 0 else x

    HOOK["call"] = again
    x = np.full((3, 4), depth, "f4")
    np.testing.assert_array_equal(vm["packed"](x), np.full((3, 4), depth * (depth + 1) / 2))
    HOOK["call"] = lambda x: vm["packed"](x)
    with pytest.raises(VMError, match="too deeply"):
        vm["packed"](x)
    HOOK["call"] = lambda x: x
    np.testing.assert_array_equal(vm["packed"](x), x + x)
