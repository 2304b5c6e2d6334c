"""ONNX models run by onnx's own reference evaluator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx.model import read_model
from relax_mlir.frontend.onnx.package import onnx_package


def run(model: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of a model, in order.

    Args:
        model: a `ModelProto` or the path of a file.
        inputs: by position.

    Raises:
        ModelError: it cannot be run.
    """
    return [np.asarray(each) for each in results(model, inputs)]


def results(model: Any, inputs: Sequence[np.ndarray]) -> list[Any]:
    """Return the outputs of a model as `run` does, sequences as lists.

    Raises:
        ModelError: it cannot be run.
    """
    onnx_package()
    from onnx.reference import ReferenceEvaluator

    read = read_model(model, None)
    weights = {tensor.name for tensor in read.proto.graph.initializer}
    names = [each.name for each in read.proto.graph.input if each.name not in weights]
    if len(names) != len(inputs):
        what = f"{len(names)} inputs ({', '.join(names)})"
        raise ModelError(f"{read.name} has {what}, got {len(inputs)}")
    try:
        source = str(model) if read.folder else read.proto
        given = dict(zip(names, inputs, strict=True))
        return list(ReferenceEvaluator(source).run(None, given))
    except Exception as error:
        raise ModelError(f"{read.name}: onnx's reference evaluator fails: {error}") from error
