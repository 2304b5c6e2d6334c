"""Loops around loops with a trip count of zero run no iterations either.

2**60 empty rows take years. Results without elements are not computed at all, so only reductions
along several dynamic axes are concerned.
"""

from collections.abc import Callable, Iterable

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, is_constant
from relax_mlir.lowering.tir_to_vector.scheduled.index import Copier, is_inside
from relax_mlir.lowering.walk import collect, defining_op

_LOOPS = ("scf.for", "scf.parallel")
_ENDS = ("scf.yield", "scf.reduce")
_PURE = ("arith.", "math.")
# Operations without effects.
_HARMLESS = (
    "memref.load", "memref.dim", "memref.subview", "memref.cast", "memref.collapse_shape",
    "memref.expand_shape", "memref.alloc", "memref.alloca", "memref.dealloc", "memref.prefetch",
    "vector.load", "vector.maskedload", "vector.gather", "vector.broadcast", "vector.create_mask",
    "vector.reduction", "vector.shuffle", "vector.extract", "vector.insert", "vector.step",
    "vector.extract_strided_slice", "vector.insert_strided_slice", "vector.bitcast", "llvm.fence",
    "llvm.inline_asm",
)  # fmt: skip
_DIVISIONS = ("arith.divui", "arith.divsi", "arith.remui", "arith.remsi", "arith.floordivsi")

# Writes a condition before the loop that it is for.
_Check = Callable[[], ir.Value]


def steps_of(emit: Emitter, extent: Index, inner: Iterable[Index]) -> Index:
    """Return the trip count of a reduction's loop: zero around loops of zero.

    Args:
        emit: where the code is written.
        extent: the loop's extent.
        inner: the extents of the reduction's inner loops.
    """
    for steps in inner:
        if not isinstance(steps, int):
            extent = emit.select(emit.compare("sle", steps, 0), 0, extent)
    return extent


def has_nested_reductions(func: ir.OpView) -> bool:
    """Whether a block of a prim func reduces along several dynamic axes."""
    return any(map(_reduces_twice, collect(func.operation, lambda op: op.name == "tir.block")))


def _reduces_twice(block: ir.Operation) -> bool:
    kinds = [ir.StringAttr(kind).value for kind in block.attributes["iter_types"]]
    extents = list(block.operands)[len(kinds) : 2 * len(kinds)]
    unknown = [
        extent
        for kind, extent in zip(kinds, extents, strict=True)
        if kind == "reduction" and not is_constant(extent)
    ]
    return len(unknown) > 1


def skip_zero_trip_loops(func: ir.OpView, emit: Emitter) -> None:
    """Make loops of a lowered prim func end at once if they only run empty loops."""
    for region in func.operation.regions:
        for block in region.blocks:
            _skip_in(block, emit)


def _skip_in(block: ir.Block, emit: Emitter) -> None:
    for view in list(block.operations):
        op = view.operation
        if op.name in _LOOPS:
            checks = None if _has_test(op) else _ZeroTrip(op, emit).checks()
            if checks:
                with ir.InsertionPoint(op), op.location:
                    idle = _all_of(checks, emit)
                    ends = [emit.select(idle, *pair) for pair in _bounds(op)]
                for i, end in enumerate(ends):
                    op.operands[len(ends) + i] = end
                continue
        for region in op.regions:
            for inner in region.blocks:
                _skip_in(inner, emit)


def _has_test(loop: ir.Operation) -> bool:
    """Whether a loop's bound has the test already, as `steps_of` writes it."""
    end = loop.operands[1]
    op = defining_op(end, "arith.select") if loop.name == "scf.for" else None
    return op is not None and op.operands[1] == loop.operands[0]


