"""Run-time values of a prim func's symbols: from sizes of buffers and integer arguments."""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.atoms import Extremum
from relax_mlir.dialects.symbolic.binding import Solution, solutions
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import leaf
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, IndexValue
from relax_mlir.lowering.walk import defining_op

_ARITHMETIC = {"arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul}

# Sizes of buffers that exist have fewer than 48 bits.
_SMALL = 1 << 14
_LARGEST = float(1 << 62)
# Added to an axis for its stride.
_STRIDE = 1 << 16


def expression(op: ir.Operation) -> SymExpr:
    """Return the expression that a `tir.symbol` stands for."""
    return op.attributes["value"].dims[0]


def size_value(size: SymExpr | int) -> ir.Value:
    """Return an index: a constant, or the `tir.symbol` of an expression."""
    index, size = ir.IndexType.get(), SymExpr.of(size)
    if size.value is not None:
        name, attr = "arith.constant", ir.IntegerAttr.get(index, size.value)
    else:
        name, attr = "tir.symbol", Dims.of([size])
    return ir.Operation.create(name, results=[index], attributes={"value": attr}).result


def strided_metadata(buffer: ir.Value) -> list[ir.Value]:
    """Write a buffer's offset, its sizes and its strides; return them in this order."""
    type_, index = ir.MemRefType(buffer.type), ir.IndexType.get()
    made = ir.Operation.create(
        "memref.extract_strided_metadata", operands=[buffer],
        results=[ir.MemRefType.get([], type_.element_type), *[index] * (1 + 2 * type_.rank)],
    )  # fmt: skip
    return list(made.results)[1:]


def symbolic(value: ir.Value) -> SymExpr | None:
    """Return an index as an expression of the function's symbols, None if it is none."""
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "tir.symbol":
        return expression(op)
    if op.name == "arith.constant":
        return SymExpr.const(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name == "arith.index_cast":
        return _named_argument(op.operands[0])
    if op.name in _ARITHMETIC:
        lhs, rhs = (symbolic(operand) for operand in op.operands)
        return None if lhs is None or rhs is None else _ARITHMETIC[op.name](lhs, rhs)
    return None


def _named_argument(value: ir.Value) -> SymExpr | None:
    owner = value.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "func.func":
        return None
    for name, source in _sources(owner.owner).items():
        if source.axis is None and source.argument == value:
            return SymExpr.var(name)
    return None


def replace_symbols(func: ir.OpView, ops: Sequence[ir.Operation], emit: Emitter) -> list[str]:
    """Replace each `tir.symbol` by code at the function's entry; returns what went wrong.

    `ops` are those of the function. A symbol is read from an `i64` parameter of its name, or from
    the first buffer parameter that has it as a plain dimension, or one that can be solved for it.
    Each is read once.
    """
    if not ops:
        return []
    writer = _Writer(_sources(func), emit)
    problems = []
    values: dict[SymExpr, ir.Value] = {}
    for op in ops:
        expr = expression(op)
        missing = sorted(name for name in expr.symbols if name not in writer.sources)
        if missing:
            message = (
                f"symbol '{missing[0]}' has no value: no buffer parameter has it as a dimension "
                "and no integer parameter has its name"
            )
            op.location.emit_error(message)
            problems.append(f"{op.location}: {message}")
            continue
        if expr not in values:
            with emit.at_entry(), op.location:
                values[expr] = emit.index(writer.value(expr))
        op.results[0].replace_all_uses_with(values[expr])
    if not problems:
        for op in ops:
            op.erase()
    return problems


@dataclass(frozen=True)
class _Source:
    """The argument that a symbol is read from: an integer, or a dimension that is solved for it."""

    argument: ir.Value
    axis: int | None
    solution: Solution


def _sources(func: ir.OpView) -> dict[str, _Source]:
    """Return for each symbol the argument that gives it."""
    arguments = list(func.entry_block.arguments)
    attrs = func.operation.attributes
    if "arg_attrs" not in attrs:
        return {}
    sources: dict[str, _Source] = {}
    dims: list[SymExpr] = []
    places: list[tuple[ir.Value, int]] = []
    described = [
        (argument, {named.name: named.attr for named in ir.DictAttr(attr)})
        for argument, attr in zip(arguments, ir.ArrayAttr(attrs["arg_attrs"]), strict=True)
    ]
    for argument, names in described:
        is_integer = isinstance(argument.type, ir.IntegerType)
        if is_integer and "tir.name" in names and "tir.dtype" not in names:
            name = ir.StringAttr(names["tir.name"]).value
            alone = Solution(0, name, 1, SymExpr.const(0))
            sources.setdefault(name, _Source(argument, None, alone))
    for key, first in (("tir.shape", 0), ("tir.strides", _STRIDE)):
        for argument, names in described:
            if key in names and isinstance(argument.type, ir.MemRefType):
                for position, dim in enumerate(names[key].dims):
                    dims.append(dim)
                    places.append((argument, first + position))
    for solution in solutions(dims, sources):
        sources[solution.symbol] = _Source(*places[solution.index], solution)
    return sources


class _Writer:
    """Writes symbolic expressions as index arithmetic."""

    def __init__(self, sources: dict[str, _Source], emit: Emitter) -> None:
        self.sources, self._emit = sources, emit
        self._plain: dict[str, Index] = {}

    def value(self, expr: SymExpr) -> Index:
        """Return the value of an expression."""
        names = sorted(expr.leaves)
        affine = expr.to_affine({name: i for i, name in enumerate(names)})
        return self._affine(affine, [self._symbol(name) for name in names])

    def _symbol(self, name: str) -> Index:
        if name not in self._plain:
            self._plain[name] = self._read(name)
        return self._plain[name]

    def _read(self, name: str) -> Index:
        atom = leaf(name).atom
        if isinstance(atom, Extremum):
            pick = self._emit.max if atom.kind == "max" else self._emit.min
            return functools.reduce(pick, map(self.value, atom.parts))
        source = self.sources[name]
        if source.axis is None:
            return self._emit.op("arith.index_cast", [source.argument], self._emit.index_type)
        value = (
            self._stride(source.argument, source.axis - _STRIDE)
            if source.axis >= _STRIDE
            else self._emit.dim(source.argument, source.axis)
        )
        if source.solution.is_plain:
            return value
        # What does not divide was refused by the function's checks of its arguments.
        value -= self.value(source.solution.rest)
        return self._divide("arith.floordivsi", value, source.solution.factor)

    def _stride(self, buffer: ir.Value, axis: int) -> Index:
        type_ = ir.MemRefType(buffer.type)
        known = type_.get_strides_and_offset()[0][axis]
        if known != ir.ShapedType.get_dynamic_stride_or_offset():
            return known
        return IndexValue(strided_metadata(buffer)[1 + type_.rank + axis], self._emit)

    def _affine(self, expr: ir.AffineExpr, symbols: list[Index]) -> Index:
        expr = expr.maybe_downcast()
        if isinstance(expr, ir.AffineConstantExpr):
            return expr.value
        if isinstance(expr, ir.AffineSymbolExpr):
            return symbols[expr.position]
        lhs, rhs = self._affine(expr.lhs, symbols), self._affine(expr.rhs, symbols)
        if isinstance(expr, ir.AffineAddExpr):
            return lhs + rhs
        if isinstance(expr, ir.AffineMulExpr):
            return self._times(lhs, rhs)
        # Sizes may be differences, so quotients round as the language says, not as the CPU does.
        rounding = "ceil" if isinstance(expr, ir.AffineCeilDivExpr) else "floor"
        quotient = self._divide(f"arith.{rounding}divsi", lhs, rhs)
        return lhs - quotient * rhs if isinstance(expr, ir.AffineModExpr) else quotient

    def _times(self, lhs: Index, rhs: Index) -> Index:
        """Return a product, -1 where it does not fit: no loop runs and no allocation accepts it."""
        emit = self._emit
        product = lhs * rhs
        if isinstance(product, int) or _is_small(lhs) or _is_small(rhs):
            return product
        f64, i64 = ir.F64Type.get(), ir.IntegerType.get_signless(64)
        factors = [
            emit.op("arith.sitofp", [emit.op("arith.index_cast", [emit.index(side)], i64)], f64)
            for side in (lhs, rhs)
        ]
        size = emit.op("math.absf", [emit.op("arith.mulf", factors, f64)], f64)
        limit = emit.constant_of(f64, ir.FloatAttr.get(f64, _LARGEST))
        too_large = emit.compare_floats("ogt", size, limit)
        return emit.select(too_large, -1, product)

    def _divide(self, name: str, lhs: Index, rhs: Index) -> ir.Value:
        emit = self._emit
        # The CPU would end the process; -1 is a size that nothing accepts.
        zero = not isinstance(rhs, int) and emit.compare("eq", rhs, 0)
        operands = [emit.index(lhs), emit.index(emit.select(zero, 1, rhs))]
        return emit.select(zero, -1, emit.op(name, operands, emit.index_type))


def _is_small(value: Index) -> bool:
    """Whether a factor is so small that no size times it leaves 64 bits."""
    return isinstance(value, int) and abs(value) <= _SMALL
