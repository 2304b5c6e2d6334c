"""Expressions without parts: variables, constants, shapes, names of functions; and tuples."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array, numpy_dtype
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.places import canonical, defining_op
from relax_mlir.relax.expr.types import (
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    as_dim,
    as_dtype,
    as_type,
    without_shape,
)
from relax_mlir.script.printer.names import location_name


class Id:
    """The identity of a variable: what two variables of one name do not share.

    Attributes:
        name_hint: the name.
    """

    __slots__ = ("_value", "name_hint")

    def __init__(self, name_hint: str, value: Any = None) -> None:
        self.name_hint = name_hint
        self._value = value

    def same_as(self, other: object) -> bool:
        """Whether the other identifies the same variable."""
        if self is other:
            return True
        return isinstance(other, Id) and self._value is not None and self._value == other._value

    __eq__ = same_as

    def __hash__(self) -> int:
        return id(self) if self._value is None else hash(self._value)

    def __repr__(self) -> str:
        return f"Id({self.name_hint!r})"


class Var(Expr):
    """A variable: `Var("x", R.Tensor(("n", 4), "float32"))` (R02).

    The design document's `Var("x", [n, 4], DynTensorType(2, "float32"))` is the same.
    """

    __slots__ = ("_frame", "_id", "_name", "_value")

    def __init__(
        self, name_hint: "str | Id", ty: Any = None, type_annotation: Any = None,
        *, struct_info: Any = None, shape: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._id = name_hint if isinstance(name_hint, Id) else None
        name = self._id.name_hint if self._id is not None else name_hint
        if not isinstance(name, str):
            raise ExprTypeError(f"the name of a variable is a string, got {name!r}")
        self._name = name
        self._value: ir.Value | None = None
        self._frame: Any = None
        given = struct_info if ty is None else ty
        if isinstance(given, (list, tuple)) or isinstance(getattr(given, "ty", None), ShapeType):
            given, shape = None, given
        if given is None and shape is not None:
            known = None if type_annotation is None else as_type(type_annotation)
            given = TensorType(shape, dtype or getattr(known, "dtype", None))
        elif given is None:
            given = type_annotation
        self._ty = None if given is None else as_type(given)

    @property
    def name_hint(self) -> str:
        """The name; that of the MLIR value's location for one that has been emitted."""
        return self._name

    @property
    def vid(self) -> Id:
        """The identity, which carries the name."""
        if self._id is None:
            self._id = Id(self._name, self._identity())
        return self._id

    @property
    def mlir_value(self) -> ir.Value | None:
        return self._value

    @property
    def ty(self) -> Type:
        if self._value is None and self._ty is None:
            return ObjectType()
        return Expr.ty.fget(self)  # type: ignore[attr-defined]

    @property
    def type_annotation(self) -> Type:
        """The type without dimensions, as the design document's field."""
        return without_shape(self.ty)

    def _identity(self) -> Any:
        return None if self._value is None else canonical(self._value)


class DataflowVar(Var):
    """A variable that is visible in its dataflow block only (R02, R03)."""

    __slots__ = ()


def make_var(value: ir.Value, name: str, keep: Any, frame: Any, local: bool) -> Var:
    """Return the variable of a value whose name and place are known."""
    var: Var = DataflowVar.__new__(DataflowVar) if local else Var.__new__(Var)
    var._value, var._name, var._keep, var._frame = value, name, keep, frame
    var._ty = var._id = None
    return var


def value_name(value: ir.Value) -> str:
    """Return the name that the program gives a value, `""` when it gives none."""
    op = defining_op(value)
    if op is not None:
        return location_name(op.location)
    name = location_name(value.location)
    func = value.owner.owner
    if not name and "relax.params" in func.operation.attributes:
        names = func.operation.attributes["relax.params"]
        number = ir.BlockArgument(value).arg_number
        return ir.StringAttr(names[number]).value if number < len(names) else ""
    return name


class GlobalVar(Expr):
    """The name of a function of the module; calling it makes a call (R02)."""

    __slots__ = ("_name",)

    def __init__(self, name_hint: str, ty: Any = None) -> None:
        super().__init__()
        self._name = name_hint
        self._ty = FuncType() if ty is None else as_type(ty)

    @property
    def name_hint(self) -> str:
        """The function's name."""
        return self._name

    def _identity(self) -> Any:
        return GlobalVar, self._name


class ExternFunc(Expr):
    """The name of a packed function, found when the program runs (R02)."""

    __slots__ = ("attrs", "global_symbol")

    def __init__(self, global_symbol: str, ty: Any = None) -> None:
        super().__init__()
        if not isinstance(global_symbol, str):
            raise ExprTypeError(f"the name of a packed function is a string, got {global_symbol!r}")
        self.global_symbol = global_symbol
        self.attrs: dict[str, Any] = {}
        self._ty = FuncType() if ty is None else as_type(ty)

    @property
    def name_hint(self) -> str:
        """The function's name."""
        return self.global_symbol

    def _identity(self) -> Any:
        return ExternFunc, self.global_symbol


