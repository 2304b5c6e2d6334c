"""Printing branches, loops and nested functions, whose variables are bound again."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.tuples import field_types, known_fields
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.lowering.walk import first_below
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, own_name
from relax_mlir.script.printer.relax_expr import RelaxExprPrinter

_IMPURE = ("relax.call_packed", "relax.call", "relax.invoke_closure")


def users(value: ir.Value) -> list[ir.Operation]:
    """Return the operations that use a value, once for each use."""
    return [use.owner.operation for use in value.uses]


def end_of(block: ir.Block) -> ir.Operation:
    """Return the last operation of a block."""
    return list(block.operations)[-1].operation


def projections(op: ir.Operation) -> list[ir.Operation] | None:
    """Return what takes each field of a result right after its operation, None when more is done.

    Then the fields are variables of the script, and the tuple none.
    """
    fields = field_types(op.results[0].type)
    taken: dict[int, ir.Operation] = {}
    for user in users(op.results[0]):
        if user.name != "relax.tuple_get_item" or user.block != op.block:
            return None
        index = ir.IntegerAttr(user.attributes["index"]).value
        if index in taken:
            return None
        taken[index] = user
    return [taken[i] for i in range(len(fields))] if len(taken) == len(fields) else None


def _holds_after(value: ir.Value, block: ir.Block, wanted: Callable[[ir.Operation], bool]) -> bool:
    """Whether a wanted operation comes after that of a value in a block."""
    operations = [view.operation for view in block.operations]
    after = operations[operations.index(value.owner.operation) + 1 :]
    return any(first_below(op, wanted) is not None for op in after)


class _Function(Protocol):
    """The printer of the function around: what `RelaxPrinter` documents."""

    lines: list[str]
    depth: int
    in_dataflow: bool
    namer: Namer
    expr: RelaxExprPrinter
    forced: dict[ir.Value, str]
    skipped: set[ir.Operation]
    inlined: set[ir.Operation]

    def line(self, text: str, depth: int | None = None) -> None: ...
    def block(self, block: ir.Block) -> None: ...
    def is_inlined(self, op: ir.Operation) -> bool: ...
    def func_attrs(self, op: ir.Operation) -> None: ...


class ControlPrinter:
    """Prints what has regions, for the printer of one function."""

    def __init__(self, printer: _Function) -> None:
        self._printer = printer
        self._namer = printer.namer
        # Symbols that name a variable, and the variable.
        self._symbols: dict[str, ir.Value] = {}
        # What each loop calls the values that it carries.
        self._carried: dict[ir.Operation, list[str]] = {}
        # Branches whose results are several variables.
        self.unpacked: set[ir.Operation] = set()

    # Branches

    def branch(self, op: ir.Operation, word: str = "if") -> None:
        """Print an `if`; what it gives back are variables that both branches bind."""
        p = self._printer
        names: list[str] = []
        fields = None
        if len(op.results):
            many = isinstance(op.results[0].type, ir.TupleType)
            fields = self._several(op) if many else None
            if fields is None:
                names = [
                    self.forced_name(op.results[0]) or self._fresh(op.results[0], own_name(op))
                ]
                self._namer.set(op.results[0], names[0])
            else:
                self.unpacked.add(op)
                for each in fields:
                    forced = self.forced_name(each.results[0])
                    names.append(forced or self._fresh(each.results[0], own_name(each)))
        for index, head in enumerate((f"{word} {p.expr.value(op.operands[0])}:", "else:")):
            block = op.regions[index].blocks[0]
            yielded = list(end_of(block).operands)
            values = yielded
            if fields is not None:
                values = known_fields(yielded[0]) or []
            inner = self._only_branch(block, values) if index else None
            if inner is not None:
                self._force([inner.results[0]] if len(inner.results) else [], names)
                self.branch(inner, "elif")
                continue
            p.line(head)
            p.depth += 1
            before = len(p.lines)
            self._arm(block, values, names)
            if len(p.lines) == before:
                p.line("pass")
            p.depth -= 1
        if fields is not None:
            for each, name in zip(fields, names, strict=True):
                p.skipped.add(each)
                self._namer.set(each.results[0], name)

    def _fresh(self, value: ir.Value, hint: str) -> str:
        return self._namer.fresh(hint or "gv")

    def _several(self, op: ir.Operation) -> list[ir.Operation] | None:
        """Return the projections of a result that both branches make of several values."""
        fields = projections(op)
        ends = [end_of(region.blocks[0]) for region in op.regions]
        if fields is None or len(fields) < 2:
            return None
        if any(known_fields(end.operands[0]) is None for end in ends):
            return None
        return fields

    def _only_branch(self, block: ir.Block, values: Sequence[ir.Value]) -> ir.Operation | None:
        """Return the `if` that is all there is of an `else`, so that it is an `elif`."""
        *before, inner, _ = [None, *(view.operation for view in block.operations)]
        if inner is None or inner.name != "relax.if":
            return None
        if not all(self._printer.is_inlined(op) for op in before[1:]):
            return None
        simple = [*inner.results] == [*values] and len(values) < 2
        return inner if simple else None

    def _force(self, values: Sequence[ir.Value], names: Sequence[str]) -> None:
        for value, name in zip(values, names, strict=False):
            self._printer.forced.setdefault(value, name)

    def _arm(self, block: ir.Block, values: Sequence[ir.Value], names: Sequence[str]) -> None:
        late = False
        for value, name in zip(values, names, strict=True):
            if not self._is_local(value, block) or list(values).count(value) > 1:
                late = True
                continue
            if late and self._printer.is_inlined(value.owner.operation):
                # It follows what is bound at the end, in the order of the variables.
                continue
            if not self._is_read_after(name, value, block):
                self._printer.forced.setdefault(value, name)
        self._printer.block(block)
        self._rebind(block, values, names, typed=True)

    def _is_local(self, value: ir.Value, block: ir.Block) -> bool:
        """Whether a value is a binding of a block that may get a name of our choice."""
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != block:
            return False
        op = value.owner.operation
        return op.name not in ("relax.dataflow", "relax.lambda", *LOOPS)

    def forced_name(self, value: ir.Value) -> str | None:
        """Return what a value must be called, None where another of that name is read later."""
        name = self._printer.forced.get(value)
        if name is None or self._is_read_after(name, value, value.owner.operation.block):
            return None
        return name

    def _is_read_after(self, name: str, value: ir.Value, block: ir.Block) -> bool:
        """Whether what has a name now is read after the operation of a value that could get it."""

        def reads(op: ir.Operation) -> bool:
            return any(v != value and self._namer.get(v) == name for v in op.operands)

        return _holds_after(value, block, reads)

    def _rebind(
        self, block: ir.Block, values: Sequence[ir.Value], names: Sequence[str], typed: bool = False
    ) -> None:
        """Print the bindings at the end of a block, numbers with their dtypes if `typed`.

        Its last ones may be these, in that order.
        """
        p = self._printer
        positions = {view.operation: i for i, view in enumerate(block.operations)}
        floor, pending, notes = -1, [], {}
        for value, name in zip(values, names, strict=True):
            text = p.expr.value(value)
            owner = value.owner
            place = -1 if isinstance(owner, ir.Block) else positions.get(owner.operation, -1)
            if text == name and place > floor and not pending:
                floor = place
            else:
                pending.append((name, text))
                if typed and T.is_scalar(value.type):
                    notes[name] = f": {spelling.type_text(value.type)}"
        targets = [name for name, _ in pending]
        clash = any(
            set(re.findall(r"\w+", text)) & set(targets[:i]) for i, (_, text) in enumerate(pending)
        )
        if clash:
            p.line(f"{', '.join(targets)} = {', '.join(text for _, text in pending)}")
        else:
            for name, text in pending:
                p.line(f"{name}{notes.get(name, '')} = {text}")

    # Loops

    def loop(self, op: ir.Operation) -> None:
        """Print a loop; what it carries are variables bound before it and again in it."""
        p = self._printer
        initial = op.operands[len(op.operands) - 1]
        starts = known_fields(initial)
        body = op.regions[len(op.regions) - 1].blocks[0]
        counted = op.name == "relax.for"
        arguments = list(body.arguments)[1 if counted else 0 :]
        names = self.carried_names(op)
        if starts is None:
            whole = p.expr.value(initial)
            starts_text = [f"{whole}[{i}]" for i in range(len(names))]
        else:
            starts_text = [p.expr.value(value) for value in starts]
        for name, text in zip(names, starts_text, strict=True):
            if name != text:
                p.line(f"{name} = {text}")
        mark = self._namer.mark()
        if counted:
            variable = self._loop_variable(body.arguments[0])
            head = f"for {variable} in range({self._range(op.operands[0])}):"
        else:
            condition = op.regions[0].blocks[0]
            self._enter(condition, list(condition.arguments), names)
            head = f"while {self._condition(condition)}:"
        p.line(head)
        p.depth += 1
        before = len(p.lines)
        self._enter(body, arguments, names)
        (end,) = end_of(body).operands
        fields = known_fields(end)
        if fields is not None:
            self._force_iteration(body, arguments, fields, names)
            for value in fields:
                # `i = i + 1` at the end of the turn.
                alone = value not in p.forced and self._is_binding(value, body)
                alone = alone and len(users(value)) == 1
                if alone and value.owner.operation.name == "relax.prim_value":
                    p.inlined.add(value.owner.operation)
        p.block(body)
        if fields is not None:
            self._rebind(body, fields, names)
        else:
            whole = p.expr.value(end)
            p.line(f"{', '.join(names)}, = {whole}" if len(names) == 1 else
                   f"{', '.join(names)} = {whole}")  # fmt: skip
        if len(p.lines) == before:
            p.line("pass")
        p.depth -= 1
        self._namer.release(mark)
        self._results(op, names)

    def carried_names(self, op: ir.Operation) -> list[str]:
        """Return what a loop calls the values it carries, chosen when that is first asked for."""
        if op in self._carried:
            return self._carried[op]
        starts = known_fields(op.operands[len(op.operands) - 1]) or []
        body = op.regions[len(op.regions) - 1].blocks[0]
        arguments = list(body.arguments)[1 if op.name == "relax.for" else 0 :]
        names = []
        for position, argument in enumerate(arguments):
            start = starts[position] if position < len(starts) else None
            names.append(self._carried_name(op, argument, start, names))
        self._carried[op] = names
        return names

    def _carried_name(
        self, op: ir.Operation, argument: ir.Value, start: ir.Value | None, others: list[str]
    ) -> str:
        p = self._printer
        alone = start is not None and len(users(start)) == 1
        known = None
        if start is not None and alone:
            known = p.forced.get(start) or self._namer.get(start) or self._result_name(start)
            known = known if known is not None and known.isidentifier() else None
        symbol = self._symbol(op, argument)
        if known in self._symbols and known != symbol:
            # Where the symbol is written, the name would mean the loop's variable.
            known = None
        if symbol and (symbol not in self._symbols or symbol == known):
            self._symbols[symbol] = argument
            name = symbol
        elif known is not None and known not in others:
            return known
        else:
            name = self._namer.fresh(location_name(argument.location) or "v")
        if start is not None and alone and self._is_binding(start, op.block):
            p.forced.setdefault(start, name)
        return name

    def _result_name(self, value: ir.Value) -> str | None:
        """Return the variable that a result of a loop is, whose printing may be to come."""
        field = value.owner
        if isinstance(field, ir.Block) or field.operation.name != "relax.tuple_get_item":
            return None
        loop = field.operation.operands[0].owner
        if isinstance(loop, ir.Block) or loop.operation.name not in LOOPS:
            return None
        index = ir.IntegerAttr(field.operation.attributes["index"]).value
        return self.carried_names(loop.operation)[index]

    def _is_binding(self, value: ir.Value, block: ir.Block) -> bool:
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != block:
            return False
        return value.owner.operation.name not in ("relax.dataflow", *LOOPS)

    def _symbol(self, op: ir.Operation, argument: ir.Value) -> str:
        """Return the symbol that a loop gives a carried integer in its body or its condition."""
        if str(argument.type) != "i64":
            return ""
        position = argument.arg_number - (1 if op.name == "relax.for" else 0)
        for region in reversed(list(op.regions)):
            arguments = list(region.blocks[0].arguments)
            same = arguments[position + len(arguments) - len(field_types(op.results[0].type))]
            for user in users(same):
                if user.name == "relax.match_prim" and user.block == region.blocks[0]:
                    return user.attributes["value"].maybe_downcast().dims[0].name or ""
        return ""

    def name_integers(self, block: ir.Block) -> None:
        """Let integers that get a symbol in a block be variables of that name."""
        for view in block.operations:
            op = view.operation
            if op.name == "relax.dataflow":
                # What it binds stays bound.
                self.name_integers(op.regions[0].blocks[0])
            if op.name != "relax.match_prim":
                continue
            value = op.operands[0]
            symbol = op.attributes["value"].maybe_downcast().dims[0].name
            owner = value.owner
            if not isinstance(owner, ir.Block) and owner.operation.name == "relax.tuple_get_item":
                whole = owner.operation.operands[0].owner
                if not isinstance(whole, ir.Block) and whole.operation.name in LOOPS:
                    # It has the name of the loop's variable.
                    continue
            if not symbol or self._symbols.setdefault(symbol, value) != value:
                continue
            if self._namer.get(value) is None:
                if isinstance(value.owner, ir.Block):
                    self._namer.set(value, symbol)
                else:
                    self._printer.forced.setdefault(value, symbol)

    def record_parameter(self, argument: ir.Value, symbol: str) -> None:
        """Remember that a parameter is called like the symbol that it gives its value."""
        self._symbols[symbol] = argument

    def is_implied(self, op: ir.Operation) -> bool:
        """Whether a variable has the name of the symbol that it gets, as it has by itself."""
        symbol = op.attributes["value"].maybe_downcast().dims[0].name
        return self._namer.get(op.operands[0]) == symbol

    def _loop_variable(self, argument: ir.Value) -> str:
        for user in users(argument):
            if user.name == "relax.match_prim" and user.block == argument.owner:
                symbol = user.attributes["value"].maybe_downcast().dims[0].name
                if symbol and symbol not in self._symbols:
                    self._namer.set(argument, symbol)
                    self._printer.skipped.add(user)
                    return symbol
        return self._namer.name(argument, location_name(argument.location) or "i")

    def _enter(self, block: ir.Block, arguments: Sequence[ir.Value], names: Sequence[str]) -> None:
        for argument, name in zip(arguments, names, strict=True):
            self._namer.set(argument, name)
            for user in users(argument):
                if user.name == "relax.match_prim" and user.block == block:
                    dims = user.attributes["value"].maybe_downcast().dims
                    if dims[0].name == name:
                        self._printer.skipped.add(user)

    def _range(self, bounds: ir.Value) -> str:
        p = self._printer
        fields = known_fields(bounds)
        whole = [f"{p.expr.value(bounds)}[{i}]" for i in range(3)] if fields is None else []
        texts = [p.expr.integer(value) for value in fields or ()] or whole
        start, stop, step = texts
        if step != "1":
            return ", ".join(texts)
        return stop if start == "0" else f"{start}, {stop}"

    def _condition(self, block: ir.Block) -> str:
        """Return the condition of a `while` as one expression."""
        p = self._printer
        for view in list(block.operations)[:-1]:
            op = view.operation
            once = len(op.results) == 1 and len(users(op.results[0])) == 1
            if len(op.regions) or (op.name in _IMPURE and not once):
                # Python has no statements before the condition of a loop.
                p.line(f"{spelling.UNSPOKEN}{op.get_asm(assume_verified=True).splitlines()[0]}")
            if op.name == "relax.match_prim":
                p.skipped.add(op)
            else:
                p.inlined.add(op)
        return p.expr.value(end_of(block).operands[0])

    def _force_iteration(
        self, body: ir.Block, arguments: Sequence[ir.Value], values: Sequence[ir.Value],
        names: Sequence[str],
    ) -> None:  # fmt: skip
        """Name values of the body as what they are for the next turn, where the last is not read.

        Only bindings in the order of the variables are, as their order is that of the script.
        """
        positions = {view.operation: i for i, view in enumerate(body.operations)}
        floor = -1
        for argument, value, name in zip(arguments, values, names, strict=True):
            if not self._is_local(value, body) or list(values).count(value) > 1:
                return
            place = positions[value.owner.operation]
            last = max([positions[self._at_home(u, body)] for u in users(argument)], default=-1)
            if place <= floor or last > place:
                return
            if str(argument.type) == "i64" and self._is_mentioned(name, value, body):
                return
            self._printer.forced.setdefault(value, name)
            floor = place

    def _is_mentioned(self, symbol: str, value: ir.Value, body: ir.Block) -> bool:
        """Whether what follows an operation in a body, or may, has a symbol in an expression."""
        if value.owner.operation.name != "relax.prim_value":
            return True

        def mentions(op: ir.Operation) -> bool:
            dims = [dim for result in op.results for dim in type_dims(result.type)]
            for attribute in op.attributes.values():
                if isinstance(attribute, Dims):
                    dims += attribute.dims
            return any(symbol in dim.symbols for dim in dims)

        return _holds_after(value, body, mentions)

    def _at_home(self, op: ir.Operation, block: ir.Block) -> ir.Operation:
        while op.block != block:
            op = op.parent.operation
        return op

    def _results(self, op: ir.Operation, names: Sequence[str]) -> None:
        """Let the fields of a loop's result be its variables."""
        for user in users(op.results[0]):
            if user.name == "relax.tuple_get_item" and user.block == op.block:
                index: int = ir.IntegerAttr(user.attributes["index"]).value
                self._printer.skipped.add(user)
                self._namer.set(user.results[0], names[index])
        self._namer.set(op.results[0], spelling.sequence(names))

    def function(self, op: ir.Operation) -> None:
        """Print a function that is defined inside another."""
        p = self._printer
        block = op.regions[0].blocks[0]
        name = self.forced_name(op.results[0]) or self._namer.fresh(own_name(op) or "inner")
        self._namer.set(op.results[0], name)
        arguments = list(block.arguments)
        if "recursive" in op.attributes:
            self._namer.set(arguments.pop(0), name)
        mark = self._namer.mark()
        self.name_integers(block)
        params = []
        for index, argument in enumerate(arguments):
            hint = location_name(argument.location) or f"arg{index}"
            text = spelling.type_text(argument.type, quoted=True)
            known = self._namer.get(argument) or self._namer.name(argument, hint)
            params.append(f"{known}: {text}")
        value = end_of(block).operands[0]
        p.line("@R.function")
        result = spelling.type_text(value.type, quoted=True)
        p.line(f"def {name}({', '.join(params)}) -> {result}:")
        p.depth += 1
        p.func_attrs(op)
        in_dataflow, p.in_dataflow = p.in_dataflow, False
        p.block(block)
        p.line(f"return {p.expr.value(value)}")
        p.in_dataflow = in_dataflow
        p.depth -= 1
        self._namer.release(mark)
