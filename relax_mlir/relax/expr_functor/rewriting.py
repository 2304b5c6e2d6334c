"""How a mutator rewrites: what its methods return goes into the copy of the function."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.pending import children
from relax_mlir.relax.expr import (
    Binding,
    Id,
    SeqExpr,
    Tuple,
    Var,
    view,
    view_op,
)
from relax_mlir.relax.expr.places import canonical, defining_op
from relax_mlir.relax.expr_functor.edit import Edit, erase_unused
from relax_mlir.relax.expr_functor.edit_builder import EditBuilder
from relax_mlir.relax.expr_functor.mutator_base import ExprMutatorBase

_PACKAGE_ROOT = "relax_mlir."
# Methods for parts of calls. Where a class has none of its own the parts need no visit.
_PARTS = (
    "visit_expr", "visit_var_", "visit_dataflow_var_", "visit_constant_", "visit_tuple_",
    "visit_shape_expr_", "visit_prim_value_", "visit_string_imm_", "visit_data_type_imm_",
    "visit_global_var_", "visit_extern_func_", "visit_op_", "visit_type",
)  # fmt: skip
_DEFINITIONS = ("visit_var_def", "visit_var_def_", "visit_dataflow_var_def_")


class Rewriting(ExprMutatorBase):
    """The state of a mutator, and what its methods' results do to the function."""

    visit_var_def: Callable[[Var], Var]
    visit_clause: Callable[[SeqExpr], Any]

    def __init__(self, mod: IRModule | None = None) -> None:
        if mod is not None and not isinstance(mod, IRModule):
            raise ExprTypeError(
                f"{type(self).__name__} takes the module that it works on, or nothing, got "
                f"{type(mod).__name__}; functions are what visit_expr takes"
            )
        self._builder = EditBuilder(mod)
        # Whether a module was given decides which MLIR context functions must be of.
        self._is_empty = mod is None
        self._plain = self._inherits(_PARTS)
        self._sees_definitions: bool = not self._inherits(_DEFINITIONS)

    def _inherits(self, names: Sequence[str]) -> bool:
        """Whether no subclass overrides these methods."""
        return all(getattr(type(self), name).__module__.startswith(_PACKAGE_ROOT) for name in names)

    def __getattr__(self, name: str) -> Any:
        if name in ("_builder", "_sees_definitions"):
            who = type(self).__name__
            raise BuilderError(f"__init__ of {who} does not call super().__init__(mod)")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def builder_(self) -> EditBuilder:
        """The builder that new bindings are emitted by."""
        return self._builder

    @property
    def _edit(self) -> Edit:
        edits = self._builder.edits
        if not edits:
            raise BuilderError("bindings are rewritten in a function: visit_expr(func)")
        return edits[-1]

    def _take_context(self, op: ir.Operation) -> None:
        builder = self._builder
        if op.context == builder.context:
            return
        if not self._is_empty:
            raise BuilderError("the function belongs to another MLIR context than the module")
        with op.context, ir.Location.unknown():
            builder._start(IRModule(ir.Module.create()))

    def _settle(self, binding: Binding, value: Any, new: Any) -> None:
        edit, op = self._edit, binding.mlir_op
        if op is None:
            raise ExprTypeError("a binding is rewritten when it is in a function")
        if new is None:
            raise ExprTypeError(
                f"a method of {type(self).__name__} returned nothing for {value!r}; return the "
                "expression itself to leave it as it is"
            )
        if new is value or self._is_own(getattr(new, "mlir_op", None), op):
            edit.keep_op(op)
        else:
            edit.replace(op, self._builder._expression(new))

    def _is_own(self, given: ir.Operation | None, op: ir.Operation) -> bool:
        """Whether an operation is the one being visited, as it was or as it is now."""
        if given is None:
            return False
        return given == op or (self._edit.version > 0 and given == self._edit.op(op))

    def _with_parts(self, expr: Any) -> Any:
        op = expr.mlir_op
        edits = self._builder.edits
        if self._plain and op is not None and edits and not len(op.regions):
            # Nobody looks at the parts: only whether some of them were replaced counts.
            if not edits[-1].touches(op):
                return expr
            if op in edits[-1] and self._has_type(edits[-1].op(op)):
                return view_op(edits[-1].op(op), edits[-1].keep)
        parts = children(expr)
        visited = [self.visit_expr(part) for part in parts]
        made = self._rebuilt(expr, parts, visited)
        if made is expr:
            return expr
        if op is not None and edits and op in edits[-1]:
            # Where only variables were replaced the copy has them in place already.
            now = view_op(edits[-1].op(op), edits[-1].keep)
            if self._same(children(now), visited) and self._has_type(edits[-1].op(op)):
                return now
        return made

    def _has_type(self, copy: ir.Operation) -> bool:
        """Whether an operation makes sense with the types that its operands have now."""
        try:
            self._edit.types.refresh(copy)
        except ExprError:
            # Perhaps whoever rewrites it does something about that.
            return False
        return True

    def _same(self, there: Sequence[Any], wanted: Sequence[Any]) -> bool:
        """Whether parts of the copy are what they are wanted to be, or what stands for that."""
        if len(there) != len(wanted):
            return False
        edit = self._edit
        for mine, other in zip(there, wanted, strict=True):
            if (
                isinstance(mine, Var)
                and mine._value is not None
                and isinstance(other, Var)
                and other._value is not None
            ):
                if canonical(mine._value) != canonical(edit.get(other._value, other._value)):
                    return False
            elif isinstance(mine, Tuple) and isinstance(other, Tuple):
                if not self._same(mine.fields, other.fields):
                    return False
            elif mine != other and not self._is_copy(mine, other):
                return False
        return True

    def _is_copy(self, mine: Any, other: Any) -> bool:
        op, copy = getattr(other, "mlir_op", None), getattr(mine, "mlir_op", None)
        return op is not None and copy is not None and op in self._edit and (
            self._edit.op(op) == copy
        )  # fmt: skip

    def _is_there(self, new: Any, index: int, op: ir.Operation) -> bool:
        edit = self._edit
        return self._same([view(edit.op(op).operands[index], edit.keep)], [new])

    def _with_regions(self, expr: Any, cond: Any) -> Any:
        op, edit = expr.mlir_op, self._edit
        version = edit.version
        if cond is not None:
            new = self.visit_expr(cond)
            if new is not cond and not self._is_there(new, 0, op):
                edit.op(op).operands[0] = self._builder.materialize(new)
        for region in op.regions:
            for block in region.blocks:
                frame = self._builder.open_block("branch", edit, block)
                try:
                    self.visit_clause(SeqExpr.of(block, edit.keep))
                finally:
                    self._builder.close_block(frame)
        edit.begin(op)
        if edit.version == version and not edit.types:
            return expr
        edit.types.refresh(edit.op(op))
        return view_op(edit.op(op), edit.keep)

    def _at_end(self, block: ir.Block, body: Any) -> Any:
        self._edit.begin(_last(block))
        return self.visit_expr(body)

    def _set_end(self, block: ir.Block, body: Any, new: Any) -> None:
        edit, end = self._edit, _last(block)
        if new is not body and not self._is_there(new, 0, end):
            value = self._builder.materialize(new)
            target = edit.op(end)
            before = target.operands[0]
            edit.types.note(value, before.type)
            target.operands[0] = value
            erase_unused(before)
        if edit.types:
            edit.types.refresh_end(edit.block(block))

    def _parameter(self, index: int, param: Var) -> None:
        new = self.visit_var_def(param)
        stated = self.visit_type(new.ty)
        if stated != new.ty:
            new = Var(new.name_hint, stated)
        if new is param:
            return
        edit = self._edit
        value = edit.copy.regions[0].blocks[0].arguments[index]
        edit.version += 1
        with self._builder.unknown:
            edit.types.set(value, new.ty.to_mlir())
        if new.mlir_value is None:
            new._value, new._keep = value, edit.keep

    def _value_of(self, vid: "Id | Var") -> ir.Value:
        value = vid._value
        if value is None:
            raise BuilderError(f"'{vid.name_hint}' is no variable of the function")
        return value

    def _op_of(self, vid: "Id | Var") -> ir.Operation:
        op = defining_op(canonical(self._value_of(vid)))
        if op is None or op not in self._edit:
            raise BuilderError(f"nothing in the function binds '{vid.name_hint}'")
        return op


def _last(block: ir.Block) -> ir.Operation:
    return ir.InsertionPoint.at_block_terminator(block).ref_operation.operation
