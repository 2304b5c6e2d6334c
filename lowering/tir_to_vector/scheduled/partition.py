"""Loop partitioning: predicates of split loops become bounds, and whole tiles need none.

A loop over `if i0 * 32 + i1 < n` becomes one of `min(32, n - i0 * 32)` steps. Around loops that may
be shortened, a branch chooses a copy with static extents, which unrolls and vectorises.
"""

from dataclasses import dataclass
from functools import reduce

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    AT_LEAST,
    AT_MOST,
    GREATER,
    LESS,
    Copier,
    Lin,
    conjuncts,
    integer_of,
    is_inside,
    linear,
    varies,
)
from relax_mlir.lowering.tir_to_vector.scheduled.threads import size_of
from relax_mlir.lowering.walk import ancestors, block_of, collect, defining_op

_PURE = ("arith.", "tir.symbol", "memref.dim")
# Operations up to which code is copied for whole tiles.
_MAX_OPS = 1 << 11


@dataclass
class _Clipped:
    """A loop that a condition limits to `left` steps, if that is fewer than `whole`."""

    loop: ir.Operation
    whole: int
    left: list[Lin]


def partition(top: ir.Operation, emit: Emitter, *, serial: bool = True) -> None:
    """Move conditions out of loops and into their extents, below an operation, itself included.

    Args:
        top: a loop; blocks must have been inlined.
        emit: where to write.
        serial: whether serial loops of known extent are shortened too.
    """
    clipped: list[_Clipped] = []
    for loop in reversed(collect(top, lambda op: op.name == "tir.for")):
        _clip(loop, emit, clipped, serial)
    _choose_whole(clipped, emit)


def _clip(loop: ir.Operation, emit: Emitter, clipped: list[_Clipped], serial: bool) -> None:
    """Move a loop's only statement out of conditions that do not depend on its steps."""
    body = loop.regions[0].blocks[0]
    counter = body.arguments[0]
    statements = [
        view.operation for view in body.operations
        if not view.operation.name.startswith(_PURE) and view.operation.name != "tir.yield"
    ]  # fmt: skip
    if not statements or any(not _is_guard(each) for each in statements):
        return
    lower, extent = (integer_of(value) for value in loop.operands)
    chosen = ir.StringAttr(loop.attributes["kind"]).value in ("vectorized", "unrolled")
    may_shorten = lower == 0 and (serial or chosen or not isinstance(extent, int))
    guards = [_read(each, loop, counter, may_shorten) for each in statements]
    # What all statements need shortens the loop; only a single one is taken out of it.
    limits = [
        limit for limit in guards[0].limits
        if all(limit in guard.limits for guard in guards[1:])
    ]  # fmt: skip
    outside = guards[0].outside if len(guards) == 1 else []
    if not outside and not limits:
        return
    for guard in guards:
        guard.drop(limits, outside, emit)
    with loop.location, ir.InsertionPoint(loop):
        copier = Copier(emit, {})
        limits = [_pulled(limit, copier, loop) for limit in limits]
        if limits:
            size = extent
            for limit in limits:
                size = emit.min(size, emit.max(value_of(limit, emit), 0))
            loop.operands[1] = emit.index(size)
            # A serial loop is none the worse for an extent that is known only when it runs.
            if chosen and isinstance(extent, int) and not isinstance(size, int):
                clipped.append(_Clipped(loop, extent, limits))
        if outside:
            with emit.when(reduce(emit.both, [copier.pull(each, loop) for each in outside])):
                inside = ir.InsertionPoint.current.block
            loop.move_before(inside.operations[0])


class _Guard:
    """The conditions of an `scf.if` that is a statement of a loop.

    Attributes:
        outside: those that hold for all steps or none.
        limits: those that hold for the first steps, as the number of these.
    """

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.outside: list[ir.Value] = []
        self.limits: list[Lin] = []
        self._of_limit: list[ir.Value] = []
        self._kept: list[ir.Value] = []

    def add(self, condition: ir.Value, loop: ir.Operation, limit: Lin | None) -> None:
        """Note a condition."""
        if not _is_pure(condition, loop):
            self._kept.append(condition)
        elif not varies(condition, loop):
            self.outside.append(condition)
        elif limit is None or any(varies(value, loop) for value in limit.terms):
            self._kept.append(condition)
        else:
            self.limits.append(limit)
            self._of_limit.append(condition)

    def drop(self, limits: list[Lin], outside: list[ir.Value], emit: Emitter) -> None:
        """Remove conditions, and the `scf.if` if none is left."""
        kept = list(self._kept)
        kept += [each for each in self.outside if each not in outside]
        kept += [
            each for each, limit in zip(self._of_limit, self.limits, strict=True)
            if limit not in limits
        ]  # fmt: skip
        with self.op.location, ir.InsertionPoint(self.op):
            if kept:
                self.op.operands[0] = reduce(emit.both, kept)
                return
            for view in list(self.op.regions[0].blocks[0].operations):
                if view.operation.name != "scf.yield":
                    view.operation.move_before(self.op)
            self.op.erase()


def _is_guard(op: ir.Operation) -> bool:
    return op.name == "scf.if" and not len(op.results) and not len(op.regions[1].blocks)


def _read(op: ir.Operation, loop: ir.Operation, counter: ir.Value, may_shorten: bool) -> _Guard:
    guard = _Guard(op)
    for condition in conjuncts(op.operands[0]):
        guard.add(condition, loop, _limit(condition, counter) if may_shorten else None)
    return guard


