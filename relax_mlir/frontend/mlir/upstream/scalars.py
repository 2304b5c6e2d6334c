"""Operations of arith and math on scalars of prim funcs."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.tir.scalar import (
    INDEX,
    MATH_NAMES,
    Scalar,
    binary,
    cast,
    compare,
    is_unsigned,
    multiply_add,
    reinterpret,
    select,
    unary,
)
from relax_mlir.frontend.mlir.needs import refuses
from relax_mlir.frontend.mlir.types import dtype_of, python_value

Scalars = Callable[..., Scalar]

_UNARY = {
    "arith.negf": "neg", "math.absf": "abs", "math.absi": "abs", "math.roundeven": "round",
    "math.ctlz": "clz", "math.cttz": "ctz", "math.ctpop": "popcount",
    **{f"math.{name}": name for name in MATH_NAMES},
}  # fmt: skip
_BINARY = {
    **{f"arith.{kind}{suffix}": kind for kind in ("add", "sub", "mul") for suffix in "fi"},
    "arith.divf": "div", "arith.remf": "truncmod", "arith.maximumf": "max",
    "arith.minimumf": "min", "arith.divsi": "div", "arith.remsi": "truncmod",
    "arith.floordivsi": "floordiv", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
    "arith.shli": "shl", "arith.shrsi": "shr", "arith.maxsi": "max", "arith.minsi": "min",
    "math.powf": "pow", "math.atan2": "atan2", "math.copysign": "copysign",
}  # fmt: skip
_UNSIGNED = {
    "arith.divui": "div", "arith.remui": "truncmod", "arith.shrui": "shr", "arith.maxui": "max",
    "arith.minui": "min",
}  # fmt: skip
# What arithmetic modulo 2 is.
_OF_BOOLS = {
    "add": "xor", "sub": "xor", "mul": "and", "maxui": "or", "minui": "and", "maxsi": "and",
    "minsi": "or",
}  # fmt: skip
_CASTS = ("extf", "truncf", "fptosi", "index_cast", "uitofp", "extui", "fptoui", "index_castui")


def _binary(kind: str) -> Scalars:
    def apply(op: Any, a: Scalar, b: Scalar) -> Scalar:
        if a.dtype == "bool":
            name = op.name.partition(".")[2]
            kind_of_bools = _OF_BOOLS.get(name) or _OF_BOOLS.get(name.rstrip("i"), kind)
            return binary(kind_of_bools, a, b)
        return binary(kind, a, b)

    return apply


def _unsigned(kind: str) -> Scalars:
    def apply(op: Any, a: Scalar, b: Scalar) -> Scalar:
        if a.dtype in (INDEX, "bool") or is_unsigned(a.dtype):
            return _binary(kind)(op, a, b)
        return cast(binary(kind, _as_unsigned(a), _as_unsigned(b)), a.dtype)

    return apply


def _as_unsigned(x: Scalar) -> Scalar:
    plain = x.dtype in (INDEX, "bool") or is_unsigned(x.dtype)
    return x if plain else cast(x, f"u{x.dtype}")


def target_dtype(op: Any) -> str:
    """Return the dtype of an operation's result in a prim func."""
    return _dtype(op.results[0].type)


def _dtype(type_: Any) -> str:
    element = getattr(type_, "element_type", type_)
    return INDEX if str(element) == "index" else dtype_of(element)


def _cast(op: Any, x: Scalar) -> Scalar:
    unsigned = op.name in ("arith.uitofp", "arith.extui", "arith.index_castui")
    return cast(_as_unsigned(x) if unsigned else x, target_dtype(op))


def _fptoui(op: Any, x: Scalar) -> Scalar:
    return cast(cast(x, f"u{target_dtype(op).removeprefix('u')}"), target_dtype(op))


def _signed(op: Any, x: Scalar) -> Scalar:
    """Convert an integer with its sign; that of a true bool is minus one."""
    if x.dtype == "bool":
        return unary_minus(cast(x, target_dtype(op)))
    return cast(x, target_dtype(op))


def unary_minus(x: Scalar) -> Scalar:
    """Return 0 - x."""
    return binary("sub", cast(0, x.dtype), x)


def _truncated(op: Any, x: Scalar) -> Scalar:
    if target_dtype(op) == "bool":
        return cast(binary("and", x, 1), "bool")
    return cast(x, target_dtype(op))


