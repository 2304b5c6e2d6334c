"""Relax functions as script: bindings, dataflow blocks, branches."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, REQUIRED, from_attribute
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, identifier, location_name

INLINE_ELEMENTS = 64
_NN = ("relu", "gelu", "silu", "softmax", "log_softmax")
_INLINE = ("relax.constant", "relax.shape_expr", "relax.prim_value")
_OWN_ATTRIBUTES = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs",
                   "relax.function", "relax.params", "relax.pure")  # fmt: skip


class Metadata:
    """Constants too large to print, in the order they were met."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._known: dict[str, int] = {}

    def index(self, attribute: ir.Attribute) -> int:
        """Return the position of a constant, added when it is new."""
        key = str(attribute)
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(constant_array(attribute))
        return self._known[key]


class RelaxPrinter:
    """Prints one Relax function."""

    def __init__(self, op: ir.Operation, metadata: Metadata) -> None:
        self.op = op
        self.metadata = metadata
        self.lines: list[str] = []
        self.depth = 1
        self.in_dataflow = False
        self.namer = Namer(_symbols(op))

    def text(self) -> list[str]:
        """Return the function's lines."""
        attributes = self.op.attributes
        options = []
        if "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"':
            options.append("private=True")
        if "relax.pure" in attributes:
            options.append("pure=True")
        self._line(f"@R.function{'(' + ', '.join(options) + ')' if options else ''}", 0)
        block = self.op.regions[0].blocks[0]
        params, bound = self._parameters(block)
        type_ = ir.FunctionType(attributes["function_type"].value)
        result = type_.results[0] if len(type_.results) == 1 else None
        arrow = f" -> {spelling.type_text(result, quoted=True)}" if result is not None else ""
        name = ir.StringAttr(attributes["sym_name"]).value
        self._line(f"def {name}({', '.join(params)}){arrow}:", 0)
        for symbol in sorted(_symbols(self.op, body_only=True) - bound):
            self._line(f"{symbol} = T.int64()")
        self._func_attrs()
        self._block(block)
        return self.lines

    def _parameters(self, block: ir.Block) -> tuple[list[str], set[str]]:
        attributes = self.op.attributes
        given = [ir.StringAttr(a).value for a in attributes["relax.params"]] \
            if "relax.params" in attributes else []  # fmt: skip
        details = list(attributes["arg_attrs"]) if "arg_attrs" in attributes else []
        params, bound = [], set()
        for i, argument in enumerate(block.arguments):
            hint = given[i] if i < len(given) else location_name(argument.location) or f"arg{i}"
            text = spelling.type_text(argument.type, quoted=True)
            extra = ir.DictAttr(details[i]) if i < len(details) else None
            if extra is not None and "relax.value" in extra:
                expr = extra["relax.value"].maybe_downcast().dims[0]
                text = f'R.Prim(value="{expr}")'
                if expr.name == hint:
                    # The parameter and the symbol it binds are one thing and share the name.
                    bound.add(hint)
                    self.namer.set(argument, hint)
                    params.append(f"{hint}: {text}")
                    continue
            params.append(f"{self.namer.name(argument, hint)}: {text}")
        return params, bound

    def _func_attrs(self) -> None:
        items = []
        for attribute in self.op.attributes:
            if attribute.name in _OWN_ATTRIBUTES:
                continue
            text = spelling.attribute(attribute.attr)
            if text is not None and text != "None":
                items.append(f"{spelling.quote(attribute.name.removeprefix('relax.'))}: {text}")
        if items:
            self._line(f"R.func_attr({{{', '.join(items)}}})")

    def _line(self, text: str, depth: int | None = None) -> None:
        self.lines.append("    " * (self.depth if depth is None else depth) + text)

    def _block(self, block: ir.Block, last_name: tuple[ir.Value, str] | None = None) -> None:
        """Print a block's operations.

        Args:
            block: the block.
            last_name: the value that must have a given name, the result of a branch.
        """
        for op in block.operations:
            op = op.operation
            if op.name in ("relax.output", "relax.yield"):
                continue
            if op.name in ("func.return", "vm.return"):
                self._line(f"return {self._returned(op)}")
            elif op.name == "relax.dataflow":
                self._dataflow(op)
            elif op.name == "relax.if":
                self._if(op, last_name)
            elif not self._is_inlined(op) and not self._is_projection(op):
                self._binding(op, last_name)

    def _returned(self, op: ir.Operation) -> str:
        return ", ".join(self._value(value) for value in op.operands)

    def _is_inlined(self, op: ir.Operation) -> bool:
        """Whether an operation appears inside the expression that uses it."""
        if len(op.results) != 1:
            return False
        uses = list(op.results[0].uses)
        if is_make_tuple(op):
            # Arguments of calls and outputs of blocks are written as tuples where they are used.
            return bool(uses) and all(
                use.owner.operation.name in _TUPLE_USERS
                or (len(uses) == 1 and is_make_tuple(use.owner.operation)
                    and not location_name(op.location))
                for use in uses
            )  # fmt: skip
        if op.name not in _INLINE or len(uses) != 1 or location_name(op.location):
            return False
        user = uses[0].owner.operation
        return user.block == op.block and user.name not in ("relax.output", "relax.yield")

    def _is_projection(self, op: ir.Operation) -> bool:
        """Whether an operation only takes one output out of a dataflow block's several."""
        if op.name != "relax.tuple_get_item" or self.namer.get(op.operands[0]) is None:
            return False
        owner = op.operands[0].owner
        if isinstance(owner, ir.Block) or owner.operation.name != "relax.dataflow":
            return False
        inner = self._outputs_of(owner.operation)
        if len(inner) < 2:
            return False
        names = self._output_names[owner.operation]
        self.namer.set(op.results[0], names[ir.IntegerAttr(op.attributes["index"]).value])
        return True

    def _outputs_of(self, op: ir.Operation) -> list[ir.Value]:
        body = list(op.regions[0].blocks[0].operations)
        operands = list(body[-1].operation.operands)
        if len(operands) == 1 and isinstance(operands[0].type, ir.TupleType):
            fields = known_fields(operands[0])
            owner = operands[0].owner
            if fields is not None and len(fields) > 1 and not location_name(owner.operation.location):
                return fields
        return operands

    def _dataflow(self, op: ir.Operation) -> None:
        self._line("with R.dataflow():")
        self.depth += 1
        before = len(self.lines)
        block = op.regions[0].blocks[0]
        self.in_dataflow = True
        self._block(block)
        names: list[str] = []
        for value in self._outputs_of(op):
            local = not isinstance(value.owner, ir.Block) and value.owner.operation.block == block
            name = self._value(value)
            if not local or not name.isidentifier() or name in names:
                alias = self.namer.fresh("gv")
                self._line(f"{alias} = {name}")
                name = alias
            names.append(name)
        if names:
            self._line(f"R.output({', '.join(names)})")
        elif len(self.lines) == before:
            self._line("pass")
        self.in_dataflow = False
        self.depth -= 1
        if len(op.results) == 1:
            result = names[0] if len(names) == 1 else spelling.sequence(names)
            self.namer.set(op.results[0], result)
            self._output_names[op] = names

    def _if(self, op: ir.Operation, last_name: tuple[ir.Value, str] | None) -> None:
        name = None
        if len(op.results) == 1:
            if last_name is not None and op.results[0] == last_name[0]:
                name = last_name[1]
                self.namer.set(op.results[0], name)
            else:
                name = self.namer.name(op.results[0], location_name(op.location) or "gv")
        for i, head in enumerate((f"if {self._value(op.operands[0])}:", "else:")):
            self._line(head)
            self.depth += 1
            block = op.regions[i].blocks[0]
            operations = [o.operation for o in block.operations]
            yielded = list(operations[-1].operands)
            if name is None:
                self._block(block)
                self._line("pass")
            else:
                value = yielded[0]
                last = operations[-2] if len(operations) > 1 else None
                mine = (
                    last is not None and len(last.results) == 1 and last.results[0] == value
                    and last.name != "relax.dataflow" and len(list(value.uses)) == 1
                )  # fmt: skip
                self._block(block, (value, name) if mine else None)
                if not mine:
                    self._line(f"{name} = {self._value(value)}")
            self.depth -= 1

    def _binding(self, op: ir.Operation, last_name: tuple[ir.Value, str] | None) -> None:
        text = self._expression(op)
        if text is None:
            asm = op.get_asm(assume_verified=True).splitlines()[0]
            for result in op.results:
                self.namer.name(result, location_name(op.location) or "lv")
            self._line(f"# mlir: {asm}")
            return
        if len(op.results) == 0:
            self._line(text)
            return
        result = op.results[0]
        unused = next(iter(result.uses), None) is None and not location_name(op.location)
        if unused and op.name in ("relax.call_packed", "relax.call", "vm.call"):
            self._line(text)
            return
        if last_name is not None and result == last_name[0]:
            name = last_name[1]
            self.namer.set(result, name)
        else:
            hint = location_name(op.location) or ("lv" if self.in_dataflow else "gv")
            name = self.namer.name(result, hint)
        self._line(f"{name}{self._annotation(op)} = {text}")

    def _annotation(self, op: ir.Operation) -> str:
        if op.name == "relax.constant" or is_make_tuple(op) or not op.name.startswith("relax."):
            return ""
        return f": {spelling.type_text(op.results[0].type)}"

    def _value(self, value: ir.Value) -> str:
        known = self.namer.get(value)
        if known is not None:
            return known
        if not isinstance(value.owner, ir.Block):
            text = self._expression(value.owner.operation)
            if text is not None:
                return text
        return identifier(f"unknown_{len(self.lines)}")

    def _tuple(self, value: ir.Value) -> str:
        fields = known_fields(value)
        if self.namer.get(value) is not None or fields is None:
            return self._value(value)
        return spelling.sequence([self._value(field) for field in fields])

    def _arguments(self, value: ir.Value) -> list[str]:
        fields = known_fields(value)
        return [self._value(value)] if fields is None else [self._value(field) for field in fields]

    def _expression(self, op: ir.Operation) -> str | None:
        """Return an operation as an expression, None when script has no word for it."""
        name = op.name.removeprefix("relax.")
        if op.name.startswith("relax.") and name in COMPUTE_OPS:
            return self._compute(op, name)
        if is_make_tuple(op):
            return spelling.sequence([self._value(v) for v in op.operands])
        method = getattr(self, f"_op_{name}", None) if op.name.startswith("relax.") else None
        if method is not None:
            return method(op)
        if op.name.startswith(("relax.", "vm.")) and not len(op.regions):
            return self._generic(op)
        return None

    def _compute(self, op: ir.Operation, name: str) -> str:
        params = COMPUTE_OPS[name].PARAMS
        args = [self._value(operand) for operand in op.operands]
        for param in params:
            if param.is_operand or param.name not in op.attributes:
                continue
            value = from_attribute(param.kind, op.attributes[param.name])
            if param.default is REQUIRED or value != param.default:
                text = spelling.quote(value) if isinstance(value, str) else repr(value)
                args.append(f"{param.name}={text}")
        return f"R.{'nn.' if name in _NN else ''}{name}({', '.join(args)})"

    def _generic(self, op: ir.Operation) -> str:
        """Return a lowered operation, whose spelling is for people only."""
        args = []
        for operand in op.operands:
            args += self._arguments(operand)
        for attribute in op.attributes:
            text = spelling.attribute(attribute.attr)
            args.append(f"{attribute.name}={text if text is not None else attribute.attr}")
        path = op.name if op.name.startswith("vm.") else f"builtin.{op.name.removeprefix('relax.')}"
        return f"R.{path}({', '.join(args)})"

    def _op_constant(self, op: ir.Operation) -> str:
        value = op.attributes["value"]
        dtype = T.tensor_dtype(op.results[0].type)
        dims = T.tensor_dims(op.results[0].type)
        count = 1
        for dim in dims:
            count *= dim.value
        if count > INLINE_ELEMENTS or (count == 0 and len(dims) > 1):
            return f'metadata["relax.expr.Constant"][{self.metadata.index(value)}]'
        return f'R.const({spelling.array(constant_array(value), dtype)}, "{dtype}")'

    def _op_shape_expr(self, op: ir.Operation) -> str:
        dims = T.shape_dims(op.results[0].type)
        return f"R.shape([{', '.join(spelling.dims(dims))}])"

    def _op_prim_value(self, op: ir.Operation) -> str:
        return f"R.prim_value({op.attributes['value'].maybe_downcast().dims[0]})"

    def _op_shape_of(self, op: ir.Operation) -> str:
        return f"R.shape_of({self._value(op.operands[0])})"

    def _op_tuple_get_item(self, op: ir.Operation) -> str:
        return f"{self._value(op.operands[0])}[{ir.IntegerAttr(op.attributes['index']).value}]"

    def _op_match_cast(self, op: ir.Operation) -> str:
        pattern = spelling.type_text(op.results[0].type)
        return f"R.match_cast({self._value(op.operands[0])}, {pattern})"

    def _op_call(self, op: ir.Operation) -> str:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return f"cls.{callee}({', '.join(self._arguments(op.operands[0]))})"

    def _op_call_packed(self, op: ir.Operation) -> str:
        return self._packed(op)

    def _op_call_pure_packed(self, op: ir.Operation) -> str:
        return self._packed(op)

    def _packed(self, op: ir.Operation) -> str:
        func = ir.StringAttr(op.attributes["func"]).value
        args = self._arguments(op.operands[0])
        result = op.results[0].type
        if func in ("vm.builtin.print", "vm.builtin.assert_op") and str(result) == "!relax.object":
            name = {"vm.builtin.print": "print", "vm.builtin.assert_op": "assert_op"}[func]
            if op.name == "relax.call_packed":
                return f"R.{name}({', '.join(args)})"
        types = f"sinfo_args=({spelling.type_text(result)},)"
        name = op.name.removeprefix("relax.")
        return f"R.{name}({', '.join([spelling.quote(func), *args, types])})"

    def _op_call_tir(self, op: ir.Operation) -> str:
        return self._destination(op, f"cls.{ir.FlatSymbolRefAttr(op.attributes['callee']).value}")

    def _op_call_dps_packed(self, op: ir.Operation) -> str:
        return self._destination(op, spelling.quote(ir.StringAttr(op.attributes["func"]).value))

    def _destination(self, op: ir.Operation, func: str) -> str:
        result = op.results[0].type
        shapes = known_fields(op.operands[0]) if isinstance(result, ir.TupleType) else [op.operands[0]]
        types = [result.get_type(i) for i in range(result.num_types)] \
            if isinstance(result, ir.TupleType) else [result]  # fmt: skip
        outputs = [self._output(s, t) for s, t in zip(shapes or [], types, strict=False)]
        out = f"[{', '.join(outputs)}]" if isinstance(result, ir.TupleType) else outputs[0]
        args = spelling.sequence(self._arguments(op.operands[1]))
        parts = [func, args, f"out_sinfo={out}"]
        if "tir_vars" in op.attributes:
            dims: Dims = op.attributes["tir_vars"].maybe_downcast()
            parts.append(f"tir_vars=R.shape([{', '.join(spelling.dims(dims.dims))}])")
        return f"R.{op.name.removeprefix('relax.')}({', '.join(parts)})"

    def _output(self, shape: ir.Value, type_: ir.Type) -> str:
        """Return an output type; a shape that has a name is named rather than written again."""
        dtype = T.tensor_dtype(type_)
        name = self.namer.get(shape)
        if name is not None:
            return spelling.tensor(name, dtype)
        dims = T.shape_dims(shape.type) if isinstance(shape.type, Shape) else None
        return spelling.tensor(dims, dtype, T.tensor_ndim(type_))

    @property
    def _output_names(self) -> dict[ir.Operation, list[str]]:
        return self.__dict__.setdefault("_outputs", {})


