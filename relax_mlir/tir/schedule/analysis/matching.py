"""Matching a block against an intrinsic's description, and its buffers' regions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.view import buffers, tree
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify

_EFFECTS = (tree.LOOP, tree.BLOCK, "memref.store")
_PLACES = {"memref.load": 0, "memref.store": 1}
_COMMUTE = ("arith.addf", "arith.mulf", "arith.addi", "arith.muli", "arith.maximumf",
            "arith.minimumf", "arith.andi", "arith.ori", "arith.xori")  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Which part of a buffer a parameter of a description is.

    Attributes:
        buffer: the buffer.
        base: for each of its dimensions where the part begins; dimensions that the parameter does
            not have come first.
    """

    buffer: ir.Value
    base: tuple[SymExpr, ...]


class Mismatch(Exception):
    """The program is not as described; the text says what differs."""


def root_of(function: ir.Operation) -> ir.Operation:
    """Return what holds the statements of a description: its one block without iterators, or it."""
    result = tree.statements(tree.body_of(function))
    if len(result) == 1 and result[0].name == tree.BLOCK and not tree.iter_types(result[0]):
        return result[0]
    return function


@dataclass
class Matcher:
    """Compares a description with a block.

    Attributes:
        own: index arithmetic of the program.
        other: index arithmetic of the description.
        parts: what the parameters of the description are.
    """

    own: Indices
    other: Indices
    parts: dict[ir.Value, Part] = field(default_factory=dict)
    _values: dict[str, SymExpr] = field(default_factory=dict)
    _inner: set[str] = field(default_factory=set)
    # Iterators of one step of the program.
    _zeros: dict[str, SymExpr] = field(default_factory=dict)

    def bodies(self, desc: ir.Block, body: ir.Block) -> None:
        """Compare what two bodies do, in order.

        Raises:
            Mismatch: they do different things.
        """
        wanted, actual = _effects(desc), _effects(body)
        if [op.name for op in wanted] != [op.name for op in actual]:
            raise Mismatch(f"expected {_list(wanted)}, got {_list(actual)}")
        for a, b in zip(wanted, actual, strict=True):
            if a.name == tree.LOOP:
                self._loops(a, b)
            elif a.name == tree.BLOCK:
                self._blocks(a, b)
            else:
                self._elements(a, b)
                self._value(a.operands[0], b.operands[0])

    def _loops(self, desc: ir.Operation, loop: ir.Operation) -> None:
        what = tree.describe(loop)
        for position, kind in ((0, "start"), (1, "extent")):
            wanted = self._mapped(self.other.lift(desc.operands[position]))
            actual = self.own.lift(loop.operands[position])
            if wanted != actual:
                raise Mismatch(f"{what} has the {kind} {actual}, expected {wanted}")
        self._bind(tree.variable(desc), tree.variable(loop))
        self.bodies(tree.body_of(desc), tree.body_of(loop))

    def _blocks(self, desc: ir.Operation, block: ir.Operation) -> None:
        what = tree.describe(block)
        wanted, actual = _iterators(self.other, desc), _iterators(self.own, block)
        if [kind for kind, *_ in wanted] != [kind for kind, *_ in actual]:
            raise Mismatch(
                f"{what} has the iterators {[kind for kind, *_ in actual]}, expected "
                f"{[kind for kind, *_ in wanted]}"
            )
        for (_, value, extent, position), (_, own, own_extent, own_position) in zip(
            wanted, actual, strict=True
        ):
            if self._mapped(value) != own or extent != own_extent:
                raise Mismatch(
                    f"an iterator of {what} is {own} of {own_extent}, expected "
                    f"{self._mapped(value)} of {extent}"
                )
            for region, own_region in zip(desc.regions, block.regions, strict=True):
                for a, b in zip(region.blocks, own_region.blocks, strict=False):
                    self._bind(a.arguments[position], b.arguments[own_position])
        for indices, op in ((self.other, desc), (self.own, block)):
            self._units(indices, op, indices is self.other)
            if indices.block_conditions(op):
                raise Mismatch(f"{tree.describe(op)} has a predicate")
        if tree.has_init(desc) != tree.has_init(block):
            has = "has no" if tree.has_init(desc) else "has an"
            raise Mismatch(f"{what} {has} init region, the description is otherwise")
        if tree.has_init(desc):
            self.bodies(desc.regions[1].blocks[0], block.regions[1].blocks[0])
        self.bodies(tree.body_of(desc), tree.body_of(block))

    def _units(self, indices: Indices, block: ir.Operation, described: bool) -> None:
        """Take iterators of one step for 0."""
        for position, extent in enumerate(indices.extents(block)):
            if extent.value != 1:
                continue
            for region in block.regions:
                for body in region.blocks:
                    name = str(indices.var(body.arguments[position]))
                    if described:
                        self._values[name] = SymExpr.const(0)
                    else:
                        self._zeros[name] = SymExpr.const(0)

    def _bind(self, desc: ir.Value, own: ir.Value) -> None:
        name = self.own.var(own)
        self._values[str(self.other.var(desc))] = name
        self._inner.add(str(name))

    def _mapped(self, expr: SymExpr) -> SymExpr:
        return expr.substitute(self._values)

    def _elements(self, desc: ir.Operation, op: ir.Operation) -> None:
        position = _PLACES[op.name]
        wanted, buffer = desc.operands[position], op.operands[position]
        if wanted.owner != tree.body_of(self.other.function):
            raise Mismatch("the description makes a buffer of its own")
        if isinstance(buffer.type, ir.MemRefType) is False or (
            buffers.dtype_of(wanted) != buffers.dtype_of(buffer)
        ):
            raise Mismatch(
                f"'{buffers.name_of(buffer)}' holds {buffers.dtype_of(buffer)}, expected "
                f"{buffers.dtype_of(wanted)}"
            )
        facts = self.own.facts(op)
        exprs = [self.own.lift(v).substitute(self._zeros)
                 for v in list(op.operands)[position + 1 :]]  # fmt: skip
        described = [self._mapped(self.other.lift(v)) for v in list(desc.operands)[position + 1 :]]
        more = len(exprs) - len(described)
        if more < 0:
            raise Mismatch(f"'{buffers.name_of(buffer)}' has {len(exprs)} dimensions only")
        described = [SymExpr.const(0)] * more + described
        base = tuple(
            simplify(expr - part, facts) for expr, part in zip(exprs, described, strict=True)
        )
        if any(each.symbols & self._inner for each in base):
            raise Mismatch(
                f"'{buffers.name_of(buffer)}' is used at [{', '.join(map(str, exprs))}], which is "
                f"no tile plus [{', '.join(map(str, described))}]"
            )
        part = Part(buffer, base)
        if self.parts.setdefault(wanted, part) != part:
            raise Mismatch(
                f"'{buffers.name_of(wanted)}' of the description would be two parts of buffers"
            )
        alike = [a for a, b in self.parts.items() if b.buffer == buffer and a != wanted]
        if alike and any(_is_stored(each) for each in (wanted, *alike)):
            raise Mismatch(f"'{buffers.name_of(buffer)}' would be two buffers of the description")

    def _value(self, desc: ir.Value, own: ir.Value) -> None:
        if desc.type != own.type:
            raise Mismatch(f"expected a value of {desc.type}, got {own.type}")
        if str(desc.type) == "index":
            if self._mapped(self.other.lift(desc)) != self.own.lift(own).substitute(self._zeros):
                raise Mismatch("an index differs")
            return
        if isinstance(desc.owner, ir.Block) or isinstance(own.owner, ir.Block):
            raise Mismatch("a parameter of a function is used as a number")
        a, b = desc.owner.operation, own.owner.operation
        if a.name != b.name or len(a.regions) or len(b.regions):
            raise Mismatch(f"expected '{a.name}', got '{b.name}'")
        if a.name == "memref.load":
            self._elements(a, b)
            return
        for key in {*a.attributes, *b.attributes}:
            same = key in a.attributes and key in b.attributes
            if not same or a.attributes[key] != b.attributes[key]:
                raise Mismatch(f"'{key}' of '{a.name}' differs")
        operands = list(b.operands)
        if a.name not in _COMMUTE:
            self._operands(a, operands)
            return
        before = dict(self.parts)
        try:
            self._operands(a, operands)
        except Mismatch as first:
            self.parts = before
            try:
                self._operands(a, operands[::-1])
            except Mismatch:
                raise first from None

    def _operands(self, desc: ir.Operation, operands: Sequence[ir.Value]) -> None:
        for wanted, actual in zip(desc.operands, operands, strict=True):
            self._value(wanted, actual)


def _effects(body: ir.Block) -> list[ir.Operation]:
    result = []
    for view in body.operations:
        op = view.operation
        silent = op.name.startswith(("arith.", "math.", *tree.INDEX_ONLY))
        if op.name in _EFFECTS or (op.name != "memref.load" and not silent):
            result.append(op)
    return result


def _list(ops: Sequence[ir.Operation]) -> str:
    return ", ".join(tree.describe(op) for op in ops) or "nothing"


def _iterators(indices: Indices, block: ir.Operation) -> list[tuple[str, SymExpr, SymExpr, int]]:
    """Return type, value, extent and position of each iterator of more than one step."""
    return [
        (kind, value, extent, position)
        for position, (kind, value, extent) in enumerate(
            zip(tree.iter_types(block), indices.bindings(block), indices.extents(block),
                strict=True)
        )
        if extent.value != 1
    ]  # fmt: skip


def _is_stored(buffer: ir.Value) -> bool:
    """Whether elements of a parameter of a description are written."""
    return any(
        use.owner.operation.name == "memref.store" and use.operand_number == 1
        for use in buffer.uses
    )
