"""How prim funcs read and write: the pattern kinds that decide which operations are fused."""

from enum import IntEnum

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.expr.places import defining_op
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.index import Indices

_CASTS = ("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci",
          "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.index_cast",
          "arith.index_castui")  # fmt: skip
_SUMS, _PRODUCTS = ("arith.addf", "arith.addi"), ("arith.mulf", "arith.muli")
# What a prim func of loops and blocks consists of; anything else may do more than compute.
_KNOWN = ("arith.", "math.", "memref.", "scf.", "tir.for", "tir.block", "tir.symbol", "tir.where",
          "tir.reads", "tir.writes", "tir.yield", "func.return", "func.func")  # fmt: skip


class OpPatternKind(IntEnum):
    """TVM's kinds, from what fuses with almost everything to what fuses with nothing.

    The numbers are those of TVM's attribute `op_pattern`.
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def op_pattern_kind(func: ir.Operation) -> OpPatternKind:
    """Return the kind of a prim func, by the indices of its loads and stores in each block.

    An elementwise function reads where it writes, a broadcast one leaves axes out. An injective one
    reads any function of the place that it writes, also by a table of indices of its own or of the
    same elements in another shape. A reduction sums over further axes. One of
    `OUT_ELEMWISE_FUSABLE`, such as a matrix product or a softmax, takes elementwise functions of
    its result. Sizes in indices count as numbers.
    """
    if any(not op.name.startswith(_KNOWN) for op in tree.walk(func)):
        return OpPatternKind.OPAQUE
    blocks = [op for op in tree.nested_blocks(func) if len(tree.nested_blocks(op)) == 1]
    kind = OpPatternKind.ELEMWISE if blocks else OpPatternKind.OPAQUE
    parameters = set(tree.body_of(func).arguments)
    indices = Indices(func)
    for block in blocks:
        pattern = _Block(indices, block)
        own = pattern.kind()
        is_output = any(_root(store.operands[1]) in parameters for store in pattern.stores)
        if own is OpPatternKind.OPAQUE or pattern.reduces:
            kind = max(kind, own)
        elif is_output and kind is OpPatternKind.COMM_REDUCE:
            # A reduction and a map of its result, such as softmax.
            kind = OpPatternKind.OUT_ELEMWISE_FUSABLE
        else:
            kind = max(kind, own)
    return kind


class _Block:
    """What one block reads and writes."""

    def __init__(self, indices: Indices, block: ir.Operation) -> None:
        self._indices, self._block = indices, block
        body = [op for view in tree.body_of(block).operations for op in tree.walk(view.operation)]
        self.stores = [op for op in body if op.name == "memref.store"]
        self._loads = [op for op in body if op.name == "memref.load"]
        self.reduces = False

    def kind(self) -> OpPatternKind:
        places = [self._place(store, 2) for store in self.stores]
        if not places or any(place != places[0] for place in places):
            return OpPatternKind.OPAQUE
        kinds = [self._of_load(load, places[0]) for load in self._loads]
        if OpPatternKind.OPAQUE not in kinds:
            result = max(kinds, default=OpPatternKind.ELEMWISE)
            if result is OpPatternKind.BROADCAST and OpPatternKind.ELEMWISE in kinds:
                return OpPatternKind.ELEMWISE
            return result
        arguments = tree.body_of(self._block).arguments
        reduced = {
            self._name(argument)
            for argument, kind in zip(arguments, tree.iter_types(self._block), strict=True)
            if kind == "reduction"
        }
        if not reduced:
            return OpPatternKind.OPAQUE
        self.reduces = True
        plain = all(
            index.name in reduced or not index.symbols & reduced
            for load in self._loads
            for index in self._place(load, 1)
        )
        if not plain or self._multiplies_and_adds(places[0]):
            return OpPatternKind.OUT_ELEMWISE_FUSABLE
        return OpPatternKind.COMM_REDUCE

    def _place(self, access: ir.Operation, first: int) -> list[SymExpr]:
        return [self._indices.lift(value) for value in list(access.operands)[first:]]

    def _name(self, value: ir.Value) -> str:
        name = self._indices.var(value).name
        assert name is not None, "an iterator is a symbol"
        return name

    def _of_load(self, load: ir.Operation, written: list[SymExpr]) -> OpPatternKind:
        read = self._place(load, 1)
        if read == written:
            reshaped = any(map(_is_view, (load.operands[0], self.stores[0].operands[1])))
            return OpPatternKind.INJECTIVE if reshaped else OpPatternKind.ELEMWISE
        shape = ir.MemRefType(load.operands[0].type).shape
        rest = iter(written)
        if all(
            index in rest for size, index in zip(shape, read, strict=True)
            if size != 1 or index.value != 0
        ):  # fmt: skip
            return OpPatternKind.BROADCAST
        parts = [self._iterators(index) for index in written]
        plain = all(
            not part or (part == {name} and (index - SymExpr.var(name)).symbols.isdisjoint(part))
            for index, part in zip(written, parts, strict=True)
            for name in [next(iter(part), "")]
        )
        used = set().union(*map(self._iterators, read))
        if plain and used <= set().union(*parts):
            return OpPatternKind.INJECTIVE
        return OpPatternKind.OPAQUE

    def _iterators(self, index: SymExpr) -> set[str]:
        """Return the variables that an index depends on, those behind tables of indices too."""
        result: set[str] = set()
        for name in index.symbols:
            value = self._indices.value_of(name)
            if value is None:
                continue
            op = _without_casts(value)
            is_table = (
                op is not None
                and op.name == "memref.load"
                and defining_op(_root(op.operands[0])) is not None
            )
            if op is None or not is_table:
                result.add(name)
                continue
            for inner in self._place(op, 1):
                result |= self._iterators(inner)
        return result

    def _multiplies_and_adds(self, written: list[SymExpr]) -> bool:
        """Whether the block adds products of two tensors, each of which it reads repeatedly."""
        if len(self.stores) != 1:
            return False
        total = _without_casts(self.stores[0].operands[0])
        if total is None or total.name not in _SUMS:
            return False
        sides = [_without_casts(value) for value in total.operands]
        products = [op for op in sides if op is not None and op.name in _PRODUCTS]
        if len(products) != 1:
            return False
        factors = [_without_casts(value) for value in products[0].operands]
        loads = [op for op in factors if op is not None and op.name == "memref.load"]
        return len(loads) == 2 and all(self._is_reused(load, written) for load in loads)

    def _is_reused(self, load: ir.Operation, written: list[SymExpr]) -> bool:
        names = {index.name for index in written if index.name is not None}
        return not names <= {name for index in self._place(load, 1) for name in index.symbols}


def _is_view(buffer: ir.Value) -> bool:
    """Whether a buffer is another shape of another one."""
    op = defining_op(buffer)
    return op is not None and op.name != "memref.alloc"


def _root(buffer: ir.Value) -> ir.Value:
    while _is_view(buffer):
        op = defining_op(buffer)
        assert op is not None, "a view has a source"
        buffer = op.operands[0]
    return buffer


def _without_casts(value: ir.Value) -> ir.Operation | None:
    op = defining_op(value)
    while op is not None and op.name in _CASTS:
        op = defining_op(op.operands[0])
    return op
