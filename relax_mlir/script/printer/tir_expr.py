"""Printing scalar expressions: arith, math and memref as Python operators.

A value is written where it is used when it is used once and nothing between could change it; any
other value gets a variable. MLIR's integers carry no sign, so the dtype of each value is found
again from the buffers that it comes from and goes to.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import INDEX, MATH_NAMES, is_float
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer, is_variable
from relax_mlir.script.printer.tir_dtypes import (
    AND,
    ATOM,
    BITOR,
    COMPARE,
    INFIX,
    NOT,
    OR,
    PRODUCT,
    SHIFT,
    SIGN,
    SUM,
    DtypeFinder,
)

_BINARY = {
    "arith.divsi": "T.truncdiv", "arith.remsi": "T.truncmod", "arith.remf": "T.truncmod",
    "arith.maximumf": "T.max", "arith.maxsi": "T.max", "arith.maxui": "T.max",
    "arith.minimumf": "T.min", "arith.minsi": "T.min", "arith.minui": "T.min",
    "math.powf": "T.pow", "math.ipowi": "T.pow", "math.atan2": "T.atan2",
    "math.copysign": "T.copysign",
}  # fmt: skip
_UNARY = {
    **{f"math.{name}": f"T.{name}" for name in MATH_NAMES},
    "math.roundeven": "T.round", "math.absf": "T.abs", "math.absi": "T.abs",
    "math.ctlz": "T.clz", "math.cttz": "T.ctz", "math.ctpop": "T.popcount",
}  # fmt: skip
_CASTS = ("extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui",
          "index_cast", "index_castui")  # fmt: skip
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_FLOAT_COMPARE = {1: "==", 13: "!=", 4: "<", 5: "<=", 2: ">", 3: ">="}
_CALLS = ("tir.call_extern", "tir.call_packed")
_EFFECTS = ("memref.store", "tir.assert", *_CALLS, "tir.for", "tir.block", "scf.if", "scf.for",
            "scf.while")  # fmt: skip


class TirExprPrinter(DtypeFinder):
    """Writes scalar values."""

    def __init__(self, namer: Namer, function: ir.Operation) -> None:
        self.namer = namer
        super().__init__(function)

    def can_spell(self, op: ir.Operation) -> bool:
        """Whether script has a word for the operation."""
        short = op.name.removeprefix("arith.")
        if op.name == "arith.cmpf":
            return ir.IntegerAttr(op.attributes["predicate"]).value in _FLOAT_COMPARE
        if op.name == "memref.load":
            return op.operands[0] in self.buffers
        if op.name == "scf.if":
            return len(op.results) == 1 and all(
                self._is_pure(inner.operation)
                for region in op.regions for inner in region.blocks[0].operations
            )  # fmt: skip
        return op.name in (
            *_BINARY, *_UNARY, "arith.cmpi", "arith.negf", "arith.select", "arith.constant",
            "tir.symbol", "math.fma", "arith.bitcast", *_CALLS,
        ) or (op.name.startswith("arith.") and (short in INFIX or short in _CASTS))  # fmt: skip

    def _is_pure(self, op: ir.Operation) -> bool:
        return op.name == "scf.yield" or (len(op.results) == 1 and self.can_spell(op))

    def is_inlined(self, op: ir.Operation) -> bool:
        """Whether a value is written where it is used."""
        if op.name in ("arith.constant", "tir.symbol") or op in self._roots:
            return True
        if op.name in _CALLS:
            return False
        users = self._users(op)
        if self._is_bool_load(op):
            return True
        if is_variable(op):
            return not users
        if len(users) != 1:
            return not users
        if users[0].block != op.block:
            return False
        # Pure arithmetic may move to its use.
        return not self._loads(op) or not self._changes_between(op, users[0])

    def _users(self, op: ir.Operation) -> list[ir.Operation]:
        users: list[ir.Operation] = []
        for use in op.results[0].uses:
            user = use.owner.operation
            user = self._roots.get(user, user)
            if user == op:
                continue
            if user.name == "tir.where":
                user = user.parent.operation
            if user not in users or user not in self._guarded:
                users.append(user)
        return users

    def _changes_between(self, op: ir.Operation, user: ir.Operation) -> bool:
        """Whether memory may change between a load and the statement that it is written in."""
        seen = False
        while user is not None and not _is_statement(user):
            users = self._users(user) if len(user.results) == 1 else []
            if len(users) != 1 or users[0].block != op.block or is_variable(user):
                break
            user = users[0]
        for inner in op.block.operations:
            inner = inner.operation
            if inner == op:
                seen = True
            elif inner == user:
                return False
            elif (
                seen
                and inner.name in _EFFECTS
                and not (inner.name == "scf.if" and len(inner.results))
            ):
                return True
        return False

    def _loads(self, op: ir.Operation) -> bool:
        """Whether a value depends on memory by what is written inside it."""
        if op.name in ("memref.load", "scf.if"):
            return True
        for operand in op.operands:
            if isinstance(operand.owner, ir.Block) or self.namer.get(operand) is not None:
                continue
            if self._loads(operand.owner.operation):
                return True
        return False

    def constant(self, value: ir.Value) -> int | float | None:
        """Return the number that a value is, None when it is not constant."""
        if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
            return None
        attribute = value.owner.operation.attributes["value"].maybe_downcast()
        number = attribute.value
        return int(number) if isinstance(number, bool) else number

    def symbolic(self, value: ir.Value) -> SymExpr | None:
        """Return the symbolic integer that a value is, None for any other."""
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name == "tir.symbol":
            return op.attributes["value"].maybe_downcast().dims[0]
        number = self.constant(value)
        return SymExpr.const(number) if isinstance(number, int) else None

    def stored(self, store: ir.Operation) -> str:
        """Return what is stored; the store itself widens a bool to its byte, and casts an index."""
        value = store.operands[0]
        held = self.buffers.get(store.operands[1], ("", ""))[1]
        if not isinstance(value.owner, ir.Block) and self.namer.get(value) is None:
            op = value.owner.operation
            widened = op.name == "arith.extui" and str(op.operands[0].type) == "i1"
            widened = widened and held in ("bool", "")
            narrowed = op.name == "arith.trunci" and str(value.type) == "i4"
            if narrowed or widened or (op.name == "arith.index_cast" and _is_next(op, store)):
                value = op.operands[0]
        number = self.constant(value)
        if number is not None:
            return self._number(number, value, INT4.get(held, ""))
        if held == "bool" and str(value.type) != "i1":
            return f'T.Cast("bool", {self.value(value)})'
        return self._signed_as(value, INT4.get(held, held))

    def _signed_as(self, value: ir.Value, dtype: str, precedence: int = OR) -> str:
        """Return a value, with a cast where the dtype differs by the sign only: no operation does.

        Args:
            value: an integer, or anything else, which is returned as it is.
            dtype: what is wanted of it.
            precedence: of what is around it.
        """
        own = self.dtype(value)
        if own != dtype and own.removeprefix("u") == dtype.removeprefix("u"):
            return f'T.Cast("{dtype}", {self.value(value)})'
        return self.value(value, precedence)

    def indices(self, operands: Sequence[ir.Value], first: int) -> str:
        """Return the indices of a load or a store, whose operands they end."""
        items = [self.index(value) for value in list(operands)[first:]]
        return ", ".join(items) if items else "()"

    def index(self, value: ir.Value, precedence: int = OR) -> str:
        """Return an integer where an index is needed, which converts it by itself."""
        if self._uncast(value) == value:
            return self.value(value, precedence)
        return self._converted(value.owner.operation, precedence)

    def end_of(self, start: ir.Value, extent: ir.Value) -> str | None:
        """Return the end of a loop whose extent is written as its end minus its start."""
        start, extent = self._uncast(start), self._uncast(extent)
        if self.namer.get(extent) is not None or isinstance(extent.owner, ir.Block):
            return None
        op = extent.owner.operation
        if op.name != "arith.subi" or op in self._roots or op in self._guarded:
            return None
        return self.index(op.operands[0]) if self._uncast(op.operands[1]) == start else None

    def _uncast(self, value: ir.Value) -> ir.Value:
        """Return what is converted to an index, or the value itself."""
        if self.namer.get(value) is None and not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            if op.name in ("arith.index_cast", "arith.index_castui"):
                return op.operands[0]
        return value

    def value(self, value: ir.Value, precedence: int = OR) -> str:
        """Return a value as an expression, in parentheses where the context binds tighter."""
        name = self.namer.get(value)
        if name is not None:
            return name
        if isinstance(value.owner, ir.Block):
            return "unknown"
        op = value.owner.operation
        if not self.can_spell(op):
            return "unknown"
        text, own = self._spell(op)
        return f"({text})" if own < precedence else text

    def extern(self, op: ir.Operation) -> str:
        """Return a call of a C function."""
        attributes = op.attributes
        dtype = ir.StringAttr(attributes["dtype"]).value if "dtype" in attributes else "void"
        callee = ir.StringAttr(attributes["callee"]).value
        texts = [spelling.quote(dtype), spelling.quote(callee)]
        packed = op.operands[0].owner.operation
        for value, each in zip(packed.operands, op.attributes["dtypes"], strict=True):
            texts.append(self._passed(value, ir.StringAttr(each).value))
        return f"T.call_extern({', '.join(texts)})"

    def packed(self, op: ir.Operation) -> str:
        """Return a call of a packed function."""
        values = iter(op.operands[0].owner.operation.operands)
        texts = [spelling.quote(ir.StringAttr(op.attributes["callee"]).value)]
        for kind in op.attributes["dtypes"]:
            if isinstance(kind, ir.ArrayAttr):
                texts.append(spelling.quote(ir.StringAttr(kind[0]).value))
                continue
            value = next(values)
            texts.append(
                self.buffers[value][0] if value in self.buffers
                else self._passed(value, ir.StringAttr(kind).value)
            )  # fmt: skip
        dtype = ir.StringAttr(op.attributes["dtype"]).value
        texts += [] if dtype == "int32" else [f"dtype={spelling.quote(dtype)}"]
        return f"T.call_packed({', '.join(texts)})"

    def _passed(self, value: ir.Value, dtype: str) -> str:
        if value in self.buffers:
            return f"{self.buffers[value][0]}.data"
        if dtype == "handle":
            part = value.owner.operation
            name = self.buffers.get(part.operands[0], ("unknown", ""))[0]
            return f"T.address_of({name}[{self.indices(part.operands, 1)}])"
        if str(value.type) == "index" and self.constant(value) is not None:
            return f"T.int64({self.constant(value)})"
        return self._typed(value)

    def conjunction(self, value: ir.Value) -> str:
        """Return a condition of which `T.where` evaluates all parts that 'and' joins."""
        parts = self._conjuncts(value)
        texts = [self.value(part, NOT) for part in parts]
        if len(parts) == 1 or any("[" in text or "(" in text for text in texts):
            return self.value(value)
        return " and ".join(texts)

    def _conjuncts(self, value: ir.Value) -> list[ir.Value]:
        if self.namer.get(value) is None and not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            if op.name == "arith.andi" and op not in self._guarded:
                return [part for each in op.operands for part in self._conjuncts(each)]
        return [value]

    def text(self, op: ir.Operation) -> str:
        """Return an operation as an expression."""
        return self._spell(op)[0]

    def _number(self, number: float, value: ir.Value, dtype: str = "") -> str:
        dtype = dtype or self.dtype(value)
        if dtype == INDEX:
            return str(int(number))
        text = spelling.number(_unsigned(number, dtype), dtype)
        return f"T.{dtype}({text})" if text.startswith("float(") else text

    def _typed(self, value: ir.Value, precedence: int = OR, dtype: str = "") -> str:
        """Return a value with a dtype, its own by default, that the context does not determine."""
        number = self.constant(value)
        if number is None:
            return self.value(value, precedence)
        dtype = dtype or self.dtype(value)
        text = spelling.number(_unsigned(number, dtype), dtype) if dtype != INDEX else ""
        return str(number) if dtype == INDEX else f"T.{dtype}({text})"

    def _pair(
        self, operands: Sequence[ir.Value], left: int, right: int, sign: str = ""
    ) -> tuple[str, str]:
        """Return two operands; one constant takes its dtype from the other operand.

        Args:
            operands: the two.
            left: precedence around the first.
            right: precedence around the second.
            sign: `"u"` or `"s"` for an operation on unsigned or signed integers.
        """
        a, b = operands[0], operands[1]
        plain = self.dtype(b if self.constant(a) is not None else a)
        if not is_float(plain) and plain not in (INDEX, "bool"):
            plain = plain.removeprefix("u")
            wanted = {"u": f"u{plain}", "s": plain}.get(sign, self.dtype(a))
        else:
            wanted = plain
        numbers = [self.constant(a), self.constant(b)]
        if None not in numbers:
            return self._typed(a), self._typed(b)
        texts = []
        for value, number, precedence in zip((a, b), numbers, (left, right), strict=True):
            if number is None:
                texts.append(self._signed_as(value, wanted, precedence))
                continue
            text = self._number(number, value, wanted if sign else "")
            texts.append(f"({text})" if text.startswith("-") and precedence > SUM else text)
        return texts[0], texts[1]

    def _spell(self, op: ir.Operation) -> tuple[str, int]:
        name, short = op.name, op.name.removeprefix("arith.")
        if op in self._guarded:
            guarded = self._guarded[op]
            operands = (guarded.lhs, guarded.rhs)
            if guarded.word.startswith("T."):
                pair = self._pair(operands, OR, OR, self._sign(op))
                return f"{guarded.word}({', '.join(pair)})", ATOM
            own = PRODUCT if guarded.word in ("//", "%") else SHIFT
            return f" {guarded.word} ".join(self._pair(operands, own, own + 1, self._sign(op))), own
        if name == "tir.symbol":
            text = str(op.attributes["value"].maybe_downcast().dims[0])
            return text, ATOM if text.isidentifier() else SUM
        if name == "arith.constant":
            return self._typed(op.results[0]), ATOM
        if name == "memref.load":
            buffer = self.buffers[op.operands[0]][0]
            return f"{buffer}[{self.indices(op.operands, 1)}]", ATOM
        if name == "arith.negf":
            return f"-{self.value(op.operands[0], SIGN)}", SIGN
        if name in _UNARY:
            return f"{_UNARY[name]}({self._typed(op.operands[0])})", ATOM
        if name in _BINARY:
            pair = self._pair(op.operands, OR, OR, self._sign(op))
            return f"{_BINARY[name]}({', '.join(pair)})", ATOM
        if name == "tir.call_extern":
            return self.extern(op), ATOM
        if name == "tir.call_packed":
            return self.packed(op), ATOM
        if name == "math.fma":
            return f"T.fma({', '.join(map(self._typed, op.operands))})", ATOM
        if name == "arith.bitcast":
            target = self.dtype(op.results[0])
            return f'T.reinterpret("{target}", {self._typed(op.operands[0])})', ATOM
        if name in ("arith.cmpi", "arith.cmpf"):
            return self._compare(op)
        if name == "arith.select":
            return self._select(op), ATOM
        if name == "scf.if":
            return self._choice(op)
        if short in _CASTS and str(op.operands[0].type) == "i4":
            text, own = self._spell(op.operands[0].owner.operation)
            if str(op.results[0].type) == "i8":
                return text, own
            return f'T.Cast("{self.dtype(op.results[0])}", {text})', ATOM
        if short in _CASTS:
            target = self.dtype(op.results[0])
            # Script has no such dtype; what needs an index takes an int64 as well.
            target = "int64" if target == INDEX else target
            return f'T.Cast("{target}", {self._converted(op)})', ATOM
        sign, precedence = INFIX[short]
        left, right = self._pair(op.operands, precedence, precedence + 1, self._sign(op))
        return f"{left} {sign} {right}", precedence

    def _converted(self, op: ir.Operation, precedence: int = OR) -> str:
        """Return what a cast converts, its sign as the conversion takes it."""
        value, sign = self._cast_from(op), self._sign(op)
        own = self.dtype(value)
        if self.constant(value) is not None or not sign or own in (INDEX, "bool") or is_float(own):
            return self._typed(value, precedence)
        plain = own.removeprefix("u")
        return self._signed_as(value, f"u{plain}" if sign == "u" else plain, precedence)

    def _cast_from(self, op: ir.Operation) -> ir.Value:
        """Return what a cast converts: an index becomes a float by way of an int64."""
        value = op.operands[0]
        if op.name == "arith.sitofp" and not isinstance(value.owner, ir.Block):
            inner = value.owner.operation
            if inner.name == "arith.index_cast" and self.namer.get(value) is None:
                return inner.operands[0] if str(value.type) == "i64" else value
        return value

    def _is_bool_load(self, op: ir.Operation) -> bool:
        """Whether a load of a bool buffer's byte is only compared with 0, as every such load is."""
        if op.name != "memref.load" or self.buffers.get(op.operands[0], ("", ""))[1] != "bool":
            return False
        return all(use.owner.operation.name == "arith.cmpi" for use in op.results[0].uses)

    def _compare(self, op: ir.Operation) -> tuple[str, int]:
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if op.name == "arith.cmpf":
            sign = _FLOAT_COMPARE[predicate]
        else:
            sign = _COMPARE[predicate if predicate < 6 else predicate - 4]
            a, b = op.operands
            zero = self.constant(b) == 0
            if zero and not isinstance(a.owner, ir.Block) and self._is_bool_load(a.owner.operation):
                return self.value(a), ATOM
            if zero and sign == "==" and str(a.type) == "i1":
                return f"not {self.value(a, NOT)}", NOT
        left, right = self._pair(op.operands, BITOR, BITOR, self._sign(op))
        return f"{left} {sign} {right}", COMPARE

    def _select(self, op: ir.Operation) -> str:
        condition, a, b = op.operands
        texts = self._choices(op.results[0], a, b)
        return f"T.Select({self.value(condition)}, {', '.join(texts)})"

    def _choices(self, result: ir.Value, a: ir.Value, b: ir.Value) -> list[str]:
        """Return the two values that one may be, both of its dtype."""
        dtype, numbers = self.dtype(result), [self.constant(a), self.constant(b)]
        typed = None not in numbers
        return [
            self._signed_as(value, dtype) if number is None
            else self._typed(value, dtype=dtype) if typed
            else self._number(number, value, dtype)
            for value, number in zip((a, b), numbers, strict=True)
        ]  # fmt: skip

    def _choice(self, op: ir.Operation) -> tuple[str, int]:
        condition = op.operands[0]
        yields = [
            list(region.blocks[0].operations)[-1].operation.operands[0] for region in op.regions
        ]
        if str(op.results[0].type) == "i1":
            for i, (word, precedence, decided) in enumerate((("or", OR, 1), ("and", AND, 0))):
                # `a or b` is: true if a, else b; `a and b` is: b if a, else false.
                if self.constant(yields[i]) in (decided, -decided):
                    first = self.value(condition, precedence)
                    return f"{first} {word} {self.value(yields[1 - i], precedence + 1)}", precedence
        texts = self._choices(op.results[0], *yields)
        return f"T.if_then_else({self.value(condition)}, {', '.join(texts)})", ATOM


def _unsigned(number: float, dtype: str) -> float:
    """Return a number of MLIR's signed attribute as the unsigned one it stands for."""
    if dtype.startswith("uint") and number < 0:
        return number + (1 << (8 * T.dtype_size(dtype)))
    return number


def _is_next(op: ir.Operation, after: ir.Operation) -> bool:
    """Whether one operation directly follows another."""
    operations = [view.operation for view in op.block.operations]
    return op in operations[:-1] and operations[operations.index(op) + 1] == after


def _is_statement(op: ir.Operation) -> bool:
    return not len(op.results) or op.name in ("tir.for", "tir.block")
