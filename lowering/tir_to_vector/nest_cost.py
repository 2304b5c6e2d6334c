"""The cost model: of candidates for a nest, of register tiles, and of a nest's steps."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.walk import defining_op

# Functions of dozens of instructions, and of one or a few.
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
# Independent accumulators that hide the latency of an FMA.
FMA_LATENCY = 8
_OF_DIFFERENCE = "exponential of a difference, as in softmax"
# Instructions of elementary functions of float32, as the loops of test/support/inner_loops.py have
# them: multiplications and FMAs, and others. First with permutes from tables in registers, then
# without, where others are also what 16 registers spill.
_COUNTS = {
    _OF_DIFFERENCE: ((6, 4), (8, 5)),
    "math.exp": ((6, 4), (11, 6)),
    "math.exp2": ((6, 4), (11, 6)),
    "math.erf": ((5, 13), (24, 26)),
    "math.tanh": ((4, 12), (10, 20)),
    "math.log": ((15, 13), (15, 22)),
    "math.log2": ((15, 13), (15, 22)),
    "math.log10": ((15, 13), (15, 22)),
    "math.log1p": ((15, 13), (15, 22)),
}
_FUNCTION, _LONG_FUNCTION = (10, 10), (30, 30)
_PRODUCTS = frozenset(("arith.mulf", "arith.muli", "math.fma"))
# With what hands on a NaN.
_EXTREMES = frozenset(("arith.maximumf", "arith.minimumf"))
# Cycles of the only unit for these, for 32 bytes; others go on meanwhile.
_DIVISIONS = {"arith.divf": 5, "math.sqrt": 6, "math.rsqrt": 11}
# Cycles of a load or a store that others hide in part, of the elementwise maps and norms of
# `benchmarks/kernels.py`.
_ACCESS = 0.75
# Bytes that a core loads in a cycle from memory, from L3, and from its own caches (Zen 4,
# `runtime/profiling/roofline.py`).
_MEMORY_BYTES, _SHARED_BYTES, _OWN_BYTES = 8, 16, 64
# The value of sizes that are not known.
_SOME_SIZE = 256

Size = Callable[[SymExpr], int]


@dataclass(frozen=True)
class Work:
    """What a candidate takes on one thread.

    Attributes:
        cycles: of one unit for vectors.
        bytes: that it loads and stores, each once.
    """

    cycles: float
    bytes: float


def cost(work: Work, machine: Machine) -> float:
    """Return the cycles of a thread: those of its instructions, or of its bytes if they are more.

    All kernel classes are compared by this.
    """
    return max(work.cycles / machine.fma_units, load_cycles(work.bytes, machine))


def load_cycles(total: float, machine: Machine) -> float:
    """Return the cycles that so many bytes take, from the first level of memory that holds them."""
    if total <= machine.l2_bytes:
        return total / _OWN_BYTES
    return total / (_SHARED_BYTES if total <= machine.l3_bytes else _MEMORY_BYTES)


def size_of(values: Mapping[str, int] | None = None) -> Size:
    """Return a function from a symbolic size to its value; symbols without one are assumed."""
    known = values or {}
    return lambda expr: max(0, expr.evaluate({s: known.get(s, _SOME_SIZE) for s in expr.symbols}))


def nest_work(flat: FlatNest, machine: Machine, size: Size, more: float = 0) -> Work:
    """Return the work of a nest whose steps are computed one vector after the other.

    `more` are cycles that each vector takes besides.
    """
    count = machine.isa.lanes(bits_of(flat.value.type))
    ops, loads = _of_each_vector(flat)
    counts = [_instructions(_kind(op), machine) for op in ops]
    is_fused = bool(ops) and ops[-1].name == "arith.mulf"
    if flat.total is not None and not is_fused:
        counts.append((0, 1))
    divisions = sum(_DIVISIONS.get(op.name, 0) for op in ops) * machine.vector_bits / 256
    cycles = _unit_cycles(counts, machine) + _ACCESS * (loads + (flat.total is None))
    cycles = max(cycles, divisions * machine.fma_units) + more
    return Work(_points(flat, size) / count * cycles, _bytes(flat, size))


def total_work(parts: Iterable[Work]) -> Work:
    """Return the work of several nests."""
    every = list(parts)
    return Work(sum(each.cycles for each in every), sum(each.bytes for each in every))


def tile_work(flat: FlatNest, machine: Machine, size: Size, each: float, products: int = 1) -> Work:
    """Return the work of a sum of products by register tiles.

    `each` are the cycles of a step of a vector, such as `step_cycles` of the register tile, and
    `products` those of a lane in one instruction.
    """
    steps = _points(flat, size) / machine.isa.lanes(bits_of(flat.value.type)) / products
    return Work(steps * each, _bytes(flat, size))


def step_cycles(rows: int, vectors: int) -> float:
    """Return the cycles of a step of a register tile for each of its vectors."""
    return tile_cycles(rows, vectors) / (rows * vectors)


def _of_each_vector(flat: FlatNest) -> tuple[list[ir.Operation], int]:
    """Return the operations that a vector along the innermost iterator needs, and its loads.

    The others, such as a row's reciprocal, are computed once for all vectors of a row.
    """
    last = len(flat.iters) - 1
    moving = {value for value, position in flat.counters.items() if position == last}
    ops: list[ir.Operation] = []
    loads = 0
    for op in flat.slice:
        access = flat.accesses.get(op)
        if access is None and any(operand in moving for operand in op.operands):
            ops.append(op)
        elif access is not None and access.strides and access.strides[-1] != 0:
            loads += 1
        else:
            continue
        moving.update(op.results)
    return ops, loads


def exp_cycles(machine: Machine) -> float:
    """Return the cycles of an FMA unit for a vector of exponentials of scores."""
    return _unit_cycles([_instructions(_OF_DIFFERENCE, machine)], machine)


def scan_cycles(lanes: int) -> int:
    """Return the cycles of a unit for the scan within a vector: shuffles, and what they combine."""
    return 2 * (lanes.bit_length() - 1) + 2


def transpose_cycles(machine: Machine, lanes: int) -> float:
    """Return the cycles of an FMA unit for the shuffles of a row of a square tile.

    One unit has them; others load and store meanwhile.
    """
    return _ACCESS * machine.fma_units * (lanes.bit_length() - 1)


def _unit_cycles(counts: Sequence[tuple[int, int]], machine: Machine) -> float:
    products, others = (sum(each[kind] for each in counts) for kind in range(2))
    return max(products, (products + others) * machine.fma_units / machine.vector_units)


def _kind(op: ir.Operation) -> str:
    is_exp = op.name == "math.exp" and defining_op(op.operands[0], "arith.subf") is not None
    return _OF_DIFFERENCE if is_exp else op.name


def _instructions(name: str, machine: Machine) -> tuple[int, int]:
    """Return the vector instructions of an operation: multiplications and FMAs, and others."""
    if name in _COUNTS:
        return _COUNTS[name][0 if machine.isa.tables else 1]
    if is_function(name):
        return _LONG_FUNCTION if name in _LONG else _FUNCTION
    if name in _PRODUCTS:
        return 1, 0
    return 0, 2 if name in _EXTREMES else 1


def _points(flat: FlatNest, size: Size) -> int:
    return math.prod(size(it.extent) for it in flat.iters)


def _bytes(flat: FlatNest, size: Size) -> float:
    def elements(access: FlatAccess) -> int:
        moved = zip(flat.iters, access.strides, strict=True)
        return math.prod(size(it.extent) for it, stride in moved if stride != 0)

    most: dict[ir.Value, float] = {}
    for access in flat.accesses.values():
        width = bits_of(access.buffer.type.element_type) / 8
        most[access.buffer] = max(most.get(access.buffer, 0), elements(access) * width)
    return sum(most.values())


def tile_cycles(rows: int, vectors: int) -> int:
    """Return the cycles of a step of a register tile; two loads go with two FMAs."""
    return max(rows * vectors, rows + vectors, FMA_LATENCY) + 1


def is_function(name: str) -> bool:
    """Whether an operation of a name is an elementary function of several instructions."""
    return name.startswith("math.") and name not in _QUICK


def has_functions(flat: FlatNest) -> bool:
    """Whether a nest computes elementary functions of several instructions."""
    return any(is_function(op.name) for op in flat.slice)


def bits_of(type_: ir.Type) -> int:
    """Return the size of a number."""
    if isinstance(type_, ir.IndexType):
        return 64
    return max(8, type_.width)
