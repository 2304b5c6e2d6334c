"""Types of expressions: Python values, converted to MLIR types on use.

A type object belongs to no MLIR context, so types can be made before any module, stored, compared
and used in any thread.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.global_info import VDevice, as_vdevice, expect_cpu
from relax_mlir.relax.expr.dims import as_dim, as_dtype, read_shape
from relax_mlir.relax.expr.scripted import Scripted
from relax_mlir.script.markers import Marker


class Type(Scripted):
    """Base of the types of expressions; immutable, equal when structurally equal."""

    __slots__ = ()
    # Types have no place in the source.
    span: None = None

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context.

        Raises:
            ExprError: there is none, such as for a negative dimension.
        """
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def missing() -> "Type":
        """Return the type of what nothing has given one."""
        return MissingType()

    def is_missing(self) -> bool:
        """Whether nothing has given the expression a type."""
        return isinstance(self, MissingType)

    def is_base_of(self, derived: Any) -> bool:
        """Whether every value of another type surely has this one, as `type_base_check` finds.

        Raises:
            ExprTypeError: the other is no type.
        """
        return bool(extension("relax.contains_type")(self, derived))

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __tvm_ffi_value__(self) -> str:
        """Return what crosses to packed functions and to `tvm_ffi.structural_hash`: the text."""
        return str(self)

    def same_as(self, other: object) -> bool:
        """Whether the other is the same type."""
        return self == other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Marker):
            other = as_type(other)
        return type(self) is type(other) and self._key() == other._key()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __repr__(self) -> str:
        return str(self)


class TensorType(Type):
    """A tensor: `TensorType(("n", 4), "float32")`, all parts optional.

    Attributes:
        dims: dimensions where they are known symbolically (V0), else None.
        dtype: TVM's name, `""` when unknown; `float32` when left out, as in TVM, which makes it
            unknown for `R.Tensor` alone.
        ndim: number of dimensions, -1 when unknown.
        shape_expr: the variable or call of a shape that was given as one, or None.
        vdevice: where the tensor is, or None. Programs run on a CPU, so IR does not keep it.
    """

    __slots__ = ("dims", "dtype", "ndim", "shape_expr", "vdevice")

    def __init__(
        self, shape: Any = None, dtype: Any = "float32", vdevice: Any = None, ndim: int = -1
    ) -> None:
        if isinstance(shape, str):
            shape, dtype = None, shape
        self.dtype: str = as_dtype(dtype)
        self.dims: tuple[SymExpr, ...] | None = None
        self.shape_expr: Any = None
        self.vdevice: VDevice | None = None if vdevice is None else as_vdevice(vdevice)
        if shape is not None:
            if ndim != -1:
                raise ExprError(f"a TensorType takes a shape or ndim, got {shape!r} and {ndim}")
            self.dims, self.shape_expr, ndim = read_shape(shape)
        if isinstance(ndim, bool) or not isinstance(ndim, int) or ndim < -1:
            raise ExprError(f"ndim must be an integer, -1 when unknown, got {ndim!r}")
        self.ndim: int = ndim

    @property
    def shape(self) -> Any:
        """The dimensions as a `ShapeExpr` (V0), an expression of a shape (V1), or None (V2)."""
        if self.dims is None or self.shape_expr is not None:
            return self.shape_expr
        return extension("relax.ShapeExpr")(self.dims)

    @property
    def rank(self) -> int:
        """The number of dimensions, as `DynTensorType` has it."""
        return self.ndim

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context.

        Raises:
            DeviceError: the tensor is on a device that programs cannot run on.
        """
        if self.vdevice is not None:
            expect_cpu(self.vdevice)
        try:
            return T.tensor_type(self.dims, self.dtype, self.ndim)
        except ValueError as error:
            raise ExprError(str(error)) from error

    def _key(self) -> tuple[Any, ...]:
        return self.dims, self.dtype, self.ndim, self.vdevice

    def __str__(self) -> str:
        dtype = f'"{self.dtype}"' if self.dtype else ""
        if self.dims is not None:
            parts = [_tuple_text(self.dims), *([dtype] if dtype else [])]
        else:
            parts = [f"ndim={self.ndim}"] if self.ndim >= 0 else []
            parts += [f"dtype={dtype}"] if dtype else []
        parts += [] if self.vdevice is None else [f'vdevice="{self.vdevice}"']
        return f"R.Tensor({', '.join(parts)})"


class ShapeType(Type):
    """A shape as a value: `ShapeType(("n", 4))`, `ShapeType(ndim=2)` or `ShapeType()`.

    Attributes:
        dims: values where they are known symbolically, else None.
        ndim: how many there are, -1 when unknown.
    """

    __slots__ = ("dims", "ndim")

    def __init__(self, values: Any = None, ndim: int = -1) -> None:
        self.dims: tuple[SymExpr, ...] | None = None
        if values is not None:
            if ndim != -1:
                raise ExprError(f"a ShapeType takes values or ndim, got {values!r} and {ndim}")
            self.dims, _, ndim = read_shape(values)
        self.ndim: int = ndim

    @property
    def values(self) -> tuple[SymExpr, ...] | None:
        """The values where they are known symbolically, else None."""
        return self.dims

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context."""
        try:
            return T.shape_type(self.dims, self.ndim)
        except ValueError as error:
            raise ExprError(str(error)) from error

    def _key(self) -> tuple[Any, ...]:
        return self.dims, self.ndim

    def __str__(self) -> str:
        if self.dims is not None:
            return f"R.Shape([{', '.join(map(str, self.dims))}])"
        return f"R.Shape(ndim={self.ndim})" if self.ndim >= 0 else "R.Shape"


