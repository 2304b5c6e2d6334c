"""The context of an ONNX converter: the node, its attributes and inputs, the builder."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ModelError
from relax_mlir.frontend.onnx.model import label
from relax_mlir.frontend.onnx.package import onnx_package
from relax_mlir.frontend.onnx.weights import storage_dtype
from relax_mlir.frontend.registry import find_converter
from relax_mlir.frontend.values import (
    ObjectValue,
    Value,
    call_model_function,
    ints,
    materialize,
    of_expr,
)
from relax_mlir.relax.expr import Expr, ObjectType, TensorType, TupleType

APPLIED_OPSET = 21


class _Attributes(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        raise ExprError(f"attribute '{name}' is missing")


class Node:
    """One node under conversion.

    Attributes:
        proto: the `NodeProto`.
        graph: the importer of the graph that it stands in.
        version: of the operator set.
        attrs: attributes as Python values, those left out with the defaults of the schema.
        inputs: a `Value`, `TupleValue` or `ObjectValue`, or None where left out.
    """

    def __init__(self, proto: Any, graph: Any, version: int, inputs: Sequence[Any]) -> None:
        self.proto, self.graph, self.version = proto, graph, version
        self.inputs = list(inputs)
        self.attrs: dict[str, Any] = _Attributes(
            {
                **defaults(proto.op_type, version, proto.domain),
                **{each.name: attribute(each) for each in proto.attribute},
            }
        )

    @property
    def op_type(self) -> str:
        """The operation."""
        return self.proto.op_type

    @property
    def output_count(self) -> int:
        """How many outputs the node names, trailing empty names left out."""
        names = list(self.proto.output)
        while names and not names[-1]:
            names.pop()
        return len(names)

    def wants(self, index: int) -> bool:
        """Whether anything may use an output."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def fail(self, problem: str) -> ModelError:
        """Return the error that says what is wrong with this node."""
        return ModelError(f"{label(self.proto)}: {problem}")

    # Inputs

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """Return an input.

        Raises:
            ModelError: it is left out, or a sequence.
        """
        if not self.has(index):
            raise self.fail(f"input {index} is missing")
        value = self.inputs[index]
        if not isinstance(value, Value):
            raise self.fail(f"input {index} is a sequence; a tensor is expected")
        return value

    def x(self, index: int = 0) -> Expr:
        """Return an input as an expression."""
        return materialize(self.value(index))

    def dtype(self, index: int = 0) -> str:
        """Return the dtype of an input."""
        return self.value(index).dtype

    def ndim(self, index: int = 0) -> int:
        """Return the rank of an input.

        Raises:
            ModelError: only run time knows it.
        """
        rank = self.value(index).ndim
        if rank < 0:
            raise self.fail(f"the rank of input {index} is not known; shape_dict can say it")
        return rank

    def dims(self, index: int = 0) -> tuple[SymExpr, ...]:
        """Return the shape of an input, with fresh symbols for what only run time knows."""
        self.ndim(index)
        return self.dims_of(self.value(index))

    def dims_of(self, value: Value) -> tuple[SymExpr, ...]:
        """Return the shape of a tensor of known rank, as `dims` does."""
        dims = value.dims
        if dims is None:
            names = [self.graph.fresh("d") for _ in range(value.ndim)]
            value.expr = self.graph.builder.match_cast(
                materialize(value), TensorType(names, storage_dtype(value.dtype))
            )
            dims = tuple(names)
        return dims

    def ints(self, index: int) -> tuple[Any, ...] | None:
        """Return an integer input as integers and symbols, None where only run time knows it."""
        return ints(self.value(index))

    def const(self, index: int) -> np.ndarray | None:
        """Return the elements of an input, None where import does not know all of them."""
        return self.value(index).array

    def axis(self, name: str = "axis", index: int = 0, extra: int = 0) -> int:
        """Return an attribute that counts axes of an input, from 0."""
        return self.normalized(self.attrs[name], self.ndim(index) + extra)

    def normalized(self, axis: int, rank: int) -> int:
        """Return an axis counted from 0.

        Raises:
            ModelError: there is none.
        """
        if not -rank <= axis < max(rank, 1):
            raise self.fail(f"axis {axis} of a tensor of {rank} dimensions")
        return axis + rank if axis < 0 else axis

    # Emitting

    def apply(self, op_type: str, *inputs: Any, **attrs: Any) -> Value:
        """Convert another operation of ONNX over values, and return its first result.

        Args:
            op_type: the operation, of opset `APPLIED_OPSET`.
            inputs: values; None where one is left out.
            attrs: attributes.
        """
        proto = onnx_package().helper.make_node(op_type, [], [self.proto.output[0]], **attrs)
        made = Node(proto, self.graph, APPLIED_OPSET, inputs)
        converter = find_converter("onnx", op_type, APPLIED_OPSET)
        assert converter is not None, f"{op_type} has a converter"
        results = converter(made)
        return self.graph.bound(results[0] if isinstance(results, list) else results, op_type)

    def emit(self, expr: Any) -> Expr:
        """Bind an expression to a variable."""
        return self.graph.builder.emit(expr)

    def runtime(
        self, name: str, args: Sequence[Any], outputs: Sequence[tuple[str, Any]], **config: Any
    ) -> Any:
        """Call a function of the runtime's library for models (`relax_mlir.runtime.models`).

        Args:
            name: the function.
            args: expressions; None is an empty tuple there.
            outputs: of each result the dtype, and the rank or the dimensions; dimensions of None
                get fresh symbols.
            config: further arguments of the function; anything JSON can hold.

        Returns:
            A value, or a list of them where there are several outputs.
        """
        builder = self.graph.builder
        types = [
            TensorType(ndim=-1 if shape is None else len(_dims(shape)), dtype=storage_dtype(dtype))
            for dtype, shape in outputs
        ]
        made = self._call(name, args, TupleType(types) if len(types) > 1 else types[0], config)
        fields = [made] if len(types) == 1 else [made[i] for i in range(len(types))]
        values = []
        for field, (dtype, shape) in zip(fields, outputs, strict=True):
            if shape is None:
                values.append(of_expr(builder.emit(field), dtype))
                continue
            dims = [self.graph.fresh("d") if dim is None else dim for dim in _dims(shape)]
            made = builder.match_cast(field, TensorType(dims, storage_dtype(dtype)))
            values.append(of_expr(made, dtype))
        return values if len(values) > 1 else values[0]

    def object(self, name: str, args: Sequence[Any], form: Any, **config: Any) -> ObjectValue:
        """Call a function of that library which gives a sequence; `form` says what is in it."""
        made = self._call(name, args, ObjectType(), config)
        return ObjectValue(made, form.dtype, "sequence", form.ndim)

    def _call(self, name: str, args: Sequence[Any], type_: Any, config: Any) -> Expr:
        return self.emit(call_model_function(name, args, type_, config))


def _dims(shape: Any) -> list[Any]:
    return [None] * shape if isinstance(shape, int) else list(shape)


@functools.cache
def defaults(op_type: str, version: int, domain: str) -> dict[str, Any]:
    """Return the defaults of the attributes of an operation, by the schema."""
    onnx = onnx_package()
    try:
        schema = onnx.defs.get_schema(op_type, version, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return {}
    return {
        name: attribute(each.default_value)
        for name, each in schema.attributes.items()
        if each.default_value.type
    }


def attribute(proto: Any) -> Any:
    """Return the value of an attribute: numbers, `str`, lists; graphs and tensors as they are."""
    value = onnx_package().helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return [each.decode(errors="replace") for each in value]
    return value
