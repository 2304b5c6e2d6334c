"""CodeGenVM of control flow: branches and loops become tests and jumps."""

from collections.abc import Sequence
from typing import Protocol

from relax_mlir.dialects.bindings import ir
from relax_mlir.runtime.bytecode.instructions import Arg
from relax_mlir.runtime.exec_builder import ExecBuilder

_PREFIX = "vm.builtin."


class Codegen(Protocol):
    """What control flow needs of the code generator of a function.

    Attributes:
        builder: where instructions go.
        values: what an instruction names each value by.
    """

    builder: ExecBuilder
    values: dict[ir.Value, Arg]

    def register(self) -> Arg:
        """Return a register that nothing uses yet."""
        ...

    def operand(self, value: ir.Value) -> Arg:
        """Return what an instruction names a value by."""
        ...

    def fields(self, value: ir.Value) -> list[Arg]:
        """Return what an instruction names the fields of a tuple by."""
        ...

    def block(self, block: ir.Block) -> None:
        """Emit the operations of a block."""
        ...

    def give(self, result: ir.Value, fields: list[Arg]) -> None:
        """Let a tuple be what is in these registers."""
        ...


def _move(g: Codegen, source: Arg, target: Arg) -> None:
    g.builder.emit_call(f"{_PREFIX}move", args=[source], dst=target)


def _test(g: Codegen, value: ir.Value) -> int:
    """Emit a test of a condition and return the jump, whose target is set later."""
    condition = g.operand(value)
    if not condition.is_plain_register:
        source, condition = condition, g.register()
        _move(g, source, condition)
    return g.builder.emit_if(condition)


def _end_of(block: ir.Block) -> ir.Operation:
    return list(block.operations)[-1].operation


def emit_if(g: Codegen, op: ir.Operation) -> None:
    """Emit both branches; each moves what it yields to the register of the result."""
    target = g.register() if len(op.results) else None
    test = _test(g, op.operands[0])
    _branch(g, op.regions[0].blocks[0], target)
    skip = g.builder.emit_goto()
    g.builder.patch(test)
    _branch(g, op.regions[1].blocks[0], target)
    g.builder.patch(skip)
    if target is not None:
        g.values[op.results[0]] = target


def _branch(g: Codegen, block: ir.Block, target: Arg | None) -> None:
    g.block(block)
    if target is not None:
        _move(g, g.operand(_end_of(block).operands[0]), target)


def _carried(g: Codegen, initial: ir.Value) -> list[Arg]:
    """Return fresh registers that hold what a loop starts with."""
    registers = []
    for source in g.fields(initial):
        registers.append(g.register())
        _move(g, source, registers[-1])
    return registers


def _enter(g: Codegen, block: ir.Block, registers: Sequence[Arg]) -> None:
    for argument, register in zip(block.arguments, registers, strict=True):
        g.values[argument] = register
    g.block(block)


def _next_iteration(g: Codegen, block: ir.Block, registers: Sequence[Arg]) -> None:
    """Move what a turn yields to the registers of the next one, all at once."""
    sources = g.fields(_end_of(block).operands[0])
    for position, source in enumerate(sources):
        # It is overwritten before it would be read.
        if source in registers[:position]:
            sources[position] = g.register()
            _move(g, source, sources[position])
    for source, register in zip(sources, registers, strict=True):
        if source != register:
            _move(g, source, register)


def emit_while(g: Codegen, op: ir.Operation) -> None:
    """Emit a loop with the test at its head."""
    registers = _carried(g, op.operands[0])
    head = g.builder.here()
    condition, body = (region.blocks[0] for region in op.regions)
    _enter(g, condition, registers)
    leave = _test(g, _end_of(condition).operands[0])
    _enter(g, body, registers)
    _next_iteration(g, body, registers)
    g.builder.patch(g.builder.emit_goto(), head)
    g.builder.patch(leave)
    g.give(op.results[0], registers)


def emit_for(g: Codegen, op: ir.Operation) -> None:
    """Emit a loop that counts in a register of its own."""
    start, stop, step = g.fields(op.operands[0])
    index, again = g.register(), g.register()
    _move(g, start, index)
    registers = _carried(g, op.operands[1])
    head = g.builder.here()
    g.builder.emit_call(f"{_PREFIX}for_continues", args=[index, stop, step], dst=again)
    leave = g.builder.emit_if(again)
    body = op.regions[0].blocks[0]
    _enter(g, body, [index, *registers])
    _next_iteration(g, body, registers)
    g.builder.emit_call(f"{_PREFIX}int_add", args=[index, step], dst=index)
    g.builder.patch(g.builder.emit_goto(), head)
    g.builder.patch(leave)
    g.give(op.results[0], registers)
