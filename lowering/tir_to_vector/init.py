"""Splitting the init region of a reduction block into a loop nest of its own (G06, decompose)."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter

_PURE = ("arith.", "affine.apply", "tir.symbol", "memref.dim")


def split_inits(func: ir.OpView, emit: Emitter) -> None:
    """Give every init region of a function a place of its own.

    Where nothing else runs inside the reduction loops, it becomes a nest in front of them: no
    branch is left inside, and a reduction over nothing gives its identity. Elsewhere it is guarded.
    """
    blocks: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tir.block" and len(op.regions[1].blocks):
            blocks.append(op)
        return ir.WalkResult.ADVANCE

    func.operation.walk(visit)
    for op in blocks:
        with op.location:
            _split(op, emit)


def _split(op: ir.Operation, emit: Emitter) -> None:
    kinds = [ir.StringAttr(kind).value for kind in op.attributes["iter_types"]]
    values = list(op.operands)[: len(kinds)]
    reduced = [value for kind, value in zip(kinds, values, strict=True) if kind == "reduction"]
    loops = _loops_around(op)
    fed = [loop for loop in loops if any(_depends(value, loop) for value in reduced)]
    if not fed:
        _move_init(op, ir.InsertionPoint(op), values)
        return
    outermost = fed[-1]
    inside = loops[: loops.index(outermost) + 1]
    free = [loop for loop in inside if loop not in fed]
    spatial = [value for kind, value in zip(kinds, values, strict=True) if kind != "reduction"]
    sizes = [value for loop in free for value in loop.operands]
    alone = all(_only(loop, inner) for loop, inner in zip(inside, [op, *inside], strict=False))
    if not alone or any(_depends(value, loop) for value in spatial + sizes for loop in fed):
        _guard(op, values, kinds, emit)
        return
    # The loops between, outermost first, and what the iterators are computed from, are copied.
    copies: dict[ir.Value, ir.Value] = {}
    point = ir.InsertionPoint(outermost)
    for loop in reversed(free):
        with point:
            made = ir.Operation.create(
                "tir.for",
                operands=[_copy(value, outermost, copies) for value in loop.operands],
                attributes={"kind": loop.attributes["kind"]},
                regions=1,
            )
            body = made.regions[0].blocks.append(emit.index_type)
        copies[loop.regions[0].blocks[0].arguments[0]] = body.arguments[0]
        with ir.InsertionPoint(body):
            end = ir.Operation.create("tir.yield")
        point = ir.InsertionPoint(end)
    with point:
        iters = [
            emit.index(0) if kind == "reduction" else _copy(value, outermost, copies)
            for kind, value in zip(kinds, values, strict=True)
        ]
    _move_init(op, point, iters)


def _guard(op: ir.Operation, values: list[ir.Value], kinds: list[str], emit: Emitter) -> None:
    with ir.InsertionPoint(op):
        first = None
        for kind, value in zip(kinds, values, strict=True):
            if kind == "reduction":
                at_start = emit.compare("eq", value, 0)
                both = [first, at_start]
                first = at_start if first is None else emit.op("arith.andi", both, emit.bool_type)
        with emit.when(first):
            where = ir.InsertionPoint.current
            _move_init(op, where, values)


def _move_init(op: ir.Operation, where: ir.InsertionPoint, values: list[ir.Value]) -> None:
    init = op.regions[1].blocks[0]
    for argument, value in zip(init.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    for view in list(init.operations):
        inner = view.operation
        if inner.name in ("tir.reads", "tir.writes", "tir.yield"):
            inner.erase()
        else:
            inner.detach_from_parent()
            where.insert(inner)
    _drop_init(op)


def _drop_init(op: ir.Operation) -> None:
    # Regions cannot lose blocks through the bindings, so the block moves to a twin without init.
    with ir.InsertionPoint(op), op.location:
        twin = ir.Operation.create(
            "tir.block",
            operands=list(op.operands),
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=2,
        )
    op.regions[0].blocks[0].append_to(twin.regions[0])
    op.erase()


def _loops_around(op: ir.Operation) -> list[ir.Operation]:
    """Return the loops around an operation, innermost first, up to the first other parent."""
    loops = []
    parent = op.parent
    while parent is not None and parent.operation.name == "tir.for":
        loops.append(parent.operation)
        parent = parent.operation.parent
    return loops


def _only(loop: ir.Operation, inner: ir.Operation) -> bool:
    """Whether a loop's body computes nothing besides an operation and index arithmetic."""
    return all(
        view.operation == inner
        or view.operation.name == "tir.yield"
        or view.operation.name.startswith(_PURE)
        for view in loop.regions[0].blocks[0].operations
    )


def _depends(value: ir.Value, loop: ir.Operation) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner == loop.regions[0].blocks[0]
    return any(_depends(operand, loop) for operand in owner.operation.operands)


def _copy(value: ir.Value, outermost: ir.Operation, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """Return a value for use in front of a loop; what makes it inside is copied."""
    if value in copies:
        return copies[value]
    owner = value.owner
    if isinstance(owner, ir.Block) or not _inside(owner.operation, outermost):
        return value
    operands = [_copy(operand, outermost, copies) for operand in owner.operation.operands]
    clone = owner.operation.clone()
    for position, operand in enumerate(operands):
        clone.operands[position] = operand
    copies[value] = clone.results[0]
    return clone.results[0]


def _inside(op: ir.Operation, outer: ir.Operation) -> bool:
    while op is not None:
        if op == outer:
            return True
        op = op.parent.operation if op.parent is not None else None
    return False
