"""Scalar promotion: places that each step of a loop loads and stores stay in registers."""

from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import root
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    Copier,
    Lin,
    integer_of,
    is_inside,
    linear,
)
from relax_mlir.lowering.tir_to_vector.scheduled.threads import MARK
from relax_mlir.lowering.walk import collect

# Where the buffer is among an operation's operands, where the mask is, and whether it stores.
_KINDS = {
    "memref.load": (0, None, False),
    "memref.store": (1, None, True),
    "vector.load": (0, None, False),
    "vector.store": (1, None, True),
    "vector.maskedload": (0, -2, False),
    "vector.maskedstore": (0, -2, True),
}
_TOUCHES_NOTHING = ("arith.", "math.", "vector.", "scf.", "memref.dim", "ub.")
# The maximal places in registers.
_MAX = 64


@dataclass
class _Access:
    op: ir.Operation
    buffer: ir.Value
    where: list[Lin]
    width: int
    mask: ir.Value | None
    stores: bool

    @property
    def indices(self) -> list[ir.Value]:
        """The indices as operands."""
        first = _KINDS[self.op.name][0] + 1
        return list(self.op.operands)[first : first + len(self.where)]

    @property
    def key(self) -> tuple:
        """What is equal for accesses of one place in one way."""
        return (
            self.buffer,
            tuple(lin.key() for lin in self.where),
            str(_type_of(self.op)),
            self.mask,
        )


@dataclass
class _Place:
    """A place that does not change in a loop."""

    accesses: list[_Access] = field(default_factory=list)

    @property
    def first(self) -> _Access:
        """One of its accesses."""
        return self.accesses[0]


def promote(func: ir.OpView, emit: Emitter) -> None:
    """Promote such places of the marked loops of a function, inner loops first."""
    for loop in reversed(collect(func.operation, lambda op: MARK in op.attributes)):
        del loop.attributes[MARK]
        if loop.name == "scf.for":
            places = _places(loop)
            if places:
                _carry(loop, places, emit)


def _places(loop: ir.Operation) -> list[_Place]:
    body = loop.regions[0].blocks[0]
    known: dict[ir.Value, Lin] = {}
    accesses: list[_Access] = []
    blocked: list[ir.Value] = []
    for op in collect(loop, lambda op: op != loop):
        if op.name in _KINDS:
            accesses.append(_access(op, known))
            continue
        memory = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if op.name == "func.call" or (memory and op.name not in ("memref.dim",)):
            if op.name == "func.call" or op.name.startswith("omp."):
                return []
            blocked += [root(value) for value in memory]
        elif not op.name.startswith(_TOUCHES_NOTHING) and op.name != "memref.alloc":
            return []
    groups: dict[tuple, _Place] = {}
    for access in accesses:
        groups.setdefault(access.key, _Place()).accesses.append(access)
    result = []
    for place in groups.values():
        first = place.first
        if not any(access.stores for access in place.accesses):
            continue
        if any(access.op.block != body for access in place.accesses):
            continue
        # Also where the loop's index drops out of the linear form, as of i * 0: it is copied as is.
        if any(_varies(value, loop) for value in first.indices):
            continue
        if first.mask is not None and is_inside(first.mask, loop):
            continue
        if is_inside(first.buffer, loop):
            continue
        base = root(first.buffer)
        if any(base == each for each in blocked):
            continue
        others = [a for a in accesses if a.key != first.key and root(a.buffer) == base]
        if all(_are_disjoint(first, other) for other in others):
            result.append(place)
    return result if len(result) <= _MAX else []


def _access(op: ir.Operation, known: dict[ir.Value, Lin]) -> _Access:
    position, mask, stores = _KINDS[op.name]
    operands = list(op.operands)
    buffer = operands[position]
    where = operands[position + 1 : position + 1 + buffer.type.rank]
    type_ = _type_of(op)
    width = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    return _Access(
        op, buffer, [linear(value, known) for value in where], width,
        None if mask is None else operands[mask], stores,
    )  # fmt: skip


def _type_of(op: ir.Operation) -> ir.Type:
    """Return the type of what is loaded or stored."""
    if len(op.results):
        return op.results[0].type
    return op.operands[-1 if op.name == "vector.maskedstore" else 0].type


def _varies(value: ir.Value, loop: ir.Operation) -> bool:
    if not is_inside(value, loop):
        return False
    if isinstance(value.owner, ir.Block):
        return True
    op = value.owner.operation
    if not op.name.startswith(("arith.", "memref.dim")):
        return True
    return any(_varies(operand, loop) for operand in op.operands)