def _round_away(op: Any, x: Scalar) -> Scalar:
    whole = unary("trunc", x)
    one = binary("copysign", cast(1.0, x.dtype), x)
    is_far = compare("ge", unary("abs", binary("sub", x, whole)), 0.5)
    return select(is_far, binary("add", whole, one), whole)


def _cube_root(op: Any, x: Scalar) -> Scalar:
    wide = cast(x, "float64")
    root = binary("pow", unary("abs", wide), cast(1 / 3, "float64"))
    return cast(binary("copysign", root, wide), x.dtype)


def _number_of_two(kind: str) -> Scalars:
    """Return the greater or smaller of two numbers, of a NaN and a number the number."""

    def apply(op: Any, a: Scalar, b: Scalar) -> Scalar:
        both = select(compare("ne", b, b), a, binary(kind, a, b))
        return select(compare("ne", a, a), b, both)

    return apply


def _ceildiv(op: Any, a: Scalar, b: Scalar) -> Scalar:
    return unary_minus(binary("floordiv", unary_minus(a), b))


_KINDS = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")


def _cmpi(op: Any, a: Scalar, b: Scalar) -> Scalar:
    predicate = python_value(op.attributes["predicate"])
    if a.dtype == "bool":
        signed = 1 < predicate < 6
        a, b = (unary_minus(cast(x, "int8")) if signed else cast(x, "int8") for x in (a, b))
    elif predicate > 5:
        a, b = _as_unsigned(a), _as_unsigned(b)
    return compare(_KINDS[predicate], a, b)


# By the numbers of arith's enumeration: ordered comparisons, and what is true where one is false.
_ORDERED = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le"}
_UNORDERED = {9: "le", 10: "lt", 11: "ge", 12: "gt"}


def _cmpf(op: Any, a: Scalar, b: Scalar) -> Scalar:
    predicate = python_value(op.attributes["predicate"])
    if predicate in _ORDERED:
        return compare(_ORDERED[predicate], a, b)
    if predicate in _UNORDERED:
        return _not(compare(_UNORDERED[predicate], a, b))
    ordered = binary("and", compare("eq", a, a), compare("eq", b, b))
    different = compare("ne", a, b)
    return {
        0: lambda: cast(False, "bool"), 6: lambda: binary("and", ordered, different),
        7: lambda: ordered, 8: lambda: _not(binary("and", ordered, different)),
        13: lambda: different, 14: lambda: _not(ordered), 15: lambda: cast(True, "bool"),
    }[predicate]()  # fmt: skip


def _not(x: Scalar) -> Scalar:
    return binary("xor", x, cast(True, "bool"))


SCALARS: dict[str, Scalars] = {
    **{name: lambda op, x, kind=kind: unary(kind, x) for name, kind in _UNARY.items()},
    **{name: _binary(kind) for name, kind in _BINARY.items()},
    **{name: _unsigned(kind) for name, kind in _UNSIGNED.items()},
    **{f"arith.{name}": _cast for name in _CASTS},
    "arith.fptoui": _fptoui, "arith.sitofp": _signed, "arith.extsi": _signed,
    "arith.trunci": _truncated, "arith.bitcast": lambda op, x: reinterpret(x, target_dtype(op)),
    "arith.cmpi": _cmpi, "arith.cmpf": _cmpf, "arith.ceildivsi": _ceildiv,
    "arith.ceildivui": _ceildiv, "arith.maxnumf": _number_of_two("max"),
    "arith.minnumf": _number_of_two("min"),
    "arith.select": lambda op, condition, a, b: select(condition, a, b),
    "math.fma": lambda op, a, b, c: multiply_add(a, b, c), "math.round": _round_away,
    "math.cbrt": _cube_root,
}  # fmt: skip
# What else bodies have; `upstream.bodies` evaluates them.
_STRUCTURE = ("arith.constant", "linalg.index", "linalg.yield", "tensor.yield", "tensor.extract")


@refuses("linalg.generic", "tensor.generate")
def _unknown_in(op: Any) -> str:
    unknown = sorted({
        view.operation.name
        for region in op.regions
        for block in region.blocks
        for view in block.operations
        if view.operation.name not in SCALARS and view.operation.name not in _STRUCTURE
    })  # fmt: skip
    return f"its body has {', '.join(unknown)}" if unknown else ""
