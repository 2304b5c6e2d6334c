"""ONNX models compared with what they are compiled to; onnx's reference evaluator runs them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.compiler.pipeline import build
from relax_mlir.errors import ModelError
from relax_mlir.frontend.comparison import Comparison, Difference, difference
from relax_mlir.frontend.onnx import reference
from relax_mlir.frontend.onnx.importer import from_onnx
from relax_mlir.frontend.onnx.model import Model, label, read_model
from relax_mlir.frontend.onnx.package import onnx_package
from relax_mlir.relax.vm import VirtualMachine


def compare(
    model: Any, inputs: Sequence[Any], *, shape_dict: Mapping[str, Any] | None = None,
    target: Any = None, rtol: float = 1e-4, atol: float = 1e-5,
) -> Comparison:  # fmt: skip
    """Return how far a compiled model's results are from those of onnx's reference evaluator.

    Where they differ, the model is compiled again with the result of each node as an output.

    Args:
        model: a `ModelProto`, its bytes, or a path.
        inputs: arrays, by position.
        shape_dict: shapes of inputs, as `from_onnx` takes them.
        target: to compile for.
        rtol: how much of the reference's number another may differ by.
        atol: the absolute tolerance, in addition.

    Raises:
        ModelError: the model cannot be imported, or the evaluator not run it.
    """
    read = read_model(model, None)
    arrays = [np.asarray(each) for each in inputs]

    def differences(source: Any, names: Sequence[str]) -> list[Difference]:
        expected = reference.results(source, arrays)
        module = from_onnx(source, shape_dict)
        found = VirtualMachine(build(module, target))["main"](*arrays)
        actual = list(found) if len(names) > 1 else [found]
        return [
            difference(path, np.asarray(mine), np.asarray(value), rtol, atol)
            for triple in zip(names, actual, expected, strict=True)
            for path, mine, value in _leaves(*triple)
        ]

    outputs = differences(model, [each.name for each in read.proto.graph.output])
    if all(each.agrees for each in outputs):
        return Comparison(outputs)
    whole = _with_every_result(read)
    names = [each.name for each in whole.graph.output]
    first = next((each for each in differences(whole, names) if not each.agrees), None)
    return Comparison(outputs, first and _line(whole, first))


def _leaves(name: str, mine: Any, value: Any) -> list[tuple[str, Any, Any]]:
    """Return the tensors of an output, which may be a sequence, with a name for each."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return [(name, mine, value)]
    if len(mine) != len(value):
        raise ModelError(f"output '{name}' has {len(mine)} tensors, the reference has {len(value)}")
    return [
        leaf
        for i, pair in enumerate(zip(mine, value, strict=True))
        for leaf in _leaves(f"{name}[{i}]", *pair)
    ]


def _with_every_result(read: Model) -> Any:
    """Return a model whose outputs are the results of its nodes, in order."""
    onnx = onnx_package()
    made = onnx.ModelProto()
    made.CopyFrom(read.proto)
    if read.folder:
        onnx.load_external_data_for_model(made, str(read.folder))
    names = [name for node in made.graph.node for name in node.output if name]
    del made.graph.output[:]
    made.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, names))
    return made


def _line(model: Any, found: Difference) -> str:
    name = found.name.partition("[")[0]
    node = next(each for each in model.graph.node if name in each.output)
    return f"{label(node)}: largest error {found.error:.3g}"
