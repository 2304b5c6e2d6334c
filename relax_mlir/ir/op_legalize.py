"""Legalization of custom operators: to prim funcs, packed functions, numpy functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.params import library_attribute, library_order, read_attributes
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import PassError
from relax_mlir.ir.shape_rules import ShapeCall, ShapeOf, infer_user_shape
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, call_pure_packed, matched
from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX
from relax_mlir.runtime.library.operands import named
from relax_mlir.runtime.library.table import LIBRARY


def define_library(name: str, function: Callable[..., Any]) -> None:
    """Make a function of numpy arrays the library's implementation of an operation."""
    LIBRARY[LIBRARY_PREFIX + name] = named(name, lambda *args: np.asarray(function(*args)))


@dataclass(frozen=True)
class UserLegalization:
    """The ways in which an operation runs, in the order in which they are tried."""

    name: str
    legalize: Callable[..., Any] | None
    prim: Callable[..., None] | None
    dps_packed: str | None
    packed: str | None
    library: bool

    def __call__(self, legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
        """Return the value that takes the operation's place; None leaves it to the library.

        Raises:
            PassError: nothing says how the operation runs on these operands.
        """
        params = COMPUTE_OPS[self.name].PARAMS
        attrs = read_attributes(op, params)
        for way in (self._by_function, self._by_prim, self._by_dps, self._by_packed):
            result = way(legalizer, op, attrs)
            if result is not None:
                return result
        if self.library:
            return None
        op.location.emit_error(
            f"'{op.name}' op cannot run on these operands: of what was registered for it, nothing "
            "takes unknown shapes or dtypes; give register_op a library= or packed= function"
        )
        raise PassError("LegalizeOps", f"'{op.name}' has no implementation for these operands")

    def _by_function(
        self, legalizer: Legalizer, op: ir.Operation, attrs: dict[str, Any]
    ) -> ir.Value | None:
        return None if self.legalize is None else self.legalize(legalizer, op)

    def _by_prim(
        self, legalizer: Legalizer, op: ir.Operation, attrs: dict[str, Any]
    ) -> ir.Value | None:
        declared = op.results[0].type
        dtype = T.tensor_dtype(declared)
        tensors = [value for value in op.operands if T.is_tensor(value.type)]
        if self.prim is None or not dtype:
            return None
        if any(T.tensor_dims(v.type) is None or not T.tensor_dtype(v.type) for v in tensors):
            return None
        dims = T.tensor_dims(declared)
        if dims is None:
            dims = self._computed(op, attrs)
        if dims is None:
            return None
        prim = self.prim
        result = legalizer.call_prim(
            op,
            self.name,
            tensors,
            lambda builder, buffers: prim(builder, *buffers, **attrs),
            key=repr(sorted(attrs.items(), key=lambda item: item[0])),
            result=T.tensor_type(dims, dtype),
        )
        return None if result is None else matched(op, result)

    def _computed(self, op: ir.Operation, attrs: dict[str, Any]) -> list[SymExpr] | None:
        """Bind new symbols to what the shape function returns, where it says how many."""
        shape = self._shape(op, attrs)
        ndim = -1 if shape is None else T.shape_ndim(shape.type)
        if shape is None or ndim < 0:
            return None
        dims = [SymExpr.var(name) for name in _fresh_symbols(op, self.name, ndim)]
        with ir.InsertionPoint(op), op.location:
            type_ = T.shape_type(dims)
            ir.Operation.create("relax.match_cast", results=[type_], operands=[shape])
        return dims

    def _shape(self, op: ir.Operation, attrs: dict[str, Any]) -> ir.Value | None:
        """Return the shape of the result as a value, None where only the result has it."""
        dims = T.tensor_dims(op.results[0].type)
        with ir.InsertionPoint(op), op.location:
            if dims is not None:
                return ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result
            types = [value.type for value in op.operands]
            return _shape_value(op, infer_user_shape(self.name, types, attrs))

    def _by_dps(
        self, legalizer: Legalizer, op: ir.Operation, attrs: dict[str, Any]
    ) -> ir.Value | None:
        if self.dps_packed is None or not T.tensor_dtype(op.results[0].type):
            return None
        if any(not param.is_operand for param in COMPUTE_OPS[self.name].PARAMS):
            return None  # a destination-passing call has no place for attributes
        shape = self._shape(op, attrs)
        if shape is None:
            return None
        with ir.InsertionPoint(op), op.location:
            return ir.Operation.create(
                "relax.call_dps_packed",
                results=[op.results[0].type],
                operands=[shape, make_tuple(list(op.operands))],
                attributes={"func": ir.StringAttr.get(self.dps_packed)},
            ).result

    def _by_packed(
        self, legalizer: Legalizer, op: ir.Operation, attrs: dict[str, Any]
    ) -> ir.Value | None:
        if self.packed is None:
            return None
        params = library_order(COMPUTE_OPS[self.name].PARAMS)
        static = [library_attribute(param.kind, attrs[param.name]) for param in params]
        declared = op.results[0].type
        loose = T.tensor_type(None, T.tensor_dtype(declared), T.tensor_ndim(declared))
        with ir.InsertionPoint(op), op.location:
            result = call_pure_packed(self.packed, list(op.operands), loose, static)
        return matched(op, result)


@dataclass(frozen=True)
class RuleLegalization:
    """How an operation runs whose result's shape a user's rule has a function compute."""

    name: str
    own: Callable[..., Any]

    def __call__(self, legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
        """Return the value that takes the operation's place, of the shape that the rule gives."""
        result = self.own(legalizer, op)
        declared = op.results[0].type
        if not T.is_tensor(declared) or T.tensor_dims(declared) is not None:
            return result
        attrs = read_attributes(op, COMPUTE_OPS[self.name].PARAMS)
        rule = infer_user_shape(self.name, [value.type for value in op.operands], attrs)
        ndim = max(getattr(rule, "ndim", -1), T.tensor_ndim(declared))
        if not isinstance(rule, ShapeCall) or ndim < 0:
            return result
        if result is None:
            result = legalizer.call_library(op)
        dims = [SymExpr.var(name) for name in _fresh_symbols(op, self.name, ndim)]
        with ir.InsertionPoint(op), op.location:
            shape = _shape_value(op, rule)
            assert shape is not None, "a shape function gives one"
            types = [T.shape_type(dims), T.tensor_type(dims, T.tensor_dtype(result.type))]
            for value, type_ in zip((shape, result), types, strict=True):
                cast = ir.Operation.create("relax.match_cast", results=[type_], operands=[value])
        return matched(op, cast.result)


def _shape_value(op: ir.Operation, shape: Any) -> ir.Value | None:
    """Return a shape that a rule gave as a value, None when it gave none."""
    if isinstance(shape, ShapeOf):
        value = op.operands[shape.arg.index]
        if isinstance(value.type, Shape):
            return value
        type_ = T.shape_type(None, T.tensor_ndim(value.type))
        return ir.Operation.create("relax.shape_of", results=[type_], operands=[value]).result
    if isinstance(shape, ShapeCall):
        args = [_shape_value(op, arg) for arg in shape.args]
        given = [arg for arg in args if arg is not None]
        return call_pure_packed(shape.func, given, T.shape_type(None, shape.ndim))
    if shape is None or isinstance(shape, ir.Type):
        return None
    dims = [SymExpr.of(value) for value in getattr(shape, "values", shape)]
    return ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result


def _fresh_symbols(op: ir.Operation, name: str, count: int) -> list[str]:
    """Return names of symbols that the function does not have."""
    func = op
    while func.name != "func.func":
        func = func.parent.operation
    text = func.get_asm(large_elements_limit=4)
    made: list[str] = []
    number = 0
    while len(made) < count:
        candidate = f"{name}_{number}"
        number += 1
        if f'"{candidate}"' not in text:
            made.append(candidate)
    return made
