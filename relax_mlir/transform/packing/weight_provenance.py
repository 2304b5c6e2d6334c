"""The provenance of a weight matrix: a constant, or computed from one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.lowering.tir_to_vector.analysis import (
    QUOTIENTS,
    REMAINDERS,
    Nest,
    match_nest,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.walk import defining_op
from relax_mlir.transform.kernels.calls import KernelSymbols, TirCall, match_call
from relax_mlir.transform.kernels.elementwise import (
    ElementwiseKernel,
    copied,
    is_identity,
    match_elementwise,
)

_BESIDE = ("tir.reads", "tir.writes")


@dataclass
class Source:
    """A matrix to pack.

    Attributes:
        matrix: the constant.
        producer: the call that computes from it what is multiplied, None where it is that itself.
        position: which of the call's arguments it is.
        inputs: the call's other arguments.
        between: the calls after that which exchange rows and columns, or join dimensions, last
            first.
        transposed: whether rows and columns are exchanged.
        shape: rows and columns of the constant.
        grouped: which of the two is walked in groups, as scales have them, and how long those are;
            None where it is the same for all.
    """

    matrix: ir.Value
    producer: ElementwiseKernel | None = None
    position: int = 0
    inputs: list[ir.Value] = field(default_factory=list)
    between: list[ir.Operation] = field(default_factory=list)
    transposed: bool = False
    shape: tuple[int, ...] = ()
    grouped: tuple[int, int] | None = None

    @property
    def calls(self) -> list[ir.Operation]:
        """The calls that are dead once the matrix is packed, last first."""
        return self.between + ([] if self.producer is None else [self.producer.call.op])

    def is_transposed(self, value: ir.Value) -> bool:
        """Whether an input's groups are adjacent and its rows are what is walked."""
        return self.grouped is not None and self.grouped[0] == 1 and _is_large(value)

    def write(
        self, at: Sequence[ir.Value], parts: Sequence[ir.Value], element: ir.Value,
        buffers: Sequence[Buffer],
    ) -> ir.Value:  # fmt: skip
        """Write what is computed from an element at the insertion point, and return it.

        Args:
            at: the element's row and column in the matrix.
            parts: of the one that is walked in groups the number of the group, and that in it.
            element: it.
            buffers: of the call's other arguments; of those that lie across the first dimension is
                the last one.
        """
        kernel = self.producer
        assert kernel is not None
        parameters = list(kernel.call.callee.entry_block.arguments)
        arguments = list(kernel.body.arguments)
        if self.grouped is not None and len(arguments) > len(at):
            axis = self.grouped[0]
            at = [*at[:axis], *parts, *at[axis + 1 :]]
        mapping: dict[ir.Value, ir.Value] = dict(zip(arguments, at, strict=True))
        others = [i for i in range(len(kernel.call.arguments)) if i != self.position]
        across = set()
        for i, buffer in zip(others, buffers, strict=True):
            mapping[parameters[i]] = buffer.value
            if self.is_transposed(kernel.call.arguments[i]):
                across.add(parameters[i])
        for view in kernel.body.operations:
            op = view.operation
            if op == kernel.store:
                return self._operand(op.operands[0], mapping)
            if op.name in _BESIDE:
                continue
            if op.name == "memref.load" and op.operands[0] == parameters[self.position]:
                mapping[op.results[0]] = element
                continue
            if _divisor(op, arguments) is not None:
                mapping[op.results[0]] = parts[op.name in REMAINDERS]
                continue
            operands = [self._operand(operand, mapping) for operand in op.operands]
            if op.name == "memref.load" and op.operands[0] in across:
                buffer, first, *rest = operands
                operands = [buffer, *rest, first]
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
    return defining_op(value, "relax.constant") is not None


