"""bfloat16 for LLVM: conversions as operations on bits, and values as 16-bit integers.

Conversions: the steps before leave those from and to `f64`, and what the FFI needs.

Values: all arithmetic was widened before. LLVM legalises what only moves a `bfloat` by widening it
and rounding it back, on x86-64 with AVX-512 but without its bf16 instructions by calls of
`__truncsfbf2`, which few machines have. Integers of the same bits are moved as they are.
"""

import itertools
import re
from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir

_ORDERED_GREATER, _ORDERED_UNEQUAL, _UNORDERED = 2, 6, 14


def expand_bfloat_casts(by_name: Mapping[str, list[ir.Operation]]) -> None:
    """Replace the conversions among some operations by others.

    Args:
        by_name: operations of a module by their names.
    """
    for name, of_bits in (("llvm.fpext", _widened), ("llvm.fptrunc", _rounded)):
        for op in by_name.get(name, ()):
            narrow = op.operands[0].type if name == "llvm.fpext" else op.results[0].type
            if str(_element(narrow)) == "bf16":
                with op.location, ir.InsertionPoint(op):
                    op.results[0].replace_all_uses_with(of_bits(op.operands[0], op.results[0].type))
                op.erase()


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def _like(type_: ir.Type, element: str) -> ir.Type:
    made = ir.Type.parse(element)
    return ir.VectorType.get(type_.shape, made) if isinstance(type_, ir.VectorType) else made


def _make(name: str, type_: ir.Type, *operands: ir.Value, **attributes: Any) -> ir.Value:
    return ir.Operation.create(
        f"llvm.{name}", results=[type_], operands=list(operands), attributes=attributes
    ).results[0]


def _number(type_: ir.Type, value: int) -> ir.Value:
    number = ir.IntegerAttr.get(_element(type_), value)
    is_vector = isinstance(type_, ir.VectorType)
    splat = ir.DenseElementsAttr.get_splat(type_, number) if is_vector else number
    return _make("mlir.constant", type_, value=splat)


def _compare(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return _make("fcmp", _like(a.type, "i1"), a, b, predicate=number)


def _widened(value: ir.Value, to: ir.Type) -> ir.Value:
    """Return a bfloat16 as f32 or f64."""
    word, single = _like(to, "i32"), _like(to, "f32")
    bits = _make("zext", word, _make("bitcast", _like(to, "i16"), value))
    wide = _make("bitcast", single, _make("shl", word, bits, _number(word, 16)))
    return wide if to == single else _make("fpext", to, wide)


def _rounded(value: ir.Value, to: ir.Type) -> ir.Value:
    """Return an f32 or f64 as bfloat16, rounded once, to nearest even."""
    word, single = _like(to, "i32"), _like(to, "f32")
    is_double = value.type != single
    near = _make("fptrunc", single, value) if is_double else value
    bits = _make("bitcast", word, near)
    if is_double:
        bits = _made_odd(bits, near, value)
    sixteen = _number(word, 16)
    last = _make("and", word, _make("lshr", word, bits, sixteen), _number(word, 1))
    rounded = _make("add", word, bits, _make("add", word, last, _number(word, 0x7FFF)))
    quiet = _make("or", word, bits, _number(word, 0x400000))
    kept = _make("select", word, _compare(_UNORDERED, near, near), quiet, rounded)
    half = _like(to, "i16")
    return _make("bitcast", to, _make("trunc", half, _make("lshr", word, kept, sixteen)))


def _made_odd(bits: ir.Value, near: ir.Value, value: ir.Value) -> ir.Value:
    """Return the bits of the f32 next to an f64 whose last bit says whether anything was cut off.

    The second rounding then sees what the first one left out.
    """
    word, double = bits.type, value.type
    back = _make("fpext", double, near)
    sizes = [_make("intr.fabs", double, each) for each in (back, value)]
    less, odd = (
        _make("zext", word, each)
        for each in (
            _compare(_ORDERED_GREATER, *sizes), _compare(_ORDERED_UNEQUAL, back, value),
        )
    )  # fmt: skip
    return _make("or", word, _make("sub", word, bits, less), odd)


_TYPE = re.compile(r'(?<![@%.\w"-])bfloat\b')
_NAME = re.compile(r"@llvm\.(?!x86\.)[\w.]*bf16[\w.]*")
_DECLARED = re.compile(r"^declare .*?(@llvm\.[\w.]*)", re.MULTILINE)
_OPERAND = re.compile(r"(<\d+ x bfloat>|bfloat) (%[\w.]+)")


def as_integers(text: str) -> str:
    """Return a module's LLVM IR without `bfloat`, except as operands of the target's intrinsics."""
    if "bfloat" not in text:
        return text
    numbers = itertools.count()
    lines: list[str] = []
    # A function of integers may have been declared too.
    declared: set[str] = set(_DECLARED.findall(text))
    for line in text.split("\n"):
        if "bfloat" not in line or line.startswith("@"):
            lines.append(line)
        elif "@llvm.x86." not in line:
            plain = _NAME.sub(lambda name: name[0].replace("bf16", "i16"), line)
            renamed = _DECLARED.match(plain) if plain != line else None
            if renamed is None or renamed[1] not in declared:
                lines.append(_TYPE.sub("i16", plain))
        elif line.startswith("declare"):
            lines.append(line)
        else:
            lines += _intrinsic(line, numbers)
    return "\n".join(lines)


def _intrinsic(line: str, numbers: "itertools.count[int]") -> list[str]:
    """Return the lines for a call whose operands have to be of `bfloat`."""
    casts: list[str] = []

    def cast(operand: re.Match[str]) -> str:
        type_, value = operand.groups()
        name = f"%bfloat.{next(numbers)}"
        casts.append(f"  {name} = bitcast {type_.replace('bfloat', 'i16')} {value} to {type_}")
        return f"{type_} {name}"

    called = _OPERAND.sub(cast, line)
    return [*casts, called]
