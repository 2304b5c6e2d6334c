"""Reading ONNX models, and what makes one broken."""

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx.package import onnx_package

OLDEST_OPSET = 7


@dataclass
class Model:
    """An ONNX model that can be read.

    Attributes:
        proto: the `ModelProto`.
        folder: where its external data is; None for a model that was not read from a file.
        name: for messages.
        opsets: the version of each domain; that of ONNX is `""`.
    """

    proto: Any
    folder: Path | None
    name: str
    opsets: dict[str, int] = field(default_factory=dict)


def read_model(model: Any, opset: int | None = None) -> Model:
    """Return a model given as `ModelProto`, bytes, or path.

    Args:
        model: the model.
        opset: what counts as the version of ONNX's own operators instead of what the model says.

    Raises:
        ModelError: there is none, it is broken, or of a version that is not supported.
        MissingPackageError: the package `onnx` is missing.
    """
    onnx = onnx_package()
    folder, name = None, "the model"
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        name, folder = path.name, path.parent
        try:
            model = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    if isinstance(model, bytes):
        try:
            model = onnx.ModelProto.FromString(model)
        except Exception as error:
            raise ModelError(f"{name} is no ONNX model, or truncated: {error}") from error
    if not isinstance(model, onnx.ModelProto):
        raise ModelError(f"an ONNX model or its path is expected, got {type(model).__name__}")
    if not model.HasField("graph"):
        raise ModelError(f"{name} is no ONNX model: it has no graph")
    opsets = {_domain(each.domain): each.version for each in model.opset_import}
    if opset is not None:
        opsets[""] = opset
    _check_version(name, opsets, onnx.defs.onnx_opset_version())
    _check_text(model.graph, name)
    return Model(model, folder, name, opsets)


def subgraphs(node: Any) -> Iterator[Any]:
    """Yield the graphs among a node's attributes: bodies of branches and loops."""
    for attribute in node.attribute:
        yield from [attribute.g] if attribute.HasField("g") else attribute.graphs


def _check_text(graph: Any, where: str) -> None:
    """Raise for names that are no text: protobuf gives such as bytes."""
    values = [*graph.input, *graph.output, *graph.initializer]
    names = [each.name for each in values]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
        for body in subgraphs(node):
            _check_text(body, where)
    for each in (*graph.input, *graph.output):
        names += [dim.dim_param for dim in each.type.tensor_type.shape.dim]
    broken = next((each for each in names if not isinstance(each, str)), None)
    if broken is not None:
        raise ModelError(f"{where} has a name that is not UTF-8: {broken!r}")


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _check_version(name: str, opsets: dict[str, int], newest: int) -> None:
    version = opsets.setdefault("", newest)
    if version < OLDEST_OPSET:
        raise ModelError(
            f"{name} has opset {version}; the oldest that is imported is {OLDEST_OPSET}: "
            "onnx.version_converter.convert_version brings it there"
        )
    if version > newest:
        raise ModelError(
            f"{name} has opset {version}; the installed onnx knows none above {newest}: "
            "pip install --upgrade onnx"
        )


def in_order(nodes: list[Any], known: set[str], where: str) -> list[Any]:
    """Return nodes so that each comes after those whose results it takes.

    Args:
        nodes: the nodes of a graph.
        known: names of values that are there before them.
        where: the graph, for messages.

    Raises:
        ModelError: a value is made twice, or never, or the nodes depend on each other in a cycle.
    """
    makers: dict[str, Any] = {}
    for node in nodes:
        for output in node.output:
            if output and (output in makers or output in known):
                raise ModelError(f"{where}: the value '{output}' is made more than once")
            makers[output] = node
    have = set(known) | {""}
    waiting: dict[str, list[int]] = {}
    needs = [_used(node) - have for node in nodes]
    for i, names in enumerate(needs):
        for name in names:
            waiting.setdefault(name, []).append(i)
    ready = [i for i, names in enumerate(needs) if not names]
    ordered: list[Any] = []
    while ready:
        # Of those that can come next, the first that the model has.
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for name in set(node.output) - {""}:
            for i in waiting.pop(name, ()):
                needs[i].discard(name)
                if not needs[i]:
                    heapq.heappush(ready, i)
    if len(ordered) < len(nodes):
        later = [node for node, names in zip(nodes, needs, strict=True) if names]
        _complain(later, have, makers, where)
    return ordered


def _complain(nodes: list[Any], have: set[str], makers: dict[str, Any], where: str) -> None:
    for node in nodes:
        for name in _used(node):
            if name not in have and name not in makers:
                raise ModelError(
                    f"{where}: {label(node)} takes '{name}', which is no input, no initializer "
                    "and made by no node"
                )
    raise ModelError(
        f"{where}: the nodes depend on each other in a cycle through {label(nodes[0])}"
    )


def _used(node: Any) -> set[str]:
    """Return the values that a node takes from its graph, those inside its bodies included."""
    names = set(node.input)
    for body in subgraphs(node):
        inside = {each.name for each in (*body.input, *body.initializer)}
        inside.update(name for each in body.node for name in each.output)
        for each in body.node:
            names |= _used(each) - inside
        names |= {each.name for each in body.output} - inside
    return names


def label(node: Any) -> str:
    """Return what a node is called in messages."""
    name = node.name or ", ".join(name for name in node.output if name)
    return f"{node.op_type} '{name}'"
