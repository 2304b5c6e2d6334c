"""Models of torch compared with what they are compiled to."""

from typing import Any

import numpy as np
import torch
from torch import fx
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from relax_mlir.compiler.pipeline import build
from relax_mlir.frontend.comparison import Comparison, Difference, difference
from relax_mlir.frontend.torch.arrays import array_of
from relax_mlir.frontend.torch.compiled import CompiledModel, load_model
from relax_mlir.frontend.torch.importer import describe
from relax_mlir.frontend.torch.needs import decomposed
from relax_mlir.frontend.torch.program import from_graph, input_nodes, weight_of
from relax_mlir.relax.vm import VirtualMachine


def compare(
    model: Any, inputs: tuple[Any, ...], *, dynamic_shapes: Any = None, target: Any = None,
    rtol: float = 1e-4, atol: float = 1e-5,
) -> Comparison:  # fmt: skip
    """Return how far a compiled model's results are from torch's.

    Where they differ, the program is compiled again with the result of each operation as an output.

    Args:
        model: a module or an exported program; it is run on copies of the inputs.
        inputs: positional, a tuple.
        dynamic_shapes: of `torch.export.export`, for a module.
        target: to compile for.
        rtol: how much of torch's number another may differ by.
        atol: the absolute tolerance, in addition.

    Raises:
        ModelError: the model cannot be compiled.
    """
    is_module = isinstance(model, torch.nn.Module)
    options = {"inputs": inputs, "dynamic_shapes": dynamic_shapes} if is_module else {}
    program = load_model(model, **options).program
    actual = CompiledModel(program, target)(*_copied(inputs))
    expected = _expected(program.module(), inputs)
    pairs, _ = pytree.tree_flatten_with_path(expected)
    outputs = [
        difference(pytree.keystr(path) or "result", _array(mine), _array(value), rtol, atol)
        for (path, value), mine in zip(pairs, pytree.tree_leaves(actual), strict=True)
        if value is not None
    ]
    if all(each.agrees for each in outputs):
        return Comparison(outputs)
    return Comparison(outputs, _first_to_differ(program, inputs, target, rtol, atol))


def _expected(module: Any, inputs: tuple[Any, ...]) -> Any:
    """Return a module's results, its buffers left as they were."""
    buffers = list(module.buffers())
    before = _copied(buffers)
    with torch.no_grad():
        results = module(*_copied(inputs))
        for buffer, value in zip(buffers, before, strict=True):
            buffer.copy_(value)
    return results


class _Recorder(fx.Interpreter):
    """Runs a graph and keeps what every call gives."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph, garbage_collect_values=False)
        self.values: dict[fx.Node, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        self.values[n] = _copied(super().run_node(n))
        return self.values[n]


def _first_to_differ(
    program: Any, inputs: tuple[Any, ...], target: Any, rtol: float, atol: float
) -> str | None:
    program = decomposed(program)
    leaves = iter(pytree.tree_leaves(inputs))
    given = [
        (node, next(leaves) if spec.kind is InputKind.USER_INPUT else weight_of(program, spec))
        for node, spec in input_nodes(program)
    ]
    recorder = _Recorder(program.graph_module)
    with torch.no_grad():
        recorder.run(*_copied([value for _, value in given]))
    graph = program.graph_module.graph
    nodes = [
        node
        for node in graph.nodes
        if node.op == "call_function" and isinstance(recorder.values[node], torch.Tensor)
    ]
    (output,) = (node for node in graph.nodes if node.op == "output")
    output.args = (tuple(nodes),)
    main = VirtualMachine(build(from_graph(program.graph_module), target))["main"]
    arguments = [
        _array(value) if isinstance(value, torch.Tensor) else value
        for node, value in given
        if isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt))
    ]
    results = main(*arguments)
    for node, result in zip(nodes, results, strict=True):
        diff = difference(node.name, _array(result), _array(recorder.values[node]), rtol, atol)
        if not diff.agrees:
            return _line(diff, node)
    return None


def _line(diff: Difference, node: fx.Node) -> str:
    layers = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
    layer = f", layer {layers[-1]}" if layers else ""
    return f"{describe(node)}{layer}: largest error {diff.error:.3g}"


def _copied(values: Any) -> Any:
    """Return nested tensors as copies; a model may change its inputs."""
    return pytree.tree_map_only(torch.Tensor, lambda each: each.detach().clone(), values)


def _array(value: Any) -> np.ndarray:
    return array_of(value) if isinstance(value, torch.Tensor) else np.asarray(value)
