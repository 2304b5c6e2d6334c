"""The lattice of types: `meet` and `join`."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape


def meet(a: ir.Type, b: ir.Type) -> ir.Type:
    """Return the type that holds what both say; where both give dimensions, the first's."""
    if str(a) == "!relax.object":
        return b
    if T.is_tensor(a) and T.is_tensor(b):
        dims = T.tensor_dims(a) if T.tensor_dims(a) is not None else T.tensor_dims(b)
        ndim = max(T.tensor_ndim(a), T.tensor_ndim(b))
        return T.tensor_type(dims, T.tensor_dtype(a) or T.tensor_dtype(b), ndim)
    if isinstance(a, Shape) and isinstance(b, Shape):
        dims = T.shape_dims(a) if T.shape_dims(a) is not None else T.shape_dims(b)
        return T.shape_type(dims, max(T.shape_ndim(a), T.shape_ndim(b)))
    if isinstance(a, ir.TupleType) and isinstance(b, ir.TupleType):
        pairs = zip(range(a.num_types), range(b.num_types), strict=True)
        return ir.TupleType.get_tuple([meet(a.get_type(i), b.get_type(j)) for i, j in pairs])
    return a


def join(a: ir.Type, b: ir.Type) -> ir.Type | None:
    """Return the most precise type that both types satisfy, None when there is none of use."""
    if a == b:
        return a
    if T.is_tensor(a) and T.is_tensor(b):
        dtype = T.tensor_dtype(a) if T.tensor_dtype(a) == T.tensor_dtype(b) else ""
        left, right = T.tensor_dims(a), T.tensor_dims(b)
        if left is not None and left == right:
            return T.tensor_type(left, dtype)
        ndim = T.tensor_ndim(a) if T.tensor_ndim(a) == T.tensor_ndim(b) else -1
        return T.tensor_type(None, dtype, ndim)
    if isinstance(a, Shape) and isinstance(b, Shape):
        return T.shape_type(None, T.shape_ndim(a) if T.shape_ndim(a) == T.shape_ndim(b) else -1)
    if isinstance(a, ir.TupleType) and isinstance(b, ir.TupleType) and a.num_types == b.num_types:
        fields = [join(a.get_type(i), b.get_type(i)) for i in range(a.num_types)]
        known = [field for field in fields if field is not None]
        return ir.TupleType.get_tuple(known) if len(known) == len(fields) else None
    return None
