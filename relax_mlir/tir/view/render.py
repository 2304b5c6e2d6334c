"""Errors of schedules: the program with carets at the cause."""

from collections.abc import Collection

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.view import tree

# The attribute that names a loop, a block or a function while it is scheduled. Operations are not
# held: they come and go, and a handle of one that is gone crashes the process.
SREF = "tir.sref"
_TOKEN = "schedule_mark_{}_"


def marked_program(module: ir.Module, numbers: Collection[int]) -> str:
    """Return the script of the functions that loops and blocks are in, with carets under these.

    Args:
        module: the module, which stays as it was.
        numbers: what the loops and blocks are numbered.
    """
    from relax_mlir.ir.module import IRModule

    names: dict[str, str] = {}
    mod = IRModule(module).clone()
    for view in list(mod.mlir_module.body.operations):
        function, count = view.operation, len(names)
        for op in tree.walk(function):
            if SREF not in op.attributes:
                continue
            if ir.IntegerAttr(op.attributes[SREF]).value in numbers:
                token = _TOKEN.format(len(names))
                names[token] = _rename(op, token)
            del op.attributes[SREF]
        if len(names) == count:
            function.erase()
    return "\n".join(line for text in mod.script().splitlines() for line in _lines(text, names))


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
    positions = sorted((line.index(token), token) for token in names if token in line)
    for _, token in positions:
        own = names[token]
        while token in line:
            column = line.index(token)
            line = line.replace(token, own, 1)
            if introduces and own and len(carets) <= column:
                carets = carets.ljust(column) + "^" * len(own)
    return [line, carets] if carets else [line]
