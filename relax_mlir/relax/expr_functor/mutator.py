"""`PyExprMutator`: rewrites a function binding by binding, inferring types as it goes."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.single_function import single
from relax_mlir.relax.analysis.pending import is_pending
from relax_mlir.relax.analysis.variables import free_vars
from relax_mlir.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    Id,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    Type,
    Var,
    function_view,
)
from relax_mlir.relax.expr.leaves import make_var, value_name
from relax_mlir.relax.expr_functor.dataflow_outputs import add_outputs
from relax_mlir.relax.expr_functor.edit import Edit
from relax_mlir.relax.expr_functor.functor import bounded_depth
from relax_mlir.relax.expr_functor.rewriting import Rewriting


class PyExprMutator(Rewriting):
    """Rewrites Relax functions; override `visit_call_`, `visit_var_binding_`, ....

    `visit_expr(func)` returns the function itself when nothing changed, else a new function that
    is in no module; `builder_.update_func(name, func)` puts it into the builder's module. What a
    method returns for an expression takes its place: another expression (n to 1), one that uses
    what `builder_.emit` has bound before (1 to n), or the same object for no change. Types of what
    follows are inferred again where types of operands changed. Methods see the function as it was;
    variables whose bindings were replaced turn up as their replacements when they are visited.

    Linear in the number of bindings; depth of recursion is that of branches in branches.

    Args:
        mod: the module for `builder_`, which works on a copy.
    """

    # What is visited

    def visit_expr(self, expr: Any) -> Any:
        """Return what takes the place of an expression or a function.

        Raises:
            ExprTypeError: it is neither, or a method returned neither.
            BuilderError: what a method returned uses variables that mean nothing there.
            ExprError: no run could compute what a method returned.
        """
        if isinstance(expr, (ir.Operation, ir.OpView)) and expr.operation.name == "func.func":
            func = function_view(expr)
            result = self.visit_expr(func)
            return expr if result is func else result.mlir_op
        return super().visit_expr(expr)

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding by its kind; one that is neither kept nor replaced then is dropped."""
        op = binding.mlir_op
        edit = self._edit
        if op is not None:
            if edit.is_replaced(op):
                return
            edit.begin(op)
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)
        if op is not None:
            edit.finish(op)

    def visit_binding_block(self, block: BindingBlock) -> BindingBlock:
        """Visit a block by its kind."""
        if is_pending(block):
            sequence = SeqExpr([block], Tuple([]))
            result = _visit_sequence(self, sequence)
            return block if result is sequence else result.blocks[0]
        self._builder.visited.append(block)
        try:
            if isinstance(block, DataflowBlock):
                return self.visit_dataflow_block_(block)
            return self.visit_binding_block_(block)
        finally:
            self._builder.visited.pop()

    def visit_var_def(self, var: Var) -> Var:
        """Visit a variable where it is bound, by its kind.

        A parameter may become another; the name and type of one that a binding binds follow from
        that.
        """
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_with_new_scope(self, expr: Any) -> Any:
        """Visit a branch: what is emitted there is emitted into it."""
        return self.visit_expr(expr)

    def visit_clause(self, clause: SeqExpr) -> Any:
        """Visit a branch of an `if`, the body of a loop or of a function in it."""
        return self.visit_with_new_scope(clause)

    # What is known

    def lookup_binding(self, var: Var) -> Any:
        """Return what a variable is bound to now, None for a parameter.

        Raises:
            BuilderError: nothing has bound it.
        """
        return self._builder.lookup_binding(self.visit_var_(var) if type(var) is Var else var)

    def set_var_remap(self, vid: "Id | Var", var: Var) -> None:
        """Have a variable stand for another of the function: `vid` is the other or its `vid`.

        Raises:
            BuilderError: nothing of the function is called so.
        """
        op = self._op_of(vid)
        self._edit.replace(op, var)

    def get_var_remap(self, vid: "Id | Var") -> Var:
        """Return the variable that stands for one of the function now.

        Raises:
            BuilderError: nothing of the function is called so.
        """
        value = self._value_of(vid)
        result = self._edit.get(value, value)
        return make_var(result, value_name(result), self._edit.keep, None, False)

    def with_type(self, var: Var, ty: Any) -> Var:
        """Return a variable of the same name with a type, for `visit_var_def` to return."""
        return var if var.ty == ty else Var(var.name_hint, ty)

    with_struct_info = with_type

    # Functions, blocks and bindings

    def visit_function_(self, func: Function) -> Function:
        """Visit parameters and body of a function of a module.

        Raises:
            ExprTypeError: it is one in a function, not emitted yet.
            ExprError: branches or loops in it are nested too deep for Python's stack.
        """
        op = func.mlir_op
        if op is None:
            result = self._rewritten(self._emitted(func), func.params)
            return func if result is None else result
        if not len(op.regions[0].blocks):
            return func
        if op.name != "func.func":
            # A function in a function, written where it is used.
            return self._with_regions(func, None)
        return self._rewritten(func, func.params) or func

    def _emitted(self, func: Function) -> Function:
        if self._builder.edits:
            raise ExprTypeError(
                "a function or a block that is not emitted yet is rewritten alone; emit it first"
            )
        return Function.of(single(func), func._keep)

    def _rewritten(
        self,
        func: Function,
        params: Sequence[Var],
        visit: Callable[[SeqExpr], Any] | None = None,
    ) -> Function | None:
        """Return a function with its body visited, and parameters where given; None if the same."""
        op = func.mlir_op
        assert op is not None, "it has been emitted"
        self._take_context(op)
        edit = Edit(self._builder, op, func._keep)
        # What is visited of a function is new to each binding: variables are replaced on the way.
        visiting, self._visiting = self._visiting, False
        self._builder.open_edit(edit)
        try:
            for index, param in enumerate(params):
                self._parameter(index, param)
            frame = self._builder.open_block("insertion", edit, op.regions[0].blocks[0])
            try:
                with bounded_depth(func):
                    (visit or self.visit_expr)(func.body)
            finally:
                self._builder.close_block(frame)
            if not edit.version:
                return None
            return Function.of(edit.end(), (edit.copy, func._keep))
        finally:
            self._builder.close_edit()
            self._visiting = visiting

    def visit_seq_expr_(self, expr: SeqExpr) -> SeqExpr:
        """Visit the blocks, then the value.

        One that is not emitted yet is emitted where it has bindings, its free variables as
        parameters of a function.

        Raises:
            ExprTypeError: it is one in a function, not emitted yet, and has bindings.
        """
        block = expr.mlir_block
        if block is None and not expr.blocks:
            return super().visit_seq_expr_(expr)
        if block is None:
            emitted = self._emitted(Function(free_vars(expr), expr))
            # It is this sequence that is visited, not another one in it.
            result = self._rewritten(emitted, (), functools.partial(_visit_sequence, self))
            return expr if result is None else result.body
        edit = self._edit
        version = edit.version
        for each in expr.blocks:
            self.visit_binding_block(each)
        body = expr.body
        if body is not None:
            self._set_end(block, body, self._at_end(block, body))
        return expr if edit.version == version else SeqExpr.of(edit.block(block), edit.keep)

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        """Visit the bindings in order."""
        for binding in block.bindings:
            self.visit_binding(binding)
        return block

    def visit_dataflow_block_(self, block: DataflowBlock) -> DataflowBlock:
        """Visit the bindings in order; what is emitted is emitted into the block."""
        op = block.mlir_op
        if op is None:
            raise ExprTypeError("a dataflow block is rewritten when it is in a function")
        edit = self._edit
        version = edit.version
        frame = self._builder.open_block("dataflow", edit, op.regions[0].blocks[0])
        try:
            for binding in block.bindings:
                self.visit_binding(binding)
        finally:
            self._builder.close_block(frame)
        if edit.version == version and not edit.types:
            return block
        if frame.outputs:
            add_outputs(edit, op, frame.outputs)
        edit.types.refresh(edit.op(op))
        return DataflowBlock.of(edit.op(op), edit.keep)

    def visit_var_binding_(self, binding: Binding) -> None:
        """Visit the value; what it gives takes its place, under the variable's name."""
        value = binding.value
        new = self.visit_expr(value)
        if self._sees_definitions and binding.var is not None:
            self.visit_var_def(binding.var)
        self._settle(binding, value, new)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Visit the value, and the type that it is matched against by `visit_pattern`."""
        value = binding.value
        new = self.visit_expr(value)
        if self._sees_definitions:
            self.visit_var_def(binding.var)
        edit, op = self._edit, binding.mlir_op
        assert op is not None, "the functor visits what has been emitted"
        if new is not value and not self._is_there(new, 0, op):
            edit.op(op).operands[0] = self._builder.materialize(new)
        pattern = self.visit_pattern(binding.ty)
        if pattern != binding.ty:
            edit.version += 1
            with self._builder.unknown:
                edit.types.set(edit.op(op).results[0], pattern.to_mlir())
        edit.settle(op)

    def visit_pattern(self, pattern: Type) -> Type:
        """Return the type that a `match_cast` matches against; `visit_type` of it."""
        return self.visit_type(pattern)

    def reemit_binding(self, binding: Binding, value: Any) -> None:
        """Bind the variable of a binding to another value."""
        self._settle(binding, binding.value, value)

    def visit_var_def_(self, var: Var) -> Var:
        """Return the variable itself."""
        return var

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Var:
        """As `visit_var_def_`."""
        return self.visit_var_def_(var)

    # Expressions with parts

    def visit_call_(self, call: Call) -> Any:
        """Visit the arguments."""
        op = call.mlir_op
        if op is not None and len(op.regions):
            return self.visit_expr_fallback_(call)
        return self.visit_expr_post_order(call)

    def visit_if_(self, expr: If) -> Any:
        """Visit the condition, then both branches, each in its scope."""
        if expr.mlir_op is None:
            return self._with_parts(expr)
        return self._with_regions(expr, expr.cond)

    def visit_expr_fallback_(self, expr: Any) -> Any:
        """Visit what is in the regions of an expression of another kind: a loop, a lambda."""
        if getattr(expr, "mlir_op", None) is None:
            return expr
        return self._with_regions(expr, None)

    # Leaves

    def visit_var_(self, var: Var) -> Any:
        """Return the variable, or what stands for it since its binding was replaced."""
        edits = self._builder.edits
        value = var._value
        if value is None or not edits:
            return var
        edit = edits[-1]
        result = edit.replacement(value)
        if result is None:
            return var
        return make_var(result, value_name(result), edit.keep, None, isinstance(var, DataflowVar))


PyExprMutator._own_methods = PyExprMutator
_visit_sequence = PyExprMutator.visit_seq_expr_
