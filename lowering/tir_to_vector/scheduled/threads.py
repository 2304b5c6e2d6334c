"""Parallel loops: checks, private buffers, and the parallel region."""

import math
from collections.abc import Callable
from itertools import takewhile

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import counter_of, iter_types, kind_of_loop
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.parallel_region import MIN_PARALLEL_WORK, ParallelDim
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    Copier,
    depends_on,
    integer_of,
    is_inside,
)
from relax_mlir.lowering.walk import ancestors, collect, enclosing, is_below, named, root

# An attribute of the loops that a schedule wrote.
MARK = "tir.scheduled"
_DYNAMIC = ir.ShapedType.get_dynamic_size()
# Bytes that each of a thread's buffers may have on its stack.
_STACK_BYTES = 1 << 15
# The cost of an operation in the unit of `MIN_PARALLEL_WORK`, and assumed steps of dynamic loops.
_OP_WORK, _STEPS = 4, 64


def check_parallel(func: ir.OpView) -> list[str]:
    """Report the parallel loops of a function that carry a reduction, and return them."""
    problems = []
    for loop in collect(func.operation, is_parallel):
        for block in named(loop, ("tir.block",)):
            for kind, value in zip(iter_types(block), block.operands, strict=False):
                if kind != "spatial" and depends_on(value, counter_of(loop)):
                    name = ir.StringAttr(block.attributes["block_name"]).value
                    message = (
                        f"a parallel loop carries the {kind} iterator of block '{name}': its "
                        "steps would write one place at once; make the loop serial, or split the "
                        "reduction by rfactor"
                    )
                    loop.location.emit_error(message)
                    problems.append(f"{loop.location}: {message}")
    return problems


def is_parallel(op: ir.Operation) -> bool:
    """Whether an operation is a loop whose steps are to run at once, and there are several."""
    if kind_of_loop(op) != "parallel":
        return False
    extent = integer_of(op.operands[1])
    return not isinstance(extent, int) or extent > 1


def shares_writes(loop: ir.Operation) -> bool:
    """Whether steps of a loop may write the same place."""
    counter = counter_of(loop)
    for op in named(loop, ("memref.store", "vector.store")):
        buffer, *indices = list(op.operands)[1:]
        if is_inside(root(buffer), loop):
            continue
        if not any(depends_on(index, counter) for index in indices):
            return True
    return False


def sink_allocs(loop: ir.Operation) -> None:
    """Move buffers that only a loop uses, and writes first, into it: they are private to a step."""
    body = loop.regions[0].blocks[0]
    counter = body.arguments[0]
    func = enclosing(loop, "func.func")
    for alloc in named(func, ("memref.alloc",)) if func is not None else ():
        result = alloc.results[0]
        if is_inside(result, loop) or any(is_inside(v, loop) for v in alloc.operands):
            continue
        if _is_own([use.owner.operation for use in result.uses], loop, counter):
            alloc.move_before(body.operations[0].operation)


def _is_own(users: list[ir.Operation], loop: ir.Operation, counter: ir.Value) -> bool:
    """Whether a buffer may be private to each step of a loop."""
    if not users or any(not is_below(user, loop) for user in users):
        return False
    if any(user.name not in ("memref.load", "memref.store") for user in users):
        return False
    first = collect(loop, lambda op: op in users)[0]
    if first.name != "memref.store" or not _always(first, loop):
        return False
    # Steps that write to places of their own may leave something to each other.
    stores = [user for user in users if user.name == "memref.store"]
    return not any(depends_on(i, counter) for store in stores for i in list(store.operands)[2:])


def write_parallel(
    loop: ir.Operation, emit: Emitter, move: Callable[[ir.Block, ir.Value], None]
) -> None:
    """Write a parallel loop at the insertion point, as a parallel region."""
    lower, extent = (integer_of(value) for value in loop.operands)
    body = loop.regions[0].blocks[0]
    work = 0 if emit.threads == 1 else emit.mul(extent, _body_work(body))
    with emit.parallel_region([ParallelDim(extent)], work) as ranges:
        if emit.is_parallel:
            for alloc in collect(loop, lambda op: op.name == "memref.alloc"):
                _make_private(alloc, loop, emit)
        low, high = ranges[0]
        with emit.loop(emit.add(lower, low), emit.add(lower, high)) as made:
            move(body, made.counter)