class _Leaf(Expr):
    """A leaf that an operation without operands stands for, once it is emitted."""

    __slots__ = ("_op", "_raw")

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None when this has not been emitted."""
        return self._op

    @property
    def mlir_value(self) -> ir.Value | None:
        return None if self._op is None else self._op.result

    def _identity(self) -> Any:
        return None if self._op is None else self._op.result


class Constant(_Leaf):
    """A tensor known at compile time: `relax.const(1.0, "float32")`, `Constant(array)`."""

    __slots__ = ()

    def __init__(self, data: Any) -> None:
        super().__init__()
        self._op: ir.Operation | None = None
        self._raw = np.asarray(data)
        try:
            dtype = T.normalize_dtype(str(self._raw.dtype))
        except ValueError as error:
            raise ExprError(f"a constant of numpy dtype {self._raw.dtype}: {error}") from error
        self._ty = TensorType(self._raw.shape, dtype)

    @property
    def data(self) -> np.ndarray:
        """The elements; not a copy where the constant was made in this process.

        Raises:
            ValueError: the module holds no elements (an elided resource).
        """
        if self._op is None:
            return self._raw
        return constant_array(self._op.attributes["value"])


class ShapeExpr(_Leaf):
    """A tuple of symbolic integers as a value: `ShapeExpr((n, 4))` (R02, R07)."""

    __slots__ = ()

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__()
        self._op: ir.Operation | None = None
        self._raw = tuple(as_dim(value) for value in values)

    @property
    def values(self) -> tuple[SymExpr, ...]:
        """The integers."""
        if self._op is None:
            return self._raw
        return tuple(T.shape_dims(self._op.result.type) or ())

    @property
    def ty(self) -> Type:
        return ShapeType(self.values)

    def __getitem__(self, index: Any) -> Any:
        found = self.values[index]
        return ShapeExpr(found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[SymExpr]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def same_as(self, other: object) -> bool:
        """Whether the other is a shape of the same integers; shapes have no identity."""
        return isinstance(other, ShapeExpr) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)


class PrimValue(_Leaf):
    """One symbolic integer as a value: `PrimValue(n * 4)`."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._op: ir.Operation | None = None
        self._raw = as_dim(value)

    @property
    def value(self) -> SymExpr:
        """The integer."""
        if self._op is None:
            return self._raw
        value = self._op.attributes["value"].maybe_downcast()
        assert isinstance(value, Dims), "checked by the verifier"
        return value.dims[0]

    @property
    def sym(self) -> SymExpr:
        """The integer, under the name by which shapes take it."""
        return self.value

    @property
    def ty(self) -> Type:
        return PrimType("int64", self.value)


class StringImm(Expr):
    """A string as an argument of a packed function."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = value
        self._ty = ObjectType()


class DataTypeImm(Expr):
    """A dtype as an argument."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = as_dtype(value)
        self._ty = ObjectType()


class Tuple(_Leaf):
    """A tuple of expressions: `Tuple([x, y])`."""

    __slots__ = ()

    def __init__(self, fields: Iterable[Any]) -> None:
        super().__init__()
        from relax_mlir.relax.expr.convert import convert

        self._op: ir.Operation | None = None
        self._raw = tuple(convert(field) for field in fields)

    @property
    def fields(self) -> tuple[Expr, ...]:
        """The fields."""
        if self._op is None:
            return self._raw
        from relax_mlir.relax.expr.views import view

        return tuple(view(value, self._keep) for value in self._op.operands)

    @property
    def ty(self) -> Type:
        return TupleType([field.ty for field in self.fields])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ExprTypeError(f"the index of a tuple is an integer, got {index!r}")
        fields = self.fields
        if not -len(fields) <= index.__index__() < len(fields):
            raise IndexError(f"index {index} is out of range for {len(fields)} fields")
        return fields[index]

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def const(value: Any, dtype: Any = None) -> Constant:
    """Return a constant tensor; without a dtype, floats are float32 and integers int32.

    Raises:
        ExprError: the value is no number or array of numbers, or the dtype does not have it.
    """
    if isinstance(value, Constant):
        value = value.data
    array = np.asarray(value)
    name = as_dtype(dtype)
    if not name and not hasattr(value, "dtype"):
        name = {"f": "float32", "i": "int32"}.get(array.dtype.kind, "")
    if not name:
        return Constant(array)
    try:
        made = array.astype(numpy_dtype(name))
    except (TypeError, ValueError) as error:
        raise ExprError(f"not a constant of dtype {name}: {error}") from error
    whole = made.dtype.kind in "iub" and array.dtype.kind in "iuf" and made.dtype != array.dtype
    if whole and bool((array != made).any()):
        raise ExprError(f"{value!r} is not a number of dtype {name}")
    return Constant(made)
