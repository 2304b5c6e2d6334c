"""The state of `vm-shape-lower` at a point of a program."""

from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.tuples import field_types
from relax_mlir.dialects.symbolic.binding import solve
from relax_mlir.dialects.symbolic.expr import SymExpr

# Other people's functions: what they return is not taken on trust, unlike the runtime's own.
_FOREIGN = ("relax.call_packed", "relax.call_pure_packed")
_TRUSTED_PREFIX = "vm."


@dataclass
class Known:
    """What holds at a point of the program.

    Attributes:
        symbols: the bound ones, and what bound each.
        exprs: expressions whose slots hold their values.
        loaded: shapes and integers that were loaded before, by their expressions.
        bounded: symbols whose declared bounds were checked.
    """

    symbols: dict[str, str] = field(default_factory=dict)
    exprs: set[SymExpr] = field(default_factory=set)
    loaded: dict[SymExpr | tuple[SymExpr, ...], ir.Value] = field(default_factory=dict)
    bounded: set[str] = field(default_factory=set)

    def copy(self) -> "Known":
        """Return what holds inside a region: what it adds does not hold after it."""
        loaded, bounded = dict(self.loaded), set(self.bounded)
        return Known(dict(self.symbols), set(self.exprs), loaded, bounded)


@dataclass(frozen=True)
class Check:
    """Dimensions of a value to compare with the heap once their symbols have values."""

    value: ir.Value
    slots: list[int]
    subject: "Subject"
    dims: list[SymExpr]
    names: list[str]


@dataclass(frozen=True)
class Subject:
    """What is checked: how a later message refers to it, and what its own messages begin with."""

    name: str
    context: str


def parameter_values(func: ir.Operation) -> list[list[SymExpr]]:
    """Return for each parameter the expression that an integer parameter stands for, or nothing."""
    count = len(func.regions[0].blocks[0].arguments)
    if "arg_attrs" not in func.attributes:
        return [[]] * count
    values = []
    for each in ir.ArrayAttr(func.attributes["arg_attrs"]):
        attributes = {item.name: item.attr for item in ir.DictAttr(each)}
        values.append(Dims(attributes["relax.value"]).dims if "relax.value" in attributes else [])
    return values


def rests(dim: SymExpr) -> list[SymExpr]:
    """Return what is subtracted from a dimension to solve it for one of its symbols."""
    if dim.name:
        return []
    result = [solve(0, dim, dim.symbols - {name}) for name in sorted(dim.symbols)]
    return [each.rest for each in result if each is not None and not each.rest.is_const]


def is_foreign(op: ir.Operation) -> bool:
    """Whether an operation calls an unknown function."""
    return op.name in _FOREIGN and not op.attributes["func"].value.startswith(_TRUSTED_PREFIX)


def i64(value: int) -> ir.IntegerAttr:
    """Return a 64-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def is_computed(expr: SymExpr) -> bool:
    """Whether shape functions compute it, so that it may be negative or have no value."""
    return not expr.is_const and not expr.name


def is_storage_size(value: ir.Value) -> bool:
    """Whether a value is only used as a size of allocations, which reject what is no size."""
    return all(use.owner.operation.name == "vm.alloc_storage" for use in value.uses)


def is_implied(op: ir.Operation) -> bool:
    """Whether an operation asserts only that sizes of a shape are not negative, as it asserts."""
    if op.name != "relax.match_cast" or isinstance(op.operands[0].owner, ir.Block):
        return False
    if op.operands[0].owner.operation.name != "relax.shape_expr":
        return False
    given, wanted = (dims_of(value.type) for value in (op.operands[0], op.results[0]))
    if given is None or wanted is None or len(given) != len(wanted):
        return False
    return all(b in (a, a.max(0)) for a, b in zip(given, wanted, strict=True))


def dims_of(type_: ir.Type) -> list[SymExpr] | None:
    """Return the dimensions of a tensor or shape type, None where they are not known."""
    if T.is_tensor(type_):
        return T.tensor_dims(type_)
    return T.shape_dims(type_) if isinstance(type_, Shape) else None


def stripped(type_: ir.Type) -> ir.Type:
    """Return the type without symbols; constant dimensions stay."""
    if isinstance(type_, ir.TupleType):
        return ir.TupleType.get_tuple([stripped(item) for item in field_types(type_)])
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        return ir.RankedTensorType.get(type_.shape, type_.element_type)
    if isinstance(type_, Shape):
        dims = T.shape_dims(type_)
        if dims is not None and not all(dim.is_const for dim in dims):
            return T.shape_type(None, len(dims))
    return type_
