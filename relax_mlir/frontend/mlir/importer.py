"""The operations of an MLIR program, one after another, as bindings of a Relax function."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ModelError, RelaxMLIRError
from relax_mlir.frontend.mlir.sizes import fold
from relax_mlir.frontend.mlir.types import dtype_of, python_value, shape_of
from relax_mlir.frontend.names import Names
from relax_mlir.frontend.registry import find_converter
from relax_mlir.frontend.values import Value, ints, materialize
from relax_mlir.pass_infra.execution.diagnostics import source_position
from relax_mlir.relax import op
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr import Constant, ShapeType, TensorType


class Importer:
    """What converters see of the import.

    Attributes:
        builder: the builder; a function is open.
        names: of symbols.
        source: what the program is called in messages.
        functions: of the module, by name; calls are inlined.
        op: the operation that is converted.
    """

    def __init__(
        self, builder: BlockBuilder, names: Names, source: str, functions: Mapping[str, Any]
    ) -> None:
        self.builder, self.names, self.source = builder, names, source
        self.functions = functions
        self.op: Any = None
        self._values: dict[ir.Value, Value] = {}
        self._narrow: dict[ir.Value, Any] = {}
        self._active: list[str] = []

    # What converters ask

    def value(self, index: int) -> Value:
        """Return an operand, with what is known of its elements."""
        return self.of(self.op.operands[index])

    def of(self, value: ir.Value) -> Value:
        """Return what a value of the program is."""
        return self._values[value]

    def x(self, index: int) -> Any:
        """Return an operand as an expression."""
        return materialize(self.value(index))

    def xs(self) -> list[Any]:
        """Return all operands as expressions."""
        return [self.x(index) for index in range(len(self.op.operands))]

    def dims(self, index: int) -> tuple[SymExpr, ...]:
        """Return the shape of an operand.

        Raises:
            ExprError: only run time knows it.
        """
        dims = self.value(index).dims
        if dims is None:
            raise ExprError("the rank of an operand is unknown")
        return dims

    def sizes(self, index: int) -> list[SymExpr]:
        """Return the elements of an integer operand as sizes, new symbols where need be."""
        return self.sizes_of(self.value(index))

    def sizes_of(self, value: Value) -> list[SymExpr]:
        """Return the elements of integers as sizes; what only run time knows gets symbols."""
        known = ints(value)
        if known is not None:
            return [SymExpr.of(each) for each in known]
        tensor = self.cast(op.reshape(materialize(value), (-1,)), "int64")
        dims = value.dims or ()
        counts = [dim.value for dim in dims if dim.value is not None]
        if len(counts) < len(dims):
            raise ExprError("a shape of unknown rank is computed")
        count = math.prod(counts)
        symbols = [self.names.fresh("size") for _ in range(count)]
        shape = self.builder.emit(op.tensor_to_shape(tensor))
        self.builder.match_cast(shape, ShapeType(symbols))
        return symbols

    def type(self, index: int = 0) -> ir.Type:
        """Return the type that the program gives a result."""
        return self.op.results[index].type

    def dtype(self, index: int = 0) -> str:
        """Return the dtype of a result."""
        return dtype_of(self.type(index))

    def shape(self, index: int = 0) -> list[int | None]:
        """Return the shape that the program gives a result, None for dynamic dimensions.

        Raises:
            ExprError: the rank is dynamic.
        """
        shape = shape_of(self.type(index))
        if shape is None:
            raise ExprError("the rank of the result is unknown")
        return shape

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute as a Python value."""
        attributes = self.op.attributes
        return python_value(attributes[name]) if name in attributes else default

    def cast(self, x: Any, dtype: str) -> Any:
        """Return a tensor of a dtype."""
        return x if x.ty.dtype == dtype else op.astype(x, dtype)

    def cast_shape(self, x: Any, axis: int, size: SymExpr) -> Any:
        """Return a tensor whose size along an axis is known to be another expression's."""
        dims = [size if place == axis else dim for place, dim in enumerate(x.ty.dims)]
        same = dims == list(x.ty.dims)
        return x if same else self.builder.match_cast(x, TensorType(dims, x.ty.dtype))

    def note_narrow(self, x: Any) -> None:
        """Say that the result of the operation is a tensor repeated along dimensions."""
        self._narrow[self.op.results[0]] = x

    def narrow(self, index: int) -> Any | None:
        """Return what an operand is a repetition of, None for other operands."""
        return self._narrow.get(self.op.operands[index])

    def check(self, condition: Value, message: str, values: Sequence[Value] = ()) -> list[Value]:
        """Have a condition checked, now or at run time; there is no result.

        Args:
            condition: a scalar.
            message: what does not hold, with places such as `{0}` for values.
            values: numbers in the message.

        Raises:
            ExprError: it is known not to hold.
        """
        if condition.array is None:
            shown = [self.emit(materialize(each)) for each in values]
            self.emit(op.assert_op(self.emit(materialize(condition)), shown, message))
        elif not condition.array.all():
            raise ExprError(f"what is asserted does not hold: {message}")
        return []

    def emit(self, expr: Any) -> Any:
        """Bind an expression to a variable."""
        return self.builder.emit(expr)

    # The walk

    def run_function(self, name: str, arguments: Sequence[Value]) -> list[Value]:
        """Convert the body of a function in place, and return its results.

        Raises:
            ModelError: there is none, or it calls itself.
        """
        function = self.functions.get(name)
        if function is None or not function.regions[0].blocks:
            raise ModelError(f"{self.source}: function '@{name}' has no body")
        if name in self._active:
            raise ModelError(f"{self.source}: function '@{name}' calls itself")
        self._active.append(name)
        try:
            return self.run_region(function.regions[0], arguments)
        finally:
            self._active.pop()

    def run_region(self, region: Any, arguments: Sequence[Value]) -> list[Value]:
        """Convert the only block of a region in place, and return what it ends with.

        Raises:
            ExprError: there are several blocks.
        """
        if len(region.blocks) != 1:
            raise ExprError("branches between blocks cannot be imported, only structured ones")
        block = region.blocks[0]
        self._values.update(zip(block.arguments, arguments, strict=True))
        *body, end = [view.operation for view in block.operations]
        for each in body:
            self._values.update(zip(each.results, self.convert(each), strict=True))
        return [self._values[operand] for operand in end.operands]

    def convert(self, operation: Any) -> list[Value]:
        """Return the results of an operation.

        Raises:
            ExprError: its converter failed; the message names it and its line.
        """
        previous, self.op = self.op, operation
        try:
            with self.builder.at_line(*place_of(operation, self.source)):
                return self._converted(operation)
        except (RelaxMLIRError, NotImplementedError) as error:
            if isinstance(error, ModelError):
                raise
            place = where(operation, self.source)
            raise ModelError(f"{place}: {operation.name}: {error}") from error
        finally:
            self.op = previous

    def _converted(self, operation: Any) -> list[Value]:
        known = fold(self)
        if known is not None:
            return [known]
        dialect, _, name = operation.name.partition(".")
        converter = find_converter(dialect, name)
        assert converter is not None, "what has no converter was reported before"
        made = converter(self)
        results = list(made) if isinstance(made, (list, tuple)) else [made]
        types = [result.type for result in operation.results]
        return [self._refined(*pair) for pair in zip(results, types, strict=True)]

    def _refined(self, result: Any, type_: ir.Type) -> Value:
        """Return a result with the type that the program gives it, asserted where we know less."""
        if isinstance(result, Value):
            if result.expr is None:
                return result
            result, data = result.expr, result.data
        else:
            data = None
        dtype, shape = dtype_of(type_), shape_of(type_)
        # A constant is used where it is needed, so that kernels have its number.
        var: Any = result if isinstance(result, Constant) else self.emit(result)
        if var.ty.dtype != dtype:
            raise ExprError(f"the converter gave {var.ty.dtype or 'no dtype'}, wanted {dtype}")
        if shape is not None:
            var = self._with_shape(var, shape, dtype)
        return Value(dtype, var, data)

    def _with_shape(self, var: Any, shape: Sequence[int | None], dtype: str) -> Any:
        known_dims = var.ty.dims
        if known_dims is None:
            dims = [self.names.fresh("size") if dim is None else dim for dim in shape]
            return self.builder.match_cast(var, TensorType(dims, dtype))
        if len(known_dims) != len(shape):
            raise ExprError(f"the result has {len(known_dims)} dimensions, wanted {len(shape)}")
        dims = [
            SymExpr.of(wanted) if wanted is not None and dim.value is None else dim
            for dim, wanted in zip(known_dims, shape, strict=True)
        ]
        if dims == list(known_dims):
            return var
        return self.builder.match_cast(var, TensorType(dims, dtype))


def place_of(operation: Any, source: str) -> tuple[str, int, int]:
    """Return file, line and column of an operation; what it is read from where that is no file."""
    file, line, column = source_position(operation.location)
    return (source if file in ("", "-") else file), max(line, 1), max(column, 1)


def where(operation: Any, source: str) -> str:
    """Return the place of an operation: the file and line, else what the program is called."""
    _, line, _ = source_position(operation.location)
    file, *_ = place_of(operation, source)
    return f"{file}:{line}" if line else file