_TUPLE_USERS = (
    "relax.call", "relax.call_tir", "relax.call_dps_packed", "relax.call_packed",
    "relax.call_pure_packed", "relax.output", "func.return", "vm.call", "vm.call_tir_dyn",
)  # fmt: skip


def _type_symbols(type_: ir.Type) -> set[str]:
    if isinstance(type_, ir.TupleType):
        return set().union(*(_type_symbols(type_.get_type(i)) for i in range(type_.num_types)), set())
    dims = None
    if T.is_tensor(type_):
        dims = T.tensor_dims(type_)
    elif isinstance(type_, Shape):
        dims = T.shape_dims(type_)
    return set().union(*(dim.symbols for dim in dims or ()), set())


def _symbols(op: ir.Operation, body_only: bool = False) -> set[str]:
    """Return the symbols of a function's types and attributes."""
    found: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        inner = inner.operation
        for result in inner.results:
            found.update(_type_symbols(result.type))
        for attribute in inner.attributes:
            if isinstance(attribute.attr, Dims):
                found.update(attribute.attr.symbol_names)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    if not body_only:
        for argument in op.regions[0].blocks[0].arguments:
            found |= _type_symbols(argument.type)
        if "arg_attrs" in op.attributes:
            for item in op.attributes["arg_attrs"]:
                for named in ir.DictAttr(item):
                    if isinstance(named.attr, Dims):
                        found.update(named.attr.symbol_names)
    return found
