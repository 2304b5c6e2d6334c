"""`DataflowBlockRewrite`: single changes of one dataflow block, each checked where it is made."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import is_pure
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.relax.analysis.symbols import binders, symbols_in
from relax_mlir.relax.expr import Binding, DataflowBlock, Function, MatchCast, Var
from relax_mlir.relax.expr.places import canonical, defining_op, is_binding, terminator
from relax_mlir.relax.expr_functor.dataflow_outputs import add_outputs
from relax_mlir.relax.expr_functor.edit import Edit, erase_unused
from relax_mlir.relax.expr_functor.edit_builder import EditBuilder


class DataflowBlockRewrite:
    """Changes bindings of a dataflow block of a function; the function itself stays as it was.

    Args:
        dfb: a dataflow block of the function.
        root_fn: the function.

    Raises:
        ExprTypeError: they are not in a module.
        BuilderError: the block is none of the function's.
    """

    def __init__(self, dfb: DataflowBlock, root_fn: Function) -> None:
        block, func = getattr(dfb, "mlir_op", None), getattr(root_fn, "mlir_op", None)
        if block is None or func is None or block.name != "relax.dataflow":
            raise ExprTypeError("expected a dataflow block and the function of a module it is in")
        # The function as it was at a version of the edit.
        self._root, self._made = root_fn, (0, root_fn)
        self._builder = EditBuilder(_empty(func.context))
        self._edit = Edit(self._builder, func, root_fn._keep)
        self._op = block
        if block not in self._edit:
            raise BuilderError("the dataflow block is in another function")
        self._edit.begin(_end(block))
        self._in_order = True
        with func.context, ir.Location.unknown():
            self._removed = ir.Module.create()

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Have every use of a variable, also after the block, use another.

        Raises:
            BuilderError: one of them is no variable of the function, or the new one's type is
                another.
        """
        old, new = self._value(old_var), self._value(new_var)
        if old == new:
            return
        if old.type != new.type:
            raise BuilderError(
                f"'{new_var.name_hint}' is {new_var.ty} and cannot be used for "
                f"'{old_var.name_hint}', which is {old_var.ty}"
            )
        self._edit.version += 1
        old.replace_all_uses_with(new)
        self._in_order = False

    def add(self, expr: Any, name: str | None = None, is_dfvar: bool = False) -> Var:
        """Bind an expression, or add a binding, and return its variable.

        It stands as early as what uses it needs; nothing uses it until `replace_all_uses`.

        Args:
            expr: an expression over variables of the function, or a Binding of one.
            name: the variable's name, made unique.
            is_dfvar: whether the variable is seen in the block only; else the block gives it out.

        Raises:
            BuilderError: a variable means nothing in the block, or the expression has effects.
            ExprError: no run could compute it.
        """
        builder = self._builder
        if isinstance(expr, Binding):
            name = name or expr.var.name_hint
            is_dfvar = type(expr.var) is not Var
        builder.open_edit(self._edit)
        around = [builder.open_block("insertion", self._edit, each) for each in self._around()]
        frame = builder.open_block("dataflow", self._edit, self._op.regions[0].blocks[0])
        try:
            if isinstance(expr, MatchCast):
                var = builder.match_cast(expr.value, expr.ty, name or "")
            else:
                value = expr.value if isinstance(expr, Binding) else expr
                emit = builder.emit if is_dfvar else builder.emit_output
                var = emit(value, name or "")
        finally:
            builder.close_block(around[0])
            builder.close_edit()
        if frame.outputs:
            add_outputs(self._edit, self._op, frame.outputs)
        return var

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Remove the binding of a variable that nothing uses.

        Args:
            var: the variable.
            allow_undef: do nothing when the block does not bind it.

        Raises:
            BuilderError: something uses it, or the block does not bind it.
        """
        value = None if var.mlir_value is None else canonical(self._value(var))
        op = None if value is None else defining_op(value)
        if op is None or not self._is_here(op):
            if allow_undef:
                return
            raise BuilderError(f"the dataflow block does not bind '{var.name_hint}'")
        users = {use.owner.operation for result in op.results for use in result.uses}
        if users:
            raise BuilderError(
                f"'{var.name}' is used by {len(users)} var{'s' * (len(users) > 1)}, so its binding "
                "cannot go"
            )
        self._edit.version += 1
        self._detach_dead_op(op)

    def remove_all_unused(self) -> None:
        """Remove every binding of the block that nothing uses, and what only those used."""
        block = self._edit.op(self._op).regions[0].blocks[0]
        # Others, such as tuples in place, go with the bindings that use them.
        bindings = [op for view in block.operations if is_binding(op := view.operation)]
        for op in reversed(bindings):
            if not len(op.results) or not is_pure(op):
                continue
            if all(next(iter(result.uses), None) is None for result in op.results):
                self._edit.version += 1
                self._detach_dead_op(op)

    def mutated_dfb(self) -> DataflowBlock:
        """Return the block as it is now, in `mutated_root_fn`.

        Raises:
            BuilderError: variables would need each other.
        """
        func = self.mutated_root_fn()
        before = named(self._edit.copy, ("relax.dataflow",))
        position = before.index(self._edit.op(self._op))
        assert func.mlir_op is not None, "it is a view"
        return DataflowBlock.of(named(func.mlir_op, ("relax.dataflow",))[position], func._keep)

    def mutated_root_fn(self) -> Function:
        """Return the function as it is now: in no module; the very function if nothing changed.

        Raises:
            BuilderError: variables would need each other.
        """
        if self._made[0] != self._edit.version:
            self._sort()
            copy = self._edit.end().clone(ip=False)
            self._made = self._edit.version, Function.of(copy, (copy, self._edit.keep))
        return self._made[1]

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """Return a module with the function as it is now in its place.

        Raises:
            BuilderError: the module has no function of that name, or is of another MLIR context.
        """
        name = self._root.name
        if name not in irmodule:
            raise BuilderError(f"the module has no function '{name}'")
        if irmodule.context != self._edit.func.context:
            raise BuilderError("the module belongs to another MLIR context than the function")
        func = self.mutated_root_fn().mlir_op
        assert func is not None, "it is a view"
        made = irmodule.clone()
        old = made[name].mlir_op
        func.clone(ip=ir.InsertionPoint(old))
        old.erase()
        return made

    mutated_module = mutate_irmodule

    def _value(self, var: Var) -> ir.Value:
        value = getattr(var, "mlir_value", None)
        if value is None:
            raise BuilderError(f"Cannot find {var!r}: it is no variable of the function")
        result = self._edit.get(value, value)
        owner = defining_op(result)
        block: Any = result.owner if owner is None else owner.block
        if not self._is_inside(block):
            raise BuilderError(f"Cannot find '{var.name}': it is no variable of the function")
        # In the block a value that leaves it is the one inside.
        inner = canonical(result)
        op = defining_op(inner)
        return inner if op is not None and self._is_here(op) else result

    def _around(self) -> list[ir.Block]:
        """Return the blocks that the dataflow block stands in, the function's first."""
        result = [self._op.block]
        while result[-1].owner.operation.name != "func.func":
            result.append(result[-1].owner.operation.block)
        return result[::-1]

    def _is_inside(self, block: ir.Block) -> bool:
        op = block.owner.operation
        while op != self._edit.copy:
            if op.name == "builtin.module" or not op.attached:
                return False
            op = op.parent.operation
        return True

    def _is_here(self, op: ir.Operation) -> bool:
        return op.attached and op.parent.operation == self._edit.op(self._op)

    def _detach_dead_op(self, op: ir.Operation) -> None:
        """Take a binding out of the block; its variable may still be held, and looked at."""
        parts = list(op.operands)
        with op.context, ir.Location.unknown(), ir.InsertionPoint(self._removed.body):
            for index, value in enumerate(parts):
                op.operands[index] = ir.Operation.create(MAKE_TUPLE, results=[value.type]).result
            anchor = ir.Operation.create(MAKE_TUPLE, results=[ir.NoneType.get()])
        op.move_after(anchor)
        for value in parts:
            erase_unused(value)

    def _sort(self) -> None:
        """Bring the block into an order in which everything is bound before it is used."""
        if self._in_order:
            return
        block = self._edit.op(self._op).regions[0].blocks[0]
        sort_block(block)
        self._in_order = True


