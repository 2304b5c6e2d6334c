"""Early exit of kernels whose results are all empty: their other loops may be huge."""

from collections.abc import Mapping, Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")
scf: ModuleType = submodule("dialects.scf")
_NOT_EQUAL = 1

# The buffers that a function writes: which argument each is, and its sizes, None for dynamic ones.
Written = Sequence[tuple[int, Sequence[int | None]]]


def skip_empty_calls(calls: Sequence[ir.Operation], callees: Mapping[str, Written]) -> None:
    """Put calls under the condition that a result has elements.

    Args:
        calls: calls of functions, in place.
        callees: what functions write that do nothing else, by their names.
    """
    for call in calls if callees else ():
        written = callees.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
        if written is not None:
            buffers = [(call.operands[position], sizes) for position, sizes in written]
            _put_under_condition(call, buffers)


def _put_under_condition(
    call: ir.Operation, written: Sequence[tuple[ir.Value, Sequence[int | None]]]
) -> None:
    with call.location, ir.InsertionPoint(call):
        zero = arith.constant(ir.IndexType.get(), 0)
        empty = None
        for buffer, sizes in written:
            full = None
            for axis, size in enumerate(sizes):
                if size in (None, 0):
                    length = memref.dim(buffer, arith.constant(ir.IndexType.get(), axis))
                    some = arith.cmpi(_NOT_EQUAL, length, zero)
                    full = some if full is None else arith.andi(full, some)
            empty = full if empty is None else arith.ori(empty, full)
        branch = scf.IfOp(empty)
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([])
    call.move_before(end.operation)
