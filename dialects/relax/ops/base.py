"""The base of Relax computations: declared parameters, an inference rule, a total verifier."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute, constant_op, numpy_dtype
from relax_mlir.dialects.relax.dialect import Dims, Relax, Shape
from relax_mlir.dialects.relax.effects import Computation
from relax_mlir.dialects.relax.infer import (
    InferError,
    InferTypeError,
    compatible,
    describe,
    expect_tensor,
)
from relax_mlir.dialects.relax.ops.params import (
    REQUIRED,
    SYMBOLIC_KINDS,
    UNKNOWN,
    Param,
    constant_value,
    default_value,
    from_attribute,
    given_attribute,
    library_attribute,
    library_order,
    read_attributes,
    to_attribute,
)
from relax_mlir.dialects.relax.tuples import field_types, is_tuple, known_fields, make_tuple
from relax_mlir.dialects.relax.validity import type_problem
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.verify import once_each, op_error
from relax_mlir.errors import did_you_mean

__all__ = [
    "COMPUTE_OPS",
    "REQUIRED",
    "SYMBOLIC_KINDS",
    "UNKNOWN",
    "CheckedOp",
    "ComputeOp",
    "OperandType",
    "Param",
    "absent",
    "build",
    "constant_value",
    "declare",
    "default_value",
    "define",
    "first_tensor",
    "from_attribute",
    "given_attribute",
    "infer_result",
    "is_absent",
    "is_impure",
    "library_attribute",
    "library_order",
    "prim_value",
    "read_attributes",
    "scalar_constant",
    "to_attribute",
]


class CheckedOp(Relax.Operation):
    """An operation whose operands and results have types that make sense before it looks at them.

    MLIR asks Python first and the declared counts and kinds afterwards, so `check` has to count.
    It looks at types and attributes, at what is around by `expect_parent` only (`once_each`).
    """

    @once_each
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


# The type of a tensor or shape, those of a tuple's fields, None for an operand left out.
OperandType = ir.Type | list[ir.Type] | None


class ComputeOp(CheckedOp):
    """An operation with one result whose type follows from its operands and attributes.

    Attributes:
        PARAMS: its parameters in the order script takes them.
        PURE: whether it has no effect but its result. One that is not changes no tensor either; it
            stands outside of dataflow blocks and is never left out or repeated.
    """

    PARAMS = ()
    PURE = True

    @classmethod
    def check_attributes(cls, attrs: dict[str, Any]) -> None:
        """Look at attributes as they are written, before there are operands' types.

        Raises:
            InferError: they fit no operands.
        """

    @classmethod
    def infer(cls, types: Sequence[OperandType], attrs: dict[str, Any]) -> ir.Type:
        """Return the result type, a tuple for several results.

        Raises:
            InferError: no run could satisfy these operands.
        """
        raise NotImplementedError(cls.__name__)

    @classmethod
    def prepare(cls, operands: list[Any]) -> list[Any]:
        """Return what `build` is given for the operands, in the form that the operation takes.

        Raises:
            InferError: it cannot be brought to that form.
        """
        return operands

    @classmethod
    def result_type(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        """Return what the rule infers from the types as they are in the IR.

        Raises:
            InferError: an operand is not of its kind, or no run could satisfy them.
        """
        wanted = [param for param in cls.PARAMS if param.is_operand]
        if len(types) != len(wanted):
            raise InferTypeError(f"takes {len(wanted)} operands, got {len(types)}")
        pairs = zip(wanted, types, strict=True)
        return cls.infer([_operand_type(param, type_) for param, type_ in pairs], attrs)

    def check(self) -> bool:
        op = self.operation
        cls = type(self)
        wanted = [p for p in cls.PARAMS if p.is_operand]
        if len(op.operands) != len(wanted):
            return op_error(self, f"takes {len(wanted)} operands, got {len(op.operands)}")
        if len(op.results) != 1:
            return op_error(self, f"has one result, got {len(op.results)}")
        attrs = read_attributes(op, cls.PARAMS)
        inferred = cls.result_type([operand.type for operand in op.operands], attrs)
        declared = op.results[0].type
        if not compatible(declared, inferred):
            return op_error(
                self, f"result must be {describe(inferred)}, declared {describe(declared)}"
            )
        return True


def _operand_type(param: Param, type_: ir.Type) -> OperandType:
    if param.default is None and is_tuple(type_) and not type_.num_types:
        return None
    if param.kind == "tensor":
        if not (param.scalar and T.is_scalar(type_)):
            expect_tensor(type_, param.name)
        return type_
    if param.kind == "any":
        return type_
    if param.kind == "prim":
        if not T.is_scalar(type_):
            raise InferTypeError(f"{param.name} must be a number, got {describe(type_)}")
        return type_
    if param.kind == "shape":
        if not isinstance(type_, Shape):
            raise InferTypeError(f"{param.name} must be a shape, got {describe(type_)}")
        return type_
    if not is_tuple(type_):
        raise InferTypeError(f"{param.name} must be a tuple of tensors, got {describe(type_)}")
    fields = field_types(type_)
    for index, field in enumerate(fields):
        expect_tensor(field, f"field {index} of {param.name}")
    return fields


def infer_result(op: ir.Operation) -> ir.Type:
    """Return the type that a computation's result follows to have.

    Raises:
        InferError: no run could satisfy the operation.
    """
    cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
    return cls.result_type([value.type for value in op.operands], read_attributes(op, cls.PARAMS))


def absent(loc: ir.Location | None = None) -> ir.Value:
    """Create what stands for an operand left out, the empty tuple, at the current point."""
    return make_tuple([], loc)


def is_absent(value: ir.Value) -> bool:
    """Whether an operand stands for one that was left out."""
    return is_tuple(value.type) and not value.type.num_types


def prim_value(value: int | SymExpr, loc: ir.Location | None = None) -> ir.Value:
    """Create a symbolic integer as a value at the current insertion point."""
    return ir.Operation.create(
        "relax.prim_value",
        results=[ir.IntegerType.get_signless(64)],
        attributes={"value": Dims.of([SymExpr.of(value)])},
        loc=loc,
    ).result


def prim_number(value: float, dtype: str, loc: ir.Location) -> ir.Value:
    """Create a number of another dtype than int64 as a value at the current insertion point."""
    tensor = scalar_constant(value, dtype, nameless(loc))
    return build("tensor_to_scalar", [tensor], {}, loc)


def scalar_constant(value: Any, dtype: str = "", loc: ir.Location | None = None) -> ir.Value:
    """Create a constant of a Python number or numpy array at the current insertion point.

    Args:
        value: the number.
        dtype: of the constant; where it is not known an integer is `int32`, a float `float32`.
        loc: location, the current one when None.

    Raises:
        InferError: it is no number, or the dtype does not have it.
    """
    array = np.asarray(value)
    if not dtype:
        own = str(array.dtype) if hasattr(value, "dtype") else ""
        dtype = own or {"f": "float32", "i": "int32", "b": "bool"}.get(array.dtype.kind, "")
    try:
        with np.errstate(all="ignore"):
            converted = array.astype(numpy_dtype(T.normalize_dtype(dtype)))
        whole = converted.dtype.kind in "iub" and array.dtype.kind in "iuf"
        if not dtype or (whole and bool((array != converted).any())):
            raise ValueError(f"{value!r} is not a number of dtype {dtype or 'that Relax has'}")
        attribute = constant_attribute(converted)
    except (TypeError, ValueError, OverflowError) as error:
        raise InferError(str(error)) from error
    return constant_op(attribute, loc)


class _Operands:
    """Makes values of what `build` is given, and takes them back when the computation is wrong."""

    def __init__(self, loc: ir.Location | None) -> None:
        # What is part of an expression has no name of its own.
        self._loc = nameless(ir.Location.current if loc is None else loc)
        self._made: list[ir.Value] = []

    def value(self, param: Param, raw: Any, like: ir.Value | None) -> ir.Value:
        """Return the value of one operand parameter; numbers take the dtype of `like`."""
        if isinstance(raw, ir.Value):
            return raw
        if raw is None:
            if param.default is not None:
                raise InferError(f"{param.name} cannot be left out")
            return self._keep(absent(self._loc))
        if param.kind == "tensors":
            if isinstance(raw, (list, tuple)):
                one = Param(param.name, "tensor", numbers=param.numbers)
                fields = [self.value(one, item, like) for item in raw]
                return self._keep(make_tuple(fields, self._loc))
        elif param.kind == "shape":
            if isinstance(raw, (list, tuple)):
                return self._keep(self._shape(param, raw))
        elif param.kind == "prim":
            if isinstance(raw, (int, SymExpr)):
                return self._keep(prim_value(raw, self._loc))
        elif param.kind == "tensor" and isinstance(raw, (int, float, np.ndarray, np.generic)):
            dtype = param.numbers or ("" if like is None else T.tensor_dtype(like.type))
            if not dtype and like is not None and isinstance(raw, (int, float)):
                return self._keep(build("scalar_like", [like], {"value": raw}, self._loc))
            return self._keep(scalar_constant(raw, dtype, self._loc))
        raise InferTypeError(f"{param.name} must be a {_WORDS[param.kind]}, got {raw!r}")

    def _shape(self, param: Param, raw: Sequence[Any]) -> ir.Value:
        try:
            type_ = T.shape_type([SymExpr.of(item) for item in raw])
        except TypeError as error:
            raise InferError(f"{param.name}: {error}") from error
        problem = type_problem(type_)
        if problem:
            raise InferError(f"{param.name}: {problem}")
        return ir.Operation.create("relax.shape_expr", results=[type_], loc=self._loc).result

    def _keep(self, value: ir.Value) -> ir.Value:
        self._made.append(value)
        return value

    def discard(self) -> None:
        """Erase the operations made."""
        for value in reversed(self._made):
            value.owner.operation.erase()


_WORDS = {
    "tensor": "tensor or number",
    "tensors": "sequence of tensors",
    "shape": "shape",
    "prim": "number",
    "any": "value",
}


def first_tensor(raw: Iterable[Any]) -> ir.Value | None:
    """Return the operand whose dtype numbers take: the first tensor, None for none."""
    for item in raw:
        if isinstance(item, ir.Value):
            fields = known_fields(item) if is_tuple(item.type) else [item]
            result = next((field for field in fields or () if T.is_tensor(field.type)), None)
        else:
            result = first_tensor(item) if isinstance(item, (list, tuple)) else None
        if result is not None:
            return result
    return None


def build(
    name: str, operands: Sequence[Any], attrs: dict[str, Any], loc: ir.Location | None = None
) -> ir.Value:
    """Create a computation at the current insertion point, its result type inferred.

    Args:
        name: without the `relax.` prefix.
        operands: in the order of the operation's operand parameters; those left out at the end, or
            None, take their defaults. Values, numbers and arrays (constants of the first tensor's
            dtype), lists of them for `"tensors"`, integers and symbols for `"shape"`.
            A number as a value, where a parameter takes one, becomes a tensor of its own.
        attrs: Python values of attribute parameters; left-out ones take their defaults.
        loc: location, the current one when None.

    Raises:
        InferError: operands contradict each other, or an attribute is missing, unknown or wrong.
        KeyError: there is no such operation.
    """
    if name not in COMPUTE_OPS:
        raise KeyError(f"Relax has no computation '{name}'{did_you_mean(name, COMPUTE_OPS)}")
    cls = COMPUTE_OPS[name]
    wanted = [p for p in cls.PARAMS if p.is_operand]
    least = max((i + 1 for i, p in enumerate(wanted) if p.default is REQUIRED), default=0)
    if not least <= len(operands) <= len(wanted):
        raise InferTypeError(f"{name} takes {len(wanted)} operands, got {len(operands)}")
    params = {p.name: p for p in cls.PARAMS if not p.is_operand}
    for key in attrs:
        if key not in params:
            raise InferError(f"{name} has no attribute '{key}'{did_you_mean(key, params)}")
    attributes = {}
    given: dict[str, Any] = {}
    for key, param in params.items():
        try:
            attributes[key], given[key] = given_attribute(param, attrs)
        except InferError as error:
            raise InferError(f"{name}: {error}") from error
    made = _Operands(loc)
    try:
        like = first_tensor(
            item for param, item in zip(wanted, operands, strict=False) if not param.numbers
        )
        raw = cls.prepare([*operands, *[None] * (len(wanted) - len(operands))])
        inputs = [made.value(*item, like) for item in zip(wanted, raw, strict=True)]
        result = cls.result_type([operand.type for operand in inputs], given)
    except ValueError as error:
        made.discard()
        raise error if isinstance(error, InferError) else InferError(str(error)) from error
    scalars = [T.is_scalar(v.type) and p.scalar for p, v in zip(wanted, inputs, strict=True)]
    if any(scalars):
        pairs = zip(inputs, scalars, strict=True)
        tensors = [_op("scalar_to_tensor", v, loc) if scalar else v for v, scalar in pairs]
        made_of = build(name, tensors, attrs, loc)
        return _op("tensor_to_scalar", made_of, loc) if T.is_scalar(result) else made_of
    return ir.Operation.create(
        f"relax.{name}", results=[result], operands=inputs, attributes=attributes, loc=loc
    ).result


def _op(name: str, operand: ir.Value, loc: ir.Location | None) -> ir.Value:
    return build(name, [operand], {}, loc)


COMPUTE_OPS: dict[str, type[ComputeOp]] = {}


def is_impure(op: ir.Operation) -> bool:
    """Whether an operation is a computation with an effect, such as printing."""
    cls = COMPUTE_OPS.get(op.name.removeprefix("relax."))
    return cls is not None and not cls.PURE


def define(base: type[ComputeOp], name: str, doc: str, **members: Any) -> type[ComputeOp]:
    """Make the class of `relax.<name>` from an unnamed base and register it: one table entry.

    Args:
        base: the class of such operations. Its docstring has the rule of shapes, `KIND` the dtypes
            that it takes and `RESULT_DTYPE` the dtype of the result, where the operands' differs.
        name: without the `relax.` prefix.
        doc: one line about what it computes.
        members: what differs from the base.
    """
    camel = "".join(part.capitalize() for part in name.split("_")) + "Op"
    members = {
        "__doc__": _docstring(base, doc, members),
        "__module__": base.__module__,
        "__qualname__": camel,
        **members,
    }
    traits = [Computation] if members.get("PURE", base.PURE) else []
    cls = type(base)(camel, (base,), members, name=name, traits=traits)
    COMPUTE_OPS[name] = cls
    return cls


def _docstring(base: type[ComputeOp], doc: str, members: dict[str, Any]) -> str:
    rules = [inspect.cleandoc(base.__doc__ or "")] if base is not ComputeOp else []
    kind = members.get("KIND", getattr(base, "KIND", "any"))
    dtype = members.get("RESULT_DTYPE", getattr(base, "RESULT_DTYPE", None))
    if kind != "any":
        rules.append(f"Operands of a dtype that is not {kind} are a ValueError.")
    if dtype:
        rules.append(f"The result has dtype {dtype}.")
    return "\n\n".join([doc, "\n".join(rules)] if rules else [doc])


def declare(
    name: str,
    doc: str,
    params: Sequence[Param],
    infer: Callable[[Sequence[Any], dict[str, Any]], ir.Type],
    *,
    pure: bool = True,
    check: Callable[[dict[str, Any]], object] | None = None,
) -> type[ComputeOp]:
    """Make the class of `relax.<name>` from its parameters and its rule, and register it.

    Args:
        name: without the `relax.` prefix.
        doc: one line for people.
        params: in the order script takes them.
        infer: from the operands' types (`OperandType`) and the attributes' values to the result's.
        pure: see `ComputeOp.PURE`.
        check: see `ComputeOp.check_attributes`.
    """
    fields: dict[str, Any] = {
        param.name: ext.Operand[Any] if param.is_operand else Any
        for param in params
        # What has a default is not declared to MLIR, so that text may leave it out.
        if param.is_operand or param.default is REQUIRED
    }
    members = {
        "PARAMS": tuple(params),
        "PURE": pure,
        "infer": classmethod(lambda cls, types, attrs: infer(types, attrs)),
        "__annotations__": {**fields, "result": ext.Result[Any]},
        "__module__": infer.__module__,
    }
    if check is not None:
        members["check_attributes"] = classmethod(lambda cls, attrs: check(attrs))
    return define(ComputeOp, name, doc, **members)
