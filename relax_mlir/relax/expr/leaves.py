"""Variables and names of functions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.places import canonical, defining_op
from relax_mlir.relax.expr.types import (
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    Type,
    as_type,
    from_mlir,
    ranked,
    without_shape,
)


class Id:
    """The identity of a variable: what two variables of one name do not share.

    Attributes:
        name_hint: the name.
    """

    __slots__ = ("_value", "name_hint")

    def __init__(self, name_hint: str, value: Any = None) -> None:
        self.name_hint: str = name_hint
        self._value = value

    def same_as(self, other: object) -> bool:
        """Whether the other identifies the same variable."""
        if self is other:
            return True
        return isinstance(other, Id) and self._value is not None and self._value == other._value

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __hash__(self) -> int:
        return id(self) if self._value is None else hash(self._value)

    def __repr__(self) -> str:
        return f"Id({self.name_hint!r})"


class Var(Expr):
    """A variable: `Var("x", R.Tensor(("n", 4), "float32"))`.

    The design document's `Var("x", [n, 4], DynTensorType(2, "float32"))` is the same.
    """

    __slots__ = ("_frame", "_id", "_name", "_value")

    def __init__(
        self, name: "str | Id | None" = None, ty: Any = None, type_annotation: Any = None,
        *, name_hint: "str | Id | None" = None, struct_info: Any = None, shape: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if name is not None and name_hint is not None:
            raise ExprTypeError("Specify either name or name_hint, not both")
        name = name_hint if name is None else name
        self._id = name if isinstance(name, Id) else None
        name = self._id.name_hint if self._id is not None else name
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
            ndim = getattr(known, "ndim", -1)
            dtype = dtype or getattr(known, "dtype", None)
            given = ranked(TensorType, shape, ndim, dtype=dtype)
        elif given is None:
            given = type_annotation
        self._ty = None if given is None else as_type(given)

    @property
    def name(self) -> str:
        """The name; that of the MLIR value's location for one that has been emitted."""
        return self._name

    @property
    def name_hint(self) -> str:
        """The name, as TVM 0.27 and older call it."""
        return self._name

    def as_size(self) -> SymExpr | None:
        """Return the symbol that a variable of int64 is in shapes, None for other variables."""
        # The type of a bound value does not say the size that its variable was declared as.
        type_ = self.ty if self._ty is None else self._ty
        if not isinstance(type_, PrimType) or type_.dtype != "int64":
            return None
        return SymExpr.var(self.name) if type_.value is None else type_.value

    @property
    def vid(self) -> Id:
        """The identity, which carries the name."""
        if self._id is None:
            self._id = Id(self._name, self._identity())
        return self._id

    @property
    def mlir_value(self) -> ir.Value | None:
        """The MLIR value, None when this has not been emitted.

        Raises:
            ExprError: its binding has been replaced or removed since.
        """
        if self._value is not None:
            try:
                self._value.owner  # noqa: B018 - of an operation that is no more this raises
            except RuntimeError as error:
                raise ExprError(
                    f"the binding of '{self.name_hint}' has been replaced or removed"
                ) from error
        return self._value

    @property
    def ty(self) -> Type:
        """The type, missing of a variable that nothing has declared or bound."""
        if self._value is None and self._ty is None:
            return Type.missing()
        return Expr.ty.fget(self)  # type: ignore[attr-defined]

    @property
    def type_annotation(self) -> Type:
        """The type without dimensions, as the design document's field."""
        return without_shape(self.ty)

    def _identity(self) -> Any:
        return None if self._value is None else canonical(self._value)


class DataflowVar(Var):
    """A variable that is visible in its dataflow block only."""

    __slots__ = ()

    def as_size(self) -> SymExpr | None:
        """As for other variables, but None before its block binds it: it is no parameter."""
        return None if self._value is None else super().as_size()


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
    """The name of a function of the module; calling it makes a call."""

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
    """The name of a packed function, found when the program runs."""

    __slots__ = ("attrs", "global_symbol")

    def __init__(self, global_symbol: str, ty: Any = None) -> None:
        super().__init__()
        if not isinstance(global_symbol, str):
            raise ExprTypeError(f"the name of a packed function is a string, got {global_symbol!r}")
        self.global_symbol: str = global_symbol
        self.attrs: dict[str, Any] = {}
        self._ty = FuncType(purity=False) if ty is None else as_type(ty)
        if not isinstance(self._ty, FuncType):
            raise ExprTypeError(f"the type of a packed function is a FuncType, got {self._ty}")

    @classmethod
    def of(cls, op: ir.Operation) -> "ExternFunc":
        """Return the packed function that a `relax.extern_func` declares."""
        given = op.attributes
        types = [ir.TypeAttr(each).value for each in given["params"]] if "params" in given else None
        result = ir.TypeAttr(given["result"]).value if "result" in given else None
        return cls.typed(ir.StringAttr(given["func"]).value, types, result, "pure" in given)

    @classmethod
    def typed(
        cls, symbol: str, params: Sequence[ir.Type] | None, result: ir.Type | None, pure: bool
    ) -> "ExternFunc":
        """Return the packed function of that name and type; None is what is not known."""
        types = None if params is None else map(from_mlir, params)
        return cls(symbol, FuncType(types, None if result is None else from_mlir(result), pure))

    def declaration(self) -> ir.Module:
        """Return a module of the packed function alone, under its own name."""
        type_ = self._ty
        assert isinstance(type_, FuncType), "the constructor looked"
        with default_context(), ir.Location.unknown():
            attributes: dict[str, ir.Attribute] = {
                "sym_name": ir.StringAttr.get(self.global_symbol),
                "func": ir.StringAttr.get(self.global_symbol),
            }
            if type_.params is not None:
                types = [ir.TypeAttr.get(each.to_mlir()) for each in type_.params]
                attributes["params"] = ir.ArrayAttr.get(types)
            if not isinstance(type_.ret, ObjectType):
                attributes["result"] = ir.TypeAttr.get(type_.ret.to_mlir())
            if type_.purity:
                attributes["pure"] = ir.UnitAttr.get()
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                ir.Operation.create("relax.extern_func", attributes=attributes)
        return module

    @property
    def name_hint(self) -> str:
        """The function's name."""
        return self.global_symbol

    def _identity(self) -> Any:
        return ExternFunc, self.global_symbol


def is_prim_expr(value: object) -> bool:
    """Whether something is a scalar: an expression of primitive type, or one of `tir`."""
    if isinstance(value, Expr):
        return isinstance(value.ty, PrimType)
    return isinstance(value, SymExpr) or hasattr(value, "as_size")


def is_prim_var(value: object) -> bool:
    """Whether something is a variable of primitive type that is not a dataflow block's own.

    A dimension that is one symbol is such a variable.
    """
    if isinstance(value, SymExpr):
        return bool(value.name)
    return isinstance(value, Var) and not isinstance(value, DataflowVar) and is_prim_expr(value)
