"""Reductions whose initial values are data: a nest of its own stores these first."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest, match_nest, top_level
from relax_mlir.lowering.tir_to_vector.flat import root
from relax_mlir.lowering.tir_to_vector.init import drop_init


def split_data_inits(func: ir.OpView) -> None:
    """Split the inits of reductions that are not constants into maps before them."""
    for op in list(top_level(func)):
        nest = match_nest(op)
        if isinstance(nest, Nest) and _begins_with_data(nest):
            with op.location:
                _split(nest)


def _begins_with_data(nest: Nest) -> bool:
    kinds = set(nest.types)
    if not nest.has_init() or len(nest.stores) != 1 or kinds - {"spatial", "reduction"}:
        return False
    written = root(nest.stores[0].buffer)
    init = [view.operation for view in nest.block.regions[1].blocks[0].operations]
    loads = [op for op in init if op.name == "memref.load"]
    # An init that reads the sums would see other elements in another order.
    plain = not any(len(op.regions) for op in init) and "reduction" in kinds
    return plain and bool(loads) and all(root(op.operands[0]) != written for op in loads)


def _split(nest: Nest) -> None:
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    spatial = [i for i in order if nest.types[i] == "spatial"]
    count = len(nest.types)
    domains = list(nest.block.operands)[count : 2 * count]
    counters: dict[int, ir.Value] = {}
    point = ir.InsertionPoint(nest.top)
    for i in spatial:
        loop = nest.loops[nest.loop_of[i]]
        with point:
            made = ir.Operation.create(
                loop.name, operands=list(loop.operands), regions=1,
                attributes={name: loop.attributes[name] for name in loop.attributes},
            )  # fmt: skip
        body = made.regions[0].blocks.append(ir.IndexType.get())
        counters[i] = body.arguments[0]
        with ir.InsertionPoint(body):
            point = ir.InsertionPoint(ir.Operation.create("tir.yield"))
    kinds = ir.ArrayAttr.get([ir.StringAttr.get("spatial")] * len(spatial))
    attributes = {name: nest.block.attributes[name] for name in nest.block.attributes}
    attributes |= {"iter_types": kinds, "block_name": ir.StringAttr.get(f"{nest.name}_init")}
    with point:
        block = ir.Operation.create(
            "tir.block",
            operands=[*(counters[i] for i in spatial), *(domains[i] for i in spatial)],
            attributes=attributes,
            regions=2,
        )
        body = block.regions[0].blocks.append(*[ir.IndexType.get()] * len(spatial))
    init = nest.block.regions[1].blocks[0]
    with ir.InsertionPoint(body):
        zero = ir.Operation.create(
            "arith.constant",
            results=[ir.IndexType.get()],
            attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), 0)},
        ).result
        for i, argument in enumerate(init.arguments):
            here = body.arguments[spatial.index(i)] if i in spatial else zero
            argument.replace_all_uses_with(here)
    for view in list(init.operations):
        view.operation.detach_from_parent()
        body.append(view)
    drop_init(nest.block)
