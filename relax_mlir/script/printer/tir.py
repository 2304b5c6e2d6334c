"""Prim funcs as script: loops, blocks, stores."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.layout import INT4, LAYOUT_ATTRIBUTES
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, identifier, is_variable
from relax_mlir.script.printer.options import PrintOptions
from relax_mlir.script.printer.tir_expr import ATOM, TirExprPrinter

_LOOPS = {"serial": "range", "parallel": "T.parallel", "vectorized": "T.vectorized",
          "unrolled": "T.unroll"}  # fmt: skip
_AXES = {"spatial": "spatial", "reduction": "reduce", "scan": "scan", "opaque": "opaque"}
_LETTERS = {"spatial": "S", "reduction": "R", "scan": "C"}
_OWN_ATTRIBUTES = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs",
                   "tir.prim_func")  # fmt: skip
# Prim funcs of TVM carry these with the prefix, all others without.
_TVM_ATTRIBUTES = ("tir.noalias", "tir.is_scheduled", "tir.is_entry_func", "tir.internal",
                   "tir.returns")  # fmt: skip
_SILENT = ("func.return", "tir.yield", "scf.yield", "scf.condition", "tir.where", "tir.reads",
           "tir.writes", "arith.constant", "tir.symbol", "memref.dealloc")  # fmt: skip


class TirPrinter:
    """Prints one prim func."""

    def __init__(self, op: ir.Operation, options: PrintOptions) -> None:
        self.op = op
        self.options = options
        self.lines: list[str] = []
        self.depth = 1
        self.symbols: list[str] = _symbols(op)
        self.namer: Namer = Namer(set(self.symbols))
        self.expr: TirExprPrinter = TirExprPrinter(self.namer, op)
        # Extent of each loop variable that begins at 0, for T.axis.remap.
        self.extents: dict[ir.Value, ir.Value] = {}

    def text(self) -> list[str]:
        """Return the function's lines."""
        attributes = self.op.attributes
        private = (
            "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"'
        )
        self._line(f"@T.prim_func{'(private=True)' if private else ''}", 0)
        block = self.op.regions[0].blocks[0]
        params, matches, integers = self._parameters(block)
        self._line(f"def {ir.StringAttr(attributes['sym_name']).value}({', '.join(params)}):", 0)
        self._func_attrs()
        for symbol in self.symbols:
            if symbol not in integers:
                self._line(f"{symbol} = T.int64()")
        for match in matches:
            self._line(match)
        calls = any(inner.operation.name == "func.call" for inner in block.operations)
        if calls and self.options.module_alias:
            self._line(f"{self.options.module_alias} = Module")
        start = len(self.lines)
        self._block(block)
        if len(self.lines) == start:
            self._line("T.evaluate(0)")
        return self.lines

    def _parameters(self, block: ir.Block) -> tuple[list[str], list[str], set[str]]:
        details = _details(self.op)
        params, matches, integers = [], [], set()
        for argument, raw in zip(block.arguments, details, strict=True):
            detail = ir.DictAttr(raw)
            hint = ir.StringAttr(detail["tir.name"]).value
            if not isinstance(argument.type, ir.MemRefType) and "tir.dtype" in detail:
                dtype = ir.StringAttr(detail["tir.dtype"]).value
                self.expr.scalars[argument] = dtype
                params.append(f"{self.namer.name(argument, hint)}: T.{dtype}")
                continue
            if not isinstance(argument.type, ir.MemRefType):
                integers.add(hint)
                # The parameter and the symbol of that name are one thing.
                self.namer.set(argument, hint)
                params.append(f"{hint}: T.int64")
                continue
            name = self.namer.name(argument, hint)
            dims = detail["tir.shape"].maybe_downcast().dims
            dtype = ir.StringAttr(detail["tir.dtype"]).value
            self.expr.buffers[argument] = (name, dtype)
            shape = spelling.sequence(spelling.dims(dims))
            strides = _dims_of(detail, "tir.strides")
            notes = _notes(detail)
            if all(dim.is_const for dim in (*dims, *strides)):
                params.append(f'{name}: T.Buffer({shape}, "{dtype}"{notes})')
            else:
                handle = self.namer.fresh(f"var_{name}")
                params.append(f"{handle}: T.handle")
                matches.append(f'{name} = T.match_buffer({handle}, {shape}, "{dtype}"{notes})')
        return params, matches, integers

    def _hint(self, op: ir.Operation, default: str) -> str:
        """Return the name that a value's location carries, unless it is that of the function.

        A kernel that the compiler makes has one name, without a place, for all that is in it.
        """
        return location_name(op.location) or default if is_variable(op) else default

    def _func_attrs(self) -> None:
        items = []
        for name, attribute in self.op.attributes.items():
            if name in _OWN_ATTRIBUTES:
                continue
            text = spelling.attribute(attribute)
            if isinstance(attribute.maybe_downcast(), ir.UnitAttr):
                text = "True"
            if text is not None and text != "None":
                name = name if name in _TVM_ATTRIBUTES else name.removeprefix("tir.")
                items.append(f"{spelling.quote(name)}: {text}")
        readonly = [
            spelling.quote(ir.StringAttr(ir.DictAttr(raw)["tir.name"]).value)
            for raw in _details(self.op) if "tir.readonly" in ir.DictAttr(raw)
        ]  # fmt: skip
        if readonly:
            items.append(f'"tir.readonly": [{", ".join(readonly)}]')
        if items:
            self._line(f"T.func_attr({{{', '.join(items)}}})")

    def _line(self, text: str, depth: int | None = None) -> None:
        self.lines.append("    " * (self.depth if depth is None else depth) + text)

    def _block(self, block: ir.Block) -> None:
        for op in block.operations:
            self._statement(op.operation)

    def _nested(self, block: ir.Block) -> None:
        self.depth += 1
        start = len(self.lines)
        self._block(block)
        if len(self.lines) == start:
            self._line("T.evaluate(0)")
        self.depth -= 1

    def _statement(self, op: ir.Operation) -> None:
        if op.name in _SILENT:
            return
        if op.name == "tir.for":
            self._for(op)
        elif op.name == "tir.block":
            self._tir_block(op)
        elif op.name == "memref.store":
            name, _ = self.expr.buffers.get(op.operands[1], ("unknown", ""))
            value = self.expr.stored(op)
            self._line(f"{name}[{self.expr.indices(op.operands, 2)}] = {value}")
        elif op.name == "tir.assert":
            message = spelling.quote(ir.StringAttr(op.attributes["message"]).value)
            self._line(f"T.Assert({self.expr.value(op.operands[0])}, {message})")
        elif op.name in ("memref.alloc", "memref.alloca"):
            self._alloc(op)
        elif op.name == "memref.reinterpret_cast" and self._view(op):
            return
        elif op.name == "memref.cast" and op.operands[0] in self.expr.buffers:
            self.expr.buffers[op.results[0]] = self.expr.buffers[op.operands[0]]
        elif op.name == "memref.view" and self._part(op):
            return
        elif op.name == "func.call" and not len(op.results):
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            self._line(
                f"{self.options.module}.{callee}({', '.join(map(self._argument, op.operands))})"
            )
        elif op.name == "scf.if" and not len(op.results):
            self._if(op)
        elif op.name == "tir.call_extern" and not any(list(each.uses) for each in op.results):
            self._line(self.expr.extern(op))
        elif op.name == "tir.call_packed" and not any(list(each.uses) for each in op.results):
            self._line(self.expr.packed(op))
        elif op.name in ("builtin.unrealized_conversion_cast", "memref.subview"):
            # What a call of a C function takes is written there.
            return
        elif op.name == "scf.while" and not len(op.results) and not len(op.operands):
            test = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0]
            self._line(f"while {self.expr.value(test)}:")
            self._nested(op.regions[1].blocks[0])
        elif op.name == "arith.mulsi_extended":
            # Both halves of a product, which TVM has no word for.
            low, high = op.results
            halves = [self.namer.name(low, "low"), self.namer.name(high, "high")]
            factors = ", ".join(map(self.expr.value, op.operands))
            self._line(f"{', '.join(halves)} = T.mulsi_extended({factors})")
        elif len(op.results) == 1 and self.expr.can_spell(op):
            if not self.expr.is_inlined(op):
                text = self.expr.text(op)
                name = self.namer.name(op.results[0], self._hint(op, "v"))
                self._line(f"{name} = {text}")
        else:
            asm = op.get_asm(assume_verified=True).splitlines()[0]
            for result in op.results:
                self.namer.name(result, "v")
            self._line(f"{spelling.UNSPOKEN}{asm}")

    def _alloc(self, op: ir.Operation) -> None:
        attributes = op.attributes
        hint = self._hint(op, "buffer")
        if "tir.name" in attributes:
            hint = ir.StringAttr(attributes["tir.name"]).value
        name = self.namer.name(op.results[0], hint)
        if "tir.shape" in attributes and "tir.dtype" in attributes:
            dims = spelling.dims(attributes["tir.shape"].maybe_downcast().dims)
            dtype = ir.StringAttr(attributes["tir.dtype"]).value
        else:
            dims, dtype = self._sizes(op, list(op.operands))
            # Bytes of which tensors are parts.
            dtype = "uint8" if op.name == "memref.alloca" and dtype == "int8" else dtype
        self.expr.buffers[op.results[0]] = (name, dtype)
        notes = _notes(attributes)
        self._line(f'{name} = T.alloc_buffer({spelling.sequence(dims)}, "{dtype}"{notes})')

    def _view(self, op: ir.Operation) -> bool:
        """Print a view of all of a buffer's elements in one row; whether it is one."""
        base = self.expr.buffers.get(op.operands[0])
        type_ = ir.MemRefType(op.results[0].type)
        if base is not None and "tir.shape" in op.attributes:
            name = self.namer.name(op.results[0], ir.StringAttr(op.attributes["tir.name"]).value)
            self.expr.buffers[op.results[0]] = (name, base[1])
            shape = spelling.sequence(
                spelling.dims(op.attributes["tir.shape"].maybe_downcast().dims)
            )
            place = f"data={base[0]}.data{_notes(op.attributes)}"
            self._line(f'{name} = T.decl_buffer({shape}, "{base[1]}", {place})')
            return True
        if base is None or type_.rank != 1 or len(op.operands) > 2:
            return False
        size = str(type_.shape[0]) if len(op.operands) == 1 else self.expr.value(op.operands[1])
        name = self.namer.name(op.results[0], self._hint(op, base[0]))
        self.expr.buffers[op.results[0]] = (name, base[1])
        self._line(f'{name} = T.decl_buffer(({size},), "{base[1]}", data={base[0]}.data)')
        return True

    def _part(self, op: ir.Operation) -> bool:
        """Print a tensor that lies somewhere in a workspace; whether it is one."""
        base = self.expr.buffers.get(op.operands[0])
        offset = self.expr.symbolic(op.operands[1])
        if base is None or offset is None:
            return False
        dims, dtype = self._sizes(op, list(op.operands)[2:])
        dtype = ir.StringAttr(op.attributes["tir.dtype"]).value if dtype in INT4 else dtype
        name = self.namer.name(op.results[0], self._hint(op, "view"))
        self.expr.buffers[op.results[0]] = (name, dtype)
        start = offset // T.dtype_size(dtype) if dtype not in INT4 else offset * 2
        place = f"data={base[0]}.data, elem_offset={start}"
        self._line(f'{name} = T.decl_buffer({spelling.sequence(dims)}, "{dtype}", {place})')
        return True

    def _sizes(self, op: ir.Operation, dynamic: list[ir.Value]) -> tuple[list[str], str]:
        """Return the dimensions and the dtype of a buffer that an operation makes."""
        type_, sizes = ir.MemRefType(op.results[0].type), iter(dynamic)
        dims = [
            self.expr.value(next(sizes)) if type_.is_dynamic_dim(i) else str(type_.shape[i])
            for i in range(type_.rank)
        ]
        return dims, self.expr.dtype_of_element(type_.element_type)

    def _argument(self, value: ir.Value) -> str:
        return self.expr.buffers[value][0] if value in self.expr.buffers else self.expr.value(value)

    def _if(self, op: ir.Operation) -> None:
        self._line(f"if {self.expr.value(op.operands[0])}:")
        self._nested(op.regions[0].blocks[0])
        if len(op.regions[1].blocks):
            self._line("else:")
            self._nested(op.regions[1].blocks[0])

    def _for(self, op: ir.Operation) -> None:
        chain, mark = [op], self.namer.mark()
        while self._is_grid(chain[-1]):
            inner = self._only_loop(chain[-1])
            if inner is None or not self._is_grid(inner):
                break
            chain.append(inner)
        names, extents = [], []
        for loop in chain:
            variable = loop.regions[0].blocks[0].arguments[0]
            extents.append(self.expr.index(loop.operands[1]))
            names.append(self.namer.name(variable, location_name(variable.location) or "i"))
            if self.expr.constant(loop.operands[0]) == 0:
                self.extents[variable] = loop.operands[1]
        if len(chain) > 1:
            self._line(f"for {', '.join(names)} in T.grid({', '.join(extents)}):")
        else:
            kind = _LOOPS[ir.StringAttr(op.attributes["kind"]).value]
            thread = (
                ir.StringAttr(op.attributes["thread"]).value if "thread" in op.attributes else ""
            )
            kind = "T.thread_binding" if thread else kind
            start = self.expr.constant(op.operands[0])
            bounds = extents[0] if start == 0 else self._bounds(op)
            bounds = f"{bounds}, thread={spelling.quote(thread)}" if thread else bounds
            if "annotations" in op.attributes:
                kind = kind if kind != "range" else "T.serial"
                notes = spelling.attribute(op.attributes["annotations"])
                bounds = f"{bounds}, annotations={notes}"
            self._line(f"for {names[0]} in {kind}({bounds}):")
        self._nested(chain[-1].regions[0].blocks[0])
        self.namer.release(mark)

    def _bounds(self, op: ir.Operation) -> str:
        start, extent = op.operands
        known = [self.expr.symbolic(value) for value in (start, extent)]
        if known[0] is not None and known[1] is not None:
            return f"{known[0]}, {known[0] + known[1]}"
        first, end = self.expr.index(start), self.expr.end_of(start, extent)
        if end is not None:
            return f"{first}, {end}"
        return f"{first}, {self.expr.index(start, ATOM)} + {self.expr.index(extent, ATOM)}"

    def _is_grid(self, op: ir.Operation) -> bool:
        return (
            ir.StringAttr(op.attributes["kind"]).value == "serial"
            and "thread" not in op.attributes
            and "annotations" not in op.attributes
            and self.expr.constant(op.operands[0]) == 0
        )

    def _only_loop(self, op: ir.Operation) -> ir.Operation | None:
        """Return the loop that is all of another loop's body, None when there is more or none."""
        result = None
        for inner in op.regions[0].blocks[0].operations:
            inner = inner.operation
            if inner.name in ("arith.constant", "tir.yield", "tir.symbol"):
                continue
            if inner.name != "tir.for" or result is not None:
                return None
            result = inner
        if result is None:
            return None
        # An extent that depends on the outer variable cannot stand in one T.grid.
        variable = op.regions[0].blocks[0].arguments[0]
        return None if result.operands[1] == variable else result

    def _tir_block(self, op: ir.Operation) -> None:
        title = ir.StringAttr(op.attributes["block_name"]).value
        kinds = [ir.StringAttr(kind).value for kind in op.attributes["iter_types"]]
        count = len(kinds)
        values, extents = list(op.operands)[:count], list(op.operands)[count:]
        body = op.regions[0].blocks[0]
        self._line(f"with T.block({spelling.quote(title)}):")
        self.depth += 1
        start = len(self.lines)
        names = [
            self.namer.name(a, location_name(a.location) or f"v{i}")
            for i, a in enumerate(body.arguments)
        ]
        self._axes(names, kinds, values, extents)
        predicate = block_predicate(op)
        if predicate is not None:
            self._line(f"T.where({self.expr.conjunction(predicate)})")
        self._regions(body, names)
        if "annotations" in op.attributes:
            self._line(f"T.block_attr({spelling.attribute(op.attributes['annotations'])})")
        if len(op.regions[1].blocks):
            init = op.regions[1].blocks[0]
            for name, argument in zip(names, init.arguments, strict=True):
                self.namer.set(argument, name)
            self._line("with T.init():")
            self._nested(init)
        self._block(body)
        if len(self.lines) == start:
            self._line("T.evaluate(0)")
        self.depth -= 1

    def _regions(self, body: ir.Block, names: list[str]) -> None:
        """Print what a block was declared to touch, where the script does not imply it."""
        by_kind: dict[str, list[ir.Operation]] = {"tir.reads": [], "tir.writes": []}
        for view in body.operations:
            if view.operation.name in by_kind:
                by_kind[view.operation.name].append(view.operation)
        nested = any(v.operation.name in ("tir.for", "tir.block") for v in body.operations)
        for kind, accesses in by_kind.items():
            texts = [self._region(op, names) for op in accesses]
            regions = any("extents" in op.attributes for op in accesses)
            # What blocks inside access is not found again from the script.
            if not regions and not (nested and texts and all(texts)):
                continue
            self._line(f"T.{kind[4:]}({', '.join(text for text in texts if text)})")

    def _region(self, op: ir.Operation, names: list[str]) -> str:
        buffer = self.expr.buffers.get(op.operands[0], ("", ""))[0]
        if not isinstance(op.attributes["map"], ir.AffineMapAttr) or not buffer:
            return ""
        map_ = op.attributes["map"].value
        ones = [SymExpr.const(1)] * len(map_.results)
        extents = op.attributes["extents"].dims if "extents" in op.attributes else ones
        items = []
        for expr, extent in zip(map_.results, extents, strict=True):
            start = _over_names(expr, names)
            point = extent.value == 1
            items.append(str(start) if point else f"{start}:{start + extent}")
        return f"{buffer}[{', '.join(items) or '()'}]"

    def _axes(
        self, names: list[str], kinds: list[str], values: list[ir.Value], extents: list[ir.Value]
    ) -> None:
        plain = [
            kind in _LETTERS and value in self.extents
            and self._same(self.extents[value], extent)
            for kind, value, extent in zip(kinds, values, extents, strict=True)
        ]  # fmt: skip
        if all(plain) and len(names) > 1:
            letters = "".join(_LETTERS[kind] for kind in kinds)
            loops = ", ".join(self.expr.value(value) for value in values)
            self._line(f'{", ".join(names)} = T.axis.remap("{letters}", [{loops}])')
            return
        for name, kind, value, extent in zip(names, kinds, values, extents, strict=True):
            axis = f"T.axis.{_AXES[kind]}({self.expr.index(extent)}, {self.expr.index(value)})"
            self._line(f"{name} = {axis}")

    def _same(self, a: ir.Value, b: ir.Value) -> bool:
        if a == b:
            return True
        known: list[SymExpr | None] = [self.expr.symbolic(a), self.expr.symbolic(b)]
        return known[0] is not None and known[0] == known[1]


