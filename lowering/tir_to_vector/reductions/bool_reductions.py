"""Reductions of bools that are stored as bytes combine bytes."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest, match_nest, top_level

_LOGICAL = ("arith.andi", "arith.ori", "arith.xori")


def combine_bytes(func: ir.OpView) -> None:
    """Rewrite `total = byte(bool(total) op x)` to `total = total op byte(x)`; totals are 0 or 1."""
    for op in list(top_level(func)):
        nest = match_nest(op)
        if isinstance(nest, Nest) and "reduction" in nest.types and len(nest.stores) == 1:
            with op.location:
                _rewrite(nest)


def _rewrite(nest: Nest) -> None:
    store = nest.stores[0].op
    widened = _made_by(store.operands[0], ("arith.extui",))
    combined = None if widened is None else _made_by(widened.operands[0], _LOGICAL)
    first = _first(nest)
    if widened is None or combined is None or first is None:
        return
    for side in (0, 1):
        total = _total(combined.operands[side], store)
        if total is None:
            continue
        with ir.InsertionPoint(store):
            byte = ir.Operation.create(
                "arith.extui", results=[total.type], operands=[combined.operands[1 - side]]
            )
            value = ir.Operation.create(
                combined.name, results=[total.type], operands=[total, byte.result]
            )
        begin, number = first
        with ir.InsertionPoint(begin):
            constant = ir.Operation.create(
                "arith.constant",
                results=[total.type],
                attributes={"value": ir.IntegerAttr.get(total.type, int(number))},
            )
        before = begin.operands[0].owner.operation
        begin.operands[0] = constant.result
        test = combined.operands[side].owner.operation
        store.operands[0] = value.result
        for dead in (widened, combined, test, before):
            if not list(dead.results[0].uses):
                dead.erase()
        return


def _made_by(value: ir.Value, names: tuple[str, ...]) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in names:
        return None
    return value.owner.operation


def _total(value: ir.Value, store: ir.Operation) -> ir.Value | None:
    """Return the load of a reduction's total, from its comparison with 0."""
    test = _made_by(value, ("arith.cmpi",))
    if test is None or ir.IntegerAttr(test.attributes["predicate"]).value != 1:
        return None
    load = _made_by(test.operands[0], ("memref.load",))
    if load is None or list(load.operands) != list(store.operands)[1:] or not _is_zero(test):
        return None
    return load.result


def _is_zero(test: ir.Operation) -> bool:
    made = _made_by(test.operands[1], ("arith.constant",))
    return made is not None and ir.IntegerAttr(made.attributes["value"]).value == 0


def _first(nest: Nest) -> tuple[ir.Operation, bool] | None:
    """Return the store of a reduction's initial value, and the constant bool."""
    if not nest.has_init():
        return None
    init = [view.operation for view in nest.block.regions[1].blocks[0].operations]
    stores = [op for op in init if op.name == "memref.store"]
    widened = _made_by(stores[0].operands[0], ("arith.extui",)) if len(stores) == 1 else None
    known = None if widened is None else _made_by(widened.operands[0], ("arith.constant",))
    if known is None or ir.IntegerType(known.results[0].type).width != 1:
        return None
    return stores[0], bool(ir.IntegerAttr(known.attributes["value"]).value)
