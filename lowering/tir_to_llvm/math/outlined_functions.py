"""Outlining: an elementary function that a nest computes many times becomes a function.

Inlined, each is dozens of instructions: long compile times, and code beyond the instruction cache.
"""

from collections import Counter
from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir

# The mark of an operation that is to be called.
CALLED = "called"
# Fewer are written out: a call keeps nothing in vector registers.
_MIN_USES = 12
_WIDTH = "prefer_vector_width"
LONG = frozenset(
    f"math.{name}"
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp",
        "exp2", "expm1", "log", "log10", "log1p", "log2", "powf", "sin", "sinh", "tan", "tanh",
    )
)  # fmt: skip


def called_functions(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """Return the operations of a nest that occur so often in it that one function pays."""
    counts = Counter(map(_kind, ops))
    return {op for op in ops if op.name in LONG and counts[_kind(op)] >= _MIN_USES}


def call_functions(module: ir.Operation, marked: Sequence[ir.Operation]) -> None:
    """Turn operations of a module that are marked `CALLED` into calls of one function of a kind."""
    made: dict[tuple[str, str, str], str] = {}
    block = module.regions[0].blocks[0]
    for op in marked:
        del op.attributes[CALLED]
        relaxed = str(op.attributes["fastmath"]) if "fastmath" in op.attributes else ""
        kind = op.name, str(op.results[0].type), relaxed
        if kind not in made:
            made[kind] = _function(block, op, f"relax_{op.name.replace('.', '_')}_{len(made)}")
        with op.location, ir.InsertionPoint(op):
            call = ir.Operation.create(
                "func.call",
                results=[op.results[0].type],
                operands=list(op.operands),
                attributes={"callee": ir.FlatSymbolRefAttr.get(made[kind])},
            )
        op.results[0].replace_all_uses_with(call.results[0])
        op.erase()


def _kind(op: ir.Operation) -> tuple[str, str]:
    return op.name, str(op.results[0].type) if len(op.results) else ""


def _function(block: ir.Block, op: ir.Operation, name: str) -> str:
    """Write a function of what an operation computes and return its name."""
    types = [value.type for value in op.operands]
    caller = op.parent
    while caller.name != "func.func":
        caller = caller.parent
    unknown = ir.Location.unknown(op.context)
    with unknown, ir.InsertionPoint.at_block_begin(block):
        notes = [ir.StringAttr.get(each) for each in ("noinline", "nounwind")]
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [op.results[0].type])),
            "llvm.linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "passthrough": ir.ArrayAttr.get(notes),
        }
        # Vectors are passed in registers as wide as those of the caller.
        if _WIDTH in caller.attributes:
            attributes[_WIDTH] = caller.attributes[_WIDTH]
        function = ir.Operation.create("func.func", regions=1, attributes=attributes)
        entry = ir.Block.create_at_start(function.regions[0], types, [unknown] * len(types))
        with ir.InsertionPoint(entry):
            copy = op.clone().operation
            for index, value in enumerate(entry.arguments):
                copy.operands[index] = value
            ir.Operation.create("func.return", operands=list(copy.results))
    return name
