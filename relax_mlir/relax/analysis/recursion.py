"""Functions that call themselves, directly or through each other."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import INNER_FIRST, collect
from relax_mlir.relax.analysis.scopes import module_op
from relax_mlir.relax.analysis.variables import called_names
from relax_mlir.relax.expr import GlobalVar


def detect_recursion(mod: Any) -> list[list[GlobalVar]]:
    """Return the groups of functions that refer to each other in a cycle, in the module's order.

    A function that refers only to itself is a group of one; others are in none.

    Args:
        mod: an IRModule.

    Raises:
        ExprTypeError: it is no module.
    """
    graph = {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: _references(view.operation)
        for view in module_op(mod).regions[0].blocks[0].operations
        if "sym_name" in view.operation.attributes
    }
    order = {name: index for index, name in enumerate(graph)}
    groups = [
        sorted(group, key=order.__getitem__)
        for group in _components(graph)
        if len(group) > 1 or group[0] in graph[group[0]]
    ]
    groups.sort(key=lambda group: order[group[0]])
    return [[GlobalVar(name) for name in group] for group in groups]


def _references(func: ir.Operation) -> list[str]:
    ops = collect(func, lambda _: True, INNER_FIRST)
    return list(dict.fromkeys(name for op in ops for name in called_names(op)))


def _components(graph: dict[str, list[str]]) -> list[list[str]]:
    """Return the strongly connected components (Tarjan's algorithm, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    result: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, callees = work[-1]
            for callee in callees:
                if callee not in graph:
                    continue
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    stack.append(callee)
                    on_stack.add(callee)
                    work.append((callee, iter(graph[callee])))
                    break
                if callee in on_stack:
                    low[name] = min(low[name], index[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = []
                    while not group or group[-1] != name:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    result.append(group)
    return result
