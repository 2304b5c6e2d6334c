"""Graphs of programs as SVG."""

import html
import itertools
from collections.abc import Sequence

from relax_mlir.relax.analysis.graph import Graph
from relax_mlir.viz.layout import Layout, layered

_COLOURS = {
    "variable": "mistyrose",
    "constant": "#ddd",
    "call": "paleturquoise",
    "field": "none",
}
_LETTER, _PADDING, _HEIGHT, _LONGEST = 7.0, 16.0, 26.0, 40


def draw(graph: Graph, colours: Sequence[str | None] | None = None) -> str:
    """Return a graph as SVG; nodes have the class `node` and their index in `data-node`.

    Args:
        graph: what is drawn.
        colours: of each node, None for that of its kind.
    """
    labels = [_short(node.label) for node in graph.nodes]
    widths = [_LETTER * len(label) + _PADDING for label in labels]
    place = layered(widths, [(edge.source, edge.target) for edge in graph.edges])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{place.width:.0f}" '
        f'height="{place.height:.0f}" viewBox="0 0 {place.width:.0f} {place.height:.0f}" '
        'font-family="monospace" font-size="12">',
        '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,1 L8,4 L0,7 z" fill="grey"/></marker></defs>',
    ]
    parts += [_edge(place, i, graph) for i in range(len(graph.edges))]
    for i, node in enumerate(graph.nodes):
        x, y = place.centers[i]
        fill = (colours[i] if colours else None) or _COLOURS[node.kind]
        stroke = 3 if node.returned else 1
        radius = 3 if node.kind == "constant" else 12
        tip = html.escape(f"{node.label}: {node.type} {node.source}".strip())
        parts.append(
            f'<g class="node" data-node="{i}"><title>{tip}</title>'
            f'<rect x="{x - widths[i] / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{widths[i]:.1f}" '
            f'height="{_HEIGHT:.0f}" rx="{radius}" fill="{fill}" stroke="#555" '
            f'stroke-width="{stroke}"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">'
            f"{html.escape(labels[i])}</text></g>"
        )
    return "\n".join([*parts, "</svg>"])


def _edge(place: Layout, index: int, graph: Graph) -> str:
    edge = graph.edges[index]
    (x0, y0), (x1, y1) = place.centers[edge.source], place.centers[edge.target]
    points = [(x0, y0 + _HEIGHT / 2), *place.routes[index], (x1, y1 - _HEIGHT / 2)]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        middle = (ay + by) / 2
        path += f" C{ax:.1f},{middle:.1f} {bx:.1f},{middle:.1f} {bx:.1f},{by:.1f}"
    return (
        f'<path d="{path}" fill="none" stroke="grey" marker-end="url(#end)">'
        f"<title>{html.escape(edge.label)}</title></path>"
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
