"""Which operations a program of MLIR needs, and which of them have converters."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.frontend.coverage import Coverage
from relax_mlir.frontend.mlir.importer import where
from relax_mlir.frontend.mlir.passes import lowers
from relax_mlir.frontend.mlir.types import is_importable
from relax_mlir.frontend.registry import find_converter

_STRUCTURE = ("builtin.module", "func.func", "func.return")
_TERMINATORS = ("stablehlo.return", "scf.yield", "scf.condition", "tensor.yield")
# Operations whose regions their converters read as a whole.
_BODIES = (
    "linalg.generic", "tensor.generate", "stablehlo.reduce", "stablehlo.reduce_window",
    "stablehlo.scatter", "stablehlo.sort", "stablehlo.map", "stablehlo.select_and_scatter",
)  # fmt: skip
# Name -> why an operation that has a converter cannot be imported all the same, empty if it can.
_REFUSALS: dict[str, Callable[[Any], str]] = {}


def refuses(*names: str) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    """Register a function that says why operations cannot be imported, or nothing."""

    def register(reason: Callable[[Any], str]) -> Callable[[Any], str]:
        _REFUSALS.update(dict.fromkeys(names, reason))
        return reason

    return register


def needs(module: ir.Module, source: str) -> Coverage:
    """Return the operations of a module; messages call it `source`."""
    result = Coverage(source)

    def visit(view: Any) -> ir.WalkResult:
        op = view.operation
        if op.name in _TERMINATORS:
            return ir.WalkResult.ADVANCE
        reason = _reason(op)
        if op.name not in _STRUCTURE or reason:
            dialect, _, name = op.name.partition(".")
            known = find_converter(dialect, name) is not None
            # One operation that upstream cannot lower leaves all the others as they are.
            known = known or (not reason and op.name.startswith("tosa.") and lowers(op))
            how = "converter" if known and not reason else ""
            result.add(op.name, 0, where(op, source), how, reason)
        return ir.WalkResult.SKIP if op.name in _BODIES else ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return result


def _reason(op: Any) -> str:
    blocks = [block for region in op.regions for block in region.blocks]
    arguments = [argument for block in blocks for argument in block.arguments]
    values = arguments if op.name == "func.func" else [*op.operands, *op.results]
    for value in values:
        if not is_importable(value.type):
            return f"Relax has no values of type {value.type}"
    return _REFUSALS[op.name](op) if op.name in _REFUSALS else ""
