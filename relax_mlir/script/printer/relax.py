"""Relax functions as script: bindings, dataflow blocks, branches."""

import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.relax.well_formed import type_symbols
from relax_mlir.dialects.symbolic.atoms import variable
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import collect, first_below
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, own_name
from relax_mlir.script.printer.options import PrintOptions
from relax_mlir.script.printer.relax_control import ControlPrinter
from relax_mlir.script.printer.relax_expr import Metadata, RelaxExprPrinter, is_number

_INLINE = ("relax.constant", "relax.shape_expr", "relax.prim_value", "relax.compare_prim",
           "relax.logic_prim")  # fmt: skip
_TERMINATORS = ("relax.output", "relax.yield", "relax.condition")
_OWN_ATTRIBUTES = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs",
                   "recursive", "relax.function", "relax.params", "relax.pure")  # fmt: skip


class RelaxPrinter:
    """Prints one Relax function."""

    def __init__(self, op: ir.Operation, metadata: Metadata) -> None:
        self.op = op
        self.options: PrintOptions = metadata.options
        self.lines: list[str] = []
        self.depth = 1
        self.in_dataflow = False
        symbols = _symbols(op)
        self.namer: Namer = Namer(symbols | set(map(variable, symbols)))
        self.expr: RelaxExprPrinter = RelaxExprPrinter(self.namer, metadata)
        # Two symbols for one name: both appear as they are.
        self.expr.spelled_out.update(n for n in symbols if variable(n) in symbols - {n})
        # What the outputs of each dataflow block are called.
        self._output_names: dict[ir.Operation, list[str]] = {}
        # What a value must be called; operations that are no line of their own.
        self.forced: dict[ir.Value, str] = {}
        self.skipped: set[ir.Operation] = set()
        self.inlined: set[ir.Operation] = set()
        self.control: ControlPrinter = ControlPrinter(self)
        # Whether symbols occur only where nothing but dimensions can stand.
        self.dims_only: bool = not collect(op, lambda inner: inner.name in _INTEGER_USERS)

    def text(self) -> list[str]:
        """Return the function's lines."""
        attributes = self.op.attributes
        options = []
        if "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"':
            options.append("private=True")
        if "relax.pure" in attributes:
            options.append("pure=True")
        self.line(f"@R.function{'(' + ', '.join(options) + ')' if options else ''}", 0)
        block = self.op.regions[0].blocks[0]
        self.control.name_integers(block)
        params, bound = self._parameters(block)
        type_ = ir.FunctionType(attributes["function_type"].value)
        result = type_.results[0] if len(type_.results) == 1 else None
        arrow = f" -> {spelling.type_text(result, quoted=True)}" if result is not None else ""
        name = ir.StringAttr(attributes["sym_name"]).value
        self.line(f"def {name}({', '.join(params)}){arrow}:", 0)
        for symbol in sorted(_symbols(self.op, body_only=True) - bound):
            self.line(f"{symbol} = T.int64()")
        self.func_attrs(self.op)
        if self.options.module_alias and _calls_functions(self.op):
            self.line(f"{self.options.module_alias} = Module")
        self.block(block)
        written = _symbols(self.op) - self.expr.spelled_out
        hidden = [name for name in written if name != variable(name)]
        if hidden:
            # The variable brings the symbol with it when the script is read.
            pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, hidden))})\b")
            self.lines = [
                pattern.sub(lambda match: variable(match[0]), line) for line in self.lines
            ]
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
                self.expr.spelled_out |= expr.symbols
                if expr.name == hint:
                    # The parameter and the symbol it binds are one thing and share the name.
                    bound.add(hint)
                    self.namer.set(argument, hint)
                    self.control.record_parameter(argument, hint)
                    params.append(f"{hint}: {text}")
                    continue
            name = self.namer.get(argument)
            if name is None and hint in type_symbols(argument.type) and self.dims_only:
                # Where dimensions are written, the name means the symbol.
                self.namer.set(argument, hint)
                bound.add(hint)
                name = hint
            name = name or self.namer.name(argument, hint)
            params.append(f"{name}: {text}")
        return params, bound

    def func_attrs(self, op: ir.Operation) -> None:
        """Print the attributes of a function, or of one inside it."""
        items = []
        for name, attribute in op.attributes.items():
            if name in _OWN_ATTRIBUTES:
                continue
            text = spelling.attribute(attribute)
            if text is not None and text != "None":
                short = name.removeprefix("relax.")
                items.append(f"{spelling.quote(name if '.' in short else short)}: {text}")
        if items:
            self.line(f"R.func_attr({{{', '.join(items)}}})")

    def line(self, text: str, depth: int | None = None) -> None:
        """Add a line, at the current depth unless another is given."""
        self.lines.append("    " * (self.depth if depth is None else depth) + text)

    def block(self, block: ir.Block) -> None:
        """Print a block's operations, except what ends it in a region."""
        self.control.name_integers(block)
        for view in block.operations:
            op = view.operation
            if op.name in LOOPS:
                # What a loop starts with has the names of its variables from the first.
                self.control.carried_names(op)
        for op in block.operations:
            op = op.operation
            if op.name in _TERMINATORS or op in self.skipped or op in self.inlined:
                continue
            if op.name in ("func.return", "vm.return"):
                self.line(f"return {self._returned(op)}")
            elif op.name == "relax.dataflow":
                self._dataflow(op)
            elif op.name == "relax.if":
                self.control.branch(op)
            elif op.name in LOOPS:
                self.control.loop(op)
            elif op.name == "relax.match_prim" and self.control.is_implied(op):
                continue
            elif op.name == "relax.lambda":
                self.control.function(op)
            elif not self.is_inlined(op) and not self._is_projection(op):
                self._binding(op)

    def _returned(self, op: ir.Operation) -> str:
        return ", ".join(self.expr.value(value) for value in op.operands)

    def is_inlined(self, op: ir.Operation) -> bool:
        """Whether an operation appears inside the expression that uses it."""
        if len(op.results) != 1:
            return False
        uses = list(op.results[0].uses)
        if is_make_tuple(op):
            # Arguments of calls and outputs of blocks are written as tuples where they are used.
            return bool(uses) and all(
                self._takes_fields(use.owner.operation)
                or (len(uses) == 1 and _takes_tuple(use.owner.operation) and not own_name(op))
                # An operand left out, which is not written at all.
                or (not len(op.operands) and _takes_tuple(use.owner.operation))
                for use in uses
            )  # fmt: skip
        if op.results[0] in self.forced:
            return False
        if len(uses) != 1 or own_name(op) or not (op.name in _INLINE or is_number(op)):
            return False
        user = uses[0].owner.operation
        return user.block == op.block and user.name not in ("relax.output", "relax.yield")

    def _takes_fields(self, user: ir.Operation) -> bool:
        """Whether an operation is printed with the fields of a tuple rather than its name."""
        if user.name != "relax.yield":
            return user.name in _TUPLE_USERS
        around = user.parent.operation
        return around.name in LOOPS or around in self.control.unpacked

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
            if fields is not None and len(fields) > 1 and not own_name(owner.operation):
                return fields
        return operands

    def _dataflow(self, op: ir.Operation) -> None:
        self.line("with R.dataflow():")
        self.depth += 1
        before = len(self.lines)
        block = op.regions[0].blocks[0]
        self.in_dataflow = True
        self.block(block)
        names: list[str] = []
        for i, value in enumerate(self._outputs_of(op)):
            local = not isinstance(value.owner, ir.Block) and value.owner.operation.block == block
            name = self.expr.value(value)
            if not local or not name.isidentifier() or name in names:
                alias = self.namer.fresh(self._output_hint(op, i))
                self.line(f"{alias} = {name}")
                name = alias
            names.append(name)
        if names:
            self.line(f"R.output({', '.join(names)})")
        elif len(self.lines) == before:
            self.line("pass")
        self.in_dataflow: bool = False
        self.depth -= 1
        if len(op.results) == 1:
            result = names[0] if len(names) == 1 else spelling.sequence(names)
            self.namer.set(op.results[0], result)
            self._output_names[op] = names

    def _output_hint(self, op: ir.Operation, index: int) -> str:
        """Return what the program calls an output outside its block."""
        for use in op.results[0].uses if len(op.results) else ():
            user = use.owner.operation
            if user.name == "relax.tuple_get_item" and (
                ir.IntegerAttr(user.attributes["index"]).value == index
            ):
                return location_name(user.location) or "gv"
        return own_name(op) or "gv"

    def _binding(self, op: ir.Operation) -> None:
        text = self.expr.expression(op)
        if text is None:
            asm = op.get_asm(assume_verified=True).splitlines()[0]
            for result in op.results:
                self.namer.name(result, own_name(op) or "lv")
            self.line(f"{spelling.UNSPOKEN}{asm}")
            return
        if len(op.results) == 0:
            self.line(text)
            return
        result = op.results[0]
        if _is_bare(op):
            self.line(text)
            return
        name = self.control.forced_name(result)
        if name is not None:
            self.namer.set(result, name)
        else:
            hint = own_name(op) or ("lv" if self.in_dataflow else "gv")
            name = self.namer.name(result, hint)
        if op.name == "relax.prim_value" and not (size := _value(op)).name:
            # A name alone would be another name of that variable.
            self.line(f"{name}: T.int64 = {size}")
            return
        self.line(f"{name}{self._annotation(op)} = {text}")

    def _annotation(self, op: ir.Operation) -> str:
        if op.name in _SELF_EXPLAINING or not op.name.startswith(("relax.", "vm.")):
            return ""
        if not self.options.show_all_ty and op.name.removeprefix("relax.") in COMPUTE_OPS:
            return ""
        return f": {spelling.type_text(op.results[0].type)}"


