"""Access paths: how Python reaches the place in a function where two programs differ."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.relax.expr.blocks import DataflowBlock, SeqExpr
from relax_mlir.relax.expr.places import DATAFLOW, TERMINATORS, is_binding

_REGIONS = {
    "func.func": ("body",), "relax.lambda": ("body",), "relax.if": ("true_branch", "false_branch"),
}  # fmt: skip
# What an expression without a binding has its value in.
_FIELDS = {"relax.prim_value": "value", "relax.constant": "data", "relax.shape_expr": "values"}


def access_path(op: ir.Operation, what: str = "") -> str:
    """Return what leads from a function to an operation in it, `""` where no attributes do.

    An example is `.body.blocks[0].bindings[1].value`, which follows a function in Python.

    Args:
        op: an operation of a Relax function.
        what: which part of it: `'relax.constant' 'value'` is that of a constant in it.
    """
    pieces: list[str] = []
    if op.name in TERMINATORS:
        field = next((f for leaf, f in _FIELDS.items() if what == f"'{leaf}' 'value'"), "")
        pieces += [field] if field else []
    while op.name != "func.func":
        parent = op.parent.operation if op.attached and op.parent is not None else None
        place = None if parent is None else _place(op, parent)
        if parent is None or place is None:
            return ""
        pieces += place
        op = parent
    return "".join(f".{piece}" for piece in reversed(pieces))


def _place(op: ir.Operation, parent: ir.Operation) -> list[str] | None:
    """Return the steps from the operation around another to that, the last first."""
    block = op.block
    if parent.name == DATAFLOW:
        bindings = [each.operation for each in block.operations if is_binding(each.operation)]
        return [f"bindings[{bindings.index(op)}].value"] if op in bindings else None
    region = next((i for i, r in enumerate(parent.regions) if block in list(r.blocks)), None)
    names = _REGIONS.get(parent.name)
    if names is None or region is None:
        return None
    if op.name in TERMINATORS:
        return ["body", names[region]]
    for index, each in enumerate(SeqExpr.of(block).blocks):
        inside = [each.mlir_op] if isinstance(each, DataflowBlock) else each._ops
        if op in inside:
            binding = "" if op.name == DATAFLOW else f".bindings[{inside.index(op)}].value"
            return [f"blocks[{index}]{binding}", names[region]]
    return None
