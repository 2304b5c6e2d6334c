"""Edits of loops and blocks in place, for primitives."""

from collections.abc import Mapping, Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.dialects.tir.ops import block_predicate, set_block_predicate
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.conditions import Comparison, assume
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.render import SREF
from relax_mlir.tir.view.simplify import simplify

memref: ModuleType = submodule("dialects.memref")
# What a body holds other than computations.
DECLARATIONS = ("tir.yield", "tir.where", "tir.reads", "tir.writes")
_PURE = ("arith.", "math.", "tir.symbol", "memref.dim", "affine.apply")


def new_loop(
    at: ir.InsertionPoint, name: str, lower: ir.Value, extent: ir.Value, kind: str = "serial"
) -> ir.Operation:
    """Make a loop with an empty body.

    Args:
        at: where.
        name: of its variable.
        lower: its first value.
        extent: how many steps it makes.
        kind: of the dialect's.
    """
    with at:
        op = ir.Operation.create(
            tree.LOOP,
            operands=[lower, extent],
            attributes={"kind": ir.StringAttr.get(kind)},
            regions=1,
        )
    body = op.regions[0].blocks.append(ir.IndexType.get(), arg_locs=[ir.Location.name(name)])
    with ir.InsertionPoint(body):
        ir.Operation.create("tir.yield")
    return op


def new_nest(
    indices: Indices, at: ir.InsertionPoint, extents: Sequence[SymExpr]
) -> tuple[list[SymExpr], ir.InsertionPoint]:
    """Make loops from 0 on, one in the other; returns their variables and the innermost's end."""
    variables = []
    for position, extent in enumerate(extents):
        with at, ir.Location.unknown():
            steps = indices.emit(extent)
        loop = new_loop(at, f"ax{position}", indices.entry(SymExpr.const(0)), steps)
        variables.append(indices.loop_var(loop))
        at = end_of(loop)
    return variables, at


def copy_loops(
    indices: Indices, at: ir.InsertionPoint, loops: Sequence[ir.Operation], name: str = "{name}"
) -> tuple[list[ir.Operation], dict[str, SymExpr], ir.InsertionPoint]:
    """Make serial loops over the ranges of others, one in the other.

    Args:
        indices: of the function.
        at: where.
        loops: the others, outermost first; ranges may depend on loops before them.
        name: of a new variable, by the `name` and the `position` of the old one.

    Returns:
        The loops, what stands for variables of the old ones, and the innermost's end.
    """
    made, variables = [], {}
    for position, loop in enumerate(loops):
        bounds = [indices.lift(value).substitute(variables) for value in loop.operands]
        with at, ir.Location.unknown():
            lower, steps = map(indices.emit, bounds)
        label = name.format(name=tree.loop_name(loop), position=position)
        made.append(new_loop(at, label, lower, steps))
        variables[str(indices.loop_var(loop))] = indices.loop_var(made[-1])
        at = end_of(made[-1])
    return made, variables, at


def run_like(loop: ir.Operation, other: ir.Operation) -> None:
    """Have a loop run as another one does, and give it the same annotations."""
    for key in ("kind", "thread", "annotations"):
        if key in other.attributes:
            loop.attributes[key] = other.attributes[key]


def end_of(op: ir.Operation) -> ir.InsertionPoint:
    """Return the point at the end of a loop's or a block's body."""
    return ir.InsertionPoint(list(tree.body_of(op).operations)[-1])


def after(op: ir.Operation) -> ir.InsertionPoint:
    """Return the point right after an operation that ends no body."""
    following = [view.operation for view in op.block.operations]
    return ir.InsertionPoint(following[following.index(op) + 1])


def move_body(source: ir.Operation, target: ir.Operation) -> None:
    """Move what is in the body of a loop or block to the end of another one's."""
    last = list(tree.body_of(target).operations)[-1].operation
    for view in list(tree.body_of(source).operations):
        if view.operation.name != "tir.yield":
            view.operation.move_before(last)


def move_ops(source: ir.Block, target: ir.Block) -> None:
    """Move what a block's body computes to the end of another one."""
    last = list(target.operations)[-1].operation
    for view in list(source.operations):
        if view.operation.name not in DECLARATIONS:
            view.operation.move_before(last)


def redirect(op: ir.Operation, buffer: ir.Value, items: Sequence[ir.Value]) -> None:
    """Replace a load or a store by one of an element of another buffer."""
    with ir.InsertionPoint(op), op.location:
        if op.name == "memref.load":
            op.results[0].replace_all_uses_with(memref.load(buffer, items))
        else:
            memref.store(op.operands[0], buffer, items)
    op.erase()