# What may be called for its effect alone.
_INTEGER_USERS = ("relax.compare_prim", "relax.prim_value", "relax.match_prim")
_BARE = ("relax.call_packed", "relax.call", "relax.invoke_closure", "vm.call")
# Their expression says the type already.
_SELF_EXPLAINING = (
    "relax.constant", "relax.shape_expr", "relax.prim_value", "relax.match_cast", "relax.call_tir",
    "relax.call_dps_packed", "relax.call_packed", "relax.call_pure_packed", "relax.make_closure",
    "relax.compare_prim", "relax.logic_prim", "relax.call_tir_inplace",
    "relax.call_dps_packed_inplace", "relax.call_inplace_packed", "relax.alloc_tensor",
    "vm.alloc_storage", "vm.alloc_shape_heap",
)  # fmt: skip
_TUPLE_USERS = (
    "relax.call", "relax.call_tir", "relax.call_dps_packed", "relax.call_packed",
    "relax.call_pure_packed", "relax.output", "func.return", "vm.call", "vm.call_tir_dyn",
    "relax.invoke_closure", "relax.make_closure", "relax.logic_prim", "relax.call_tir_inplace",
    "relax.call_dps_packed_inplace", "relax.call_inplace_packed", *LOOPS,
)  # fmt: skip


