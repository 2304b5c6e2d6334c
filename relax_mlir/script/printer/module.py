"""Printing modules."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprError
from relax_mlir.ir.module import IRModule
from relax_mlir.script.printer.relax import RelaxPrinter
from relax_mlir.script.printer.relax_expr import Metadata
from relax_mlir.script.printer.spelling import UNSPOKEN
from relax_mlir.script.printer.tir import TirPrinter

HEADER = "# from relax_mlir.script import ir as I, relax as R, tir as T"


def print_module(module: IRModule) -> tuple[str, dict[str, list[Any]]]:
    """Return the script of a module, and its constants of more than 64 elements.

    Raises:
        ExprError: branches or loops are nested deeper than Python's stack.
    """
    metadata = Metadata()
    lines: list[str] = []
    with module.context:
        for op in module.mlir_module.body.operations:
            lines += [
                "",
                *(f"    {line}" if line else "" for line in _member(op.operation, metadata)),
            ]
    if not lines:
        lines = ["    pass"]
    elif lines[0] == "":
        lines = lines[1:]
    text = "\n".join([HEADER, "", "@I.ir_module", "class Module:", *lines])
    return text + "\n", {"relax.expr.Constant": metadata.arrays} if metadata.arrays else {}


def _member(op: ir.Operation, metadata: Metadata) -> list[str]:
    if op.name == "func.func" and len(op.regions[0].blocks):
        try:
            if "relax.function" in op.attributes:
                return RelaxPrinter(op, metadata).text()
            if "tir.prim_func" in op.attributes:
                return TirPrinter(op).text()
        except RuntimeError as error:
            # Out of a walk the bindings raise RecursionError as a RuntimeError that quotes it.
            if not isinstance(error, RecursionError) and "RecursionError" not in str(error):
                raise
            name = ir.StringAttr(op.attributes["sym_name"]).value
            raise ExprError(
                f"branches or loops of function '{name}' are nested too deep for a script: put "
                "inner ones into functions of their own"
            ) from None
    first = op.get_asm(assume_verified=True, large_elements_limit=8).splitlines()[0]
    return [f"{UNSPOKEN}{first}"]
