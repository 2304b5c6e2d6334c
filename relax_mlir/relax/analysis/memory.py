"""How much memory the tensors of a program take, with and without sharing it."""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.side_effects import sources
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.relax.analysis.liveness import Liveness
from relax_mlir.relax.analysis.scopes import Values, scopes_of

_ALLOCATING = frozenset(
    ("relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed", "relax.alloc_tensor")
)
_GIB = 1024**3


@dataclass
class FunctionMemory:
    """The tensors that one function makes.

    Attributes:
        name: the function's name.
        sizes: bytes of each tensor whose shape and dtype are known, symbolic where its shape is.
        unknown: how many tensors have a shape or dtype that is not known.
        pools: bytes of the pieces of memory when tensors that are not needed at once share them.
    """

    name: str
    sizes: list[SymExpr] = field(default_factory=list)
    unknown: int = 0
    pools: list[SymExpr] = field(default_factory=list)

    @property
    def total(self) -> SymExpr:
        """Bytes of all known tensors when none shares memory."""
        return sum(self.sizes, SymExpr.const(0))

    @property
    def planned(self) -> SymExpr:
        """Bytes of all pieces of memory."""
        return sum(self.pools, SymExpr.const(0))

    @property
    def constant_sizes(self) -> list[int]:
        """Bytes of the tensors whose size is a number."""
        return [size.value for size in self.sizes if size.value is not None]

    def __str__(self) -> str:
        lines = [
            f"- Function {self.name}:",
            f" * Without memory planning: {_count(len(self.sizes), 'allocation')}, "
            f"{_bytes(self.total)}.",
            f" * With memory planning: {_count(len(self.pools), 'allocation')}, "
            f"{_bytes(self.planned)}.",
        ]
        total, planned = self.total.value, self.planned.value
        if total and planned is not None:
            lines.append(f" * Planning takes {100 * planned / total:.1f}% of it.")
        if self.unknown:
            lines.append(f" * Not counted, of unknown size: {_count(self.unknown, 'tensor')}.")
        return "\n".join(lines)


class MemoryUsage(list[FunctionMemory]):
    """What `estimate_memory_usage` found, one entry for each function; `str()` is the report."""

    def __str__(self) -> str:
        return "\n".join(["Memory usage estimation:", *map(str, self)])

    def __getitem__(self, key: Any) -> Any:
        """Return the entry of a function by name or position.

        Raises:
            KeyError: there is no function of that name.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        for each in self:
            if each.name == key:
                return each
        raise KeyError(key)


def estimate_memory_usage(node: Any) -> MemoryUsage:
    """Estimate the memory for the tensors that functions make, before they are compiled.

    Control flow is not followed: both branches count. Constants, parameters and what called
    functions make themselves do not count.

    Args:
        node: IRModule or Relax function.

    Returns:
        Numbers for each function, and as `str()` a report.

    Raises:
        ExprTypeError: it is neither.
    """
    result = MemoryUsage()
    for scope in scopes_of(node):
        func = scope.func
        if func is not None:
            result.append(_function(func, Values(scope.keep)))
    return result


def _function(func: ir.Operation, values: Values) -> FunctionMemory:
    usage = FunctionMemory(ir.StringAttr(func.attributes["sym_name"]).value)
    live = Liveness(func)
    last = _last_uses(live, values)
    pools = _Pools()
    for position, op in enumerate(live.order):
        if op.name in _ALLOCATING or op.name.removeprefix("relax.") in COMPUTE_OPS:
            for result in op.results:
                sizes = [_size(type_) for type_ in _tensors(result.type)]
                usage.unknown += sizes.count(None)
                known = [size for size in sizes if size is not None]
                usage.sizes += known
                for size in known:
                    pools.take(size, last.get(values.canonical(result), position))
        pools.release(position)
    usage.pools = pools.sizes
    return usage


def _last_uses(live: Liveness, values: Values) -> dict[ir.Value, int]:
    """Return the last use of each value or of anything that may share its memory."""
    last: dict[ir.Value, int] = {}
    for position in range(len(live.order) - 1, -1, -1):
        op = live.order[position]
        for value in values.operands(op):
            last.setdefault(value, position)
        for result in op.results:
            until = last.get(values.canonical(result), position)
            for source in sources(result):
                inner = values.canonical(source)
                last[inner] = max(until, last.get(inner, until))
    for value in list(last):
        kept = live._last.get(value)
        if kept is not None:
            last[value] = max(kept, last[value])
    return last


class _Pools:
    """Pieces of memory, reused by what is not larger than them."""

    def __init__(self) -> None:
        self.sizes: list[SymExpr] = []
        # By size: a program has many tensors of few sizes.
        self._free: dict[SymExpr, list[int]] = {}
        self._busy: dict[int, list[int]] = {}

    def take(self, size: SymExpr, until: int) -> None:
        """Use the smallest free piece that is large enough, or a new one, up to a position."""
        best = size if size in self._free else None
        if best is None:
            for other in self._free:
                if can_prove_less_equal(size, other) and (
                    best is None or can_prove_less_equal(other, best)
                ):
                    best = other
        if best is None:
            index = len(self.sizes)
            self.sizes.append(size)
        else:
            index = self._free[best].pop()
            if not self._free[best]:
                del self._free[best]
        self._busy.setdefault(until, []).append(index)

    def release(self, position: int) -> None:
        """Free what was needed up to a position."""
        for index in self._busy.pop(position, []):
            self._free.setdefault(self.sizes[index], []).append(index)


def _tensors(type_: ir.Type) -> list[ir.Type]:
    result, stack = [], [type_]
    while stack:
        part = stack.pop()
        if is_tuple(part):
            stack += field_types(part)[::-1]
        elif T.is_tensor(part):
            result.append(part)
    return result


def _size(type_: ir.Type) -> SymExpr | None:
    dims, dtype = T.tensor_dims(type_), T.tensor_dtype(type_)
    if dims is None or not dtype:
        return None
    size = SymExpr.const(T.dtype_size(dtype))
    for dim in dims:
        size = size * dim
    return size


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _bytes(size: SymExpr) -> str:
    value = size.value
    return f"{size} bytes" if value is None else f"{value} bytes ({value / _GIB:.3g} GiB)"
