"""A function as a graph for Graphviz: variables and operations, edges from arguments."""

from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.relax.analysis.scopes import Values, region_arguments, scopes_of
from relax_mlir.relax.expr import Var

# What a picture leaves out: constants, and what is only the end of a block.
_ENDS = frozenset(("relax.output", "relax.yield", "relax.condition", "func.return"))


def to_dot(func: Any) -> str:
    """Return a function, or all of a module, as the text of a directed graph.

    Variables are filled in mistyrose, operations are turquoise diamonds called `name(counter)`,
    fields of tuples are transparent, edges from arguments are labelled `arg0`, `arg1`, ...;
    constants are left out.

    Args:
        func: IRModule, function or block: a view or an MLIR operation.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    graph = _Graph()
    for scope in scopes_of(func):
        values = Values(scope.keep)
        for value in scope.params:
            graph.variable(values.var(value))
        for op in values.walk(scope):
            for value in region_arguments(op):
                graph.variable(values.var(value))
            if values.is_binding(op):
                graph.binding(op, values)
            elif op.name in _ENDS:
                graph.end(op, values)
    return "\n".join(["digraph {", *(f"  {line}" for line in graph.lines), "}", ""])


class _Graph:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._nodes: dict[Var, str] = {}
        self._count = 0

    def variable(self, var: Var) -> str:
        """Return the node of a variable, made when it is new."""
        node = self._nodes.get(var)
        if node is None:
            node = self._nodes[var] = f"v{len(self._nodes)}"
            label = f"{var.name_hint or '_'}\\n{_escape(str(var.ty))}"
            self.lines.append(f'{node} [label="{label}", style=filled, fillcolor=mistyrose]')
        return node

    def binding(self, op: ir.Operation, values: Values) -> None:
        """Add an operation with its arguments and its variable."""
        label = f"{_label(op)}({self._count})"
        node = f"op{self._count}"
        self._count += 1
        style = (
            "style=filled, fillcolor=transparent"
            if op.name == "relax.tuple_get_item"
            else "shape=diamond, style=filled, fillcolor=turquoise"
        )
        self.lines.append(f'{node} [label="{_escape(label)}", {style}]')
        for index, value in enumerate(values.operands(op)):
            if not _is_constant(value):
                source = self.variable(values.var(value))
                self.lines.append(f'{source} -> {node} [label="arg{index}"]')
        for result in op.results:
            self.lines.append(f"{node} -> {self.variable(values.var(result))}")

    def end(self, op: ir.Operation, values: Values) -> None:
        """Mark what a function returns."""
        if op.name != "func.return":
            return
        for value in values.operands(op):
            if not _is_constant(value):
                self.lines.append(f"{self.variable(values.var(value))} [peripheries=2]")


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "relax.constant"


def _label(op: ir.Operation) -> str:
    if op.name == "relax.tuple_get_item":
        return f"[{ir.IntegerAttr(op.attributes['index']).value}]"
    name = op.name.removeprefix("relax.")
    return ": ".join([name, *_callee(op)])


def _callee(op: ir.Operation) -> Iterator[str]:
    if "callee" in op.attributes:
        yield ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    elif "func" in op.attributes:
        yield ir.StringAttr(op.attributes["func"]).value


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
