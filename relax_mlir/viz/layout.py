"""Layered drawing of directed graphs, after Sugiyama, Tagawa and Toda (1981)."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

_SWEEPS = 8


@dataclass
class Layout:
    """Where a graph is drawn.

    Attributes:
        centers: of each node, x and y.
        routes: of each edge, the points that it goes through between its ends.
        width: of the drawing.
        height: of the drawing.
    """

    centers: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float = 0.0
    height: float = 0.0


@dataclass
class _Layers:
    """Nodes, those of the graph first, then one for each layer that an edge crosses."""

    layer: list[int]
    widths: list[float]
    above: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    below: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def connect(self, source: int, target: int) -> None:
        self.below[source].append(target)
        self.above[target].append(source)


def layered(
    widths: Sequence[float],
    edges: Sequence[tuple[int, int]],
    *,
    row: float = 70.0,
    gap: float = 24.0,
) -> Layout:
    """Return places for the nodes of an acyclic graph: each edge goes down.

    Args:
        widths: of the nodes, which are in a topological order.
        edges: pairs of nodes; one that goes back to an earlier node is drawn straight.
        row: the distance of layers.
        gap: the least distance between neighbours.
    """
    depth = [0] * len(widths)
    forward = sorted((s, t) for s, t in edges if s < t)
    for source, target in forward:
        depth[target] = max(depth[target], depth[source] + 1)
    # What has no argument is drawn close to what takes it.
    takers = defaultdict(list)
    for source, target in forward:
        takers[source].append(target)
    takes = {target for _, target in forward}
    for node, below in takers.items():
        if node not in takes:
            depth[node] = min(depth[each] for each in below) - 1
    layers = _Layers(depth, list(widths))
    paths = [_connect(layers, source, target, gap) for source, target in edges]
    order = _ordered(layers)
    xs = _placed(layers, order, gap)
    left = min((x - w / 2 for x, w in zip(xs, layers.widths, strict=True)), default=0.0)
    points = [(x - left + gap, row * (d + 0.5)) for x, d in zip(xs, layers.layer, strict=True)]
    width = max((x + w / 2 for (x, _), w in zip(points, layers.widths, strict=True)), default=0.0)
    count = len(widths)
    routes = [[points[each] for each in path] for path in paths]
    return Layout(points[:count], routes, width + gap, row * (max(depth, default=-1) + 1))


def _connect(layers: _Layers, source: int, target: int, gap: float) -> list[int]:
    """Connect two nodes by others in the layers between, and return those."""
    path = []
    before = source
    for depth in range(layers.layer[source] + 1, layers.layer[target]):
        layers.layer.append(depth)
        layers.widths.append(gap / 2)
        path.append(len(layers.layer) - 1)
        layers.connect(before, path[-1])
        before = path[-1]
    if layers.layer[before] < layers.layer[target]:
        layers.connect(before, target)
    return path


def _ordered(layers: _Layers) -> list[list[int]]:
    """Return each layer in an order with few crossings, by the barycentres of neighbours."""
    rows: list[list[int]] = [[] for _ in range(max(layers.layer, default=-1) + 1)]
    for node, depth in enumerate(layers.layer):
        rows[depth].append(node)
    place = {node: float(i) for row in rows for i, node in enumerate(row)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            near = layers.above if down else layers.below
            means = {
                node: sum(place[n] for n in near[node]) / len(near[node])
                if near[node]
                else place[node]
                for node in row
            }
            row.sort(key=means.__getitem__)
            place |= {node: float(i) for i, node in enumerate(row)}
    return rows


def _placed(layers: _Layers, rows: list[list[int]], gap: float) -> list[float]:
    """Return the x of each node: near its neighbours, in the order of its row."""
    xs = [0.0] * len(layers.layer)
    for row in rows:
        end = 0.0
        for node in row:
            xs[node] = end + layers.widths[node] / 2
            end += layers.widths[node] + gap
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = layers.above if down else layers.below
        for row in rows if down else rows[::-1]:
            wanted = [
                sum(xs[n] for n in near[node]) / len(near[node]) if near[node] else xs[node]
                for node in row
            ]
            _spread(row, wanted, xs, layers.widths, gap)
    return xs


def _spread(
    row: list[int], wanted: list[float], xs: list[float], widths: list[float], gap: float
) -> None:
    """Put a row where its nodes want to be, as a whole where they would overlap."""
    # Groups of nodes side by side: the first one's x that all of them want on average.
    groups: list[tuple[list[int], list[float]]] = []
    for node, want in zip(row, wanted, strict=True):
        groups.append(([node], [want]))
        while len(groups) > 1:
            nodes, wants = groups[-1]
            others, their_wants = groups[-2]
            step = _offset(others, len(others) - 1, widths, gap)
            reach = step + (widths[others[-1]] + widths[nodes[0]]) / 2 + gap
            if _mean(their_wants) + reach <= _mean(wants):
                break
            groups[-2:] = [(others + nodes, their_wants + [each - reach for each in wants])]
    for nodes, wants in groups:
        for i, node in enumerate(nodes):
            xs[node] = _mean(wants) + _offset(nodes, i, widths, gap)


def _offset(nodes: list[int], index: int, widths: list[float], gap: float) -> float:
    return sum((widths[a] + widths[b]) / 2 + gap for a, b in itertools.pairwise(nodes[: index + 1]))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
