"""Relax operations as expressions."""

import math
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.op_names import script_name
from relax_mlir.dialects.relax.ops.base import (
    COMPUTE_OPS,
    REQUIRED,
    default_value,
    from_attribute,
    is_absent,
)
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.vm.ops import OPERATIONS
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, own_name
from relax_mlir.script.printer.options import PrintOptions

INLINE_ELEMENTS = 64
_COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
# Attributes of calls of packed functions that are written as something else.
_OF_PACKED = ("func", "static_args", "inplace_indices", "pure")
_BUILTINS = {"vm.builtin.print": "print", "vm.builtin.assert_op": "assert_op"}


# What makes functions of which a reader knows whether they have side effects.
_KNOWN_FUNCTIONS = ("relax.lambda", "relax.invoke_closure")


def is_number(op: ir.Operation) -> bool:
    """Whether an operation is a number that scripts write as such: `T.int32(16)`."""
    if op.name != "relax.tensor_to_scalar" or own_name(op):
        return False
    owner = op.operands[0].owner
    if isinstance(owner, ir.Block) or owner.name != "relax.constant" or own_name(owner.operation):
        return False
    return math.isfinite(constant_array(owner.operation.attributes["value"]).item())


def _number(op: ir.Operation) -> str:
    array = constant_array(op.operands[0].owner.operation.attributes["value"])
    return f"T.{T.dtype_of_element(op.results[0].type)}({array.item()!r})"


class Metadata:
    """Constants too large to print, in the order they were met, and how the rest is printed."""

    def __init__(self, options: PrintOptions) -> None:
        self.options = options
        self.arrays: list[Any] = []
        self._known: dict[str, int] = {}

    def index(self, attribute: ir.Attribute) -> int:
        """Return the position of a constant, added when it is new."""
        key = str(attribute)
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(constant_array(attribute))
        return self._known[key]


