"""Arithmetic of loaded numbers as a script has it: in their integers, made an index at its end."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.guarded import find_guarded
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.folding import number_of

_CASTS = {"arith.index_cast": "", "arith.index_castui": "u"}
_OPERATIONS = tuple(
    f"arith.{name}" for name in (
        "addi", "subi", "muli", "floordivsi", "ceildivsi", "divsi", "divui", "remsi", "remui",
        "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori", "shli", "shrsi", "shrui",
        "cmpi", "select",
    )
)  # fmt: skip


def settle(top: ir.Operation) -> None:
    """Compute in `int64` what an operation computes of loaded numbers and indices.

    A block that goes to where it is read gets loaded numbers for its iterators. Its arithmetic of
    indices would then be printed as one of integers, and read as such: it becomes that here.

    Args:
        top: a block or a loop, changed in place.
    """
    whole = {
        part: last for last, guarded in find_guarded(top).items() for part in (*guarded.inner, last)
    }
    for op in list(tree.walk(top)):
        if op.name in _CASTS and _loaded(op.results[0]) is not None:
            _cast_where_used(op, whole)
    _settle(top)


def _cast_where_used(op: ir.Operation, whole: dict[ir.Operation, ir.Operation]) -> None:
    """Give every use of an index a cast of its own, as an expression has one wherever it is.

    What a guarded division is made of is one use.
    """
    by_user: dict[ir.Operation, list[ir.OpOperand]] = {}
    for use in op.results[0].uses:
        user = use.owner.operation
        by_user.setdefault(whole.get(user, user), []).append(use)
    if len(by_user) < 2:
        return
    for uses in by_user.values():
        users = [use.owner.operation for use in uses]
        first = next(v.operation for v in users[0].block.operations if v.operation in users)
        with ir.InsertionPoint(first), op.location:
            again = op.clone().results[0]
        for user, use in zip(users, uses, strict=True):
            user.operands[use.operand_number] = again
    op.erase()


def _settle(top: ir.Operation) -> None:
    for region in top.regions:
        for block in region.blocks:
            made: dict[ir.Value, ir.Value] = {}
            for op in [view.operation for view in block.operations]:
                _settle(op)
                if op.name == "scf.if" and len(op.results):
                    _settle_choice(op)
                elif op.name in _OPERATIONS and any(map(_loaded, op.operands)):
                    _settle_op(op, made)
                elif op.name in _CASTS and _loaded(op.operands[0]) is not None:
                    _settle_cast(op)


def _loaded(value: ir.Value) -> ir.Value | None:
    """Return the integer that an index was cast from, None where it was computed of indices."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _CASTS:
        return None
    given = value.owner.operation.operands[0]
    if isinstance(given.owner, ir.Block) or not isinstance(value.type, ir.IndexType):
        return None
    return given


def _as_int64(value: ir.Value) -> ir.Value:
    """Return an index as an `int64`, at the current insertion point."""
    if not isinstance(value.type, ir.IndexType):
        return value
    given = _loaded(value)
    if given is None:
        number = number_of(value)
        if number is not None:
            return S.const(number, "int64").value
        return S.cast(S.Scalar(value, S.INDEX), "int64").value
    dtype = f"{_CASTS[value.owner.operation.name]}int{ir.IntegerType(given.type).width}"
    return S.cast(S.Scalar(given, dtype), "int64").value


def _settle_op(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    with ir.InsertionPoint(op), op.location:
        operands = []
        for each in op.operands:
            if each not in known:
                known[each] = _as_int64(each)
            operands.append(known[each])
        index = isinstance(op.results[0].type, ir.IndexType)
        type_ = ir.IntegerType.get_signless(64) if index else op.results[0].type
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = ir.Operation.create(
            op.name, results=[type_], operands=operands, attributes=attributes
        ).result
        if index:
            made = S.cast(S.Scalar(made, "int64"), S.INDEX).value
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _settle_cast(op: ir.Operation) -> None:
    """Cast a loaded number to another integer without an index in between."""
    with ir.InsertionPoint(op), op.location:
        number = S.Scalar(_as_int64(op.operands[0]), "int64")
        made = S.cast(number, f"int{ir.IntegerType(op.results[0].type).width}").value
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _settle_choice(op: ir.Operation) -> None:
    """Let a choice one of whose indices is loaded give integers."""
    ends = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
    chosen = [
        place for place in range(len(op.results))
        if any(_loaded(end.operands[place]) is not None for end in ends)
    ]  # fmt: skip
    if not chosen:
        return
    for end in ends:
        with ir.InsertionPoint(end), end.location:
            for place in chosen:
                end.operands[place] = _as_int64(end.operands[place])
    with ir.InsertionPoint(op), op.location:
        wide = ir.IntegerType.get_signless(64)
        types = [wide if k in chosen else result.type for k, result in enumerate(op.results)]
        made = ir.Operation.create("scf.if", results=types, operands=[op.operands[0]], regions=2)
        for region, target in zip(op.regions, made.regions, strict=True):
            region.blocks[0].append_to(target)
        for place, (old, new) in enumerate(zip(op.results, made.results, strict=True)):
            given = S.cast(S.Scalar(new, "int64"), S.INDEX).value if place in chosen else new
            old.replace_all_uses_with(given)
    op.erase()
