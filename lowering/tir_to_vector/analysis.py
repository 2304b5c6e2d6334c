"""What each block computes, from its iterators and affine accesses."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.int4 import is_int4
from relax_mlir.lowering.tir_to_vector.scheduled.index import Lin, linear
from relax_mlir.lowering.walk import collect, defining_op, enclosing

BRANCH = "scf.if"
# Divisions of an iterator.
QUOTIENTS = ("arith.floordivsi", "arith.divsi", "arith.divui")
REMAINDERS = ("arith.remsi", "arith.remui")
# Operations that must not divide by zero.
DIVIDES = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui", "math.ipowi",
)  # fmt: skip


def operations(op: ir.Operation) -> list[ir.Operation]:
    """Return an operation and all operations inside it, in order, without terminators."""
    return collect(op, lambda inner: inner.name != "scf.yield")


def is_plain(op: ir.Operation) -> bool:
    """Whether a branch has a vector form: it gives one value, or has one conditional store.

    Besides loads it computes, and no division inside could be by zero.
    """
    inside = [inner for inner in operations(op) if inner != op]
    stores = [inner for inner in inside if inner.name == "memref.store"]
    if len(op.results) == 0:
        has_else = len(op.regions[1].blocks) > 0
        if has_else or len(stores) != 1 or stores[0].block != op.regions[0].blocks[0]:
            return False
    elif len(op.results) != 1 or stores:
        return False
    return all(_computes(inner) for inner in inside)


def _computes(op: ir.Operation) -> bool:
    if op.name == BRANCH:
        return len(op.results) == 1
    if op.name in DIVIDES:
        by = constant_or_value(op.operands[1])
        return isinstance(by, int) and by not in (0, -1)
    return op.name in ("memref.load", "memref.store") or op.name.startswith(ELEMENTWISE)


def result_of(op: ir.Operation, number: int) -> ir.Value:
    """Return the result of one side of a branch."""
    *_, last = op.regions[number].blocks[0].operations
    return last.operation.operands[0]


def is_within(op: ir.Operation, body: ir.Block) -> bool:
    """Whether an operation is in a block, or in a branch there."""
    while op.block != body:
        parent = op.parent
        if parent is None or parent.operation.name != BRANCH:
            return False
        op = parent.operation
    return True


def guard_of(op: ir.Operation, body: ir.Block) -> ir.Operation | None:
    """Return the branch that an operation of a block stands in, if any."""
    return None if op.block == body else op.parent.operation


# Kinds of loops that a schedule chose: such nests keep their loops.
BY_HAND = ("vectorized", "unrolled")
BY_HAND_REASON = "its loops are scheduled by hand"
# A block's annotation: its class, which plain loops compute as fast as it should be.
KERNEL_CLASS = "tir.kernel_class"
_IGNORED = ("tir.reads", "tir.writes", "tir.yield")
# What computes numbers from numbers.
ELEMENTWISE = ("arith.", "math.")
# Operations that nests may be moved across: they use no buffer.
_MOVABLE = ("memref.alloc", "arith.", "tir.symbol", "memref.dim")
# What may occur next to the one block of a nest: sizes, and the end of the loop.
_INDEX_ONLY = ("tir.yield", "tir.symbol", "arith.")


@dataclass(frozen=True)
class BlockInfo:
    """How a block is lowered.

    Attributes:
        name: the block's name.
        kind: elementwise, broadcast, injective, reduction, contraction, scan or opaque.
        fast: whether it becomes vector code.
        reason: why not, empty when it does.
    """

    name: str
    kind: str
    fast: bool
    reason: str = ""


# The report on loops around plain statements.
WITHOUT_BLOCKS = BlockInfo("loops", "opaque", False, "no T.block says what they compute")


# An affine expression of a block's iterators: a constant, and their factors, none of them 0.
Affine = tuple[int, dict[int, int]]


@dataclass
class Access:
    """One load or store: for each dimension an affine expression of the iterators, or None."""

    op: ir.Operation
    buffer: ir.Value
    exprs: list[Affine | None]

    @property
    def iters(self) -> list[int | None]:
        """For each dimension its iterator, -1 for the constant 0, None for other indices."""
        return [_plain(expr) for expr in self.exprs]

    def dims_of_iter(self, position: int) -> list[int]:
        """Return the dimensions whose index depends on an iterator, or may."""
        return [i for i, expr in enumerate(self.exprs) if expr is None or position in expr[1]]


@dataclass
class Nest:
    """A perfect nest of loops from 0 around one block, whose iterators are the loops' counters.

    Attributes:
        loops: outermost first.
        loop_of: for each iterator the position of its loop.
        types: for each iterator its type.
    """

    loops: list[ir.Operation]
    block: ir.Operation
    loop_of: list[int]
    types: list[str]
    loads: list[Access] = field(default_factory=list)
    stores: list[Access] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The block's name."""
        return ir.StringAttr(self.block.attributes["block_name"]).value

    @property
    def top(self) -> ir.Operation:
        """The outermost operation."""
        return self.loops[0] if self.loops else self.block

    @property
    def order(self) -> list[int]:
        """The iterators by their loops, outermost first."""
        return sorted(range(len(self.types)), key=lambda i: self.loop_of[i])

    def has_init(self) -> bool:
        """Whether the block has an init region."""
        return len(self.block.regions[1].blocks) > 0

    def body(self) -> list[ir.Operation]:
        """Return the operations of the block's body that compute."""
        return [
            view.operation
            for view in self.block.regions[0].blocks[0].operations
            if view.operation.name not in _IGNORED
        ]


