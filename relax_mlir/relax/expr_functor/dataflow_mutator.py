"""`DataflowMutator`: rewrites what is inside of dataflow blocks and nothing else."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError
from relax_mlir.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
)
from relax_mlir.relax.expr_functor.functor import method_of
from relax_mlir.relax.expr_functor.mutator import PyExprMutator


class DataflowMutator(PyExprMutator):
    """A mutator whose methods are called for what is inside of dataflow blocks only.

    What is around them stays as it is; blocks in branches are visited. The values that a block
    gives out may be computed in another way, but keep their number and their types.
    """

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        """Leave the bindings as they are; look for dataflow blocks in their regions."""
        for binding in block.bindings:
            op = binding.mlir_op
            if op is not None:
                edit = self._edit
                edit.begin(op)
                if len(op.regions):
                    self._with_regions(binding.value, None)
                edit.keep_op(op)
                edit.finish(op)
        return block

    def visit_dataflow_block_(self, block: DataflowBlock) -> DataflowBlock:
        """Visit the bindings in order.

        Raises:
            BuilderError: an output has another type than before, or nothing gives it.
        """
        before = [var.ty for var in block.outputs]
        result = super().visit_dataflow_block_(block)
        if result is not block:
            for var, old, new in zip(block.outputs, before, result.outputs, strict=False):
                if new.ty != old:
                    raise BuilderError(
                        f"'{var.name_hint}' leaves its dataflow block and was {old}; it cannot "
                        f"become {new.ty}"
                    )
        return result

    def visit_expr(self, expr: Any) -> Any:
        """Return what takes the place of an expression; what is outside stays as it is.

        Raises:
            ExprTypeError: it is no expression.
        """
        on_the_way = isinstance(expr, (Function, SeqExpr, ir.Operation, ir.OpView))
        if on_the_way or self._builder.current_block_is_dataflow():
            return super().visit_expr(expr)
        method_of(type(expr))
        return expr

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding of a dataflow block.

        Raises:
            BuilderError: it was dropped, and the block gives its variable out.
        """
        super().visit_binding(binding)
        var, op = binding.var, binding.mlir_op
        if op is None or isinstance(var, DataflowVar) or not self._edit.is_dropped(op):
            return
        if self._edit.replacement(op.results[0]) is None:
            raise BuilderError(
                f"'{var.name_hint}' leaves its dataflow block, so its binding cannot go"
            )
