"""The pass `fold-constant`: computes constant expressions at compile time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.background_copy import defer_copy, finish_copy, release_pages
from relax_mlir.dialects.relax.constants import (
    aligned,
    aligned_room,
    constant_array,
    constant_attribute,
    constant_op,
)
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.infer import compatible
from relax_mlir.dialects.relax.ops.base import (
    COMPUTE_OPS,
    UNKNOWN,
    constant_value,
    is_impure,
    library_order,
    read_attributes,
)
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.dialects.relax.tuples import is_tuple, known_fields
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.lowering.walk import defining_op, replace_by_body
from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX
from relax_mlir.runtime.library.table import LIBRARY
from relax_mlir.transform.relax.dead_code_elimination import remove_unused
from relax_mlir.transform.relax.evaluate import Evaluator

# Operations that move elements and look at none, of tensors but for integers that say where.
_MOVES = (
    "reshape", "permute_dims", "expand_dims", "squeeze", "flatten", "broadcast_to", "flip",
    "concat", "split", "stack", "tile", "repeat", "roll", "take", "strided_slice",
    "gather_elements", "gather_nd",
)  # fmt: skip
# Those that numpy makes views for.
_VIEWS: dict[str, Callable[[np.ndarray, Sequence[int], dict[str, Any]], np.ndarray]] = {
    "reshape": lambda array, dims, attrs: array.reshape(dims),
    "permute_dims": lambda array, dims, attrs: array.transpose(attrs["axes"]),
}


def fold_constant(module: ir.Operation, max_bytes: int = 65536, evaluate_tir: bool = True) -> None:
    """Replace operations on constants by their results, and branches on constants by the one taken.

    Left as they are: what fails when it is computed, so that it still fails at run time; what an
    impure call may write to, as every run needs a tensor of its own; and what is larger than its
    operands and larger than `max_bytes`.

    Args:
        module: a `builtin.module`.
        max_bytes: how large a result may be that is larger than its operands together.
        evaluate_tir: whether to compile and run prim funcs called on constants.
    """
    evaluator = Evaluator(module) if evaluate_tir else None
    for func in functions_to_optimize(module):
        while _Folder(func, max_bytes, evaluator).run():
            pass
        remove_unused(func)


class _Folder:
    """One walk over a function; prim funcs that it meets are evaluated together at its end."""

    def __init__(self, func: ir.Operation, max_bytes: int, evaluator: Evaluator | None) -> None:
        self._func, self._max_bytes, self._evaluator = func, max_bytes, evaluator
        self._written = written_values(func)
        self._pending: list[tuple[ir.Operation, list[np.ndarray]]] = []

    def run(self) -> bool:
        """Return whether another walk could find more."""
        for block in self._func.regions[0].blocks:
            self._block(block)
        if not self._pending or self._evaluator is None:
            return False
        results = self._evaluator.run(self._pending)
        progress = False
        for (op, arrays), outputs in zip(self._pending, results, strict=True):
            if outputs is not None and self._is_small(outputs, arrays):
                _put_constants(op, [*map(aligned, outputs)])
                progress = True
        return progress

    def _block(self, block: ir.Block) -> None:
        for view in list(block.operations):
            op = view.operation
            if op.name == "relax.if":
                branch = self._taken(op)
                if branch is not None:
                    self._inline(op, branch)
                    continue
            for region in op.regions:
                for inner in region.blocks:
                    self._block(inner)
            self._operation(op)

    def _operation(self, op: ir.Operation) -> None:
        name = op.name.removeprefix("relax.")
        if op.name == "relax.shape_of":
            _fold_shape_of(op)
        elif op.name == "relax.tuple_get_item":
            fields = known_fields(op.operands[0])
            if fields is not None:
                op.results[0].replace_all_uses_with(fields[op.attributes["index"].value])
                op.erase()
            else:
                self._take_out(op)
        elif any(result in self._written for result in op.results):
            return
        elif name in COMPUTE_OPS and not is_impure(op):
            self._compute(op, name)
        elif op.name == "relax.call_tir":
            self._call_tir(op)

    def _take_out(self, op: ir.Operation) -> None:
        """Replace a field of what a dataflow block gives by the constant that it is there."""
        if isinstance(op.operands[0].owner, ir.Block):
            return
        block = op.operands[0].owner.operation
        if block.name != "relax.dataflow" or op.results[0] in self._written:
            return
        *_, output = block.regions[0].blocks[0].operations
        fields = known_fields(output.operands[0])
        field = None if fields is None else fields[op.attributes["index"].value]
        if field is not None and isinstance(self._known(field), np.ndarray):
            with ir.InsertionPoint(op):
                value = constant_op(field.owner.operation.attributes["value"], op.location)
            op.results[0].replace_all_uses_with(value)
            op.erase()

    def _call_tir(self, op: ir.Operation) -> None:
        values = [self._known(value) for value in known_fields(op.operands[1]) or ()]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        known = bool(arrays) and len(arrays) == len(values)
        if known and _is_static(op.results[0].type) and "tir_vars" not in op.attributes:
            self._put_off(op, arrays)

    def _put_off(self, op: ir.Operation, arrays: list[np.ndarray]) -> None:
        if self._evaluator is not None:
            self._pending.append((op, arrays))

    def _compute(self, op: ir.Operation, name: str) -> None:
        if name in _VIEWS and self._view(op, name):
            return
        operands = []
        for value in op.operands:
            operands.append(self._known(value))
            if operands[-1] is None:
                return
        arrays = _arrays(operands)
        compute = LIBRARY.get(LIBRARY_PREFIX + name)
        if compute is None:
            if len(arrays) == len(operands):
                self._put_off(op, arrays)
            return
        outputs = _evaluate(op, name, compute, operands)
        if outputs is not None and self._is_small(outputs, arrays):
            _put_constants(op, [*map(aligned, outputs)])
            for array in arrays:
                release_pages(array)

    def _view(self, op: ir.Operation, name: str) -> bool:
        """Replace an operation that puts a tensor's elements in another order, copied later."""
        array = self._known(op.operands[0], filled=False)
        type_ = op.results[0].type
        if not isinstance(array, np.ndarray) or not _is_static(type_):
            return False
        given = read_attributes(op, COMPUTE_OPS[name].PARAMS)
        view = _VIEWS[name](array, [dim.value or 0 for dim in T.known_dims(type_)], given)
        again = {use.owner.operation.name for use in op.results[0].uses} == {"relax.permute_dims"}
        if again and view.flags.c_contiguous:
            _put_constants(op, [view])
        elif view.flags.c_contiguous:
            _put_constants(op, [aligned(view)])
            release_pages(array)
        else:
            # What packs it for a kernel then reads the elements where they are now.
            finish_copy(array)
            copy = aligned_room(view.size, view.dtype).reshape(view.shape)
            defer_copy(copy, view)
            _put_constants(op, [copy])
        return True

    def _known(
        self, value: ir.Value, *, filled: bool = True
    ) -> np.ndarray | tuple[Any, ...] | None:
        """Return a value known at compile time: a tensor's elements, a shape's integers, fields."""
        if is_tuple(value.type):
            fields = known_fields(value)
            known = [self._known(field) for field in fields or ()]
            return None if fields is None or any(each is None for each in known) else tuple(known)
        if isinstance(value.type, Shape):
            dims = T.shape_dims(value.type)
            sizes = [dim.value for dim in dims or () if dim.value is not None]
            return None if dims is None or len(sizes) != len(dims) else tuple(sizes)
        constant = defining_op(value, "relax.constant")
        if constant is None or value in self._written:
            return None
        try:
            return constant_array(constant.attributes["value"], filled=filled)
        except ValueError:
            return None

    def _is_small(self, outputs: Sequence[np.ndarray], operands: Sequence[np.ndarray]) -> bool:
        size = sum(array.nbytes for array in outputs)
        return size <= max(self._max_bytes, sum(array.nbytes for array in operands))

    def _taken(self, op: ir.Operation) -> ir.Block | None:
        condition = self._known(op.operands[0])
        if not isinstance(condition, np.ndarray) or condition.ndim:
            return None
        branch = op.regions[0 if condition[()] else 1].blocks[0]
        # A symbol that it binds would stay bound after it.
        return None if _binds_symbols(branch) else branch

    def _inline(self, op: ir.Operation, branch: ir.Block) -> None:
        """Put the operations of a branch in the place of the whole `if`."""
        for inner in replace_by_body(op, branch):
            for region in inner.regions:
                for block in region.blocks:
                    self._block(block)
            self._operation(inner)


