"""Passes about what a prim func checks while it runs, and which one a module begins with."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.types import dtype_of_element
from relax_mlir.dialects.tir.layout import buffer_type
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.walk import collect, named
from relax_mlir.tir.transform.functions import each_prim_func, prim_funcs
from relax_mlir.tir.view import buffers
from relax_mlir.tir.view.folding import number_of

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")
scf: ModuleType = submodule("dialects.scf")

_PLACES = {"memref.load": 0, "memref.store": 1}
_BELOW, _AT_LEAST = 2, 5
_ENTRY = "tir.is_entry_func"


def skip_assert(op: ir.Operation) -> None:
    """Remove the assertions of prim funcs.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        for assertion in collect(func.operation, lambda op: op.name == "tir.assert"):
            assertion.erase()

    each_prim_func(op, change)


def instrument_bound_checkers(op: ir.Operation) -> None:
    """Assert in front of every load and store that its indices are inside the buffer.

    A prim func with a wrong index then raises an error that names the buffer, and touches no memory
    that is not its own. Its nests become plain loops.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, _instrument)


def _instrument(func: ir.OpView, emit: Emitter) -> None:
    names = _names(func.operation)
    for op in collect(func.operation, lambda op: op.name in _PLACES):
        position = _PLACES[op.name]
        buffer, *indices = list(op.operands)[position:]
        message = f"index out of bounds of buffer '{_name(buffer, names)}'"
        if not indices or _is_checked(op, message):
            continue
        with op.location, ir.InsertionPoint(op):
            inside, zero = None, emit.index(0)
            for axis, index in enumerate(indices):
                size, low = _size(buffer, axis, emit), zero
                wide = _number(index)
                if wide is not None:
                    op.operands[position + 1 + axis] = arith.index_cast(zero.type, wide)
                    index, size = wide, arith.index_cast(wide.type, size)
                    low = arith.ConstantOp(wide.type, 0).result
                # Two comparisons: scripts have no name for one that takes indices as unsigned,
                # nor words for one of two numbers, of which nothing is to be checked.
                known, end = number_of(index), number_of(size)
                checks = []
                if known is None or known < 0:
                    checks.append(arith.cmpi(_AT_LEAST, index, low))
                if known is None or end is None or known >= end:
                    checks.append(arith.cmpi(_BELOW, index, size))
                for check in checks:
                    inside = check if inside is None else arith.andi(inside, check)
            if inside is None:
                continue
            attributes = {"message": ir.StringAttr.get(message)}
            ir.Operation.create("tir.assert", operands=[inside], attributes=attributes)
    for op in collect(func.operation, lambda op: op.name == "scf.if" and len(op.results) > 0):
        if named(op, ("tir.assert",)):
            _as_statement(func.operation, op)


def _number(index: ir.Value) -> ir.Value | None:
    """Return a number of data that an index is, as scripts compare it; None for other indices."""
    if isinstance(index.owner, ir.Block) or index.owner.operation.name != "arith.index_cast":
        return None
    given, wide = index.owner.operation.operands[0], ir.IntegerType.get_signless(64)
    return given if given.type == wide else arith.extsi(wide, given)


def _as_statement(func: ir.Operation, op: ir.Operation) -> None:
    """Have the branches of a value store it: an expression of scripts holds no assertions."""
    with op.location, ir.InsertionPoint(op):
        cells = [_cell(func, value.type) for value in op.results]
        made = scf.IfOp(op.operands[0], has_else=True)
        for region, block in zip(op.regions, (made.then_block, made.else_block), strict=True):
            *body, end = [view.operation for view in region.blocks[0].operations]
            with ir.InsertionPoint(block):
                last = scf.YieldOp([]).operation
            for each in body:
                each.move_before(last)
            with ir.InsertionPoint(last):
                for cell, value in zip(cells, end.operands, strict=True):
                    memref.store(_stored(cell, value), cell, [])
        for cell, result in zip(cells, op.results, strict=True):
            loaded = buffers.loaded(cell, [])
            if isinstance(result.type, ir.IndexType):
                loaded = arith.index_cast(result.type, loaded)
            result.replace_all_uses_with(loaded)
    op.erase()


def _cell(func: ir.Operation, type_: ir.Type) -> ir.Value:
    """Allocate a buffer of one element for a value of some type."""
    i1 = isinstance(type_, ir.IntegerType) and type_.width == 1
    index = isinstance(type_, ir.IndexType)
    dtype = "bool" if i1 else "int64" if index else dtype_of_element(type_)
    made = memref.AllocOp(buffer_type([], dtype), [], []).operation
    made.attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    made.attributes["tir.name"] = ir.StringAttr.get(buffers.unused_name(func, "chosen"))
    made.attributes["tir.shape"] = Dims.of([])
    return made.result


def _stored(cell: ir.Value, value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IndexType):
        return arith.index_cast(ir.IntegerType.get_signless(64), value)
    return buffers.stored(cell, value)


def _size(buffer: ir.Value, axis: int, emit: Emitter) -> ir.Value:
    """Return a size of a buffer, by its symbols: scripts have no word for `memref.dim`."""
    declared = buffers.annotated_dims(buffer)
    if declared is None or declared[axis].value is not None:
        return emit.index(emit.dim(buffer, axis))
    return ir.Operation.create(
        "tir.symbol", results=[ir.IndexType.get()], attributes={"value": Dims.of([declared[axis]])}
    ).result


def _is_checked(op: ir.Operation, message: str) -> bool:
    """Whether an assertion of this message stands right in front of an operation."""
    before = None
    for view in op.block.operations:
        if view.operation == op:
            break
        before = view.operation
    return (
        before is not None and before.name == "tir.assert"
        and ir.StringAttr(before.attributes["message"]).value == message
    )  # fmt: skip


def _names(func: ir.Operation) -> dict[ir.Value, str]:
    result = {}
    if "arg_attrs" in func.attributes:
        pairs = zip(
            func.regions[0].blocks[0].arguments, ir.ArrayAttr(func.attributes["arg_attrs"]),
            strict=True,
        )  # fmt: skip
        for argument, attrs in pairs:
            if "tir.name" in ir.DictAttr(attrs):
                result[argument] = ir.StringAttr(ir.DictAttr(attrs)["tir.name"]).value
    return result


def _name(buffer: ir.Value, names: dict[ir.Value, str]) -> str:
    if buffer in names:
        return names[buffer]
    if isinstance(buffer.owner, ir.Block) or "tir.name" not in buffer.owner.operation.attributes:
        return "?"
    return ir.StringAttr(buffer.owner.operation.attributes["tir.name"]).value


def annotate_entry_func(op: ir.Operation) -> None:
    """Mark the prim func that a module begins with: its only one, or else its only public one.

    Args:
        op: the module, changed in place.
    """
    functions = [view.operation for view in prim_funcs(op)]
    public = [each for each in functions if "sym_visibility" not in each.attributes]
    for group in (functions, public):
        if len(group) == 1:
            group[0].attributes[_ENTRY] = ir.BoolAttr.get(True, op.context)
            return
