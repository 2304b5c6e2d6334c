"""Dataflow block passes: each call gets one block and must keep its outputs."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.errors import PassTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.kinds.per_function import FunctionPass
from relax_mlir.pass_infra.kinds.region_snapshot import Surroundings, outputs_of

_END = "relax.output"


class DataflowBlockPass(FunctionPass):
    """`pass_func(block, mod, ctx)` returns the `relax.dataflow` to put in `block`'s place.

    Change the block and return it, or return another. What escapes from it keeps number, order and
    types, the symbols that a `relax.match_cast` in it binds stay bound, and what stands around it
    is not the pass's business.
    """

    kind = "dataflow block pass"

    def transform(self, function: ir.Operation, mod: IRModule, ctx: PassContext) -> ir.Operation:
        """Call the function on each dataflow block of a function.

        Raises:
            TypeError: it returned something that is not a dataflow block.
            ValueError: it touched what escapes, a symbol's binding, or what is around the block.
        """
        around = Surroundings(function)
        for path in around.paths:
            block = around.block(path)
            if block is None or not around.hold(path):
                raise self._outside()
            escapes, symbols, outputs = _escapes(block), _symbols(block), outputs_of(block)
            view = extension("pass_infra.DataflowBlock").of(block, mod)
            result = self.pass_func(view, mod, ctx)
            self._place(block, result, escapes)
            new = result.operation
            if _symbols(new) != symbols:
                raise ValueError(
                    f"a {self.kind} cannot add, change or remove bindings of symbols: the block "
                    f"bound {_listed(symbols)}, now it binds {_listed(_symbols(new))}"
                )
            there = around.block(path)
            if there is None or there != new:
                raise self._outside()
            around.accept(path, new, outputs)
        if not around.hold():
            raise self._outside()
        return function

    def _outside(self) -> ValueError:
        return ValueError(f"a {self.kind} cannot add, remove or change anything outside the block")

    def _place(self, block: ir.Operation, result: Any, escapes: list[str]) -> None:
        operation = getattr(result, "operation", None)
        if operation is None or operation.name != "relax.dataflow":
            got = "None" if result is None else type(result).__name__
            raise PassTypeError(f"a {self.kind} returns a dataflow block, got {got}")
        if operation.context != block.context:
            raise ValueError(
                f"a {self.kind} returns a block of the module's MLIR context: make it inside"
            )
        if _escapes(operation) != escapes:
            raise ValueError(
                f"a {self.kind} cannot change what escapes from the block: it was "
                f"{_listed(escapes)}, now it is {_listed(_escapes(operation))}"
            )
        if operation == block:
            return
        if not operation.attached:
            ir.InsertionPoint(block).insert(operation)
        for old, new in zip(block.results, operation.results, strict=True):
            old.replace_all_uses_with(new)
        block.erase()


def _escapes(block: ir.Operation) -> list[str]:
    """Return the types of what the block hands out; the verifier holds its results to the same."""
    ends = [op for op in block.regions[0].blocks[0].operations if op.operation.name == _END]
    return [describe(operand.type) for end in ends for operand in end.operation.operands]


def _symbols(block: ir.Operation) -> set[str]:
    """Return the symbols in the patterns of the block's `relax.match_cast`s."""
    return {
        dim.name
        for inner in block.regions[0].blocks[0].operations
        if inner.operation.name == "relax.match_cast"
        for dim in type_dims(inner.operation.results[0].type)
        if dim.name
    }


def _listed(names: "list[str] | set[str]") -> str:
    return ", ".join(sorted(names) if isinstance(names, set) else names) or "nothing"
