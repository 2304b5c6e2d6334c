"""Constants, shapes, integers and strings as expressions; and tuples."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array, numpy_dtype
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.op_names import ALIASES, script_name
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.dims import as_dim, as_dtype
from relax_mlir.relax.expr.types import ObjectType, PrimType, ShapeType, TensorType, TupleType, Type
from relax_mlir.relax.expr.views import register_view, view
from relax_mlir.runtime.native.ffi import tvm_ffi
from relax_mlir.script.markers import Marker
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm


class _Leaf(Expr):
    """A leaf that an operation without operands stands for, once it is emitted."""

    __slots__ = ("_op", "_raw")

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The MLIR operation, None when this has not been emitted."""
        return self._op

    @property
    def mlir_value(self) -> ir.Value | None:
        """The MLIR value, None when this has not been emitted."""
        return None if self._op is None else self._op.result

    def _identity(self) -> Any:
        return None if self._op is None else self._op.result


class Elements(np.ndarray):
    """The elements of a constant: a numpy array that also has TVM's `numpy`."""

    def numpy(self) -> np.ndarray:
        """Return them as a plain array, not a copy."""
        return self.view(np.ndarray)


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
    def data(self) -> Elements:
        """The elements; not a copy where the constant was made in this process.

        Raises:
            ValueError: the module holds no elements (an elided resource).
        """
        raw = self._raw if self._op is None else constant_array(self._op.attributes["value"])
        return raw.view(Elements)


class ShapeExpr(_Leaf):
    """A tuple of symbolic integers as a value: `ShapeExpr((n, 4))`."""

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
        """The type."""
        return ShapeType(self.values)

    def __getitem__(self, index: Any) -> Any:
        try:
            result = self.values[index]
        except IndexError:
            count = len(self.values)
            raise IndexError(f"ShapeExpr index out of range: {index} of {count} values") from None
        return ShapeExpr(result) if isinstance(index, slice) else result

    def __iter__(self) -> Iterator[SymExpr]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __tvm_ffi_object__(self) -> tvm_ffi.Array:
        """Return what functions of TVM FFI get, `structural_equal` among them."""
        dims = self.values
        return tvm_ffi.Array([str(dim) if dim.value is None else dim.value for dim in dims])

    def same_as(self, other: object) -> bool:
        """Whether the other is a shape of the same integers; shapes have no identity."""
        return isinstance(other, ShapeExpr) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)


def _is_other_number(value: Any) -> bool:
    """Whether something is a number of `tir` that is no int64."""
    number = isinstance(value, (IntImm, FloatImm)) and not isinstance(value, SymExpr)
    return number and value.dtype != "int64"


def make_shape(shape: Sequence[Any]) -> ShapeExpr:
    """Return a list or tuple of integers and symbols as a shape.

    Raises:
        ExprTypeError: it is neither, or one of them is neither.
    """
    if not isinstance(shape, (list, tuple)):
        raise ExprTypeError(f"a shape is a list or tuple, got {shape!r}")
    return ShapeExpr(shape)


class RuntimeDepShape(Expr):
    """The shape of a tensor that only run time knows; its type is the plain `R.Shape`."""

    __slots__ = ()

    @property
    def ty(self) -> Type:
        """The type."""
        return ShapeType()

    def __repr__(self) -> str:
        return "RuntimeDepShape()"


class PrimValue(_Leaf):
    """A scalar: a symbolic integer, `PrimValue(n * 4)`, or `tir.const(0.5, "float32")`."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._op: ir.Operation | None = None
        self._raw = value if _is_other_number(value) else as_dim(value)

    @property
    def value(self) -> Any:
        """The integer, or the `tir.IntImm` or `tir.FloatImm` of a number of another dtype."""
        if self._op is None:
            return self._raw
        if "value" not in self._op.attributes:
            source = self._op.operands[0].owner.operation
            array = constant_array(source.attributes["value"])
            dtype = T.dtype_of_element(self._op.result.type)
            return (FloatImm if "float" in dtype else IntImm)(dtype, array.item())
        value = self._op.attributes["value"].maybe_downcast()
        assert isinstance(value, Dims), "checked by the verifier"
        return value.dims[0]

    @property
    def sym(self) -> Any:
        """The integer, under the name by which shapes take it."""
        return self.value

    @property
    def ty(self) -> Type:
        """The type."""
        value = self.value
        return PrimType("int64", value) if isinstance(value, SymExpr) else PrimType(value.dtype)


class _Literal(Expr):
    """A word as an argument."""

    __slots__ = ("value",)

    def __tvm_ffi_object__(self) -> Any:
        """Return what `tvm_ffi.structural_hash` sees: the kind and the word."""
        return tvm_ffi.convert([type(self).__name__, self.value])

    def to_mlir(self) -> ir.Attribute:
        """Return the word as an attribute, in the current context."""
        return ir.StringAttr.get(self.value)


class StringImm(_Literal):
    """A string as an argument of a packed function."""

    __slots__ = ()

    def __init__(self, value: str) -> None:
        super().__init__()
        self.value: str = value
        self._ty = ObjectType()


class DataTypeImm(_Literal):
    """A dtype as an argument."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value: str = as_dtype(value)
        self._ty = ObjectType()


