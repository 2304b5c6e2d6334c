"""The graph executor under TVM's name: `from relax_mlir.contrib import graph_executor`."""

from relax_mlir.runtime.graph.executor import GraphExecutor
from relax_mlir.runtime.graph.module import GraphModule, create

__all__ = ["GraphExecutor", "GraphModule", "create"]
