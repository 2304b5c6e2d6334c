"""Helpers of legalization: building a prim func, calling it, and the run-time fallback."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.ops.base import (
    COMPUTE_OPS,
    SYMBOLIC_KINDS,
    UNKNOWN,
    constant_value,
    infer_result,
    library_attribute,
    library_order,
    prim_value,
    read_attributes,
    scalar_constant,
)
from relax_mlir.dialects.relax.tuples import (
    field_types,
    get_item,
    is_tuple,
    make_tuple,
)
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import DtypeError

Body = Callable[[PrimFuncBuilder, Sequence[Buffer]], None]
# The library of the runtime that serves operations whose shapes or dtypes only run time knows.
LIBRARY_PREFIX = "vm.op."


class Legalizer:
    """Rewrites the operations of one module; identical prim funcs are made once."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module
        self._block = module.regions[0].blocks[0]
        self._symbols = ir.SymbolTable(module)
        self._made: dict[str, str] = {}
        self._taken: dict[str, set[str]] = {}

    def call_prim(
        self,
        op: ir.Operation,
        name: str,
        operands: Sequence[ir.Value],
        body: Body,
        key: str = "",
        *,
        result: ir.Type | None = None,
        uses: Iterable[SymExpr] = (),
    ) -> ir.Value | None:
        """Replace an operation by a `relax.call_tir` of a prim func; return its result.

        Args:
            op: the operation.
            name: base name of the prim func.
            operands: tensors passed in.
            body: fills the function, given the builder and the buffers, the outputs last.
            key: what distinguishes functions of that name and these types.
            result: a tensor type, or a tuple of them for several outputs, each of which the body
                fills; by default the type of the operation's result.
            uses: symbolic integers, other than the dimensions, that the body asks the builder for.

        Returns:
            The result, or None where shapes or dtypes are not known well enough.
        """
        result = op.results[0].type if result is None else result
        outputs = field_types(result) if is_tuple(result) else [result]
        types = [*(value.type for value in operands), *outputs]
        if not all(T.is_tensor(type_) for type_ in types):
            return None
        shapes = T.all_dims(types)
        dtypes = [T.tensor_dtype(type_) for type_ in types]
        if shapes is None or not all(dtypes):
            return None
        bound = {dim.name for dims in shapes for dim in dims if dim.name}
        used = set().union(*(dim.symbols for dims in [*shapes, list(uses)] for dim in dims))
        unbound = sorted(used - bound)
        identity = f"{name}|{key}|{len(outputs)}|{'|'.join(map(str, types))}|{unbound}"
        symbol = self._made.get(identity)
        if symbol is None:
            names = _buffer_names(len(operands), len(outputs) if is_tuple(result) else 0)
            decls = [BufferDecl(*item) for item in zip(names, shapes, dtypes, strict=True)]
            symbol = self._define(name, decls, unbound, body)
            if symbol is None:
                return None
            self._made[identity] = symbol
        with ir.InsertionPoint(op), op.location:
            shape, given = _parts(shapes[len(operands) :], operands, is_tuple(result))
            attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
            if unbound:
                attributes["tir_vars"] = Dims.of([SymExpr.var(item) for item in unbound])
            return ir.Operation.create(
                "relax.call_tir",
                results=[result],
                operands=[shape, given],
                attributes=attributes,
            ).result

    def call_general(
        self,
        op: ir.Operation,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        shapes: Sequence[Sequence[SymExpr]],
        integers: Mapping[str, SymExpr],
        body: Body,
        key: str = "",
    ) -> ir.Value | None:
        """Create a `relax.call_tir` of a prim func that is declared for more than these tensors.

        Args:
            op: where to create it.
            name: base name of the prim func.
            operands: tensors passed in, of known dtypes.
            result: a tensor type.
            shapes: what the prim func declares of the operands and of the result.
            integers: parameters of it that shapes do not bind, and what this call passes.
            body: as in `call_prim`.
            key: as in `call_prim`.

        Returns:
            The result, None where dtypes are such that there is no prim func.
        """
        dtypes = [T.tensor_dtype(type_) for type_ in (*(v.type for v in operands), result)]
        identity = (
            f"{name}|{key}|{[list(map(str, dims)) for dims in shapes]}|{dtypes}|{[*integers]}"
        )
        symbol = self._made.get(identity)
        if symbol is None:
            names = _buffer_names(len(operands), 0)
            decls = [BufferDecl(*item) for item in zip(names, shapes, dtypes, strict=True)]
            symbol = self._define(name, decls, [*integers], body)
            if symbol is None:
                return None
            self._made[identity] = symbol
        with ir.InsertionPoint(op), op.location:
            attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
            if integers:
                attributes["tir_vars"] = Dims.of([*integers.values()])
            shape, given = _parts([T.known_dims(result)], operands, False)
            return ir.Operation.create(
                "relax.call_tir",
                results=[result],
                operands=[shape, given],
                attributes=attributes,
            ).result

    def call_inferred(
        self,
        op: ir.Operation,
        operands: Sequence[ir.Value],
        body: Body,
        key: str = "",
        uses: Iterable[SymExpr] = (),
    ) -> ir.Value | None:
        """As `call_prim`, to the type that the operation's rule infers.

        A declared type that says something else is asserted by `relax.match_cast`, so that a body
        need not look at it. The prim func has the operation's name.
        """
        name = op.name.removeprefix("relax.")
        inferred = infer_result(op)
        result = self.call_prim(op, name, operands, body, key, result=inferred, uses=uses)
        return None if result is None else matched(op, result)

    def _define(
        self, name: str, decls: Sequence[BufferDecl], integers: Sequence[str], body: Body
    ) -> str | None:
        with ir.InsertionPoint(self._block), ir.Location.name(name):
            builder = PrimFuncBuilder(self._unique(name), decls, integers)
            try:
                with builder.body():
                    body(builder, builder.buffers)
            except DtypeError:
                builder.op.operation.erase()
                return None
        self._symbols.insert(builder.op)
        return builder.op.name.value

    def counted_size(self, op: ir.Operation, total: ir.Value) -> SymExpr:
        """Write what names a count, a vector of one, at the current insertion point."""
        shape = call_pure_packed("vm.builtin.tensor_to_shape", [total], T.shape_type(None, 1))
        (size,) = map(SymExpr.var, self.new_symbols(op, 1))
        ir.Operation.create("relax.match_cast", results=[T.shape_type([size])], operands=[shape])
        return size

    def new_symbols(self, op: ir.Operation, count: int) -> list[str]:
        """Return names for integers that the function around an operation does not have yet."""
        function = op
        while function.name != "func.func":
            function = function.parent.operation
        key = ir.StringAttr(function.attributes["sym_name"]).value
        if key not in self._taken:
            self._taken[key] = _symbols_in(function)
        taken, names = self._taken[key], (f"size{number}" for number in itertools.count())
        made = list(itertools.islice((name for name in names if name not in taken), count))
        taken.update(made)
        return made

    def _unique(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._symbols:
            count += 1
            candidate = f"{name}{count}"
        return candidate

    def call_library(self, op: ir.Operation) -> ir.Value:
        """Replace an operation by a call of the runtime's library, which sees actual shapes.

        The function gets the operands (an empty tuple for one left out), then the attributes that
        may be symbolic, then the others. A result type that says more than the operands do is
        asserted by `relax.match_cast`.
        """
        name = op.name.removeprefix("relax.")
        cls = COMPUTE_OPS[name]
        attrs = read_attributes(op, cls.PARAMS)
        static = library_order(cls.PARAMS)
        operands = list(op.operands)
        with ir.InsertionPoint(op), op.location:
            if any(constant_value(attrs[param.name]) is UNKNOWN for param in static):
                symbolic = [param for param in static if param.kind in SYMBOLIC_KINDS]
                operands += [_value_of(attrs[param.name]) for param in symbolic]
                static = static[len(symbolic) :]
            result = call_packed(
                f"{LIBRARY_PREFIX}{name}",
                operands,
                _loose(op.results[0].type),
                [library_attribute(param.kind, attrs[param.name]) for param in static],
                pure=cls.PURE,
            )
        return matched(op, result)


def _symbols_in(op: ir.Operation) -> set[str]:
    """Return the symbols that the values and attributes inside an operation mention."""
    used: set[str] = set()
    for block in (block for region in op.regions for block in region.blocks):
        inside = [view.operation for view in block.operations]
        values = [*block.arguments, *(result for each in inside for result in each.results)]
        dims = [dim for value in values for dim in type_dims(value.type)]
        for each in inside:
            for attribute in each.attributes.values():
                if isinstance(attribute, Dims):
                    dims += attribute.dims
            used |= _symbols_in(each)
        used.update(*(dim.symbols for dim in dims))
    return used


def _buffer_names(inputs: int, outputs: int) -> list[str]:
    """Return names of the buffers; `outputs` is 0 for a single one that is no tuple."""
    letters = [chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "") for i in range(inputs)]
    return letters + ([f"Out{i}" for i in range(outputs)] if outputs else ["Out"])


