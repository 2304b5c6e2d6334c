"""Memory layout of a buffer, and its declared attributes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr, product

_DYNAMIC = ir.ShapedType.get_dynamic_size()
_NONE = SymExpr.const(0)
# What elements of 4 bits are outside of memory, where two share a byte.
INT4 = {"int4": "int8", "uint4": "uint8"}


@dataclass(frozen=True)
class Layout:
    """What a declaration says of a buffer's memory; all but strides and offset are notes.

    Attributes:
        strides: elements from one index to the next in each dimension; None for row-major order.
        offset: elements before the first one.
        scope: where the memory is, `"global"` for anywhere; there is one kind of memory here.
        align: bytes that the address of the data is a multiple of, 0 for any.
        offset_factor: what the offset is a multiple of.
        axis_separators: where dimensions are cut into groups.
    """

    strides: tuple[SymExpr, ...] | None = None
    offset: SymExpr = _NONE
    scope: str = "global"
    align: int = 0
    offset_factor: int = 0
    axis_separators: tuple[int, ...] = ()

    def attributes(self) -> dict[str, ir.Attribute]:
        """Return what is not as usual as attributes of a parameter or an operation."""
        i64 = ir.IntegerType.get_signless(64)
        result: dict[str, ir.Attribute] = {}
        if self.strides is not None:
            result["tir.strides"] = Dims.of(self.strides)
        if self.offset.value != 0:
            result["tir.elem_offset"] = Dims.of([self.offset])
        if self.scope != "global":
            result["tir.scope"] = ir.StringAttr.get(self.scope)
        for name in ("align", "offset_factor"):
            if getattr(self, name):
                result[f"tir.{name}"] = ir.IntegerAttr.get(i64, getattr(self, name))
        if self.axis_separators:
            items = [ir.IntegerAttr.get(i64, each) for each in self.axis_separators]
            result["tir.axis_separators"] = ir.ArrayAttr.get(items)
        return result


LAYOUT_ATTRIBUTES = tuple(
    f"tir.{'elem_offset' if each.name == 'offset' else each.name}" for each in fields(Layout)
)


def storage_type(dtype: str) -> ir.Type:
    """Return the memory element type of a dtype: signless, bool in a byte."""
    if "float" in dtype:
        return T.element_type(dtype)
    if dtype in INT4:
        return ir.IntegerType.get_signless(4)
    return ir.IntegerType.get_signless(8 * T.dtype_size(dtype))


def row_major(dims: Sequence[SymExpr]) -> tuple[SymExpr, ...]:
    """Return the strides of a buffer without gaps."""
    return tuple(product(tuple(dims[i + 1 :])) for i in range(len(dims)))


def static(dims: Sequence[SymExpr]) -> list[int]:
    """Return sizes or strides as MLIR's types have them."""
    return [_DYNAMIC if dim.value is None else dim.value for dim in dims]


def buffer_type(
    dims: Sequence[SymExpr],
    dtype: str,
    strides: Sequence[SymExpr] | None = None,
    offset: int | None = 0,
) -> ir.Type:
    """Return the memref type of a buffer; an offset of None is known at run time only."""
    element = storage_type(dtype)
    if strides is None and offset == 0:
        return ir.MemRefType.get(static(dims), element)
    given = row_major(dims) if strides is None else strides
    start = _DYNAMIC if offset is None else offset
    layout = ir.StridedLayoutAttr.get(start, static(given))
    return ir.MemRefType.get(static(dims), element, layout)