def field_index(index: Any, count: int) -> int:
    """Return which of a tuple's fields an index means, from 0.

    Raises:
        ExprTypeError: it is no integer.
        IndexError: there is no such field.
    """
    try:
        result = operator.index(index)
    except TypeError:
        raise ExprTypeError(f"the index of a tuple is an integer, got {index!r}") from None
    if not -count <= result < count:
        raise IndexError(f"Tuple index out of range: {result} of a tuple of {count} fields")
    return result % count


def tuple_of_types(fields: Sequence[Type]) -> Type:
    """Return the type of a tuple, missing where that of a field is."""
    return Type.missing() if any(each.is_missing() for each in fields) else TupleType(fields)


class Tuple(_Leaf):
    """A tuple of expressions: `Tuple([x, y])`."""

    __slots__ = ()

    def __init__(self, fields: Iterable[Any]) -> None:
        super().__init__()
        self._op: ir.Operation | None = None
        self._raw = tuple(convert(field) for field in fields)

    @property
    def fields(self) -> tuple[Expr, ...]:
        """The fields."""
        if self._op is None:
            return self._raw
        return tuple(view(value, self._keep) for value in self._op.operands)

    @property
    def ty(self) -> Type:
        """The type, missing where a field has none."""
        return tuple_of_types([field.ty for field in self.fields])

    def __getitem__(self, index: Any) -> Any:
        fields = self.fields
        return fields[field_index(index, len(fields))]

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
    # A parameter of torch gives its elements only without what tracks its gradient.
    value = value.detach() if hasattr(value, "detach") else value
    try:
        array = np.asarray(value)
    except (ValueError, RuntimeError) as error:
        raise ExprError(f"no array of numbers: {error}") from error
    name = as_dtype(dtype)
    if not name and not hasattr(value, "dtype"):
        name = {"f": "float32", "i": "int32"}.get(array.dtype.kind, "")
    if not name:
        return Constant(array)
    try:
        with np.errstate(all="ignore"):
            made = array.astype(numpy_dtype(name))
    except (TypeError, ValueError, OverflowError) as error:
        raise ExprError(f"not a constant of dtype {name}: {error}") from error
    whole = made.dtype.kind in "iub" and array.dtype.kind in "iuf" and made.dtype != array.dtype
    if whole and bool((array != made).any()):
        raise ExprError(f"{value!r} is not a number of dtype {name}")
    return Constant(made)


def convert(value: Any, dtype: str = "") -> Any:
    """Return the expression for a value.

    Args:
        value: an expression; a symbolic integer; a number or array, which becomes a constant; a
            string; a tuple or list, a shape when all of it are integers and symbols.
        dtype: the dtype of a number's constant, that of the other operand.

    Raises:
        ExprTypeError: it means nothing in a Relax program.
        ExprError: a number that the dtype does not have.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return const(value, dtype if isinstance(value, np.generic) and dtype else None)
    if isinstance(value, (bool, int, float)):
        return const(value, dtype or None)
    if isinstance(value, (SymExpr, IntImm, FloatImm)):
        return PrimValue(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (list, tuple)):
        if value and all(is_integer(item) for item in value):
            return ShapeExpr(value)
        return Tuple(value)
    if isinstance(value, ir.Value):
        return view(value)
    data = _array(value)
    if data is not None:
        return Constant(data)
    if isinstance(value, Marker):
        return _called(value)
    raise ExprTypeError(f"a Python {type(value).__name__} has no meaning in a Relax program")


def is_integer(value: Any) -> bool:
    """Whether something can be a dimension."""
    value = value.value if isinstance(value, PrimValue) else value
    return isinstance(value, (SymExpr, int, np.integer)) and not isinstance(value, bool)


def _array(value: Any) -> np.ndarray | None:
    """Return the elements of a tensor of another library, None for anything else."""
    if not hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return None
    try:
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ExprTypeError(
            f"a Python {type(value).__name__} cannot be a constant: {error}"
        ) from error


def operation_called(marker: Marker) -> "Expr | Marker":
    """Return the call that `R.nn.relu(x)` is outside of scripts, other markers as they are."""
    op = extension("relax.op")
    path = marker.script_path.removeprefix("R.").removeprefix("nn.")
    return _called(marker) if path in dir(op) and path not in op.GROUPS else marker


def _called(marker: Marker) -> Expr:
    """Return the call that `R.nn.relu(x)` is outside of scripts: that of `relax.op.nn.relu(x)`.

    Raises:
        ExprTypeError: it is no operation, or not called.
    """
    op = extension("relax.op")
    language, _, path = marker.script_path.partition(".")
    name = path.rsplit(".", 1)[-1]
    written = path in (name, f"nn.{name}", script_name(name), *ALIASES)
    if language != "R" or not written or name not in dir(op) or name in op.GROUPS:
        raise ExprTypeError(f"{marker.script_path} means something only inside a script function")
    if marker.script_call is None or marker.script_subscript:
        raise ExprTypeError(f"{marker.script_path} is a function; call it")
    args, keywords = marker.script_call
    return convert(getattr(op, name)(*args, **keywords))


register_view("relax.constant", Constant)
register_view("relax.shape_expr", ShapeExpr)
register_view("relax.prim_value", PrimValue)
register_view(MAKE_TUPLE, Tuple)
