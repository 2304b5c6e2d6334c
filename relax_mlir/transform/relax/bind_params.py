"""The pass `BindParams`: parameters of a function become constants, and their sizes numbers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute, constant_op
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.ops.base import prim_number, prim_value
from relax_mlir.dialects.relax.well_formed import argument_attributes, type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, ParameterNameError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.expr import Function, PrimValue
from relax_mlir.relax.expr.dims import as_dim
from relax_mlir.runtime.values.convert import is_tensor_dtype, to_value
from relax_mlir.script.printer.spelling import type_text
from relax_mlir.tir.scalar.prim_expr import FloatImm
from relax_mlir.transform.relax.bind_symbolic_vars import in_function, substitute_in_function
from relax_mlir.transform.relax.infer_type import infer_function

# A number, or an expression of symbols of the function.
_Size = int | SymExpr


def BindParams(func_name: str, params: Mapping[Any, Any]) -> ModulePass:
    """Return the pass that makes constants of parameters of a Relax function.

    The sizes of a constant are the values of the symbols that its parameter bound, everywhere in
    the function; types that follow from them are inferred again.

    Args:
        func_name: the function.
        params: by the name of the parameter, or by it as `mod["main"].params` gives it: arrays,
            shapes for `R.Shape`, and numbers for `R.Prim`. Sizes may be expressions of symbols that
            the function has, `n + 1`.

    Raises:
        ExprTypeError: a value is none of these, or `params` no dictionary. The pass raises it for a
            function that is no Relax function, and `ExprError` for a parameter that there is not,
            a value that does not fit, two values of one symbol, and a symbol that nothing else
            binds.
    """
    if not isinstance(params, Mapping):
        raise ExprTypeError(f"BindParams takes arrays by parameter, got {params!r}")
    values = {getattr(key, "name_hint", key): _value(key, value) for key, value in params.items()}

    def bind(mod: IRModule, ctx: PassContext) -> IRModule:
        func = mod[func_name].mlir_op
        if "relax.function" not in func.attributes:
            raise ExprTypeError(f"BindParams: '{func_name}' is no Relax function")
        with lock_of(mod.context), mod.context:
            _Binder(func_name, func, values).run()
            infer_function(mod.mlir_module.operation, func_name)
        return mod

    return ModulePass(bind, PassInfo("BindParams"))


def bind_params(func: Function, params: Mapping[Any, Any]) -> Function:
    """Return a function with parameters bound, in a module of its own: `Function.bind_params`.

    Raises:
        ExprError: as for the pass `BindParams`.
    """
    return in_function(func, lambda name: BindParams(name, params))


def bind_main(mod: IRModule, params: Mapping[Any, Any]) -> IRModule:
    """Return a module with parameters bound of `main`, or of the only Relax function.

    Raises:
        ExprError: there are several functions and none is `main`; else as for the pass.
    """
    names = [func.name for func in mod.functions.values() if isinstance(func, Function)]
    name = "main" if "main" in names else names[0] if len(names) == 1 else ""
    if not name:
        raise ExprError(f"params are those of 'main', and there are: {', '.join(names) or 'none'}")
    return BindParams(name, params)(mod)


def _value(key: Any, value: Any) -> np.ndarray | tuple[_Size, ...] | _Size | float:
    """Return what a parameter becomes: an array, the sizes of a shape, or a number."""
    if isinstance(value, PrimValue):
        value = value.value
    if isinstance(value, SymExpr) or hasattr(value, "as_size"):
        with suppress(ExprTypeError):
            return _size(value)
    if isinstance(value, (FloatImm, np.generic)):
        value = value.value if isinstance(value, FloatImm) else value.item()
    sizes = getattr(value, "values", None)
    result = value
    if isinstance(sizes, (list, tuple)):
        result = tuple(sizes)
    elif not isinstance(value, np.ndarray):
        result = to_value(getattr(value, "data", value) if hasattr(value, "mlir_op") else value)
    if isinstance(result, np.ndarray) and is_tensor_dtype(result.dtype):
        # The module keeps it: later changes of the caller's own are not the program's.
        return result.copy()
    if isinstance(result, float):
        return result
    with suppress(TypeError, ValueError):
        if isinstance(result, tuple):
            return tuple(map(_size, result))
        return _size(result)
    raise ExprTypeError(f"BindParams: '{key}' becomes an array, got {type(value).__name__}")


class _Binder:
    """Binds parameters of one function."""

    def __init__(self, name: str, func: ir.Operation, values: Mapping[str, Any]) -> None:
        self._name, self._func, self._values = name, func, values
        self._block = func.regions[0].blocks[0]
        self._names = [ir.StringAttr(each).value for each in func.attributes["relax.params"]]
        self._known: dict[str, _Size] = {}
        # Symbols that integers give their values, not the sizes of arrays.
        self._explicit: set[str] = set()

    def run(self) -> None:
        """Bind, and drop the parameters.

        Raises:
            ExprError: as for the pass.
        """
        for wanted in self._values:
            if wanted not in self._names:
                near = did_you_mean(str(wanted), self._names)
                near = near or f"; there are: {', '.join(self._names) or 'none'}"
                message = f"function '{self._name}' has no parameter '{wanted}'{near}"
                raise ParameterNameError(f"BindParams: {message}")
        chosen = [i for i, each in enumerate(self._names) if each in self._values]
        for position in chosen:
            self._match(position)
        sizes = {name: SymExpr.of(value) for name, value in self._known.items()}
        substitute_in_function(self._func, sizes)
        signature = ir.FunctionType(ir.TypeAttr(self._func.attributes["function_type"]).value)
        kept = [type_ for i, type_ in enumerate(signature.inputs) if i not in chosen]
        before = bound_symbols(dim for type_ in signature.inputs for dim in type_dims(type_))
        self._require_bound(kept, chosen)
        _check_symbols(self._name, before, kept, list(signature.results))
        with ir.InsertionPoint.at_block_begin(self._block):
            for position in chosen:
                argument = self._block.arguments[position]
                if next(iter(argument.uses), None) is not None:
                    argument.replace_all_uses_with(self._made(position, argument))
        for position in reversed(chosen):
            self._block.erase_argument(position)
        type_ = ir.FunctionType.get(kept, signature.results)
        self._func.attributes["function_type"] = ir.TypeAttr.get(type_)
        for key in ("arg_attrs", "relax.params"):
            if key in self._func.attributes:
                items = [e for i, e in enumerate(self._func.attributes[key]) if i not in chosen]
                self._func.attributes[key] = ir.ArrayAttr.get(items)

    def _require_bound(self, kept: list[ir.Type], chosen: list[int]) -> None:
        """Check that the parameters that stay bind the symbols of the sizes that are given."""
        given = [value if isinstance(value, tuple) else (value,) for value in self._values.values()]
        sizes = [each for value in given for each in value if isinstance(each, SymExpr)]
        if not sizes:
            return
        known = [dim for type_ in kept for dim in type_dims(type_)]
        for position, attributes in enumerate(argument_attributes(self._func)):
            if position not in chosen and "relax.value" in attributes:
                known += Dims(attributes["relax.value"]).dims
        bound = bound_symbols(known)
        for size in sizes:
            for symbol in sorted(size.symbols - bound):
                raise ExprError(
                    f"BindParams: no other parameter of function '{self._name}' gives symbol "
                    f"'{symbol}' its value{did_you_mean(symbol, bound)}"
                )

    def _match(self, position: int) -> None:
        """Check that a value is one of the parameter's type, and note what it says of symbols."""
        name = self._names[position]
        declared, value = self._block.arguments[position].type, self._values[name]
        if isinstance(value, np.ndarray):
            got, dims = f"an array of {value.dtype} and shape {value.shape}", T.tensor_dims
            fits = T.is_tensor(declared) and T.tensor_dtype(declared) in ("", str(value.dtype))
            sizes, ndim = value.shape, T.tensor_ndim
        elif isinstance(value, tuple):
            got, dims, sizes, ndim = f"the shape {value}", T.shape_dims, value, T.shape_ndim
            fits = isinstance(declared, Shape)
        else:
            dtype = T.scalar_dtype(declared)
            whole = isinstance(value, int)
            if isinstance(value, SymExpr):
                if dtype != "int64":
                    self._refuse(name, declared, f"the size {value}")
            elif (
                dtype is None
                or not (whole or "float" in dtype)
                or (whole and "float" not in dtype and np.array(value).astype(dtype) != value)
            ):
                self._refuse(name, declared, f"the number {value}")
            symbolic = argument_attributes(self._func)[position].get("relax.value")
            for dim in Dims(symbolic).dims if symbolic is not None else ():
                if dim.name:
                    self._explicit.add(dim.name)
                    self._note(dim.name, value)
            return
        if not fits or ndim(declared) not in (-1, len(sizes)):
            self._refuse(name, declared, got)
        for dim, size in zip(dims(declared) or (), sizes, strict=False):
            if dim.value not in (None, size):
                self._refuse(name, declared, got)
            if dim.name:
                self._note(dim.name, size)

    def _refuse(self, name: str, declared: ir.Type, got: str) -> None:
        where = f"'{name}' of function '{self._name}' is {type_text(declared)}"
        rule = ""
        if T.scalar_dtype(declared) is not None:
            rule = f"Explicit binding for symbolic variable {name} must be a primitive expression: "
        raise ExprError(f"BindParams: {rule}{where}, got {got}")

    def _note(self, symbol: str, value: _Size) -> None:
        if self._known.setdefault(symbol, value) != value:
            rule = ""
            if symbol in self._explicit:
                rule = (
                    f"Explicit binding for symbolic variable {symbol} conflicts with the value "
                    "inferred from a parameter shape: "
                )
            raise ExprError(
                f"BindParams: {rule}'{symbol}' of function '{self._name}' would be "
                f"{self._known[symbol]} and {value}"
            )

    def _made(self, position: int, argument: ir.Value) -> ir.Value:
        name, location = self._names[position], argument.location
        value = self._values[name]
        # A constant without a name is written where it is used, as TVM writes it.
        with location.child_loc if isinstance(location, ir.NameLoc) else location:
            if isinstance(value, tuple):
                made = ir.Operation.create("relax.shape_expr", results=[T.shape_type(value)]).result
            elif isinstance(value, SymExpr):
                made = prim_value(value)
            elif isinstance(value, (int, float)) and str(argument.type) == "i64":
                made = prim_value(int(value))
            elif isinstance(value, (int, float)):
                return prim_number(value, T.dtype_of_element(argument.type), ir.Location.current)
            else:
                made = constant_op(constant_attribute(value, name))
            if made.type == argument.type or not any(map(_is_computed, type_dims(argument.type))):
                return made
            # A size such as `2 * n` is compared where the function begins.
            return ir.Operation.create(
                "relax.match_cast", results=[argument.type], operands=[made]
            ).result


def _is_computed(dim: SymExpr) -> bool:
    return not dim.is_const and not dim.name


def _check_symbols(
    name: str, before: set[str], inputs: list[ir.Type], results: list[ir.Type]
) -> None:
    """Check that what the signature keeps mentions no symbol that it does not bind any more."""
    bound = bound_symbols(dim for type_ in inputs for dim in type_dims(type_))
    for type_ in (*inputs, *results):
        for dim in type_dims(type_):
            for symbol in sorted(dim.symbols & before - bound):
                raise ExprError(
                    f"BindParams: '{symbol}' of function '{name}' is bound by a parameter that "
                    "becomes a constant only; write the size as a number"
                )


def _size(size: Any) -> _Size:
    if isinstance(size, str):
        raise TypeError("a word is no size")
    expr = as_dim(size)
    return expr if expr.value is None else expr.value
