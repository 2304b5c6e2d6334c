"""Random arguments of the functions of a module, by the types of their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.facts import declared_bounds
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.symbolic.atoms import Bounds
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.runtime.values.convert import numpy_dtype

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule

# Sizes on both sides of powers of two up to two AVX-512 vectors of float32.
_SIZES = (2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33)
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)
# One of so many numbers is a special one.
_SPECIAL_EVERY = 6
_UNKNOWN_RANK = 2


class NoArguments(RelaxMLIRError):
    """Nothing can be drawn for a parameter: it is a function, an object, ..."""


@dataclass(frozen=True)
class Tensor:
    """A tensor, or the buffer of a prim func.

    Attributes:
        dims: its sizes.
        dtype: its dtype.
    """

    dims: tuple[SymExpr, ...]
    dtype: str

    def draw(self, sizes: Mapping[str, int], rng: np.random.Generator, special: bool) -> Any:
        """Return an array; some of its numbers are NaN, infinite or -0.0 if `special`."""
        shape, dtype = _evaluate(self.dims, sizes), numpy_dtype(self.dtype)
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            return rng.integers(-4 if dtype.kind == "i" else 0, 5, shape).astype(dtype)
        numbers = rng.uniform(-2.0, 2.0, shape)
        if special:
            where = rng.integers(0, _SPECIAL_EVERY, shape) == 0
            numbers = np.where(where, rng.choice(_SPECIAL, shape), numbers)
        return numbers.astype(dtype)


@dataclass(frozen=True)
class ShapeValue:
    """A shape.

    Attributes:
        dims: its sizes.
    """

    dims: tuple[SymExpr, ...]

    def draw(self, sizes: Mapping[str, int], rng: np.random.Generator, special: bool) -> Any:
        """Return a tuple of integers."""
        return _evaluate(self.dims, sizes)


@dataclass(frozen=True)
class Scalar:
    """A scalar.

    Attributes:
        dtype: its dtype.
    """

    dtype: str

    def draw(self, sizes: Mapping[str, int], rng: np.random.Generator, special: bool) -> Any:
        """Return a number of Python."""
        return Tensor((), self.dtype).draw(sizes, rng, special).item()


@dataclass(frozen=True)
class Fields:
    """A tuple.

    Attributes:
        fields: what is in it.
    """

    fields: tuple["Parameter", ...]

    def draw(self, sizes: Mapping[str, int], rng: np.random.Generator, special: bool) -> Any:
        """Return a tuple."""
        return tuple(each.draw(sizes, rng, special) for each in self.fields)


Parameter = Tensor | ShapeValue | Scalar | Fields


@dataclass(frozen=True)
class Signature:
    """What a function is called with.

    Attributes:
        names: the names of its parameters.
        parameters: what they are.
        writes: whether results are written to the arguments, as by a prim func.
        bounds: the declared bounds of symbols.
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    writes: bool = False
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def symbols(self) -> list[str]:
        """The symbols of its sizes, in order."""
        return sorted({name for each in self.parameters for name in _symbols(each)})

    def sizes(self, rng: np.random.Generator) -> dict[str, int]:
        """Return random sizes for its symbols, within their bounds."""
        return {name: self.bounded(name, int(rng.choice(_SIZES))) for name in self.symbols}

    def bounded(self, symbol: str, size: int) -> int:
        """Return the size next to a given one that the bounds of a symbol allow."""
        low, high = self.bounds.get(symbol, (None, None))
        size = size if low is None else max(size, low)
        return size if high is None else min(size, high)

    def draw(self, sizes: Mapping[str, int], seed: int, *, special: bool = False) -> list[Any]:
        """Return arguments: the same ones for the same sizes and seed.

        Raises:
            NoArguments: a size is negative for these symbols.
        """
        rng = np.random.default_rng(seed)
        return [each.draw(sizes, rng, special) for each in self.parameters]


