"""Contraction kernels: calls whose prim func adds products, and then maps the sums one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.lowering.tir_to_vector.analysis import Nest, match_nest, top_level
from relax_mlir.lowering.tir_to_vector.contraction import Contraction, match_contraction
from relax_mlir.lowering.tir_to_vector.convolution import Convolution, match_convolution
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, NotFlat, collapse, flatten_nest
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.transform.tir_calls import TirCall

_BESIDE_NESTS = ("arith.constant", "tir.symbol", "memref.alloc", "func.return")


@dataclass
class ContractionKernel:
    """A call whose prim func's last nest stores each element of its output once."""

    call: TirCall


def match_contraction_kernel(call: TirCall | None) -> ContractionKernel | None:
    """Return a call as a contraction kernel, None when it is none."""
    if call is None:
        return None
    entry = call.callee.operation.regions[0].blocks[0]
    tops = list(top_level(call.callee))
    others = [view.operation.name for view in entry.operations if view.operation not in tops]
    if not tops or any(name not in _BESIDE_NESTS for name in others):
        return None
    first, *rest = (_flat(op) for op in tops)
    if first is None or not isinstance(match_contraction(first), Contraction):
        return None
    # A window is a contraction too, but its kernel keeps nothing in registers for what follows.
    if isinstance(match_convolution(first, Machine()), Convolution):
        return None
    if any(flat is None or flat.total is not None for flat in rest):
        return None
    output = entry.arguments[len(call.arguments)]
    stores = [flat for flat in (first, *rest) if flat is not None and flat.written == output]
    return ContractionKernel(call) if len(stores) == 1 else None


def _flat(op: ir.Operation) -> FlatNest | None:
    nest = match_nest(op)
    if not isinstance(nest, Nest):
        return None
    try:
        return collapse(flatten_nest(nest))
    except NotFlat:
        return None


def clone_kernel(
    builder: PrimFuncBuilder, kernel: ContractionKernel, arguments: Sequence[ir.Value], name: str
) -> Buffer:
    """Write a kernel's body at the current point; returns the buffer that holds its results.

    Args:
        builder: of the function to write to.
        kernel: what to write.
        arguments: the buffers to read for the kernel's arguments.
        name: of the buffer that stands for its output.
    """
    call = kernel.call
    entry = call.callee.operation.regions[0].blocks[0]
    mapping: dict[ir.Value, ir.Value] = dict(zip(entry.arguments, arguments, strict=False))
    output = entry.arguments[len(call.arguments)]
    attributes = ir.DictAttr(call.callee.operation.attributes["arg_attrs"][len(call.arguments)])
    result = _alloc(builder, {item.name: item.attr for item in attributes}, kernel, name)
    mapping[output] = result.value
    for view in entry.operations:
        op = view.operation
        if op.name == "func.return":
            break
        if op.name == "tir.symbol":
            mapping[op.results[0]] = _symbol(builder, op, kernel)
        elif op.name == "memref.alloc":
            known = {item: op.attributes[item] for item in op.attributes}
            temporary = ir.StringAttr(known["tir.name"]).value
            mapping[op.results[0]] = _alloc(builder, known, kernel, temporary).value
        else:
            _clone(builder, op, mapping, kernel)
    return result


def _alloc(
    builder: PrimFuncBuilder, attributes: dict[str, ir.Attribute], kernel: ContractionKernel,
    name: str,
) -> Buffer:  # fmt: skip
    dims = [dim.substitute(kernel.call.symbols) for dim in Dims(attributes["tir.shape"]).dims]
    return builder.alloc(name, dims, ir.StringAttr(attributes["tir.dtype"]).value)


def _symbol(builder: PrimFuncBuilder, op: ir.Operation, kernel: ContractionKernel) -> ir.Value:
    (expr,) = Dims(op.attributes["value"]).dims
    return builder.symbol(expr.substitute(kernel.call.symbols)).value


def _clone(
    builder: PrimFuncBuilder, op: ir.Operation, mapping: dict[ir.Value, ir.Value],
    kernel: ContractionKernel,
) -> None:  # fmt: skip
    """Copy an operation, what is inside it reading the values that `mapping` has for it."""
    made = op.clone().operation
    symbols: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "tir.symbol":
            symbols.append(inner)
        for position, value in enumerate(inner.operands):
            if value in mapping:
                inner.operands[position] = mapping[value]
        return ir.WalkResult.ADVANCE

    made.walk(visit)
    for symbol in symbols:
        symbol.results[0].replace_all_uses_with(_symbol(builder, symbol, kernel))
        symbol.erase()
    for old, new in zip(op.results, made.results, strict=True):
        mapping[old] = new
