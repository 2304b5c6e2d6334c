"""Branches and loops: the variables they return, and their types."""

import ast
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.control import is_condition
from relax_mlir.dialects.relax.tuples import known_fields, make_tuple
from relax_mlir.dialects.relax.type_lattice import join
from relax_mlir.dialects.relax.well_formed import type_symbols
from relax_mlir.dialects.symbolic.atoms import signed
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script.parser import flow
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.interfaces import StmtParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.calls import match_cast, substitute

_COMPOUND = (ast.If, ast.With, ast.For, ast.While)
# Each turn becomes bindings: models have hundreds of layers, and a typing error no end.
_MAX_UNROLLED = 4096
_RANGES = ("T.serial", "R.range", "T.range")


class ControlParser:
    """Parses control flow for the statements of one function."""

    def __init__(self, statements: StmtParser) -> None:
        self._statements = statements
        self.expr, self.scope = statements.expr, statements.scope

    def condition(self, node: Node) -> ir.Value:
        """Return the value of a condition.

        Raises:
            ScriptError: it is no scalar bool.
        """
        return self._checked(self.expr.evaluate(node), node)

    def _checked(self, raw: Any, node: Node) -> ir.Value:
        value = self.expr.materialize(raw, node)
        if not is_condition(value.type):
            self.scope.fail(
                node, f"the condition must be a scalar bool, got {describe(value.type)}"
            )
        return value

    def reject_in_dataflow(self, node: Node, what: str) -> None:
        """Raise a ScriptError for control flow in a dataflow block."""
        if self.expr.in_dataflow:
            self.scope.fail(
                node,
                f"a dataflow block holds no control flow; move the {what} outside the block (what "
                "Python knows is unrolled: a range of constants, a Python sequence or condition; "
                "relax.BlockBuilder takes any Python code)",
            )

    # Branches

    def branch(self, node: Node) -> None:
        """Parse an `if`; what both branches bind, or one binds again, is bound after it.

        Raises:
            ScriptError: the branches give what cannot be one variable.
        """
        raw = self.expr.evaluate(node.test)
        if isinstance(raw, bool) and not isinstance(node.test, ast.Constant):
            # Python knows already: the other branch may not even make sense.
            self._statements.sequence(node.body if raw else node.orelse)
            return
        self.reject_in_dataflow(node, "'if'")
        condition = self._checked(raw, node.test)
        names = self._given_back(node)
        holder = ir.Operation.create(
            "relax.if", operands=[condition], regions=2, loc=self.scope.location(node)
        )
        given = [
            self._arm(holder.regions[i], body, names, node)
            for i, body in enumerate((node.body, node.orelse))
        ]
        results = self._close(node, condition, holder, given, names)
        self.scope.hide({name for _, _, bound in given for name in bound} - set(names), "branch")
        for name, value in zip(names, results, strict=True):
            self.scope.bind(name, value)
        for name in set(flow.assigned(node.body)) ^ set(flow.assigned(node.orelse)):
            if self.scope.ended.get(name) == "branch":
                self.scope.ended[name] = "one branch"

    def _given_back(self, node: ast.If) -> list[str]:
        """Return the variables that mean something after a branch, in order."""
        arms = [set(flow.assigned(body)) for body in (node.body, node.orelse)]
        order = flow.assigned([*node.orelse, *node.body])
        return [
            name
            for name in order
            if self._statements.is_read_later(name)
            and not isinstance(self.scope.values.get(name), SymExpr)
            and all(name in arm or name in self.scope.values for arm in arms)
        ]

    def _arm(
        self, region: ir.Region, body: Sequence[Node], names: Sequence[str], node: Node
    ) -> tuple[ir.Block, list[ir.Value], set[str]]:
        block = region.blocks.append()
        with self.scope.nested("branch") as bound, ir.InsertionPoint(block):
            self._statements.sequence(body)
            values = [self._value(name, body[-1] if body else node) for name in names]
        return block, values, bound

    def _value(self, name: str, node: Node) -> ir.Value:
        raw = self.scope.values.get(name, MISSING)
        if raw is MISSING:
            self.scope.undefined(node, name)
        return self.expr.materialize(raw, node, name)

    def choice(self, node: ast.IfExp, name: str | None) -> Any:
        """Parse `a if condition else b`, of which only one is computed.

        Raises:
            ScriptError: the two cannot be one value.
        """
        raw = self.expr.evaluate(node.test)
        if isinstance(raw, bool):
            return self.expr.evaluate(node.body if raw else node.orelse)
        self.reject_in_dataflow(node, "'if'")
        condition = self._checked(raw, node.test)
        holder = ir.Operation.create(
            "relax.if", operands=[condition], regions=2, loc=self.scope.location(node)
        )
        given = []
        for region, arm in zip(holder.regions, (node.body, node.orelse), strict=True):
            block = region.blocks.append()
            with self.scope.nested("branch") as bound, ir.InsertionPoint(block):
                given.append((block, [self.expr.value(arm)], bound))
        return self._close(node, condition, holder, given, [name])[0]

    def returning(self, node: ast.If, rest: Sequence[Node]) -> ir.Value:
        """Parse an `if` that returns from the function, and what follows it; the value returned.

        Raises:
            ScriptError: not every path returns.
        """
        self.reject_in_dataflow(node, "'if'")
        condition = self.condition(node.test)
        arms = [list(node.body), list(node.orelse)]
        done = [flow.always_returns(arm) for arm in arms]
        if all(done) and rest:
            self.scope.fail(rest[0], "nothing can follow 'return'")
        if not any(done):
            place = flow.find([node], (ast.Return,), (ast.If,))
            self.scope.fail(place, "a branch that returns must do so on all of its paths")
        arms = [arm if ends else [*arm, *rest] for arm, ends in zip(arms, done, strict=True)]
        if not all(arms):
            self.scope.fail(node, "a Relax function must end with 'return'")
        holder = ir.Operation.create(
            "relax.if", operands=[condition], regions=2, loc=self.scope.location(node)
        )
        given = []
        for region, arm in zip(holder.regions, arms, strict=True):
            block = region.blocks.append()
            with self.scope.nested("branch") as bound, ir.InsertionPoint(block):
                given.append((block, [self._statements.body(arm)], bound))
        return self._close(node, condition, holder, given, [None])[0]

    def _close(
        self, node: Node, condition: ir.Value, holder: ir.Operation, given: list[Any],
        names: Sequence[str | None],
    ) -> list[ir.Value]:  # fmt: skip
        """Make the operation of both arms; the values it gives."""
        known = {name: SymExpr.var(name) for name in self.scope.symbols}
        types = []
        for position, name in enumerate(names):
            left, right = (substitute(values[position].type, known) for _, values, _ in given)
            joined = join(left, right)
            if joined is None:
                arm = getattr(node, "orelse", None)
                last = arm[-1] if isinstance(arm, list) and arm else arm or node
                what = f"for '{name}'" if name else ""
                self.scope.fail(
                    last, f"the branches give {describe(left)} and {describe(right)} {what}".strip()
                )
            types.append(joined)
        loc = self.scope.location(node, names[0] if len(names) == 1 else None)
        for block, values, _ in given:
            with ir.InsertionPoint(block):
                operands = self._cast(values, types, node)
                if len(operands) > 1:
                    operands = [make_tuple(operands, self.scope.location(node))]
                ir.Operation.create("relax.yield", operands=operands, loc=self.scope.location(node))
        whole = types if len(types) < 2 else [ir.TupleType.get_tuple(types)]
        final = ir.Operation.create(
            "relax.if", operands=[condition], results=whole, regions=2, loc=loc,
            ip=ir.InsertionPoint(holder),
        )  # fmt: skip
        for region, (block, _, _) in zip(final.regions, given, strict=True):
            block.append_to(region)
        holder.erase()
        if len(types) < 2:
            return list(final.results)
        return self._fields(final.result, names, node)

    def _cast(
        self, values: Sequence[ir.Value], types: Sequence[ir.Type], node: Node
    ) -> list[ir.Value]:
        pairs = zip(values, types, strict=True)
        return [v if v.type == t else match_cast(self.expr, v, t, node, None) for v, t in pairs]

    def _fields(self, value: ir.Value, names: Sequence[str | None], node: Node) -> list[ir.Value]:
        return [self.expr.field(value, i, node, name) for i, name in enumerate(names)]

    # Loops

    def loop(self, node: Node) -> None:
        """Parse `while` or `for`; variables that the body binds again go from turn to turn.

        Raises:
            ScriptError: it cannot be a loop of the graph, or a variable changes its kind.
        """
        word = "'while'" if isinstance(node, ast.While) else "'for'"
        if isinstance(node, ast.While):
            self.reject_in_dataflow(node, "'while' loop")
        if node.orelse:
            self.scope.fail(node.orelse[0], f"{word} has no 'else' here")
        stray = flow.find(node.body, (ast.Break, ast.Continue), (ast.If, ast.With))
        if stray is not None:
            kind = "break" if isinstance(stray, ast.Break) else "continue"
            self.scope.fail(
                stray, f"'{kind}' is not part of the Relax language; put it into the condition "
                "of the loop, or what it skips under an 'if'",
            )  # fmt: skip
        stray = flow.find(node.body, (ast.Return,), _COMPOUND)
        if stray is not None:
            self.scope.fail(stray, "'return' cannot leave a loop; bind a variable and return it")
        if isinstance(node, ast.While):
            self._while(node)
        elif self._is_range(node.iter):
            self._for(node)
        else:
            self._unrolled(node, self._items(node.iter))

    def _is_range(self, node: Node) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return "range" not in self.scope.values
        return self.scope.path(node.func) in _RANGES

    def _items(self, node: Node) -> Sequence[Any]:
        """Return the fields of a tuple, or the items of a Python sequence."""
        raw = self.expr.evaluate(node)
        if isinstance(raw, ir.Value) and isinstance(raw.type, ir.TupleType):
            return [self.expr.field(raw, i, node) for i in range(raw.type.num_types)]
        if not isinstance(raw, (tuple, list, range)):
            self.scope.fail(
                node,
                "a loop goes over range(...), a Python sequence, or the fields of a tuple; "
                "relax.BlockBuilder takes any Python loop",
            )
        return raw

    def _unrolled(self, node: ast.For, items: Sequence[Any]) -> None:
        """Parse the body once for each item."""
        target = node.target
        if not isinstance(target, ast.Name):
            self.scope.fail(target, "this loop has one variable")
        if len(items) > _MAX_UNROLLED:
            self.scope.fail(
                node.iter,
                f"{len(items)} turns are too many to unroll (at most {_MAX_UNROLLED}); move the "
                "'for' loop outside the dataflow block, where a range stays a loop",
            )
        for item in items:
            self.scope.bind(target.id, item)
            with self._statements.within([*node.body], turns=True):
                self._statements.sequence(node.body)

    def _carried(self, node: Node, head: Sequence[Node]) -> tuple[list[str], list[ir.Value]]:
        """Return the variables that a loop carries, and their first values."""
        own = _variable(node)
        names = []
        for name in flow.assigned(node.body):
            first = flow.first_use(name, node.body) == flow.READ or name in flow.loaded(head)
            needed = first or self._statements.is_read_later(name)
            if needed and name in self.scope.values and name != own:
                names.append(name)
        return names, [self._value(name, node) for name in names]

    def _while(self, node: ast.While) -> None:
        names, values = self._carried(node, [node.test])
        self._settle(node, names, values, None)

    def _for(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            self.scope.fail(node.target, "this loop has one variable")
        call = node.iter
        assert isinstance(call, ast.Call), "the caller saw that it is a range"
        if not 1 <= len(call.args) <= 3 or call.keywords:
            self.scope.fail(call, f"a range takes one to three integers, got {len(call.args)}")
        raws: list[Any] = [self._integer(arg) for arg in call.args]
        raws = [0, *raws] if len(raws) == 1 else raws
        raws = [*raws, 1] if len(raws) == 2 else raws
        if raws[2] == 0:
            self.scope.fail(call, "the step of a loop cannot be 0")
        if self.expr.in_dataflow:
            if not all(isinstance(raw, int) for raw in raws):
                self.reject_in_dataflow(node, "'for' loop")
            return self._unrolled(node, range(*raws))
        bounds = [self.expr.materialize(raw, call) for raw in raws]
        names, values = self._carried(node, [])
        self._settle(node, names, values, make_tuple(bounds, self.scope.location(call)))

    def _integer(self, node: Node) -> Any:
        raw = self.expr.evaluate(node)
        if isinstance(raw, ir.Value):
            fits, what = str(raw.type) == "i64", describe(raw.type)
        else:
            fits = isinstance(raw, (SymExpr, int)) and not isinstance(raw, bool)
            what = type(raw).__name__
        if not fits:
            self.scope.fail(node, f"the bounds of a loop are integers, this is {what}")
        return raw

    def _settle(
        self, node: Node, names: list[str], values: list[ir.Value], bounds: ir.Value | None
    ) -> None:
        """Parse a loop until the types of what it carries hold for every turn."""
        known = {name: SymExpr.var(name) for name in self.scope.symbols}
        types = [substitute(value.type, known) for value in values]
        operation = "relax.while" if bounds is None else "relax.for"
        # A type can only lose its dimensions, its rank and its fields' ones.
        while True:
            ended, impure = dict(self.scope.ended), self.expr.impure
            spent = set(self.scope.spent)
            holder = ir.Operation.create(
                operation, regions=2 if bounds is None else 1, loc=self.scope.location(node)
            )
            blocks, yielded, symbols = self._turn(node, holder, names, types, bounds)
            joined = [
                self._join(node, name, before, substitute(value.type, known))
                for name, before, value in zip(names, types, yielded, strict=True)
            ]
            if joined == types:
                break
            holder.erase()
            self.scope.ended, self.expr.impure, types = ended, impure, joined
            self.scope.spent = spent
        loc = self.scope.location(node)
        with ir.InsertionPoint(blocks[-1]):
            operands = [make_tuple(self._cast(yielded, types, node), loc)]
            ir.Operation.create("relax.yield", operands=operands, loc=loc)
        with ir.InsertionPoint(holder):
            initial = make_tuple(self._cast(values, types, node), loc)
            final = ir.Operation.create(
                operation,
                operands=[initial] if bounds is None else [bounds, initial],
                results=[initial.type],
                regions=len(blocks),
                loc=loc,
            )
        for block, region in zip(blocks, final.regions, strict=True):
            block.append_to(region)
        holder.erase()
        for name, value in zip(names, self._fields(final.result, names, node), strict=True):
            self.scope.bind(name, value)
            if name in symbols:
                self.scope.carried.append((value, symbols[name]))

    def _join(self, node: Node, name: str, before: ir.Type, after: ir.Type) -> ir.Type:
        joined = join(before, after)
        dtypes = {T.tensor_dtype(t) for t in (before, after) if T.is_tensor(t)}
        if joined is None or (len(dtypes) == 2 and "" not in dtypes):
            self.scope.fail(
                node,
                f"'{name}' is {describe(before)} before this loop and {describe(after)} after a "
                "turn; what a loop carries may change its shape, but not its kind or dtype",
            )
        return joined

    def _turn(
        self,
        node: Node,
        holder: ir.Operation,
        names: list[str],
        types: list[ir.Type],
        bounds: ir.Value | None,
    ) -> tuple[list[ir.Block], list[ir.Value], dict[str, str]]:
        """Parse the regions of a loop.

        Returns:
            Their blocks, the values for the next turn, and the symbols of carried integers.
        """
        blocks: list[ir.Block] = []
        symbols: dict[str, str] = {}
        if isinstance(node, ast.While):
            block = self._region(holder.regions[0], names, types, node)
            with self.scope.nested("loop"), ir.InsertionPoint(block):
                self._bind(block, names, node, symbols, bounds)
                raw = self.expr.evaluate(node.test)
                if raw is True:
                    self.scope.fail(node.test, "this loop never ends: there is no 'break' here")
                value = self._checked(raw, node.test)
                ir.Operation.create(
                    "relax.condition", operands=[value], loc=self.scope.location(node.test)
                )
            blocks.append(block)
            region, arguments, kinds = holder.regions[1], names, types
        else:
            integer = ir.IntegerType.get_signless(64)
            region, arguments, kinds = (
                holder.regions[0],
                [node.target.id, *names],
                [integer, *types],
            )
        block = self._region(region, arguments, kinds, node)
        blocks.append(block)
        again = [*node.body, *([node.test] if isinstance(node, ast.While) else [])]
        with self.scope.nested("loop"), ir.InsertionPoint(block):
            self._bind(block, arguments, node, symbols, bounds)
            with self._statements.within(again, turns=True):
                self._statements.sequence(node.body)
            yielded = [self._value(name, node.body[-1]) for name in names]
        for each in blocks:
            _drop_unused_symbols(each)
        return blocks, yielded, symbols

    def _region(
        self, region: ir.Region, names: Sequence[str], types: Sequence[ir.Type], node: Node
    ) -> ir.Block:
        locations = [self.scope.location(node, name) for name in names]
        return region.blocks.append(*types, arg_locs=locations)

    def _bind(
        self,
        block: ir.Block,
        names: Sequence[str],
        node: Node,
        symbols: dict[str, str],
        bounds: ir.Value | None,
    ) -> None:
        own = _variable(node)
        counts_up = bounds is not None and _is_non_negative(bounds)
        for name, argument in zip(names, block.arguments, strict=True):
            self.scope.bind(name, argument)
            if str(argument.type) == "i64":
                # Both regions of a `while` call an integer the same.
                known = symbols.get(name)
                local = known is not None or name == own
                hint = known or (name if name == own and counts_up else signed(name))
                expr = self.scope.bind_symbol(argument, hint, node, local=local)
                symbols[name] = str(expr.name)


def _variable(node: Node) -> str:
    """Return the variable that counts the turns of a loop, "" where none does."""
    target = node.target if isinstance(node, ast.For) else None
    return target.id if isinstance(target, ast.Name) else ""


def _is_non_negative(bounds: ir.Value) -> bool:
    """Whether no integer of a range is negative: it starts at none and its step is not either."""
    fields = known_fields(bounds)
    assert fields is not None, "`_for` makes the tuple of the bounds"
    start, _, step = (value.owner for value in fields)
    known = [
        Dims(op.attributes["value"]).dims[0].lower_bound()
        for op in (start, step)
        if not isinstance(op, ir.Block) and op.operation.name == "relax.prim_value"
    ]
    return len(known) == 2 and all(low is not None and low >= 0 for low in known)


def _drop_unused_symbols(block: ir.Block) -> None:
    """Erase the symbols of a block's integers that nothing in it mentions."""
    used: set[str] = set()
    heads = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            used.update(type_symbols(result.type))
        for attribute in op.attributes.values():
            if isinstance(attribute, Dims):
                used.update(attribute.symbol_names)
        return ir.WalkResult.ADVANCE

    for view in block.operations:
        op = view.operation
        binds = op.name == "relax.match_prim" and isinstance(op.operands[0].owner, ir.Block)
        if binds and op.operands[0].owner == block:
            heads.append(op)
        else:
            op.walk(visit)
    for op in heads:
        if not used & set(op.attributes["value"].symbol_names):
            op.erase()
