"""Branches and loops of torch: `torch.cond`, `torch.while_loop` and `scan`."""

from collections.abc import Sequence
from typing import Any

from torch import fx

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.frontend.values import call_model_function
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import ObjectType, TensorType
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


@converts("scan")
def _scan(
    m: Importer, body: fx.GraphModule, initial: Sequence[Any], inputs: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:  # fmt: skip
    """Return the last states, and as one tensor each what the body makes of every slice."""
    bb, states = m.block_builder, len(initial)
    length = inputs[0].ty.dims[0]
    (output,) = (node for node in body.graph.nodes if node.op == "output")
    count = len(output.args[0]) - states
    slices: list[Any] = []

    def gathered(name: str, args: Sequence[Any]) -> Any:
        return bb.emit(call_model_function(name, args, ObjectType(), {}))

    empty = [gathered("sequence_construct", []) for _ in range(count)]
    carried = [*(bb.emit(each) for each in initial), *empty]
    with bb.for_(length, carried) as loop, loop.body() as (i, *values):
        at = m.cast(i.value, "int64")
        parts = [bb.emit(op.take(each, at, axis=0)) for each in inputs]
        made = _inline(m, body, [*values[:states], *parts, *others])
        after = [bb.emit(each) for each in made]
        slices[:] = [each.ty for each in after[states:]]
        pairs = zip(values[states:], after[states:], strict=True)
        loop.yield_(*after[:states], *(gathered("sequence_insert", pair) for pair in pairs))
    results = list(loop.results[:states])
    for sequence, each in zip(loop.results[states:], slices, strict=True):
        type_ = TensorType([length, *each.dims], each.dtype)
        config = {"axis": 0, "stacks": True, "dtype": each.dtype,
                  "empty": [0, *(dim.value or 0 for dim in each.dims)]}  # fmt: skip
        wide = TensorType(ndim=type_.ndim, dtype=each.dtype)
        made = bb.emit(call_model_function("sequence_concat", [sequence], wide, config))
        results.append(bb.match_cast(made, type_))
    return results
