"""Canonical order of unordered parts: terms of sums, scalar expressions, reads of blocks.

`a[i] * b[i]` is the same expression whichever operand was computed first. Loads stay on their side
of whatever may write. Expressions and loads that nothing uses are left out, as scripts do.
"""

from relax_mlir.dialects.bindings import ir

ACCESSES = ("tir.reads", "tir.writes")


def in_one_form(attribute: ir.Attribute) -> ir.Attribute:
    """Return an affine map whose sums are in order; any other attribute as it is.

    `d1 * 2 + d0` and `d0 + d1 * 2` are the same element, whichever of them a script says.
    """
    if not isinstance(attribute, ir.AffineMapAttr):
        return attribute
    map_ = attribute.value
    results = list(map_.results)
    if not any("+" in str(result) for result in results):
        return attribute
    with attribute.context:
        ordered = [_ordered(result) for result in results]
        return ir.AffineMapAttr.get(ir.AffineMap.get(map_.n_dims, map_.n_symbols, ordered))


def _ordered(expr: ir.AffineExpr) -> ir.AffineExpr:
    terms: list[ir.AffineExpr] = []
    stack = [expr]
    while stack:
        known = stack.pop().maybe_downcast()
        if isinstance(known, ir.AffineAddExpr):
            stack += [known.rhs, known.lhs]
        else:
            terms.append(_inside(known))
    total, *rest = sorted(terms, key=_key)
    for term in rest:
        total = total + term
    return total


def _inside(expr: ir.AffineExpr) -> ir.AffineExpr:
    for kind, make in (
        (ir.AffineMulExpr, ir.AffineExpr.get_mul), (ir.AffineModExpr, ir.AffineExpr.get_mod),
        (ir.AffineFloorDivExpr, ir.AffineExpr.get_floor_div),
        (ir.AffineCeilDivExpr, ir.AffineExpr.get_ceil_div),
    ):  # fmt: skip
        if isinstance(expr, kind):
            return make(_ordered(expr.lhs), _ordered(expr.rhs))
    return expr


def _key(expr: ir.AffineExpr) -> tuple[int, str]:
    """Return the first iterator that a term names, and its text; numbers come last."""
    text = str(expr)
    names = [int(word[1:]) for word in text.replace("(", " ").replace(")", " ").split()
             if word[0] == "d" and word[1:].isdigit()]  # fmt: skip
    return min(names, default=1 << 30), text


_EXPRESSIONS = ("arith.", "math.")
_LOADS = ("memref.load", "memref.dim")
# What cannot write, other than expressions.
_HARMLESS = (*ACCESSES, "memref.alloc", "tir.yield", "scf.yield", "func.return")


def in_order(operations: list[ir.Operation]) -> list[ir.Operation]:
    """Return operations of one block in the order in which their results are used first."""
    if not any(_is_movable(op) for op in operations):
        return _sorted_accesses(operations)
    return _arranged(operations, _used_inside(operations))


def _arranged(
    operations: list[ir.Operation], inside: dict[ir.Operation, list[ir.Value]]
) -> list[ir.Operation]:
    """Return operations of one block in order, given what is used inside those with regions."""
    operations = _used(operations)
    movable = {op: None for op in operations if _is_movable(op)}
    order: list[ir.Operation] = []
    loads: list[ir.Operation] = []
    for op in _sorted_accesses(operations):
        if op in movable:
            if not op.name.startswith(_EXPRESSIONS):
                loads.append(op)
            continue
        for operand in (*op.operands, *inside.get(op, ())):
            _take(operand, movable, order, inside)
        if op.name not in _HARMLESS:
            for load in loads:
                if load in movable:
                    _take(load.results[0], movable, order, inside)
            loads.clear()
        order.append(op)
    return order


def _used(operations: list[ir.Operation]) -> list[ir.Operation]:
    """Return operations without the expressions and loads that only such ones use."""
    unused: set[ir.Operation] = set()
    for op in reversed(operations):
        if _is_movable(op) and all(
            use.owner.operation in unused for result in op.results for use in result.uses
        ):
            unused.add(op)
    return [op for op in operations if op not in unused] if unused else operations


def _is_movable(op: ir.Operation) -> bool:
    return op.name.startswith(_EXPRESSIONS) or op.name in _LOADS or _is_choice(op)


def _is_choice(op: ir.Operation) -> bool:
    """Whether an operation is a `T.if_then_else` of expressions."""
    return op.name == "scf.if" and len(op.results) > 0 and all(
        inner.name == "scf.yield" or _is_movable(inner) for block in _bodies(op) for inner in block
    )  # fmt: skip


def _used_inside(operations: list[ir.Operation]) -> dict[ir.Operation, list[ir.Value]]:
    """Return for each operation with regions, at any depth, the values used there, in order."""
    holders: list[ir.Operation] = []
    stack = [op for op in operations if len(op.regions)]
    while stack:
        op = stack.pop()
        holders.append(op)
        stack += [inner for block in _bodies(op) for inner in block if len(inner.regions)]
    result: dict[ir.Operation, list[ir.Value]] = {}
    for op in reversed(holders):
        values: list[ir.Value] = []
        for block in _bodies(op):
            for each in _arranged(block, result):
                values += each.operands
                values += result.get(each, ())
        result[op] = values
    return result


def _bodies(op: ir.Operation) -> list[list[ir.Operation]]:
    return [
        [view.operation for view in block.operations] for region in op.regions for block in region
    ]


def _take(
    value: ir.Value, movable: dict[ir.Operation, None], order: list[ir.Operation],
    inside: dict[ir.Operation, list[ir.Value]],
) -> None:  # fmt: skip
    """Append what a value is computed by, operands first, unless that was done."""
    stack = [(value, False)]
    while stack:
        value, ready = stack.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if op not in movable:
            continue
        if ready:
            del movable[op]
            order.append(op)
        else:
            stack.append((value, True))
            used = (*op.operands, *inside.get(op, ()))
            stack += [(operand, False) for operand in reversed(used)]


def _sorted_accesses(operations: list[ir.Operation]) -> list[ir.Operation]:
    """Return operations with what a block says it reads and writes sorted by the buffers."""
    declared = {id(op): index for index, op in enumerate(operations) if op.name in ACCESSES}
    if len(declared) < 2:
        return operations
    accesses = sorted((operations[i] for i in declared.values()), key=_access_key)
    rest = iter(accesses)
    return [next(rest) if id(op) in declared else op for op in operations]


def _access_key(op: ir.Operation) -> tuple[str, int, int, str]:
    """Return a key by how deep the buffer is made, and which one of its block it is."""
    buffer, map_ = op.operands[0], str(in_one_form(op.attributes["map"]))
    if isinstance(buffer.owner, ir.Block):
        return op.name, 0, buffer.arg_number, map_
    own = buffer.owner.operation
    position = 0
    for view in own.block.operations:
        if view.operation == own:
            break
        position += view.operation.name.startswith("memref.") and len(view.operation.results)
    depth, outer = 1, own.parent
    while outer is not None and outer.operation.name not in ("func.func", "builtin.module"):
        depth, outer = depth + 1, outer.operation.parent
    return op.name, depth, position, map_
