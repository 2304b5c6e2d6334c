"""Scalar promotion: places that each step of a loop loads and stores stay in registers."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    ACCESSES,
    Access,
    Copier,
    Lin,
    integer_of,
    is_inside,
    varies,
)
from relax_mlir.lowering.tir_to_vector.scheduled.threads import MARK
from relax_mlir.lowering.walk import collect, root

_TOUCHES_NOTHING = ("arith.", "math.", "vector.", "scf.", "memref.dim", "ub.")
_PURE = ("arith.", "memref.dim")
# The maximal places in registers.
_MAX = 64


# What is equal for accesses of one place in one way.
_Key = tuple[ir.Value, tuple[Lin, ...], str, ir.Value | None]


def _key(access: Access) -> _Key:
    return access.buffer, tuple(access.where), str(access.type), access.mask


# A place that does not change in a loop: its accesses.
_Place = list[Access]


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
    accesses: list[Access] = []
    blocked: list[ir.Value] = []
    for op in collect(loop, lambda op: op != loop):
        if op.name in ACCESSES:
            accesses.append(Access.of(op, known))
            continue
        memory = [root(v) for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if op.name.startswith(("func.call", "omp.")):
            return []
        if not memory and not (op.name.startswith(_TOUCHES_NOTHING) or op.name == "memref.alloc"):
            return []
        blocked += memory if op.name != "memref.dim" else ()
    groups: dict[_Key, _Place] = {}
    for access in accesses:
        groups.setdefault(_key(access), []).append(access)
    result = []
    for key, place in groups.items():
        first = place[0]
        base = root(first.buffer)
        others = (a for a in accesses if _key(a) != key and root(a.buffer) == base)
        if (
            any(access.stores for access in place)
            and all(access.op.block == body for access in place)
            # Not where the loop's index drops out of the linear form, as of i * 0: it is copied.
            and not any(varies(value, loop, _PURE) for value in first.indices)
            and not (first.mask is not None and is_inside(first.mask, loop))
            and not is_inside(first.buffer, loop)
            and base not in blocked
            and all(_are_disjoint(first, other) for other in others)
        ):
            result.append(place)
    return result if len(result) <= _MAX else []


def _are_disjoint(a: Access, b: Access) -> bool:
    """Whether two accesses of one buffer never alias."""
    if a.buffer != b.buffer:
        return False
    for number, (x, y) in enumerate(zip(a.where, b.where, strict=True)):
        difference = y.plus(x, -1)
        if difference.terms:
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
            with emit.when(condition):
                inside = ir.InsertionPoint.current.block
            loop.move_before(inside.operations[0])
    with loop.location, ir.InsertionPoint(loop):
        copier = Copier(emit, {})
        operands: list[list[ir.Value]] = []
        before: list[ir.Value] = []
        for place in places:
            access = place[0]
            indices = [copier.pull(value, loop) for value in access.indices]
            operands.append([access.buffer, *indices])
            before.append(_load(access, operands[-1], emit))
        _rebuild(loop, places, operands, before, emit)


def _load(access: Access, operands: list[ir.Value], emit: Emitter) -> ir.Value:
    if not isinstance(access.type, ir.VectorType):
        return emit.load(operands[0], operands[1:])
    return emit.vector_load(operands[0], operands[1:], access.type, access.mask)


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
    body.append_to(made.regions[0])
    # The number of the place that an operation accesses, and what each place holds.
    places_of = {access.op: i for i, place in enumerate(places) for access in place}
    current = [body.add_argument(value.type, loop.location) for value in before]
    for view in list(body.operations):
        op = view.operation
        if op.name == "scf.yield":
            with ir.InsertionPoint(op):
                emit.effect("scf.yield", [*op.operands, *current])
        elif op not in places_of:
            continue
        elif (stored := ACCESSES[op.name][2]) is None:
            op.results[0].replace_all_uses_with(current[places_of[op]])
        else:
            current[places_of[op]] = op.operands[stored]
        op.erase()
    for place, where, result in zip(
        places, operands, list(made.results)[len(loop.results) :], strict=True
    ):
        if isinstance(result.type, ir.VectorType):
            emit.vector_store(result, where[0], where[1:], place[0].mask)
        else:
            emit.store(result, where[0], where[1:])
    for result, new in zip(loop.results, made.results, strict=False):
        result.replace_all_uses_with(new)
    loop.erase()


def _is_touched(place: _Place, loop: ir.Operation) -> bool:
    """Whether a place is in any case loaded or stored just before a loop."""
    known: dict[ir.Value, Lin] = {}
    first = place[0]
    for view in loop.block.operations:
        op = view.operation
        if op == loop:
            return False
        if op.name in ACCESSES and ACCESSES[op.name][1] is None:
            other = Access.of(op, known)
            if _key(other)[:3] == _key(first)[:3]:
                return True
    return False
