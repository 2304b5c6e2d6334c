"""The pass `normalize`: brings a program to the normal form that other passes require.

The IR is always in A-normal form, because operands are SSA values. This pass makes the remaining
choices of spelling.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import value_name
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, operations_in
from relax_mlir.dialects.relax.tuples import (
    get_item,
    is_make_tuple,
    is_tuple,
    known_fields,
    make_tuple,
)
from relax_mlir.relax.expr.places import operations_within
from relax_mlir.transform.relax.dead_code_elimination import inline_empty
from relax_mlir.transform.relax.rebuild import takes_arguments

# Their values are in their types and attributes alone.
_LITERALS = ("relax.shape_expr", "relax.prim_value", "relax.constant")


def normalize(module: ir.Operation) -> None:
    """Bring every Relax function into normal form, save those kept out of optimisations.

    The arguments of a call are made right where they are passed; a shape, number or constant is
    bound once per scope; dataflow blocks that hold no bindings are gone; every binding has a name.
    """
    for func in functions_to_optimize(module):
        names = _Names(func)
        for block in func.regions[0].blocks:
            _block(block, {}, names, "gv")


# Relay's name; it had expressions to flatten.
to_a_normal_form = normalize


def _block(block: ir.Block, literals: dict, names: "_Names", prefix: str) -> None:
    for view in list(block.operations):
        op = view.operation
        if op.name in _LITERALS:
            key = op.name, op.results[0].type, op.attributes.get("value")
            if key in literals:
                op.results[0].replace_all_uses_with(literals[key])
                op.erase()
                continue
            literals[key] = op.results[0]
        elif takes_arguments(op.name):
            _make_arguments(op)
        for region in op.regions:
            for inner in region.blocks:
                inside = "lv" if op.name == "relax.dataflow" else prefix
                _block(inner, dict(literals), names, inside)
        if op.name == "relax.dataflow" and len(list(operations_in(op))) == 1:
            inline_empty(op)
        elif len(op.results) == 1:
            names.give(op, prefix)


def _make_arguments(op: ir.Operation) -> None:
    """Unpack a tuple that is passed as the arguments of a call, and make it again at the call."""
    last = len(op.operands) - 1
    value = op.operands[last]
    if not is_tuple(value.type) or known_fields(value) is not None:
        return
    with ir.InsertionPoint(op), op.location:
        fields = [get_item(value, index) for index in range(value.type.num_types)]
        op.operands[last] = make_tuple(fields)


class _Names:
    """The names of a function's values, which are the names of their locations."""

    def __init__(self, func: ir.Operation) -> None:
        self._taken: set[str] = {value_name(op.location) for op in operations_within(func)}
        self._count: dict[str, int] = {}
        for argument in func.regions[0].blocks[0].arguments:
            self._taken.add(value_name(argument.location))

    def give(self, op: ir.Operation, prefix: str) -> None:
        """Name an operation that has no name, unless it only carries arguments to calls."""
        if value_name(op.location):
            return
        users = [use.owner.operation.name for use in op.results[0].uses]
        if is_make_tuple(op) and users and all(map(takes_arguments, users)):
            return
        count = self._count.get(prefix, 0)
        while (name := f"{prefix}{count or ''}") in self._taken:
            count += 1
        self._count[prefix] = count
        self._taken.add(name)
        op.location = ir.Location.name(name, childLoc=op.location)