def move_numbers(source: ir.Operation, target: ir.Operation) -> None:
    """Move the index arithmetic of a loop that is taken away to the end of another one's body."""
    last = list(tree.body_of(target).operations)[-1].operation
    for view in list(tree.body_of(source).operations):
        if view.operation.name not in ("tir.yield", tree.LOOP):
            view.operation.move_before(last)


def new_block(
    indices: Indices, at: ir.InsertionPoint, name: str, iterators: Sequence[tuple[str, str]],
    init: bool = False,
) -> ir.Operation:  # fmt: skip
    """Make a block with empty regions; `set_block` gives its iterators values and extents.

    Args:
        indices: of the function.
        at: where.
        name: of the block, with a number where another block has it.
        iterators: for each its type and its name.
        init: whether it has an init region.
    """
    zero = indices.entry(SymExpr.const(0))
    taken = {tree.block_name(each) for each in tree.nested_blocks(indices.function)}
    name = tree.free_name(name, taken)
    with at:
        op = ir.Operation.create(
            tree.BLOCK,
            operands=[zero] * (2 * len(iterators)),
            attributes={
                "block_name": ir.StringAttr.get(name),
                "iter_types": ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind, _ in iterators]),
            },
            regions=2,
            loc=ir.Location.name(name),
        )
    index = ir.IndexType.get()
    for region in op.regions if init else [op.regions[0]]:
        body = region.blocks.append(
            *[index] * len(iterators),
            arg_locs=[ir.Location.name(label) for _, label in iterators],
        )
        with ir.InsertionPoint(body):
            ir.Operation.create("tir.yield")
    return op


def keep_attributes(made: ir.Operation, block: ir.Operation, *changed: str) -> None:
    """Give a new block the attributes of an old one, but for its iterators and what changed."""
    for key in block.attributes:
        if key not in ("iter_types", *changed):
            made.attributes[key] = block.attributes[key]
    made.location = block.location


def iterator_names(block: ir.Operation) -> list[str]:
    """Return the names of a block's iterators."""
    return [
        tree.value_name(argument, f"v{position}")
        for position, argument in enumerate(tree.body_of(block).arguments)
    ]


