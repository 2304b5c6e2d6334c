"""Branches under construction: `with bb.if_(condition) as branch:` and its two regions."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.control import is_condition
from relax_mlir.dialects.relax.type_lattice import join
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.relax.builder.frames import Frame
from relax_mlir.relax.expr.leaves import Var, make_var
from relax_mlir.relax.expr.values import Tuple


class Branch:
    """One region of an `if`: a `with` block that must yield what the other one yields."""

    def __init__(self, scope: "IfScope", index: int) -> None:
        self._scope, self._index = scope, index

    def __enter__(self) -> "Branch":
        self._scope._open(self._index)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._scope._close(failed=kind is not None)


class IfScope:
    """An `if` under construction.

    ```python
    with bb.if_(condition) as branch:
        with branch.then_():
            branch.yield_(x + 1)
        with branch.else_():
            branch.yield_(x)
    y = branch.result
    ```
    """

    def __init__(self, builder: Any, condition: ir.Value, loc: ir.Location, hint: str = "") -> None:
        if not is_condition(condition.type):
            raise ExprTypeError(
                f"the condition must be a scalar bool, got {describe(condition.type)}"
            )
        builder._require_effects("an if")
        self._builder, self._condition, self._loc, self._hint = builder, condition, loc, hint
        self._holder = ir.Operation.create("relax.if", regions=2, loc=loc, ip=False)
        builder._begin(self._holder)
        self._blocks = [region.blocks.append() for region in self._holder.regions]
        self._values: list[ir.Value | None] = [None, None]
        self._current: int | None = None
        self._frame: Frame | None = None
        self._value: ir.Value | None = None
        self._name = ""

    def __enter__(self) -> "IfScope":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._value is None:
                self._builder._detach_dead_op(self._holder)
            else:
                self._builder._end(self._holder)

    def then_(self) -> Branch:
        """Return the region for when the condition holds."""
        return Branch(self, 0)

    def else_(self) -> Branch:
        """Return the region for when it does not."""
        return Branch(self, 1)

    def yield_(self, *values: Any) -> None:
        """Say what the open branch gives; several values are a tuple.

        Raises:
            BuilderError: no branch is open, or it has given its value.
        """
        if self._current is None:
            raise BuilderError("yield_ belongs in 'with branch.then_():' or 'with branch.else_():'")
        if self._values[self._current] is not None:
            raise BuilderError("a branch yields once")
        value = values[0] if len(values) == 1 else Tuple(values)
        self._values[self._current] = self._builder.materialize(value)

    @property
    def value(self) -> ir.Value:
        """The MLIR value of the finished `if`.

        Raises:
            BuilderError: it is not finished.
        """
        if self._value is None:
            raise BuilderError("the 'if' has not ended; use its result after the with block")
        return self._value

    @property
    def result(self) -> Var:
        """The variable that the branches give a value."""
        builder = self._builder
        return make_var(self.value, self._name, builder._keep, builder._frame(), False)

    def _open(self, index: int) -> None:
        if self._current is not None or self._value is not None:
            raise BuilderError("a branch is open already")
        builder, block = self._builder, self._blocks[index]
        ip = ir.InsertionPoint(block)
        outer = builder._frame()
        self._frame = Frame(builder, "branch", [block], ip, outer.names, self._holder)
        self._frame.symbols = None if outer.symbols is None else set(outer.symbols)
        builder._push(self._frame)
        self._current = index

    def _close(self, failed: bool) -> None:
        index, self._current = self._current, None
        assert self._frame is not None, "a branch is open"
        self._builder._close(self._frame)
        if not failed and index is not None and self._values[index] is None:
            raise BuilderError("a branch must yield a value: call yield_ before it ends")

    def _finish(self) -> None:
        values = [value for value in self._values if value is not None]
        if len(values) != 2:
            raise BuilderError("an 'if' needs both branches: then_ and else_, each with its yield_")
        builder = self._builder
        with builder.unknown:
            result = _joined(values[0].type, values[1].type)
        for block, value in zip(self._blocks, values, strict=True):
            ip = ir.InsertionPoint(block)
            if value.type != result:
                value = ir.Operation.create(
                    "relax.match_cast", results=[result], operands=[value], loc=self._loc, ip=ip
                ).result
            ir.Operation.create("relax.yield", operands=[value], loc=self._loc, ip=ip)
        loc = self._loc
        if not isinstance(loc, ir.NameLoc):
            self._name = builder._frame().names.fresh(self._hint or "gv")
            loc = builder._places.named(self._name, loc)
        final = ir.Operation.create(
            "relax.if", results=[result], operands=[self._condition], regions=2, loc=loc,
            ip=builder._frame().ip,
        )  # fmt: skip
        for region, block in zip(final.regions, self._blocks, strict=True):
            block.append_to(region)
        self._value = final.results[0]


def _joined(left: ir.Type, right: ir.Type) -> ir.Type:
    """Return what both branches give; symbols that one binds mean nothing after it."""
    from relax_mlir.script.relax_parser.calls import substitute

    common = {
        dim_name for type_ in (left, right) for d in type_dims(type_) for dim_name in d.symbols
    }
    known = {name: SymExpr.var(name) for name in common}
    joined = join(substitute(left, known), substitute(right, known))
    if joined is None:
        raise ExprError(f"the branches give {describe(left)} and {describe(right)}")
    return joined
