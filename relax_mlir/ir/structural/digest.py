"""Structural hash: equal for structurally equal programs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.ir.structural.attributes import Parts, digest_elements, is_elements, parts_of
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

# Symbols are numbers in the hash of an expression: equal expressions have equal values. Odd
# constants make others unlikely to.
_FACTOR, _MODULUS = 0x9E3779B97F4A7C15, 2**41 - 21
_UNBOUND = 1_000_003


class _Numbering:
    """Gives symbols numbers in the order in which they first stand alone."""

    def __init__(self, fixed: bool) -> None:
        self.fixed = fixed
        self._numbers: dict[str, int] = {}
        self._order: list[str] = []
        self._marks: list[tuple[int, int]] = []
        self._postponed: list[SymExpr] = []
        self._next = 0

    def token(self, expr: SymExpr) -> str | None:
        """Return what an expression is, None when its symbols are not all known yet."""
        if self.fixed or expr.is_const:
            return str(expr)
        name = expr.name
        if name is not None:
            if name not in self._numbers:
                self._numbers[name] = self._next
                self._next += 1
                self._order.append(name)
            return f"%{self._numbers[name]}"
        if expr.symbols <= self._numbers.keys():
            return self._value(expr)
        self._postponed.append(expr)
        return None

    def known(self, name: str) -> str:
        """Return what a symbol is without taking note of it."""
        return f"%{self._numbers[name]}" if name in self._numbers else name

    def open(self) -> None:
        """Begin a scope."""
        self._marks.append((len(self._order), len(self._postponed)))

    def close(self) -> tuple[bool, list[str]]:
        """End a scope; return whether symbols were forgotten, and what had to wait until now."""
        count, first = self._marks.pop()
        tokens = sorted({self._value(expr) for expr in self._postponed[first:]})
        del self._postponed[first:]
        forgotten = self._order[count:]
        del self._order[count:]
        for name in forgotten:
            del self._numbers[name]
        return bool(forgotten), tokens

    def _value(self, expr: SymExpr) -> str:
        values = {
            name: 3 + (self._numbers[name] + 2) * _FACTOR % _MODULUS
            if name in self._numbers
            else _UNBOUND
            for name in expr.symbols
        }
        try:
            return f"={expr.evaluate(values)}"
        except ZeroDivisionError:
            return "=?"


@dataclass
class _Frame:
    block: ir.Block
    owner: ir.Operation
    scope: bool
    todo: list[ir.Operation] | None = None
    index: int = 0


class Digester:
    """Hashes operations.

    Args:
        callee: what the name of a function that is called counts as.
        map_free: whether values and symbols from outside only have to correspond.
        texts: the parts of types and attributes seen before, to share between functions.
    """

    def __init__(
        self,
        callee: Callable[[str], str],
        map_free: bool = False,
        texts: dict[Any, Parts] | None = None,
    ) -> None:
        self._callee = callee
        self._map_free = map_free
        self._texts: dict[Any, Parts] = {} if texts is None else texts
        self._symbols = _Numbering(fixed=not map_free)
        self._values: dict[ir.Value, int] = {}
        self._known: dict[Any, str] = {}
        self._complete = True
        self._hash = hashlib.blake2b(digest_size=16)

    def digest(self, op: ir.Operation) -> bytes:
        """Return the hash of an operation with all that is in it."""
        if op.name == "func.func":
            self._symbols = _Numbering(fixed=False)
        self._symbols.open()
        self._head(op)
        self._run(op)
        type_ = function_type(op)
        if type_ is not None:
            self._add(*map(self._thing, type_.results))
            for name, each in symbol_attributes(op):
                known = [(self._symbols.known(symbol), text) for symbol, text in each.items()]
                self._add(name, *(f"{number} {text}" for number, text in sorted(known)))
        _, tokens = self._symbols.close()
        self._add(*tokens)
        return self._hash.digest()

    def describe(self, thing: Any) -> str:
        """Return what a type, an attribute or what stands for one in `texts` says."""
        self._symbols.open()
        text = self._thing(thing)
        return " ".join([text, *self._symbols.close()[1]])

    def _add(self, *tokens: str) -> None:
        self._hash.update(("\0".join(tokens) + "\1").encode())

    def _run(self, op: ir.Operation) -> None:
        stack: list[_Frame] = []
        self._push(stack, op)
        while stack:
            frame = stack[-1]
            if frame.todo is None:
                if frame.scope:
                    self._symbols.open()
                frame.todo = self._enter(frame)
            if frame.index < len(frame.todo):
                inner = frame.todo[frame.index]
                frame.index += 1
                self._head(inner)
                if len(inner.regions):
                    self._push(stack, inner)
                continue
            stack.pop()
            self._add(")")
            if frame.scope:
                forgot, tokens = self._symbols.close()
                self._add(*tokens)
                if forgot:
                    self._known.clear()

    def _push(self, stack: list[_Frame], op: ir.Operation) -> None:
        scope = opens_scope(op) and op.name != "func.func"
        frames = [_Frame(block, op, scope) for region in op.regions for block in region.blocks]
        self._add(*(str(len(list(region.blocks))) for region in op.regions))
        stack += reversed(frames)

    def _enter(self, frame: _Frame) -> list[ir.Operation]:
        arguments = list(frame.block.arguments)
        self._add("(", *(self._thing(argument.type) for argument in arguments))
        for argument in arguments:
            self._values[argument] = len(self._values)
        if frame.owner.name == "func.func":
            for argument, attributes in zip(
                arguments, parameter_attributes(frame.owner), strict=False
            ):
                name = attributes.pop("tir.name", None)
                if isinstance(name, ir.StringAttr) and str(argument.type) == "i64":
                    self._add(self._symbols.token(SymExpr.var(name.value)) or "?")
                self._attributes(sorted(attributes.items()))
        return steps(frame.block)

    def _head(self, op: ir.Operation) -> None:
        tokens = [op.name]
        tokens += map(self._operand, operands_of(op))
        self._add(*tokens)
        self._attributes(attributes_of(op))
        if op.name == "func.func":
            return
        results = list(op.results)
        self._add(*(self._thing(result.type) for result in results))
        for result in results:
            self._values[result] = len(self._values)

    def _attributes(self, attributes: list[tuple[str, ir.Attribute]]) -> None:
        for name, value in attributes:
            self._add(name, self._attribute(value))

    def _attribute(self, value: ir.Attribute) -> str:
        if isinstance(value, ir.FlatSymbolRefAttr):
            return self._callee(value.value)
        return self._thing(value)

    def _operand(self, value: ir.Value) -> str:
        number = self._values.get(value)
        if number is not None:
            return f"%{number}"
        leaf = leaf_of(value)
        if leaf is None:
            if not self._map_free:
                return f"free {hash(value)}"
            self._values[value] = len(self._values)
            return f"free {self._values[value]} {self._thing(value.type)}"
        tokens = [leaf.name, self._thing(value.type), *map(self._operand, operands_of(leaf))]
        for name, attribute in attributes_of(leaf):
            tokens += [name, self._attribute(attribute)]
        return f"[{' '.join(tokens)}]"

    def _thing(self, thing: Any) -> str:
        known = self._known.get(thing)
        if known is not None:
            return known
        if is_elements(thing):
            known = f"{thing.type} {digest_elements(thing).hex()}"
        else:
            parts = self._texts.get(thing)
            if parts is None:
                parts = self._texts[thing] = parts_of(thing)
            tokens = [self._symbols.token(dim) for dim in parts.dims]
            known = " ".join([parts.skeleton, *(token or "?" for token in tokens)])
            if None in tokens:
                return known
        self._known[thing] = known
        return known
