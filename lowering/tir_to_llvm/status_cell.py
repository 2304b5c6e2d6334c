"""Functions that can fail inside loops: a cell of memory holds the status, what follows asks it."""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir, submodule

arith = submodule("dialects.arith")
func = submodule("dialects.func")
memref = submodule("dialects.memref")
scf = submodule("dialects.scf")

_EQUAL = 0
_LOOPS = ("scf.for", "scf.parallel", "scf.while")


@dataclass
class StatusCell:
    """Writes the checks of one function.

    After a failure no operation with effects runs any more: the rest of each block, and every
    further turn of a loop, stands under the condition that nothing has failed.

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
        with ir.InsertionPoint.at_block_begin(body):
            type_ = ir.MemRefType.get([], ir.IntegerType.get_signless(32))
            self._cell = memref.AllocaOp(type_, [], []).result
            memref.StoreOp(status(0), self._cell, [])
        self._block(body)
        with ir.InsertionPoint(list(body.operations)[-1].operation):
            return memref.LoadOp(self._cell, []).result

    def _block(self, block: ir.Block) -> bool:
        """Guard what follows each operation that can fail; whether there is one."""
        operations = [view.operation for view in block.operations]
        for position, op in enumerate(operations[:-1]):
            if not self._checked(op):
                continue
            rest = operations[position + 1 : -1]
            if rest:
                self._block(self._under_condition(operations[-1], rest))
            return True
        return False

    def _checked(self, op: ir.Operation) -> bool:
        """Check an operation, or what is inside it; whether it can fail."""
        with op.location:
            if op.name == "tir.assert":
                with ir.InsertionPoint(op):
                    self._store(op.operands[0], status(self.numbers[op]))
                op.erase()
                return True
            if op.name == "memref.alloc":
                with ir.InsertionPoint.after(op):
                    self._store(self.allocated(op), status(1))
                return True
            if op.name == "func.call" and callee(op) in self.fallible and not len(op.results):
                with ir.InsertionPoint(op):
                    got = call(op)
                    memref.StoreOp(got, self._cell, [])
                op.erase()
                return True
            if len(op.results):
                return self._value(op)
            found = [self._region(op, block) for region in op.regions for block in region.blocks]
            if any(found) and op.name in _LOOPS:
                self._end_early(op)
            return any(found)

    def _region(self, op: ir.Operation, block: ir.Block) -> bool:
        """Guard a block of an operation without results; the condition of a `while` is a value."""
        condition = op.name == "scf.while" and block == op.regions[0].blocks[0]
        return self._branch(block) if condition else self._block(block)

    def _value(self, op: ir.Operation) -> bool:
        """Check what is inside a branch that gives values; after a failure these are zeros."""
        if op.name != "scf.if":
            return False
        found = [self._branch(block) for region in op.regions for block in region.blocks]
        return any(found)

    def _branch(self, block: ir.Block) -> bool:
        operations = [view.operation for view in block.operations]
        for position, op in enumerate(operations[:-1]):
            if not self._checked(op):
                continue
            end = operations[-1]
            types = [value.type for value in end.operands]
            with ir.InsertionPoint(end), end.location:
                rest = scf.IfOp(self._good(), types, has_else=True)
                with ir.InsertionPoint(rest.else_block):
                    scf.YieldOp([arith.ConstantOp(type_, _zero(type_)).result for type_ in types])
                with ir.InsertionPoint(rest.then_block):
                    last = scf.YieldOp(list(end.operands))
            for inner in operations[position + 1 : -1]:
                inner.move_before(last.operation)
            for number, value in enumerate(rest.results):
                end.operands[number] = value
            self._branch(rest.then_block)
            return True
        return False

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

    def _under_condition(self, terminator: ir.Operation, rest: list[ir.Operation]) -> ir.Block:
        """Move operations before a terminator into a branch taken when nothing has failed."""
        with ir.InsertionPoint(rest[0]), rest[0].location:
            branch = scf.IfOp(self._good())
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([])
        for op in rest:
            op.move_before(end.operation)
        return branch.then_block


def _zero(type_: ir.Type) -> ir.Attribute:
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
