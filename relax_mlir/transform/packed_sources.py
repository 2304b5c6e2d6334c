"""Where a matrix that kernels multiply by comes from: a constant, or what is computed from one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.transform.elementwise_kernels import (
    ElementwiseKernel,
    copied,
    is_identity,
    match_elementwise,
)
from relax_mlir.transform.tir_calls import match_call

_BESIDE = ("tir.reads", "tir.writes")


@dataclass
class Source:
    """A matrix to pack.

    Attributes:
        matrix: the constant.
        producer: the call that computes from it what is multiplied, None where it is that itself.
        position: which of the call's arguments it is.
        inputs: the call's other arguments.
        turn: the call that exchanges rows and columns of what is computed, None where none does.
    """

    matrix: ir.Value
    producer: ElementwiseKernel | None = None
    position: int = 0
    inputs: list[ir.Value] = field(default_factory=list)
    turn: ir.Operation | None = None

    def write(
        self, at: Sequence[ir.Value], element: ir.Value, buffers: Sequence[Buffer]
    ) -> ir.Value:
        """Write what is computed from an element at the insertion point, and return it.

        Args:
            at: the element's row and column in the matrix.
            element: it.
            buffers: of the call's other arguments.
        """
        kernel = self.producer
        assert kernel is not None
        parameters = list(kernel.call.callee.entry_block.arguments)
        mapping: dict[ir.Value, ir.Value] = dict(zip(kernel.body.arguments, at, strict=True))
        others = [i for i in range(len(kernel.call.arguments)) if i != self.position]
        for i, buffer in zip(others, buffers, strict=True):
            mapping[parameters[i]] = buffer.value
        for view in kernel.body.operations:
            op = view.operation
            if op == kernel.store:
                return self._operand(op.operands[0], mapping)
            if op.name in _BESIDE:
                continue
            if op.name == "memref.load" and op.operands[0] == parameters[self.position]:
                mapping[op.results[0]] = element
                continue
            operands = [self._operand(operand, mapping) for operand in op.operands]
            made = op.clone().operation
            for position, operand in enumerate(operands):
                made.operands[position] = operand
            mapping.update(zip(op.results, made.results, strict=True))
        raise AssertionError("an elementwise kernel stores its result")

    def _operand(self, value: ir.Value, mapping: dict[ir.Value, ir.Value]) -> ir.Value:
        if value not in mapping:
            mapping[value] = value.owner.operation.clone().operation.results[0]
        return mapping[value]


def is_constant(value: ir.Value) -> bool:
    """Whether a value is a constant tensor."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "relax.constant"


def computes(value: ir.Value) -> bool:
    """Whether a value may be computed from a constant by a call, or by two."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "relax.call_tir":
        return False
    arguments = known_fields(value.owner.operation.operands[1]) or ()
    return any(map(is_constant, arguments)) or (len(arguments) == 1 and computes(arguments[0]))


def find_source(value: ir.Value, symbols: ir.SymbolTable) -> Source | None:
    """Return what a matrix is made of, None where nothing of it is known at compile time.

    That is the value itself, or the only large argument of a call that computes each element from
    the same one of a narrower constant, and that nothing else uses; then it may be transposed.

    Args:
        value: what a kernel multiplies by.
        symbols: of the module.
    """
    if is_constant(value):
        return Source(value)
    if not computes(value):
        return None
    users = [use.owner.operation for use in value.uses]
    if len(users) != 1 or not is_make_tuple(users[0]) or len(list(users[0].results[0].uses)) != 1:
        return None
    kernel = match_elementwise(match_call(value.owner.operation, symbols))
    if kernel is None or not _is_alone(kernel):
        return None
    if _transposes(kernel):
        source = find_source(kernel.call.arguments[0], symbols)
        if source is None or source.producer is None or source.turn is not None:
            return None
        return replace(source, turn=kernel.call.op)
    dims = [dim.value for dim in T.known_dims(value.type)]
    found = [i for i, each in enumerate(kernel.call.arguments) if _is_of(each, value)]
    if len(found) != 1 or len(dims) != 2 or None in dims:
        return None
    (position,) = found
    loads = kernel.loads.get(position, [])
    matrix = kernel.call.arguments[position]
    sizes = [T.dtype_size(T.tensor_dtype(each.type)) for each in (matrix, value)]
    if len(loads) != 1 or not is_identity(loads[0], 1, kernel.body) or sizes[0] >= sizes[1]:
        return None
    inputs = [x for i, x in enumerate(kernel.call.arguments) if i != position]
    if not is_constant(matrix) or any(_is_large(each) for each in inputs):
        return None
    return Source(matrix, kernel, position, inputs)


def _transposes(kernel: ElementwiseKernel) -> bool:
    """Whether a kernel exchanges rows and columns and does nothing else."""
    load = copied(kernel)
    if load is None or len(kernel.call.arguments) != 1 or len(kernel.body.arguments) != 2:
        return False
    return list(load.operands)[1:] == list(kernel.body.arguments)[::-1]


def _is_of(each: ir.Value, value: ir.Value) -> bool:
    return T.tensor_dims(each.type) == T.tensor_dims(value.type)


def _is_large(value: ir.Value) -> bool:
    """Whether a tensor has more than one dimension that it walks."""
    dims = T.tensor_dims(value.type)
    return dims is None or sum(dim.value != 1 for dim in dims) > 1


def _is_alone(kernel: ElementwiseKernel) -> bool:
    """Whether a kernel uses of its function nothing but arguments and constants."""
    inside = list(kernel.body.arguments) + list(kernel.call.callee.entry_block.arguments)
    inside += [result for view in kernel.body.operations for result in view.operation.results]
    return all(
        value in inside
        or (
            not isinstance(value.owner, ir.Block) and value.owner.operation.name == "arith.constant"
        )
        for view in kernel.body.operations
        for value in view.operation.operands
    )
