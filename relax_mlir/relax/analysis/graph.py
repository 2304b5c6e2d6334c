"""A program as a graph: operations, parameters and constants, and what flows between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import source_line
from relax_mlir.relax.analysis.scopes import Values, region_arguments, scopes_of
from relax_mlir.relax.expr import Var
from relax_mlir.relax.expr.places import defining_op, is_leaf

_ENDS = frozenset(("relax.output", "relax.yield", "relax.condition", "func.return"))
_FIELD = "relax.tuple_get_item"
_CONSTANT = "relax.constant"
# What is drawn as its parts, or not at all.
_TUPLE = "builtin.unrealized_conversion_cast"
_NUMBERS = ("relax.shape_expr", "relax.prim_value")


@dataclass
class Node:
    """A node of a graph.

    Attributes:
        kind: "variable" (a parameter of a function, loop or lambda), "constant", "call",
            "field" (of a tuple).
        label: what it is called: a parameter's name, a constant's shape and dtype, an operation's
            name and its number.
        function: the function that it is in, "" for less than a function.
        type: its type as a script has it.
        source: `file:line` of the binding, "" where it is not known.
        callee: the function that a call names.
        returned: whether the function returns it.
    """

    kind: str
    label: str
    function: str = ""
    type: str = ""
    source: str = ""
    callee: str = ""
    returned: bool = False


@dataclass(frozen=True)
class Edge:
    """A value that one node, by its index, gives another; `label` is `arg0` for the first."""

    source: int
    target: int
    label: str


@dataclass
class Graph:
    """The nodes of a program in its order, and edges between them."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def graph_of(program: Any) -> Graph:
    """Return the graph of a function, or of all functions of a module.

    Results are the operations that make them. A constant is drawn for each operation that takes it.

    Args:
        program: IRModule, function or block: a view or an MLIR operation.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    builder = _Builder()
    for scope in scopes_of(program):
        func = scope.func
        builder.function = "" if func is None else ir.StringAttr(func.attributes["sym_name"]).value
        values = Values(scope.keep)
        for value in scope.params:
            builder.variable(values.var(value))
        for op in values.walk(scope):
            for value in region_arguments(op):
                builder.variable(values.var(value))
            if values.is_binding(op) and op.name not in (_TUPLE, *_NUMBERS):
                builder.call(op, values)
            elif op.name in _ENDS:
                builder.end(op, values)
    return builder.graph


class _Builder:
    def __init__(self) -> None:
        self.graph = Graph()
        self.function = ""
        self._nodes: dict[Var, int] = {}
        self._count = 0

    def variable(self, var: Var) -> int:
        """Return the node of a variable, made when it is new."""
        if var not in self._nodes:
            node = Node("variable", var.name_hint or "_", self.function, str(var.ty))
            self._nodes[var] = self._add(node)
        return self._nodes[var]

    def call(self, op: ir.Operation, values: Values) -> None:
        """Add an operation, with its arguments and for its results."""
        node = Node("call", _label(op, self._count), self.function)
        node.callee = next(_callee(op), "")
        node.source = source_line(op.location)
        if op.name == _FIELD:
            node.kind = "field"
        results = [values.var(result) for result in op.results]
        node.type = ", ".join(str(var.ty) for var in results)
        self._count += 1
        index = self._add(node)
        for i, value in enumerate(_operands(op, values)):
            constant = _constant(value)
            if constant is None:
                source = self.variable(values.var(value))
            else:
                source = self._add(Node("constant", constant, self.function, constant))
            self.graph.edges.append(Edge(source, index, f"arg{i}"))
        self._nodes |= dict.fromkeys(results, index)

    def end(self, op: ir.Operation, values: Values) -> None:
        """Mark what a function returns."""
        if op.name == "func.return":
            for value in _operands(op, values):
                if _constant(value) is None:
                    self.graph.nodes[self.variable(values.var(value))].returned = True

    def _add(self, node: Node) -> int:
        self.graph.nodes.append(node)
        return len(self.graph.nodes) - 1


def _operands(op: ir.Operation, values: Values) -> Iterator[ir.Value]:
    """Yield the values in an operation's arguments: those in tuples and constants, no shapes."""
    for value in op.operands:
        inner = values.canonical(value)
        owner = defining_op(inner)
        if owner is None or not (is_leaf(owner) or owner.name in (_TUPLE, *_NUMBERS)):
            yield inner
        elif owner.name == _CONSTANT:
            yield value
        elif owner.name not in _NUMBERS:
            yield from _operands(owner, values)


def _constant(value: ir.Value) -> str | None:
    """Return the shape and dtype of a constant, None for another value."""
    owner = defining_op(value)
    if owner is None or owner.name != _CONSTANT:
        return None
    type_ = value.type.maybe_downcast()
    return f"({', '.join(map(str, type_.shape))}) {type_.element_type}"


def _label(op: ir.Operation, number: int) -> str:
    if op.name == _FIELD:
        return f"[{ir.IntegerAttr(op.attributes['index']).value}]({number})"
    return f"{': '.join([op.name.removeprefix('relax.'), *_callee(op)])}({number})"


def _callee(op: ir.Operation) -> Iterator[str]:
    if "callee" in op.attributes:
        yield ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    elif "func" in op.attributes:
        yield ir.StringAttr(op.attributes["func"]).value