def copy_ops(source: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    """Write copies of what a body computes at the current insertion point.

    Args:
        source: the body; what it declares, and its end, are not copied.
        values: what stands for values of it; the results of copies are added.
    """
    ops = [view.operation for view in source.operations]
    copy_chosen([op for op in ops if op.name not in DECLARATIONS], values)


def copy_chosen(ops: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> None:
    """Write copies of operations at the current insertion point.

    Args:
        ops: what to copy, in order.
        values: what stands for values that they use; the results of copies are added. Operations
            in their regions whose results it has are left out.
    """
    at = ir.InsertionPoint.current
    for op in ops:
        copy = op.clone(ip=at)
        replaced: list[tuple[ir.Operation, ir.Operation]] = []
        for old, each in zip(list(tree.walk(op)), list(tree.walk(copy)), strict=True):
            if old != op and len(old.results) and all(r in values for r in old.results):
                replaced.append((old, each))
            for position, operand in enumerate(list(each.operands)):
                if operand in values:
                    each.operands[position] = values[operand]
            if SREF in each.attributes:
                del each.attributes[SREF]
        for old, each in replaced:
            for before, after in zip(old.results, each.results, strict=True):
                after.replace_all_uses_with(values[before])
            each.erase()
        values.update(zip(op.results, copy.results, strict=True))


def remove_statement(op: ir.Operation) -> None:
    """Erase a loop or a block, and the loops around it that hold nothing else."""
    parent = tree.parent_of(op)
    op.erase()
    while parent is not None and parent.name == tree.LOOP:
        if tree.statements(tree.body_of(parent)):
            return
        outer = tree.parent_of(parent)
        makes = [v for v in tree.body_of(parent).operations if v.operation.name == "memref.alloc"]
        if makes:
            return
        parent.erase()
        parent = outer


def erase_unused(block: ir.Operation) -> None:
    """Erase loads, choices and numbers of a block that nothing uses any more."""
    for op in reversed(list(tree.walk(block))):
        silent = op.name in ("scf.if", "memref.load") or op.name.startswith("arith.")
        if silent and len(op.results) and not any(len(list(r.uses)) for r in op.results):
            op.erase()


def remove_unused_buffer(buffer: ir.Value) -> None:
    """Erase the allocation of a buffer that nothing uses."""
    if not list(buffer.uses):
        buffer.owner.operation.erase()


def drop_init(block: ir.Operation) -> ir.Operation:
    """Return a block without init region in place of one that is gone afterwards."""
    with ir.InsertionPoint(block), block.location:
        made = ir.Operation.create(
            tree.BLOCK,
            operands=list(block.operands),
            attributes={name: block.attributes[name] for name in block.attributes},
            regions=2,
        )
    tree.body_of(block).append_to(made.regions[0])
    block.erase()
    return made


def set_block(
    indices: Indices,
    block: ir.Operation,
    bindings: Sequence[SymExpr],
    conditions: "Sequence[Comparison | ir.Value]",
    extents: Sequence[SymExpr] | None = None,
) -> None:
    """Give a block's iterators values, and it a predicate, written right in front of it.

    Args:
        indices: of the function.
        block: the block.
        bindings: for each iterator its value.
        conditions: what the predicate joins by 'and'; none for no predicate.
        extents: for each iterator its extent; as they are when not given.
    """
    count = len(tree.iter_types(block))
    with ir.InsertionPoint(block), ir.Location.unknown():
        for position, expr in enumerate(bindings):
            block.operands[position] = indices.emit(expr)
        for position, expr in enumerate(extents or ()):
            block.operands[count + position] = indices.entry(expr)
        predicate = indices.emit_conditions(conditions)
    set_block_predicate(block, predicate)


def substituted(
    conditions: "Sequence[Comparison | ir.Value]", values: Mapping[str, SymExpr]
) -> "list[Comparison | ir.Value]":
    """Return conditions with expressions for symbols; what is no comparison stays."""
    return [c.substitute(values) if isinstance(c, Comparison) else c for c in conditions]


def normalize(indices: Indices, top: ir.Operation, *, unit: bool = True) -> None:
    """Write the indices of loops and blocks in and under an operation as simply as can be.

    Args:
        indices: of the function.
        top: a loop or a block.
        unit: whether variables of loops of one step stay in the values of iterators.
    """
    for op in list(_loops_and_blocks(top)):
        facts = indices.facts(op, unit=not unit)
        if op.name == tree.LOOP:
            for position, value in enumerate(list(op.operands)):
                old = indices.lift(value)
                new = simplify(old, facts)
                if new != old or not _is_entry(value):
                    with ir.InsertionPoint(op), ir.Location.unknown():
                        op.operands[position] = indices.emit(new)
            continue
        if not _depends(op):
            continue
        conditions = simplified(indices.block_conditions(op), facts, indices.facts(op))
        assume(facts, conditions)
        bindings = [simplify(each, facts) for each in indices.bindings(op)]
        set_block(indices, op, bindings, conditions)
    sweep(top)


def simplified(
    conditions: "Sequence[Comparison | ir.Value]", facts: Facts, certain: Facts
) -> "list[Comparison | ir.Value]":
    """Return the conditions that are not certain, each once.

    Args:
        conditions: what a predicate joins by 'and'.
        facts: what makes them simpler.
        certain: what makes them certain.
    """
    result: list[Comparison | ir.Value] = []
    seen = set()
    for each in conditions:
        if isinstance(each, Comparison):
            new = Comparison(simplify(each.lhs, facts), each.sign, simplify(each.rhs, facts))
            if new.holds(certain) or new.key() in seen:
                continue
            seen.add(new.key())
            # What never holds keeps its form: script has no word for two numbers compared.
            each = new if new.symbols else each
        result.append(each)
    return result


def _loops_and_blocks(top: ir.Operation) -> list[ir.Operation]:
    return [op for op in tree.walk(top) if op.name in (tree.LOOP, tree.BLOCK)]


def _is_entry(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.name in (
        "tir.symbol", "arith.constant",
    )  # fmt: skip


def _depends(block: ir.Operation) -> bool:
    """Whether the values of a block's iterators, or its predicate, are computed."""
    count = len(tree.iter_types(block))
    values = [*list(block.operands)[:count], block_predicate(block)]
    return any(
        value is not None and not isinstance(value.owner, ir.Block) and not _is_entry(value)
        for value in values
    )


def sweep(top: ir.Operation) -> None:
    """Erase index arithmetic in and around an operation that nothing uses."""
    for op in reversed(list(tree.walk(tree.function_of(top)))):
        if op.name.startswith(_PURE) and not any(len(list(r.uses)) for r in op.results):
            op.erase()
