"""`torch.compile(model, backend="relax_mlir")`: the graphs that dynamo captures, compiled."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch._guards import CompileContext

from relax_mlir.compiler.pipeline import build
from relax_mlir.errors import ModelError
from relax_mlir.frontend.torch.arrays import array_of, tensor_of
from relax_mlir.frontend.torch.decompositions import decomposition_table
from relax_mlir.frontend.torch.needs import needs
from relax_mlir.frontend.torch.program import from_graph
from relax_mlir.relax.vm import VirtualMachine

_OPTIONS = ("target", "pipeline")


@dataclass
class CompileCounts:
    """What `torch.compile` has requested in this process.

    Attributes:
        graphs: graphs that were compiled, recompiled ones too.
        recompiles: those of code that had been compiled, for other shapes or types.
        eager: graphs left to eager torch, because they need gradients.
    """

    graphs: int = 0
    recompiles: int = 0
    eager: int = 0

    @property
    def graph_breaks(self) -> int:
        """How often dynamo ended a graph early; `torch._dynamo.reset()` sets it to zero."""
        return sum(counters["graph_break"].values())


compile_counts = CompileCounts()


def compile_graph(
    graph: fx.GraphModule, inputs: list[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a graph of dynamo compiled: the backend of `torch.compile`.

    Weights are inputs of the compiled function, so that one that changes later counts. A graph
    that needs gradients stays in eager torch.

    Args:
        graph: what dynamo captured.
        inputs: its inputs, as dynamo gives them.
        options: of `torch.compile`: `target` and `pipeline`, as for `relax_mlir.compile`.

    Raises:
        ModelError: an option is unknown, or a tensor is not in the memory of the CPU.
        UnsupportedOpError: operators have no converter; the message has all of them.
    """
    chosen = dict(options or {})
    unknown = sorted(set(chosen) - set(_OPTIONS))
    if unknown:
        raise ModelError(
            f"torch.compile has the option {', '.join(unknown)}; the backend relax_mlir takes "
            f"{', '.join(_OPTIONS)}"
        )
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    devices = {each.device.type for each in tensors} - {"cpu"}
    if devices:
        raise ModelError(f"a tensor is on {', '.join(devices)}; relax_mlir compiles for the CPU")
    if torch.is_grad_enabled() and _needs_gradients(graph, tensors):
        compile_counts.eager += 1
        return graph.forward

    def compiled(lowered: fx.GraphModule, _: Any) -> Callable[..., Any]:
        return _compiled(lowered, chosen)

    table = decomposition_table().materialize()
    return aot_autograd(fw_compiler=compiled, decompositions=table)(graph, inputs)


def _needs_gradients(graph: fx.GraphModule, inputs: list[torch.Tensor]) -> bool:
    return any(each.requires_grad for each in (*inputs, *graph.parameters()))


def _compiled(graph: fx.GraphModule, options: dict[str, Any]) -> Callable[..., Any]:
    """Return a graph of ATen operators as a function of its flat inputs."""
    needs(graph, {}, "the graph").check()
    pipeline = options.get("pipeline") or "default"
    executable = build(from_graph(graph), options.get("target"), relax_pipeline=pipeline)
    main = VirtualMachine(executable)["main"]
    context = CompileContext.get().compile_id
    compile_counts.graphs += 1
    compile_counts.recompiles += bool(context is not None and context.frame_compile_id)
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    results = output.args[0]
    values = [each.meta["val"] if isinstance(each, fx.Node) else each for each in results]
    layouts = [_Layout.of(value) if isinstance(value, torch.Tensor) else value for value in values]

    def run(*inputs: Any) -> list[Any]:
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
        given = [array_of(each) if isinstance(each, torch.Tensor) else each for each in inputs]
        return _results(iter(main(*given)), layouts, tensors)

    return run


@dataclass(frozen=True)
class _Layout:
    """How a result lies in memory.

    Attributes:
        order: the axes, the one with the largest stride first.
        storage: which storage the tensor fills, with its dtype; None if it fills none.
    """

    order: list[int]
    storage: tuple[int, torch.dtype] | None

    @staticmethod
    def of(value: torch.Tensor) -> "_Layout":
        """Return the layout of the fake value of a node."""
        storage = value.untyped_storage()
        fills = _hint(storage.nbytes()) == _hint(value.numel()) * value.itemsize
        order = sorted(range(value.ndim), key=lambda axis: -_hint(value.stride(axis)))
        return _Layout(order, (storage._cdata, value.dtype) if fills else None)


def _results(fields: Iterator[Any], layouts: list[Any], inputs: list[torch.Tensor]) -> list[Any]:
    """Return results with the strides that torch inferred, and its aliases.

    The compiled function may give one memory for tensors that are copies of each other in torch:
    a change in place of one would change the other.
    """
    taken = [_span(each) for each in inputs]
    storages: dict[Any, torch.Tensor] = {}
    results: list[Any] = []
    for layout in layouts:
        if not isinstance(layout, _Layout):
            results.append(None if layout is None else np.asarray(next(fields)).item())
            continue
        physical = tensor_of(next(fields)).permute(layout.order)
        if layout.storage in storages:
            physical = storages[layout.storage].view(physical.shape)
        else:
            physical = physical.contiguous()
            start, end = _span(physical)
            if any(start < last and first < end for first, last in taken):
                physical = physical.clone()
            taken.append(_span(physical))
        if layout.storage is not None:
            storages[layout.storage] = physical
        back = [layout.order.index(axis) for axis in range(physical.ndim)]
        results.append(physical.permute(back))
    return results


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + tensor.nbytes


def _hint(number: Any) -> int:
    """Return a number, that of the traced inputs where it is symbolic."""
    return number.node.hint if isinstance(number, torch.SymInt) else number
