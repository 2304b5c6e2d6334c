"""Error status of functions that can fail inside loops: a stack slot, tested after them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.walk import named

arith: ModuleType = submodule("dialects.arith")
func: ModuleType = submodule("dialects.func")
memref: ModuleType = submodule("dialects.memref")
scf: ModuleType = submodule("dialects.scf")

_EQUAL = 0
_LOOPS = ("scf.for", "scf.parallel", "scf.while")
_CAN_FAIL = ("tir.assert", "memref.alloc", "func.call")
# What may run after a failure too: it touches no memory and cannot end the process.
_SAFE = (
    "arith.", "memref.dim", "memref.subview", "memref.view", "memref.cast",
    "memref.reinterpret_cast", "memref.collapse_shape", "memref.expand_shape",
)  # fmt: skip
_DIVISIONS = ("div", "rem")
_SCALARS = (ir.IntegerType, ir.IndexType, ir.FloatType)


@dataclass
class ErrorStatus:
    """Writes the checks of one function.

    After a failure no operation with effects runs any more: each part of a block between two
    operations that can fail, and every further turn of a loop, stands under the condition that
    nothing has failed. The parts stand one after the other, however many there are.

    Attributes:
        fallible: functions that return a status.
        numbers: the status that each `tir.assert` gives when it does not hold.
        allocated: writes after an allocation whether it gave memory.
    """

    fallible: set[str]
    numbers: dict[ir.Operation, int]
    allocated: Callable[[ir.Operation], ir.Value]

    def guard(self, body: ir.Block) -> ir.Value:
        """Guard a function's body; return the status, loaded before its terminator."""
        # Operations that can fail, or hold some that can.
        self._failing: set[ir.Operation] = set()
        function = body.owner.operation
        for op in named(function, _CAN_FAIL):
            if op.name != "func.call" or (callee(op) in self.fallible and not len(op.results)):
                while op != function and op not in self._failing:
                    self._failing.add(op)
                    op = op.parent.operation
        with ir.InsertionPoint.at_block_begin(body):
            type_ = ir.MemRefType.get([], ir.IntegerType.get_signless(32))
            self._cell = memref.AllocaOp(type_, [], []).result
            memref.StoreOp(status(0), self._cell, [])
        self._block(body)
        with ir.InsertionPoint(list(body.operations)[-1].operation):
            return memref.LoadOp(self._cell, []).result

    def _block(self, block: ir.Block) -> bool:
        """Guard what follows each operation that can fail; whether there is one."""
        rest = [view.operation for view in block.operations]
        end = rest.pop()
        before = True
        while rest:
            count = next((i + 1 for i, op in enumerate(rest) if op in self._failing), len(rest))
            part, rest = rest[:count], rest[count:]
            last = part[-1]
            if before:
                before = last not in self._failing
                self._check(last)
                continue
            part = _under_guard(part)
            if part == [last] and last.name == "tir.assert":
                self._assert(last, first=False)
                continue
            leaving = _leaving(part)
            if not all(isinstance(value.type, _SCALARS) for value in leaving):
                # There is no such buffer to go on with: all that follows is inside.
                self._block(self._under_condition(end, part + rest))
                return True
            if part:
                self._under_condition(rest[0] if rest else end, part, leaving)
                self._check(last)
        return not before

    def _check(self, op: ir.Operation) -> None:
        """Check an operation that can fail, or what is inside it."""
        if op not in self._failing:
            return
        with op.location:
            if op.name == "tir.assert":
                self._assert(op)
            elif op.name == "memref.alloc":
                with ir.InsertionPoint.after(op):
                    self._store(self.allocated(op), status(1))
            elif op.name == "func.call":
                with ir.InsertionPoint(op):
                    got = call(op)
                    memref.StoreOp(got, self._cell, [])
                op.erase()
            elif not len(op.results) or op.name == "scf.if":
                for region in op.regions:
                    for block in region.blocks:
                        self._block(block)
                if op.name in _LOOPS:
                    self._end_early(op)

    def _assert(self, op: ir.Operation, first: bool = True) -> None:
        """Replace an assertion; where it is not the first, what failed before stays."""
        with ir.InsertionPoint(op), op.location:
            failure = status(self.numbers[op])
            if first:
                self._store(op.operands[0], failure)
            else:
                old = memref.LoadOp(self._cell, []).result
                new = arith.SelectOp(op.operands[0], old, failure).result
                good = arith.cmpi(_EQUAL, old, status(0))
                memref.StoreOp(arith.SelectOp(good, new, old).result, self._cell, [])
        op.erase()

    def _store(self, holds: ir.Value, failure: ir.Value) -> None:
        memref.StoreOp(arith.SelectOp(holds, status(0), failure).result, self._cell, [])

    def _good(self) -> ir.Value:
        return arith.cmpi(_EQUAL, memref.LoadOp(self._cell, []).result, status(0))

    def _end_early(self, loop: ir.Operation) -> None:
        """Let the turns of a loop after a failure do nothing, and a `while` end."""
        body = loop.regions[-1].blocks[0]
        operations = [view.operation for view in body.operations]
        self._under_condition(operations[-1], operations[:-1])
        if loop.name == "scf.while":
            condition = list(loop.regions[0].blocks[0].operations)[-1].operation
            with ir.InsertionPoint(condition), condition.location:
                both = arith.andi(condition.operands[0], self._good())
            condition.operands[0] = both

    def _under_condition(
        self, following: ir.Operation, part: list[ir.Operation],
        leaving: Sequence[ir.Value] | None = None,
    ) -> ir.Block:  # fmt: skip
        """Move operations into a branch taken when nothing has failed; else its results are zeros.

        Args:
            following: the operation after them.
            part: operations next to each other, but for some that stay in front of the branch.
            leaving: the values that what follows uses; where not given, `following` ends the block
                and those are its operands.
        """
        values = list(following.operands) if leaving is None else leaving
        types = [value.type for value in values]
        with ir.InsertionPoint(following), part[0].location:
            branch = scf.IfOp(self._good(), types, has_else=bool(types))
            if types:
                with ir.InsertionPoint(branch.else_block):
                    scf.YieldOp([arith.ConstantOp(type_, _zero(type_)).result for type_ in types])
            with ir.InsertionPoint(branch.then_block):
                end = scf.YieldOp(list(values))
        for op in part:
            op.move_before(end.operation)
        for number, value in enumerate(values):
            if leaving is None:
                following.operands[number] = branch.results[number]
                continue
            for use in list(value.uses):
                if _at(use.owner.operation, branch.operation.block) != branch.operation:
                    use.owner.operation.operands[use.operand_number] = branch.results[number]
        return branch.then_block