def _takes_tuple(op: ir.Operation) -> bool:
    """Whether a tuple appears inside the expression of an operation that uses it."""
    return is_make_tuple(op) or op.name.removeprefix("relax.") in COMPUTE_OPS


def _value(op: ir.Operation) -> SymExpr:
    """Return the integer that a `relax.prim_value` is."""
    dims = op.attributes["value"].maybe_downcast()
    assert isinstance(dims, Dims), "checked by the verifier"
    return dims.dims[0]


def _calls_functions(op: ir.Operation) -> bool:
    """Whether a function mentions others of its module, which script calls `cls.name`."""
    return first_below(op, lambda inner: "callee" in inner.attributes) is not None


def _is_bare(op: ir.Operation) -> bool:
    """Whether an operation is a statement of its own: a call for its effect."""
    if op.name not in _BARE or len(op.results) != 1 or "pure" in op.attributes:
        return False
    if op.name == "relax.invoke_closure" and str(op.results[0].type) != "!relax.object":
        return False
    return next(iter(op.results[0].uses), None) is None and not own_name(op)


def _symbols(op: ir.Operation, body_only: bool = False) -> set[str]:
    """Return the symbols of a function's types and attributes."""
    results: set[str] = set()
    own: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        inner = inner.operation
        for result in inner.results:
            results.update(type_symbols(result.type))
        # They give their symbols values themselves, and the names of these are variables'.
        if body_only and inner.name == "relax.match_prim":
            own.update(inner.attributes["value"].maybe_downcast().symbol_names)
        if inner.name == "relax.lambda":
            for argument in inner.regions[0].blocks[0].arguments:
                (own if body_only else results).update(type_symbols(argument.type))
        for _, attribute in inner.attributes.items():
            if isinstance(attribute, Dims):
                results.update(attribute.symbol_names)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    if not body_only:
        for argument in op.regions[0].blocks[0].arguments:
            results |= type_symbols(argument.type)
        if "arg_attrs" in op.attributes:
            for item in op.attributes["arg_attrs"]:
                for named in ir.DictAttr(item):
                    if isinstance(named.attr, Dims):
                        results.update(named.attr.symbol_names)
    return results - own