def _parts(
    shapes: Sequence[Sequence[SymExpr]], operands: Sequence[ir.Value], several: bool
) -> tuple[ir.Value, ir.Value]:
    """Create the operands of a call_tir: parts of it, which have no names of their own."""
    with nameless(ir.Location.current):
        made = [
            ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result
            for dims in shapes
        ]
        return make_tuple(made) if several else made[0], make_tuple(operands)


def _value_of(value: Any) -> ir.Value:
    """Create the value of an attribute that may be symbolic; None is the empty tuple."""
    if value is None or isinstance(value, list):
        return make_tuple([_value_of(item) for item in value or ()])
    if isinstance(value, float):
        return scalar_constant(value, "float64")
    return prim_value(value)


def _loose(type_: ir.Type) -> ir.Type:
    """Return the type without what run time has to check: its dimensions."""
    if is_tuple(type_):
        return ir.TupleType.get_tuple([_loose(field) for field in field_types(type_)])
    if T.is_tensor(type_):
        return T.tensor_type(None, T.tensor_dtype(type_), T.tensor_ndim(type_))
    if isinstance(type_, Shape):
        return T.shape_type(None, T.shape_ndim(type_))
    return type_


def matched(op: ir.Operation, value: ir.Value) -> ir.Value:
    """Return a value with an operation's result type, what that says more asserted before it."""
    with ir.InsertionPoint(op), op.location:
        return _matched(value, op.results[0].type)


