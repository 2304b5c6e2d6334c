"""Recognising contractions: `C[.., m, n] += A[.., m, k] * B[.., k, n]`, operands in any layout."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest

_ADD = ("arith.addf", "arith.addi")
_MUL = ("arith.mulf", "arith.muli")
_INDEX = ("arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.index_cast")


@dataclass
class Contraction:
    """A block that multiplies and adds.

    Attributes:
        a, b, c: the accesses; b holds the iterator of c's last dimension.
        m: an iterator of a and c, None when there is none beside the outer ones.
        n: the iterator of c's last dimension.
        k: the reduction iterator that the kernel loops over.
        outer: the other spatial iterators.
        outer_reductions: the other reduction iterators.
        init: what c starts from, None to add to what it holds.
    """

    nest: Nest
    a: Access
    b: Access
    c: Access
    m: int | None
    n: int
    k: int
    outer: list[int]
    outer_reductions: list[int]
    init: ir.Attribute | None

    @property
    def element(self) -> ir.Type:
        """The type of what is added."""
        return self.c.buffer.type.element_type


def match_contraction(nest: Nest) -> Contraction | str:
    """Return how a reduction is a contraction, or why it is none."""
    if len(nest.stores) != 1 or len(nest.loads) != 3:
        return "not one store and three loads"
    store = nest.stores[0]
    added = _operands(store.op.operands[0], _ADD)
    if added is None:
        return "does not add"
    loads = {load.op.results[0]: load for load in nest.loads}
    for total, term in (added, added[::-1]):
        factors = _operands(term, _MUL)
        if factors is not None and _same(loads.get(total), store):
            break
    else:
        return "does not add a product to what it stores"
    left, right = (loads.get(factor) for factor in factors)
    if left is None or right is None or left is loads[total] or right is loads[total]:
        return "does not multiply two loads"
    steps = sum(op.name not in _INDEX or str(op.results[0].type) != "index" for op in nest.body())
    if steps != 6:
        return "computes more than a product and a sum"
    if store.buffer in (left.buffer, right.buffer):
        return "reads the buffer that it writes"
    init = init_value(nest, store)
    if isinstance(init, str):
        return init
    return _assign(nest, left, right, store, init)


def _operands(value: ir.Value, names: tuple[str, ...]) -> tuple[ir.Value, ir.Value] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name not in names:
        return None
    return tuple(owner.operation.operands)


def _same(load: Access | None, store: Access) -> bool:
    return load is not None and load.buffer == store.buffer and load.exprs == store.exprs


def init_value(nest: Nest, store: Access) -> ir.Attribute | str | None:
    """Return the constant that a reduction starts from, None without init, or what else its init is."""
    if not nest.has_init():
        return None
    block = nest.block.regions[1].blocks[0]
    ops = [view.operation for view in block.operations]
    stores = [op for op in ops if op.name == "memref.store"]
    others = {op.name for op in ops} - {"memref.store", "arith.constant", "tir.yield", "tir.writes"}
    if len(stores) != 1 or others or stores[0].operands[1] != store.buffer:
        return "its init is not one store of a constant"
    value = stores[0].operands[0].owner
    if isinstance(value, ir.Block) or value.operation.name != "arith.constant":
        return "its init is not a constant"
    arguments = list(block.arguments)
    where = [
        arguments.index(i) if i in arguments else None for i in list(stores[0].operands)[2:]
    ]
    if where != [i if i is not None and i >= 0 else None for i in store.iters]:
        return "its init writes elsewhere"
    return value.operation.attributes["value"]


def _assign(
    nest: Nest, left: Access, right: Access, store: Access, init: ir.Attribute | None
) -> Contraction | str:
    for access in (left, right, store):
        if None in access.iters:
            return "an index is not one iterator"
        used = [i for i in access.iters if i >= 0]
        if len(set(used)) != len(used):
            return "an operand is read along a diagonal"
    spatial = [i for i, kind in enumerate(nest.types) if kind == "spatial"]
    reductions = [i for i, kind in enumerate(nest.types) if kind == "reduction"]
    if len(spatial) + len(reductions) != len(nest.types):
        return "it scans"
    if sorted(i for i in store.iters if i >= 0) != spatial:
        return "it does not write one element for each spatial step"
    if any(i not in left.iters or i not in right.iters for i in reductions):
        return "a reduction iterator is in one operand only"
    n = store.iters[-1] if store.iters else -1
    if n < 0 or (n in left.iters) == (n in right.iters):
        return "the innermost dimension written is not in exactly one operand"
    a, b = (left, right) if n in right.iters else (right, left)
    rows = [i for i in store.iters if i in a.iters and i not in b.iters]
    m = rows[-1] if rows else None
    # The innermost loop runs along memory where an operand allows that.
    k = max(reductions, key=lambda i: (a.iters.index(i), b.iters.index(i)))
    outer = [i for i in store.iters if i >= 0 and i not in (m, n)]
    return Contraction(
        nest, a, b, store, m, n, k, outer, [i for i in reductions if i != k], init
    )
