"""A model on a cluster: a data set through Ray Data, requests through Ray Serve.

Starts a cluster on this machine; `ray.init(address="auto")` joins one of several. Needs
`pip install 'relax-mlir[ray]'`.
"""

import tempfile
from pathlib import Path

import numpy as np
import ray
from ray import serve

from relax_mlir import relax
from relax_mlir.contrib.ray import Predictor, deployment
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

weight = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


@I.ir_module
class Classifier:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, R.const(weight)), axis=-1)
            R.output(y)
        return y


def main() -> None:
    """Run a thousand rows as a data set, and a hundred as requests."""
    rows = np.random.default_rng(1).normal(size=(1000, 8)).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.rxe"
        relax.build(Classifier).save(path)
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
        dataset = ray.data.from_numpy(rows).rename_columns({"data": "x"})
        mapped = dataset.map_batches(Predictor, fn_constructor_args=[str(path)], concurrency=2)
        scores = np.stack([row["output"] for row in mapped.take_all()])
        print(f"data set: {scores.shape[0]} rows, {scores.shape[1]} scores each")
        handle = serve.run(deployment(path, replicas=2))
        asked = [handle.predict.remote(x=row) for row in rows[:100]]
        answers = np.stack([each.result()["output"] for each in asked])
        same = np.allclose(answers.sum(axis=1), 1, rtol=1e-5)
        print(f"requests: {len(answers)} answered, scores add up to one: {same}")
        serve.shutdown()
        ray.shutdown()


if __name__ == "__main__":
    main()
