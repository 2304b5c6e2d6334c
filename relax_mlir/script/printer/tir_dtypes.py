"""Dtypes of scalars of prim funcs; MLIR's integers have no sign."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.guarded import find_guarded
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import INDEX, is_float

# Python's precedences.
OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, SUM, PRODUCT, SIGN, ATOM = range(12)
INFIX = {
    "addf": ("+", SUM), "addi": ("+", SUM), "subf": ("-", SUM), "subi": ("-", SUM),
    "mulf": ("*", PRODUCT), "muli": ("*", PRODUCT), "divf": ("/", PRODUCT),
    "floordivsi": ("//", PRODUCT), "divui": ("//", PRODUCT), "remui": ("%", PRODUCT),
    "andi": ("&", BITAND), "ori": ("|", BITOR), "xori": ("^", BITXOR),
    "shli": ("<<", SHIFT), "shrsi": (">>", SHIFT), "shrui": (">>", SHIFT),
}  # fmt: skip
_UNSIGNED = ("arith.divui", "arith.remui", "arith.maxui", "arith.minui", "arith.shrui",
             "arith.uitofp", "arith.extui", "arith.index_castui")  # fmt: skip
_SIGNED = ("arith.floordivsi", "arith.divsi", "arith.remsi", "arith.maxsi", "arith.minsi",
           "arith.shrsi", "arith.sitofp", "arith.extsi")  # fmt: skip


class DtypeFinder:
    """Finds dtypes again from the buffers that values come from and go to.

    Attributes:
        buffers: name and dtype of each buffer.
        scalars: dtype of each parameter that is a number.
    """

    def __init__(self, function: ir.Operation) -> None:
        self._guarded = find_guarded(function)
        # An operation inside a guard counts as the one operation that is guarded.
        self._roots = {i: root for root, g in self._guarded.items() for i in g.inner}
        self.buffers: dict[ir.Value, tuple[str, str]] = {}
        self.scalars: dict[ir.Value, str] = {}
        self._dtypes: dict[ir.Value, str] = {}

    def dtype_of_element(self, type_: ir.Type) -> str:
        """Return the signed dtype of an MLIR element type."""
        named = {"index": INDEX, "i4": "int4"}.get(str(type_))
        return named or T.dtype_of_element(type_)

    def dtype(self, value: ir.Value) -> str:
        """Return the dtype of a value, the sign of an integer found from its neighbours."""
        if value not in self._dtypes:
            plain = self.dtype_of_element(value.type)
            self._dtypes[value] = plain
            if not is_float(plain) and plain not in (INDEX, "bool"):
                self._dtypes[value] = self._source(value) or self._wanted(value) or plain
        return self._dtypes[value]

    def _source(self, value: ir.Value) -> str | None:
        if isinstance(value.owner, ir.Block):
            return self.scalars.get(value)
        op = value.owner.operation
        if op.name in ("tir.call_extern", "tir.call_packed"):
            return ir.StringAttr(op.attributes["dtype"]).value
        byte = str(value.type) == "i8"
        if byte and op.name.startswith("arith.ext") and str(op.operands[0].type) == "i4":
            return "uint8" if op.name == "arith.extui" else "int8"
        if op in self._guarded:
            if self._sign(op) == "u":
                return f"u{self.dtype_of_element(value.type)}"
            return self._source(self._guarded[op].lhs)
        if op.name == "memref.load" and op.operands[0] in self.buffers:
            dtype = self.buffers[op.operands[0]][1]
            return "uint8" if dtype == "bool" else dtype
        if op.name == "arith.fptoui" or op.name in _UNSIGNED[:5]:
            return f"u{self.dtype_of_element(value.type)}"
        if op.name == "arith.fptosi":
            return self.dtype_of_element(value.type)
        if op.name.startswith("arith.") and op.name.removeprefix("arith.") in INFIX:
            for operand in op.operands:
                result = self._source(operand)
                if result is not None:
                    return result
        return None

    def _wanted(self, value: ir.Value, limit: int = 8) -> str | None:
        """Return the dtype that the uses of an integer need, None when they do not determine it."""
        unsigned = f"u{self.dtype_of_element(value.type)}"
        for use in value.uses:
            user = use.owner.operation
            root = self._roots.get(user, user)
            guarded = self._guarded.get(root)
            if guarded is not None and guarded.word in ("<<", ">>"):
                # The guard compares the amount as if unsigned; its sign is that of what it shifts.
                result = None
                if user.name == "arith.shrui":
                    result = unsigned
                elif limit and value == guarded.rhs:
                    lhs = guarded.lhs
                    result = self._source(lhs) or self._wanted(lhs, limit - 1)
                elif limit:
                    result = self._wanted(root.results[0], limit - 1)
                if result is not None:
                    return result
                continue
            if user.name == "builtin.unrealized_conversion_cast":
                call = next(iter(user.results[0].uses)).owner.operation
                # Strings are passed by themselves, they are no operands.
                kinds = [k for k in call.attributes["dtypes"] if isinstance(k, ir.StringAttr)]
                return kinds[use.operand_number].value
            if user.name == "memref.store" and use.operand_number == 0:
                held = self.buffers.get(user.operands[1], ("", ""))[1]
                return INT4.get(held, held) or None
            if user.name == "scf.yield" and limit:
                chosen = user.parent.operation.results
                place = use.operand_number
                result = self._wanted(chosen[place], limit - 1) if place < len(chosen) else None
                if result is not None:
                    return result
            if user.name == "arith.trunci" and str(user.results[0].type) == "i4":
                result = self._wanted(user.results[0], limit - 1) if limit else None
                if result is not None:
                    return result
            if user.name in _UNSIGNED:
                return unsigned
            if user.name == "arith.cmpi":
                if ir.IntegerAttr(user.attributes["predicate"]).value >= 6:
                    return unsigned
                other = user.operands[1 - use.operand_number]
                if self._source(other):
                    return self._source(other)
            if user.name.removeprefix("arith.") in (*INFIX, "select") and limit:
                for operand in user.operands:
                    if operand != value and operand.type == value.type and self._source(operand):
                        return self._source(operand)
                result = self._wanted(user.results[0], limit - 1)
                if result is not None:
                    return result
        return None

    def _sign(self, op: ir.Operation) -> str:
        """Return of what sign the integers are that an operation is for, `""` for both."""
        if op in self._guarded:
            result = {self._sign(inner) for inner in self._guarded[op].inner
                     if inner.name in (*_UNSIGNED[:2], "arith.shrui", *_SIGNED)}  # fmt: skip
            return result.pop() if len(result) == 1 else ""
        if op.name == "arith.cmpi":
            predicate = ir.IntegerAttr(op.attributes["predicate"]).value
            return "" if predicate < 2 else "u" if predicate >= 6 else "s"
        is_signed = op.name in (*_SIGNED, "arith.index_cast")
        return "u" if op.name in _UNSIGNED else "s" if is_signed else ""
