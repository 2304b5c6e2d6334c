"""The pass `convert-to-dataflow`: runs of pure bindings become dataflow blocks."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.core import impurity
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import get_item, is_make_tuple, known_fields, make_tuple
from relax_mlir.lowering.walk import collect
from relax_mlir.relax.expr.places import is_leaf
from relax_mlir.transform.relax.rebuild import takes_arguments

_CONTROL = ("relax.if", "relax.while", "relax.for")
_TERMINATORS = ("func.return", "relax.yield", "relax.condition", "relax.output")


def convert_to_dataflow(module: ir.Operation, min_size: int = 2) -> None:
    """Put every run of at least `min_size` pure bindings into one dataflow block.

    Blocks that are there already stay, whatever their size, and are joined with what is pure around
    them. What has an effect keeps its place, and nothing moves over it.
    """
    for func in functions_to_optimize(module):
        opened = _open_blocks(func)
        blocks = list(func.regions[0].blocks)
        for op in collect(
            func, lambda op: op.name in ("relax.if", "relax.lambda", "relax.while", "relax.for")
        ):
            # The condition of a loop is one expression.
            regions = list(op.regions)[1 if op.name == "relax.while" else 0 :]
            blocks += [block for region in regions for block in region.blocks]
        for block in blocks:
            for run in _runs(block):
                # A constant in place, or the tuple of a call's arguments, is no binding.
                bindings = [op for op in run if not is_leaf(op) and not _is_arguments(op)]
                if len(bindings) >= min_size or any(op in opened for op in bindings):
                    _enclose(run)


def _open_blocks(func: ir.Operation) -> set[ir.Operation]:
    """Move the bindings of every dataflow block before it, and return them."""
    opened: set[ir.Operation] = set()
    for op in collect(func, lambda op: op.name == "relax.dataflow"):
        *bindings, output = [view.operation for view in op.regions[0].blocks[0].operations]
        for binding in bindings:
            binding.move_before(op)
            opened.add(binding)
        for result, value in zip(op.results, output.operands, strict=True):
            fields = known_fields(value)
            for use in list(result.uses):
                user = use.owner.operation
                if user.name == "relax.tuple_get_item" and fields is not None:
                    field = fields[user.attributes["index"].value]
                    user.results[0].replace_all_uses_with(field)
                    user.erase()
            result.replace_all_uses_with(value)
        made = [
            value.owner.operation for value in output.operands if known_fields(value) is not None
        ]
        op.erase()
        for each in made:
            if next(iter(each.results[0].uses), None) is None:
                opened.discard(each)
                each.erase()
    return opened


def _runs(block: ir.Block) -> list[list[ir.Operation]]:
    runs: list[list[ir.Operation]] = [[]]
    for view in block.operations:
        op = view.operation
        nested = len(op.regions) and op.name != "relax.lambda"
        if op.name in _TERMINATORS or nested or impurity(op) or _is_variable(op):
            runs.append([])
        else:
            runs[-1].append(op)
    return runs


def _is_variable(op: ir.Operation) -> bool:
    """Whether an operation only says which variable control flow gives, or names an integer."""
    if op.name == "relax.tuple_get_item":
        owner = op.operands[0].owner
        return not isinstance(owner, ir.Block) and owner.operation.name in _CONTROL
    return op.name == "relax.match_prim"


def _enclose(run: Sequence[ir.Operation]) -> None:
    """Move operations into a dataflow block; what is used after them comes out of it."""
    inside = set(run)
    # A constant in place that something behind the block uses is no output of it.
    free = [op for op in run if _is_literal(op) and _outer_uses(op.results[0], inside)]
    run = [op for op in run if op not in free]
    for op in free:
        op.move_before(run[0])
        inside.discard(op)
    # The arguments of a call are made next to it, as it unpacks them: those of a call outside
    # are made there.
    last = [op for op in run if not _is_arguments(op)][-1]
    stays = [op for op in reversed(run) if not _is_arguments(op) or _copy_behind(op, last, inside)]
    run = stays[::-1]
    outputs = [value for op in run for value in op.results if _outer_uses(value, inside)]
    with ir.InsertionPoint(run[0]), run[0].location:
        types = [value.type for value in outputs]
        whole = types if len(types) < 2 else [ir.TupleType.get_tuple(types)]
        dataflow = ir.Operation.create("relax.dataflow", results=whole, regions=1)
        results = list(dataflow.results)
        if len(outputs) > 1:
            results = []
            for index, value in enumerate(outputs):
                with value.owner.operation.location:
                    results.append(get_item(dataflow.result, index))
    for value, result in zip(outputs, results, strict=True):
        for use in _outer_uses(value, inside):
            use.owner.operation.operands[use.operand_number] = result
    body = dataflow.regions[0].blocks.append()
    with ir.InsertionPoint(body), dataflow.location:
        operands = outputs if len(outputs) < 2 else [make_tuple(outputs)]
        end = ir.Operation.create("relax.output", operands=operands)
    first = operands[0].owner.operation if len(outputs) > 1 else end
    for op in run:
        op.move_before(first)


def _is_arguments(op: ir.Operation) -> bool:
    return is_make_tuple(op) and (
        is_leaf(op) or any(takes_arguments(use.owner.operation.name) for use in op.results[0].uses)
    )


def _is_literal(op: ir.Operation) -> bool:
    return is_leaf(op) and not is_make_tuple(op)


def _outer_uses(value: ir.Value, inside: set[ir.Operation]) -> list[ir.OpOperand]:
    """Return the uses of a value by others than some operations, and functions in them."""
    return [use for use in value.uses if not _is_inside(use.owner.operation, inside)]


def _is_inside(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    while op not in inside:
        if op.name == "func.func" or op.parent is None:
            return False
        op = op.parent.operation
    return True


def _copy_behind(op: ir.Operation, last: ir.Operation, inside: set[ir.Operation]) -> bool:
    """Make a tuple behind the run for those that use it there; return whether any use is left."""
    uses = _outer_uses(op.results[0], inside)
    if len(uses) == len(list(op.results[0].uses)):
        # Nobody inside needs it: it only changes place.
        op.move_after(last)
        inside.discard(op)
        return False
    if uses:
        with ir.InsertionPoint.after(last), op.location:
            copy = make_tuple(list(op.operands))
        for use in uses:
            use.owner.operation.operands[use.operand_number] = copy
    return True
