"""The pass `static-plan-block-memory`: tensors that live at different times share storage.

It plans block by block what the virtual machine allocates. Tensors of constant size get one storage
with an offset each; a symbolic one takes a storage that is provably large enough, else makes one
larger, as long as what its size depends on is known where that is allocated. A tensor that the
block gives away, or that other people's functions see, keeps a storage of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.facts import declared_facts
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.dialects.relax.tuples import is_make_tuple
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import Facts, can_prove_less_equal
from relax_mlir.dialects.vm.ops import Storage
from relax_mlir.lowering.relax_to_vm.storage_plan import Allocation, plan_arena
from relax_mlir.lowering.relax_to_vm.vm_memory_lower import last_use
from relax_mlir.lowering.walk import relax_functions, require_absent

_RENAMING = ("relax.match_cast", "relax.tuple_get_item", "vm.reinterpret")
_READING = ("relax.shape_of",)
# Builtins: what they return may be what they are given, but they keep nothing.
_OWN = "vm."


def static_plan_block_memory(module: ir.Operation) -> None:
    """Give tensors storage, shared where lifetimes and sizes allow it.

    Raises:
        PassError: there are dataflow blocks left.
    """
    require_absent(module, "relax.dataflow", "StaticPlanBlockMemory", "to-non-dataflow")
    prim_funcs = {
        view.operation.attributes["sym_name"].value
        for view in module.regions[0].blocks[0].operations
        if "tir.prim_func" in view.operation.attributes
    }
    for func in relax_functions(module):
        facts = declared_facts(func)
        for block in _blocks(func):
            _plan(_tensors(block, prim_funcs), facts)


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for view in block.operations:
                yield from _blocks(view.operation)


@dataclass
class _Tensor:
    """An allocation: its bytes, its last use, and the positions of both in its block."""

    op: ir.Operation
    last: ir.Operation
    size: SymExpr
    start: int
    end: int
    # The symbols that have values where it is made.
    known: frozenset[str]


def _tensors(block: ir.Block, prim_funcs: set[str]) -> list[_Tensor]:
    """Return the allocations of a block that may share memory, in order."""
    operations = [view.operation for view in block.operations]
    positions = {op: position for position, op in enumerate(operations)}
    known: set[str] = _around(block)
    result = []
    for position, op in enumerate(operations):
        if op.name == "relax.alloc_tensor":
            dims = T.shape_dims(op.operands[0].type)
            last = last_use(op.results[0]) if dims is not None else None
            private = last is not None and _is_private(op.results[0], prim_funcs)
            if dims is not None and last is not None and private:
                size = product(dims) * T.dtype_size(op.attributes["dtype"].value)
                tensor = _Tensor(op, last, size, position, positions[last], frozenset(known))
                result.append(tensor)
        known |= {n for each in op.results for dim in type_dims(each.type) for n in dim.symbols}
    return result


def _around(block: ir.Block) -> set[str]:
    """Return the symbols that have values where a block begins."""
    known: set[str] = set()
    while True:
        known |= {
            n for each in block.arguments for dim in type_dims(each.type) for n in dim.symbols
        }
        owner = block.owner.operation
        if owner.name == "func.func":
            return known
        block = owner.block
        for view in block.operations:
            if view.operation == owner:
                break
            known |= {
                name
                for each in view.operation.results
                for dim in type_dims(each.type)
                for name in dim.symbols
            }


def _is_private(value: ir.Value, prim_funcs: set[str]) -> bool:
    """Whether only prim funcs and the runtime's own functions see a tensor."""
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user.name in _RENAMING or is_make_tuple(user):
                pending += list(user.results)
            elif user.name == "relax.call_pure_packed":
                if not user.attributes["func"].value.startswith(_OWN):
                    return False
                pending += list(user.results)
            elif user.name in ("vm.call", "vm.call_tir_dyn"):
                if user.attributes["func"].value not in prim_funcs:
                    return False
            elif user.name not in _READING:
                return False
    return True


@dataclass
class _Pool:
    """A storage that tensors use one after the other."""

    size: SymExpr
    free_from: int
    known: frozenset[str]
    tensors: list[_Tensor] = field(default_factory=list)


def _plan(tensors: list[_Tensor], facts: Facts) -> None:
    static = [tensor for tensor in tensors if tensor.size.is_const]
    plan = plan_arena([Allocation(each.size, each.start, each.end) for each in static], facts)
    if len(static) > 1:
        offsets = [offset.value or 0 for offset in plan.offsets]
        _allocate(static, plan.total, offsets)
    pools: list[_Pool] = []
    for tensor in tensors:
        if not tensor.size.is_const:
            _take(pools, tensor, facts)
    for pool in pools:
        if len(pool.tensors) > 1:
            _allocate(pool.tensors, pool.size, [0] * len(pool.tensors))


def _take(pools: list[_Pool], tensor: _Tensor, facts: Facts) -> None:
    """Put a tensor in the free pool that fits best, or else in one of its own."""
    free = [pool for pool in pools if pool.free_from < tensor.start]
    fitting = [pool for pool in free if can_prove_less_equal(tensor.size, pool.size, facts)]
    growing = [pool for pool in free if tensor.size.symbols <= pool.known]
    if fitting:
        best = fitting[0]
        for pool in fitting[1:]:
            if can_prove_less_equal(pool.size, best.size, facts):
                best = pool
    elif growing:
        best = next(
            (p for p in growing if can_prove_less_equal(p.size, tensor.size, facts)), growing[0]
        )
        larger = can_prove_less_equal(best.size, tensor.size, facts)
        best.size = tensor.size if larger else best.size.max(tensor.size)
    else:
        best = _Pool(tensor.size, -1, tensor.known)
        pools.append(best)
    best.free_from = tensor.end
    best.tensors.append(tensor)


def _allocate(tensors: list[_Tensor], size: SymExpr, offsets: list[int]) -> None:
    """Make one storage before the first of some tensors, and each of them in it."""
    i64 = ir.IntegerType.get_signless(64)
    first = tensors[0].op
    with ir.InsertionPoint(first), first.location:
        bytes_ = prim_value(size)
        storage = ir.Operation.create(
            "vm.alloc_storage",
            results=[Storage.get()],
            operands=[bytes_],
            attributes={"device": ir.StringAttr.get("cpu")},
        ).result
    for tensor, offset in zip(tensors, offsets, strict=True):
        op = tensor.op
        with ir.InsertionPoint(op), op.location:
            new = ir.Operation.create(
                "vm.alloc_tensor",
                results=[op.results[0].type],
                operands=[storage, op.operands[0]],
                attributes={
                    "offset": ir.IntegerAttr.get(i64, offset),
                    "dtype": op.attributes["dtype"],
                },
            ).result
        op.results[0].replace_all_uses_with(new)
        op.erase()
        tensor.op = new.owner.operation
    # Behind the last use a tensor is to come before its storage.
    final = max(tensors, key=lambda tensor: tensor.end).last
    with ir.InsertionPoint.after(final), final.location:
        ir.Operation.create("vm.kill", operands=[storage])
    for tensor in tensors:
        with ir.InsertionPoint.after(tensor.last), tensor.last.location:
            ir.Operation.create("vm.kill", operands=[tensor.op.results[0]])