def _limit(condition: ir.Value, counter: ir.Value) -> Lin | None:
    """Return the number of steps from 0 that a condition holds for, None if unknown."""
    op = defining_op(condition, "arith.cmpi")
    if op is None or not isinstance(op.operands[0].type, ir.IndexType):
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    a, b = (linear(operand) for operand in op.operands)
    if predicate in (GREATER, AT_LEAST):
        a, b = b, a
    elif predicate not in (LESS, AT_MOST):
        return None
    # a < b: the counter is below what is left of b.
    left = b.plus(a, -1).plus(Lin(int(predicate in (AT_MOST, AT_LEAST))))
    factor = -left.factor(counter)
    # A larger factor needs a division; those conditions stay.
    return left.without(counter) if factor == 1 else None


def _is_pure(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value comes from arithmetic and counters only."""
    op = defining_op(value)
    if op is None or not is_inside(value, loop):
        return True
    return op.name.startswith(_PURE) and all(_is_pure(operand, loop) for operand in op.operands)


def _pulled(lin: Lin, copier: Copier, loop: ir.Operation) -> Lin:
    result = Lin(lin.const)
    for value, factor in lin.terms.items():
        result = result.plus(linear(copier.pull(value, loop)), factor)
    return result


def value_of(lin: Lin, emit: Emitter) -> Index:
    """Write a sum."""
    total: Index = lin.const
    for value, factor in lin.terms.items():
        if factor < 0:
            total = emit.sub(total, emit.mul(value, -factor))
        else:
            total = emit.add(emit.mul(value, factor), total)
    return total


def _choose_whole(clipped: list[_Clipped], emit: Emitter) -> None:
    """Copy code for whole loops, at each place where they are known to be whole."""
    todo = list(clipped)
    while todo:
        homes = [(each, _home(each)) for each in todo]
        deepest = max(homes, key=lambda pair: _depth(pair[1]))[1]
        here = [each for each, home in homes if _child(deepest, each.loop) is not None]
        todo = [each for each in todo if not any(each is other for other in here)]
        _copy_whole(deepest, here, emit)


def _home(each: _Clipped) -> ir.Block:
    """Return the block from which on it is known whether a loop is whole.

    That is the body of the outermost loop that the limits depend on, if all inner loops have static
    extents; else that of the innermost one.
    """
    counters = [
        value for limit in each.left for value in limit.terms
        if defining_op(value) is None and value.owner.owner.operation.name == "tir.for"
    ]  # fmt: skip
    values = [value for limit in each.left for value in limit.terms]
    outer = sorted(counters, key=lambda value: _depth(value.owner))
    inside = [v for v in values if block_of(v).owner.operation.name != "func.func"]
    if outer and len(counters) == len(inside) and all(
        isinstance(_extent(value), int) for value in outer[1:]
    ):  # fmt: skip
        return outer[0].owner
    return max(map(block_of, values), key=_depth)


def _extent(counter: ir.Value) -> Index:
    return integer_of(counter.owner.owner.operation.operands[1])


def _depth(block: ir.Block) -> int:
    return len(list(ancestors(block.owner.operation)))


def _child(block: ir.Block, op: ir.Operation) -> ir.Operation | None:
    """Return the operation of a block that is, or contains, another one."""
    while op.name != "func.func":
        if op.block == block:
            return op
        op = op.parent.operation
    return None


def _copy_whole(home: ir.Block, here: list[_Clipped], emit: Emitter) -> None:
    operations = [view.operation for view in home.operations]
    children = [_child(home, each.loop) for each in here]
    positions = [i for i, op in enumerate(operations) if any(op == child for child in children)]
    part = operations[positions[0] : positions[-1] + 1]
    after = operations[positions[-1] + 1 :]
    results = [result for op in part for result in op.results]
    if any(use.owner.operation in after for result in results for use in result.uses):
        return
    if sum(size_of(op) + 1 for op in part) > _MAX_OPS:
        return
    with part[0].location, ir.InsertionPoint(part[0]):
        whole: Bool = True
        for size, limit in [(each.whole, limit) for each in here for limit in each.left]:
            least = _least(limit, home)
            if least is None or not all(_available(v, home, part[0]) for v in least.terms):
                return
            test = emit.compare("sge", value_of(least, emit), size)
            whole = emit.both(whole, test)
        with emit.when(whole) as made:
            inside = ir.InsertionPoint.current.block
        with emit.otherwise(made):
            Copier(emit, {}).ops(part)
    end = inside.operations[0]
    for op in part:
        op.move_before(end)
    for each in here:
        each.loop.operands[1] = emit.index(each.whole)


def _least(limit: Lin, home: ir.Block) -> Lin | None:
    """Return the minimum of a limit over all loops inside a block."""
    result = Lin(limit.const)
    for value, factor in limit.terms.items():
        inside = _is_below(value, home)
        if not inside:
            result = result.plus(Lin(0, {value: factor}))
            continue
        extent = _extent(value) if defining_op(value) is None else None
        if not isinstance(extent, int):
            return None
        result = result.plus(Lin(min(0, factor * (extent - 1))))
    return result


def _is_below(value: ir.Value, home: ir.Block) -> bool:
    block = block_of(value)
    return block != home and _child(home, block.owner.operation) is not None


def _available(value: ir.Value, home: ir.Block, before: ir.Operation) -> bool:
    op = defining_op(value)
    return op is None or op.block != home or op.is_before_in_block(before)
