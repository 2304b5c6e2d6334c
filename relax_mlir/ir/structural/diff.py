"""The first difference of two programs, by an iterative walk over both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.ir.structural.attributes import Parts, is_elements, parts_of, same_elements
from relax_mlir.ir.structural.mismatch import Difference, Names
from relax_mlir.ir.structural.symbols import Renaming
from relax_mlir.ir.structural.walk import (
    attributes_of,
    function_type,
    leaf_of,
    opens_scope,
    operands_of,
    parameter_attributes,
    steps,
    symbol_attributes,
)

_INTEGER = "i64"


@dataclass
class _Frame:
    """Two blocks on the way; `scope` says whether symbols bound in them end with them."""

    left: ir.Block
    right: ir.Block
    owners: tuple[ir.Operation, ir.Operation]
    scope: bool
    mine: list[ir.Operation] | None = None
    theirs: list[ir.Operation] = field(default_factory=list)
    index: int = 0


class Differ:
    """Compares operations of two programs; raises `Difference`.

    Args:
        names: the functions that may be called.
        map_free: whether values and symbols from outside only have to correspond.
        texts: the parts of types and attributes seen before, to share between functions.
    """

    def __init__(
        self,
        names: Names,
        map_free: bool = False,
        texts: dict[Any, Parts] | None = None,
    ) -> None:
        self._names = names
        self._map_free = map_free
        self._texts: dict[Any, Parts] = {} if texts is None else texts
        self._symbols = Renaming(fixed=not map_free)
        self._values: dict[ir.Value, ir.Value] = {}
        # Values from outside, seen from the second program.
        self._free: dict[ir.Value, ir.Value] = {}
        self._leaves: set[tuple[ir.Value, ir.Value]] = set()
        # Pairs of types and attributes known to be the same, in the order found.
        self._same: dict[tuple[Any, Any], None] = {}

    def compare(self, left: ir.Operation, right: ir.Operation) -> None:
        """Compare two operations with all that is in them.

        Raises:
            Difference: they differ.
        """
        if left.name == "func.func" == right.name:
            self._symbols = Renaming()
        kinds = [_kind(each) for each in (left, right)]
        if kinds[0] != kinds[1]:
            raise Difference(left, right, "kind", kinds[0], kinds[1])
        self._symbols.open()
        self._head(left, right)
        self._run(left, right)
        self._results(left, right)
        _, wrong = self._symbols.close()
        if wrong is not None:
            left, right, what = wrong.where
            raise Difference(left, right, what, wrong.left, wrong.right)

    def _run(self, left: ir.Operation, right: ir.Operation) -> None:
        stack: list[_Frame] = []
        self._push(stack, left, right)
        marks: list[int] = []
        while stack:
            frame = stack[-1]
            if frame.mine is None:
                if frame.scope:
                    self._symbols.open()
                    marks.append(len(self._same))
                self._enter(frame)
            assert frame.mine is not None
            if frame.index < min(len(frame.mine), len(frame.theirs)):
                mine, theirs = frame.mine[frame.index], frame.theirs[frame.index]
                frame.index += 1
                self._head(mine, theirs)
                if len(mine.regions):
                    self._push(stack, mine, theirs)
                continue
            if len(frame.mine) != len(frame.theirs):
                raise _one_goes_on(frame)
            stack.pop()
            if frame.scope:
                forgot, wrong = self._symbols.close()
                if wrong is not None:
                    left, right, what = wrong.where
                    raise Difference(left, right, what, wrong.left, wrong.right)
                mark = marks.pop()
                if forgot:
                    while len(self._same) > mark:
                        self._same.popitem()

    def _push(self, stack: list[_Frame], left: ir.Operation, right: ir.Operation) -> None:
        # The symbols of a function end with it, which `compare` sees to.
        scope = opens_scope(left) and left.name != "func.func"
        frames = []
        for mine, theirs in zip(left.regions, right.regions, strict=True):
            lhs, rhs = list(mine.blocks), list(theirs.blocks)
            if len(lhs) != len(rhs):
                raise Difference(left, right, "number of blocks", len(lhs), len(rhs))
            frames += [_Frame(a, b, (left, right), scope) for a, b in zip(lhs, rhs, strict=True)]
        stack += reversed(frames)

    def _enter(self, frame: _Frame) -> None:
        mine, theirs = list(frame.left.arguments), list(frame.right.arguments)
        left, right = frame.owners
        if len(mine) != len(theirs):
            raise Difference(left, right, "number of parameters", len(mine), len(theirs))
        for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            self._type(left, right, f"type of parameter {index}", a.type, b.type)
            self._values[a] = b
        if left.name == "func.func":
            self._parameters(left, right, mine)
        frame.mine, frame.theirs = steps(frame.left), steps(frame.right)

    def _head(self, left: ir.Operation, right: ir.Operation) -> None:
        """Compare two operations without their regions, and note that their results correspond."""
        if left.name != right.name:
            raise Difference(left, right, "operation", left.name, right.name)
        mine, theirs = operands_of(left), operands_of(right)
        if len(mine) != len(theirs):
            raise Difference(left, right, "number of operands", len(mine), len(theirs))
        for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if not self._corresponds(a, b) and not self._operand(left, right, a, b):
                raise Difference(left, right, f"operand {index}", a, b)
        if len(left.regions) != len(right.regions):
            raise Difference(
                left, right, "number of regions", len(left.regions), len(right.regions)
            )
        self._attributes(left, right, attributes_of(left), attributes_of(right), "attribute")
        if left.name == "func.func":
            return
        mine, theirs = list(left.results), list(right.results)
        if len(mine) != len(theirs):
            raise Difference(left, right, "number of results", len(mine), len(theirs))
        for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            what = "result type" if len(mine) == 1 else f"type of result {index}"
            self._type(left, right, what, a.type, b.type)
            self._values[a] = b

    def _corresponds(self, a: ir.Value, b: ir.Value) -> bool:
        known = self._values.get(a)
        # The bindings do not compare a value with None.
        return known is not None and known == b

    def _operand(self, left: ir.Operation, right: ir.Operation, a: ir.Value, b: ir.Value) -> bool:
        """Whether two operands are the same expression, or correspond from outside."""
        if a in self._values or (a, b) in self._leaves:
            return (a, b) in self._leaves
        mine, theirs = leaf_of(a), leaf_of(b)
        if mine is None or theirs is None:
            return mine is theirs and self._from_outside(a, b)
        if mine.name != theirs.name or len(mine.operands) != len(theirs.operands):
            return False
        for x, y in zip(operands_of(mine), operands_of(theirs), strict=True):
            if not self._corresponds(x, y) and not self._operand(left, right, x, y):
                return False
        self._attributes(left, right, attributes_of(mine), attributes_of(theirs), f"'{mine.name}'")
        if not self._same_thing((left, right, "type of operand"), a.type, b.type):
            return False
        self._leaves.add((a, b))
        return True

    def _from_outside(self, a: ir.Value, b: ir.Value) -> bool:
        if not self._map_free:
            return a == b
        if b in self._free or not self._same_thing((None, None, "type"), a.type, b.type):
            return False
        self._values[a] = b
        self._free[b] = a
        return True

    def _attributes(
        self,
        left: ir.Operation,
        right: ir.Operation,
        mine: list[tuple[str, ir.Attribute]],
        theirs: list[tuple[str, ir.Attribute]],
        what: str,
    ) -> None:
        if len(mine) != len(theirs) or any(
            a != b for (a, _), (b, _) in zip(mine, theirs, strict=True)
        ):
            names = [", ".join(name for name, _ in each) or "none" for each in (mine, theirs)]
            raise Difference(left, right, f"{what} names", names[0], names[1])
        for (name, a), (_, b) in zip(mine, theirs, strict=True):
            where = (left, right, f"{what} '{name}'")
            if isinstance(a, ir.FlatSymbolRefAttr):
                equal = isinstance(b, ir.FlatSymbolRefAttr) and self._names.match(a.value, b.value)
            else:
                equal = self._same_thing(where, a, b)
            if not equal:
                raise Difference(left, right, where[2], a, b)

    def _parameters(
        self, left: ir.Operation, right: ir.Operation, values: Sequence[ir.Value]
    ) -> None:
        """Compare the attributes of a function's parameters; an integer's name is a symbol."""
        mine, theirs = parameter_attributes(left), parameter_attributes(right)
        empty: dict[str, ir.Attribute] = {}
        for index, value in enumerate(values):
            lhs = dict(mine[index]) if index < len(mine) else dict(empty)
            rhs = dict(theirs[index]) if index < len(theirs) else dict(empty)
            a, b = lhs.pop("tir.name", None), rhs.pop("tir.name", None)
            what = f"attributes of parameter {index}"
            if (
                isinstance(a, ir.StringAttr)
                and isinstance(b, ir.StringAttr)
                and str(value.type) == _INTEGER
                and not self._symbols.match(SymExpr.var(a.value), SymExpr.var(b.value))
            ):
                raise Difference(left, right, f"symbol that parameter {index} is", a, b)
            self._attributes(left, right, sorted(lhs.items()), sorted(rhs.items()), what)

    def _results(self, left: ir.Operation, right: ir.Operation) -> None:
        self._of_symbols(left, right)
        mine, theirs = function_type(left), function_type(right)
        if mine is None or theirs is None:
            if mine is not theirs:
                raise Difference(left, right, "function type", mine, theirs)
            return
        a, b = mine.results, theirs.results
        if len(a) != len(b):
            raise Difference(left, right, "number of results", len(a), len(b))
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            what = "declared result type" if len(a) == 1 else f"declared type of result {index}"
            self._type(left, right, what, x, y)

    def _of_symbols(self, left: ir.Operation, right: ir.Operation) -> None:
        mine, theirs = symbol_attributes(left), symbol_attributes(right)
        names = self._symbols.to_right
        renamed = [
            (what, {names.get(symbol, symbol): text for symbol, text in each.items()})
            for what, each in mine
        ]
        if renamed != theirs:
            raise Difference(left, right, "bounds of symbols", dict(mine), dict(theirs))

    def _type(
        self, left: ir.Operation, right: ir.Operation, what: str, a: ir.Type, b: ir.Type
    ) -> None:
        if (a, b) not in self._same and not self._same_thing((left, right, what), a, b):
            raise Difference(left, right, what, a, b)

    def _same_thing(self, where: tuple[Any, Any, str], a: Any, b: Any) -> bool:
        """Whether two types or two attributes are the same under the renaming of symbols."""
        if (a, b) in self._same:
            return True
        if is_elements(a) or is_elements(b):
            equal = a.type == b.type if a.context == b.context else str(a.type) == str(b.type)
            if not (is_elements(a) and is_elements(b) and equal and same_elements(a, b)):
                return False
        else:
            mine, theirs = self._parts(a), self._parts(b)
            if mine.skeleton != theirs.skeleton:
                return False
            for x, y in zip(mine.dims, theirs.dims, strict=True):
                if not self._symbols.match(x, y, where):
                    return False
        self._same[a, b] = None
        return True

    def _parts(self, thing: Any) -> Parts:
        parts = self._texts.get(thing)
        if parts is None:
            parts = self._texts[thing] = parts_of(thing)
        return parts


def _one_goes_on(frame: _Frame) -> Difference:
    assert frame.mine is not None
    mine = frame.mine[frame.index] if frame.index < len(frame.mine) else None
    theirs = frame.theirs[frame.index] if frame.index < len(frame.theirs) else None
    left, right = frame.owners
    return Difference(
        mine or left, theirs or right, "the block", mine or "its end", theirs or "its end"
    )


def _kind(op: ir.Operation) -> str:
    if op.name != "func.func":
        return op.name
    return "prim func" if "tir.prim_func" in op.attributes else "function"