def computes(value: ir.Value) -> bool:
    """Whether a value may be computed from a constant by a call, or by two."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "relax.call_tir":
        return False
    arguments = known_fields(value.owner.operation.operands[1]) or ()
    return any(map(is_constant, arguments)) or (len(arguments) == 1 and computes(arguments[0]))


def find_source(value: ir.Value, symbols: KernelSymbols) -> Source | None:
    """Return what a matrix is made of, None where nothing of it is known at compile time.

    That is the value itself, or the only argument of its shape of a call that computes each element
    from the same one of a narrower constant, and that nothing else uses; then it may be transposed,
    and two dimensions joined to one. Other arguments have one number for a row, a column, or a
    group of elements along one of them.

    Args:
        value: what a kernel multiplies by.
        symbols: of the module.
    """
    if is_constant(value):
        dims = tuple(dim.value for dim in T.known_dims(value.type) if dim.value is not None)
        return Source(value, shape=dims)
    if not computes(value):
        return None
    users = [use.owner.operation for use in value.uses]
    if len(users) != 1 or not is_make_tuple(users[0]) or len(list(users[0].results[0].uses)) != 1:
        return None
    call = match_call(value.owner.operation, symbols)
    if call is not None and _reshapes(call):
        return _joined(call, symbols)
    kernel = match_elementwise(call)
    if call is None or kernel is None or not _is_alone(kernel):
        return None
    if _transposes(kernel):
        source = find_source(call.arguments[0], symbols)
        if source is None or source.producer is None or source.transposed or len(source.shape) != 2:
            return None
        return replace(source, transposed=True, between=[call.op, *source.between])
    return _computed(kernel, value)


def _computed(kernel: ElementwiseKernel, value: ir.Value) -> Source | None:
    """Return what a kernel computes a matrix from, or one whose rows or columns are in groups."""
    dims = [dim.value for dim in T.known_dims(value.type)]
    positions = [i for i, each in enumerate(kernel.call.arguments) if _is_of(each, value)]
    if len(positions) != 1 or len(dims) not in (2, 3) or None in dims:
        return None
    (position,) = positions
    loads = kernel.loads.get(position, [])
    matrix = kernel.call.arguments[position]
    sizes = [T.dtype_size(T.tensor_dtype(each.type)) for each in (matrix, value)]
    if len(loads) != 1 or not is_identity(loads[0], 1, kernel.body) or sizes[0] >= sizes[1]:
        return None
    if not is_constant(matrix):
        return None
    inputs = [x for i, x in enumerate(kernel.call.arguments) if i != position]
    shape = tuple(dim for dim in dims if dim is not None)
    source = Source(matrix, kernel, position, inputs, shape=shape)
    if len(shape) == 3:
        return source
    arguments = list(kernel.body.arguments)
    divided = {
        _divisor(view.operation, arguments) for view in kernel.body.operations
    } - {None}  # fmt: skip
    if not divided:
        return None if any(map(_is_large, inputs)) else source
    grouped = divided.pop()
    if divided or grouped is None or grouped[1] <= 1 or shape[grouped[0]] % grouped[1]:
        return None
    return _in_groups(source, grouped, arguments[grouped[0]])


def _in_groups(source: Source, grouped: tuple[int, int], inside: ir.Value) -> Source | None:
    """Return a source with groups, whose large inputs do not walk what is in those."""
    kernel = source.producer
    assert kernel is not None
    source = replace(source, grouped=grouped)
    for i, each in enumerate(kernel.call.arguments):
        if i == source.position or not _is_large(each):
            continue
        if source.is_transposed(each) and not is_constant(each):
            return None
        if any(inside in list(load.operands)[1:] for load in kernel.loads.get(i, [])):
            return None
    return source


def _joined(call: TirCall, symbols: KernelSymbols) -> Source | None:
    """Return the source of what joins two of three dimensions: the second is what is in a group."""
    source = find_source(call.arguments[0], symbols)
    dims = tuple(dim.value for dim in T.known_dims(call.result.type))
    if source is None or source.producer is None or len(source.shape) != 3 or len(dims) != 2:
        return None
    a, b, c = source.shape
    arguments = list(source.producer.body.arguments)
    for axis, whole in enumerate(((a * b, c), (a, b * c))):
        if whole == dims and source.shape[axis + 1] > 1:
            result = _in_groups(source, (axis, source.shape[axis + 1]), arguments[axis + 1])
            if result is None:
                return None
            return replace(result, shape=whole, between=[call.op, *result.between])
    return None


def _divisor(op: ir.Operation, arguments: Sequence[ir.Value]) -> tuple[int, int] | None:
    """Return which iterator an operation divides, and by what number; None where it does not."""
    if op.name not in (*QUOTIENTS, *REMAINDERS) or op.operands[0] not in arguments:
        return None
    by = constant_or_value(op.operands[1])
    return arguments.index(op.operands[0]), by if isinstance(by, int) else 0


def _reshapes(call: TirCall) -> bool:
    """Whether a call copies elements in the order in which they lie."""
    views: dict[ir.Value, ir.Value] = {}
    for view in call.callee.entry_block.operations:
        op = view.operation
        if op.name == "memref.reinterpret_cast" and op.results[0].type.rank == 1:
            views[op.results[0]] = op.operands[0]
    parameters = list(call.callee.entry_block.arguments)
    if list(views.values()) != parameters or len(call.arguments) != 1:
        return False
    nests = list(top_level(call.callee))
    nest = match_nest(nests[0]) if len(nests) == 1 else None
    if not isinstance(nest, Nest) or len(nest.stores) != 1 or len(nest.loads) != 1:
        return False
    load, store = nest.loads[0].op, nest.stores[0].op
    return (
        store.operands[0] == load.results[0]
        and [load.operands[0], store.operands[1]] == list(views)
        and list(load.operands)[1:] == list(store.operands)[2:]
        and list(nest.types) == ["spatial"]
    )


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
