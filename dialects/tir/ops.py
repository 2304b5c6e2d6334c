"""TIR operations: loops, blocks and symbolic sizes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.validity import dims_problem
from relax_mlir.dialects.verify import (
    attribute,
    expect_parent,
    once_each,
    only_block,
    op_error,
)


class Tir(ext.Dialect, name="tir"):
    """Loops and blocks over memrefs: what a tensor operation does to elements."""


LOOP_KINDS = ("serial", "parallel", "vectorized", "unrolled")
# On a prim func whose last parameter, a buffer of one element, is what it returns to its caller.
RETURNS = "tir.returns"
ITER_TYPES = ("spatial", "reduction", "scan", "opaque")


class SymbolOp(Tir.Operation, name="symbol", traits=[ext.Pure]):
    """The run-time value of a symbolic integer that the function's signature binds."""

    value: Any
    result: ext.Result[Any]

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.results) != 1 or str(op.results[0].type) != "index":
            return op_error(self, "has one result of type index")
        value = attribute(op, "value")
        problem = dims_problem(value)
        if problem:
            return op_error(self, f"attribute 'value': {problem}")
        if len(value.dims) != 1:
            return op_error(self, f"needs 'value' to be one expression, got {value}")
        return True


class ForOp(Tir.Operation, name="for"):
    """A loop from a lower bound over an extent in steps of one; the region's argument counts."""

    lower_bound: ext.Operand[ir.IndexType]
    extent: ext.Operand[ir.IndexType]
    kind: ir.StringAttr
    body: ext.Region

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 2 or "kind" not in op.attributes:
            return op_error(self, "takes a lower bound, an extent, and the attribute 'kind'")
        kind = op.attributes["kind"]
        if not isinstance(kind, ir.StringAttr) or kind.value not in LOOP_KINDS:
            return op_error(self, f"kind must be one of {', '.join(LOOP_KINDS)}, got {kind}")
        return _annotated(self)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        return only_block(op, 0, "body", "tir.yield", arguments=1) is not None


def _annotated(view: ir.OpView) -> bool:
    """Check the annotations that loops and blocks may carry."""
    result = attribute(view.operation, "annotations")
    if result is None or isinstance(result, ir.DictAttr):
        return True
    return op_error(view, f"'annotations' must be a dictionary, got {result}")


class BlockOp(Tir.Operation, name="block"):
    """A computation over one point of its iteration domain.

    Operands: for each iterator its value, then for each its extent. The first region is the body,
    which may begin with `tir.where`, `tir.reads` and `tir.writes`; the second, if not empty, runs
    before the body on the first step of every reduction.
    """

    iters: Sequence[ext.Operand[ir.IndexType]]
    block_name: ir.StringAttr
    iter_types: ir.ArrayAttr
    body: ext.Region
    init: ext.Region

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        for attr, kind in (("block_name", ir.StringAttr), ("iter_types", ir.ArrayAttr)):
            if attr not in op.attributes or not isinstance(op.attributes[attr], kind):
                return op_error(self, f"needs the {kind.__name__} '{attr}'")
        kinds = list(op.attributes["iter_types"])
        for kind in kinds:
            if not isinstance(kind, ir.StringAttr) or kind.value not in ITER_TYPES:
                allowed = ", ".join(ITER_TYPES)
                return op_error(self, f"iterator must be one of {allowed}, got {kind}")
        if len(op.operands) != 2 * len(kinds):
            return op_error(
                self,
                f"takes {2 * len(kinds)} operands, a value and an extent for each of "
                f"{len(kinds)} iterators, got {len(op.operands)}",
            )
        return _annotated(self)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        count = len(op.operation.attributes["iter_types"])
        body = only_block(op, 0, "body", "tir.yield", count)
        return body is not None and only_block(op, 1, "init", "tir.yield", count, True) is not None


class WhereOp(Tir.Operation, name="where"):
    """The predicate of the enclosing block: a point where it is false is not computed.

    Neither is it initialised, as far as the predicate does not hang on reductions. The condition
    comes from outside the block: it is one of the loops' counters, not of the iterators.
    """

    condition: ext.Operand[ir.IntegerType]

    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or str(op.operands[0].type) != "i1":
            return op_error(self, "takes one condition of type i1")
        if not expect_parent(self, "tir.block"):
            return False
        first = where_of(op.parent.operation)
        if first is None or first != op:
            return op_error(self, "must stand at the beginning of a block's body, once")
        owner = op.operands[0].owner
        inside = owner if isinstance(owner, ir.Block) else owner.operation.block
        if inside == op.block:
            return op_error(self, "takes a condition that is computed in front of the block")
        return True


def where_of(block: ir.Operation) -> ir.Operation | None:
    """Return the `tir.where` of a `tir.block`, None when the block always runs."""
    body = block.regions[0].blocks
    for view in body[0].operations if len(body) else ():
        op = view.operation
        if op.name == "tir.where":
            return op
        if op.name not in ("tir.reads", "tir.writes"):
            return None
    return None


def block_predicate(block: ir.Operation) -> ir.Value | None:
    """Return the condition under which a `tir.block` runs, None when it always does."""
    where = where_of(block)
    return None if where is None else where.operands[0]


def set_block_predicate(block: ir.Operation, condition: ir.Value | None) -> None:
    """Give a `tir.block` a condition, an `i1` from in front of it, for what it had, or none."""
    where = where_of(block)
    if where is not None and condition is not None:
        where.operands[0] = condition
    elif where is not None:
        where.erase()
    elif condition is not None:
        with ir.InsertionPoint.at_block_begin(block.regions[0].blocks[0]), block.location:
            ir.Operation.create("tir.where", operands=[condition])


