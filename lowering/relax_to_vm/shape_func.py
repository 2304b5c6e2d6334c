"""Shape functions: native code for the compound entries of a shape heap."""

import re
from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import (
    Scalar,
    binary,
    compare,
    const,
    multiply_extended,
    select,
)

# What an expression is that has no value, as it divides by zero or does not fit 64 bits. The checks
# of the virtual machine know it; as a size it is rejected like every negative number.
NO_VALUE = -(2**63)


def define_shape_func(
    module: ir.Operation, function: str, slots: Mapping[SymExpr, int], exprs: Sequence[SymExpr]
) -> str:
    """Add a prim func that fills the slots of `exprs` from those of their symbols; return its name.

    A division by a symbol that is zero at run time, or a number past 64 bits, gives NO_VALUE
    instead of ending the process or wrapping around.
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
    # The virtual machine may compute the same by itself.
    builder.op.attributes["tir.slots"] = ir.DictAttr.get(
        {str(slots[expr]): ir.StringAttr.get(_formula(expr, slots)) for expr in exprs}
    )
    table.insert(builder.op)
    return builder.op.name.value


def _formula(expr: SymExpr, slots: Mapping[SymExpr, int]) -> str:
    """Return an expression as text, with `s<slot>` for symbols and plain `max` and `min`."""

    def name(match: re.Match) -> str:
        function, text = match.groups()
        return text if function else f"s{slots[SymExpr.var(text)]}"

    return re.sub(r"(T\.)?\b([A-Za-z_]\w*)", name, str(expr))


def _evaluate(expr: SymExpr, heap: Buffer, slots: Mapping[SymExpr, int]) -> Scalar:
    failures: list[Scalar] = []

    def symbol(name: str) -> _Checked:
        return _Checked(heap[const(slots[SymExpr.var(name)], "index")], failures)

    def constant(value: int) -> _Checked:
        return _Checked(const(value, "int64"), failures)

    def divide(kind: str, lhs: _Checked, rhs: _Checked) -> _Checked:
        if kind in ("max", "min"):
            return _Checked(binary(kind, lhs.value, rhs.value), failures)
        failures.append(compare("eq", rhs.value, 0))
        if kind == "ceildiv":
            return _Checked(-binary("floordiv", -lhs.value, rhs.value), failures)
        return _Checked(binary(kind, lhs.value, rhs.value), failures)

    result = expr.fold(symbol, constant, divide).value
    for failed in failures:
        result = select(failed, NO_VALUE, result)
    return result


class _Checked:
    """An integer under construction; `failures` collects the conditions that spoil it."""

    def __init__(self, value: Scalar, failures: list[Scalar]) -> None:
        self.value, self._failures = value, failures

    def __add__(self, other: "_Checked") -> "_Checked":
        total = self.value + other.value
        # It overflowed when both operands differ from it in sign.
        signs = binary("and", binary("xor", self.value, total), binary("xor", other.value, total))
        self._failures.append(compare("lt", signs, 0))
        return _Checked(total, self._failures)

    def __mul__(self, other: "_Checked") -> "_Checked":
        low, high = multiply_extended(self.value, other.value)
        self._failures.append(compare("ne", high, binary("shr", low, 63)))
        return _Checked(low, self._failures)
