"""Calls: of operations, functions of the module, packed functions, closures."""

from collections.abc import Callable, Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.op_names import dialect_name, tvm_name
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, is_absent, read_attributes
from relax_mlir.dialects.relax.tuples import call_arguments
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean
from relax_mlir.ir.attribute_value import attribute_value
from relax_mlir.ir.shape_rules import get_op_attr
from relax_mlir.lowering.walk import outermost
from relax_mlir.relax.expr.base import COMPARE, Expr, OperationExpr, truthless
from relax_mlir.relax.expr.leaves import ExternFunc, GlobalVar
from relax_mlir.relax.expr.types import FuncType, Type, as_type, from_mlir
from relax_mlir.relax.expr.values import convert
from relax_mlir.relax.expr.views import register_view, view

_COMPARISONS = frozenset(f"relax.{name}" for name in COMPARE.values())
# Those whose result type is said, not inferred.
CALL_FORMS = frozenset(
    f"relax.{name}"
    for name in (
        "call_tir", "call_tir_inplace", "call_dps_packed", "call_dps_packed_inplace",
        "call_packed", "call_pure_packed", "call_inplace_packed", "call", "invoke_closure",
        "make_closure", "shape_of", "match_cast", "alloc_tensor", "compare_prim", "logic_prim",
        "binary_broadcast",
    )
)  # fmt: skip


class Op(Expr):
    """An operation of the dialect by name, `Op.get("relax.add")`; one object per name.

    Attributes:
        name: TVM's name, `relax.nn.relu`.
        mlir_name: what the operation is called in MLIR, `relax.relu`.
    """

    __slots__ = ("mlir_name", "name")
    _KNOWN: dict[str, "Op"] = {}  # noqa: RUF012

    def __init__(self, name: str) -> None:
        super().__init__()
        dialect, _, rest = name.partition(".")
        self.mlir_name: str = f"relax.{dialect_name(rest)}" if dialect == "relax" else name
        self.name: str = tvm_name(self.mlir_name)
        self._ty = FuncType()

    @staticmethod
    def get(name: str) -> "Op":
        """Return the operation of that name, TVM's or MLIR's.

        Raises:
            ExprError: there is none.
        """
        known = Op._KNOWN.get(name)
        if known is None:
            full = f"relax.{name.removeprefix('relax.')}"
            known = Op(full)
            mlir_name = known.mlir_name
            if mlir_name.removeprefix("relax.") not in COMPUTE_OPS and mlir_name not in CALL_FORMS:
                near = did_you_mean(full, Op.list_op_names())
                raise ExprError(f"there is no operation '{name}'{near}")
            known = Op._KNOWN.setdefault(mlir_name, known)
        return known

    @staticmethod
    def named(mlir_name: str) -> "Op":
        """Return the operation that MLIR calls so, whether there is one or not."""
        known = Op._KNOWN.get(mlir_name)
        return Op._KNOWN.setdefault(mlir_name, Op(mlir_name)) if known is None else known

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operations that `get` finds."""
        return sorted(map(tvm_name, [*(f"relax.{name}" for name in COMPUTE_OPS), *CALL_FORMS]))

    def get_attr(self, attr_name: str) -> Any:
        """Return what `register_op_attr` attached, None when nothing was."""
        return get_op_attr(self.mlir_name, attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Whether `register_op_attr` attached something."""
        return self.get_attr(attr_name) is not None

    def _identity(self) -> Any:
        return Op, self.name


