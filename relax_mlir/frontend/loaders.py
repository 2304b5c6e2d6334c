"""The kinds of models that `relax_mlir.compile` takes, recognised without imports."""

import importlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from relax_mlir.errors import ModelError
from relax_mlir.frontend.comparison import Comparison
from relax_mlir.frontend.coverage import Coverage

_LOGGER = logging.getLogger("relax_mlir.frontend")


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        name: for messages.
        load: `module:function` that makes an IRModule of one, or what compiles it.
        report: `module:function` that says what of one can be imported.
        compare: `module:function` that compares one with what it is compiled to; none if empty.
        run: `module:function` that runs one in its framework on arrays; none if empty.
        suffixes: of the names of its files.
        classes: full names of classes whose objects, also of derived classes, are such models;
            what begins with a dot is the end of a name.
        is_text: whether a string that is no path is one.
        magic: what its bytes begin with.
    """

    name: str
    load: str
    report: str
    compare: str = ""
    run: str = ""
    suffixes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    is_text: bool = False
    magic: bytes = b""

    def recognises(self, model: Any) -> bool:
        """Whether an object or a path is such a model."""
        if isinstance(model, str) and is_text(model):
            return self.is_text
        if isinstance(model, bytes):
            return bool(self.magic) and model.startswith(self.magic)
        if isinstance(model, (str, os.PathLike)):
            return PurePath(os.fspath(model)).suffix in self.suffixes
        names = [f"{each.__module__}.{each.__qualname__}" for each in type(model).__mro__]
        ends = tuple(each for each in self.classes if each.startswith("."))
        return any(name in self.classes or name.endswith(ends) for name in names)


KINDS = [
    Kind(
        "ONNX",
        load="relax_mlir.frontend.onnx:from_onnx",
        report="relax_mlir.frontend.onnx.coverage:coverage",
        compare="relax_mlir.frontend.onnx.compare:compare",
        run="relax_mlir.frontend.onnx.reference:run",
        suffixes=(".onnx",),
        classes=("onnx.onnx_ml_pb2.ModelProto",),
    ),
    Kind(
        "PyTorch",
        load="relax_mlir.frontend.torch:load_model",
        report="relax_mlir.frontend.torch:coverage",
        compare="relax_mlir.frontend.torch.compare:compare",
        run="relax_mlir.frontend.torch:run",
        suffixes=(".pt2",),
        classes=(
            "torch.export.exported_program.ExportedProgram",
            "torch.nn.modules.module.Module",
        ),
    ),
    Kind(
        "MLIR",
        load="relax_mlir.frontend.mlir:load_model",
        report="relax_mlir.frontend.mlir:coverage",
        run="relax_mlir.frontend.mlir.evaluator:run",
        suffixes=(".mlir", ".mlirbc", ".stablehlo"),
        classes=(
            "._mlir_libs._mlir.ir.Module",
            "jax._src.export._export.Exported",
            "jax._src.stages.Lowered",
        ),
        is_text=True,
        magic=b"ML\xefR",
    ),
]


def is_text(model: str) -> bool:
    """Whether a string is a program's text, not the path of a file."""
    return "\n" in model or "{" in model or not model.strip()


def load_model(model: Any, **options: Any) -> Any:
    """Return the program that a model is, None for what is no model of another framework.

    Args:
        model: any object, or a path.
        options: of the importer.

    Returns:
        An IRModule, or something with a method `compile(target, pipeline)` that compiles it.

    Raises:
        ModelError: it is broken, needs what cannot be imported, or the package that reads it is
            missing; or it is a path of no known kind.
    """
    kind = _kind_of(model)
    if kind is None:
        if isinstance(model, (str, os.PathLike)):
            raise _unknown(model)
        if options:
            raise TypeError(f"{', '.join(options)}: {type(model).__name__} is no model")
        return None
    start = time.perf_counter()
    result = _function(kind.load)(model, **options)
    _LOGGER.info("imported a model of %s: %.2f s", kind.name, time.perf_counter() - start)
    return result


def report(model: Any) -> Coverage:
    """Return what operations a model needs, and which of them can be imported; prints as a table.

    Args:
        model: a model of another framework, or the path of its file.

    Raises:
        ModelError: it cannot be read, or is none.
    """
    kind = _kind_of(model)
    if kind is None:
        raise _unknown(model)
    return _function(kind.report)(model)


def compare(model: Any, inputs: tuple[Any, ...], **options: Any) -> Comparison:
    """Return how far a compiled model's results are from those of its source framework.

    Args:
        model: a model of another framework.
        inputs: what to run it on, positional.
        options: `rtol`, `atol`, `target`, and those of the importer: `dynamic_shapes` of PyTorch,
            `shape_dict` of ONNX.

    Raises:
        ModelError: the model cannot be compiled, or its framework not run.
    """
    kind = _kind_of(model)
    if kind is None or not kind.compare:
        known = ", ".join(each.name for each in KINDS if each.compare)
        what = type(model).__name__ if kind is None else f"an {kind.name} model"
        raise ModelError(f"compare runs models of {known}, got {what}")
    return _function(kind.compare)(model, inputs, **options)


def run_source(model: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return what a model gives for arrays in the framework it comes from.

    Raises:
        ModelError: nothing runs it.
    """
    kind = _kind_of(model)
    if kind is None:
        raise _unknown(model)
    return _function(kind.run)(model, inputs)


def _kind_of(model: Any) -> Kind | None:
    return next((kind for kind in KINDS if kind.recognises(model)), None)


def _unknown(model: Any) -> ModelError:
    known = ", ".join(f"{kind.name} {' '.join(kind.suffixes)}".strip() for kind in KINDS)
    return ModelError(f"{model!r} is no model that can be imported; the kinds are: {known}")


def _function(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