def _binds_symbols(block: ir.Block) -> bool:
    """Whether a block may bind symbols that hold after it; a dataflow block is no scope of them."""
    return any(
        view.operation.name in ("relax.match_cast", "relax.match_prim")
        or (
            view.operation.name == "relax.dataflow"
            and _binds_symbols(view.operation.regions[0].blocks[0])
        )
        for view in block.operations
    )


def _evaluate(
    op: ir.Operation, name: str, compute: Callable, operands: Sequence[object]
) -> list[np.ndarray] | None:
    """Return the results, None when the operation fails or its result is not what is declared."""
    params = COMPUTE_OPS[name].PARAMS
    attrs = read_attributes(op, params)
    static = [constant_value(attrs[param.name]) for param in library_order(params)]
    if any(value is UNKNOWN for value in static):
        return None
    # The library computes with numpy's own dtypes: bfloat16 is moved as bits, which keeps those of
    # a NaN, and is otherwise computed in float32 and rounded once, as kernels do.
    halves = [a.dtype for a in _arrays(operands) if a.dtype.name == "bfloat16"]
    as_bits = name in _MOVES
    if halves:
        operands = [_without_bfloat16(each, as_bits) for each in operands]
    try:
        result = compute(*operands, *static)
    except (RelaxMLIRError, ArithmeticError):
        return None
    results = list(result) if isinstance(result, tuple) else [result]
    if not all(isinstance(each, np.ndarray) for each in results):
        return None
    if not halves:
        return results
    dtypes = _dtypes(op.results[0].type)
    if "" in dtypes or len(dtypes) != len(results):
        return None
    return [
        _as_declared(each, dtype, halves[0], as_bits)
        for each, dtype in zip(results, dtypes, strict=True)
    ]


