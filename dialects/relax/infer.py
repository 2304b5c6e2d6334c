"""Type and shape rules shared by verifiers and builders (FInferShape).

A rule takes operand types and returns the result type. It uses what is known symbolically and
answers with less (known rank, or nothing) where that does not suffice; only a certain contradiction
is an error.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_different


class InferError(ValueError):
    """Operand types that no run could satisfy."""


class InferTypeError(InferError, TypeError):
    """An operand of the wrong kind or dtype, or the wrong number of operands."""


def describe(type_: ir.Type) -> str:
    """Return a type as script spells it, for messages: `R.Tensor((n, 4), "float32")`."""
    if T.is_tensor(type_):
        dtype = f'"{T.tensor_dtype(type_)}"' if T.tensor_dtype(type_) else ""
        dims = T.tensor_dims(type_)
        if dims is not None:
            inner = [f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"]
        else:
            inner = [f"ndim={T.tensor_ndim(type_)}"] if T.tensor_ndim(type_) >= 0 else []
        parts = [*inner, *([dtype if dims is not None else f"dtype={dtype}"] if dtype else [])]
        return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"
    if isinstance(type_, Shape):
        dims = T.shape_dims(type_)
        if dims is not None:
            return f"R.Shape([{', '.join(map(str, dims))}])"
        return f"R.Shape(ndim={T.shape_ndim(type_)})" if T.shape_ndim(type_) >= 0 else "R.Shape"
    if isinstance(type_, ir.TupleType):
        items = [describe(type_.get_type(i)) for i in range(type_.num_types)]
        return f"R.Tuple({', '.join(items)})"
    scalar = T.scalar_dtype(type_)
    if scalar is not None:
        return f'R.Prim("{scalar}")'
    return "R.Object" if str(type_) == "!relax.object" else str(type_)


def expect_tensor(type_: ir.Type, what: str) -> None:
    """Raise InferError unless the type is a tensor."""
    if not T.is_tensor(type_):
        raise InferTypeError(f"{what} must be a tensor, got {describe(type_)}")


def join_dtypes(types: Sequence[ir.Type]) -> str:
    """Return the common dtype of operands, unknown when any is.

    Raises:
        InferError: two known dtypes differ.
    """
    known = [T.tensor_dtype(t) for t in types if T.tensor_dtype(t)]
    for dtype in known[1:]:
        if dtype != known[0]:
            raise InferTypeError(f"operand dtypes must match, got {known[0]} and {dtype}")
    return known[0] if len(known) == len(types) else T.UNKNOWN_DTYPE


def broadcast_dims(lhs: Sequence[SymExpr], rhs: Sequence[SymExpr]) -> list[SymExpr] | None:
    """Return the broadcast shape, None where it is known at run time only.

    Raises:
        InferError: two constant dimensions differ and neither is 1.
    """
    rank = max(len(lhs), len(rhs))
    one = SymExpr.const(1)
    left = [one] * (rank - len(lhs)) + list(lhs)
    right = [one] * (rank - len(rhs)) + list(rhs)
    result: list[SymExpr] = []
    unknown = False
    for position, (a, b) in enumerate(zip(left, right, strict=True)):
        if a == b or b == 1:
            result.append(a)
        elif a == 1:
            result.append(b)
        elif a.is_const and b.is_const:
            raise InferError(
                f"shapes ({', '.join(map(str, lhs))}) and ({', '.join(map(str, rhs))}) cannot be "
                f"broadcast: dimension {position - rank} is {a} and {b}"
            )
        elif a.is_const or b.is_const:
            result.append(a if a.is_const else b)
        else:
            unknown = True
    return None if unknown else result


def broadcast(lhs: ir.Type, rhs: ir.Type, dtype: str | None = None) -> ir.Type:
    """Return the type of an elementwise operation of two tensors.

    Args:
        lhs: tensor type.
        rhs: tensor type.
        dtype: the result's dtype where it is not the operands' (comparisons).
    """
    expect_tensor(lhs, "left operand")
    expect_tensor(rhs, "right operand")
    joined = join_dtypes([lhs, rhs])
    dtype = joined if dtype is None else dtype
    left, right = T.tensor_dims(lhs), T.tensor_dims(rhs)
    if left is not None and right is not None:
        dims = broadcast_dims(left, right)
        if dims is not None:
            return T.tensor_type(dims, dtype)
    ranks = (T.tensor_ndim(lhs), T.tensor_ndim(rhs))
    return T.tensor_type(None, dtype, -1 if -1 in ranks else max(ranks))


def product_dtype(types: Sequence[ir.Type], out_dtype: str | None) -> str:
    """Return the dtype of sums of products: the operands', or the requested one.

    With a requested one, numbers of different dtypes may be multiplied with each other.

    Raises:
        InferError: unknown dtype, or operands that differ where none is requested.
    """
    try:
        wanted = T.normalize_dtype(out_dtype)
    except ValueError as error:
        raise InferError(str(error)) from error
    if not wanted or "bool" in map(T.tensor_dtype, types):
        dtype = join_dtypes(types)
        return wanted or dtype
    return wanted


def matmul(lhs: ir.Type, rhs: ir.Type, out_dtype: str | None = None) -> ir.Type:
    """Return the type of numpy-style matmul: batch dimensions broadcast, vectors promoted."""
    expect_tensor(lhs, "left operand")
    expect_tensor(rhs, "right operand")
    dtype = product_dtype([lhs, rhs], out_dtype)
    lrank, rrank = T.tensor_ndim(lhs), T.tensor_ndim(rhs)
    if 0 in (lrank, rrank):
        raise InferError("matmul operands must have at least one dimension")
    a, b = T.tensor_dims(lhs), T.tensor_dims(rhs)
    if a is None or b is None:
        if -1 in (lrank, rrank):
            return T.tensor_type(None, dtype)
        return T.tensor_type(None, dtype, max(lrank, rrank, 2) - (lrank == 1) - (rrank == 1))
    inner_a, inner_b = a[-1], b[-2] if len(b) > 1 else b[-1]
    if can_prove_different(inner_a, inner_b):
        raise InferError(f"matmul reduction dimensions must match, got {inner_a} and {inner_b}")
    batch = broadcast_dims(a[:-2], b[:-2])
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else []
    if batch is None:
        return T.tensor_type(None, dtype, max(lrank, rrank) - (lrank == 1) - (rrank == 1))
    return T.tensor_type([*batch, *rows, *columns], dtype)


def normalize_axes(axes: Sequence[int], ndim: int) -> list[int]:
    """Return axes counted from 0.

    Raises:
        InferError: out of range or repeated.
    """
    result = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise InferError(f"axis {axis} is out of range for a tensor of {ndim} dimensions")
        result.append(axis % ndim)
    if len(set(result)) != len(result):
        raise InferError(f"axes must be distinct, got {list(axes)}")
    return result


def reduce(operand: ir.Type, axes: Sequence[int] | None, keepdims: bool) -> ir.Type:
    """Return the type of a reduction over some axes, all when None."""
    expect_tensor(operand, "operand")
    dtype, ndim = T.tensor_dtype(operand), T.tensor_ndim(operand)
    if ndim < 0:
        return T.tensor_type(None if axes is not None or keepdims else [], dtype)
    kept = set(range(ndim)) - set(normalize_axes(range(ndim) if axes is None else axes, ndim))
    dims = T.tensor_dims(operand)
    if dims is None and kept:
        return T.tensor_type(None, dtype, ndim if keepdims else len(kept))
    dims = dims or [SymExpr.const(1)] * ndim
    if keepdims:
        return T.tensor_type([d if i in kept else 1 for i, d in enumerate(dims)], dtype)
    return T.tensor_type([d for i, d in enumerate(dims) if i in kept], dtype)


def reshape(operand: ir.Type, shape: ir.Type) -> ir.Type:
    """Return the type of a reshape to a shape value."""
    expect_tensor(operand, "operand")
    if not isinstance(shape, Shape):
        raise InferTypeError(f"the new shape must be a shape value, got {describe(shape)}")
    new, old = T.shape_dims(shape), T.tensor_dims(operand)
    if new is None:
        return T.tensor_type(None, T.tensor_dtype(operand), T.shape_ndim(shape))
    if old is not None:
        before, after = product(old), product(new)
        if before.is_const and after.is_const and before != after:
            raise InferError(f"cannot reshape {before} elements to {after}")
    return T.tensor_type(new, T.tensor_dtype(operand))


def resolve_reshape(operand: ir.Type, pattern: Sequence[SymExpr]) -> list[SymExpr] | None:
    """Return the dimensions that a pattern for reshape stands for, None where run time decides.

    One -1 takes what the number of elements leaves for it; 0 copies the operand's dimension.

    Raises:
        InferError: there are several -1, one is below, or a dimension to copy is not there.
    """
    expect_tensor(operand, "operand")
    dims, ndim = T.tensor_dims(operand), T.tensor_ndim(operand)
    holes = [i for i, dim in enumerate(pattern) if dim == -1]
    if len(holes) > 1:
        raise InferError("only one dimension of the new shape can be -1")
    new = list(pattern)
    for dim in pattern:
        if dim.value is not None and dim.value < -1:
            raise InferError(f"a dimension of the new shape cannot be {dim}")
    for i, dim in enumerate(pattern):
        if dim == 0:
            if 0 <= ndim <= i:
                raise InferError(f"there is no dimension {i} to copy, the tensor has {ndim}")
            if dims is None:
                return None
            new[i] = dims[i]
    if not holes:
        return new
    if dims is None:
        return None
    others = [dim for i, dim in enumerate(new) if i != holes[0]]
    if product(others) == 0:
        raise InferError("-1 cannot be derived next to a dimension of 0")
    given = list(dims)
    for dim in [dim for dim in others if dim.value is None]:
        if dim in given:
            given.remove(dim)
            others.remove(dim)
    total, rest = product(given), product(others)
    if total.is_const and rest.is_const and total % rest != 0:
        raise InferError(f"cannot reshape {total} elements to a multiple of {rest}")
    new[holes[0]] = total // rest
    return new


def flatten(operand: ir.Type) -> ir.Type:
    """Return the one-dimensional type of the same elements."""
    expect_tensor(operand, "operand")
    dims = T.tensor_dims(operand)
    if dims is None:
        return T.tensor_type(None, T.tensor_dtype(operand), 1)
    return T.tensor_type([product(dims)], T.tensor_dtype(operand))


def permute(operand: ir.Type, axes: Sequence[int] | None) -> ir.Type:
    """Return the transposed type; None reverses the axes."""
    expect_tensor(operand, "operand")
    ndim, dtype = T.tensor_ndim(operand), T.tensor_dtype(operand)
    if axes is None:
        if ndim < 0:
            return T.tensor_type(None, dtype)
        axes = list(range(ndim))[::-1]
    if ndim >= 0 and len(axes) != ndim:
        raise InferError(f"permute_dims needs {ndim} axes, got {len(axes)}")
    order = normalize_axes(axes, len(axes))
    dims = T.tensor_dims(operand)
    if dims is None:
        return T.tensor_type(None, dtype, len(axes))
    return T.tensor_type([dims[i] for i in order], dtype)


def compatible(declared: ir.Type, inferred: ir.Type, *, same_symbols: bool = True) -> bool:
    """Whether a declared result type can hold for some run, given what the rule inferred.

    Unknown ranks, dtypes and dimensions agree with everything, two dimensions unless they differ
    by a constant, like `n` and `n + 1`; what is only possibly equal is checked at run time.

    Args:
        declared: the type that is said to hold.
        inferred: the type that does.
        same_symbols: whether both types are of one function, so that an `n` is the other's `n`.
    """
    if T.is_tensor(declared) and T.is_tensor(inferred):
        dtypes = {T.tensor_dtype(t) for t in (declared, inferred)} - {T.UNKNOWN_DTYPE}
        ranks = {T.tensor_ndim(t) for t in (declared, inferred)} - {-1}
        if len(dtypes) > 1 or len(ranks) > 1:
            return False
        return _dims_agree(T.tensor_dims(declared), T.tensor_dims(inferred), same_symbols)
    if isinstance(declared, Shape) and isinstance(inferred, Shape):
        if len({T.shape_ndim(t) for t in (declared, inferred)} - {-1}) > 1:
            return False
        return _dims_agree(T.shape_dims(declared), T.shape_dims(inferred), same_symbols)
    if isinstance(declared, ir.TupleType) and isinstance(inferred, ir.TupleType):
        return declared.num_types == inferred.num_types and all(
            compatible(declared.get_type(i), inferred.get_type(i), same_symbols=same_symbols)
            for i in range(declared.num_types)
        )
    return declared == inferred or "!relax.object" in (str(declared), str(inferred))


def _dims_agree(a: list[SymExpr] | None, b: list[SymExpr] | None, same_symbols: bool) -> bool:
    if a is None or b is None:
        return True
    return not any(
        x != y and (same_symbols or (x.is_const and y.is_const)) and (x - y).is_const
        for x, y in zip(a, b, strict=True)
    )
