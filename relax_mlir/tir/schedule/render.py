"""Errors of schedules: the program with carets under what the error is about."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import tree

_TOKEN = "schedule_mark_{}_"


def marked_program(module: ir.Module, ops: Sequence[ir.Operation]) -> str:
    """Return the script of the functions that operations are in, with carets under these.

    Args:
        module: the module, which stays as it was.
        ops: loops and blocks of it.
    """
    from relax_mlir.ir.module import IRModule

    functions = {tree.string(tree.function_of(op), "sym_name") for op in ops}
    tokens = {_TOKEN.format(i): _place(op) for i, op in enumerate(ops)}
    names: dict[str, str] = {}
    mod = IRModule(module).clone()
    by_place = {place: token for token, place in tokens.items()}
    for view in list(mod.mlir_module.body.operations):
        function = view.operation
        name = tree.string(function, "sym_name") if "sym_name" in function.attributes else ""
        if name not in functions:
            function.erase()
            continue
        for number, op in enumerate(tree.walk(function)):
            if "tir.sref" in op.attributes:
                del op.attributes["tir.sref"]
            token = by_place.get((name, number))
            if token is not None:
                names[token] = _rename(op, token)
    return "\n".join(line for text in mod.script().splitlines() for line in _lines(text, names))


def _place(op: ir.Operation) -> tuple[str, int]:
    function = tree.function_of(op)
    number = next(i for i, each in enumerate(tree.walk(function)) if each == op)
    return tree.string(function, "sym_name"), number


def _rename(op: ir.Operation, token: str) -> str:
    """Give a loop or a block a name that nothing else has; returns its own."""
    with op.context:
        if op.name == tree.LOOP:
            own = tree.loop_name(op)
            tree.variable(op).set_location(ir.Location.name(token))
        elif op.name == tree.BLOCK:
            own = tree.block_name(op)
            op.attributes["block_name"] = ir.StringAttr.get(token)
        else:
            own = ""
    return own


def _lines(line: str, names: dict[str, str]) -> list[str]:
    """Return a line with its own names again, and carets below where one of them is introduced."""
    carets = ""
    introduces = line.lstrip().startswith(("for ", "with T.block("))
    for token, own in names.items():
        while token in line:
            column = line.index(token)
            line = line.replace(token, own, 1)
            if introduces and own and len(carets) <= column:
                carets = carets.ljust(column) + "^" * len(own)
    return [line, carets] if carets else [line]
