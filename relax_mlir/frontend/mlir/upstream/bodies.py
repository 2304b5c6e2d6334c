"""Bodies of linalg and tensor operations as prim funcs, called by `call_tir`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, DtypeError, Scalar, cast, const
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.types import elements
from relax_mlir.frontend.mlir.upstream.scalars import SCALARS, target_dtype
from relax_mlir.frontend.values import Value, materialize
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import op
from relax_mlir.relax.expr import TensorType

Output = tuple[Sequence[SymExpr], str]


class Inputs:
    """What a prim func takes: tensors as buffers, and symbols that no buffer binds.

    Args:
        m: the import.
    """

    def __init__(self, m: Any) -> None:
        self._m = m
        self.exprs: list[Any] = []
        self._places: dict[int, int] = {}
        self.symbols: set[str] = set()

    def add(self, value: Value) -> None:
        """Take a value; numbers that are known stand in the code."""
        if value.array is not None and not value.ndim:
            return
        if value.data is not None and not value.ndim:
            self.symbols |= SymExpr.of(value.data.reshape(-1)[0]).symbols
            return
        if id(value) not in self._places:
            self._places[id(value)] = len(self.exprs)
            self.exprs.append(self._m.emit(materialize(value)))

    def buffer(self, builder: PrimFuncBuilder, value: Value) -> Buffer:
        """Return the buffer that a value is."""
        return builder.buffers[self._places[id(value)]]

    def scalar(self, builder: PrimFuncBuilder, value: Value, dtype: str) -> Scalar:
        """Return a value of no dimensions as a number."""
        if value.array is not None:
            return const(value.array.reshape(-1)[0].item(), dtype)
        if value.data is not None:
            return cast(builder.symbol(value.data.reshape(-1)[0]), dtype)
        return cast(self.buffer(builder, value)[()], dtype)


def call_prim(
    m: Any, name: str, inputs: Inputs, outputs: Sequence[Output],
    body: Callable[[PrimFuncBuilder, Sequence[Buffer]], None],
) -> list[Any]:  # fmt: skip
    """Return the results of a prim func.

    Args:
        m: the import.
        name: of the prim func.
        inputs: what it takes.
        outputs: shape and dtype of each result.
        body: fills the function, given the builder and the buffers of the outputs.

    Raises:
        ExprError: a shape is unknown, or a dtype has not the operations of the body.
    """
    shapes = [each.ty.dims for each in inputs.exprs]
    if any(dims is None for dims in shapes):
        raise ExprError("the shape of an operand is unknown")
    dtypes = [each.ty.dtype for each in inputs.exprs]
    letters = [f"A{index}" for index in range(len(shapes))]
    decls = [BufferDecl(*each) for each in zip(letters, shapes, dtypes, strict=True)]
    decls += [BufferDecl(f"Out{index}", *each) for index, each in enumerate(outputs)]
    dims = [SymExpr.of(dim) for decl in decls for dim in decl.shape]
    bound = {dim.name for dim in dims if dim.name}
    unbound = sorted(inputs.symbols.union(*(dim.symbols for dim in dims)) - bound)
    context = default_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            builder = PrimFuncBuilder(name, decls, unbound)
            try:
                with builder.body():
                    body(builder, builder.buffers[len(letters) :])
            except DtypeError as error:
                raise ExprError(str(error)) from error
    function = m.builder.add_func(IRModule(module)[name], name)
    types = [TensorType(tuple(shape), dtype) for shape, dtype in outputs]
    variables = [SymExpr.var(symbol) for symbol in unbound] or None
    made = op.call_tir(function, inputs.exprs, types if len(types) > 1 else types[0], variables)
    if len(types) == 1:
        return [made]
    var = m.emit(made)
    return [var[index] for index in range(len(types))]


def captured(region: Any) -> list[ir.Value]:
    """Return the values from outside that a region with one block uses."""
    block = region.blocks[0]
    inside = {*block.arguments}
    result: list[ir.Value] = []
    for view in block.operations:
        for operand in view.operation.operands:
            if operand not in inside and operand not in result:
                result.append(operand)
        inside.update(view.operation.results)
    return result


def evaluate(
    m: Any, region: Any, builder: PrimFuncBuilder, inputs: Inputs,
    arguments: Mapping[ir.Value, Scalar], iters: Sequence[Scalar],
) -> list[Scalar]:  # fmt: skip
    """Return what a region gives for its arguments.

    Args:
        m: the import.
        region: with one block.
        builder: of the prim func, with a block open.
        inputs: of the prim func; what the region uses from outside is among them.
        arguments: of the region.
        iters: the indices of `linalg.index`.
    """
    scalars = dict(arguments)

    def scalar(value: ir.Value) -> Scalar:
        if value not in scalars:
            dtype = INDEX if str(value.type) == "index" else m.of(value).dtype
            scalars[value] = inputs.scalar(builder, m.of(value), dtype)
        return scalars[value]

    *operations, end = [view.operation for view in region.blocks[0].operations]
    for each in operations:
        if each.name == "arith.constant":
            made = const(elements(each.attributes["value"]).item(), target_dtype(each))
        elif each.name == "linalg.index":
            made = iters[ir.IntegerAttr(each.attributes["dim"]).value]
        elif each.name == "tensor.extract":
            tensor, *places = each.operands
            made = inputs.buffer(builder, m.of(tensor))[tuple(scalar(place) for place in places)]
        else:
            made = SCALARS[each.name](each, *(scalar(operand) for operand in each.operands))
        scalars[each.results[0]] = made
    return [scalar(operand) for operand in end.operands]
