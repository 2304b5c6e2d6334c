"""Parameters of Relax computations: their kinds and their attributes."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.axis_map import AxisMap
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import InferError, InferTypeError
from relax_mlir.dialects.relax.validity import dims_problem
from relax_mlir.dialects.symbolic.expr import SymExpr

REQUIRED = object()
_INTEGERS = ("int", "ints", "int_or_ints")
# Of a symbolic parameter: only run time knows its value.
UNKNOWN = object()
OPERAND_KINDS = ("tensor", "tensors", "shape", "prim", "any")
# Attributes that may be symbolic; where they are, the runtime's library gets them as operands.
SYMBOLIC_KINDS = ("dim", "dims", "number")


@dataclass(frozen=True)
class Param:
    """One parameter of an operation as script and builder see it.

    Attributes:
        name: keyword.
        kind: operands are `"tensor"`, `"tensors"` (any number of them, one tuple in the IR),
            `"shape"`, `"prim"` (one number) or `"any"`. Attributes are `"int"`, `"ints"`,
            `"int_or_ints"`, `"bool"`, `"float"`, `"floats"`, `"str"`, `"dtype"`, `"device"`; the
            symbolic integers `"dim"` and `"dims"`; `"index_map"`, a function of indices; and
            `"number"`, an integer, a symbolic one or a float.
        default: REQUIRED, or the value used when left out; an operand left out is the empty tuple
            in the IR.
        optional: of an attribute, whether None is a value. It is where it is the default.
        scalar: of a tensor operand, whether one number, `R.Prim`, may stand in its place.
        numbers: of an operand, the dtype of numbers given for it; by default that of the first
            tensor among the operands for which this says nothing.
        variable: of a tensor operand, whether Python takes no constant for it.
        form: brings the integers of an attribute to the form in which it is kept, or raises
            InferError: `strides=2` is `[2, 2]`.
    """

    name: str
    kind: str
    default: Any = REQUIRED
    numbers: str = ""
    scalar: bool = False
    variable: bool = False
    form: Callable[[Any], Any] | None = None
    optional: bool = False

    @property
    def takes_none(self) -> bool:
        """Whether None is a value of an attribute."""
        return self.optional or self.default is None

    def formed(self, value: Any) -> Any:
        """Return what was given for an attribute in the form in which it is kept.

        Raises:
            InferTypeError: it should be made of integers and is not.
            InferError: it has no such form, as three strides of two axes have none.
        """
        if self.kind not in _INTEGERS or value is None:
            return value
        items = _items(value) if self.kind != "int" else [value]
        items = [_constant(item) for item in items]
        if not all(hasattr(item, "__index__") for item in items):
            raise InferTypeError(f"{self.name}: expected {self.kind}, got {value!r}")
        if self.form is None:
            return value
        whole = [operator.index(item) for item in items]
        return self.form(whole if self.kind == "ints" or hasattr(value, "__iter__") else whole[0])

    @property
    def is_operand(self) -> bool:
        """Whether it is an operand rather than an attribute."""
        return self.kind in OPERAND_KINDS


def to_attribute(kind: str, value: Any) -> ir.Attribute:
    """Return the attribute for a parameter of that kind; None is `unit`.

    Raises:
        InferError: the value is not of the kind.
    """
    if value is None:
        return ir.UnitAttr.get()
    try:
        # A string is a sequence, true, and perhaps a number, but no parameter means that.
        texts = ("str", "dtype", "device")
        if isinstance(value, (str, bytes)) != (kind in texts) and kind not in _ANY:
            raise TypeError(kind)
        return _TO_ATTRIBUTE[kind](value)
    except InferError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InferError(f"expected {_EXPECTED.get(kind, kind)}, got {value!r}") from error


def _i64(value: Any) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _integer(value))


def _integer(value: Any) -> int:
    """Return an integer of 64 bits; MLIR aborts the conversion of any other."""
    number = operator.index(_constant(value))
    if not -(2**63) <= number < 2**63:
        raise OverflowError(f"{number} does not fit 64 bits")
    return number


def _constant(value: Any) -> Any:
    """Return the constant of a symbolic integer, None without one, any other value as it is."""
    return value.value if isinstance(value, SymExpr) else value


def _items(value: Any) -> list[Any]:
    return list(value) if hasattr(value, "__iter__") else [value]


def _ints(value: Any) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([_integer(item) for item in _items(value)])


def _int_or_ints(value: Any) -> ir.Attribute:
    return _ints(value) if hasattr(value, "__iter__") else _i64(value)


def _floats(value: Any) -> ir.Attribute:
    return ir.DenseF64ArrayAttr.get([float(item) for item in _items(value)])


def _dim_attribute(value: Any) -> ir.Attribute:
    expr = SymExpr.of(value)
    return Dims.of([expr]) if expr.value is None else _i64(expr.value)


def _dims_attribute(value: Any) -> ir.Attribute:
    exprs = [SymExpr.of(item) for item in _items(value)]
    values = [expr.value for expr in exprs]
    if None in values:
        return Dims.of(exprs)
    return ir.DenseI64ArrayAttr.get([_integer(item) for item in values])


def _number_attribute(value: Any) -> ir.Attribute:
    value = getattr(value, "sym", value)  # a prim value
    size = value.as_size() if hasattr(value, "as_size") else None  # an expression of tir
    value = value if size is None else size
    if isinstance(value, SymExpr) or hasattr(value, "__index__"):
        return _dim_attribute(int(value) if isinstance(value, bool) else value)
    return ir.FloatAttr.get(ir.F64Type.get(), float(value))


_EXPECTED = {
    "dim": "an integer or symbol",
    "dims": "integers and symbols",
    "number": "a number or symbol",
    "index_map": "a function of indices",
}
# Kinds of which values may be texts or others.
_ANY = ("device", "index_map")
# What `llvm` alone means as well.
_DEFAULT_DEVICE = re.compile(r"(:0)?(:global)?$")
_TO_ATTRIBUTE: dict[str, Callable[[Any], ir.Attribute]] = {
    "int": _i64,
    "ints": _ints,
    "bool": lambda value: ir.BoolAttr.get(bool(value)),
    "float": lambda value: ir.FloatAttr.get(ir.F64Type.get(), float(value)),
    "floats": _floats,
    "int_or_ints": _int_or_ints,
    "str": lambda value: ir.StringAttr.get(str(value)),
    "dtype": lambda value: ir.StringAttr.get(str(value)),
    "device": lambda value: ir.StringAttr.get(_DEFAULT_DEVICE.sub("", str(value))),
    "dim": _dim_attribute,
    "dims": _dims_attribute,
    "number": _number_attribute,
    "index_map": lambda value: ir.StringAttr.get(str(AxisMap.of(value))),
}
_ATTRIBUTES: dict[str, tuple[type, ...]] = {
    "int": (ir.IntegerAttr,),
    "bool": (ir.BoolAttr,),
    "float": (ir.FloatAttr,),
    "str": (ir.StringAttr,),
    "dtype": (ir.StringAttr,),
    "device": (ir.StringAttr,),
    "ints": (ir.DenseI64ArrayAttr,),
    "floats": (ir.DenseF64ArrayAttr,),
    "int_or_ints": (ir.IntegerAttr, ir.DenseI64ArrayAttr),
    "dim": (ir.IntegerAttr, Dims),
    "dims": (ir.DenseI64ArrayAttr, Dims),
    "number": (ir.IntegerAttr, ir.FloatAttr, Dims),
    "index_map": (ir.StringAttr,),
}

# How lists are written, which the dense arrays of MLIR do not look like.
_FORMS = {"ints": "array<i64: 1, 2>", "floats": "array<f64: 1.0, 2.0>"}


def from_attribute(kind: str, attribute: ir.Attribute) -> Any:
    """Return the Python value of a parameter's attribute; `unit` is None.

    Symbolic integers are `SymExpr` even where they are constant.

    Raises:
        InferError: the attribute is not of the kind.
    """
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.UnitAttr):
        return None
    if not isinstance(attribute, _ATTRIBUTES[kind]):
        form = f", as in {_FORMS[kind]}" if kind in _FORMS else ""
        raise InferError(f"expected {_EXPECTED.get(kind, kind)}{form}, got {attribute}")
    if isinstance(attribute, Dims):
        problem = dims_problem(attribute)
        if problem:
            raise InferError(problem)
        dims = attribute.dims
        if kind == "dims":
            return dims
        if len(dims) != 1:
            raise InferError(f"expected one expression, got {attribute}")
        return dims[0]
    if isinstance(attribute, ir.DenseF64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return [SymExpr.const(i) for i in attribute] if kind == "dims" else list(attribute)
    if kind == "index_map":
        return AxisMap.of(attribute.value)
    if kind in SYMBOLIC_KINDS and isinstance(attribute, ir.IntegerAttr):
        return SymExpr.const(attribute.value)
    return attribute.value


def read_attributes(op: ir.Operation, params: Sequence[Param]) -> dict[str, Any]:
    """Return the values of an operation's attribute parameters, defaults filled in.

    Raises:
        InferError: a required one is missing, or one has the wrong kind.
    """
    values = {}
    for param in params:
        if param.is_operand:
            continue
        if param.name in op.attributes:
            try:
                value = from_attribute(param.kind, op.attributes[param.name])
            except InferError as error:
                raise InferError(f"attribute '{param.name}': {error}") from error
            if value is None and not param.takes_none:
                expected = _EXPECTED.get(param.kind, param.kind)
                raise InferError(f"attribute '{param.name}': expected {expected}, got unit")
            values[param.name] = value
        elif param.default is REQUIRED:
            raise InferError(f"needs attribute '{param.name}'")
        else:
            values[param.name] = default_value(param)
    return values


def given_attribute(param: Param, attrs: Mapping[str, Any]) -> tuple[ir.Attribute, Any]:
    """Return an attribute parameter from what was given: for MLIR, and as a rule sees it.

    Raises:
        InferError: it is missing, None where that means nothing, or not of its kind.
    """
    value = attrs.get(param.name, param.default)
    if value is REQUIRED:
        raise InferError(f"needs attribute '{param.name}'")
    if value is None and not param.takes_none:
        raise InferError(f"{param.name} cannot be None")
    value = param.formed(value)
    try:
        attribute = to_attribute(param.kind, value)
    except InferError as error:
        raise InferError(f"{param.name}: {error}") from error
    # What a verifier will read back: `axis=1` has become [1].
    return attribute, from_attribute(param.kind, attribute)


def default_value(param: Param) -> Any:
    """Return the default of an attribute parameter as a rule sees it."""
    if param.kind in SYMBOLIC_KINDS and param.default is not None:
        return from_attribute(param.kind, to_attribute(param.kind, param.default))
    return param.default


def library_order(params: Sequence[Param]) -> list[Param]:
    """Return the attributes in the order the runtime's library takes them, after the operands.

    Those that may be symbolic come first: where they are, they are operands of the call.
    """
    attributes = [param for param in params if not param.is_operand]
    return sorted(attributes, key=lambda param: param.kind not in SYMBOLIC_KINDS)


def library_attribute(kind: str, value: Any) -> ir.Attribute:
    """Return the attribute that the library takes for a parameter: a map of indices as numbers."""
    if isinstance(value, AxisMap):
        return ir.DenseI64ArrayAttr.get(value.flat)
    return to_attribute(kind, value)


def constant_value(value: Any) -> Any:
    """Return an attribute's value as the library takes it, UNKNOWN where it is symbolic."""
    if isinstance(value, AxisMap):
        return tuple(value.flat)
    if isinstance(value, SymExpr):
        return UNKNOWN if value.value is None else value.value
    if isinstance(value, list):
        items = [constant_value(item) for item in value]
        return UNKNOWN if UNKNOWN in items else tuple(items)
    return value
