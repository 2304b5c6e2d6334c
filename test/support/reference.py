"""A plain interpreter of Relax over numpy: what a program means, to compare compiled code with.

It shares nothing with the compiler but the program itself and the reading of symbolic shapes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from reference_ops import OPS

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.tuples import is_make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr


class ReferenceError(Exception):
    """The program itself is wrong on these inputs: a shape it declares does not hold."""


class Shape(tuple):
    """A shape as a value; a tuple of values is a plain tuple."""


class Frame:
    """One activation of a function: the values and the symbols bound so far."""

    def __init__(self) -> None:
        self.values: dict[ir.Value, Any] = {}
        self.symbols: dict[str, int] = {}

    def dim(self, expr: SymExpr) -> int:
        """Return what a dimension is in this activation."""
        return expr.evaluate(self.symbols)

    def match(self, type_: ir.Type, value: Any) -> None:
        """Bind the symbols of a type that the value shows, then check all the rest."""
        if isinstance(type_, ir.TupleType):
            for index in range(type_.num_types):
                self.match(type_.get_type(index), value[index])
            return
        dims = T.tensor_dims(type_) if T.is_tensor(type_) else None
        found: Sequence[int] = value.shape if T.is_tensor(type_) else ()
        if isinstance(value, Shape):
            dims, found = T.shape_dims(type_), value
        if T.is_tensor(type_):
            if T.tensor_ndim(type_) not in (-1, value.ndim):
                raise ReferenceError(f"rank {value.ndim} for {type_}")
            if T.tensor_dtype(type_) not in ("", str(value.dtype)):
                raise ReferenceError(f"dtype {value.dtype} for {type_}")
        if dims is None:
            return
        if len(dims) != len(found):
            raise ReferenceError(f"rank {len(found)} for {type_}")
        for dim, actual in zip(dims, found, strict=True):
            if dim.name is not None:
                self.symbols.setdefault(dim.name, actual)
        for dim, actual in zip(dims, found, strict=True):
            if dim.symbols <= self.symbols.keys() and self.dim(dim) != actual:
                raise ReferenceError(f"{dim} is {self.dim(dim)}, found {actual}")


class Reference:
    """Runs the functions of a module.

    Args:
        module: any IRModule before lowering.
        packed: what packed functions and prim funcs do, by name; those called in
            destination-passing style take the shape of the result (or a tuple of them) first.
    """

    def __init__(self, module: Any, packed: dict[str, Callable[..., Any]] | None = None) -> None:
        self._functions = {name: module[name].mlir_op for name in module.function_names}
        self._module, self._packed = module, packed or {}

    def __call__(self, name: str, *args: Any) -> Any:
        """Return what a function returns.

        Raises:
            ReferenceError: a declared shape does not hold.
        """
        function = self._functions[name]
        block = function.regions[0].blocks[0]
        frame = Frame()
        for parameter, value in zip(block.arguments, args, strict=True):
            frame.match(parameter.type, value)
        for parameter, value in zip(block.arguments, args, strict=True):
            frame.match(parameter.type, value)
        return self._block(frame, block, *args)

    def _block(self, frame: Frame, block: ir.Block, *arguments: Any) -> Any:
        frame.values.update(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            op = view.operation
            operands = [frame.values[operand] for operand in op.operands]
            if op.name in ("func.return", "relax.yield", "relax.output", "relax.condition"):
                return operands[0] if len(operands) == 1 else tuple(operands)
            with np.errstate(all="ignore"):
                result = self._run(frame, op, operands)
            if len(op.results) == 1:
                frame.values[op.results[0]] = result
                frame.match(op.results[0].type, result)
        return None

    def _turn(self, frame: Frame, block: ir.Block, *arguments: Any) -> Any:
        """Run one turn of a loop; what it binds means nothing outside of it."""
        outside = dict(frame.symbols)
        result = self._block(frame, block, *arguments)
        frame.symbols = outside
        return result

    def _run(self, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
        name = op.name.removeprefix("relax.")
        if is_make_tuple(op):
            return tuple(operands)
        if name in _CORE:
            return _CORE[name](self, frame, op, operands)
        params = COMPUTE_OPS[name].PARAMS
        attributes = {
            key: [frame.dim(SymExpr.of(item)) for item in value]
            if isinstance(value, list) and any(isinstance(item, SymExpr) for item in value)
            else value
            for key, value in read_attributes(op, params).items()
        }
        types = [T.tensor_dtype(result.type) for result in op.results if T.is_tensor(result.type)]
        # Copies: an operation makes a tensor of its own, where numpy gives a view.
        result = OPS[name](*operands, **attributes)
        if isinstance(result, tuple):
            return tuple(map(np.array, result))
        result = np.array(result)
        wanted = types[0] if types and types[0] else _dtype(name, operands, result)
        return result.astype(wanted, copy=False)


def _dtype(name: str, operands: Sequence[Any], result: np.ndarray) -> Any:
    """What an operation of unknown dtype gives: comparisons bool, others what they were given."""
    if result.dtype == np.bool_ or name in ("astype", "argmax", "argmin", "argsort"):
        return result.dtype
    return next(
        (operand.dtype for operand in operands if isinstance(operand, np.ndarray)), result.dtype
    )


def _branch(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    region = op.regions[0 if bool(operands[0]) else 1]
    return self._block(frame, region.blocks[0])


def _for(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    carried = operands[1]
    for index in range(*operands[0]):
        carried = self._turn(frame, op.regions[0].blocks[0], index, *carried)
    return carried


def _while(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    condition, body = (region.blocks[0] for region in op.regions)
    carried = operands[0]
    while bool(self._turn(frame, condition, *carried)):
        carried = self._turn(frame, body, *carried)
    return carried


def _match_prim(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    expr = op.attributes["value"].dims[0]
    if expr.name is not None:
        frame.symbols.setdefault(expr.name, operands[0])
    if frame.dim(expr) != operands[0]:
        raise ReferenceError(f"{expr} is {frame.dim(expr)}, found {operands[0]}")


def _compare(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return getattr(np, op.attributes["kind"].value)(*operands)


def _logic(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    conditions = [bool(value) for value in operands[0]]
    kind = op.attributes["kind"].value
    return not conditions[0] if kind == "not" else (all if kind == "and" else any)(conditions)


def _match_cast(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    frame.match(op.results[0].type, operands[0])
    return operands[0]


def _shape_expr(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return Shape(frame.dim(dim) for dim in T.shape_dims(op.results[0].type) or [])


def _prim_value(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return frame.dim(op.attributes["value"].dims[0])


def _call(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return self(op.attributes["callee"].value, *operands[0])


def _call_packed(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return self._packed[op.attributes["func"].value](*operands[0])


def _call_dps(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    name = op.attributes["func" if "func" in op.attributes else "callee"].value
    extra = (
        [frame.dim(d) for d in op.attributes["tir_vars"].dims]
        if "tir_vars" in op.attributes
        else []
    )
    return self._packed[name](operands[0], *operands[1], *extra)


def _call_inplace_packed(
    self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]
) -> Any:
    return _call_packed(self, frame, op, [[np.array(each) for each in operands[0]]])


def _lambda(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return lambda *arguments: self._turn(frame, op.regions[0].blocks[0], *arguments)


def _make_closure(self: Reference, frame: Frame, op: ir.Operation, operands: list[Any]) -> Any:
    return lambda *arguments: self(op.attributes["callee"].value, *arguments, *operands[0])


_CORE: dict[str, Callable[[Reference, Frame, ir.Operation, list[Any]], Any]] = {
    "constant": lambda self, frame, op, operands: constant_array(op.attributes["value"]),
    "shape_expr": _shape_expr,
    "prim_value": _prim_value,
    "shape_of": lambda self, frame, op, operands: Shape(operands[0].shape),
    "tuple_get_item": lambda self, frame, op, operands: operands[0][op.attributes["index"].value],
    "match_cast": _match_cast,
    "dataflow": lambda self, frame, op, operands: self._block(frame, op.regions[0].blocks[0]),
    "if": _branch,
    "for": _for,
    "while": _while,
    "match_prim": _match_prim,
    "compare_prim": _compare,
    "logic_prim": _logic,
    "call": _call,
    "call_packed": _call_packed,
    "call_inplace_packed": _call_inplace_packed,
    "call_tir_inplace": _call_dps,
    "lambda": _lambda,
    "make_closure": _make_closure,
    "invoke_closure": lambda self, frame, op, operands: operands[0](*operands[1]),
    "call_pure_packed": _call_packed,
    "call_tir": _call_dps,
    "call_dps_packed": _call_dps,
}
