"""Branches and loops of torch: `torch.cond` and `torch.while_loop`."""

from collections.abc import Sequence
from typing import Any

from torch import fx

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax.expr.values import Tuple


def _inline(m: Importer, graph: fx.GraphModule, arguments: Sequence[Any]) -> list[Any]:
    """Convert the nodes of a graph in place, and return its results."""
    from relax_mlir.frontend.torch.program import run_nodes

    nodes = list(graph.graph.nodes)
    inputs = (node for node in nodes if node.op == "placeholder")
    m.env.update(zip(inputs, arguments, strict=True))
    run_nodes(m, nodes)
    (output,) = (node for node in nodes if node.op == "output")
    results = output.args[0]
    results = results if isinstance(results, (list, tuple)) else [results]
    return [m.env[node] if isinstance(node, fx.Node) else node for node in results]


@converts("cond")
def _cond(
    m: Importer, condition: Any, if_true: fx.GraphModule, if_false: fx.GraphModule,
    operands: Sequence[Any],
) -> list[Any]:  # fmt: skip
    bb = m.block_builder
    with bb.if_(m.cast(condition, "bool")) as branch:
        with branch.then_():
            branch.yield_(Tuple(_inline(m, if_true, operands)))
        with branch.else_():
            branch.yield_(Tuple(_inline(m, if_false, operands)))
    return [branch.result[i] for i in range(len(m.value))]


@converts("while_loop")
def _while_loop(
    m: Importer, condition: fx.GraphModule, body: fx.GraphModule, carried: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:  # fmt: skip
    bb = m.block_builder
    with bb.while_([bb.emit(each) for each in carried]) as loop:
        with loop.cond() as values:
            (holds,) = _inline(m, condition, [*values, *others])
            loop.yield_(m.cast(holds, "bool"))
        with loop.body() as values:
            loop.yield_(*_inline(m, body, [*values, *others]))
    return list(loop.results)