def signatures(mod: "IRModule") -> dict[str, Signature | NoArguments]:
    """Return what the public functions of a module are called with.

    Where there are Relax functions, prim funcs are what these are made of, and left out.

    Returns:
        A signature by the name of each function, or why there is none.
    """
    views = {view.attributes["sym_name"].value: view for view in _public_functions(mod)}
    relax = {name: op for name, op in views.items() if "relax.function" in op.attributes}
    if relax:
        return {name: _attempt(_of_relax, op) for name, op in relax.items()}
    prim_funcs = {str(name.name_hint): view for name, view in mod.functions.items()}
    return {
        name: _attempt(_of_prim_func, prim_funcs[name])
        for name, op in views.items()
        if "tir.prim_func" in op.attributes
    }


def _public_functions(mod: "IRModule") -> list[ir.Operation]:
    operations = [view.operation for view in mod.mlir_module.body.operations]
    return [
        op
        for op in operations
        if op.name == "func.func"
        and "sym_visibility" not in op.attributes
        and len(op.regions[0].blocks)
    ]


def _attempt(read: Any, function: Any) -> Signature | NoArguments:
    try:
        return read(function)
    except NoArguments as error:
        return error


def _of_relax(op: ir.Operation) -> Signature:
    types = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    names = [f"#{index}" for index in range(len(types))]
    if "relax.params" in op.attributes:
        names = [ir.StringAttr(name).value for name in ir.ArrayAttr(op.attributes["relax.params"])]
    parameters = [_parameter(name, type_) for name, type_ in zip(names, types, strict=True)]
    return Signature(tuple(names), tuple(parameters), bounds=declared_bounds(op, strict=False))


def _parameter(name: str, type_: ir.Type) -> Parameter:
    if is_tuple(type_):
        fields = field_types(type_)
        return Fields(tuple(_parameter(f"{name}.{i}", each) for i, each in enumerate(fields)))
    if T.is_tensor(type_):
        dims = T.tensor_dims(type_)
        if dims is None:
            rank = T.tensor_ndim(type_)
            rank = _UNKNOWN_RANK if rank < 0 else rank
            dims = [SymExpr.var(f"{name}.shape[{axis}]") for axis in range(rank)]
        return Tensor(tuple(dims), T.tensor_dtype(type_) or "float32")
    if isinstance(type_, Shape):
        dims = T.shape_dims(type_)
        if dims is None:
            rank = max(T.shape_ndim(type_), 0)
            dims = [SymExpr.var(f"{name}[{axis}]") for axis in range(rank)]
        return ShapeValue(tuple(dims))
    try:
        return Scalar(T.dtype_of_element(type_))
    except ValueError:
        raise NoArguments(f"parameter '{name}' is of type {type_}") from None


def _of_prim_func(view: Any) -> Signature:
    parameters: list[Parameter] = []
    for param in view.params:
        buffer = view.buffer_map.get(param)
        if buffer is None and param.dtype == "handle":
            raise NoArguments(f"parameter '{param.name}' is a handle of no buffer")
        if buffer is None:
            parameters.append(Scalar(param.dtype))
        else:
            dims = tuple(SymExpr.of(each) for each in buffer.shape)
            parameters.append(Tensor(dims, buffer.dtype))
    return Signature(tuple(p.name for p in view.params), tuple(parameters), writes=True)


def _evaluate(dims: tuple[SymExpr, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    try:
        shape = tuple(dim.evaluate(sizes) for dim in dims)
    except ZeroDivisionError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise NoArguments(f"there is no shape ({', '.join(map(str, dims))}) for {given}")
    return shape


def _symbols(parameter: Parameter) -> set[str]:
    if isinstance(parameter, Fields):
        return {name for each in parameter.fields for name in _symbols(each)}
    dims = () if isinstance(parameter, Scalar) else parameter.dims
    return {name for dim in dims for name in dim.symbols}
