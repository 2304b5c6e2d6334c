"""Complex numbers: each tensor of them is two of real ones, and Fourier transforms of those.

Relax has no complex dtype. What moves or adds elements is done to both parts; products are
bilinear. Converters of real tensors do both.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.frontend.torch.importer import Complex, Importer, target_name
from relax_mlir.frontend.torch.ops.table import converts, converts_complex
from relax_mlir.relax import op

_BY_PARTS = (
    "_reshape_alias.default", "_to_copy.default", "_unsafe_view.default", "add.Tensor",
    "alias.default", "cat.default", "clone.default", "constant_pad_nd.default",
    "contiguous.default", "cumsum.default", "detach.default", "diagonal.default",
    "expand.default", "flatten.using_ints", "flip.default", "gather.default", "index.Tensor",
    "index_put.default", "index_select.default", "mean.default", "mean.dim", "movedim.int",
    "narrow.default", "neg.default", "permute.default", "repeat.default", "reshape.default",
    "roll.default", "rsub.Scalar", "select.int", "slice.Tensor", "split.Tensor",
    "split_with_sizes.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "stack.default",
    "sub.Tensor", "sum.default", "sum.dim_IntList", "t.default", "to.dtype", "transpose.int",
    "tril.default", "triu.default", "unbind.int", "unfold.default", "unsqueeze.default",
    "view.default", "where.self",
)  # fmt: skip
# Their operands are numbers like the result's: a real one has an imaginary part of zeros.
_PROMOTING = {
    "add.Tensor": (0, 1), "index_put.default": (0, 2), "rsub.Scalar": (0, 1), "sub.Tensor": (0, 1),
    "where.self": (1, 2), "cat.default": (0,), "stack.default": (0,),
}  # fmt: skip
_BILINEAR = (
    "bmm.default", "dot.default", "matmul.default", "mm.default", "mul.Tensor", "mv.default",
)  # fmt: skip
# What torch divides the sums of a transform by.
_NORMS = ("none", "root", "count")


def _complex(x: Any) -> Complex:
    """Return a tensor or number as a complex one."""
    if isinstance(x, Complex):
        return x
    if isinstance(x, complex):
        return Complex(x.real, x.imag)
    return Complex(x, 0.0 if isinstance(x, (int, float)) else op.zeros_like(x))


def _part(x: Any, name: str, promoted: bool) -> Any:
    """Return the real or imaginary parts of an argument; what is no complex number stays."""
    if isinstance(x, list):
        is_complex = promoted and any(isinstance(each, Complex) for each in x)
        return [_part(each, name, is_complex) for each in x]
    if promoted or isinstance(x, (Complex, complex)):
        return getattr(_complex(x), name)
    return x


def _joined(m: Importer, real: Any, imag: Any) -> Any:
    """Return two parts as one value, both of the shape of the result."""
    if isinstance(real, (list, tuple)):
        return [Complex(*pair) for pair in zip(real, imag, strict=True)]
    dims = tuple(m.dims)
    parts = (x if x.ty.dims == dims else op.broadcast_to(x, dims) for x in (real, imag))
    return Complex(*parts)


def _by_parts(m: Importer, *args: Any, **kwargs: Any) -> Any:
    name = target_name(m.node)
    promoted = _PROMOTING.get(name.removeprefix("aten."), ())
    parts = (
        m.apply(name, [_part(x, part, i in promoted) for i, x in enumerate(args)], kwargs)
        for part in ("real", "imag")
    )
    return _joined(m, *parts)


def _bilinear(m: Importer, x: Any, y: Any) -> Any:
    def times(left: Any, right: Any) -> Any:
        return m.apply(target_name(m.node), [left, right], {})

    if not isinstance(x, (Complex, complex)):
        return _joined(m, times(x, y.real), times(x, y.imag))
    if not isinstance(y, (Complex, complex)):
        return _joined(m, times(x.real, y), times(x.imag, y))
    return _joined(
        m,
        op.subtract(times(x.real, y.real), times(x.imag, y.imag)),
        op.add(times(x.real, y.imag), times(x.imag, y.real)),
    )


converts_complex(*_BY_PARTS)(_by_parts)
converts_complex(*_BILINEAR)(_bilinear)


@converts_complex("div.Tensor")
def _div(m: Importer, x: Any, y: Any) -> Any:
    """Divide; by a complex number as Smith's algorithm does, which does not overflow.

    Robert L. Smith, Algorithm 116: Complex division, CACM 5 (1962).
    """
    a, b = (m.cast(part, m.dtype) for part in (_complex(x).real, _complex(x).imag))
    if not isinstance(y, (Complex, complex)):
        divisor = m.cast(y, m.dtype)
        return _joined(m, op.divide(a, divisor), op.divide(b, divisor))
    c, d = (m.cast(part, m.dtype) for part in (y.real, y.imag))
    is_real = op.greater_equal(op.abs(c), op.abs(d))
    large, small = op.where(is_real, c, d), op.where(is_real, d, c)
    ratio = op.divide(small, large)
    scale = op.add(large, op.multiply(small, ratio))
    one = m.cast(1.0, m.dtype)
    by_real, by_imag = op.where(is_real, one, ratio), op.where(is_real, ratio, one)
    first = op.add(op.multiply(a, by_real), op.multiply(b, by_imag))
    second = op.subtract(op.multiply(b, by_real), op.multiply(a, by_imag))
    return _joined(m, op.divide(first, scale), op.divide(second, scale))


@converts_complex("reciprocal.default")
def _reciprocal(m: Importer, x: Complex) -> Any:
    return _div(m, 1.0, x)


@converts_complex("abs.default")
def _abs(m: Importer, x: Complex) -> Any:
    """Return the absolute values, of numbers whose squares would overflow too."""
    first, second = op.abs(x.real), op.abs(x.imag)
    large, small = op.maximum(first, second), op.minimum(first, second)
    zero, one = m.cast(0.0, m.dtype), m.cast(1.0, m.dtype)
    ratio = op.divide(small, op.where(op.equal(large, zero), one, large))
    size = op.multiply(large, op.sqrt(op.add(one, op.square(ratio))))
    return op.where(op.isinf(large), large, size)


@converts_complex("angle.default")
def _angle(m: Importer, x: Complex) -> Any:
    return op.atan2(x.imag, x.real)


@converts_complex("exp.default")
def _exp(m: Importer, x: Complex) -> Any:
    return _polar(m, op.exp(x.real), x.imag)


@converts_complex("log.default")
def _log(m: Importer, x: Complex) -> Any:
    return Complex(op.log(_abs(m, x)), _angle(m, x))


@converts_complex(
    "_conj.default", "_conj_physical.default", "conj.default", "conj_physical.default"
)
def _conj(m: Importer, x: Complex) -> Any:
    return Complex(x.real, op.negative(x.imag))


@converts("resolve_conj.default", "resolve_neg.default")
@converts_complex("resolve_conj.default", "resolve_neg.default")
def _same(m: Importer, x: Any) -> Any:
    return x


@converts("real.default")
def _real(m: Importer, x: Any) -> Any:
    return x.real if isinstance(x, Complex) else x


@converts_complex("imag.default")
def _imag(m: Importer, x: Complex) -> Any:
    return x.imag


converts_complex("real.default")(_real)


@converts_complex("view_as_real.default", "view_as_real_copy.default")
def _view_as_real(m: Importer, x: Complex) -> Any:
    return op.stack([x.real, x.imag], axis=-1)


@converts("view_as_complex.default", "view_as_complex_copy.default")
def _view_as_complex(m: Importer, x: Any) -> Any:
    parts = (op.strided_slice(x, axes=[-1], begin=[i], end=[i + 1]) for i in range(2))
    return Complex(*(op.reshape(part, m.shape) for part in parts))


@converts("complex.default")
def _of_parts(m: Importer, real: Any, imag: Any) -> Any:
    return _joined(m, real, imag)


@converts("polar.default")
def _polar(m: Importer, size: Any, angle: Any) -> Any:
    return _joined(m, op.multiply(size, op.cos(angle)), op.multiply(size, op.sin(angle)))


@converts("_fft_r2c.default")
def _fft_r2c(m: Importer, x: Any, dim: Sequence[int], norm: int, onesided: bool) -> Any:
    return _fourier(m, "rfft" if onesided else "fft", [x], dim, norm)


@converts_complex("_fft_c2c.default")
def _fft_c2c(m: Importer, x: Complex, dim: Sequence[int], norm: int, forward: bool) -> Any:
    return _fourier(m, "fft" if forward else "ifft", [x.real, x.imag], dim, norm)


@converts_complex("_fft_c2r.default")
def _fft_c2r(m: Importer, x: Complex, dim: Sequence[int], norm: int, last: Any) -> Any:
    return _fourier(m, "irfft", [x.real, x.imag, m.cast(last, "int64")], dim, norm)


def _fourier(m: Importer, kind: str, args: list[Any], dim: Sequence[int], norm: int) -> Any:
    made = m.runtime("fourier", args, kind=kind, axes=list(dim), norm=_NORMS[norm])
    if kind == "irfft":
        return made
    made = m.emit(made)
    return Complex(made[0], made[1])