class AccessOp(Tir.Operation):
    """A declared access of a block: the buffer and the affine map from iterators to elements.

    `map` is `unit` where the element is no affine function of the iterators. A region of more than
    one element begins where the map says, and has its size in each dimension as `extents`.
    """

    buffer: ext.Operand[Any]
    map: Any

    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not isinstance(op.operands[0].type, ir.MemRefType):
            return op_error(self, "takes one memref")
        map_ = attribute(op, "map")
        if isinstance(map_, ir.AffineMapAttr):
            results = len(map_.value.results)
            if results != op.operands[0].type.rank:
                return op_error(
                    self, f"map must have {op.operands[0].type.rank} results, got {results}"
                )
        elif not isinstance(map_, ir.UnitAttr):
            return op_error(self, f"'map' must be an affine map or unit, got {map_}")
        extents = attribute(op, "extents")
        problem = "" if extents is None else dims_problem(extents)
        if not problem and extents is not None and len(extents.dims) != op.operands[0].type.rank:
            problem = f"needs {op.operands[0].type.rank} sizes, got {len(extents.dims)}"
        if problem:
            return op_error(self, f"attribute 'extents': {problem}")
        if not expect_parent(self, "tir.block"):
            return False
        iterators = attribute(op.parent.operation, "iter_types")
        if not isinstance(map_, ir.AffineMapAttr) or not isinstance(iterators, ir.ArrayAttr):
            return True
        if map_.value.n_dims != len(iterators) or map_.value.n_symbols:
            return op_error(
                self, f"map must take the {len(iterators)} iterators of its block, got {map_.value}"
            )
        return True


class ReadsOp(AccessOp, name="reads"):
    """The enclosing block reads these elements."""


class WritesOp(AccessOp, name="writes"):
    """The enclosing block writes these elements."""


class AssertOp(Tir.Operation, name="assert"):
    """Ends the call of the prim func with an error that carries the message, when it is false.

    Nothing runs after it then; what the function wrote before is there.
    """

    condition: ext.Operand[ir.IntegerType]
    message: ir.StringAttr

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or str(op.operands[0].type) != "i1":
            return op_error(self, "takes one condition of type i1")
        if len(op.results):
            return op_error(self, "has no results")
        message = attribute(op, "message")
        if not isinstance(message, ir.StringAttr):
            return op_error(self, f"'message' must be a string, got {message}")
        return True


class CallExternOp(Tir.Operation, name="call_extern"):
    """Calls a C function of the process by its name; `T.call_extern`.

    The operand is one tuple of what is passed: `dtypes` says of what sort each is, `"handle"` for
    the address of a buffer's first element. `dtype` is that of the result, absent for none.
    """

    args: ext.Operand[Any]
    callee: ir.StringAttr
    dtypes: ir.ArrayAttr
    results_: Sequence[ext.Result[Any]]

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not isinstance(op.operands[0].type, ir.TupleType):
            return op_error(self, "takes one tuple")
        callee, dtypes = attribute(op, "callee"), attribute(op, "dtypes")
        if not isinstance(callee, ir.StringAttr) or not callee.value.isidentifier():
            return op_error(self, f"'callee' must be a C identifier, got {callee}")
        count = op.operands[0].type.num_types
        if not isinstance(dtypes, ir.ArrayAttr) or len(dtypes) != count:
            return op_error(self, f"'dtypes' must be {count} strings, got {dtypes}")
        if any(not isinstance(each, ir.StringAttr) for each in dtypes):
            return op_error(self, f"'dtypes' must be {count} strings, got {dtypes}")
        if len(op.results) > 1:
            return op_error(self, f"has at most one result, got {len(op.results)}")
        dtype = attribute(op, "dtype")
        if (len(op.results) == 1) != isinstance(dtype, ir.StringAttr):
            return op_error(self, f"'dtype' must be that of the result, got {dtype}")
        return True


class CallPackedOp(Tir.Operation, name="call_packed"):
    """Calls a function of the registry of packed functions; `T.call_packed`.

    The operand is one tuple of what is passed. `dtypes` says for each argument of which dtype it,
    or the buffer that it is, is; a string is among them as a list of itself. The result is what the
    function returns, 0 for nothing. An error that it raises ends the prim func's call.
    """

    args: ext.Operand[Any]
    callee: ir.StringAttr
    dtypes: ir.ArrayAttr
    dtype: ir.StringAttr
    value: ext.Result[Any]

    @once_each
    def verify_invariants(self) -> bool:
        op = self.operation
        if len(op.operands) != 1 or not isinstance(op.operands[0].type, ir.TupleType):
            return op_error(self, "takes one tuple")
        callee, dtypes = attribute(op, "callee"), attribute(op, "dtypes")
        if not isinstance(callee, ir.StringAttr) or not callee.value:
            return op_error(self, f"'callee' must be the name of a function, got {callee}")
        kinds = list(dtypes) if isinstance(dtypes, ir.ArrayAttr) else []
        count = sum(isinstance(each, ir.StringAttr) for each in kinds)
        if count != op.operands[0].type.num_types or not all(map(_is_passed, kinds)):
            return op_error(
                self, f"'dtypes' must be {op.operands[0].type.num_types} strings, and lists of one "
                f"for strings, got {dtypes}"
            )  # fmt: skip
        if len(op.results) != 1 or not isinstance(attribute(op, "dtype"), ir.StringAttr):
            return op_error(self, "has one result, and 'dtype' says its dtype")
        return True


def _is_passed(kind: ir.Attribute) -> bool:
    if isinstance(kind, ir.ArrayAttr):
        return len(kind) == 1 and isinstance(kind[0], ir.StringAttr)
    return isinstance(kind, ir.StringAttr)


class YieldOp(Tir.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends a loop's or a block's region."""

    def verify_invariants(self) -> bool:
        return expect_parent(self, "tir.for", "tir.block")
