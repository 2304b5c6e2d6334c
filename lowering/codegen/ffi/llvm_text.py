"""A writer of LLVM-dialect functions as text."""

from collections.abc import Mapping

from relax_mlir.dialects.bindings import ir


class FunctionText:
    """The operations of one function body; names of values and constants are made up on the way."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: dict[tuple[int, str], str] = {}
        self._next = 0
        # Whether steps of the last expression went past 64 bits.
        self._overflows: list[str] = []

    def _constant_lines(self) -> list[str]:
        return [
            f"  {name} = llvm.mlir.constant({value} : {type_}) : {type_}"
            for (value, type_), name in self._constants.items()
        ]

    def _fresh(self) -> str:
        self._next += 1
        return f"%v{self._next}"

    def _emit(self, text: str) -> str:
        name = self._fresh()
        self._lines.append(f"  {name} = {text}")
        return name

    def _constant(self, value: int, type_: str = "i64") -> str:
        return self._constants.setdefault((value, type_), f"%c{len(self._constants)}")

    def _at(self, pointer: str, offset: int) -> str:
        return self._emit(f"llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8")

    def _expression(self, expr: ir.AffineExpr, values: Mapping[int, str]) -> str:
        expr = expr.maybe_downcast()
        if isinstance(expr, ir.AffineConstantExpr):
            return self._constant(ir.AffineConstantExpr(expr).value)
        if isinstance(expr, ir.AffineSymbolExpr):
            return values[ir.AffineSymbolExpr(expr).position]
        binary = ir.AffineBinaryExpr(expr)
        left = self._expression(binary.lhs, values)
        right = self._expression(binary.rhs, values)
        if isinstance(expr, ir.AffineAddExpr):
            return self._checked("sadd", left, right)
        if isinstance(expr, ir.AffineMulExpr):
            return self._checked("smul", left, right)
        # A divisor may be a symbol that is zero in this call; the division must not trap.
        one, zero = self._constant(1), self._constant(0)
        right = self._emit(f"llvm.intr.smax({right}, {one}) : (i64, i64) -> i64")
        if isinstance(expr, ir.AffineCeilDivExpr):
            negated = self._emit(f"llvm.sub {zero}, {left} : i64")
            return self._emit(f"llvm.sub {zero}, {self._floor(negated, right)[0]} : i64")
        quotient, remainder = self._floor(left, right)
        return remainder if isinstance(expr, ir.AffineModExpr) else quotient

    def _checked(self, operation: str, left: str, right: str) -> str:
        """Return a sum or product, and note whether it is wrong."""
        both = "!llvm.struct<(i64, i1)>"
        pair = self._emit(
            f'"llvm.intr.{operation}.with.overflow"({left}, {right}) : (i64, i64) -> {both}'
        )
        self._overflows.append(self._emit(f"llvm.extractvalue {pair}[1] : {both}"))
        return self._emit(f"llvm.extractvalue {pair}[0] : {both}")

    def _floor(self, left: str, right: str) -> tuple[str, str]:
        zero = self._constant(0)
        quotient = self._emit(f"llvm.sdiv {left}, {right} : i64")
        remainder = self._emit(f"llvm.srem {left}, {right} : i64")
        below = self._emit(f'llvm.icmp "slt" {remainder}, {zero} : i64')
        less = self._emit(f"llvm.sub {quotient}, {self._constant(1)} : i64")
        more = self._emit(f"llvm.add {remainder}, {right} : i64")
        return (
            self._emit(f"llvm.select {below}, {less}, {quotient} : i1, i64"),
            self._emit(f"llvm.select {below}, {more}, {remainder} : i1, i64"),
        )
