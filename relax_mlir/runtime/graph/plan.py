"""Memory planning of a graph: tensors with disjoint live ranges share storage."""

from collections.abc import Sequence
from typing import Any


def shared_storage(
    nodes: Sequence[dict[str, Any]],
    rows: Sequence[int],
    entries: Sequence[int],
    heads: Sequence[int],
    sizes: Sequence[int],
) -> tuple[dict[int, int], list[int]]:
    """Return for each storage the one to use in its place, and the bytes of those.

    Inputs, constants and results share with nobody. Of the others, one that is not needed any more
    is used again: the smallest that is large enough, or else the largest, which grows.

    Args:
        nodes: the graph's nodes, in the order in which they run.
        rows: where the entries of each node begin.
        entries: the storage of each entry.
        heads: the entries that are results.
        sizes: the bytes of each storage.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        used = [*range(rows[i], rows[i + 1])]
        used += [rows[source] + output for source, output, _ in node["inputs"]]
        for row in used:
            first.setdefault(entries[row], i)
            last[entries[row]] = i
    leaves = [rows[i] for i, node in enumerate(nodes) if node["op"] == "null"]
    first.update({entries[row]: -1 for row in leaves})
    last.update({entries[row]: len(nodes) for row in (*leaves, *heads)})
    places: dict[int, int] = {}
    result: list[int] = []
    busy: dict[int, int] = {}
    for storage in sorted(first, key=lambda each: first[each]):
        size = sizes[storage]
        free = [place for place, end in busy.items() if end < first[storage]]
        fits = [place for place in free if result[place] >= size]
        if fits:
            place = min(fits, key=lambda each: result[each])
        elif free:
            place = max(free, key=lambda each: result[each])
            result[place] = size
        else:
            place = len(result)
            result.append(size)
        busy[place] = last[storage]
        places[storage] = place
    return places, result
