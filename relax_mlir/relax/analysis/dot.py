"""A function as a graph for Graphviz."""

from typing import Any

from relax_mlir.relax.analysis.graph import Graph, graph_of

_STYLES = {
    "variable": "style=filled, fillcolor=mistyrose",
    "constant": "shape=box, style=filled, fillcolor=lightgrey",
    "call": "shape=diamond, style=filled, fillcolor=turquoise",
    "field": "style=filled, fillcolor=transparent",
}


def to_dot(func: Any) -> str:
    """Return a function, or all of a module, as the text of a directed graph.

    Parameters are filled in mistyrose, operations are turquoise diamonds called `name(counter)`,
    fields of tuples are transparent, constants are grey boxes with their shape. Edges come from
    what makes an argument and are labelled `arg0`, `arg1`, ...; what is returned has two lines.

    Args:
        func: IRModule, function or block: a view or an MLIR operation.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    return dot_of(graph_of(func))


def dot_of(graph: Graph) -> str:
    """Return a graph as text for Graphviz; each function is a cluster if there are several."""
    lines: dict[str, list[str]] = {}
    for i, node in enumerate(graph.nodes):
        label = node.label if node.kind != "variable" else f"{node.label}\n{node.type}"
        style = _STYLES[node.kind] + (", peripheries=2" if node.returned else "")
        lines.setdefault(node.function, []).append(f'n{i} [label="{_escape(label)}", {style}]')
    text = []
    for number, (function, nodes) in enumerate(lines.items()):
        if len(lines) > 1:
            nodes = [f"subgraph cluster{number} {{", f'  label="{_escape(function)}"',
                     *(f"  {line}" for line in nodes), "}"]  # fmt: skip
        text += nodes
    text += [f'n{each.source} -> n{each.target} [label="{each.label}"]' for each in graph.edges]
    return "\n".join(["digraph {", *(f"  {line}" for line in text), "}", ""])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
