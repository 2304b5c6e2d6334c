"""Calls of prim funcs, for passes that merge them: resolved symbols, proved checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields, make_tuple
from relax_mlir.dialects.symbolic.binding import solutions
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.lowering.walk import collect


@dataclass
class TirCall:
    """One `relax.call_tir` with a single output.

    Attributes:
        op: the operation.
        callee: its prim func.
        arguments: the tensors passed.
        symbols: the caller's values of the prim func's symbols.
    """

    op: ir.Operation
    callee: ir.OpView
    arguments: list[ir.Value]
    symbols: dict[str, SymExpr]

    @property
    def result(self) -> ir.Value:
        """The output."""
        return self.op.results[0]


class KernelSymbols(ir.SymbolTable):
    """The prim funcs of a module, and what calls of them were found to pass for their symbols."""

    def __init__(self, module: ir.Operation) -> None:
        super().__init__(module)
        # Layers repeat: a pass meets few kinds of calls, which the types and attributes determine.
        self._solved: dict[tuple[Any, ...], dict[str, SymExpr] | None] = {}

    def solve(
        self, callee: ir.OpView, types: Sequence[ir.Type], op: ir.Operation
    ) -> dict[str, SymExpr] | None:
        """Return what `solve_symbols` does; None also where a buffer is both read and written."""
        key = (callee.operation.attributes.get("arg_attrs"), op.attributes.get("tir_vars"), *types)
        if key not in self._solved:
            inplace = any("tir.inplace" in each for each in _argument_attributes(callee))
            self._solved[key] = None if inplace else solve_symbols(callee, types, op)
        known = self._solved[key]
        return None if known is None else dict(known)


def match_call(op: ir.Operation, symbols: KernelSymbols) -> TirCall | None:
    """Return the call when compile time can vouch for every check its callee would make."""
    name = op.attributes["callee"].value
    if name not in symbols or isinstance(op.results[0].type, ir.TupleType):
        return None
    callee = symbols[name]
    arguments = known_fields(op.operands[1])
    if arguments is None or not callee.operation.regions[0].blocks:
        return None
    known = symbols.solve(callee, [value.type for value in (*arguments, op.results[0])], op)
    return None if known is None else TirCall(op, callee, arguments, known)


def solve_symbols(
    callee: ir.OpView, types: Sequence[ir.Type], op: ir.Operation
) -> dict[str, SymExpr] | None:
    """Return the caller's values of a prim func's symbols; None where run time has to check more.

    Args:
        callee: the prim func.
        types: of the tensors passed, outputs too.
        op: the call, with the integers passed.
    """
    attributes = _argument_attributes(callee)
    integers = Dims(op.attributes["tir_vars"]).dims if "tir_vars" in op.attributes else []
    if len(attributes) != len(types) + len(integers):
        return None
    known: dict[str, SymExpr] = {}
    for expr, each in zip(integers, attributes[len(types) :], strict=True):
        if "tir.name" in each:
            known[ir.StringAttr(each["tir.name"]).value] = expr
    declared: list[SymExpr] = []
    actual: list[SymExpr] = []
    for type_, each in zip(types, attributes, strict=False):
        dims = T.tensor_dims(type_) if T.is_tensor(type_) else None
        if dims is None or not {"tir.shape", "tir.dtype"} <= each.keys():
            return None
        shape = Dims(each["tir.shape"]).dims
        dtype = ir.StringAttr(each["tir.dtype"]).value
        if len(shape) != len(dims) or dtype != T.tensor_dtype(type_):
            return None
        declared += shape
        actual += dims
    for solution in solutions(declared, known):
        value = actual[solution.index] - solution.rest.substitute(known)
        if value % solution.factor == 0:
            known[solution.symbol] = value // solution.factor
    for dim, given in zip(declared, actual, strict=True):
        if not dim.symbols <= known.keys() or dim.substitute(known) != given:
            return None
    return known


def _argument_attributes(function: ir.OpView) -> list[dict[str, ir.Attribute]]:
    attributes = function.operation.attributes
    if "arg_attrs" not in attributes:
        return []
    return [
        {item.name: item.attr for item in ir.DictAttr(each)}
        for each in ir.ArrayAttr(attributes["arg_attrs"])
    ]


def buffer_decls(prefix: str, values: Sequence[ir.Value]) -> list[BufferDecl]:
    """Return a buffer parameter for each tensor, of its shape and dtype."""
    return [
        BufferDecl(f"{prefix}{i}", T.known_dims(value.type), T.tensor_dtype(value.type))
        for i, value in enumerate(values)
    ]


def integer_parameters(
    decls: Sequence[BufferDecl], calls: Sequence[TirCall], dims: Sequence[SymExpr] = ()
) -> list[str]:
    """Return the symbols that a prim func in place of calls needs and no buffer of it binds.

    Args:
        decls: its buffers.
        calls: what it stands for.
        dims: further expressions of its body.
    """
    shapes = [SymExpr.of(dim) for decl in decls for dim in decl.shape]
    inner = [expr for call in calls for expr in call.symbols.values()]
    used = frozenset().union(*(expr.symbols for expr in (*shapes, *inner, *dims)))
    return sorted(used - {dim.name for dim in shapes})


def kernel_calls(function: ir.Operation) -> list[ir.Operation]:
    """Return the calls of prim funcs in a function, in order."""
    return collect(function, lambda inner: inner.name == "relax.call_tir")


def create_call(
    name: str,
    shape: ir.Value,
    arguments: Sequence[ir.Value],
    integers: Sequence[str],
    result: ir.Type,
) -> ir.Operation:
    """Create a `relax.call_tir` at the current insertion point.

    Args:
        name: the prim func.
        shape: the output's shape, or the tuple of shapes.
        arguments: the tensors passed.
        integers: the symbols passed after the outputs.
        result: the result's type.
    """
    attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(name)}
    if integers:
        attributes["tir_vars"] = Dims.of([SymExpr.var(item) for item in integers])
    return ir.Operation.create(
        "relax.call_tir",
        results=[result],
        operands=[shape, make_tuple(arguments)],
        attributes=attributes,
    )


class KernelMaker:
    """Prim funcs that a pass makes in a module: one for all calls that need the same."""

    def __init__(self, module: ir.Operation) -> None:
        self.symbols = KernelSymbols(module)
        self._module = module
        self._made: dict[str, str] = {}

    def call(
        self,
        calls: Sequence[TirCall],
        inputs: Sequence[ir.Value],
        name: str,
        what: object,
        write: Callable[[PrimFuncBuilder], None],
    ) -> ir.Operation:
        """Create a call in front of the last of the calls it stands for, with the same result.

        Users of that result use the new one; the old calls stay.

        Args:
            calls: what it stands for.
            inputs: the tensors passed.
            name: of the prim func, if nothing in the module has it.
            what: two prim funcs of one `what` and equal types of inputs and results are the same.
            write: writes the body of the prim func; its last buffer is the output.
        """
        op, result = calls[-1].op, calls[-1].result
        out = BufferDecl("out", T.known_dims(result.type), T.tensor_dtype(result.type))
        decls = [*buffer_decls("arg", inputs), out]
        integers = integer_parameters(decls, calls)
        # What the calls pass for symbols is written into the function.
        passed = [[f"{key}={value}" for key, value in call.symbols.items()] for call in calls]
        key = f"{name} {what} {[str(value.type) for value in (*inputs, result)]} {passed}"
        if key not in self._made:
            fresh = unique_name(name, self.symbols)
            with ir.InsertionPoint(self._module.regions[0].blocks[0]), ir.Location.name(fresh):
                builder = PrimFuncBuilder(fresh, decls, integers)
                with builder.body():
                    write(builder)
            self.symbols.insert(builder.op)
            self._made[key] = builder.op.name.value
        with ir.InsertionPoint(op), op.location:
            made = create_call(self._made[key], op.operands[0], inputs, integers, result.type)
        result.replace_all_uses_with(made.results[0])
        return made


def unique_name(base: str, symbols: ir.SymbolTable) -> str:
    """Return a symbol name that the module does not have yet."""
    candidate, count = base, 0
    while candidate in symbols:
        count += 1
        candidate = f"{base}{count}"
    return candidate


def erase_call(op: ir.Operation) -> None:
    """Erase a call that nothing uses, and its shape and tuple of arguments if only it did."""
    made = [value.owner.operation for value in op.operands if not isinstance(value.owner, ir.Block)]
    op.erase()
    for owner in made:
        removable = owner.name == "relax.shape_expr" or is_make_tuple(owner)
        if removable and not list(owner.results[0].uses):
            owner.erase()
