"""Contraction and convolution kernels: prim funcs that reduce, then map the result elementwise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest, match_nest, top_level
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    is_matrix_product,
    match_contraction,
)
from relax_mlir.lowering.tir_to_vector.contraction.prologue import Prologue
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, NotFlat, collapse, flatten_nest
from relax_mlir.lowering.tir_to_vector.plan import plan_function
from relax_mlir.transform.kernels.calls import TirCall

_ALLOWED = ("arith.constant", "tir.symbol", "memref.alloc", "func.return")


@dataclass
class ContractionKernel:
    """A call whose prim func's last nest stores each element of its output once."""

    call: TirCall


def nests_alone(call: TirCall, views: bool = False) -> list[ir.Operation]:
    """Return the nests of a call's prim func, none where it has more than nests and buffers.

    Args:
        call: of the prim func.
        views: whether it may have buffers in other shapes too.
    """
    allowed = (*_ALLOWED, "memref.reinterpret_cast") if views else _ALLOWED
    nests = list(top_level(call.callee))
    entry = call.callee.operation.regions[0].blocks[0]
    others = [view.operation.name for view in entry.operations if view.operation not in nests]
    return nests if all(name in allowed for name in others) else []


def match_contraction_kernel(call: TirCall | None, machine: Machine) -> ContractionKernel | None:
    """Return a call as a contraction kernel, None when it is none."""
    nests = [] if call is None else nests_alone(call)
    if call is None or not nests:
        return None
    first = _flat(nests[0])
    contraction = None if first is None else match_contraction(first)
    # A window is a contraction too, but its kernel keeps nothing in registers for what follows.
    if not isinstance(contraction, Contraction) or not is_matrix_product(contraction, machine):
        return None
    rest = [_flat(op) for op in nests[1:]]
    if any(flat is None or flat.total is not None for flat in rest):
        return None
    output = call.callee.operation.regions[0].blocks[0].arguments[len(call.arguments)]
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


def first_nest(kernel: ContractionKernel) -> FlatNest:
    """Return the nest of a kernel's contraction, an iterator for each of its loops."""
    nest = match_nest(next(top_level(kernel.call.callee)))
    assert isinstance(nest, Nest)  # or it would be no such kernel
    return flatten_nest(nest)


class KernelCloner:
    """Writes a kernel's body into another function.

    Args:
        builder: of the function to write to.
        kernel: what to write.
    """

    builder: PrimFuncBuilder
    kernel: ContractionKernel

    def __init__(self, builder: PrimFuncBuilder, kernel: ContractionKernel) -> None:
        self.builder, self.kernel = builder, kernel
        self.mapping: dict[ir.Value, ir.Value] = {}

    def begin(self, arguments: Sequence[ir.Value], output: ir.Value) -> None:
        """Set the buffers that stand for the kernel's arguments and for its output."""
        parameters = list(self.kernel.call.callee.entry_block.arguments)
        self.mapping.update(zip(parameters, [*arguments, output], strict=False))

    def temporary(self, name: str) -> Buffer:
        """Allocate a buffer like the kernel's output."""
        call = self.kernel.call
        attributes = ir.DictAttr(call.callee.operation.attributes["arg_attrs"][len(call.arguments)])
        return self._alloc({item.name: item.attr for item in attributes}, name)

    def body(
        self, top: ir.Operation | None = None, instead: Callable[[], None] | None = None
    ) -> None:
        """Write the body; in the place of one of its loops write something else."""
        for view in self.kernel.call.callee.entry_block.operations:
            op = view.operation
            if op.name == "func.return":
                break
            if op.name == "tir.symbol":
                self.mapping[op.results[0]] = self._symbol(op)
            elif op.name == "memref.alloc":
                known = {item: op.attributes[item] for item in op.attributes}
                name = ir.StringAttr(known["tir.name"]).value
                self.mapping[op.results[0]] = self._alloc(known, name).value
            elif instead is not None and op == top:
                instead()
            else:
                self.clone(op)

    def clone(self, op: ir.Operation) -> None:
        """Copy an operation, what is inside it reading the values that stand for the kernel's."""
        made = op.clone().operation
        symbols: list[ir.Operation] = []

        def visit(inner: ir.Operation) -> ir.WalkResult:
            if inner.name == "tir.symbol":
                symbols.append(inner)
            for position, value in enumerate(inner.operands):
                if value in self.mapping:
                    inner.operands[position] = self.mapping[value]
            return ir.WalkResult.ADVANCE

        made.walk(visit)
        for old, new in zip(op.results, made.results, strict=True):
            self.mapping[old] = new
        for symbol in symbols:
            symbol.results[0].replace_all_uses_with(self._symbol(symbol))
            symbol.erase()

    def _alloc(self, attributes: dict[str, ir.Attribute], name: str) -> Buffer:
        symbols = self.kernel.call.symbols
        dims = [dim.substitute(symbols) for dim in Dims(attributes["tir.shape"]).dims]
        return self.builder.alloc(name, dims, ir.StringAttr(attributes["tir.dtype"]).value)

    def _symbol(self, op: ir.Operation) -> ir.Value:
        (expr,) = Dims(op.attributes["value"]).dims
        return self.builder.symbol(expr.substitute(self.kernel.call.symbols)).value


_WINDOWS = (Contraction, Convolution, DepthwisePool, Prologue)
_REDUCES = ("reduction", "scan", "contraction", "attention")


def match_window_kernel(call: TirCall | None, machine: Machine) -> ContractionKernel | None:
    """Return a call as a window kernel, None when it is none.

    Its prim func has nothing but the window, the padded copy that it reads, and maps.
    """
    if call is None or not nests_alone(call):
        return None
    plans = plan_function(call.callee, machine)
    windows = [plan for plan in plans if isinstance(plan.form, _WINDOWS)]
    rest = [info for plan in plans if plan not in windows for info in plan.blocks]
    if len(windows) != 1 or any(info.kind in _REDUCES or not info.fast for info in rest):
        return None
    return ContractionKernel(call)
