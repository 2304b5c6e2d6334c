"""The pass `topological-sort`: bindings of dataflow blocks in another order."""

from collections import deque

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.errors import PipelineError
from relax_mlir.lowering.walk import named
from relax_mlir.relax.analysis.symbols import binders, symbols_in
from relax_mlir.relax.expr.places import (
    DATAFLOW,
    defining_op,
    is_binding,
    is_leaf,
    is_local,
    terminator,
)
from relax_mlir.relax.expr_functor.rewrite import sort_block

_ORDERS, _DIRECTIONS = ("depth-first", "breadth-first"), ("from-inputs", "from-outputs")
_INPUT, _OUTPUT = "input", "output"
_Node = ir.Operation | ir.Value | str


def topological_sort(
    module: ir.Operation, order: str = "depth-first", direction: str = "from-inputs"
) -> None:
    """Order the bindings of each dataflow block by a search along their uses.

    Args:
        module: a `builtin.module`.
        order: `depth-first` or `breadth-first`.
        direction: `from-inputs`, along the uses, or `from-outputs`, against them.

    Raises:
        PipelineError: one of the two is something else.
    """
    for given, known in ((order, _ORDERS), (direction, _DIRECTIONS)):
        if given not in known:
            raise PipelineError(f"topological-sort: '{given}' is none of {', '.join(known)}")
    for func in functions_to_optimize(module):
        for dataflow in named(func, (DATAFLOW,)):
            block = dataflow.regions[0].blocks[0]
            graph = _Graph(block, list(func.regions[0].blocks[0].arguments))
            end = terminator(block)
            assert end is not None, "checked by the verifier"
            for op in graph.search(order == _ORDERS[0], direction == _DIRECTIONS[0]):
                op.move_before(end)
            sort_block(block)


class _Graph:
    """The bindings of one block, between the input and the output of the function."""

    def __init__(self, block: ir.Block, arguments: list[ir.Value]) -> None:
        self._ops = [v.operation for v in block.operations if is_binding(v.operation)]
        self._users: dict[_Node, list[_Node]] = {}
        self._needs: dict[_Node, list[_Node]] = {}
        for argument in arguments:
            self._edge(_INPUT, argument)
        inside, bound = set(self._ops), binders(block)
        for op in self._ops:
            for value in op.operands:
                self._use(value, op, inside)
            for name in symbols_in(op) if bound else ():
                if name in bound and bound[name] != op:
                    self._edge(bound[name], op)
            if not is_local(op.results[0]):
                self._edge(op, _OUTPUT)
        for op in self._ops:
            if op not in self._needs:
                self._edge(_INPUT, op)
        for op in reversed(self._ops):
            if op not in self._users:
                self._users[op] = [_OUTPUT]
                self._needs.setdefault(_OUTPUT, []).insert(0, op)

    def _edge(self, producer: _Node, user: _Node) -> None:
        self._users.setdefault(producer, []).append(user)
        self._needs.setdefault(user, []).append(producer)

    def _use(self, value: ir.Value, user: ir.Operation, inside: set[ir.Operation]) -> None:
        op = defining_op(value)
        if op is not None and is_leaf(op):
            for operand in op.operands:
                self._use(operand, user, inside)
        elif op is not None and op in inside:
            self._edge(op, user)
        else:
            if value not in self._needs:
                self._edge(_INPUT, value)
            self._edge(value, user)

    def search(self, depth_first: bool, from_inputs: bool) -> list[ir.Operation]:
        """Return the bindings in the order in which a search meets them."""
        successors, predecessors = (
            (self._users, self._needs) if from_inputs else (self._needs, self._users)
        )
        waiting: deque[_Node] = deque([_INPUT if from_inputs else _OUTPUT])
        visited: set[_Node] = set()
        result: dict[ir.Operation, None] = {}
        while waiting:
            node = waiting.pop() if depth_first else waiting.popleft()
            if isinstance(node, ir.Operation):
                result[node] = None
            visited.add(node)
            following = successors.get(node, [])
            for each in following[::-1] if depth_first and from_inputs else following:
                if each not in visited and visited.issuperset(predecessors[each]):
                    waiting.append(each)
        return list(result) if from_inputs else list(result)[::-1]
