"""Bindings, binding blocks, and sequences of blocks."""

from collections.abc import Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.extension_points import extension
from relax_mlir.ir.structural.compare import structural_hash
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.leaves import Var, make_var
from relax_mlir.relax.expr.places import DATAFLOW, is_binding, outputs, terminator
from relax_mlir.relax.expr.scripted import Scripted
from relax_mlir.relax.expr.types import ShapeType, TensorType, Type, as_type, from_mlir
from relax_mlir.relax.expr.values import convert
from relax_mlir.relax.expr.views import var, view, view_op


class Binding(Scripted):
    """A variable and what gives it its value; a view of one operation, or written by hand."""

    __slots__ = ("_keep", "_local", "_op", "_value", "_var")

    def __init__(self, var: Var, value: Any) -> None:
        self._op: ir.Operation | None = None
        self._keep: Any = None
        self._local = False
        self._var: Var | None = var
        self._value = convert(value)

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None for a binding that has not been emitted."""
        return self._op

    @property
    def var(self) -> Any:
        """The variable; None for an operation that gives no value."""
        if self._op is None or not len(self._op.results):
            return self._var if self._op is None else None
        name = location_name(self._op.location)
        return make_var(self._op.results[0], name, self._keep, None, self._local)

    @property
    def value(self) -> Any:
        """What is bound."""
        if self._op is None:
            return self._value
        return view_op(self._op, self._keep)

    def same_as(self, other: object) -> bool:
        """Whether the other is the same binding of the program."""
        if self is other:
            return True
        return isinstance(other, Binding) and self._op is not None and self._op == other._op

    def __tvm_ffi_value__(self) -> str:
        """Return what `tvm_ffi.structural_hash` sees: one text of bindings that are alike."""
        return hex(structural_hash(self, map_free_vars=True))

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __hash__(self) -> int:
        return id(self) if self._op is None else hash(self._op)

    def __repr__(self) -> str:
        return extension("relax.binding_text")(self)


class VarBinding(Binding):
    """`var = value`."""

    __slots__ = ()


class MatchCast(Binding):
    """`var = R.match_cast(value, ty)`: symbols of the type that are new are bound.

    The design document's `MatchShape(value, pattern, var)` is the same.
    """

    __slots__ = ("_type",)

    def __init__(self, var: Any, value: Any, ty: Any) -> None:
        if isinstance(ty, Var):
            var, value, pattern = ty, var, value
            known = value.ty
            ty = TensorType(pattern, getattr(known, "dtype", None))
            if isinstance(known, ShapeType):
                ty = ShapeType(pattern)
        super().__init__(var, value)
        self._type = as_type(ty)

    @property
    def value(self) -> Any:
        """The value that is matched."""
        if self._op is None:
            return self._value
        return view(self._op.operands[0], self._keep)

    @property
    def ty(self) -> Type:
        """The type that it is matched against."""
        return self._type if self._op is None else from_mlir(self._op.results[0].type)

    struct_info = ty

    @property
    def pattern(self) -> Any:
        """The dimensions of that type, as the design document's MatchShape has them."""
        return getattr(self.ty, "dims", None)


MatchShape = MatchCast

# Operation -> class of its binding; every other operation is a VarBinding.
BINDINGS: dict[str, type[Binding]] = {"relax.match_cast": MatchCast}


def binding_of(op: ir.Operation, keep: Any = None, local: bool = False) -> Binding:
    """Return the binding that an operation is.

    Args:
        op: the operation.
        keep: what keeps its module alive.
        local: whether its variable is visible in a dataflow block only.
    """
    cls = BINDINGS.get(op.name, VarBinding)
    made: Binding = cls.__new__(cls)
    made._op, made._keep, made._local, made._var = op, keep, local, None
    return made


class BindingBlock(Scripted):
    """Bindings one after the other; what they do may have effects, so they keep their order."""

    __slots__ = ("_bindings", "_keep", "_ops")

    def __init__(self, bindings: Iterable[Binding]) -> None:
        self._bindings: list[Binding] | None = list(bindings)
        self._ops: list[ir.Operation] = []
        self._keep: Any = None

    @property
    def bindings(self) -> list[Binding]:
        """The bindings in order; a new list of views each time."""
        if self._bindings is not None:
            return self._bindings
        return [binding_of(op, self._keep) for op in self._ops]

    def _identity(self) -> Any:
        return self._ops[0] if self._ops else id(self)

    def same_as(self, other: object) -> bool:
        """Whether the other is the same block of the program."""
        return type(self) is type(other) and self._identity() == other._identity()  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __len__(self) -> int:
        return len(self._ops if self._bindings is None else self._bindings)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} bindings)"


