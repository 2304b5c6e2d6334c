"""Buffers: their attributes, and new allocations at the start of a function."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import INT4, buffer_type
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.index import Indices

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")


def _details(buffer: ir.Value) -> dict[str, ir.Attribute]:
    """Return what is noted of a buffer on the parameter or the operation that makes it."""
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        function = owner.owner.operation
        if function.name != tree.FUNC or "arg_attrs" not in function.attributes:
            return {}
        raw = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[buffer.arg_number])
        return {item.name: item.attr for item in raw}
    attributes = owner.operation.attributes
    return {name: attributes[name] for name in attributes}


def dims_of(indices: Indices, buffer: ir.Value) -> list[SymExpr]:
    """Return the shape of a buffer as expressions of sizes.

    Args:
        indices: of the function.
        buffer: a parameter, or what an operation makes.
    """
    dims = annotated_dims(buffer)
    if dims is not None:
        return dims
    type_ = ir.MemRefType(buffer.type)
    dynamic = [] if isinstance(buffer.owner, ir.Block) else list(buffer.owner.operation.operands)
    sizes = iter(dynamic)
    return [
        indices.lift(next(sizes)) if type_.is_dynamic_dim(i) else SymExpr.const(type_.shape[i])
        for i in range(type_.rank)
    ]


def annotated_dims(buffer: ir.Value) -> list[SymExpr] | None:
    """Return the shape of a buffer as it was declared, None where it is not noted."""
    details = _details(buffer)
    return list(details["tir.shape"].maybe_downcast().dims) if "tir.shape" in details else None


def dtype_of(buffer: ir.Value) -> str:
    """Return the dtype of a buffer, with its sign."""
    details = _details(buffer)
    if "tir.dtype" in details:
        return ir.StringAttr(details["tir.dtype"]).value
    return T.dtype_of_element(ir.MemRefType(buffer.type).element_type)


def loaded_type(buffer: ir.Value) -> ir.Type:
    """Return the type of what scripts get from a buffer: its elements', or that of a wider one."""
    dtype = dtype_of(buffer)
    return S.scalar_type(INT4.get(dtype, dtype))


def loaded(buffer: ir.Value, items: Sequence[ir.Value]) -> ir.Value:
    """Write a load at the current insertion point and what scripts have it give."""
    value, dtype = memref.load(buffer, list(items)), dtype_of(buffer)
    if dtype == "bool":
        return (S.Scalar(value, "uint8") != 0).value
    if dtype in INT4:
        extend = arith.extsi if dtype == "int4" else arith.extui
        return extend(ir.IntegerType.get_signless(8), value)
    return value


def stored(buffer: ir.Value, value: ir.Value) -> ir.Value:
    """Return what a store of a value of `loaded_type` keeps."""
    dtype = dtype_of(buffer)
    if dtype == "bool":
        return S.cast(S.Scalar(value, "bool"), "uint8").value
    if dtype in INT4:
        return arith.trunci(ir.IntegerType.get_signless(4), value)
    return value


def copied(buffer: ir.Value, items: Sequence[ir.Value]) -> ir.Value:
    """Return an element of a buffer, for another one of its dtype, as statements of scripts do.

    Args:
        buffer: the buffer.
        items: the indices; the load is written at the current insertion point.
    """
    return stored(buffer, loaded(buffer, items))


def name_of(buffer: ir.Value) -> str:
    """Return the name of a buffer."""
    details = _details(buffer)
    if "tir.name" in details:
        return ir.StringAttr(details["tir.name"]).value
    return tree.value_name(buffer, "buffer")


def scope_name(buffer: ir.Value) -> str:
    """Return the storage scope of a buffer, `global` where nothing is noted."""
    details = _details(buffer)
    return ir.StringAttr(details["tir.scope"]).value if "tir.scope" in details else "global"


def is_local(buffer: ir.Value) -> bool:
    """Whether a buffer is made in the function, and can be changed."""
    owner = buffer.owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "memref.alloc"


def alloc(
    indices: Indices, name: str, dims: Sequence[SymExpr], dtype: str, scope: str = "global"
) -> ir.Value:
    """Allocate a buffer where the function begins.

    Args:
        indices: of the function.
        name: its name, with a number where another buffer has it.
        dims: its shape, of sizes and numbers.
        dtype: of its elements.
        scope: its storage scope.
    """
    name = unused_name(indices.function, name)
    sizes = [indices.entry(dim) for dim in dims if dim.value is None]
    block = tree.body_of(indices.function)
    first = next(
        v for v in block.operations
        if v.operation.name not in ("tir.symbol", "arith.constant", "memref.alloc")
    )  # fmt: skip
    with ir.InsertionPoint(first), ir.Location.name(name):
        value = memref.AllocOp(buffer_type(dims, dtype), sizes, []).result
    attributes = value.owner.operation.attributes
    attributes["tir.name"] = ir.StringAttr.get(name)
    attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    attributes["tir.shape"] = Dims.of(list(dims))
    if scope != "global":
        attributes["tir.scope"] = ir.StringAttr.get(scope)
    return value


def unused_name(function: ir.Operation, name: str) -> str:
    """Return a name for a buffer, with a number where another buffer has it."""
    taken = {name_of(argument) for argument in tree.body_of(function).arguments}
    taken |= {name_of(op.results[0]) for op in tree.walk(function) if op.name == "memref.alloc"}
    return tree.free_name(name, taken)
