"""The primitive `pad_einsum`: pads iterators of a block and its buffers."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.reducers import update_of
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.padding import number
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, guarded_values, tree
from relax_mlir.tir.view.accesses import accesses, declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.folding import number_of
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify

memref: ModuleType = submodule("dialects.memref")
_PLACES = {"memref.load": 0, "memref.store": 1}
_PURE = ("arith.", "math.")
_SILENT = ("tir.where", "tir.reads", "tir.writes", "tir.yield")
# Dividing an integer by zero ends the process.
_DIVISIONS = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui",
)  # fmt: skip
# Of 0 they give 0, whatever number it is divided by.
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.floordivsi")
_PRODUCTS = ("arith.mulf", "arith.muli")
_CASTS = ("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.sitofp",
          "arith.uitofp")  # fmt: skip


def pad_einsum(state: ScheduleState, block: ir.Operation, padding: Sequence[int]) -> None:
    """Have a block run for multiples of numbers, on copies of its buffers with zeros behind.

    A loop that an iterator is the variable of gets more steps. Loops of an iterator that was split
    stay, and run for what the predicate left out where they have steps for it.
    """
    indices = state.indices(block)
    what = tree.describe(block)
    top = _top(state, indices, block)
    extents, kinds = indices.extents(block), tree.iter_types(block)
    if len(padding) != len(extents) or any(each < 1 for each in padding):
        raise state.error(
            f"{what} has {len(extents)} iterators, padding must be as many positive numbers", block
        )
    facts = indices.facts(block)
    sizes = [
        extent if facts.can_prove(extent % pad == 0) else simplify(extent.ceildiv(pad) * pad, facts)
        for extent, pad in zip(extents, padding, strict=True)
    ]
    grown = [i for i, (a, b) in enumerate(zip(extents, sizes, strict=True)) if a != b]
    scopes.check_regular(state, block)
    checks.runs_for_all(state, indices, block)
    writes = scopes.buffers(block)[1]
    dims = _dims(state, indices, block, writes)
    reduced = [i for i in grown if kinds[i] == "reduction"]
    if reduced:
        _product(state, indices, block, reduced)
    else:
        _harmless(state, block)
    after = edit.after(top)
    for buffer, iterators in dims.items():
        if not set(iterators) & set(grown):
            continue
        old = buffers.dims_of(indices, buffer)
        new = [sizes[i] if i in grown else dim for i, dim in zip(iterators, old, strict=True)]
        title = f"{buffers.name_of(buffer)}_pad"
        copy = buffers.alloc(
            indices, title, new, buffers.dtype_of(buffer), buffers.scope_name(buffer)
        )
        if buffer in writes:
            _copied(indices, after, title, old, old, copy, buffer)
        else:
            _copied(indices, ir.InsertionPoint(top), title, new, old, buffer, copy)
        for access in accesses(indices, block):
            if access.buffer == buffer:
                access.op.operands[_PLACES[access.op.name]] = copy
    loops = [_own_loop(indices, block, position) for position in grown]
    conditions = _grown_conditions(indices, block, sizes)
    edit.set_block(indices, block, indices.bindings(block), conditions, sizes)
    for position, loop in zip(grown, loops, strict=True):
        if loop is not None:
            loop.operands[1] = indices.entry(sizes[position])
    fresh = state.indices(block)
    edit.normalize(fresh, block)
    declare(fresh, block, *tree.blocks_around(block))
    edit.sweep(block)
    state.touch()


def _grown_conditions(
    indices: Indices, block: ir.Operation, sizes: Sequence[SymExpr]
) -> list[Comparison]:  # fmt: skip
    """Return the predicate of a block that leaves out what is past its iterators, with new ends."""
    facts = indices.facts(block)
    result = []
    for each in indices.block_conditions(block):
        assert isinstance(each, Comparison)
        for binding, extent, size in zip(
            indices.bindings(block), indices.extents(block), sizes, strict=True
        ):
            if facts.can_prove(each.rhs - each.lhs >= extent - binding):
                result.append(Comparison(binding, 2, size))
                break
    return result


def _top(state: ScheduleState, indices: Indices, block: ir.Operation) -> ir.Operation:
    """Return the outermost loop that a block depends on, which holds nothing else, or the block."""
    if block.name != tree.BLOCK:
        raise state.error("the body of a function has no iterators")
    conditions = indices.block_conditions(block)
    used = frozenset().union(
        *(binding.symbols for binding in indices.bindings(block)),
        *(each.symbols for each in conditions if isinstance(each, Comparison)),
    )
    around = tree.loops_around(block)
    own = [loop for loop in around if str(indices.loop_var(loop)) in used]
    if not own:
        return block
    line = around[around.index(own[0]) :]
    checks.perfectly_nested(state, [*line, block])
    return own[0]


def _own_loop(indices: Indices, block: ir.Operation, position: int) -> ir.Operation | None:
    """Return the loop whose variable is an iterator, from 0 for all of it; None for none."""
    bindings = indices.bindings(block)
    name = bindings[position].name
    if name is None or any(name in b.symbols for i, b in enumerate(bindings) if i != position):
        return None
    for loop in tree.loops_around(block):
        if str(indices.loop_var(loop)) == name:
            lower, steps = map(indices.lift, loop.operands)
            whole = lower.value == 0 and steps == indices.extents(block)[position]
            return loop if whole else None
    return None


def _dims(
    state: ScheduleState, indices: Indices, block: ir.Operation, writes: Sequence[ir.Value]
) -> dict[ir.Value, list[int]]:  # fmt: skip
    """Return for each buffer of a block whose iterators its indices are; -1 for a constant."""
    result: dict[ir.Value, list[int]] = {}
    extents = indices.extents(block)
    what = tree.describe(block)
    for access in accesses(indices, block):
        name = buffers.name_of(access.buffer)
        if access.indices is None or access.op.parent.operation != block:
            raise state.error(
                f"'{access.op.name}' uses '{name}' under a condition, or more than one element",
                block,
            )
        names = [str(indices.var(argument)) for argument in access.op.block.arguments]
        own = []
        for expr in access.indices:
            if str(expr) not in names and not expr.is_const:
                raise state.error(
                    f"an index of '{name}' in {what} is neither an iterator nor a constant", block
                )
            own.append(names.index(str(expr)) if str(expr) in names else -1)
        if result.setdefault(access.buffer, own) != own:
            raise state.error(f"{what} uses several elements of '{name}'", block)
        for position, dim in zip(own, buffers.dims_of(indices, access.buffer), strict=True):
            if position >= 0 and dim != extents[position]:
                raise state.error(f"{what} does not run for all of '{name}'", block)
        if access.buffer in writes and (-1 in own or len(set(own)) != len(own)):
            raise state.error(f"{what} does not write all of '{name}'", block)
    return result


def _harmless(state: ScheduleState, block: ir.Operation) -> None:
    """Check that a block may run for padding zeros whose results are dead."""
    for op in (each for region in block.regions for b in region.blocks for each in b.operations):
        name = op.operation.name
        known = name.startswith(_PURE) or name in _PLACES or name in _SILENT
        if not known or (name in _DIVISIONS and not number_of(op.operation.operands[1])):
            raise state.error(
                f"{tree.describe(block)} cannot run for zeros: it holds '{name}'", block
            )


def _product(
    state: ScheduleState, indices: Indices, block: ir.Operation, reduced: Sequence[int]
) -> None:
    """Check that what is added for padding is 0, or that nothing is."""
    what = tree.describe(block)
    stores = [op for op in tree.walk(block) if op.name == "memref.store"
              and op.block == tree.body_of(block)]  # fmt: skip
    if len(stores) != 1:
        raise state.error(f"{what} does not store one element", block)
    value = stores[0].operands[0]
    if tree.has_init(block):
        update = update_of(block)
        if isinstance(update, str) or update.combine.name not in ("arith.addf", "arith.addi"):
            raise state.error(f"{what} is no sum", block)
        value = update.value
    names = [str(indices.var(argument)) for argument in tree.body_of(block).arguments]
    loads: list[set[str]] = []
    pending = [value]
    while pending:
        each = pending.pop()
        op = None if isinstance(each.owner, ir.Block) else each.owner.operation
        if op is not None and op.name == "memref.load":
            items = list(op.operands)[1:]
            loads.append(set().union(*(indices.lift(item).symbols for item in items), set()))
        elif op is not None and op.name in (*_PRODUCTS, *_CASTS):
            pending += list(op.operands)
        elif op is not None and op.name in _QUOTIENTS and number_of(op.operands[1]):
            pending.append(op.operands[0])
        elif op is None or op.name != "arith.constant":
            raise state.error(f"{what} computes no product of elements", block)
    exact = not str(value.type).startswith(("f", "bf"))
    for position in reduced:
        has = [names[position] in each for each in loads]
        if not any(has) or (not exact and not all(has)):
            label = edit.iterator_names(block)[position]
            raise state.error(
                f"padding of '{label}' would add products of 0 and what may be infinite: an "
                f"element in {what} does not depend on it", block,
            )  # fmt: skip


def _copied(
    indices: Indices, at: ir.InsertionPoint, name: str, dims: Sequence[SymExpr],
    inside: Sequence[SymExpr], source: ir.Value, target: ir.Value,
) -> None:  # fmt: skip
    """Write a block that copies a buffer, with zeros where an index is outside of a shape."""
    variables, at = edit.new_nest(indices, at, dims)
    made = edit.new_block(indices, at, name, [("spatial", f"v{i}") for i in range(len(dims))])
    edit.set_block(indices, made, variables, [], dims)
    items = list(tree.body_of(made).arguments)
    conditions = [
        Comparison(indices.var(item), 2, limit)
        for item, dim, limit in zip(items, dims, inside, strict=True)
        if dim != limit
    ]
    with edit.end_of(made), ir.Location.unknown():
        if conditions:
            value = guarded_values.choose(
                guarded_values.all_of(indices, conditions), buffers.loaded_type(source),
                lambda: buffers.loaded(source, items), lambda: number(0, source),
            )  # fmt: skip
            value = buffers.stored(source, value)
        else:
            value = buffers.copied(source, items)
        memref.store(value, target, items)
    declare(indices, made)


class PadEinsumPrimitives(ScheduleBase):
    """Padding of iterators."""

    @primitive("PadEinsum", inputs=("block",))
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Have a sum of products run for multiples of numbers, on padded copies of its buffers.

        What it reads is copied in front of it, with zeros behind; what it writes is copied after
        it without the padding.

        Args:
            block: indices of what it accesses are iterators or constants; each iterator is the
                variable of one loop.
            padding: for each iterator what its new extent is a multiple of.

        Raises:
            ScheduleError: the block is not like that, or padding could change a sum.
        """
        pad_einsum(self._state, self._block(block), [int(each) for each in padding])
