"""Which operations of a dataflow graph are fused: TVM's algorithm over post-dominators.

An operation may be fused with its immediate post-dominator, the nearest operation that all paths
from it lead to, if all that is computed on these paths is fused too. What is fused becomes one
group; groups are kept as a union-find forest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.transform.grouping.op_pattern import OpPatternKind as Kind


@dataclass
class Node:
    """An operation.

    Attributes:
        kind: how it reads and writes.
        leaves: whether something outside of the graph uses its result.
        users: the positions of the operations that use it, after its own, and the kind by which
            each does.
    """

    kind: Kind
    leaves: bool = False
    users: list[tuple[int, Kind]] = field(default_factory=list)


@dataclass
class _Dominator:
    parent: int | None
    depth: int
    kind: Kind


class _Group:
    def __init__(self, kind: Kind) -> None:
        self.parent: _Group | None = None
        self.kind = kind
        self.has_anchor = kind is Kind.OUT_ELEMWISE_FUSABLE
        self.size = 1

    def root(self) -> "_Group":
        result = self
        while result.parent is not None:
            result = result.parent
        return result


class GraphPartitioner:
    """Partitions a graph into groups.

    Args:
        nodes: the operations, in an order in which users come last.
        max_depth: the most operations of one group.
    """

    def __init__(self, nodes: Sequence[Node], max_depth: int) -> None:
        self._nodes, self._max_depth = nodes, max_depth
        self._groups = [_Group(node.kind) for node in nodes]
        self._dominators: dict[int, _Dominator] = {}
        for index in reversed(range(len(nodes))):
            self._dominators[index] = self._dominator(nodes[index])

    def groups(self) -> list[list[int]]:
        """Return the positions of the operations of each group, in order."""
        for phase in range(3):
            for index in range(len(self._nodes)):
                self._fuse(index, phase)
        result: dict[_Group, list[int]] = {}
        for index, group in enumerate(self._groups):
            result.setdefault(group.root(), []).append(index)
        return list(result.values())

    def _dominator(self, node: Node) -> _Dominator:
        if node.leaves or not node.users:
            return _Dominator(None, 1, Kind.OPAQUE if node.leaves else Kind.ELEMWISE)
        parent: int | None = node.users[0][0]
        kind = max(kind for _, kind in node.users)
        for user, _ in node.users[1:]:
            parent, kind = self._common(parent, user, kind)
        depth = 1 if parent is None else self._dominators[parent].depth + 1
        return _Dominator(parent, depth, kind)

    def _common(self, left: int | None, right: int | None, kind: Kind) -> tuple[int | None, Kind]:
        """Return the nearest operation after two, and the strongest kind on the way there."""
        while left != right:
            if left is None or right is None:
                return None, kind
            depths = [self._dominators[each].depth for each in (left, right)]
            if depths[0] >= depths[1]:
                kind = max(kind, self._dominators[left].kind)
                left = self._dominators[left].parent
            if depths[1] >= depths[0]:
                kind = max(kind, self._dominators[right].kind)
                right = self._dominators[right].parent
        return left, kind

    def _fuse(self, index: int, phase: int) -> None:
        """Fuse an operation with its post-dominator where that is allowed.

        Matrix products and the like come in the first phase, so that elementwise operations behind
        them are theirs; injective operations in the second; the third takes those that a tuple
        which was fused in the second reads.
        """
        own, dominator = self._groups[index], self._dominators[index]
        sink = dominator.parent
        if own.kind is Kind.OPAQUE or sink is None:
            return
        target = self._groups[sink]
        if target.root().size + self._count(index, sink) > self._max_depth:
            return
        if phase == 2:
            into_tuple = target.kind is Kind.TUPLE and target.root().kind <= Kind.INJECTIVE
            if own.kind <= Kind.INJECTIVE and into_tuple:
                self._fuse_if(index, sink, _is_injective)
            return
        if own.root() is target.root() or target.kind is Kind.TUPLE:
            return
        if own.kind is Kind.OUT_ELEMWISE_FUSABLE:
            if phase == 0 and dominator.kind is Kind.ELEMWISE:
                self._fuse_if(index, sink, lambda kind, at_end: kind <= Kind.BROADCAST)
        elif own.kind <= Kind.BROADCAST:
            if dominator.kind <= Kind.COMM_REDUCE:
                self._fuse_if(index, sink, _takes_elementwise)
        elif own.kind in (Kind.INJECTIVE, Kind.TUPLE) and phase == 1:
            self._fuse_if(index, sink, _is_injective)

    def _fuse_if(self, source: int, sink: int, allowed: Callable[[Kind, bool], bool]) -> None:
        between = self._between(source, sink)
        inner = [self._groups[each].root().kind for each in between if each != source]
        if not all(allowed(kind, False) for kind in inner):
            return
        target = self._groups[sink].root()
        if not allowed(target.kind, True):
            return
        for each in between:
            self._merge(self._groups[each].root(), target)

    def _between(self, source: int, sink: int) -> list[int]:
        """Return what is on the paths between two operations, the first one included."""
        result: dict[int, None] = {}
        waiting = [source]
        while waiting:
            top = waiting.pop()
            if top != sink and top not in result:
                result[top] = None
                waiting += [user for user, _ in self._nodes[top].users]
        return list(result)

    def _count(self, source: int, sink: int) -> int:
        return sum(self._groups[each].size for each in self._between(source, sink))

    def _merge(self, child: _Group, target: _Group) -> None:
        if child is target:
            return
        target.size += child.size
        child.parent = target
        if child.has_anchor:
            target.has_anchor = True
            target.kind = max(child.kind, target.kind)


def _is_injective(kind: Kind, at_end: bool) -> bool:
    return kind <= Kind.INJECTIVE


def _takes_elementwise(kind: Kind, at_end: bool) -> bool:
    """Whether an operation on the way, or the last one, may have elementwise ones before it."""
    if not at_end:
        return kind <= Kind.INJECTIVE
    return kind <= Kind.OUT_ELEMWISE_FUSABLE
