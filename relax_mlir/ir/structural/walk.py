"""Classification of operations and attributes: what counts as structure, what is only a name."""

from collections.abc import Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.facts import BOTH, LOWER, UPPER
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE
from relax_mlir.ir.structural.canonical_order import ACCESSES, in_one_form, in_order
from relax_mlir.ir.structural.window_attributes import is_windowed, written_out

# Operations that stand for an expression where they are used: where and how often they are written
# does not matter, as for TVM's Constant, ShapeExpr and IntImm.
_LEAVES = frozenset(
    ("relax.constant", "relax.shape_expr", "relax.prim_value", "tir.symbol", "arith.constant")
)
# Those of prim funcs, which are no variables there: what nothing uses is not there.
_NUMBERS = frozenset(("tir.symbol", "arith.constant"))
# What looks at a tuple itself; everything else of Relax takes its arguments as one.
_TUPLE_USERS = frozenset(
    ("relax.output", "relax.yield", "relax.condition", "relax.tuple_get_item", "relax.match_cast")
)
# Attributes of a function whose keys are symbols.
_OF_SYMBOLS = (UPPER, LOWER, BOTH)
# Attributes that say a name: of the function itself, of its parameters, of a block, of a
# buffer; those that are compared in another way; and what is true of every prim func.
_NAMES = {
    "func.func": frozenset(
        (
            "sym_name",
            "sym_visibility",
            "relax.params",
            "arg_attrs",
            "function_type",
            "tir.noalias",
            *_OF_SYMBOLS,
        )
    ),
    "relax.extern_func": frozenset(("sym_name",)),
    "tir.block": frozenset(("block_name",)),
    "memref.alloc": frozenset(("tir.name",)),
    "memref.reinterpret_cast": frozenset(("tir.name",)),
}
_NONE: frozenset[str] = frozenset()


def is_leaf(op: ir.Operation) -> bool:
    """Whether an operation is an expression in place, compared where it is used."""
    name = op.name
    if name in _NUMBERS:
        return True
    if name in _LEAVES or (name == MAKE_TUPLE and not len(op.operands)):
        return next(iter(op.results[0].uses), None) is not None
    if name != MAKE_TUPLE or len(op.results) != 1:
        return False
    users = [use.owner.operation.name for use in op.results[0].uses]
    return bool(users) and all(
        user.startswith("relax.") and user not in _TUPLE_USERS for user in users
    )


def steps(block: ir.Block) -> list[ir.Operation]:
    """Return the operations of a block that count, which expressions in place do not, in one order.

    Where the order of operations says nothing, it is that of what uses them.
    """
    result = []
    for view in block.operations:
        op = view.operation
        name = op.name
        if (name in _LEAVES or name == MAKE_TUPLE) and is_leaf(op):
            continue
        if name == "relax.dataflow" and _given_out(op) is not None:
            continue
        result.append(op)
    return in_order(result)


def operands_of(op: ir.Operation) -> list[ir.Value]:
    """Return the operands of an operation; one from a block without bindings is what it gives."""
    return list(map(_through, op.operands))


def _through(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.name == "relax.dataflow":
        given = _given_out(value.owner.operation)
        if given is None:
            break
        value = given
    return value


def _given_out(op: ir.Operation) -> ir.Value | None:
    """Return what a dataflow block without bindings gives out, None where it has some.

    Such a block is none in normal form, TVM's too.
    """
    if len(op.results) != 1 or not len(op.regions[0].blocks):
        return None
    *inner, end = [view.operation for view in op.regions[0].blocks[0].operations]
    if end.name != "relax.output" or len(end.operands) != 1:
        return None
    if any(each.name not in _LEAVES for each in inner):
        return None
    return end.operands[0]


def leaf_of(value: ir.Value) -> ir.Operation | None:
    """Return the expression in place that a value is, None when it is none."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return op if is_leaf(op) else None


def attributes_of(op: ir.Operation) -> list[tuple[str, ir.Attribute]]:
    """Return the attributes that say more than a name, in order."""
    attributes = op.attributes
    if not len(attributes):
        return []
    names = _NAMES.get(op.name, _NONE)
    if is_windowed(op.name):
        return written_out(op)
    if op.name in ACCESSES:
        return [(name, in_one_form(value)) for name, value in attributes.items()]
    return [(name, value) for name, value in attributes.items() if name not in names]


def parameter_attributes(func: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """Return the attributes of each parameter of a function, those that only name it left out."""
    if "arg_attrs" not in func.attributes:
        return []
    return [
        {named.name: named.attr.maybe_downcast() for named in ir.DictAttr(each)}
        for each in ir.ArrayAttr(func.attributes["arg_attrs"])
    ]


def symbol_attributes(func: ir.Operation) -> list[tuple[str, dict[str, str]]]:
    """Return what attributes of a function say of its symbols, by attribute and symbol."""
    attributes = func.attributes
    return [
        (name, {item.name: str(item.attr) for item in attributes[name]})
        for name in _OF_SYMBOLS
        if name in attributes and isinstance(attributes[name], ir.DictAttr)
    ]


def opens_scope(op: ir.Operation) -> bool:
    """Whether symbols bound in an operation's regions are unknown after it."""
    return op.name != "relax.dataflow"


def function_type(op: ir.Operation) -> ir.FunctionType | None:
    """Return the type of a function, None for what is none."""
    if "function_type" not in op.attributes:
        return None
    type_ = ir.TypeAttr(op.attributes["function_type"]).value
    return ir.FunctionType(type_) if isinstance(type_, ir.FunctionType) else None


def symbol_name(op: ir.Operation) -> str | None:
    """Return the name of a function, None for what has none."""
    if "sym_name" not in op.attributes:
        return None
    return ir.StringAttr(op.attributes["sym_name"]).value


def is_private(op: ir.Operation) -> bool:
    """Whether only its own module can call a function."""
    attribute = op.attributes.get("sym_visibility")
    return isinstance(attribute, ir.StringAttr) and attribute.value == "private"


def top_level(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations directly in a module."""
    for view in module.regions[0].blocks[0].operations:
        yield view.operation


def functions_around(op: ir.Operation) -> dict[str, ir.Operation]:
    """Return the functions of the module that an operation is in, by name."""
    while op.name != "builtin.module":
        parent = op.parent if op.attached else None
        if parent is None:  # a block that a builder has not put anywhere yet
            return {}
        op = parent.operation
    return {name: each for each in top_level(op) if (name := symbol_name(each)) is not None}
