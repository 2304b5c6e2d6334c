"""Ray Data and Ray Serve run a saved executable; a replica dies and no request is lost."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT

ray = pytest.importorskip("ray", reason="needs relax-mlir[ray]")
serve = pytest.importorskip("ray.serve", reason="needs relax-mlir[ray]")

from relax_mlir import relax  # noqa: E402
from relax_mlir.contrib.ray import Predictor, deployment  # noqa: E402
from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError  # noqa: E402
from relax_mlir.script import from_source  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "k"), "float32")):
        return R.sum(R.exp(x), axis=1)

    @R.function
    def both(x: R.Tensor(("n", "k"), "float32"), y: R.Tensor(("n",), "float32")):
        return (R.add(R.sum(x, axis=1), y), R.negative(y))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("model") / "model.rxe"
    relax.build(from_source(MODEL)).save(file)
    return file


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    serve.shutdown()
    ray.shutdown()


def test_the_example() -> None:
    command = [sys.executable, str(ROOT / "examples" / "serve_ray.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "data set: 1000 rows, 3 scores each" in done.stdout
    assert "requests: 100 answered, scores add up to one: True" in done.stdout


def test_a_predictor_adds_columns(path: Path) -> None:
    x, y = np.ones((3, 2), "f4"), np.arange(3)
    found = Predictor(path, "both")({"x": x, "y": y, "name": ["a", "b", "c"]})
    np.testing.assert_array_equal(found["output_0"], [2, 3, 4])
    np.testing.assert_array_equal(found["output_1"], [0, -1, -2])
    assert found["name"] == ["a", "b", "c"]
    with pytest.raises(ArgumentTypeError, match="expected the columns x, y; y not among x"):
        Predictor(path, "both")({"x": x})
    with pytest.raises(FunctionNotFoundError, match=r"no function 'f' \(it has: main, both\)"):
        Predictor(path, "f")


def test_a_dataset_is_mapped(path: Path, cluster: None) -> None:
    rows = np.random.default_rng(0).random((101, 5), dtype="f4")
    dataset = ray.data.from_numpy(rows).rename_columns({"data": "x"})
    mapped = dataset.map_batches(
        Predictor, fn_constructor_args=[str(path)], concurrency=1, batch_size=32
    )
    found = mapped.take_all()
    assert len(found) == 101
    for row in found:
        np.testing.assert_allclose(row["output"], np.exp(row["x"]).sum(), rtol=1e-5)


def test_requests_are_batched_and_survive_a_replica(path: Path, cluster: None) -> None:
    handle = serve.run(
        deployment(path, replicas=2, max_queued_requests=1000), name="model", route_prefix="/"
    )
    inputs = [np.full(1 + i % 3, i / 100, "f4") for i in range(400)]
    asked = []
    for i, x in enumerate(inputs):
        asked.append(handle.predict.remote(x=x))
        if i == 50:
            names = [
                each["name"]
                for each in ray.util.list_named_actors(all_namespaces=True)
                if "#model#" in each["name"]
            ]
            assert len(names) == 2
            ray.kill(ray.get_actor(names[0], namespace="serve"))
    for x, each in zip(inputs, asked, strict=True):
        found = each.result(timeout_s=60)["output"]
        np.testing.assert_allclose(found, np.exp(x).sum(), rtol=1e-5)

    # A wrong request is told so, and the others of its batch are not.
    right = [handle.predict.remote(x=np.zeros(2, "f4")) for _ in range(8)]
    wrong = handle.predict.remote(y=np.zeros(2, "f4"))
    with pytest.raises(Exception, match="expected the columns x; x not among y"):
        wrong.result(timeout_s=60)
    assert [each.result(timeout_s=60)["output"] for each in right] == [2.0] * 8

    def post(data: bytes) -> tuple[int, dict]:
        request = urllib.request.Request("http://127.0.0.1:8000/", data=data)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    assert post(json.dumps({"x": [0.0, 0.0, 0.0]}).encode()) == (200, {"output": 3.0})
    for data in (b'{"x": "text"}', b"[1]", b"{", b'{"x": [[1.0]]}', b"{}"):
        code, answer = post(data)
        assert code == 400, (data, answer)
        assert answer["error"]


def test_more_than_may_wait_is_refused(path: Path, cluster: None) -> None:
    app = deployment(path, max_ongoing_requests=2, max_queued_requests=2, batch_wait_s=0.5)
    handle = serve.run(app, name="small", route_prefix="/small")
    asked = [handle.predict.remote(x=np.zeros(3, "f4")) for _ in range(40)]
    refused = 0
    for each in asked:
        try:
            assert each.result(timeout_s=60)["output"] == 3.0
        except serve.exceptions.BackPressureError:
            refused += 1
    assert 0 < refused < 40
