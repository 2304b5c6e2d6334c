"""Which operations of an ONNX model have converters."""

from typing import Any

from relax_mlir.frontend.coverage import Coverage
from relax_mlir.frontend.onnx import ops
from relax_mlir.frontend.onnx.model import Model, label, read_model, subgraphs
from relax_mlir.frontend.registry import find_converter


def coverage(model: Any) -> Coverage:
    """Return what an ONNX model needs.

    Args:
        model: a `ModelProto`, its bytes, or the path of a file.

    Raises:
        ModelError: it cannot be read.
    """
    ops.load()
    return coverage_of(read_model(model))


def coverage_of(model: Model) -> Coverage:
    """Return what a model that has been read needs."""
    made = Coverage(model.name)
    _count(model.proto.graph.node, model, made)
    return made


def _count(nodes: Any, model: Model, made: Coverage) -> None:
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = model.opsets.get(domain, 1)
        converter = find_converter(domain or "onnx", node.op_type, version)
        name = f"{domain}.{node.op_type}" if domain else node.op_type
        made.add(name, version, label(node), "converter" if converter else "")
        for body in subgraphs(node):
            _count(body.node, model, made)