class DataflowBlock(BindingBlock):
    """Bindings without effects or control flow: a computational graph."""

    __slots__ = ("_op",)

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__(bindings)
        self._op: ir.Operation | None = None

    @classmethod
    def of(cls, op: ir.Operation, keep: Any = None) -> "DataflowBlock":
        """Return the view of a `relax.dataflow` operation."""
        made = cls.__new__(cls)
        made._op, made._keep, made._ops, made._bindings = op.operation, keep, [], None
        return made

    def __getattr__(self, name: str) -> Any:
        """Return what MLIR has of the operation, such as `block.regions`."""
        if name.startswith("_") or self._op is None:
            raise AttributeError(f"no attribute '{name}'")
        return getattr(self._op, name)

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None for a block that has not been emitted."""
        return self._op

    @property
    def bindings(self) -> list[Binding]:
        """The bindings in order; those of outputs bind plain variables."""
        if self._op is None:
            return self._bindings or []
        leaving = set(outputs(self._op))
        results = []
        for inner in self._op.regions[0].blocks[0].operations:
            op = inner.operation
            if is_binding(op):
                local = not any(result in leaving for result in op.results)
                results.append(binding_of(op, self._keep, local))
        return results

    @property
    def outputs(self) -> list[Var]:
        """The variables that the block gives to what follows it."""
        if self._op is None:
            return [b.var for b in self.bindings if type(b.var) is Var]
        return [var(value, self._keep) for value in outputs(self._op)]

    def _identity(self) -> Any:
        return id(self) if self._op is None else self._op

    def __len__(self) -> int:
        return len(self.bindings)


class SeqExpr(Expr):
    """Blocks of bindings and the expression that is their value: a function's or branch's body."""

    __slots__ = ("_block", "_blocks", "_body")

    def __init__(self, blocks: Iterable[BindingBlock], body: Any) -> None:
        super().__init__()
        self._block: ir.Block | None = None
        self._blocks = list(blocks)
        self._body: Any = convert(body)

    @classmethod
    def of(cls, block: ir.Block, keep: Any = None) -> "SeqExpr":
        """Return the view of the MLIR block of a function or branch."""
        made = cls.__new__(cls)
        made._block, made._keep, made._ty, made._blocks, made._body = block, keep, None, [], None
        return made

    @property
    def mlir_block(self) -> ir.Block | None:
        """The MLIR block, None when this has not been emitted."""
        return self._block

    @property
    def blocks(self) -> list[BindingBlock]:
        """The blocks in order; takes time linear in the bindings outside of dataflow blocks."""
        if self._block is None:
            return self._blocks
        result: list[BindingBlock] = []
        pending: list[ir.Operation] = []
        for inner in self._block.operations:
            op = inner.operation
            if op.name == DATAFLOW:
                _close(result, pending, self._keep)
                pending = []
                result.append(DataflowBlock.of(op, self._keep))
            elif is_binding(op):
                pending.append(op)
        _close(result, pending, self._keep)
        return result

    @property
    def body(self) -> Any:
        """The value: a variable, a constant, or a tuple of them; None when there is none."""
        if self._block is None:
            return self._body
        end = terminator(self._block)
        if end is None or not len(end.operands):
            return None
        return view(end.operands[0], self._keep)

    @property
    def ty(self) -> Type:
        """The type."""
        return self.body.ty if self._block is not None else super().ty

    def _identity(self) -> Any:
        return None if self._block is None else (SeqExpr, self._block)


def as_sequence(expr: Any) -> SeqExpr:
    """Return an expression as the body of a function or branch: itself, or a sequence of it."""
    expr = convert(expr)
    return expr if isinstance(expr, SeqExpr) else SeqExpr([], expr)


def block_of(operations: list[ir.Operation], keep: Any = None) -> BindingBlock:
    """Return the view of bindings one after the other as a block."""
    block = BindingBlock.__new__(BindingBlock)
    block._ops, block._bindings, block._keep = operations, None, keep
    return block


def _close(blocks: list[BindingBlock], pending: list[ir.Operation], keep: Any) -> None:
    if pending:
        blocks.append(block_of(pending, keep))


__all__ = [
    "BINDINGS",
    "Binding",
    "BindingBlock",
    "DataflowBlock",
    "MatchCast",
    "MatchShape",
    "SeqExpr",
    "VarBinding",
    "binding_of",
]