# Side effects that no fast path supports.
_EFFECTS = ("tir.assert", "tir.call_extern", "tir.call_packed")


@dataclass
class Known:
    """What is known of nests while the program does not change.

    Attributes:
        nests: by their first operation: the nest, or why there is none.
        flat: by identity of a nest: the nest, and its flat form or why it has none. Not in the
            nest: a reference cycle would keep the program alive.
        places: of operations of blocks: how many operations up to it are in the way of adjacent
            nests, and whether it is.
    """

    nests: dict[ir.Operation, Nest | str] = field(default_factory=dict)
    flat: dict[int, tuple[Nest, Any]] = field(default_factory=dict)
    places: dict[ir.Operation, tuple[int, bool]] = field(default_factory=dict)


_KNOWN: ContextVar[Known | None] = ContextVar("known nests", default=None)


@contextmanager
def unchanged() -> Iterator[None]:
    """Match and flatten each nest once in this context, in which the program must not change."""
    token = _KNOWN.set(Known())
    try:
        yield
    finally:
        _KNOWN.reset(token)


def known_nests() -> Known | None:
    """Return what is known of nests, inside `unchanged`."""
    return _KNOWN.get()


def match_nest(op: ir.Operation, *, branches: bool = False) -> Nest | str:
    """Return the nest whose outermost loop, or block, an operation is, or why it is none.

    With `branches` its block may hold branches that have a vector form.
    """
    known = _KNOWN.get()
    if known is None or branches:
        return _match_nest(op, branches)
    if op not in known.nests:
        known.nests[op] = _match_nest(op, branches)
    return known.nests[op]


def _match_nest(op: ir.Operation, branches: bool) -> Nest | str:
    loops, op = perfect_nest(op)
    for loop in loops:
        if constant_or_value(loop.operands[0]) != 0:
            return "a loop does not start at 0"
        if kind_of_loop(loop) in BY_HAND:
            return BY_HAND_REASON
    if op is None:
        return "its loops hold more than one block"
    if op.name != "tir.block":
        return f"'{op.name}' inside its loops"
    if block_predicate(op) is not None:
        return "a predicate says which of its points run"
    types = iter_types(op)
    counters = [counter_of(loop) for loop in loops]
    values = list(op.operands)[: len(types)]
    if len(values) != len(counters) or any(value not in counters for value in values):
        return "its iterators are not the counters of its loops"
    loop_of = [counters.index(value) for value in values]
    if len(set(loop_of)) != len(loop_of):
        return "two of its iterators are one loop's counter"
    if any(_inside(value, loops) for loop in loops for value in loop.operands):
        return "a loop's extent depends on an outer loop"
    nest = Nest(loops, op, loop_of, types)
    inside = nest.body()
    if branches:
        inside = [each for inner in inside for each in _opened(inner)]
    arguments = list(op.regions[0].blocks[0].arguments)
    for inner in inside:
        if inner.name.startswith(ELEMENTWISE):
            continue
        if any(is_int4(operand.type) for operand in inner.operands):
            return "a buffer of 4-bit integers"
        if inner.name == "memref.load":
            nest.loads.append(_access(inner, 0, arguments))
        elif inner.name == "memref.store":
            nest.stores.append(_access(inner, 1, arguments))
        elif len(inner.regions) or inner.name in _EFFECTS:
            return f"'{inner.name}' inside the block"
    return nest


def perfect_nest(op: ir.Operation) -> tuple[list[ir.Operation], ir.Operation | None]:
    """Return nested loops, outermost first, and what is in them; None for several operations."""
    loops: list[ir.Operation] = []
    while op.name == "tir.for":
        loops.append(op)
        inner = statements(op)
        if len(inner) != 1:
            return loops, None
        op = inner[0]
    return loops, op


def statements(loop: ir.Operation) -> list[ir.Operation]:
    """Return the operations of a loop's body, without sizes and the end of the body."""
    body = loop.regions[0].blocks[0].operations
    return [view.operation for view in body if not view.operation.name.startswith(_INDEX_ONLY)]


def divisors(nest: Nest, names: Sequence[str]) -> dict[int, int]:
    """Return the iterators that operations of these names divide by one number, and that."""
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    result: dict[int, set[int]] = {}
    for op in nest.body():
        if op.name in names and op.operands[0] in arguments:
            by = constant_or_value(op.operands[1])
            numbers = result.setdefault(arguments.index(op.operands[0]), set())
            numbers.add(by if isinstance(by, int) else 0)
    return {i: min(by) for i, by in result.items() if len(by) == 1 and min(by) > 1}