def _bounds(loop: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """Return the bounds of each dimension of a loop."""
    count = 1
    if loop.name == "scf.parallel":
        count = ir.DenseI32ArrayAttr(loop.attributes["operandSegmentSizes"])[0]
    return list(
        zip(list(loop.operands)[:count], list(loop.operands)[count : 2 * count], strict=True)
    )


class _ZeroTrip:
    """The condition under which a loop does nothing, whatever its own bounds are."""

    def __init__(self, loop: ir.Operation, emit: Emitter) -> None:
        self._loop, self._emit = loop, emit

    def checks(self) -> list[_Check] | None:
        """Return a conjunction of conditions, None if the loop may always do something."""
        return self._body(self._loop)

    def _body(self, loop: ir.Operation) -> list[_Check] | None:
        block = loop.regions[0].blocks[0]
        end = list(block.operations)[-1].operation
        carried = list(block.arguments)[1:] if loop.name == "scf.for" else []
        if loop.name != "scf.for" and len(loop.results):
            return None
        result: list[_Check] = []
        for value, given in zip(end.operands, carried, strict=True):
            origin = self._origin(value, result)
            if origin is None or origin != given:
                return None
        rest = self._all(block)
        return None if rest is None else [*result, *rest]

    def _origin(self, value: ir.Value, checks: list[_Check]) -> ir.Value | None:
        """Return a loop-carried value as it is if the loops that compute it are empty.

        For values with masked lanes there are conditions that no lane is on.
        """
        while (op := defining_op(value)) is not None:
            number = ir.OpResult(value).result_number
            if op.name == "scf.for":
                value = op.operands[3 + number]
            elif op.name == "arith.select" and (length := self._masked(op.operands[0])) is not None:
                checks.append(lambda length=length: self._is_none(length))
                value = op.operands[2]
            else:
                return None
        return value

    def _masked(self, mask: ir.Value) -> ir.Value | None:
        """Return the number of lanes of a mask, if it is known before the loop."""
        op = defining_op(mask, "vector.create_mask")
        lengths = [] if op is None else list(op.operands)
        return lengths[0] if len(lengths) == 1 and self._is_known(lengths[0]) else None

    def _is_none(self, length: ir.Value) -> ir.Value:
        return self._emit.compare("sle", self._outside(length), 0)

    def _all(self, block: ir.Block) -> list[_Check] | None:
        """Return the conditions under which a block has no effect."""
        result: list[_Check] = []
        for view in block.operations:
            op = view.operation
            if op.name in _LOOPS:
                check = self._any_of(self._of_loop(op))
            elif op.name == "scf.if":
                check = self._any_of(self._of_branches(op))
            elif op.name.startswith(_PURE) or op.name in (*_HARMLESS, *_ENDS):
                continue
            else:
                return None
            if check is None:
                return None
            result.append(check)
        return result

    def _of_loop(self, loop: ir.Operation) -> list[_Check]:
        """Return conditions each of which makes a loop do nothing."""
        result = [
            lambda pair=pair: self._emit.compare("sle", *map(self._outside, reversed(pair)))
            for pair in _bounds(loop)
            if all(map(self._is_known, pair)) and not all(map(is_constant, pair))
        ]
        inner = self._body(loop)
        return result if inner is None else [*result, lambda: _all_of(inner, self._emit)]

    def _of_branches(self, branch: ir.Operation) -> list[_Check]:
        condition = branch.operands[0]
        sides = [self._all(block) for region in branch.regions for block in region.blocks]
        result: list[_Check] = []
        if len(sides) == 1 and self._is_known(condition):
            result.append(lambda: self._emit.negated(self._outside(condition)))
        checks = [check for side in sides for check in side or ()]
        if all(side is not None for side in sides):
            result.append(lambda: _all_of(checks, self._emit))
        return result

    def _any_of(self, checks: list[_Check]) -> _Check | None:
        def joined() -> ir.Value:
            total, *rest = [check() for check in checks]
            for each in rest:
                total = self._emit.op("arith.ori", [total, each], self._emit.bool_type)
            return total

        return joined if checks else None

    def _is_known(self, value: ir.Value) -> bool:
        """Whether a value is, or can be, computed before the loop."""
        if not is_inside(value, self._loop):
            return True
        op = defining_op(value)
        if op is None or not op.name.startswith("arith.") or len(op.results) != 1:
            return False
        if op.name in _DIVISIONS and not is_constant(op.operands[1]):
            return False
        return all(map(self._is_known, op.operands))

    def _outside(self, value: ir.Value) -> ir.Value:
        """Return a value as computed before the loop."""
        return Copier(self._emit, {}).pull(value, self._loop)


def _all_of(checks: list[_Check], emit: Emitter) -> ir.Value:
    total = emit.constant(emit.bool_type, 1)
    for check in checks:
        total = emit.both(total, check())
    return total
