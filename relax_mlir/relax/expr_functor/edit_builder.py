"""The builder of mutators: writes into functions under change as into new ones."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.builder.frames import Frame
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.blocks import BindingBlock, DataflowBlock
from relax_mlir.relax.expr.places import defining_op
from relax_mlir.relax.expr_functor.dataflow_outputs import add_outputs
from relax_mlir.relax.expr_functor.edit import Edit


class EditFrame(Frame):
    """A scope of a function that is being rewritten; its MLIR is looked up when it is needed."""

    __slots__ = ("_block", "_edit")

    builder: "EditBuilder"
    kind: str
    op: None
    name: str
    open: bool
    finished: bool

    def __init__(self, builder: "EditBuilder", kind: str, edit: Edit, block: ir.Block) -> None:
        self.builder, self.kind, self._edit, self._block = builder, kind, edit, block
        self.op, self.name, self.open, self.finished = None, "", True, False
        self.params, self.late, self.outputs, self.place = [], [], [], None
        self.symbols = None
        self.given = {}

    @property
    def blocks(self) -> list[ir.Block]:  # type: ignore[override]
        """The block of the copy."""
        return [self._edit.block(self._block)]

    @property
    def ip(self) -> ir.InsertionPoint:  # type: ignore[override]
        """In front of the binding that is being visited."""
        return self._edit.point()

    @property
    def names(self) -> Names:  # type: ignore[override]
        """The names of the whole function."""
        return self._edit.names


class EditBuilder(BlockBuilder):
    """A builder that also writes into functions under change."""

    def _start(self, mod: Any) -> None:
        super()._start(mod)
        self.edits: list[Edit] = []
        # The blocks that are being visited.
        self.visited: list[BindingBlock] = []

    def bind(self, expr: Any, name: str) -> ir.Value:
        """Create an expression in front of the binding that is being visited."""
        return self._materializer.value(self._expression(expr), name)

    def open_edit(self, edit: Edit) -> None:
        """Begin to write into a function."""
        self.edits.append(edit)
        self._moved = edit

    def close_edit(self) -> None:
        """End it."""
        self.edits.pop()
        self._moved = self.edits[-1] if self.edits else None

    def open_block(self, kind: str, edit: Edit, block: ir.Block) -> EditFrame:
        """Begin to write into a block of it."""
        frame = EditFrame(self, kind, edit, block)
        self._frames.append(frame)
        return frame

    def close_block(self, frame: EditFrame) -> None:
        """End it, with what was left open in it."""
        while self._frames and self._frames[-1] is not frame:
            self._pop()
        self._pop()

    def _begin_binding_block(self) -> None:
        """Begin to write into the block that is visited, which has begun."""
        if self.edits:
            self._open_blocks.append(None)
        else:
            super()._begin_binding_block()

    def _begin_dataflow_block(self) -> None:
        """Begin to write into the dataflow block that is visited."""
        if not self.edits:
            super()._begin_dataflow_block()
            return
        block = self.visited[-1]
        op = block.mlir_op if isinstance(block, DataflowBlock) else None
        if op is None:
            raise BuilderError("_begin_dataflow_block belongs in the visit of a dataflow block")
        self._open_blocks.append(
            self.open_block("dataflow", self.edits[-1], op.regions[0].blocks[0])
        )

    def _end_block(self) -> Any:
        """End that, and return the block as it is now."""
        if not self.edits or not self._open_blocks:
            return super()._end_block()
        edit, block, frame = self.edits[-1], self.visited[-1], self._open_blocks.pop()
        if frame is not None:
            self.close_block(frame)
        if frame is None or not edit.version or not isinstance(block, DataflowBlock):
            return block
        op = block.mlir_op
        assert op is not None, "it is visited in a function"
        if frame.outputs:
            add_outputs(edit, op, frame.outputs)
        edit.types.refresh(edit.op(op))
        return DataflowBlock.of(edit.op(op), edit.keep)

    def emit_normalized(self, binding: Any) -> Any:
        """Emit a binding; one of a variable of the function under change stands for its value."""
        var = binding.var
        # Asked first: what is emitted becomes the variable's value.
        value = None if var is None else var.mlir_value
        op = None if value is None else defining_op(value)
        if self.edits and op is not None and op in self.edits[-1]:
            same = getattr(binding.value, "mlir_op", None)
            if same is not None and same in (op, self.edits[-1].op(op)):
                self.edits[-1].keep_op(op)
                return var
        made = super().emit_normalized(binding)
        if self.edits and op is not None and op in self.edits[-1]:
            assert made.mlir_value is not None, "it has been emitted"
            self.edits[-1].put(op, made.mlir_value)
        return made
