"""Elementwise kernels: calls whose prim func is one nest over its output."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.transform.kernels.calls import TirCall

_ARITHMETIC = ("arith.", "math.")
_QUOTIENTS = ("arith.floordivsi", "arith.divui", "arith.divsi")
_ALLOWED = ("arith.constant", "tir.symbol", "tir.yield", "func.return")
_DECLARATIONS = ("tir.reads", "tir.writes", "tir.yield")


@dataclass
class ElementwiseKernel:
    """An elementwise call: the block of its prim func, and where that reads each parameter."""

    call: TirCall
    block: ir.Operation
    store: ir.Operation
    loads: dict[int, list[ir.Operation]]

    @property
    def body(self) -> ir.Block:
        """The block's body."""
        return self.block.regions[0].blocks[0]


def match_elementwise(call: TirCall | None) -> ElementwiseKernel | None:
    """Return a call as an elementwise kernel, None when it is none."""
    if call is None:
        return None
    entry = call.callee.operation.regions[0].blocks[0]
    loops = _nest(entry)
    if loops is None:
        return None
    *variables, block = loops
    kinds = [ir.StringAttr(kind).value for kind in block.attributes["iter_types"]]
    iters = list(block.operands)[: len(kinds)]
    if block.regions[1].blocks or any(kind != "spatial" for kind in kinds):
        return None
    if len(iters) != len(variables) or any(a != b for a, b in zip(iters, variables, strict=True)):
        return None
    parameters = list(entry.arguments)
    output = parameters[len(call.arguments)]
    if len(kinds) != output.type.rank:
        return None
    body = block.regions[0].blocks[0]
    loads: dict[int, list[ir.Operation]] = {}
    store = None
    for view in body.operations:
        op = view.operation
        if op.name == "memref.store":
            if store is not None or op.operands[1] != output or not is_identity(op, 2, body):
                return None
            store = op
        elif op.name == "memref.load":
            if op.operands[0] not in parameters or op.operands[0] == output:
                return None
            loads.setdefault(parameters.index(op.operands[0]), []).append(op)
        elif op.name not in _DECLARATIONS and (
            not op.name.startswith(_ARITHMETIC) or len(op.regions)
        ):
            return None
    return ElementwiseKernel(call, block, store, loads) if store is not None else None


def _nest(entry: ir.Block) -> list | None:
    """Return the variables of a function's only nest and the block inside it."""
    result: list = []
    block = entry
    while True:
        ops = [view.operation for view in block.operations]
        inner = [op for op in ops if op.name not in _ALLOWED]
        if len(inner) != 1 or inner[0].name not in ("tir.for", "tir.block"):
            return None
        (op,) = inner
        if op.name == "tir.block":
            return [*result, op]
        if op.attributes["kind"].value != "serial":
            return None
        block = op.regions[0].blocks[0]
        result.append(block.arguments[0])


def is_identity(op: ir.Operation, first: int, body: ir.Block) -> bool:
    """Whether an access, whose indices are its operands from one on, is at the point itself."""
    indices = list(op.operands)[first:]
    return len(indices) == len(body.arguments) and all(
        a == b for a, b in zip(indices, body.arguments, strict=True)
    )


def repeated_axes(load: ir.Operation, body: ir.Block) -> set[int] | None:
    """Return the axes along which a load repeats elements; None where it does anything else.

    Its indices are the block's iterators in order, each as it is or divided by a number.
    """
    indices, axes = list(load.operands)[1:], set()
    if len(indices) != len(body.arguments):
        return None
    for axis, (index, iterator) in enumerate(zip(indices, body.arguments, strict=True)):
        if index == iterator:
            continue
        if isinstance(index.owner, ir.Block) or index.owner.operation.name not in _QUOTIENTS:
            return None
        value, by = index.owner.operation.operands
        if value != iterator or isinstance(by.owner, ir.Block):
            return None
        if by.owner.operation.name != "arith.constant":
            return None
        axes.add(axis)
    return axes


def copied(kernel: ElementwiseKernel) -> ir.Operation | None:
    """Return the load whose element a kernel stores as it is, None where it computes."""
    owner = kernel.store.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.load":
        return None
    return owner.operation


def overwritable(call: TirCall, index: int) -> bool:
    """Whether a call may write its result over an argument: it reads each point before, only there.

    Args:
        call: the call.
        index: which of its arguments.
    """
    argument, result = call.arguments[index], call.result
    same = T.tensor_dims(argument.type) == T.tensor_dims(result.type)
    sizes = [T.dtype_size(T.tensor_dtype(value.type)) for value in (argument, result)]
    kernel = match_elementwise(call) if same and sizes[0] == sizes[1] else None
    if kernel is None:
        return False
    everywhere = [i for i, other in enumerate(call.arguments) if other == argument]
    loads = [load for i in everywhere for load in kernel.loads.get(i, [])]
    return all(is_identity(load, 1, kernel.body) for load in loads)