def _under_guard(part: list[ir.Operation]) -> list[ir.Operation]:
    """Return what of a part may not run after a failure, or needs what may not."""
    result: dict[ir.Operation, None] = {}
    for op in part:
        kind = op.name.partition(".")[2]
        safe = op.name.startswith(_SAFE) and not any(each in kind for each in _DIVISIONS)
        if not safe or any(
            not isinstance(value.owner, ir.Block) and value.owner.operation in result
            for value in op.operands
        ):
            result[op] = None
    return list(result)


def _leaving(part: list[ir.Operation]) -> list[ir.Value]:
    """Return the values of operations of one block that others in it use."""
    inside = set(part)
    return [
        value for op in part for value in op.results
        if any(_at(use.owner.operation, op.block) not in inside for use in value.uses)
    ]  # fmt: skip


def _at(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """Return the operation of a block that an operation is, or is in."""
    while op.block != block:
        op = op.parent.operation
    return op


def _zero(type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, _zero(type_.element_type))
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        return ir.IntegerAttr.get(type_, 0)
    return ir.FloatAttr.get(type_, 0.0)


def status(value: int) -> ir.Value:
    """Return a constant status: 0 is success, 1 no memory, from 2 on a failed assertion."""
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result


def callee(op: ir.Operation) -> str:
    """Return the name of the function that a `func.call` calls."""
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def call(op: ir.Operation) -> ir.Value:
    """Return the status of a new call like a given one."""
    i32 = ir.IntegerType.get_signless(32)
    return func.CallOp([i32], callee(op), list(op.operands)).results[0]
