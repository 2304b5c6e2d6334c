"""Saved executables on many machines: classes for Ray Data, deployments for Ray Serve.

Clusters, replicas, queues and batches are Ray's (https://docs.ray.io); here is what joins requests
along the batch dimension of a compiled model, which may be of any size.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, RelaxMLIRError
from relax_mlir.runtime import Executable, VirtualMachine
from relax_mlir.runtime.vm.signature import Parameter, parameters

try:
    import ray.exceptions
    from ray import serve
except ImportError as error:
    raise ImportError(
        f"relax_mlir.contrib.ray needs {error.name}: pip install 'relax-mlir[ray]'"
    ) from error

# A call of a model changes nothing, so another replica may take it: as often as this.
_ATTEMPTS = 5


class Predictor:
    """A model for `ray.data.Dataset.map_batches(Predictor, fn_constructor_args=[path], ...)`.

    Each worker loads the executable once. A batch is columns by name: those called as parameters
    of the function are its arguments, the first dimension is the batch.

    Args:
        path: a saved executable, which every machine can read.
        function: which function of it.
        output: the column of the result; results that are tuples get `output_0`, `output_1`, ....

    Raises:
        FunctionNotFoundError: the executable has no such function.
        ExecutableFormatError: the file is damaged, or for another CPU.
    """

    def __init__(
        self, path: str | os.PathLike[str], function: str = "main", output: str = "output"
    ) -> None:
        executable = Executable.load(path)
        if all(each.name != function for each in executable.global_funcs):
            known = ", ".join(each.name for each in executable.global_funcs)
            raise FunctionNotFoundError(f"'{path}' has no function '{function}' (it has: {known})")
        self.parameters: list[Parameter] = parameters(executable, executable.function(function))
        self._call = VirtualMachine(executable)[function]
        self._output = output

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the columns of a batch, and the results.

        Raises:
            ArgumentTypeError: a column is missing.
            ShapeMismatchError: a column has another shape or dtype than the function takes.
        """
        return {**batch, **self.results(batch)}

    def results(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the results alone; arguments and errors are those of a call."""
        missing = [each.name for each in self.parameters if each.name not in batch]
        if missing:
            raise ArgumentTypeError(
                f"expected the columns {', '.join(p.name for p in self.parameters)}; "
                f"{', '.join(missing)} not among {', '.join(batch)}"
            )
        result = self._call(*(np.asarray(batch[p.name], dtype=p.dtype) for p in self.parameters))
        if isinstance(result, tuple):
            return {f"{self._output}_{i}": np.asarray(each) for i, each in enumerate(result)}
        return {self._output: np.asarray(result)}


class _Model:
    """A replica: requests that wait together are one call."""

    def __init__(self, path: str, function: str) -> None:
        self._predictor = Predictor(path, function)

    def reconfigure(self, batching: Mapping[str, Any]) -> None:
        """Set the size of batches, and how long a request waits for others."""
        run: Any = self._run
        run.set_max_batch_size(batching["max_batch_size"])
        run.set_batch_wait_timeout_s(batching["batch_wait_s"])

    async def predict(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the results for one example, whose arrays have no batch dimension.

        Raises:
            ArgumentTypeError: an input is missing.
            ShapeMismatchError: an input has a wrong shape.
        """
        result = await self._run(inputs)
        if isinstance(result, RelaxMLIRError):
            raise result
        return result

    @serve.batch
    async def _run(self, requests: Sequence[Mapping[str, Any]]) -> list[Any]:
        # Examples of other shapes, such as lengths, are batches of their own.
        groups: dict[Any, list[int]] = {}
        arrays = [{name: np.asarray(value) for name, value in each.items()} for each in requests]
        for i, each in enumerate(arrays):
            key = tuple(sorted((name, value.shape) for name, value in each.items()))
            groups.setdefault(key, []).append(i)
        answers: list[Any] = [None] * len(arrays)
        for group in groups.values():
            batch = {name: np.stack([arrays[i][name] for i in group]) for name in arrays[group[0]]}
            try:
                results = self._predictor.results(batch)
            except RelaxMLIRError as error:
                # Of this group only: others that waited with it get their results.
                for i in group:
                    answers[i] = error
            else:
                for at, i in enumerate(group):
                    answers[i] = {name: value[at] for name, value in results.items()}
        return answers


class _Gate:
    """What callers and HTTP reach: it asks a replica again when one dies."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def predict(self, **inputs: Any) -> dict[str, np.ndarray]:
        """Return the results for one example; see `_Model.predict`."""
        for attempt in range(_ATTEMPTS):
            try:
                return await self._model.predict.remote(inputs)
            except ray.exceptions.RayActorError:
                if attempt + 1 == _ATTEMPTS:
                    raise
        raise AssertionError

    async def __call__(self, request: Any) -> Any:
        """Answer HTTP: inputs and results are JSON, lists by name; a wrong request gets 400."""
        from starlette.responses import JSONResponse

        try:
            inputs = await request.json()
            if not isinstance(inputs, dict):
                raise ArgumentTypeError("expected an object of inputs by name")
            results = await self.predict(**inputs)
        except (ValueError, TypeError, ray.exceptions.RayTaskError) as error:
            cause = getattr(error, "cause", None) or error
            return JSONResponse({"error": str(cause).splitlines()[0]}, status_code=400)
        return JSONResponse({name: value.tolist() for name, value in results.items()})


def deployment(
    path: str | os.PathLike[str],
    *,
    function: str = "main",
    replicas: int = 1,
    cpus: float = 1.0,
    max_batch_size: int = 32,
    batch_wait_s: float = 0.005,
    max_ongoing_requests: int = 64,
    max_queued_requests: int = 256,
) -> serve.Application:
    """Return a model as an application for `serve.run`.

    The handle's `predict.remote(x=..., ...)` takes one example, arrays without the batch dimension,
    and gives its results by name: `output`, or `output_0`, ... of a tuple. HTTP takes and gives the
    same as JSON. A request that waits for a replica that dies goes to another one; more requests
    than may be queued are rejected at once (`ray.serve.exceptions.BackPressureError`, HTTP 503).

    Args:
        path: a saved executable, which every machine can read.
        function: which function; the first dimension of its arguments is the batch, of any size.
        replicas: how many processes run the model.
        cpus: of each replica.
        max_batch_size: the most examples in a call.
        batch_wait_s: seconds that the first example of a batch waits for others.
        max_ongoing_requests: what a replica has at a time.
        max_queued_requests: what waits for replicas.
    """
    model = serve.deployment(_Model, name="model").options(
        num_replicas=replicas,
        max_ongoing_requests=max_ongoing_requests,
        ray_actor_options={"num_cpus": cpus},
        user_config={"max_batch_size": max_batch_size, "batch_wait_s": batch_wait_s},
        health_check_period_s=1,
    )
    gate = serve.deployment(_Gate, name="gate").options(
        max_ongoing_requests=max_queued_requests,
        max_queued_requests=max_queued_requests,
        ray_actor_options={"num_cpus": 0},
    )
    return gate.bind(model.bind(os.fspath(path), function))