class TupleType(Type):
    """A tuple: `TupleType([R.Tensor((4,), "float32"), R.Object])`."""

    __slots__ = ("fields",)

    def __init__(self, *given: Any, fields: Any = None) -> None:
        fields = given if fields is None else fields
        if len(fields) == 1 and isinstance(fields[0], (list, tuple)):
            fields = tuple(fields[0])
        self.fields: tuple[Type, ...] = tuple(as_type(field) for field in fields)

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context."""
        return ir.TupleType.get_tuple([field.to_mlir() for field in self.fields])

    def _key(self) -> tuple[Any, ...]:
        return self.fields

    def __str__(self) -> str:
        return f"R.Tuple({', '.join(map(str, self.fields))})"


class ObjectType(Type):
    """Any run-time value."""

    __slots__ = ()

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context."""
        return T.object_type()

    def __str__(self) -> str:
        return "R.Object"


class MissingType(Type):
    """No type: that of a variable which nothing has declared or bound."""

    __slots__ = ()

    def to_mlir(self) -> ir.Type:
        """Refuse.

        Raises:
            ExprError: always.
        """
        raise ExprError("a variable without a type is used; declare it, such as R.Tensor, R.Any")

    def __str__(self) -> str:
        return "<missing type>"


class PrimType(Type):
    """A scalar that is no tensor: `int64`, the `bool` that compares two of them, or another.

    Symbols of shapes are of `int64`; values of other dtypes pass through a program as they are.

    Attributes:
        dtype: its dtype.
        value: the symbolic integer that it is known to be, or None.
    """

    __slots__ = ("dtype", "value")

    def __init__(self, dtype: Any = None, value: Any = None) -> None:
        self.dtype: str = as_dtype(dtype) or "int64"
        self.value: SymExpr | None = None if value is None else as_dim(value)
        if self.value is not None and self.dtype != "int64":
            raise ExprError(f"a symbolic integer is of int64, got {self.dtype}")

    @property
    def prim_dtype(self) -> str:
        """The dtype, where the type stands for it, as in `R.arange(9, dtype=R.Prim("int32"))`."""
        return self.dtype

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context."""
        return T.element_type(self.dtype)

    def _key(self) -> tuple[Any, ...]:
        return self.dtype, self.value

    def __str__(self) -> str:
        return f'R.Prim("{self.dtype}")' if self.value is None else f'R.Prim(value="{self.value}")'


class FuncType(Type):
    """A function: types of parameters, None when unknown, and of its result; its purity."""

    __slots__ = ("derive_func", "params", "purity", "ret")

    def __init__(
        self, params: Iterable[Any] | None = None, ret: Any = None, purity: bool = True
    ) -> None:
        self.params: tuple[Type, ...] | None = (
            None if params is None else tuple(as_type(each) for each in params)
        )
        self.ret: ObjectType | Type = ObjectType() if ret is None else as_type(ret)
        self.purity: bool = purity
        self.derive_func: Any = None

    @property
    def arg_types(self) -> tuple[Type, ...] | None:
        """The types of parameters, as `ir.FuncType` calls them."""
        return self.params

    @property
    def ret_type(self) -> Type:
        """The type of the result, as `ir.FuncType` calls it."""
        return self.ret

    @classmethod
    def opaque_func(
        cls, ret: Any = None, derive_func: Any = None, purity: bool = False
    ) -> "FuncType":
        """Return the type of a function of any arguments.

        Args:
            ret: the type of its result.
            derive_func: names the rule that gives the type of a call's result.
            purity: whether calls have no side effect.
        """
        made = cls(None, ret, purity)
        made.derive_func = derive_func
        return made

    def to_mlir(self) -> ir.Type:
        """Return the MLIR type, in the current context."""
        # A function as a value is an object at run time.
        return T.object_type()

    def _key(self) -> tuple[Any, ...]:
        return self.params, self.ret

    def __str__(self) -> str:
        params = "..." if self.params is None else _tuple_text(self.params)
        return f"R.Callable({params}, {self.ret})"


class PackedFuncType(FuncType):
    """A packed function, of any arguments."""

    __slots__ = ()


def DynTensorType(ndim: int = -1, dtype: Any = None, *, rank: int = -1) -> TensorType:
    """Return the type of a tensor without its shape; the design document says `rank`."""
    return TensorType(None, dtype, ndim=max(ndim, rank))


TensorStructInfo = TensorType
ShapeStructInfo = ShapeType
TupleStructInfo = TupleType
ObjectStructInfo = ObjectType
AnyType = ObjectType
PrimStructInfo = PrimType
FuncStructInfo = FuncType
StructInfo = Type


def from_mlir(type_: ir.Type) -> Type:
    """Return the type object of an MLIR type."""
    if T.is_tensor(type_):
        made = TensorType.__new__(TensorType)
        dims = T.tensor_dims(type_)
        made.dims = None if dims is None else tuple(dims)
        made.dtype, made.ndim = T.tensor_dtype(type_), T.tensor_ndim(type_)
        made.shape_expr = made.vdevice = None
        return made
    if isinstance(type_, Shape):
        return ranked(ShapeType, T.shape_dims(type_), T.shape_ndim(type_))
    if isinstance(type_, ir.TupleType):
        return TupleType([from_mlir(type_.get_type(i)) for i in range(type_.num_types)])
    if isinstance(type_, ir.FunctionType):
        result = from_mlir(type_.results[0]) if len(type_.results) == 1 else None
        return FuncType(map(from_mlir, type_.inputs), result)
    scalar = T.scalar_dtype(type_)
    return ObjectType() if scalar is None else PrimType(scalar)


def ranked(made: type[TensorType] | type[ShapeType], sizes: Any, ndim: int, **options: Any) -> Any:
    """Return a type of sizes, or of their number where they are not known.

    Raises:
        ExprError: the number is another one than that of the sizes.
    """
    if sizes is None:
        return made(None, ndim=ndim, **options)
    result = made(sizes, **options)
    if -1 != ndim != result.ndim != -1:
        raise ExprError(f"ndim is {ndim}, there are {result.ndim} sizes in {result}")
    # What a shape that run time knows does not say.
    result.ndim = max(ndim, result.ndim)
    return result


def without_shape(type_: Type) -> Type:
    """Return a type without dimensions: what the design document's `checked_type_` holds."""
    if isinstance(type_, TensorType):
        return TensorType(None, type_.dtype, type_.vdevice, type_.ndim)
    if isinstance(type_, ShapeType):
        return ShapeType()
    if isinstance(type_, TupleType):
        return TupleType([without_shape(field) for field in type_.fields])
    return type_


