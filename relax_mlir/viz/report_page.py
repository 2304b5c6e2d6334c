"""A page about a program: its graph, to move and search in, and what is behind each node."""

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.relax.analysis.graph import Graph, graph_of
from relax_mlir.viz.graph_svg import draw
from relax_mlir.viz.picture import Picture, page

_STYLE = """
body { margin: 0; display: flex; flex-direction: column; height: 100vh }
header { padding: 6px 10px; border-bottom: 1px solid #ccc }
main { flex: 1; display: flex; min-height: 0 }
#graph { flex: 2; overflow: hidden; cursor: grab }
#graph svg { width: 100%; height: 100% }
#details { flex: 1; overflow: auto; padding: 10px; border-left: 1px solid #ccc }
.node { cursor: pointer }
.node.found rect { stroke: #d00; stroke-width: 4 }
.node.chosen rect { fill: gold }
pre { font-size: 12px }
"""
_SCRIPT = """
const svg = document.querySelector("#graph svg"), details = document.getElementById("details");
const box = svg.viewBox.baseVal, nodes = [...svg.querySelectorAll(".node")];
svg.removeAttribute("width"); svg.removeAttribute("height");
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const by = event.deltaY > 0 ? 1.2 : 1 / 1.2, at = svg.getBoundingClientRect();
  const x = (event.clientX - at.left) / at.width, y = (event.clientY - at.top) / at.height;
  box.x += box.width * x * (1 - by); box.y += box.height * y * (1 - by);
  box.width *= by; box.height *= by;
}, {passive: false});
let from = null;
svg.addEventListener("pointerdown", event => { from = [event.clientX, event.clientY]; });
addEventListener("pointerup", () => { from = null; });
addEventListener("pointermove", event => {
  if (!from) return;
  const at = svg.getBoundingClientRect();
  const scale = Math.max(box.width / at.width, box.height / at.height);
  box.x -= (event.clientX - from[0]) * scale; box.y -= (event.clientY - from[1]) * scale;
  from = [event.clientX, event.clientY];
});
function show(index) {
  nodes.forEach(node => node.classList.toggle("chosen", node.dataset.node == index));
  details.replaceChildren();
  for (const [title, text] of data[index]) {
    const head = document.createElement("h4"), body = document.createElement("pre");
    head.textContent = title; body.textContent = text;
    details.append(head, body);
  }
}
nodes.forEach(node => node.addEventListener("click", () => show(node.dataset.node)));
document.getElementById("search").addEventListener("input", event => {
  const word = event.target.value.toLowerCase();
  const found = nodes.filter(node => word && data[node.dataset.node].some(
    ([, text]) => text.toLowerCase().includes(word)));
  nodes.forEach(node => node.classList.toggle("found", found.includes(node)));
  document.getElementById("count").textContent = word ? `${found.length} found` : "";
  if (found.length) {
    const at = found[0].getBBox();
    box.x = at.x + at.width / 2 - box.width / 2; box.y = at.y + at.height / 2 - box.height / 2;
  }
});
"""


def report_page(
    program: Any,
    title: str = "program",
    *,
    functions: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    extra: Sequence[Picture] = (),
) -> str:
    """Return a page by itself: HTML with the graph of a program, which a browser lets move.

    The wheel zooms, dragging moves, a word in the field marks the nodes that have it. A click on a
    node shows its type, its line of the source, and what is known of the function that it calls.

    Args:
        program: a module or a Relax function.
        title: of the page.
        functions: by the name of a called function, titles and texts to show, such as its script.
        extra: pictures below the graph.

    Raises:
        ExprTypeError: `program` is none.
    """
    graph = graph_of(program)
    data = [_details(graph, i, functions or {}) for i in range(len(graph.nodes))]
    # In a script's text, `</script>` would end it, and `<!--` change what does.
    script = "const data = {};".format(json.dumps(data).replace("<", "\\u003c")) + _SCRIPT
    more = "".join(
        f"<details><summary>{html.escape(each.title)}</summary>{each.body}</details>"
        for each in extra
    )
    body = (
        f'<header><b>{html.escape(title)}</b> <input id="search" placeholder="search"> '
        f'<span id="count"></span>{more}</header><main><div id="graph">{draw(graph)}</div>'
        f'<div id="details">click on a node</div></main><script>{script}</script>'
    )
    return page(html.escape(title), body, _STYLE)


def _details(
    graph: Graph, index: int, functions: Mapping[str, Sequence[tuple[str, str]]]
) -> list[tuple[str, str]]:
    node = graph.nodes[index]
    rows = [("node", node.label), ("type", node.type), ("function", node.function)]
    rows += [("source", node.source), ("calls", node.callee), *functions.get(node.callee, ())]
    return [(title, text) for title, text in rows if text]
