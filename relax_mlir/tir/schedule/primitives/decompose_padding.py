"""The primitive `decompose_padding`: fill with the constant, then copy the interior."""

from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.transform_block_layout import tidy
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, guarded_values, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices

memref: ModuleType = submodule("dialects.memref")


@dataclass(frozen=True)
class _Padding:
    """`buffer[...] = if_then_else(conditions, value, number)`."""

    choice: ir.Operation
    store: ir.Operation
    conditions: list[Comparison]
    number: ir.Operation


def decompose_padding(
    state: ScheduleState, block: ir.Operation, loop: ir.Operation
) -> ir.Operation:
    """Fill all that a block writes with its constant in front of a loop; returns that block."""
    what = tree.describe(block)
    loops = tree.loops_around(block)
    if loop not in loops:
        raise state.error(f"{tree.describe(loop)} is not around {what}", loop, block)
    problem = scopes.complete_problem(block)
    if problem is not None:
        raise state.error(f"{what} is no complete block: {problem}", block)
    indices = state.indices(block)
    padding = _padding(state, indices, block)
    inside = loops[loops.index(loop) :]
    checks.perfectly_nested(state, [*inside, block])
    made = _filled(indices, block, inside, padding)
    arguments = tree.body_of(block).arguments
    bindings = indices.bindings(block)
    bound = {str(indices.var(a)): binding for a, binding in zip(arguments, bindings, strict=True)}
    where = [*indices.block_conditions(block), *(c.substitute(bound) for c in padding.conditions)]
    edit.set_block(indices, block, indices.bindings(block), where)
    body = padding.choice.regions[0].blocks[0]
    result = guarded_values.yielded(padding.choice, 0)
    for view in list(body.operations):
        if view.operation.name != "scf.yield":
            view.operation.move_before(padding.choice)
    padding.choice.results[0].replace_all_uses_with(result)
    padding.choice.erase()
    state.touch()
    edit.erase_unused(block)
    fresh = state.indices(block)
    edit.normalize(fresh, inside[0])
    for each in inside:
        _shrunk(state, fresh, each, block)
    last = state.indices(block)
    edit.normalize(last, inside[0])
    tidy(last, block)
    declare(last, block, *tree.blocks_around(block))
    edit.sweep(block)
    return made


def _padding(state: ScheduleState, indices: Indices, block: ir.Operation) -> _Padding:
    what = tree.describe(block)
    body = [view.operation for view in tree.body_of(block).operations]
    stores = [op for op in body if op.name == "memref.store"]
    value = stores[0].operands[0] if len(stores) == 1 else None
    choice = None if value is None or isinstance(value.owner, ir.Block) else value.owner.operation
    if choice is None or choice.name != "scf.if" or len(choice.results) != 1:
        raise state.error(f"{what} does not store T.if_then_else(inside, value, constant)", block)
    constant = guarded_values.yielded(choice, 1)
    if isinstance(constant.owner, ir.Block) or constant.owner.operation.name != "arith.constant":
        raise state.error(f"what {what} stores outside is no constant", block)
    conditions = guarded_values.conditions_of(indices, choice.operands[0])
    if conditions is None:
        raise state.error(f"where {what} is inside is not said by comparisons", block)
    return _Padding(choice, stores[0], conditions, constant.owner.operation)


def _filled(
    indices: Indices, block: ir.Operation, inside: list[ir.Operation], padding: _Padding
) -> ir.Operation:
    """Write a block that stores the constant, with loops of its own in front of others."""
    _, variables, at = edit.copy_loops(indices, ir.InsertionPoint(inside[0]), inside)
    labels = edit.iterator_names(block)
    made = edit.new_block(
        indices, at, f"{tree.block_name(block)}_pad_const", [("spatial", each) for each in labels]
    )
    edit.set_block(
        indices, made, [each.substitute(variables) for each in indices.bindings(block)],
        edit.substituted(indices.block_conditions(block), variables),
        indices.extents(block),
    )  # fmt: skip
    values = indices.renaming(tree.body_of(block).arguments, tree.body_of(made).arguments)
    with edit.end_of(made), ir.Location.unknown():
        number = padding.number.clone(ip=ir.InsertionPoint.current).results[0]
        items = [
            indices.emit(indices.lift(item).substitute(values))
            for item in list(padding.store.operands)[2:]
        ]
        memref.store(number, padding.store.operands[1], items)
    declare(indices, made)
    return made


