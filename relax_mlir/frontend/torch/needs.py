"""Which operators a program of torch needs, and which of them have converters."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx

from relax_mlir.frontend.coverage import Coverage
from relax_mlir.frontend.torch.decompositions import decomposition_table
from relax_mlir.frontend.torch.importer import COMPLEX, describe, target_name
from relax_mlir.frontend.torch.ops import converters


def coverage(exported_program: Any) -> Coverage:
    """Return the operators that an exported program needs, once decomposed."""
    return needs(decomposed(exported_program).graph_module, {})


def decomposed(exported_program: Any) -> Any:
    """Return a program whose operators have converters, or none that torch could decompose to.

    torch takes seconds (3.3 s for BERT-base), so a program that needs nothing stays as it is.
    """
    if not _needs_decomposition(exported_program.graph_module):
        return exported_program
    return exported_program.run_decompositions(decomposition_table())


def needs(
    graph: fx.GraphModule, custom: Mapping[str, Any], what: str = "the exported program"
) -> Coverage:
    """Return the operators of a decomposed graph; messages call it `what`."""
    result = Coverage(what)
    known = converters()
    for node in _computations(graph):
        name = target_name(node)
        is_custom = name in custom or name.removeprefix("aten.") in custom
        how = "custom" if is_custom else "converter" if _has(known, name) else ""
        result.add(name, 0, describe(node), how)
    return result


def _needs_decomposition(graph: fx.GraphModule) -> bool:
    """Whether a graph has operators without a converter, or that write to their operands."""
    known = converters()
    for node in _computations(graph):
        target = node.target
        if not _has(known, target_name(node)):
            return True
        if isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable:
            return True
    return False


def _has(converters: Mapping[str, Any], name: str) -> bool:
    return name in converters or COMPLEX + name in converters


def _computations(graph: fx.GraphModule) -> Iterator[fx.Node]:
    """Return the calls of a graph whose operators need converters: those that give no size."""
    return (node for node in calls(graph) if not isinstance(node.meta.get("val"), torch.SymInt))


def calls(module: Any) -> Iterator[fx.Node]:
    """Return the calls of a graph, those of branches and loop bodies too."""
    for part in module.modules():
        if isinstance(part, fx.GraphModule):
            yield from (node for node in part.graph.nodes if node.op == "call_function")
