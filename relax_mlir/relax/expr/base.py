"""The base class of expressions: type, shape, Python's operators."""

from typing import Any, NoReturn

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.relax.expr.scripted import Scripted
from relax_mlir.relax.expr.types import (
    ShapeType,
    TensorType,
    TupleType,
    Type,
    as_type,
    from_mlir,
    without_shape,
)


class Expr(Scripted):
    """An expression of a Relax program.

    Either a view of what stands in a module, then `mlir_value` is its MLIR value, or one that has
    been written but not emitted, such as `x + 1`. A view copies nothing: its fields are read from
    MLIR when they are asked for. Views keep their module alive.

    `==` is identity (`same_as`), as in TVM: whether both are the same variable or the same
    operation. `<`, `<=`, `>` and `>=` make calls; `relax.op.equal` compares elements.
    """

    __slots__ = ("__weakref__", "_keep", "_ty")
    # numpy leaves `array + x` to this class instead of making an array of expressions.
    __array_ufunc__ = None

    def __init__(self) -> None:
        self._keep: Any = None
        self._ty: Type | None = None

    @property
    def mlir_value(self) -> ir.Value | None:
        """The MLIR value, None when this has not been emitted."""
        return None

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None when this has not been emitted or is no operation's."""
        return None

    @property
    def ty(self) -> Type:
        """The type, dimensions included where they are known; inferred when not emitted yet.

        Raises:
            ExprError: no run could satisfy the operands.
        """
        value = self.mlir_value
        if value is not None:
            return from_mlir(value.type)
        if self._ty is None:
            result: Type = extension("relax.infer_type")(self)
            self._ty = result
            return result
        return self._ty

    @property
    def struct_info(self) -> Type:
        """The type, as TVM 0.10 to 0.22 call it."""
        return self.ty

    @property
    def checked_type(self) -> Type:
        """The type without dimensions: rank and dtype."""
        return without_shape(self.ty)

    @property
    def checked_type_(self) -> Type:
        """The type without dimensions, as the design document calls it."""
        return self.checked_type

    @property
    def shape_(self) -> "Expr | None":
        """The shape field: a ShapeExpr (V0), an expression (V1), or None (V2)."""
        return extension("relax.shape_field")(self)

    @property
    def shape(self) -> "Expr":
        """The shape as an expression; where it is not known, `relax.op.shape_of(self)`.

        Raises:
            ExprTypeError: this is no tensor.
        """
        self._tensor("shape")
        result = self.shape_
        return extension("relax.shape_of")(self) if result is None else result

    @property
    def dtype(self) -> str:
        """The dtype of a tensor, `""` when unknown.

        Raises:
            ExprTypeError: this is no tensor.
        """
        return self._tensor("dtype").dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions, -1 when unknown.

        Raises:
            ExprTypeError: this is neither a tensor nor a shape.
        """
        type_ = self.ty
        return type_.ndim if isinstance(type_, ShapeType) else self._tensor("ndim").ndim

    def _tensor(self, what: str) -> TensorType:
        type_ = self.ty
        if not isinstance(type_, TensorType):
            raise ExprTypeError(f"only tensors have '{what}', this is {type_}")
        return type_

    def same_as(self, other: object) -> bool:
        """Whether the other is the same variable or the same part of the program."""
        if self is other:
            return True
        # The bindings do not compare a value with None.
        mine = self._identity()
        theirs = other._identity() if mine is not None and isinstance(other, Expr) else None
        return theirs is not None and bool(mine == theirs)

    def _identity(self) -> Any:
        """Return what equal views have equal, None when only the object is itself."""
        return None

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __ne__(self, other: object) -> bool:
        return not self.same_as(other)

    def __hash__(self) -> int:
        mine = self._identity()
        return object.__hash__(self) if mine is None else hash(mine)

    def __iter__(self) -> Any:
        type_ = self.ty
        if isinstance(type_, TupleType):
            return iter([self[i] for i in range(len(type_.fields))])
        raise ExprTypeError(f"only tuples can be unpacked, this is {type_}")

    def __call__(self, *args: Any, attrs: Any = None) -> "Expr":
        """Return a call of this as a function: of the module, or a closure."""
        return extension("relax.Call")(self, args, attrs)

    def astype(self, dtype: Any) -> "Expr":
        """Return `relax.op.astype(self, dtype)`."""
        return _operators().operation("astype", self, dtype)

    @property
    def T(self) -> "Expr":
        """The tensor with its axes in reversed order, as numpy has it."""
        return _operators().operation("permute_dims", self)

    def __getitem__(self, index: Any) -> "Expr":
        """Return a field of a tuple, a value of a shape, or a part of a tensor as numpy has it."""
        return extension("relax.index_expr")(self, index)

    def __getattr__(self, name: str) -> Any:
        """Return an operation on tensors as a method: `x.sum(axis=1)`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return _operators().method(self, name)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return extension("relax.expr_text")(self)


def _operators() -> Any:
    return extension("relax.operators")


BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARE = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
UNARY = {"neg": "negative", "abs": "abs", "invert": "bitwise_not"}


def _forward(op: str) -> Any:
    def method(self: Expr, other: Any) -> Expr:
        return _operators().binary(op, self, other)

    return method


def _reflected(op: str) -> Any:
    def method(self: Expr, other: Any) -> Expr:
        return _operators().binary(op, other, self)

    return method


def _unary(op: str) -> Any:
    def method(self: Expr) -> Expr:
        return _operators().operation(op, self)

    return method


for _name, _op in {**BINARY, **COMPARE}.items():
    setattr(Expr, f"__{_name}__", _forward(_op))
for _name, _op in BINARY.items():
    setattr(Expr, f"__r{_name}__", _reflected(_op))
for _name, _op in UNARY.items():
    setattr(Expr, f"__{_name}__", _unary(_op))


def _update_type(expr: Expr, ty: Any) -> None:
    """Give an expression that is not emitted yet a type, as TVM's function of this name does.

    Raises:
        ExprTypeError: it has been emitted: MLIR has its type.
    """
    if expr.mlir_value is not None:
        raise ExprTypeError(f"{expr!r} has been emitted, and its type cannot be replaced")
    expr._ty = as_type(ty)


def truthless(expr: Expr) -> NoReturn:
    """Raise the error for a comparison of tensors used as a Python condition."""
    raise ExprTypeError(
        f"{expr!r} has no truth value while the program is being built; branch on it in the "
        "program, by BlockBuilder.if_ or relax.If"
    )


class OperationExpr(Expr):
    """An expression that becomes one operation when it is emitted."""

    __slots__ = ("_op",)

    def __init__(self) -> None:
        super().__init__()
        self._op: ir.Operation | None = None

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None when this has not been emitted."""
        return self._op

    @property
    def mlir_value(self) -> ir.Value | None:
        """The MLIR value, None when this has not been emitted or the operation has no result."""
        return None if self._op is None or not len(self._op.results) else self._op.results[0]