BindingRewriter = DataflowBlockRewrite


def sort_block(block: ir.Block) -> None:
    """Move operations of a block forward until each stands after what it uses.

    What mentions a symbol stands after the operation that gives the symbol its value.

    Raises:
        BuilderError: some use each other.
    """
    waiting = [view.operation for view in block.operations]
    here = set(waiting)
    bound = binders(block)
    placed: set[ir.Operation] = set()
    open_: set[ir.Operation] = set()
    order: list[ir.Operation] = []
    for root in waiting:
        stack = [root]
        while stack:
            op = stack[-1]
            if op in placed:
                stack.pop()
                continue
            needs = [
                each
                for each in (*map(defining_op, op.operands), *_binders_of(op, bound))
                if each is not None and each in here and each not in placed
            ]
            if not needs:
                stack.pop()
                placed.add(op)
                open_.discard(op)
                order.append(op)
                continue
            if op in open_ or any(each in open_ for each in needs):
                raise BuilderError("bindings of the dataflow block would need each other")
            open_.add(op)
            stack += needs[::-1]
    for previous, op in pairwise(order):
        op.move_after(previous)


def _binders_of(op: ir.Operation, bound: Mapping[str, ir.Operation]) -> list[ir.Operation]:
    """Return the operations that give the symbols an operation mentions their values."""
    result = [bound[name] for name in symbols_in(op) if name in bound] if bound else []
    return [each for each in result if each != op]


def _end(dataflow: ir.Operation) -> ir.Operation:
    end = terminator(dataflow.regions[0].blocks[0])
    assert end is not None, "checked by the verifier"
    return end


def _empty(context: ir.Context) -> IRModule:
    with context, ir.Location.unknown():
        return IRModule(ir.Module.create())