def _matched(value: ir.Value, declared: ir.Type) -> ir.Value:
    if value.type == declared:
        return value
    if is_tuple(declared):
        types = field_types(declared)
        return make_tuple([_matched(get_item(value, i), each) for i, each in enumerate(types)])
    return ir.Operation.create("relax.match_cast", results=[declared], operands=[value]).result


def fields_of(op: ir.Operation, value: ir.Value) -> list[ir.Value]:
    """Return the fields of a tuple operand, taken out before the operation where need be."""
    with ir.InsertionPoint(op), op.location:
        return [get_item(value, index) for index in range(value.type.num_types)]


def call_packed(
    name: str,
    operands: Sequence[ir.Value],
    result: ir.Type,
    static: Sequence[ir.Attribute] = (),
    *,
    pure: bool = True,
) -> ir.Value:
    """Create a call of a packed function; `static` arguments follow the operands."""
    attributes: dict[str, Any] = {"func": ir.StringAttr.get(name)}
    if static:
        attributes["static_args"] = ir.ArrayAttr.get(list(static))
    return ir.Operation.create(
        "relax.call_pure_packed" if pure else "relax.call_packed",
        results=[result],
        operands=[make_tuple(operands)],
        attributes=attributes,
    ).result


def call_pure_packed(
    name: str,
    operands: Sequence[ir.Value],
    result: ir.Type,
    static: Sequence[ir.Attribute] = (),
) -> ir.Value:
    """Create a call of a packed function that has no effect but its result."""
    return call_packed(name, operands, result, static)
