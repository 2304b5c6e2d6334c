"""What every Relax computation shares: declared parameters, an inference rule, a total verifier."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.dialect import Relax
from relax_mlir.dialects.relax.infer import InferError, compatible, describe
from relax_mlir.dialects.relax.validity import type_problem
from relax_mlir.dialects.verify import op_error
from relax_mlir.errors import did_you_mean

REQUIRED = object()


@dataclass(frozen=True)
class Param:
    """One parameter of an operation as script and builder see it.

    Attributes:
        name: keyword.
        kind: `"tensor"` or `"shape"` for operands; `"int"`, `"ints"`, `"bool"`, `"float"`, `"str"`
            or `"dtype"` for attributes (`"ints"` may be None).
        default: REQUIRED, or the value used when left out.
    """

    name: str
    kind: str
    default: Any = REQUIRED

    @property
    def is_operand(self) -> bool:
        """Whether it is an operand rather than an attribute."""
        return self.kind in ("tensor", "shape")


def to_attribute(kind: str, value: Any) -> ir.Attribute:
    """Return the attribute for a parameter of that kind.

    Raises:
        InferError: the value is not of the kind.
    """
    i64 = ir.IntegerType.get_signless(64)
    try:
        if kind == "ints" and value is None:
            return ir.UnitAttr.get()
        # A string is a sequence, true, and perhaps a number, but no parameter means that.
        if isinstance(value, (str, bytes)) != (kind in ("str", "dtype")):
            raise TypeError(kind)
        if kind == "int":
            return ir.IntegerAttr.get(i64, operator.index(value))
        if kind == "ints":
            items = list(value) if hasattr(value, "__iter__") else [value]
            return ir.DenseI64ArrayAttr.get([operator.index(item) for item in items])
        if kind == "bool":
            return ir.BoolAttr.get(bool(value))
        if kind == "float":
            return ir.FloatAttr.get(ir.F64Type.get(), float(value))
        return ir.StringAttr.get(str(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise InferError(f"expected {kind}, got {value!r}") from error


def from_attribute(kind: str, attribute: ir.Attribute) -> Any:
    """Return the Python value of a parameter's attribute.

    Raises:
        InferError: the attribute is not of the kind.
    """
    expected = {
        "int": ir.IntegerAttr, "bool": ir.BoolAttr, "float": ir.FloatAttr,
        "str": ir.StringAttr, "dtype": ir.StringAttr, "ints": ir.DenseI64ArrayAttr,
    }[kind]  # fmt: skip
    if kind == "ints" and isinstance(attribute, ir.UnitAttr):
        return None
    if not isinstance(attribute, expected):
        raise InferError(f"expected {kind}, got {attribute}")
    return list(attribute) if kind == "ints" else attribute.value


class CheckedOp(Relax.Operation):
    """An operation whose operands and results have types that make sense before it looks at them.

    MLIR asks Python first and the declared counts and kinds afterwards, so `check` has to count.
    """

    def verify_invariants(self) -> bool:
        op = self.operation
        for values, what in ((op.operands, "operand"), (op.results, "result")):
            for index, value in enumerate(values):
                problem = type_problem(value.type)
                if problem:
                    return op_error(self, f"{what} {index}: {problem}")
        try:
            with (
                op.location
            ):  # making types takes a context and a location; the parser gives neither
                return self.check()
        except ValueError as error:
            return op_error(self, str(error))

    def check(self) -> bool:
        """Check what is this operation's own; emit an error and return False when it is wrong.

        Raises:
            ValueError: what is wrong, instead of emitting it.
        """
        return True


class ComputeOp(CheckedOp):
    """An operation with one result whose type follows from its operands and attributes."""

    PARAMS = ()

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        """Return the result type.

        Raises:
            InferError: no run could satisfy these operands.
        """
        raise NotImplementedError(cls.__name__)

    def check(self) -> bool:
        op = self.operation
        params = type(self).PARAMS
        wanted = [p for p in params if p.is_operand]
        if len(op.operands) != len(wanted):
            return op_error(self, f"takes {len(wanted)} operands, got {len(op.operands)}")
        if len(op.results) != 1:
            return op_error(self, f"has one result, got {len(op.results)}")
        attrs = read_attributes(op, params)
        inferred = type(self).infer([operand.type for operand in op.operands], attrs)
        declared = op.results[0].type
        if not compatible(declared, inferred):
            return op_error(
                self, f"result must be {describe(inferred)}, declared {describe(declared)}"
            )
        return True


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
                values[param.name] = from_attribute(param.kind, op.attributes[param.name])
            except InferError as error:
                raise InferError(f"attribute '{param.name}': {error}") from error
        elif param.default is REQUIRED:
            raise InferError(f"needs attribute '{param.name}'")
        else:
            values[param.name] = param.default
    return values


def build(
    name: str, operands: Sequence[ir.Value], attrs: dict[str, Any], loc: ir.Location | None = None
) -> ir.Value:
    """Create a computation at the current insertion point, its result type inferred.

    Args:
        name: without the `relax.` prefix.
        operands: values in the order of the operation's operand parameters.
        attrs: Python values of attribute parameters; left-out ones take their defaults.
        loc: location, the current one when None.

    Raises:
        InferError: operands contradict each other, or an attribute is missing, unknown or wrong.
        KeyError: there is no such operation.
    """
    cls = COMPUTE_OPS[name]
    wanted = [p for p in cls.PARAMS if p.is_operand]
    if len(operands) != len(wanted):
        raise InferError(f"{name} takes {len(wanted)} operands, got {len(operands)}")
    values: dict[str, Any] = {p.name: p.default for p in cls.PARAMS if not p.is_operand}
    for key in attrs:
        if key not in values:
            raise InferError(f"{name} has no attribute '{key}'{did_you_mean(key, values)}")
    values.update(attrs)
    for key, value in values.items():
        if value is REQUIRED:
            raise InferError(f"{name} needs attribute '{key}'")
    attributes = {
        p.name: to_attribute(p.kind, values[p.name]) for p in cls.PARAMS if not p.is_operand
    }
    # The rule sees what a verifier will read back: `axis=1` has become [1].
    given: dict[str, Any] = {
        p.name: from_attribute(p.kind, attributes[p.name]) for p in cls.PARAMS if not p.is_operand
    }
    result = cls.infer([operand.type for operand in operands], given)
    return ir.Operation.create(
        f"relax.{name}", results=[result], operands=list(operands), attributes=attributes, loc=loc
    ).result


COMPUTE_OPS: dict[str, type[ComputeOp]] = {}


def define(base: type[ComputeOp], name: str, doc: str, **members: Any) -> type[ComputeOp]:
    """Make the class of `relax.<name>` from an unnamed base and register it: one table entry."""
    camel = "".join(part.capitalize() for part in name.split("_")) + "Op"
    members = {"__doc__": doc, "__module__": base.__module__, "__qualname__": camel, **members}
    cls = type(base)(camel, (base,), members, name=name, traits=[ext.Pure])
    COMPUTE_OPS[name] = cls
    return cls
