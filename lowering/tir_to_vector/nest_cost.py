"""Costs of the steps of nests and of register tiles."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.flat import FlatNest

# Functions of dozens of instructions, and of one or a few; three of the others count as long.
_LONG = frozenset(
    f"math.{name}"
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "powf", "sin",
        "sinh", "tan",
    )
)  # fmt: skip
_QUICK = frozenset(
    f"math.{name}"
    for name in (
        "absf", "absi", "ceil", "copysign", "floor", "fma", "rint", "round", "roundeven", "rsqrt",
        "sqrt", "trunc",
    )
)  # fmt: skip
# Functions of a step that take longer than its loads and stores.
_MANY = 8
# Independent accumulators that hide the latency of an FMA.
FMA_LATENCY = 8


def tile_cycles(rows: int, vectors: int) -> int:
    """Return the cycles of a step of a register tile; two loads go with two FMAs."""
    return max(rows * vectors, rows + vectors, FMA_LATENCY) + 1


def is_function(op: ir.Operation) -> bool:
    """Whether an operation is an elementary function of several instructions."""
    return op.name.startswith("math.") and op.name not in _QUICK


def has_functions(flat: FlatNest) -> bool:
    """Whether a nest computes elementary functions of several instructions."""
    return any(map(is_function, flat.slice))


def is_slow(flat: FlatNest) -> bool:
    """Whether a step takes longer than its loads and stores."""
    names = {op.name for op in flat.slice if bits_of(op.results[0].type) == 64}
    names |= {op.name for op in flat.slice if op.name == "math.powf"}
    if any(name.startswith("math.") and name not in _QUICK for name in names):
        return True
    every = [op.name for op in flat.slice if op.name.startswith("math.")]
    return sum(name not in _QUICK for name in every) >= _MANY


def is_long(flat: FlatNest) -> bool:
    """Whether a step takes many instructions."""
    names = [op.name for op in flat.slice if op.name.startswith("math.")]
    wide = any(bits_of(op.results[0].type) == 64 for op in flat.slice if op.name in names)
    least = 1 if wide else 3
    return any(name in _LONG for name in names) or (
        sum(name not in _QUICK for name in names) >= least
    )


def bits_of(type_: ir.Type) -> int:
    """Return the size of a number."""
    if isinstance(type_, ir.IndexType):
        return 64
    return max(8, type_.width)
