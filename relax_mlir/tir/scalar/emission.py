"""Scalar expressions to operations of a prim func, by an iterative walk."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import DtypeError, Scalar
from relax_mlir.errors import ExprError
from relax_mlir.tir.scalar import nodes as N
from relax_mlir.tir.scalar.conversion import Cast
from relax_mlir.tir.scalar.externs import ExternCall, PackedCall
from relax_mlir.tir.scalar.intrinsics import FUNCTIONS
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm, Leaf, PrimExpr, Size

scf: ModuleType = submodule("dialects.scf")


class Emitter:
    """Writes the expressions of one region: what occurs twice in it is computed once.

    Args:
        builder: of the prim func.
        buffers: by the id of a tensor, where its elements are.
        leaves: by the id of a loop variable, its value.
        outer: of the region around this one, whose values can be used.
    """

    def __init__(
        self,
        builder: PrimFuncBuilder,
        buffers: Mapping[int, Buffer],
        leaves: Mapping[int, Scalar],
        outer: "Emitter | None" = None,
    ) -> None:
        self._builder, self._buffers, self._leaves = builder, buffers, leaves
        self._known: dict[int, Scalar] = dict(outer._known) if outer else {}
        # The keys above are good as long as the expressions are.
        self._keep: list[PrimExpr] = []

    def value(self, expr: PrimExpr) -> Scalar:
        """Return the value of an expression at the current insertion point.

        Raises:
            ExprError: a name in it has no value here, or a function is not defined for a dtype.
        """
        self._keep.append(expr)
        pending = [(expr, False)]
        while pending:
            node, ready = pending.pop()
            if id(node) in self._known:
                continue
            if ready or not node.operands:
                try:
                    self._known[id(node)] = self._make(node)
                except DtypeError as error:
                    raise ExprError(f"{node!r}: {error}") from error
                continue
            pending.append((node, True))
            parts = node.operands[:1] if isinstance(node, N.IfThenElse) else node.operands
            numbers = self._bare(node)
            pending += [
                (part, False)
                for part, number in reversed(list(zip(parts, numbers, strict=False)))
                if not number
            ]
        return self._known[id(expr)]

    def raw(self, expr: PrimExpr) -> Any:
        """Return the value of an expression, of a number that number itself."""
        return expr.value if isinstance(expr, (IntImm, FloatImm)) else self.value(expr)

    @staticmethod
    def _bare(node: PrimExpr) -> list[bool]:
        """Whether each operand is a number that the operation takes as it is.

        Divisions treat numbers better than values, and indices are affine only so.
        """
        parts = node.operands
        numbers = [isinstance(part, (IntImm, FloatImm)) for part in parts]
        if isinstance(node, N.ProducerLoad):
            return numbers
        if isinstance(node, (N.BinaryExpr, N.Select)) and parts[0].dtype != "bool":
            return numbers if not numbers[0] or not numbers[1] else [False, numbers[1]]
        return [False] * len(parts)

    def _make(self, node: PrimExpr) -> Scalar:
        for cls in type(node).__mro__:
            if cls in _RULES:
                return _RULES[cls](self, node)
        raise ExprError(f"{node!r} means nothing inside of a prim func")

    def _operands(self, node: PrimExpr) -> list[Any]:
        return [
            self.raw(part) if bare else self._known[id(part)]
            for part, bare in zip(node.operands, self._bare(node), strict=True)
        ]

    def _leaf(self, node: Leaf) -> Scalar:
        if id(node) not in self._leaves:
            raise ExprError(
                f"variable '{node.name}' is no axis here: it belongs to another te.compute, or to "
                "none; sizes are tir.Var"
            )
        return self._leaves[id(node)]

    def _load(self, node: N.ProducerLoad) -> Scalar:
        buffer = self._buffers.get(id(node.producer))
        if buffer is None:
            raise ExprError(f"'{node.producer.name}' is not computed before it is read")
        return buffer[tuple(self._operands(node))]

    def _if(self, node: N.IfThenElse) -> Scalar:
        condition = self._known[id(node.condition)]
        return self.choose(
            condition,
            lambda inner: inner.value(node.true_value),
            lambda inner: inner.value(node.false_value),
            node.dtype,
        )

    def choose(
        self,
        condition: Scalar,
        then: "Callable[[Emitter], Scalar]",
        other: "Callable[[Emitter], Scalar]",
        dtype: str,
    ) -> Scalar:
        """Evaluate one of two values, in a region of its own."""
        op = ir.Operation.create(
            "scf.if", operands=[condition.value], results=[S.scalar_type(dtype)], regions=2
        )
        for region, make in zip(op.regions, (then, other), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                inner = Emitter(self._builder, self._buffers, self._leaves, self)
                scf.YieldOp([S.cast(make(inner), dtype).value])
        return Scalar(op.result, dtype)

    def _call(self, node: N.Call) -> Scalar:
        args = self._operands(node)
        if node.attrs is not None:
            args.append(node.attrs)
        return FUNCTIONS[node.op](*args)


def _binary(emitter: Emitter, node: N.BinaryExpr) -> Scalar:
    return S.binary(node.KIND, *emitter._operands(node))


def _compare(emitter: Emitter, node: N.CmpExpr) -> Scalar:
    return S.compare(node.KIND, *emitter._operands(node))


def _select(emitter: Emitter, node: N.Select) -> Scalar:
    return S.select(*emitter._operands(node))


_RULES: dict[type, Callable[[Emitter, Any], Scalar]] = {
    IntImm: lambda emitter, node: S.const(
        bool(node.value) if node.dtype == "bool" else node.value, node.dtype
    ),
    FloatImm: lambda emitter, node: S.const(node.value, node.dtype),
    Size: lambda emitter, node: emitter._builder.symbol(node.expr),
    Leaf: Emitter._leaf,
    Cast: lambda emitter, node: S.cast(emitter._operands(node)[0], node.dtype),
    N.And: _binary,
    N.Or: _binary,
    N.CmpExpr: _compare,
    N.BinaryExpr: _binary,
    N.Not: lambda emitter, node: S.compare(
        "eq", emitter._operands(node)[0], S.const(False, "bool")
    ),
    N.IfThenElse: Emitter._if,
    N.Select: _select,
    N.Call: Emitter._call,
    N.ProducerLoad: Emitter._load,
    ExternCall: lambda emitter, node: node.write(
        [emitter._known[id(part)] for part in node.operands]
    ),
    PackedCall: lambda emitter, node: node.write(
        [emitter._known[id(part)] for part in node.operands]
    ),
}
