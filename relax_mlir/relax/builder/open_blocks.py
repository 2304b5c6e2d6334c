"""Blocks that are begun and ended by calls, not by `with`, as TVM's mutators do."""

from typing import Any

from relax_mlir.relax.builder.scopes import DataflowScope, TestScope
from relax_mlir.relax.expr.blocks import BindingBlock, DataflowBlock, block_of
from relax_mlir.relax.expr.places import is_binding


class OpenBlock:
    """A block under construction; outside of functions it stands in a scope of its own."""

    def __init__(self, builder: Any, dataflow: bool) -> None:
        self._builder = builder
        self._scope = None if builder._frames else TestScope(builder, [])
        if self._scope is not None:
            self._scope.__enter__()
        self._frame = builder._frame()
        self._block = self._frame.blocks[0]
        self._before = len(self._block.operations)
        self._dataflow = DataflowScope(builder, builder._places.here()) if dataflow else None
        if self._dataflow is not None:
            self._dataflow.__enter__()

    def end(self) -> BindingBlock:
        """Close the block, and return it."""
        if self._dataflow is not None:
            self._dataflow.__exit__(None, None, None)
        operations = [view.operation for view in self._block.operations][self._before :]
        if self._scope is not None:
            self._builder._close(self._frame)
        keep = self._builder._keep
        if self._dataflow is not None:
            return DataflowBlock.of(operations[0], keep)
        return block_of([op for op in operations if is_binding(op)], keep)