def _are_disjoint(a: _Access, b: _Access) -> bool:
    """Whether two accesses of one buffer never alias."""
    if a.buffer != b.buffer:
        return False
    for number, (x, y) in enumerate(zip(a.where, b.where, strict=True)):
        difference = y.plus(x, -1)
        if not difference.is_const:
            continue
        distance = difference.const
        if number < len(a.where) - 1:
            if distance:
                return True
        elif distance >= a.width or -distance >= b.width:
            return True
    return False


def _carry(loop: ir.Operation, places: list[_Place], emit: Emitter) -> None:
    lower, upper = (integer_of(value) for value in list(loop.operands)[:2])
    runs = isinstance(lower, int) and isinstance(upper, int) and lower < upper
    with loop.location, ir.InsertionPoint(loop):
        if not runs and not all(_is_touched(place, loop) for place in places):
            # A loop without steps touches nothing.
            if len(loop.results):
                return
            condition = emit.compare("slt", lower, upper)
            guard = ir.Operation.create("scf.if", operands=[condition], regions=2)
            with ir.InsertionPoint(guard.regions[0].blocks.append()):
                end = ir.Operation.create("scf.yield")
            loop.move_before(end)
    with loop.location, ir.InsertionPoint(loop):
        copier = Copier(emit, {})
        operands: list[list[ir.Value]] = []
        before: list[ir.Value] = []
        for place in places:
            access = place.first
            indices = [copier.pull(value, loop) for value in access.indices]
            operands.append([access.buffer, *indices])
            before.append(_load(access, operands[-1], emit))
        _rebuild(loop, places, operands, before, emit)


def _load(access: _Access, operands: list[ir.Value], emit: Emitter) -> ir.Value:
    type_ = _type_of(access.op)
    if not isinstance(type_, ir.VectorType):
        return emit.load(operands[0], operands[1:])
    return emit.vector_load(operands[0], operands[1:], type_, access.mask)


def _rebuild(
    loop: ir.Operation, places: list[_Place], operands: list[list[ir.Value]],
    before: list[ir.Value], emit: Emitter,
) -> None:  # fmt: skip
    body = loop.regions[0].blocks[0]
    made = ir.Operation.create(
        "scf.for",
        results=[*(r.type for r in loop.results), *(value.type for value in before)],
        operands=[*loop.operands, *before],
        attributes={name: loop.attributes[name] for name in loop.attributes},
        regions=1,
    )
    old = list(body.arguments)
    types = [argument.type for argument in old] + [value.type for value in before]
    block = made.regions[0].blocks.append(*types)
    for argument, new in zip(old, block.arguments, strict=False):
        argument.replace_all_uses_with(new)
    current = dict(zip((place.first.key for place in places),
                       list(block.arguments)[len(old) :], strict=True))  # fmt: skip
    of_op = {access.op: place.first.key for place in places for access in place.accesses}
    for view in list(body.operations):
        op = view.operation
        key = of_op.get(op)
        if op.name == "scf.yield":
            with ir.InsertionPoint(block):
                emit.op("scf.yield", [*op.operands, *current.values()])
            op.erase()
        elif key is None:
            block.append(op)
        elif _KINDS[op.name][2]:
            stored = list(op.operands)[-1 if op.name == "vector.maskedstore" else 0]
            current[key] = stored
            op.erase()
        else:
            op.results[0].replace_all_uses_with(current[key])
            op.erase()
    for place, where, result in zip(
        places, operands, list(made.results)[len(loop.results) :], strict=True
    ):
        if isinstance(result.type, ir.VectorType):
            emit.vector_store(result, where[0], where[1:], place.first.mask)
        else:
            emit.store(result, where[0], where[1:])
    for result, new in zip(loop.results, made.results, strict=False):
        result.replace_all_uses_with(new)
    loop.erase()


def _is_touched(place: _Place, loop: ir.Operation) -> bool:
    """Whether a place is in any case loaded or stored just before a loop."""
    known: dict[ir.Value, Lin] = {}
    first = place.first
    for view in loop.block.operations:
        op = view.operation
        if op == loop:
            return False
        if op.name in _KINDS and _KINDS[op.name][1] is None:
            other = _access(op, known)
            if other.buffer == first.buffer and other.key[1:3] == first.key[1:3]:
                return True
    return False
