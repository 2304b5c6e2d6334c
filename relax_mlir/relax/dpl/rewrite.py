"""`rewrite_call` and `rewrite_bindings`: other expressions for what patterns match."""

from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax.tuples import known_fields
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.relax.dpl.classes import DFPattern
from relax_mlir.relax.dpl.context import PatternContext
from relax_mlir.relax.dpl.function_rewriter import FunctionRewriter, relax_functions
from relax_mlir.relax.dpl.matcher import Matcher
from relax_mlir.relax.expr import DataflowBlock, Function, Tuple, Var
from relax_mlir.relax.expr.places import DATAFLOW, canonical, defining_op
from relax_mlir.relax.expr_functor.rewrite import sort_block

Matches = dict[DFPattern, Any]


def rewrite_call(pattern: DFPattern, rewriter: Callable[[Any, Matches], Any], func: Any) -> Any:
    """Return a function with what a pattern matches replaced, until nothing matches any more.

    Args:
        pattern: the pattern of the expression to replace.
        rewriter: takes the expression and what each part of the pattern stands for, and returns the
            expression to take; the same expression for no change, then other ways to match are
            tried.
        func: a Relax function as scripts give it, a view of one, or a module, whose Relax functions
            are then all rewritten. It stays as it was.

    Raises:
        ExprTypeError: `func` is no function.
        BuilderError: there is no end.
    """

    def rewrite(expr: Any, lookup: Any) -> Any:
        return first_rewrite(pattern, rewriter, expr, lookup)

    return each_function(func, lambda edit: edit.sweep(rewrite))


def rewrite_in_place(
    pattern: DFPattern, rewriter: Callable[[Any, Matches], Any], module: ir.Operation,
    func: ir.Operation,
) -> bool:  # fmt: skip
    """Do as `rewrite_call` in a function of a module itself, for passes.

    Returns:
        Whether anything changed.
    """
    edit = FunctionRewriter(module, func)
    return edit.sweep(lambda expr, lookup: first_rewrite(pattern, rewriter, expr, lookup))


def first_rewrite(
    pattern: DFPattern, rewriter: Callable[[Any, Matches], Any], expr: Any, lookup: Any
) -> Any:
    """Return what a rewriter makes of the first match that it takes, None when it takes none."""
    matcher = Matcher(lookup)
    for _ in matcher.solve(pattern, expr):
        new = rewriter(expr, dict(matcher.bound))
        if new is None:
            raise ExprTypeError(
                f"the rewriter returned nothing for {expr!r}; return the expression itself to "
                "leave it as it is"
            )
        if new is not expr:
            return new
    return None


def rewrite_bindings(
    ctx: PatternContext, rewriter: Callable[[Matches, Mapping[Var, Any]], Mapping[Var, Any]],
    func: Any,
) -> Any:  # fmt: skip
    """Return a function in which bindings that match together are replaced together.

    Each dataflow block is matched until it does not match any more.

    Args:
        ctx: the patterns.
        rewriter: takes the variables that the patterns stand for, and the values of all variables
            of the block; returns expressions by the variable that they replace, none to stop.
        func: as for `rewrite_call`.

    Raises:
        ExprTypeError: `func` is no function, or the rewriter returned no mapping.
        BuilderError: what replaces a binding would need it, or there is no end.
    """

    def rewrite(edit: FunctionRewriter) -> None:
        for op in named(edit.func, (DATAFLOW,)):
            left = len(op.regions[0].blocks[0].operations)
            while op.attached and _rewrite_block(ctx, rewriter, edit, op):
                left -= 1
                if left < 0:
                    raise BuilderError("the rewriter makes what its patterns match, without end")
        edit.tidy()

    return each_function(func, rewrite)


def _rewrite_block(ctx: PatternContext, rewriter: Any, edit: FunctionRewriter, op: Any) -> bool:
    block = DataflowBlock.of(op)
    matches = ctx.match_dfb(block)
    if matches is None:
        return False
    values = {each.var: each.value for each in block.bindings}
    replacements = rewriter(matches, values)
    if not isinstance(replacements, Mapping):
        raise ExprTypeError(f"the rewriter returns expressions by variable, got {replacements!r}")
    if not replacements:
        return False
    replace_together(edit, op.regions[0].blocks[0], replacements)
    return True


def replace_together(
    edit: FunctionRewriter, block: ir.Block, replacements: Mapping[Var, Any]
) -> None:
    """Replace variables of a block by expressions, all of which stand behind the last of them.

    Raises:
        BuilderError: what replaces a binding would need it.
    """
    owners: dict[ir.Operation, Any] = {}
    for variable, new in replacements.items():
        value = variable.mlir_value
        owner = None if value is None else defining_op(canonical(value))
        if owner is None or owner.block != block:
            raise BuilderError(f"{variable!r} is not bound in the block")
        owners[owner] = new
    ops = [view.operation for view in block.operations]
    last = max(ops.index(owner) for owner in owners)
    with edit.builder.insert_before(ops[last]):
        # One expression: what several replacements share is made once.
        made = edit.value_of(Tuple(list(owners.values())), "")
    for owner, value in zip(owners, known_fields(made) or (), strict=True):
        part = defining_op(value)
        if part is not None and part.name == "relax.tuple_get_item" and part.block == block:
            # A field stands where it is needed.
            part.move_before(owner)
        edit.replace(owner.results[0], value)
    sort_block(block)
    edit.tidy()


def each_function(func: Any, rewrite: Callable[[FunctionRewriter], Any]) -> Any:
    """Return a copy of a function or module with its Relax functions changed.

    Args:
        func: as for `rewrite_call`.
        rewrite: changes one function.

    Raises:
        ExprTypeError: `func` is no function.
    """
    if isinstance(func, IRModule):
        made = func.clone()
    else:
        op = getattr(func, "mlir_op", None) or getattr(func, "operation", None)
        if op is None or "relax.function" not in op.attributes:
            raise ExprTypeError(f"expected a Relax function, got {type(func).__name__}")
        with op.context, op.location:
            made = IRModule(ir.Module.create())
            op.clone(ip=ir.InsertionPoint(made.mlir_module.body))
    with lock_of(made.context), made.context, ir.Location.unknown():
        for each in relax_functions(made):
            rewrite(FunctionRewriter(made.mlir_module.operation, each))
    if isinstance(func, IRModule):
        return made
    (op,) = relax_functions(made)
    return Function.of(op, made)
