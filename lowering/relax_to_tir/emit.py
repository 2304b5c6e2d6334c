"""What every legalisation shares: making a prim func, calling it, and the run-time fallback."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes, to_attribute
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.tir.builder import Buffer, BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import DtypeError

Body = Callable[[PrimFuncBuilder, Sequence[Buffer]], None]
# The library of the runtime that serves operations whose shapes or dtypes only run time knows (D0).
LIBRARY_PREFIX = "vm.op."


class Legalizer:
    """Rewrites the operations of one module; identical prim funcs are made once (R21)."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module
        self._block = module.regions[0].blocks[0]
        self._symbols = ir.SymbolTable(module)
        self._made: dict[str, str] = {}

    def call_prim(
        self, op: ir.Operation, name: str, operands: Sequence[ir.Value], body: Body, key: str = ""
    ) -> ir.Value | None:
        """Replace an operation by a `relax.call_tir` of a prim func; return its result.

        Args:
            op: the operation; its result's shape and dtype are the output's.
            name: base name of the prim func.
            operands: tensors passed in.
            body: fills the function, given the builder and the buffers, the output last.
            key: what distinguishes functions of that name beside the types.

        Returns:
            The result, or None where shapes or dtypes are not known well enough.
        """
        types = [value.type for value in operands] + [op.results[0].type]
        shapes = T.all_dims(types)
        dtypes = [T.tensor_dtype(type_) for type_ in types]
        if shapes is None or not all(dtypes):
            return None
        bound = {dim.name for dims in shapes for dim in dims if dim.name}
        used = set().union(*(dim.symbols for dims in shapes for dim in dims))
        unbound = sorted(used - bound)
        identity = f"{name}|{key}|{'|'.join(map(str, types))}"
        symbol = self._made.get(identity)
        if symbol is None:
            symbol = self._define(name, shapes, dtypes, unbound, body)
            if symbol is None:
                return None
            self._made[identity] = symbol
        with ir.InsertionPoint(op), op.location:
            shape = ir.Operation.create(
                "relax.shape_expr", results=[T.shape_type(shapes[-1])]
            ).result
            attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
            if unbound:
                attributes["tir_vars"] = Dims.of([SymExpr.var(item) for item in unbound])
            return ir.Operation.create(
                "relax.call_tir",
                results=[types[-1]],
                operands=[shape, make_tuple(operands)],
                attributes=attributes,
            ).result

    def _define(
        self,
        name: str,
        shapes: Sequence[Sequence[SymExpr]],
        dtypes: Sequence[str],
        integers: Sequence[str],
        body: Body,
    ) -> str | None:
        letters = [chr(ord("A") + i) for i in range(len(shapes) - 1)] + ["Out"]
        decls = [BufferDecl(*item) for item in zip(letters, shapes, dtypes, strict=True)]
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

    def _unique(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._symbols:
            count += 1
            candidate = f"{name}{count}"
        return candidate

    def call_library(self, op: ir.Operation) -> ir.Value:
        """Replace an operation by a call of the runtime's library, which sees actual shapes (D0).

        A result type that says more than the operands do is asserted by `relax.match_cast`.
        """
        name = op.name.removeprefix("relax.")
        cls = COMPUTE_OPS[name]
        attrs = read_attributes(op, cls.PARAMS)
        static = [to_attribute(p.kind, attrs[p.name]) for p in cls.PARAMS if not p.is_operand]
        declared = op.results[0].type
        loose = T.tensor_type(None, T.tensor_dtype(declared), T.tensor_ndim(declared))
        with ir.InsertionPoint(op), op.location:
            result = call_pure_packed(f"{LIBRARY_PREFIX}{name}", list(op.operands), loose, static)
            if loose != declared:
                result = ir.Operation.create(
                    "relax.match_cast", results=[declared], operands=[result]
                ).result
        return result


def call_pure_packed(
    name: str,
    operands: Sequence[ir.Value],
    result: ir.Type,
    static: Sequence[ir.Attribute] = (),
) -> ir.Value:
    """Create a `relax.call_pure_packed`; `static` arguments follow the operands."""
    attributes: dict[str, Any] = {"func": ir.StringAttr.get(name)}
    if static:
        attributes["static_args"] = ir.ArrayAttr.get(list(static))
    return ir.Operation.create(
        "relax.call_pure_packed",
        results=[result],
        operands=[make_tuple(operands)],
        attributes=attributes,
    ).result
