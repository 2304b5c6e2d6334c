"""Integers and bits of elements: greatest common divisors, and data as of another dtype."""

from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.elementwise import promoted
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.script import from_source

# Euclid's algorithm takes at most 91 steps for 64 bits: of Fibonacci's numbers.
_DIVISORS = """
@T.prim_func
def {name}(x: T.handle, y: T.handle, z: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "{dtype}")
    Y = T.match_buffer(y, (n,), "{dtype}")
    Z = T.match_buffer(z, (n,), "{dtype}")
    R = T.alloc_buffer((n, 2), "{dtype}")
    for i in T.serial(n):
        with T.block("divisor"):
            vi = T.axis.remap("S", [i])
            Z[vi] = X[vi]
            R[vi, 0] = Y[vi]
            for s in T.serial(92):
                if R[vi, 0] != T.{dtype}(0):
                    R[vi, 1] = T.truncmod(Z[vi], R[vi, 0])
                    Z[vi] = R[vi, 0]
                    R[vi, 0] = R[vi, 1]
"""


def _divisor(m: Importer, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return both operands as the result has them, flat, and their greatest common divisors."""
    dtype = promoted(m.fake(0), m.fake(1))
    x, y = (
        m.emit(op.reshape(op.broadcast_to(m.cast(each, dtype), m.shape), (-1,))) for each in (x, y)
    )
    name = f"greatest_common_divisor_{dtype}"
    kernel = from_source(_DIVISORS.format(name=name, dtype=dtype))[name]
    function = m.block_builder.add_func(kernel, name)
    made = m.emit(op.call_tir(function, [x, y], TensorType(x.ty.dims, dtype)))
    return x, y, m.emit(op.abs(made) if dtype != "uint8" else made)


@converts("gcd.default")
def _gcd(m: Importer, x: Any, y: Any) -> Any:
    return op.reshape(_divisor(m, x, y)[2], m.shape)


@converts("lcm.default")
def _lcm(m: Importer, x: Any, y: Any) -> Any:
    x, y, divisor = _divisor(m, x, y)
    # What exceeds a narrow dtype loses its high bits after the magnitude is taken.
    wide = "int64" if divisor.ty.dtype == "int64" else "int32"
    x, y, divisor = (m.cast(each, wide) for each in (x, y, divisor))
    made = op.abs(op.multiply(op.divide(x, op.maximum(divisor, m.cast(1, wide))), y))
    return op.reshape(m.cast(made, m.dtype), m.shape)


@converts("view.dtype", "view_copy.dtype")
def _view_dtype(m: Importer, x: Any, dtype: Any) -> Any:
    """Return the bytes of a tensor as elements of another dtype."""
    return op.memory.view(m.emit(x), ShapeExpr(m.dims), m.dtype)
