"""The pass `eliminate-common-subexpr`: removes repeated pure computations."""

import hashlib
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.background_copy import finish_copy, origin_of
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.side_effects import (
    functions_to_optimize,
    is_pure,
    may_write,
    returned_values,
    written_values,
)
from relax_mlir.dialects.relax.tuples import get_item, is_make_tuple, is_tuple, known_fields
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

_COMMUTATIVE = frozenset(
    f"relax.{name}" for name in ("add", "multiply", "maximum", "minimum", "equal", "not_equal")
)
# Their results own no tensor that was not there before, so merging them makes no new sharing.
_NO_MEMORY = (
    "relax.tuple_get_item", "relax.shape_expr", "relax.shape_of", "relax.prim_value",
    "relax.match_cast",
)  # fmt: skip
_NO_CALLS = ("relax.tuple_get_item", "relax.shape_expr", "relax.prim_value", "relax.constant")
# Constants that differ in so many bytes at their beginning need not be read any further.
_HEAD = 4096


def eliminate_common_subexpr(module: ir.Operation, call_only: bool = False) -> None:
    """Merge equal pure bindings and drop the ones that this leaves unused.

    Tensors have identity once something may write to them: after `y1 = f(x); y2 = f(x)` an impure
    call that updates `y1` in place must not show in `y2`, nor may two results of a function become
    one tensor. Reads do not move over an impure operation either: it may have written to `x`.

    Args:
        module: a `builtin.module`.
        call_only: merge calls only, and leave fields of tuples, shapes and constants alone.
    """
    for func in functions_to_optimize(module):
        merge_equal(func, call_only)
        remove_unused(func)


def merge_equal(func: ir.Operation, call_only: bool = False) -> None:
    """Merge equal pure bindings of one function, or its calls only."""
    _Eliminator(func, call_only).run()


class _Scope:
    """What has been computed and still holds; inner blocks see what is around them."""

    def __init__(self, outer: "_Scope | None" = None) -> None:
        self._outer = outer
        self._known: dict[Any, Any] = {}
        self.stale = False

    def find(self, key: Any) -> Any:
        result = self._known.get(key)
        if result is None and self._outer is not None and not self.stale:
            return self._outer.find(key)
        return result

    def add(self, key: Any, value: Any) -> None:
        self._known[key] = value

    def forget(self) -> None:
        """Something may have been written: nothing that reads memory holds any more."""
        self._known.clear()
        self.stale = True


class _Eliminator:
    """Works through one function."""

    def __init__(self, func: ir.Operation, call_only: bool) -> None:
        self._func, self._call_only = func, call_only
        self._contents = _contents_of_constants(func)
        self._written = written_values(func)
        self._returned = returned_values(func)

    def run(self) -> None:
        for block in self._func.regions[0].blocks:
            self._block(block, _Scope())

    def _block(self, block: ir.Block, scope: _Scope) -> None:
        for view in list(block.operations):
            op = view.operation
            if len(op.regions):
                # A function body runs at another time, when what was read may be written to, and
                # so does the second turn of a loop.
                alone = op.name == "relax.lambda" or (op.name in LOOPS and may_write(op))
                for region in op.regions:
                    inner = _Scope() if alone else _Scope(scope)
                    for each in region.blocks:
                        self._block(each, inner)
                if may_write(op):
                    scope.forget()
                elif op.name == "relax.dataflow" and len(op.results):
                    self._export(op, scope)
            elif is_pure(op) or op.name == "relax.match_cast":
                # A cast that has been checked holds from then on.
                # A tuple costs nothing, and calls are best next to their arguments.
                if len(op.results) == 1 and not is_make_tuple(op):
                    self._merge(op, scope)
            elif may_write(op):
                scope.forget()

    def _merge(self, op: ir.Operation, scope: _Scope) -> None:
        result = op.results[0]
        if self._call_only and op.name in _NO_CALLS:
            return
        key = self._key(op, result)
        equal = scope.find(key)
        if equal is None:
            scope.add(key, result)
            return
        earlier = equal if isinstance(equal, ir.Value) else equal[0]
        if not self._may_share(op, earlier):
            return
        if not isinstance(equal, ir.Value):
            earlier = _field_after(*equal[1:])
        if result in self._returned:
            self._returned.add(earlier)
        result.replace_all_uses_with(earlier)
        op.erase()

    def _may_share(self, op: ir.Operation, earlier: ir.Value) -> bool:
        result = op.results[0]
        if op.name in _NO_MEMORY:
            return True
        if result in self._written or earlier in self._written:
            return False
        return not (result in self._returned and earlier in self._returned)

    def _export(self, op: ir.Operation, scope: _Scope) -> None:
        """Make what a dataflow block computed and handed out known after it."""
        block = op.regions[0].blocks[0]
        output = list(block.operations)[-1].operation.operands[0]
        fields = known_fields(output)
        for index, value in enumerate([output] if fields is None else fields):
            if isinstance(value.owner, ir.Block) or value.owner.operation.block != block:
                continue
            made = value.owner.operation
            if is_pure(made) and len(made.results) == 1 and not len(made.regions):
                scope.add(
                    self._key(made, made.results[0]), (value, op, None if fields is None else index)
                )

    def _key(self, op: ir.Operation, result: ir.Value) -> Any:
        name = op.name
        operands = tuple(map(_structure, op.operands))
        contents = self._contents.get(result) if self._contents else None
        attributes = contents or tuple(op.attributes.items())
        return (
            name,
            frozenset(operands) if name in _COMMUTATIVE else operands,
            result.type,
            attributes,
        )


def _structure(value: ir.Value) -> Any:
    """Return a value, a tuple as its fields."""
    fields = known_fields(value) if is_tuple(value.type) else None
    return value if fields is None else tuple(map(_structure, fields))


def _contents_of_constants(func: ir.Operation) -> dict[ir.Value, bytes]:
    """Return a digest of the elements of every constant that could equal another of its type.

    Attributes do not show it: elements are stored outside of the module, under their own names.
    """
    by_type: dict[ir.Type, list[ir.Operation]] = {}
    for op in named(func, ("relax.constant",), INNER_FIRST):
        by_type.setdefault(op.results[0].type, []).append(op)
    alike: dict[tuple[ir.Type, bytes], list[tuple[ir.Value, np.ndarray]]] = {}
    for op in (op for group in by_type.values() if len(group) > 1 for op in group):
        try:
            array = constant_array(op.attributes["value"], filled=False)
        except ValueError:
            continue
        # A network's weights differ nearly everywhere, and reading all of them takes long.
        source = origin_of(array)
        head = (finish_copy(array) if source is array else source).flat[: _HEAD // array.itemsize]
        alike.setdefault((op.results[0].type, head.tobytes()), []).append((op.results[0], array))
    return {
        value: hashlib.blake2b(_elements(array)).digest()
        for group in alike.values()
        if len(group) > 1
        for value, array in group
    }


def _elements(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(finish_copy(array)).reshape(-1).view(np.uint8).data


def _field_after(op: ir.Operation, index: int | None) -> ir.Value:
    """Return an output of a dataflow block as a value right after it."""
    if index is None:
        return op.results[0]
    with ir.InsertionPoint.after(op), op.location:
        return get_item(op.results[0], index)
