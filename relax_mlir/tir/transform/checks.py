"""Passes about what a prim func checks while it runs, and which one a module begins with."""

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.schedule import buffers
from relax_mlir.tir.transform.functions import each_prim_func, prim_funcs

arith = submodule("dialects.arith")
memref = submodule("dialects.memref")

_PLACES = {"memref.load": 0, "memref.store": 1}
_BELOW, _AT_LEAST = 2, 5
_ENTRY = "tir.is_entry_func"


def skip_assert(op: ir.Operation) -> None:
    """Remove the assertions of prim funcs.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        for found in collect(func.operation, lambda op: op.name == "tir.assert"):
            found.erase()

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
                size = _size(buffer, axis, emit)
                # Two comparisons: scripts have no name for one that takes indices as unsigned.
                for check in (arith.cmpi(_AT_LEAST, index, zero), arith.cmpi(_BELOW, index, size)):
                    inside = check if inside is None else arith.andi(inside, check)
            attributes = {"message": ir.StringAttr.get(message)}
            ir.Operation.create("tir.assert", operands=[inside], attributes=attributes)


def _size(buffer: ir.Value, axis: int, emit: Emitter) -> ir.Value:
    """Return a size of a buffer, by its symbols: scripts have no word for `memref.dim`."""
    noted = buffers.noted_dims(buffer)
    if noted is None or noted[axis].value is not None:
        return emit.index(emit.dim(buffer, axis))
    return ir.Operation.create(
        "tir.symbol", results=[ir.IndexType.get()], attributes={"value": Dims.of([noted[axis]])}
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
    found = {}
    if "arg_attrs" in func.attributes:
        pairs = zip(
            func.regions[0].blocks[0].arguments, ir.ArrayAttr(func.attributes["arg_attrs"]),
            strict=True,
        )  # fmt: skip
        for argument, attrs in pairs:
            if "tir.name" in ir.DictAttr(attrs):
                found[argument] = ir.StringAttr(ir.DictAttr(attrs)["tir.name"]).value
    return found


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