def _without_bfloat16(value: Any, as_bits: bool) -> Any:
    """Return a value known at compile time whose tensors are of numpy's own dtypes."""
    if isinstance(value, tuple):
        return tuple(_without_bfloat16(each, as_bits) for each in value)
    if not isinstance(value, np.ndarray) or value.dtype.name != "bfloat16":
        return value
    return value.view(np.uint16) if as_bits else value.astype(np.float32)


def _as_declared(array: np.ndarray, dtype: str, half: np.dtype, as_bits: bool) -> np.ndarray:
    """Return a result as bfloat16 where that is what is declared."""
    if dtype != "bfloat16":
        return array
    with np.errstate(all="ignore"):
        return array.view(half) if as_bits else array.astype(half)


def _dtypes(type_: ir.Type) -> list[str]:
    types = [type_.get_type(i) for i in range(type_.num_types)] if is_tuple(type_) else [type_]
    return [T.tensor_dtype(each) if T.is_tensor(each) else "" for each in types]


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    result = []
    for value in values:
        if isinstance(value, np.ndarray):
            result.append(value)
        elif isinstance(value, tuple):
            result += _arrays(value)
    return result


def _is_static(type_: ir.Type) -> bool:
    types = [type_.get_type(i) for i in range(type_.num_types)] if is_tuple(type_) else [type_]
    for each in types:
        dims = T.tensor_dims(each) if T.is_tensor(each) else None
        if dims is None or not T.tensor_dtype(each) or not all(dim.is_const for dim in dims):
            return False
    return True


def _fold_shape_of(op: ir.Operation) -> None:
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None or T.shape_type(dims) != op.results[0].type:
        return
    with ir.InsertionPoint(op):
        shape = ir.Operation.create(
            "relax.shape_expr", results=[op.results[0].type], loc=op.location
        )
    op.results[0].replace_all_uses_with(shape.result)
    op.erase()


def _put_constants(op: ir.Operation, arrays: Sequence[np.ndarray]) -> None:
    """Replace an operation by constants; a type that differs from the declared one is matched."""
    declared = op.results[0].type
    fields = (
        [declared.get_type(i) for i in range(declared.num_types)]
        if is_tuple(declared)
        else [declared]
    )
    with ir.InsertionPoint(op), op.location:
        attributes = [constant_attribute(array) for array in arrays]
        if len(attributes) != len(fields) or not all(
            compatible(field, attribute.type)
            for field, attribute in zip(fields, attributes, strict=True)
        ):
            return
        values = []
        for attribute, field in zip(attributes, fields, strict=True):
            value = constant_op(attribute)
            if attribute.type != field:
                value = ir.Operation.create(
                    "relax.match_cast", results=[field], operands=[value]
                ).result
            values.append(value)
        if is_tuple(declared):
            values = [
                ir.Operation.create(
                    "builtin.unrealized_conversion_cast", results=[declared], operands=values
                ).result
            ]
    op.results[0].replace_all_uses_with(values[0])
    op.erase()
