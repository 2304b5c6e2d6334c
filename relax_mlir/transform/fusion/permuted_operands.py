"""Permuted operands of matrix products, which kernels read by strides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest, match_nest
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    is_matrix_product,
    match_contraction,
)
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    NotFlat,
    collapse,
    flatten_nest,
)
from relax_mlir.transform.kernels.calls import TirCall
from relax_mlir.transform.kernels.contraction import (
    ContractionKernel,
    KernelCloner,
    match_contraction_kernel,
    nests_alone,
)
from relax_mlir.transform.kernels.elementwise import ElementwiseKernel, copied

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


@dataclass
class PermutedOperand:
    """A product of matrices that can read what a kernel permutes where it lies.

    Attributes:
        call: of the product's prim func.
        positions: of its arguments that are the permuted tensor.
        axes: for each axis of the tensor as it lies which of the permuted one it is.
    """

    call: TirCall
    positions: list[int]
    axes: list[int]

    def write(self, builder: PrimFuncBuilder) -> None:
        """Write the product's body over buffers of its arguments, with the tensor as it lies."""
        *arguments, out = (buffer.value for buffer in builder.buffers)
        cloner = KernelCloner(builder, ContractionKernel(self.call))
        cloner.begin(arguments, out)
        cloner.body()
        for position in self.positions:
            for use in list(arguments[position].uses):
                self._turn(use.owner.operation)

    def _turn(self, op: ir.Operation) -> None:
        if op.name == "memref.load":
            _, *indices = op.operands
            for place, axis in enumerate(self.axes):
                op.operands[1 + place] = indices[axis]
            return
        map_ = ir.AffineMapAttr(op.attributes["map"]).value
        results = [map_.results[axis] for axis in self.axes]
        map_of_stored = ir.AffineMap.get(map_.n_dims, map_.n_symbols, results)
        op.attributes["map"] = ir.AffineMapAttr.get(map_of_stored)


def permuted_axes(kernel: ElementwiseKernel) -> list[int] | None:
    """Return for each axis of a kernel's argument its axis in the result; None if it computes."""
    load = copied(kernel)
    if load is None or len(kernel.call.arguments) != 1:
        return None
    indices, points = list(load.operands)[1:], list(kernel.body.arguments)
    if len(indices) != len(points) or any(points.count(index) != 1 for index in indices):
        return None
    axes = [points.index(index) for index in indices]
    return axes if len(set(axes)) == len(axes) else None


def match_permuted(
    call: TirCall, permuted: ir.Value, axes: list[int], machine: Machine
) -> PermutedOperand | None:
    """Return a product of matrices that can read an argument as it lay before it was permuted.

    It can where it stays a product of matrices, and the tensor's last axis is one of a matrix: then
    registers are loaded from end to end, if across. Other tensors are better transposed in blocks.

    Args:
        call: of a prim func.
        permuted: the argument.
        axes: as `permuted_axes` gives them.
        machine: what kernels are for.
    """
    if match_contraction_kernel(call, machine) is None:
        return None
    positions = [i for i, value in enumerate(call.arguments) if value == permuted]
    nest = match_nest(nests_alone(call)[0])
    if not isinstance(nest, Nest):
        return None
    try:
        flat = flatten_nest(nest)
    except NotFlat:
        return None
    accesses = dict(flat.accesses)
    for position in positions:
        parameter = call.callee.entry_block.arguments[position]
        for use in parameter.uses:
            op = use.owner.operation
            if op.name == "tir.reads" and op.parent.operation == nest.block:
                continue
            strides = _strides(nest, op, _dims(call, position), axes) if op in accesses else None
            if strides is None:
                return None
            accesses[op] = FlatAccess(parameter, _ZERO, strides)
    is_product = _is_product(flat, accesses, positions, call, machine)
    return PermutedOperand(call, positions, axes) if is_product else None


def _is_product(
    flat: FlatNest,
    accesses: dict[ir.Operation, FlatAccess],
    positions: Sequence[int],
    call: TirCall,
    machine: Machine,
) -> bool:
    contraction = match_contraction(collapse(replace(flat, accesses=accesses)))
    if not isinstance(contraction, Contraction) or not is_matrix_product(contraction, machine):
        return False
    parameters = [call.callee.entry_block.arguments[position] for position in positions]
    for side, across in ((contraction.a, contraction.m), (contraction.b, contraction.n)):
        near = {side.strides[i].value for i in (contraction.k, across) if i is not None}
        if side.buffer in parameters and 1 not in near:
            return False
    return True


def _dims(call: TirCall, position: int) -> list[SymExpr]:
    attributes = ir.DictAttr(call.callee.operation.attributes["arg_attrs"][position])
    return list(Dims(attributes["tir.shape"]).dims)


def _strides(
    nest: Nest, op: ir.Operation, dims: Sequence[SymExpr], axes: Sequence[int]
) -> list[SymExpr] | None:
    """Return how far an access is from one step of each loop to the next, None if that varies."""
    access = next((each for each in nest.loads if each.op == op), None)
    if access is None or None in access.iters:
        return None
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    strides, stride = [_ZERO] * len(order), _ONE
    for axis in reversed(axes):
        iterator = access.iters[axis]
        if iterator is not None and iterator >= 0:
            where = order.index(iterator)
            strides[where] = strides[where] + stride
        stride = stride * dims[axis]
    return strides