def _body_work(block: ir.Block) -> int:
    """Return the work of a loop's step, as far as it is known before it."""
    total = 0
    for view in block.operations:
        op = view.operation
        inner = sum(_body_work(b) for region in op.regions for b in region.blocks)
        if op.name in ("tir.for", "scf.for"):
            inner *= min(_trips(op), MIN_PARALLEL_WORK)
        vector = next((r.type for r in op.results if isinstance(r.type, ir.VectorType)), None)
        total += inner + (_OP_WORK if vector is None else vector.shape[0])
    return min(total, MIN_PARALLEL_WORK)


def _trips(op: ir.Operation) -> int:
    low, high, *step = (integer_of(value) for value in list(op.operands)[:3])
    if op.name == "tir.for":
        return high if isinstance(high, int) else _STEPS
    known = [each for each in (low, high, *step) if isinstance(each, int)]
    return max(0, (known[1] - known[0]) // known[2]) if len(known) == 3 else _STEPS


def _make_private(alloc: ir.Operation, loop: ir.Operation, emit: Emitter) -> None:
    """Give each thread its own copy of a buffer, before the loop."""
    if any(is_inside(value, loop) for value in alloc.operands):
        return
    type_ = ir.MemRefType(alloc.results[0].type)
    element = 8 if isinstance(type_.element_type, ir.IndexType) else type_.element_type.width
    sizes = [size for size in type_.shape if size != _DYNAMIC]
    bytes_: Index = math.prod(sizes) * max(8, element) // 8
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
    if type_.has_static_shape and isinstance(bytes_, int) and bytes_ <= _STACK_BYTES:
        segments = ir.DenseI32ArrayAttr.get([0, 0])
        made = emit.op(
            "memref.alloca", [], type_, operandSegmentSizes=segments, alignment=alignment
        )
    else:
        with emit.outside():
            for value in alloc.operands:
                bytes_ = emit.mul(integer_of(value), bytes_)
        raw = emit.own_memory(bytes_, ir.IntegerType.get_signless(8))
        if isinstance(bytes_, int):
            unknown = ir.MemRefType.get([_DYNAMIC], ir.IntegerType.get_signless(8))
            raw = emit.op("memref.cast", [raw], unknown)
        made = emit.op("memref.view", [raw, emit.index(0), *alloc.operands], type_)
    alloc.results[0].replace_all_uses_with(made)
    alloc.erase()


def _always(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether an operation in a loop is under no condition."""
    inside = takewhile(lambda outer: outer != loop, ancestors(op))
    return not any(outer.name.startswith("scf.") for outer in inside)


# Operations of a function up to which loops are unrolled.
MAX_OPS = 1 << 13


def unroll(loop: ir.Operation, emit: Emitter, most_ops: int = MAX_OPS) -> bool:
    """Replace a `tir.for` by its steps.

    Args:
        loop: the loop.
        emit: writes constants at the function's entry.
        most_ops: with more operations than this it stays a loop.

    Returns:
        Whether it was replaced; else it is as before.
    """
    lower, extent = (integer_of(value) for value in loop.operands)
    body = loop.regions[0].blocks[0]
    if not isinstance(lower, int) or not isinstance(extent, int):
        return False
    if extent * size_of(loop) > most_ops:
        return False
    with ir.InsertionPoint(loop):
        for step in range(lower, lower + extent):
            Copier(emit, {body.arguments[0]: step}).body(body)
    loop.erase()
    return True


def size_of(op: ir.Operation) -> int:
    """Return how many operations there are in an operation's regions."""
    return len(collect(op, lambda _: True)) - 1