def iter_types(block: ir.Operation) -> list[str]:
    """Return the types of a block's iterators."""
    return [ir.StringAttr(kind).value for kind in block.attributes["iter_types"]]


def counter_of(loop: ir.Operation) -> ir.Value:
    """Return the counter of a `tir.for`."""
    return loop.regions[0].blocks[0].arguments[0]


def _opened(op: ir.Operation) -> list[ir.Operation]:
    """Return the operations in a branch that has a vector form; of others the operation itself."""
    if op.name != BRANCH or not is_plain(op):
        return [op]
    return [inner for inner in operations(op) if inner.name != BRANCH]


def _inside(value: ir.Value, loops: list[ir.Operation]) -> bool:
    op = defining_op(value)
    if op is None:
        return any(value.owner == loop.regions[0].blocks[0] for loop in loops)
    return any(_inside(operand, loops) for operand in op.operands)


def _access(op: ir.Operation, position: int, arguments: list[ir.Value]) -> Access:
    buffer, *indices = list(op.operands)[position:]
    return Access(op, buffer, affine_forms(indices, arguments))


def affine_forms(indices: Iterable[ir.Value], arguments: list[ir.Value]) -> list[Affine | None]:
    """Return indices as affine expressions of a block's iterators, None for those that are not."""
    known = {argument: Lin(0, {argument: 1}) for argument in arguments}
    positions = {argument: i for i, argument in enumerate(arguments)}
    return [
        (form.const, {positions[term]: factor for term, factor in form.terms.items()})
        if form.terms.keys() <= positions.keys()
        else None
        for form in (linear(index, known) for index in indices)
    ]


def _plain(expr: Affine | None) -> int | None:
    constant, factors = expr or (1, {})
    known = constant == 0 and list(factors.values()) in ([], [1])
    return next(iter(factors), -1) if known else None


def kind_of(nest: Nest) -> str:
    """Return the class of a nest's block; a contraction is a reduction here."""
    for kind in ("scan", "opaque", "reduction"):
        if kind in nest.types:
            return kind
    if len(nest.stores) != 1:
        return "opaque"
    written = nest.stores[0].iters
    if sorted(i for i in written if i is not None and i >= 0) != list(range(len(nest.types))):
        return "opaque"
    kind = "elementwise"
    for load in nest.loads:
        iters = load.iters
        if iters == written:
            continue
        moving = [i for i in iters if i is not None and i >= 0]
        if None in iters or moving != sorted(moving, key=written.index):
            return "injective"
        kind = "broadcast"
    return kind


def declared_class(block: ir.Operation) -> str | None:
    """Return the class that a block is annotated with, None where it is not."""
    notes = block.attributes.get("annotations", {})
    return notes[KERNEL_CLASS].value if KERNEL_CLASS in notes else None


def kind_of_loop(op: ir.Operation) -> str:
    """Return the kind of a `tir.for`, nothing for other operations."""
    return ir.StringAttr(op.attributes["kind"]).value if op.name == "tir.for" else ""


def make_loop(
    lower: ir.Value, extent: ir.Value, kind: str
) -> tuple[ir.Operation, ir.Value, ir.InsertionPoint]:
    """Write a `tir.for`; return it, its counter, and the insertion point of its body."""
    made = ir.Operation.create(
        "tir.for", operands=[lower, extent], regions=1,
        attributes={"kind": ir.StringAttr.get(kind)},
    )  # fmt: skip
    body = made.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        end = ir.Operation.create("tir.yield")
    return made, body.arguments[0], ir.InsertionPoint(end)


def make_block(
    like: ir.Operation, operands: Iterable[ir.Value], **changes: ir.Attribute
) -> ir.Operation:
    """Write a `tir.block` with empty regions and the attributes of another one, some changed."""
    attributes = {name: like.attributes[name] for name in like.attributes} | changes
    return ir.Operation.create(
        "tir.block", operands=list(operands), attributes=attributes, regions=2
    )


def top_level(func: ir.OpView) -> Iterator[ir.Operation]:
    """Yield the loops and blocks directly in a function's body."""
    for view in list(func.entry_block.operations):
        if view.operation.name in ("tir.for", "tir.block"):
            yield view.operation


def is_used_only_in(buffer: ir.Value, nests: Iterable[Nest]) -> bool:
    """Whether only the blocks of some nests use a buffer."""
    blocks = [nest.block for nest in nests]
    users = [enclosing(use.owner.operation, "tir.block") for use in buffer.uses]
    # Lowered operations are in no block; an operation does not compare with None.
    return all(user is not None and user in blocks for user in users)


def is_adjacent(first: ir.Operation, second: ir.Operation) -> bool:
    """Whether two operations of a block can run together."""
    known = _KNOWN.get() or Known()
    if first not in known.places:
        barriers = 0
        for view in first.block.operations:
            stands = not view.operation.name.startswith(_MOVABLE)
            barriers += stands
            known.places[view.operation] = barriers, stands
    if first.block != second.block or not first.is_before_in_block(second):
        return False
    upto, stands = known.places[second]
    return upto - stands == known.places[first][0]
