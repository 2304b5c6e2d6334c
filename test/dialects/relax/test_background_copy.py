"""Large arrays are filled in the background of a build."""

import threading

import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax import background_copy
from relax_mlir.dialects.relax.background_copy import (
    copy_in_background,
    defer_copy,
    drop_copy,
    finish_copy,
    origin_of,
    start_copy,
)
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


def test_a_copy_is_put_off_until_it_is_needed() -> None:
    needed, left, dropped = targets = [np.zeros_like(LARGE) for _ in range(3)]
    with copy_in_background():
        for target in targets:
            defer_copy(target, LARGE.T)
            assert np.shares_memory(origin_of(target), LARGE)
        assert origin_of(left.reshape(-1)).any(), "of another shape it is filled"
        np.testing.assert_array_equal(finish_copy(needed), LARGE.T)
        assert origin_of(needed) is needed
        drop_copy(dropped)
    np.testing.assert_array_equal(left, LARGE.T)
    assert not dropped.any()


def test_transposed_weights_are_packed_as_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "0")
    monkeypatch.setattr(background_copy.os, "cpu_count", lambda: 2)
    weights = [LARGE, LARGE + 1]
    x = relax.Var("x", relax.TensorType(("n", 512), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = x
        for weight in weights:
            y = builder.emit(relax.op.matmul(y, relax.op.permute_dims(relax.const(weight))))
        # Read whole, so that its elements are needed where they would lie.
        again = builder.emit(relax.op.add(relax.op.permute_dims(relax.const(LARGE + 2)), y))
        builder.emit_func_output(again)
    copied = []
    copy = background_copy._copy
    monkeypatch.setattr(background_copy, "_copy", lambda *a: (copied.append(a[0].shape), copy(*a)))
    main = relax.VirtualMachine(relax.build(builder.get()))["main"]
    given = np.full((512, 512), 1e-3, "float32")
    expected = LARGE.T + 2 + given @ weights[0].T @ weights[1].T
    np.testing.assert_allclose(main(given), expected, rtol=1e-4)
    assert copied.count((512, 512)) == 1
