"""Printing modules."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprError
from relax_mlir.ir.global_info import ATTRIBUTE, GlobalInfo, VDevice
from relax_mlir.ir.module import IRModule
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.options import PrintOptions
from relax_mlir.script.printer.relax import RelaxPrinter
from relax_mlir.script.printer.relax_expr import Metadata
from relax_mlir.script.printer.spelling import UNSPOKEN
from relax_mlir.script.printer.tir import TirPrinter

_DEFAULT = PrintOptions()
HEADER = "# from relax_mlir.script import ir as I, relax as R, tir as T"


def print_module(
    module: IRModule, options: PrintOptions = _DEFAULT
) -> tuple[str, dict[str, list[Any]]]:
    """Return the script of a module, and its constants of more than 64 elements.

    Raises:
        ExprError: branches or loops are nested deeper than Python's stack.
    """
    metadata = Metadata(options)
    lines: list[str] = []
    with module.context:
        lines += [f"    {line}" for line in _statements(module)]
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


def _statements(module: IRModule) -> list[str]:
    """Return the lines of a module's attributes and global infos."""
    operation, lines = module.mlir_module.operation, []
    texts = {
        name.removeprefix("relax."): spelling.attribute(operation.attributes[name])
        for name in operation.attributes
        if name not in ("sym_name", ATTRIBUTE)
    }
    items = [f"{spelling.quote(name)}: {text}" for name, text in texts.items() if text is not None]
    if items:
        lines.append(f"I.module_attrs({{{', '.join(items)}}})")
    infos = [
        f"{spelling.quote(name)}: [{', '.join(map(_info, entries))}]"
        for name, entries in module.global_infos.items()
    ]
    return [*lines, f"I.module_global_infos({{{', '.join(infos)}}})"] if infos else lines


def _info(info: GlobalInfo) -> str:
    call = "I.vdevice" if isinstance(info, VDevice) else "I.dummy_global_info"
    return f"{call}({', '.join(map(spelling.python, info.fields().values()))})"


def _extern_func(op: ir.Operation) -> str:
    """Return a packed function as a member: `f = R.ExternFunc("f", R.Callable(...))`."""
    given = op.attributes
    words = [spelling.attribute(given["func"])]
    ret = spelling.type_text(given["result"].value, True) if "result" in given else "R.Any"
    if "params" in given:
        params = [spelling.type_text(each.value, True) for each in given["params"]]
        words.append(f"R.Callable({spelling.sequence(params)}, {ret}, {'pure' in given})")
    elif "result" in given or "pure" in given:
        words.append(f"R.Callable(ret={ret}, purity={'pure' in given})")
    return f"{given['sym_name'].value} = R.ExternFunc({', '.join(map(str, words))})"


def _member(op: ir.Operation, metadata: Metadata) -> list[str]:
    if op.name == "relax.extern_func":
        return [_extern_func(op)]
    if op.name == "func.func" and len(op.regions[0].blocks):
        try:
            if "relax.function" in op.attributes:
                return RelaxPrinter(op, metadata).text()
            if "tir.prim_func" in op.attributes:
                return TirPrinter(op, metadata.options).text()
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
