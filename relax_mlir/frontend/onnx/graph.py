"""Graphs of ONNX, node by node, into a block builder."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ModelError, RelaxMLIRError
from relax_mlir.frontend.names import Names
from relax_mlir.frontend.onnx.agreement import agree
from relax_mlir.frontend.onnx.fold import fold
from relax_mlir.frontend.onnx.model import Model, in_order, label
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.weights import dtype_name, elements
from relax_mlir.frontend.registry import find_converter
from relax_mlir.frontend.values import ObjectValue, TupleValue, Value, of_expr
from relax_mlir.relax.expr import Expr

MAX_NODES = 500_000


class Graph:
    """Converts one graph; its values by their names in the model.

    Args:
        model: the model, for opsets, functions and weights.
        builder: where everything is emitted.
        names: of symbols.
        values: what graphs around this one have.
        limit: counts down the nodes that may still be converted: bodies may be many times.

    Attributes:
        copies: how often the loops around it that are unrolled repeat the graph.
    """

    def __init__(
        self, model: Model, builder: Any, names: Names, values: Mapping[str, Any],
        limit: Iterator[int] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.builder, self.names = model, builder, names
        self.values: dict[str, Any] = dict(values)
        self.limit = iter(range(MAX_NODES)) if limit is None else limit
        self.copies = 1

    def fresh(self, prefix: str) -> SymExpr:
        """Return a new symbol."""
        return self.names.fresh(prefix)

    def inner(self) -> "Graph":
        """Return an importer of a body inside of this graph.

        What it learns of values, such as symbols of their sizes, means nothing outside.
        """
        values = {
            name: replace(value) if isinstance(value, Value) and value.data is None else value
            for name, value in self.values.items()
        }
        made = Graph(self.model, self.builder, self.names, values, self.limit)
        made.copies = self.copies
        return made

    def add_initializers(self, graph: Any) -> None:
        """Take the weights of a graph as constants."""
        if graph.sparse_initializer:
            raise ModelError(f"graph '{graph.name}' has sparse weights, which are not supported")
        for tensor in graph.initializer:
            if tensor.name not in self.values:
                self.values[tensor.name] = self.constant(tensor)

    def constant(self, tensor: Any) -> Value:
        """Return a `TensorProto` as a value."""
        dtype = dtype_name(tensor.data_type, f"tensor '{tensor.name}'")
        return Value(dtype, data=elements(tensor, self.model.folder))

    def run(self, graph: Any, where: str) -> list[Any]:
        """Convert the nodes of a graph whose inputs are in `values`; returns its outputs.

        Raises:
            ModelError: the graph is broken.
        """
        for node in in_order(list(graph.node), set(self.values), where):
            self.convert(node)
        missing = [each.name for each in graph.output if each.name not in self.values]
        if missing:
            raise ModelError(f"{where}: nothing makes the output '{missing[0]}'")
        return [self.values[each.name] for each in graph.output]

    def convert(self, proto: Any) -> None:
        """Convert one node.

        Raises:
            ModelError: it is wrong, or cannot be imported as it is used.
        """
        if next(self.limit, None) is None:
            raise ModelError(f"its bodies expand to more than {MAX_NODES} nodes")
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        version = self.model.opsets.get(domain, 1)
        inputs = [self.values[name] if name else None for name in proto.input]
        node = Node(proto, self, version, inputs)
        try:
            results = fold(node) if not domain else None
            if results is None:
                converter = find_converter(domain or "onnx", proto.op_type, version)
                if converter is None:
                    raise node.fail("no converter")
                agree(node)
                results = converter(node)
            self._name(node, results)
        except ModelError:
            raise
        except RelaxMLIRError as error:
            raise node.fail(str(error)) from error
        except Exception as error:
            # A broken model may have anything in any place; it is this node that is wrong.
            raise node.fail(f"{type(error).__name__}: {error}") from error

    def _name(self, node: Node, results: Any) -> None:
        """Bind the results of a node. Shapes that only run time knows get symbols.

        Operators on tensors without any shape would be calls of the library.
        """
        proto = node.proto
        items = list(results) if isinstance(results, (list, tuple)) else [results]
        for name, item in zip(proto.output, items, strict=False):
            if name:
                value = self.values[name] = self.bound(item, name)
                if isinstance(value, Value) and value.ndim >= 0:
                    node.dims_of(value)
        for name in proto.output[len(items) :]:
            if name:
                raise ModelError(f"{label(proto)}: its output '{name}' is not supported")

    def bound(self, item: Any, name: str) -> Any:
        """Return a result as a value; an expression that is not emitted is bound to a variable."""
        if isinstance(item, (Value, TupleValue, ObjectValue)) or item is None:
            return item
        if isinstance(item, np.ndarray):
            return Value(str(item.dtype), data=item)
        assert isinstance(item, Expr), "converters return expressions and values"
        return of_expr(self.builder.emit(item, identifier(name)))


def identifier(name: str) -> str:
    """Return a name of ONNX as an identifier of Python."""
    made = "".join(ch if ch.isascii() and (ch.isalnum() or ch == "_") else "_" for ch in name)
    return f"v{made}" if not made or made[0].isdigit() else made