def _details(op: ir.Operation) -> list[ir.Attribute]:
    """Return what the function says of each parameter."""
    return list(op.attributes["arg_attrs"]) if "arg_attrs" in op.attributes else []


def _over_names(expr: ir.AffineExpr, names: Sequence[str]) -> SymExpr:
    """Return an affine expression of a block's iterators over their names."""
    known = expr.maybe_downcast()
    if isinstance(known, ir.AffineConstantExpr):
        return SymExpr.const(known.value)
    if isinstance(known, ir.AffineDimExpr):
        return SymExpr.var(list(names)[known.position])
    lhs, rhs = _over_names(known.lhs, names), _over_names(known.rhs, names)
    if isinstance(known, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(known, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(known, ir.AffineModExpr):
        return lhs % rhs
    return lhs // rhs if isinstance(known, ir.AffineFloorDivExpr) else lhs.ceildiv(rhs)


def _dims_of(attributes: Any, name: str) -> Sequence[SymExpr]:
    return attributes[name].maybe_downcast().dims if name in attributes else ()


def _notes(attributes: Any) -> str:
    """Return what a declaration says of a buffer's memory other than its shape and dtype."""
    text = ""
    for name in LAYOUT_ATTRIBUTES:
        if name not in attributes:
            continue
        value = attributes[name].maybe_downcast()
        key = name.removeprefix("tir.")
        if key == "strides":
            spelled = spelling.sequence(spelling.dims(value.dims))
        elif key == "elem_offset":
            spelled = str(value.dims[0])
        else:
            spelled = spelling.attribute(value)
        text += f", {key}={spelled}"
    return text


def _symbols(op: ir.Operation) -> list[str]:
    """Return the symbols that the shapes of buffers mention, in order of appearance."""
    names: dict[str, Any] = {}
    for raw in _details(op):
        detail = ir.DictAttr(raw)
        if "tir.shape" in detail:
            for dim in (*_dims_of(detail, "tir.shape"), *_dims_of(detail, "tir.strides")):
                names.update(dict.fromkeys(sorted(dim.symbols)))
        elif "tir.name" in detail and "tir.dtype" not in detail:
            names[identifier(ir.StringAttr(detail["tir.name"]).value)] = None
    return list(names)
