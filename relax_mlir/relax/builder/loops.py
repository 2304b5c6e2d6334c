"""Loops under construction: `with bb.while_([x, 0]) as loop:`, `with bb.for_(n, [x]) as loop:`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.ops.control import is_condition
from relax_mlir.dialects.symbolic.atoms import signed
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.relax.builder.frames import Frame, bind_symbols
from relax_mlir.relax.expr.leaves import Var, make_var
from relax_mlir.relax.expr.types import as_type
from relax_mlir.relax.expr.values import PrimValue


class Region:
    """One region of a loop: a `with` block that gives its variables and must yield."""

    def __init__(self, scope: "LoopScope", index: int) -> None:
        self._scope, self._index = scope, index

    def __enter__(self) -> list[Any]:
        return self._scope._open(self._index)

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._scope._close(failed=kind is not None)


class LoopScope:
    """A loop under construction.

    ```python
    with bb.while_([x, 0]) as loop:
        with loop.cond() as (x, i):
            loop.yield_(i < 10)
        with loop.body() as (x, i):
            loop.yield_(x * 2, i + 1)
    x, i = loop.results

    with bb.for_((0, n), [x]) as loop:
        with loop.body() as (i, x):
            loop.yield_(x + 1)
    (x,) = loop.results
    ```

    What is carried keeps its type: that of the first value, or one of `types`. Integers are
    symbolic in each turn, so that shapes and indices can be made of them.
    """

    def __init__(
        self, builder: Any, op: str, bounds: Sequence[Any], initial: Any, types: Any
    ) -> None:
        builder._require_effects("a loop")
        self._builder, self._op = builder, op
        self._place = builder._places.here()
        given = list(initial) if isinstance(initial, (list, tuple)) else [initial]
        values = [self._carried(value) for value in given]
        if types is not None:
            values = [
                builder.match_cast(value, as_type(type_)).mlir_value
                for value, type_ in zip(map(self._variable, values), types, strict=True)
            ]
        names = builder._frame().names
        # Both regions call what is carried the same: each is a scope of its own.
        self._hints = [_name(value) for value in given]
        self._names = [names.fresh(hint) for hint in self._hints]
        if op == "relax.for":
            self._names.insert(0, names.fresh("i"))
        # A range that starts at no negative integer and goes up has none.
        ends = [PrimValue(bound).value.lower_bound() for bound in (*bounds[:1], *bounds[2:])]
        self._counts_up = bool(ends) and all(low is not None and low >= 0 for low in ends)
        self._types = [value.type for value in values]
        operands = [builder._materializer.part_tuple(values, self._place)]
        if bounds:
            integers = [builder.materialize(PrimValue(bound)) for bound in bounds]
            operands.insert(0, builder._materializer.part_tuple(integers, self._place))
        self._operands = operands
        regions = 1 if op == "relax.for" else 2
        self._holder = ir.Operation.create(op, regions=regions, loc=self._place, ip=False)
        builder._begin(self._holder)
        self._blocks = [region.blocks.append() for region in self._holder.regions]
        self._done = [False] * regions
        self._current: int | None = None
        self._frame: Frame | None = None
        self._results: list[Any] | None = None

    def _carried(self, value: Any) -> ir.Value:
        if isinstance(value, (int, SymExpr)) and not isinstance(value, bool):
            value = PrimValue(value)
        return self._builder.materialize(value)

    def _variable(self, value: ir.Value) -> Var:
        return make_var(value, "", self._builder._keep, self._builder._frame(), False)

    def __enter__(self) -> "LoopScope":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._results is None:
                self._builder._detach_dead_op(self._holder)
            else:
                self._builder._end(self._holder)

    def cond(self) -> Region:
        """Return the region that says whether there is another turn; only `while_` has it.

        Raises:
            BuilderError: this is no `while_`.
        """
        if self._op != "relax.while":
            raise BuilderError("a 'for_' has no condition")
        return Region(self, 0)

    def body(self) -> Region:
        """Return the region that is repeated."""
        return Region(self, len(self._blocks) - 1)

    def yield_(self, *values: Any) -> None:
        """Give the condition, or what the next turn gets.

        Raises:
            BuilderError: no region is open, it has given its values, or there are too many or few.
            ExprError: a value is not of the type that is carried.
            ExprTypeError: the condition is no scalar bool.
        """
        builder, index = self._builder, self._current
        if index is None:
            raise BuilderError("yield_ belongs in 'with loop.cond():' or 'with loop.body():'")
        if self._done[index]:
            raise BuilderError("a region of a loop yields once")
        made = [self._carried(value) for value in values]
        ip = builder._frame().ip
        if index == 0 and self._op == "relax.while":
            if len(made) != 1 or not is_condition(made[0].type):
                raise ExprTypeError(
                    "the condition must be one scalar bool, got "
                    f"({', '.join(describe(value.type) for value in made)})"
                )
            ir.Operation.create("relax.condition", operands=made, loc=self._place, ip=ip)
        else:
            if len(made) != len(self._types):
                raise BuilderError(
                    f"the loop carries {len(self._types)} values, yield_ got {len(made)}"
                )
            pairs = zip(made, self._types, strict=True)
            fields = [self._cast(value, type_) for value, type_ in pairs]
            operand = builder._materializer.part_tuple(fields, self._place)
            ir.Operation.create("relax.yield", operands=[operand], loc=self._place, ip=ip)
        self._done[index] = True

    def _cast(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        if value.type == type_:
            return value
        if not compatible(type_, value.type):
            raise ExprError(
                f"the loop carries {describe(type_)}, yield_ got {describe(value.type)}; say what "
                "it carries by types="
            )
        create = self._builder._materializer.create
        return create("relax.match_cast", [value], type_, self._place).result

    @property
    def results(self) -> list[Any]:
        """The values after the last turn.

        Raises:
            BuilderError: the loop has not ended.
        """
        if self._results is None:
            raise BuilderError("the loop has not ended; use its results after the with block")
        return self._results

    def _open(self, index: int) -> list[Any]:
        if self._current is not None or self._done[index]:
            raise BuilderError("this region of the loop has been built, or another one is open")
        builder, block = self._builder, self._blocks[index]
        outer, ip = builder._frame(), ir.InsertionPoint(block)
        frame = Frame(builder, "branch", [block], ip, outer.names, self._holder)
        frame.symbols = None if outer.symbols is None else set(outer.symbols)
        builder._push(frame)
        self._current, self._frame = index, frame
        with builder.unknown:
            integer = ir.IntegerType.get_signless(64)
        types = list(self._types)
        if self._op == "relax.for":
            types.insert(0, integer)
        result: list[Any] = []
        for type_, name in zip(types, self._names, strict=True):
            loc = builder._places.named(name, self._place)
            value = block.add_argument(type_, loc)
            if type_ == integer:
                own = self._op == "relax.for" and not result
                result.append(
                    self._symbol(value, name if own and self._counts_up else signed(name))
                )
            else:
                result.append(make_var(value, name, builder._keep, frame, False))
        return result

    def _symbol(self, value: ir.Value, name: str) -> PrimValue:
        """Give an integer of a turn a symbol of its own."""
        builder, symbol = self._builder, SymExpr.var(name)
        with builder.unknown:
            attribute = Dims.of([symbol])
        builder._materializer.create(
            "relax.match_prim", [value], None, self._place, value=attribute
        )
        bind_symbols(builder._frame(), [], [symbol])
        return PrimValue(symbol)

    def _close(self, failed: bool) -> None:
        index, self._current = self._current, None
        assert self._frame is not None, "a region is open"
        self._builder._close(self._frame)
        if not failed and index is not None and not self._done[index]:
            raise BuilderError("a region of a loop must yield: call yield_ before it ends")

    def _finish(self) -> None:
        if not all(self._done):
            raise BuilderError("a loop needs its body, and a 'while_' its condition")
        builder = self._builder
        names = builder._frame().names
        loc = builder._places.named(names.fresh("gv"), self._place)
        with builder.unknown:
            result = ir.TupleType.get_tuple(self._types)
            integer = ir.IntegerType.get_signless(64)
        final = builder._materializer.create_with_regions(
            self._op, self._operands, result, loc, len(self._blocks)
        )
        for region, block in zip(final.regions, self._blocks, strict=True):
            block.append_to(region)
        results: list[Any] = []
        for index, hint in enumerate(self._hints):
            name = names.fresh(hint)
            loc = builder._places.named(name, self._place)
            field = builder._field(final.results[0], index, loc)
            if field.type == integer:
                results.append(self._symbol(field, name))
            else:
                results.append(make_var(field, name, builder._keep, builder._frame(), False))
        self._results = results


def _name(value: Any) -> str:
    name = value.name_hint if isinstance(value, Var) else ""
    return name.rstrip("_0123456789") or "v"