class RelaxExprPrinter:
    """Writes operations as expressions over the names that values have."""

    def __init__(self, namer: Namer, metadata: Metadata) -> None:
        self.namer = namer
        self.metadata = metadata
        self.module: str = metadata.options.module
        # Symbols that must appear by their own name, as no variable brings them with it.
        self.spelled_out: set[str] = set()

    def value(self, value: ir.Value) -> str:
        """Return a value as its name, or as the expression that makes it."""
        known = self.namer.get(value)
        if known is not None:
            return known
        if not isinstance(value.owner, ir.Block):
            text = self.expression(value.owner.operation)
            if text is not None:
                return text
        return "unknown"

    def _arguments(self, value: ir.Value) -> list[str]:
        fields = known_fields(value)
        return [self.value(value)] if fields is None else [self.value(field) for field in fields]

    def _integers(self, value: ir.Value) -> list[str]:
        fields = known_fields(value)
        return [self.value(value)] if fields is None else [self.integer(field) for field in fields]

    def expression(self, op: ir.Operation) -> str | None:
        """Return an operation as an expression, None when script has no word for it."""
        name = op.name.removeprefix("relax.")
        if is_number(op):
            return _number(op)
        if op.name.startswith("relax.") and name in COMPUTE_OPS:
            return self._compute(op, name)
        if is_make_tuple(op):
            return spelling.sequence([self.value(v) for v in op.operands])
        method = getattr(self, f"_op_{name}", None) if op.name.startswith("relax.") else None
        if method is not None:
            return method(op)
        if op.name.startswith(("relax.", "vm.")) and not len(op.regions):
            return self._generic(op)
        return None

    def _compute(self, op: ir.Operation, name: str) -> str:
        operands = iter(op.operands)
        args = []
        plain = True
        for param in COMPUTE_OPS[name].PARAMS:
            text = None
            if param.is_operand:
                operand = next(operands)
                text = None if is_absent(operand) else self.value(operand)
            elif param.name in op.attributes:
                value = from_attribute(param.kind, op.attributes[param.name])
                if param.default is REQUIRED or value != default_value(param):
                    text = spelling.python(value)
                    if param.kind == "index_map":
                        text = f"T.index_map({value})"
            # Whatever follows something left out, and every attribute, is named.
            plain = plain and param.is_operand and text is not None
            if text is not None:
                args.append(text if plain else f"{param.name}={text}")
        return f"R.{script_name(name)}({', '.join(args)})"

    def _generic(self, op: ir.Operation) -> str:
        """Return a lowered operation: operands by position, attributes by name."""
        args = []
        takes = OPERATIONS[op.name[3:]].OPERANDS if op.name.startswith("vm.") else ()
        for i, operand in enumerate(op.operands):
            if i < len(takes) and takes[i] == "tuple":
                args += self._arguments(operand)
            else:
                args.append(self.value(operand))
        for name, attribute in op.attributes.items():
            text = spelling.attribute(attribute)
            args.append(f"{name}={text if text is not None else attribute}")
        if op.name == "vm.call" and len(op.results) and self.namer.get(op.results[0]) is None:
            args.append(f"ty_args={spelling.type_text(op.results[0].type)}")
        path = op.name if op.name.startswith("vm.") else f"builtin.{op.name.removeprefix('relax.')}"
        return f"R.{path}({', '.join(args)})"

    def _op_constant(self, op: ir.Operation) -> str:
        value = op.attributes["value"]
        dtype = T.tensor_dtype(op.results[0].type)
        sizes = list(op.results[0].type.shape)
        count = math.prod(sizes)
        # Nested lists cannot distinguish (0, 3) from (0, 4).
        if count > INLINE_ELEMENTS or (count == 0 and len(sizes) > 1):
            return f'metadata["relax.expr.Constant"][{self.metadata.index(value)}]'
        return f'R.const({spelling.array(constant_array(value), dtype)}, "{dtype}")'

    def _op_shape_expr(self, op: ir.Operation) -> str:
        dims = T.shape_dims(op.results[0].type) or []
        return f"R.shape([{', '.join(spelling.dims(dims))}])"

    def _op_prim_value(self, op: ir.Operation) -> str:
        return f"R.prim_value({op.attributes['value'].maybe_downcast().dims[0]})"

    def integer(self, value: ir.Value) -> str:
        """Return an integer where Python's own notation means one."""
        if self.namer.get(value) is None and not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            if op.name == "relax.prim_value":
                return str(op.attributes["value"].maybe_downcast().dims[0])
        return self.value(value)

    def _op_compare_prim(self, op: ir.Operation) -> str:
        left, right = map(self.integer, op.operands)
        return f"{left} {_COMPARISONS[ir.StringAttr(op.attributes['kind']).value]} {right}"

    def _op_logic_prim(self, op: ir.Operation) -> str:
        word = ir.StringAttr(op.attributes["kind"]).value
        parts = [self._condition(value) for value in known_fields(op.operands[0]) or ()]
        return f"not {parts[0]}" if word == "not" else f" {word} ".join(parts)

    def _condition(self, value: ir.Value) -> str:
        """Return a part of a condition, in parentheses where `and`, `or` and `not` meet."""
        text = self.value(value)
        if isinstance(value.owner, ir.Block) or self.namer.get(value) is not None:
            return text
        return f"({text})" if value.owner.operation.name == "relax.logic_prim" else text

    def _op_match_prim(self, op: ir.Operation) -> str:
        dim = op.attributes["value"].maybe_downcast().dims[0]
        self.spelled_out |= dim.symbols
        return f'R.match_cast({self.value(op.operands[0])}, R.Prim("int64", value={dim}))'

    def _op_make_closure(self, op: ir.Operation) -> str:
        callee = f"{self.module}.{ir.FlatSymbolRefAttr(op.attributes['callee']).value}"
        fields = known_fields(op.operands[0])
        if fields == []:
            return callee
        return f"R.make_closure({callee}, {spelling.sequence(self._arguments(op.operands[0]))})"

    def _op_invoke_closure(self, op: ir.Operation) -> str:
        function, owner = self.value(op.operands[0]), op.operands[0].owner
        if "pure" in op.attributes and getattr(owner, "name", "") not in _KNOWN_FUNCTIONS:
            args = spelling.sequence(self._arguments(op.operands[1]))
            type_ = spelling.type_text(op.results[0].type)
            return f"R.invoke_pure_closure({function}, {args}, ty_args={type_})"
        return f"{function}({', '.join(self._integers(op.operands[1]))})"

    def _op_shape_of(self, op: ir.Operation) -> str:
        return f"R.shape_of({self.value(op.operands[0])})"

    def _op_tuple_get_item(self, op: ir.Operation) -> str:
        return f"{self.value(op.operands[0])}[{ir.IntegerAttr(op.attributes['index']).value}]"

    def _op_match_cast(self, op: ir.Operation) -> str:
        pattern = spelling.type_text(op.results[0].type)
        return f"R.match_cast({self.value(op.operands[0])}, {pattern})"

    def _op_call(self, op: ir.Operation) -> str:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return f"{self.module}.{callee}({', '.join(self._integers(op.operands[0]))})"

    def _op_call_packed(self, op: ir.Operation) -> str:
        return self._packed(op)

    def _op_call_pure_packed(self, op: ir.Operation) -> str:
        return self._packed(op)

    def _packed(self, op: ir.Operation) -> str:
        func = ir.StringAttr(op.attributes["func"]).value
        args = self._arguments(op.operands[0])
        result = op.results[0].type
        if func in _BUILTINS and op.name == "relax.call_packed" and str(result) == "!relax.object":
            if "static_args" in op.attributes:
                (message,) = op.attributes["static_args"]
                args.append(f"format={spelling.quote(ir.StringAttr(message).value)}")
            return f"R.{_BUILTINS[func]}({', '.join(args)})"
        if func == "vm.builtin.word":
            (text,) = op.attributes["static_args"]
            return f"R.str({spelling.quote(ir.StringAttr(text).value)})"
        types = f"ty_args=({spelling.type_text(result)},)"
        if "inplace_indices" in op.attributes:
            args.append(f"inplace_indices={list(op.attributes['inplace_indices'])}")
        if "static_args" in op.attributes:
            static = map(spelling.static_argument, op.attributes["static_args"])
            args.append(f"static_args=[{', '.join(static)}]")
        own = [
            f"{key}={spelling.attribute(value)}"
            for key, value in op.attributes.items()
            if key not in _OF_PACKED and "." not in key
        ]
        name = op.name.removeprefix("relax.")
        return f"R.{name}({', '.join([spelling.quote(func), *args, types, *own])})"

    def _op_call_tir(self, op: ir.Operation) -> str:
        return self._destination(
            op, f"{self.module}.{ir.FlatSymbolRefAttr(op.attributes['callee']).value}"
        )

    def _op_call_tir_inplace(self, op: ir.Operation) -> str:
        return self._op_call_tir(op)

    def _op_call_dps_packed_inplace(self, op: ir.Operation) -> str:
        return self._op_call_dps_packed(op)

    def _op_call_inplace_packed(self, op: ir.Operation) -> str:
        return self._packed(op)

    def _op_call_dps_packed(self, op: ir.Operation) -> str:
        return self._destination(op, spelling.quote(ir.StringAttr(op.attributes["func"]).value))

    def _destination(self, op: ir.Operation, func: str) -> str:
        result = op.results[0].type
        shapes = (
            known_fields(op.operands[0]) if isinstance(result, ir.TupleType) else [op.operands[0]]
        )
        types = [result.get_type(i) for i in range(result.num_types)] \
            if isinstance(result, ir.TupleType) else [result]  # fmt: skip
        outputs = [self._output(s, t) for s, t in zip(shapes or [], types, strict=False)]
        out = f"[{', '.join(outputs)}]" if isinstance(result, ir.TupleType) else outputs[0]
        args = spelling.sequence(self._arguments(op.operands[1]))
        parts = [func, args, f"out_ty={out}"]
        if "inplace_indices" in op.attributes:
            parts.insert(2, f"inplace_indices={list(op.attributes['inplace_indices'])}")
        if "tir_vars" in op.attributes:
            dims = Dims(op.attributes["tir_vars"])
            parts.append(f"tir_vars=R.shape([{', '.join(spelling.dims(dims.dims))}])")
        name = op.name.removeprefix("relax.")
        gradient = [key for key in ("te_grad_name", "te_grad_kwargs") if key in op.attributes]
        parts += [f"{key}={spelling.attribute(op.attributes[key])}" for key in gradient]
        return f"R.{name}{'_with_grad' if gradient else ''}({', '.join(parts)})"

    def _output(self, shape: ir.Value, type_: ir.Type) -> str:
        """Return an output type; a shape that has a name is named rather than written again."""
        dtype = T.tensor_dtype(type_)
        name = self.namer.get(shape)
        if name is not None:
            return spelling.tensor(name, dtype)
        dims = T.shape_dims(shape.type) if isinstance(shape.type, Shape) else None
        return spelling.tensor(dims, dtype, T.tensor_ndim(type_))
