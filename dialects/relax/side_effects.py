"""Effects and aliasing of Relax operations, for passes."""

from collections.abc import Iterable, Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields

# Looked up once: that takes longer than all else that most visits do.
_ADVANCE = ir.WalkResult.ADVANCE
# Attributes that keep a function out of optimisations: it is done, or another compiler owns it.
_SKIP = tuple(
    prefix + name
    for name in ("SkipOptimization", "Codegen", "Compiler")
    for prefix in ("", "relax.")
)
# Packed functions that have an effect but change no tensor.
_READ_ONLY = ("vm.builtin.print", "vm.builtin.assert_op")
# What they return may be, or hold, what they are given.
_SHARING = (
    "relax.match_cast", "relax.call", "relax.call_packed", "relax.call_pure_packed",
    "relax.make_closure", "relax.invoke_closure",
)  # fmt: skip
_SCOPES = ("relax.if", "relax.dataflow", *LOOPS)
_TERMINATORS = ("relax.output", "relax.yield")
# They change nothing but may fail, or bind the symbols of what follows.
_ASSERTING = ("relax.match_cast", "relax.match_prim")


def functions_to_optimize(module: ir.Operation) -> list[ir.Operation]:
    """Return the Relax functions with a body that no attribute keeps out of optimisations."""
    return [
        view.operation
        for view in module.regions[0].blocks[0].operations
        if "relax.function" in view.operation.attributes
        and view.operation.regions[0].blocks
        and not any(_is_set(view.operation, name) for name in _SKIP)
    ]


def _is_set(op: ir.Operation, name: str) -> bool:
    attribute = op.attributes.get(name, False)
    return bool(getattr(attribute, "value", attribute))


def operations_in(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations directly in the regions of an operation."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation


def is_pure(op: ir.Operation) -> bool:
    """Whether an operation may be left out, repeated or moved: no effect, nothing asserted."""
    name = op.name
    computation = COMPUTE_OPS.get(name.removeprefix("relax."))
    if computation is not None:
        return computation.PURE
    if name == "relax.while":
        # It may never end, and what comes after it then never happens.
        return False
    if name in _SCOPES:
        return all(is_pure(inner) for inner in operations_in(op))
    if name in ("relax.call", "relax.invoke_closure"):
        return "pure" in op.attributes
    if name in _ASSERTING or name in ("relax.call_packed", "relax.alloc_tensor"):
        return False
    return name.startswith("relax.") or is_make_tuple(op)


def may_write(op: ir.Operation) -> bool:
    """Whether an operation may change a tensor that exists already."""
    name = op.name
    if name.removeprefix("relax.") in COMPUTE_OPS:
        return False
    if name in _SCOPES:
        return any(may_write(inner) for inner in operations_in(op))
    if name == "relax.call_packed":
        return op.attributes["func"].value not in _READ_ONLY
    return name not in _ASSERTING and not is_pure(op)


def sources(value: ir.Value) -> list[ir.Value]:
    """Return the values that a value may share memory with because it was made from them."""
    if isinstance(value.owner, ir.Block):
        around = value.owner.owner.operation
        return _carried(around) if around.name in LOOPS else []
    op = value.owner.operation
    name = op.name
    if name == "relax.tuple_get_item":
        fields = known_fields(op.operands[0])
        return [op.operands[0]] if fields is None else [fields[op.attributes["index"].value]]
    if name in LOOPS:
        return _carried(op)
    if name in _SCOPES:
        ends = [inner for inner in operations_in(op) if inner.name in _TERMINATORS]
        return [operand for end in ends for operand in end.operands]
    if name == "relax.lambda":
        return captured_values(op)
    if name in _SHARING or is_make_tuple(op):
        return list(op.operands)
    return []


def _carried(loop: ir.Operation) -> list[ir.Value]:
    """Return what a loop is given and what a turn gives the next one."""
    ends = [inner for inner in operations_in(loop) if inner.name == "relax.yield"]
    return [*loop.operands, *(operand for end in ends for operand in end.operands)]


def captured_values(op: ir.Operation) -> list[ir.Value]:
    """Return the values from around an operation that its regions use, in order."""
    inside: set[ir.Value] = set()
    result: dict[ir.Value, None] = {}

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for operand in inner.operands:
            if operand not in inside:
                result[operand] = None
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        return _ADVANCE

    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
            for view in block.operations:
                view.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return list(result)


def closure(values: Iterable[ir.Value]) -> set[ir.Value]:
    """Return the values and all that they may share memory with."""
    result: set[ir.Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in result:
            result.add(value)
            pending += sources(value)
    return result


def written_values(func: ir.Operation) -> set[ir.Value]:
    """Return the values whose memory an impure operation of a function may change.

    Computing such a value once instead of twice, or at compile time, would be seen.
    """
    handed: list[ir.Value] = []

    passed_over = {"func.func", "func.return", *_SCOPES}

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        if (
            name.removeprefix("relax.") not in COMPUTE_OPS
            and name not in passed_over
            and may_write(op)
        ):
            handed.extend(op.operands)
        return _ADVANCE

    func.walk(visit)
    return closure(handed)


def returned_values(func: ir.Operation) -> set[ir.Value]:
    """Return the values whose memory the caller of a function may get hold of."""
    ends = [op for op in operations_in(func) if op.name == "func.return"]
    return closure(operand for end in ends for operand in end.operands)


# Whether they write is said by their attributes, or by what is in them.
_DEPENDS = ("relax.call", "relax.call_packed", "relax.invoke_closure", *_SCOPES)


def writing_functions(module: ir.Operation) -> frozenset[str]:
    """Return the names of the Relax functions in which an operation may write to a tensor."""
    result: set[str] = set()
    # An operation takes a microsecond: most are of a name that is known not to write.
    harmless: set[str] = {"func.func", "func.return", *_TERMINATORS, *_SCOPES}

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        if name in harmless:
            return _ADVANCE
        if name.startswith("relax.") and may_write(op):
            writing.append(name)
            return ir.WalkResult.INTERRUPT
        if name not in _DEPENDS:
            harmless.add(name)
        return _ADVANCE

    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if "relax.function" not in op.attributes:
            continue
        writing: list[str] = []
        op.walk(visit)
        if writing:
            result.add(op.attributes["sym_name"].value)
    return frozenset(result)
