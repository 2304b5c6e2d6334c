"""Random operators of ONNX: seeds repeat, runs differ without, distributions."""

import numpy as np
import pytest
from onnx.parser import parse_model

import relax_mlir
from relax_mlir import runtime


def run(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """Return the results of two runs."""
    model = relax_mlir.compile(parse_model(f'<ir_version: 10, opset_import: ["" : 22]> g {text}'))
    return [np.asarray(model(*inputs)) for _ in range(2)]


X = np.zeros((300, 200), "float32")
LIKE = "(float[n,m] x) => (float[n,m] y) "
CASES = {
    "RandomUniform<shape = [300, 200], low = 2.0, high = 4.0{}>()": (3, 2 / np.sqrt(12)),
    "RandomUniformLike<low = 2.0, high = 4.0{}>(x)": (3, 2 / np.sqrt(12)),
    "RandomNormal<shape = [300, 200], mean = 2.0, scale = 3.0{}>()": (2, 3),
    "RandomNormalLike<mean = 2.0, scale = 3.0{}>(x)": (2, 3),
}


@pytest.mark.parametrize("call", CASES)
def test_numbers(call: str) -> None:
    mean, deviation = CASES[call]
    first, second = run(f"{LIKE}{{ y = {call.format('')} }}", X)
    assert (first != second).mean() > 0.99
    for numbers in (first, second):
        assert numbers.mean() == pytest.approx(mean, abs=0.06)
        assert numbers.std() == pytest.approx(deviation, abs=0.06)
    first, second = run(f"{LIKE}{{ y = {call.format(', seed = 3.5')} }}", X)
    np.testing.assert_array_equal(first, second)


def test_bernoulli_and_its_dtype() -> None:
    text = "(float[n,m] x) => (int32[n,m] y) { y = Bernoulli<dtype = 6>(x) }"
    for result in run(text, X + np.float32(0.25)):
        assert result.dtype == "int32"
        assert result.mean() == pytest.approx(0.25, abs=0.02)


def test_multinomial_takes_logarithms() -> None:
    text = "(float[n,m] x) => (int32[n,k] y) { y = Multinomial<sample_size = 5000>(x) }"
    logarithms = np.log(np.array([[0.1, 0.2, 0.7]], "float32")) + 5
    for result in run(text, logarithms):
        assert result.shape == (1, 5000)
        np.testing.assert_allclose(np.bincount(result[0]) / 5000, [0.1, 0.2, 0.7], atol=0.04)


TRAINING = "<float r = {{0.25}}, bool t = {{1}}> {{ y{} = Dropout(x, r, t) }}"


def test_dropout_in_training_mode() -> None:
    first, second = run(LIKE + TRAINING.format(""), X + 3)
    assert (first != second).any()
    assert set(np.unique(first)) == {0, 4}
    assert (first == 0).mean() == pytest.approx(0.25, abs=0.02)
    runtime.manual_seed(5)
    once = run(LIKE + TRAINING.format(""), X + 3)[0]
    runtime.manual_seed(5)
    np.testing.assert_array_equal(run(LIKE + TRAINING.format(""), X + 3)[0], once)


def test_mask_of_dropout_is_what_it_kept() -> None:
    text = "(float[n,m] x) => (float[n,m] y, bool[n,m] k) " + TRAINING.format(", k")
    model = relax_mlir.compile(parse_model(f'<ir_version: 10, opset_import: ["" : 22]> g {text}'))
    result, mask = map(np.asarray, model(X + 3))
    np.testing.assert_array_equal(result != 0, mask)


def test_mode_and_ratio_that_run_time_knows() -> None:
    text = "(float[n] x, bool t, float r) => (float[n] y) { y = Dropout(x, r, t) }"
    x, ratio = X[0] + 3, np.array(0.5, "float32")
    for result in run(text, x, np.array(False), ratio) + run(text, x, np.array(True), ratio * 0):
        np.testing.assert_array_equal(result, x)
    assert set(np.unique(run(text, x, np.array(True), ratio)[0])) == {0, 6}
    assert not run(text, x, np.array(True), ratio * 2)[0].any()