class Attrs(dict[str, Any]):
    """The attributes of a call: a dictionary whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"no attribute '{name}'{did_you_mean(name, self)}")


# As TVM calls it.
DictAttrs = Attrs


class Call(OperationExpr):
    """A call: of an operation, a function of the module, a packed function or a closure.

    Attributes of a view are read from MLIR. `relax.call_tir` has the arguments that TVM's has: the
    function, then the tuple of tensors; its output shapes are those of its type.
    """

    __slots__ = ("_args", "_attrs", "_callee", "_stated")

    def __init__(
        self, op: Any, args: Iterable[Any] = (), attrs: Any = None, ty_args: Iterable[Any] = (),
        *, sinfo_args: Iterable[Any] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(op, Expr):
            known = f"; ir.Op.get({op!r}) finds an operation" if isinstance(op, str) else ""
            raise ExprTypeError(
                f"a call needs a defined operator, an operation or a function, got {op!r}{known}"
            )
        self._callee = op
        self._args = tuple(convert(arg) for arg in args)
        self._attrs = Attrs(attrs or {})
        self._stated = tuple(as_type(each) for each in (ty_args or sinfo_args))

    @property
    def op(self) -> Expr:
        """What is called: an `Op`, a `GlobalVar`, an `ExternFunc` or a closure."""
        if self._op is None:
            return self._callee
        # Matchers read this of every call, so the arguments are not looked at.
        name = self._op.name
        return self._parts()[0] if name in _PARTS else Op.named(name)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments; those of an operation that were left out at the end are missing."""
        return self._args if self._op is None else tuple(self._parts()[1])

    @property
    def attrs(self) -> Attrs:
        """The attributes by name, defaults filled in."""
        if self._op is None:
            return self._attrs
        cls = COMPUTE_OPS.get(self._op.name.removeprefix("relax."))
        if cls is not None:
            return Attrs(read_attributes(self._op, cls.PARAMS))
        return Attrs(
            {
                name: attribute_value(attribute)
                for name, attribute in self._op.attributes.items()
                if name not in ("callee", "func")
            }
        )

    @property
    def ty_args(self) -> tuple[Type, ...]:
        """The types that the call says of its result, for calls that say it."""
        if self._op is None:
            return self._stated
        inferred = self._op.name.removeprefix("relax.") in COMPUTE_OPS
        return () if inferred else tuple(from_mlir(value.type) for value in self._op.results)

    # As TVM 0.10 to 0.22 call it.
    sinfo_args = ty_args

    def _parts(self) -> tuple[Expr, list[Any]]:
        assert self._op is not None, "only views are read from MLIR"
        return _PARTS.get(self._op.name, _computation)(self)

    def _operands(self, values: Iterable[ir.Value]) -> list[Any]:
        return [view(value, self._keep) for value in values]

    def _identity(self) -> Any:
        return None if self._op is None else (Call, self._op)

    def __bool__(self) -> bool:
        op = self._callee if self._op is None else None
        if isinstance(op, Op) and op.name in _COMPARISONS:
            truthless(self)
        return True


def _computation(call: Call) -> tuple[Expr, list[Any]]:
    op = call._op
    values = list(op.operands)  # type: ignore[union-attr]
    while values and is_absent(values[-1]):
        values.pop()
    return Op.named(op.name), call._operands(values)  # type: ignore[union-attr]


def _symbol(call: Call) -> GlobalVar:
    return GlobalVar(ir.FlatSymbolRefAttr(call._op.attributes["callee"]).value)  # type: ignore[union-attr]


def _extern(call: Call) -> ExternFunc:
    return ExternFunc(ir.StringAttr(call._op.attributes["func"]).value)  # type: ignore[union-attr]


def _vm_callee(call: Call) -> Expr:
    """Return what `vm.call` calls: a function of the module, or a packed function."""
    name = _extern(call)
    assert call._op is not None, "parts are those of an operation"
    module = outermost(call._op)
    local = module.name == "builtin.module" and name.global_symbol in ir.SymbolTable(module)
    return GlobalVar(name.global_symbol) if local else name


def _arguments(call: Call) -> list[Any]:
    return call._operands(call_arguments(call._op))  # type: ignore[arg-type]


def _argument_tuple(call: Call) -> Any:
    operands = call._op.operands  # type: ignore[union-attr]
    return call._operands([operands[len(operands) - 1]])[0]


def _op_of(call: Call) -> Op:
    return Op.get(call._op.name)  # type: ignore[union-attr]


_PARTS: dict[str, Callable[[Call], tuple[Expr, list[Any]]]] = {
    "relax.call": lambda call: (_symbol(call), _arguments(call)),
    "relax.call_tir": lambda call: (_op_of(call), [_symbol(call), _argument_tuple(call)]),
    "relax.call_tir_inplace": lambda call: (_op_of(call), [_symbol(call), _argument_tuple(call)]),
    "relax.call_dps_packed": lambda call: (_op_of(call), [_extern(call), _argument_tuple(call)]),
    "relax.call_dps_packed_inplace": lambda call: (
        _op_of(call),
        [_extern(call), _argument_tuple(call)],
    ),
    "relax.call_inplace_packed": lambda call: (_op_of(call), [_extern(call), *_arguments(call)]),
    "relax.call_packed": lambda call: (_extern(call), _arguments(call)),
    "vm.call": lambda call: (_vm_callee(call), _arguments(call)),
    "relax.call_pure_packed": lambda call: (_op_of(call), [_extern(call), *_arguments(call)]),
    "relax.make_closure": lambda call: (_op_of(call), [_symbol(call), _argument_tuple(call)]),
    "relax.invoke_closure": lambda call: (
        call._operands([call._op.operands[0]])[0],  # type: ignore[union-attr]
        _arguments(call),
    ),
}
register_view("", Call)
