"""Large arrays are filled in the background of a build."""

import threading

import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax import background_copy
from relax_mlir.dialects.relax.background_copy import copy_in_background, finish_copy, start_copy
from relax_mlir.dialects.relax.constants import aligned, constant_array, constant_attribute
from relax_mlir.instrument import PrintAfterAll
from relax_mlir.transform import PassContext

LARGE = np.arange(1 << 18, dtype="f4").reshape(512, 512)


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let copies wait for an event; there are two cores."""
    event = threading.Event()
    copyto = np.copyto

    def later(target: np.ndarray, source: np.ndarray) -> None:
        event.wait(10)
        copyto(target, source)

    monkeypatch.setattr(background_copy.np, "copyto", later)
    monkeypatch.setattr(background_copy.os, "cpu_count", lambda: 2)
    return event


def test_the_build_goes_on_while_an_array_is_filled(blocked: threading.Event) -> None:
    target = np.zeros_like(LARGE)
    with copy_in_background():
        start_copy(target, LARGE)
        assert not target.any()
        blocked.set()
        np.testing.assert_array_equal(finish_copy(target), LARGE)
    assert finish_copy(target) is target


def test_all_is_filled_at_the_end(blocked: threading.Event) -> None:
    targets = [np.zeros_like(LARGE) for _ in range(3)]
    with copy_in_background():
        for target in targets:
            start_copy(target, LARGE)
        blocked.set()
    for target in targets:
        np.testing.assert_array_equal(target, LARGE)


def test_elements_of_a_constant_are_waited_for(blocked: threading.Event) -> None:
    with make_context(), ir.Location.unknown(), copy_in_background():
        attribute = constant_attribute(aligned(LARGE.T))
        assert constant_array(attribute, filled=False).shape == (512, 512)
        blocked.set()
        np.testing.assert_array_equal(constant_array(attribute), LARGE.T)


def test_an_error_ends_the_scope(blocked: threading.Event) -> None:
    blocked.set()
    with pytest.raises(ValueError, match="could not broadcast"), copy_in_background():
        start_copy(np.zeros_like(LARGE), LARGE[:, :3])


def test_small_arrays_and_other_places_do_not_wait() -> None:
    small, large = np.zeros(8, "f4"), np.zeros_like(LARGE)
    start_copy(large, LARGE)
    np.testing.assert_array_equal(large, LARGE)
    with copy_in_background():
        start_copy(small, LARGE[0, :8])
        np.testing.assert_array_equal(small, LARGE[0, :8])


PRODUCT = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n", 512), "float32")):
        return R.matmul(x, R.const(w))
"""


def test_packed_weights_are_whole_with_and_without_instruments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    w = np.random.default_rng(0).standard_normal((512, 512)).astype("f4")
    module = script.from_source(PRODUCT, extra_vars={"w": w})
    x = np.ones((3, 512), "f4")
    results = []
    for instruments in ([], [PrintAfterAll()]):
        with PassContext(instruments=instruments, config={"relax.compile_cache": False}):
            results.append(relax.VirtualMachine(relax.build(module))["main"](x))
    capsys.readouterr()
    np.testing.assert_allclose(results[0], x @ w, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("shape", [(0, 3), (3, 5), (130, 70), (4, 65, 129)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_transposed_arrays_are_copied(shape: tuple[int, ...], dtype: str) -> None:
    source = np.arange(np.prod(shape)).reshape(shape).astype(dtype).T
    target = np.empty(source.shape, dtype)
    start_copy(target, source)
    np.testing.assert_array_equal(target, source)
