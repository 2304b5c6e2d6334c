"""Inlining of Relax functions."""

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.params import SYMBOLIC_KINDS, to_attribute
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.transform.relax.rebuild import substitute_type


def inline_body(
    func: ir.Operation, arguments: Sequence[ir.Value], ip: ir.InsertionPoint,
    symbols: Mapping[str, SymExpr] | None = None,
) -> ir.Value:  # fmt: skip
    """Copy what a function computes, and return the value that it returns.

    Inside a dataflow block the function's own dataflow blocks become part of it.

    Args:
        func: a Relax function.
        arguments: what its parameters are.
        ip: where the copies go.
        symbols: what symbols of the function stand for; others keep their names.
    """
    block = func.regions[0].blocks[0]
    values = dict(zip(block.arguments, arguments, strict=True))
    anchor = ip.ref_operation
    parent = ip.block.owner if anchor is None else anchor.operation.parent
    flat = parent is not None and parent.operation.name == "relax.dataflow"
    end = _copy(block, values, ip, symbols or {}, flat)
    return values[end.operands[0]]


def _copy(
    block: ir.Block, values: dict[ir.Value, ir.Value], ip: ir.InsertionPoint,
    symbols: Mapping[str, SymExpr], flat: bool,
) -> ir.Operation:  # fmt: skip
    """Copy the operations of a block but its last, which is returned."""
    *inner, end = [view.operation for view in block.operations]
    for op in inner:
        if flat and op.name == "relax.dataflow":
            output = _copy(op.regions[0].blocks[0], values, ip, symbols, flat)
            values.update(
                (result, values[given])
                for result, given in zip(op.results, output.operands, strict=True)
            )
            continue
        copy = op.clone(ip=ip).operation
        values.update(zip(op.results, copy.results, strict=True))
        _rename(copy, values, symbols)
    return end


def _rename(
    op: ir.Operation, values: Mapping[ir.Value, ir.Value], symbols: Mapping[str, SymExpr]
) -> None:
    """Have a copy, and all in it, use the new values and symbols."""

    def visit(each: ir.Operation) -> ir.WalkResult:
        for index, value in enumerate(each.operands):
            if value in values:
                each.operands[index] = values[value]
        if symbols:
            substitute_symbols(each, symbols)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)


def substitute_symbols(op: ir.Operation, symbols: Mapping[str, SymExpr]) -> None:
    """Replace symbols in the types of an operation's results and arguments, and in attributes."""
    for result in op.results:
        result.set_type(substitute_type(result.type, symbols))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                argument.set_type(substitute_type(argument.type, symbols))
    computed = COMPUTE_OPS.get(op.name.removeprefix("relax."))
    kinds: dict[str, str] = (
        {param.name: param.kind for param in computed.PARAMS} if computed else {}
    )
    for name, attribute in op.attributes.items():
        if isinstance(attribute, Dims):
            dims = [dim.substitute(symbols) for dim in attribute.dims]
            kind = kinds.get(name)
            # Numbers are kept as numbers, as where the operation is written with them.
            op.attributes[name] = (
                to_attribute(kind, dims if kind == "dims" else dims[0])
                if kind in SYMBOLIC_KINDS
                else Dims.of(dims)
            )
