"""Shape functions: native code that computes the compound entries of a shape heap (V05)."""

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, compare, const, select


def define_shape_func(
    module: ir.Operation, function: str, slots: Mapping[SymExpr, int], exprs: Sequence[SymExpr]
) -> str:
    """Add a prim func that fills the slots of `exprs` from those of their symbols; return its name.

    A division by a symbol that is zero at run time gives -1, which no allocation and no dimension
    accepts, instead of ending the process.
    """
    table = ir.SymbolTable(module)
    name, count = f"shape_func_{function}", 0
    while name in table:
        count += 1
        name = f"shape_func_{function}{count}"
    block = module.regions[0].blocks[0]
    with ir.InsertionPoint(block), ir.Location.name(name):
        builder = PrimFuncBuilder(name, [BufferDecl("heap", [len(slots)], "int64")])
        with builder.body():
            (heap,) = builder.buffers
            with builder.block("shape", []):
                for expr in exprs:
                    heap.store(_evaluate(expr, heap, slots), const(slots[expr], "index"))
    table.insert(builder.op)
    return builder.op.name.value


def _evaluate(expr: SymExpr, heap: Buffer, slots: Mapping[SymExpr, int]) -> Scalar:
    def symbol(name: str) -> Scalar:
        return heap[const(slots[SymExpr.var(name)], "index")]

    def divide(kind: str, lhs: Scalar, rhs: Scalar) -> Scalar:
        zero = compare("eq", rhs, 0)
        divisor = select(zero, 1, rhs)
        if kind == "mod":
            quotient = binary("mod", lhs, divisor)
        elif kind == "floordiv":
            quotient = binary("floordiv", lhs, divisor)
        else:
            quotient = -binary("floordiv", -lhs, divisor)
        return select(zero, -1, quotient)

    return expr.fold(symbol, lambda value: const(value, "int64"), divide)
