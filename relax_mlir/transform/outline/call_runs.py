"""Selection of adjacent `call_tir`s to outline, and motion of the operations between them.

Between two operations with an effect, an operation moves behind the calls if it depends on them,
else before them. A `match_cast` of a result of the calls depends on its shape only, so its check
may come before them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.facts import assume_cast, declared_facts
from relax_mlir.dialects.relax.side_effects import is_pure
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.relax.well_formed import type_dims, type_symbols
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.transform.kernels.calls import KernelSymbols, match_call

_ENDS = ("relax.output", "relax.yield", "relax.condition")
_CASTS = ("relax.match_cast", "relax.match_prim")
# Attributes that hold symbols.
_SYMBOLIC = ("value", "tir_vars")


@dataclass
class Run:
    """Calls that become one.

    Attributes:
        calls: the `relax.call_tir`s, in order.
        leaders: operations between them that must come before.
        followers: operations between them that must come after.
        checks: the `relax.match_cast`s among the followers whose checks must come before.
        renamed: for each result of such a cast, what it is a cast of.
        facts: what is known about symbols when the run begins.
    """

    calls: list[ir.Operation] = field(default_factory=list)
    leaders: list[ir.Operation] = field(default_factory=list)
    followers: list[ir.Operation] = field(default_factory=list)
    checks: list[ir.Operation] = field(default_factory=list)
    renamed: dict[ir.Value, ir.Value] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)


def find_runs(function: ir.Operation, symbols: KernelSymbols) -> list[Run]:
    """Return the runs of at least two calls in a function and its branches and loops."""
    runs: list[Run] = []
    # Blocks to look at, with what is known and the symbols that are bound where they begin.
    pending = [
        (block, declared_facts(function), _bound_by(block.arguments))
        for block in function.regions[0].blocks
    ]
    while pending:
        block, facts, bound = pending.pop()
        scan = _Scan(symbols, facts, bound)
        for view in block.operations:
            op = view.operation
            scan.visit(op)
            pending += [
                (inner, scan.facts.copy(), scan.bound | _bound_by(inner.arguments))
                for region in op.regions
                for inner in region.blocks
            ]
        scan.close()
        runs += scan.runs
    return runs


def _bound_by(values: "ir.BlockArgumentList") -> set[str]:
    return set().union(*(type_symbols(value.type) for value in values))


def symbols_of(op: ir.Operation) -> set[str]:
    """Return the symbols that an operation's results and attributes mention."""
    dims = [dim for result in op.results for dim in type_dims(result.type)]
    for name in _SYMBOLIC:
        if name in op.attributes and isinstance(op.attributes[name], Dims):
            dims += Dims(op.attributes[name]).dims
    return {name for dim in dims for name in dim.symbols}


class _Scan:
    """Reads one block."""

    def __init__(self, symbols: KernelSymbols, facts: Facts, bound: set[str]) -> None:
        self._symbols, self.facts, self.bound = symbols, facts, bound
        self.runs: list[Run] = []
        self._begin()

    def _begin(self) -> None:
        self._run = Run()
        # What the run makes, and what followers make of that: which follower, by value and symbol.
        self._made: set[ir.Value] = set()
        self._late: dict[ir.Value, ir.Operation] = {}
        self._late_symbols: dict[str, ir.Operation] = {}
        self._asserted = False

    def close(self) -> None:
        """End the run."""
        run = self._run
        if run.checks:
            # Of two checks the first one fails first.
            end = max(map(run.followers.index, run.checks))
            run.checks = [op for op in run.followers[: end + 1] if self._can_precede(op)]
        for op in (*run.leaders, *run.checks):
            if op.name == "relax.match_cast":
                assume_cast(self.facts, op)
        if len(run.calls) > 1:
            run.facts = self.facts.copy()
            self.runs.append(run)
        for op in run.followers:
            if op.name == "relax.match_cast":
                assume_cast(self.facts, op)
        self._begin()

    def visit(self, op: ir.Operation) -> None:
        """Let an operation be part of the run, move before or behind it, or end it."""
        new = symbols_of(op) - self.bound
        if op.name == "relax.call_tir" and match_call(op, self._symbols) is not None:
            self._call(op)
        elif op.name in _ENDS or len(op.regions) or not (is_pure(op) or op.name in _CASTS):
            self.close()
        elif self._run.calls:
            self._between(op, new)
        elif op.name == "relax.match_cast":
            assume_cast(self.facts, op)
        self.bound |= new

    def _call(self, op: ir.Operation) -> None:
        arguments = known_fields(op.operands[1])
        assert arguments is not None  # or it would not match
        checks: list[ir.Operation] = []
        if not self._is_free(op, arguments, checks):
            self.close()
        self._run.checks += [check for check in checks if check not in self._run.checks]
        self._run.calls.append(op)
        self._made.add(op.results[0])

    def _is_free(
        self, op: ir.Operation, arguments: list[ir.Value], checks: list[ir.Operation]
    ) -> bool:
        """Whether a call needs nothing of the followers but casts, which are noted."""
        blockers = [self._late_symbols[name] for name in symbols_of(op) & set(self._late_symbols)]
        for value in arguments:
            while value in self._late:
                blockers.append(self._late[value])
                if not self._can_precede(self._late[value]):
                    return False
                value = self._late[value].operands[0]
        for blocker in blockers:
            if not self._can_precede(blocker):
                return False
            checks.append(blocker)
        return True

    def _can_precede(self, op: ir.Operation) -> bool:
        """Whether a follower is a cast that can be checked before the run."""
        return len(op.results) == 1 and op.results[0] in self._run.renamed

    def _between(self, op: ir.Operation, new: set[str]) -> None:
        run = self._run
        operands = list(op.operands)
        depends = any(value in self._made or value in self._late for value in operands)
        depends = depends or bool(symbols_of(op) & set(self._late_symbols))
        # Of two checks, the first one fails first.
        if not depends and not (op.name in _CASTS and self._asserted):
            run.leaders.append(op)
            return
        run.followers.append(op)
        self._asserted = self._asserted or op.name in _CASTS
        self._late.update(dict.fromkeys(op.results, op))
        if op.name == "relax.match_cast" and self._shape_is_known(operands[0], op.results[0]):
            run.renamed[op.results[0]] = operands[0]
        self._late_symbols.update(dict.fromkeys(new, op))

    def _shape_is_known(self, value: ir.Value, cast: ir.Value) -> bool:
        """Whether a tensor of the run, or a cast of one, has a shape known before the run."""
        if value not in self._made and value not in self._run.renamed:
            return False
        tensors = T.is_tensor(value.type) and T.is_tensor(cast.type)
        dims = [T.tensor_dims(each.type) if tensors else None for each in (value, cast)]
        if dims[0] is None or dims[1] is None or len(dims[0]) != len(dims[1]):
            return False
        if T.tensor_dtype(value.type) != T.tensor_dtype(cast.type):
            return False
        late = set(self._late_symbols)
        for dim, other in zip(*dims, strict=True):
            if (dim.symbols | other.symbols) & late:
                return False
            if dim.is_const and other.is_const and dim != other:
                return False
        return True


def resolve(value: ir.Value, renamed: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """Return what a value is a cast of."""
    while value in renamed:
        value = renamed[value]
    return value


def is_argument_tuple(op: ir.Operation, calls: set[ir.Operation]) -> bool:
    """Whether a tuple is made only for calls of a run, and goes with them."""
    users = {use.owner.operation for use in op.results[0].uses} if is_make_tuple(op) else set()
    return bool(users) and users <= calls
