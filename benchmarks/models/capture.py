"""Models as programs of `torch.export` and as ONNX."""

import io
import warnings
from collections.abc import Sequence
from typing import Any

import detection
import torch
from catalogue import Model


def exported(model: Model, small: bool, sizes: dict[str, int] | None = None) -> Any:
    """Return a model as an exported program, of the dynamic sizes that torch allows.

    Args:
        model: the model.
        small: whether the small one.
        sizes: the only ones that a static program takes.
    """
    module = model.module(small)
    inputs = model.arguments(sizes or model.checked[0], small)
    is_static = sizes is not None or model.specialised
    dynamic = None if is_static else model.dynamic_shapes(module, small)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, inputs, dynamic_shapes=dynamic)


def onnx_of(model: Model, small: bool, sizes: dict[str, int] | None = None) -> Any:
    """Return a model as ONNX, with dynamic sizes if none are given."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model.specialised:
            return _traced(model, small, sizes)
        translations = detection.onnx_translations()
        program = exported(model, small, sizes)
        return torch.onnx.export(
            program, dynamo=True, verbose=False, custom_translation_table=translations
        ).model_proto


def _traced(model: Model, small: bool, sizes: dict[str, int] | None) -> Any:
    """Return a model by the exporter that traces, which keeps sizes that `torch.export` fixes."""
    import onnx

    inputs = model.arguments(sizes or model.checked[0], small)
    names = [f"input{i}" for i in range(len(inputs))]
    symbols = {name: name for name in model.checked[0]}
    dims = [each for one in model.inputs for each in one.dynamic(symbols, small)]
    axes = {} if sizes else dict(zip(names, dims, strict=True))
    file = io.BytesIO()
    torch.onnx.export(
        model.module(small), inputs, file, dynamo=False, input_names=names, dynamic_axes=axes
    )
    return onnx.load_from_string(file.getvalue())


def difference(results: Sequence[Any], expected: Sequence[torch.Tensor]) -> float:
    """Return the largest error of some results, relative to the largest element of each."""
    worst = 0.0
    for result, right in zip(results, expected, strict=True):
        if result.shape != right.shape or result.dtype != right.dtype:
            return float("inf")
        if right.numel():
            scale = float(right.double().abs().max()) or 1.0
            worst = max(worst, float((result.double() - right.double()).abs().max()) / scale)
    return worst