def _tuple_text(items: Sequence[Any]) -> str:
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def _tensor(shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1) -> Type:
    """Return what `R.Tensor` means: a dtype that is not written is not known."""
    if isinstance(shape, str):
        shape, dtype = None, shape
    return ranked(TensorType, shape, ndim, dtype=dtype, vdevice=vdevice)


def _shape(values: Any = None, ndim: int = -1) -> Type:
    return ranked(ShapeType, values, ndim)


_MARKERS: dict[str, Callable[..., Type]] = {
    "R.Tensor": _tensor,
    "R.Shape": _shape,
    "R.Tuple": TupleType,
    "R.Object": ObjectType,
    "R.Any": ObjectType,
    "R.Prim": PrimType,
    "R.Callable": FuncType,
}


def as_type(type_: Any) -> Type:
    """Return a type object for a type as people write one.

    Args:
        type_: a type object, `R.Tensor(("n", 4), "float32")`, `R.Tensor[(n, 4), "f32"]`,
            `R.Object`, a class such as `TensorType`, or an MLIR type.

    Raises:
        ExprTypeError: it is none.
    """
    if isinstance(type_, Type):
        return type_
    if isinstance(type_, Marker):
        made = _MARKERS.get(type_.script_path)
        if made is not None:
            return _called(made, type_)
    elif isinstance(type_, type) and issubclass(type_, Type):
        return _tensor() if type_ is TensorType else type_()
    elif isinstance(type_, ir.Type):
        return from_mlir(type_)
    raise ExprTypeError(f'expected a type such as R.Tensor((n, 4), "float32"), got {type_!r}')


def _called(made: Any, marker: Marker) -> Type:
    if marker.script_call is None:
        return made()
    args, kwargs = marker.script_call
    if marker.script_subscript and made is _tensor:
        # `R.Tensor[(n, k), "f32"]` and `R.Tensor[n, k]`.
        (item,) = args
        pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], (tuple, list))
        return _tensor(*item) if pair else _tensor(item)
    return made(*args, **kwargs)