def _shrunk(
    state: ScheduleState, indices: Indices, loop: ir.Operation, block: ir.Operation
) -> None:
    """Have a loop run only for what a block's predicate leaves of it, where that says so."""
    variable = indices.loop_var(loop)
    lower, extent = map(indices.lift, loop.operands)
    kept: list[Comparison | ir.Value] = []
    low, end = lower, lower + extent
    facts = indices.facts(loop)
    for each in indices.block_conditions(block):
        limit = _limit(each, variable, indices) if isinstance(each, Comparison) else None
        if limit is None:
            kept.append(each)
            continue
        at_least, value = limit
        if at_least and facts.can_prove(value >= low):
            low = value
        elif not at_least and facts.can_prove(value <= end):
            end = value
        elif not (facts.can_prove(value <= low) if at_least else facts.can_prove(value >= end)):
            kept.append(each)
    if facts.can_prove(end <= low) and not facts.can_prove(extent <= 0):
        raise state.error(f"all that {tree.describe(block)} stores is padding", block, loop)
    if not facts.can_prove(end >= low):
        return
    if low == lower and end == lower + extent:
        return
    with ir.InsertionPoint(loop), ir.Location.unknown():
        loop.operands[1] = indices.emit(end - low)
    first = low - lower
    name = {str(variable): variable + first}
    bindings, extents = [], []
    for position, (binding, size) in enumerate(
        zip(indices.bindings(block), indices.extents(block), strict=True)
    ):
        own = lower == 0 and binding == variable
        bindings.append(binding if own else binding.substitute(name))
        extents.append(end - low if own else size)
        if own and first != 0:
            _begins_at(indices, block, position, first)
    edit.set_block(indices, block, bindings, edit.substituted(kept, name), extents)


def _begins_at(indices: Indices, block: ir.Operation, position: int, first: SymExpr) -> None:
    """Have an iterator stand for itself plus a number in the body of its block."""
    argument = tree.body_of(block).arguments[position]
    users = [use.owner.operation for use in argument.uses]
    body = [view.operation for view in tree.body_of(block).operations]
    top = next(op for op in body if op.name not in ("tir.where", "tir.reads", "tir.writes"))
    with ir.InsertionPoint(top), ir.Location.unknown():
        value = indices.emit(indices.var(argument) + first)
    for user in users:
        for number, operand in enumerate(list(user.operands)):
            if operand == argument:
                user.operands[number] = value


def _limit(each: Comparison, variable: SymExpr, indices: Indices) -> tuple[bool, SymExpr] | None:
    """Return `(True, a)` for `variable >= a` and `(False, a)` for `variable < a`."""
    gap = each.lhs - each.rhs
    rest = gap - variable
    sign = each.sign
    if variable.symbols & rest.symbols:
        rest = gap + variable
        if variable.symbols & rest.symbols:
            return None
        # -variable + rest <sign> 0 is variable <flipped> rest.
        bound, sign = rest, {2: 4, 3: 5, 4: 2, 5: 3}.get(sign, -1)
    else:
        bound = -rest
    if any(indices.value_of(name) is not None for name in bound.symbols):
        return None
    if sign == 2:
        return False, bound
    if sign == 3:
        return False, bound + 1
    if sign == 4:
        return True, bound + 1
    return (True, bound) if sign == 5 else None


class DecomposePaddingPrimitives(ScheduleBase):
    """Padding as a fill and a copy."""

    @primitive("DecomposePadding", inputs=("block", "loop"))
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Fill all that a padding block writes with its constant first, and only copy after that.

        Args:
            block: complete; stores `T.if_then_else(inside, value, constant)` with comparisons
                joined by 'and' as `inside`.
            loop: around it; what fills stands in front of it, with loops of its own.

        Returns:
            The block that fills, named after the old one with `_pad_const`.

        Raises:
            ScheduleError: they are not like that.
        """
        op, around = self._block(block), self._loop(loop)
        return self._block_rv(decompose_padding(self._state, op, around))

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` would do it; nothing changes."""
        other = self.copy()  # pyright: ignore[reportAttributeAccessIssue]
        try:
            other.decompose_padding(block, loop)
        except ScheduleError:
            return False
        return True
