"""Random numbers: other ones at each run, as `runtime.manual_seed` makes them repeat."""

from typing import Any

import torch
from torch import fx

from relax_mlir.frontend.random import dropout, keep_mask, next_key
from relax_mlir.frontend.torch.importer import Importer, target_name
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

# `-scale * alpha` of SELU.
_SELU_LIMIT = -1.7580993408473766


def _uniform(m: Importer, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Any:
    return op.random.uniform(next_key(m.emit), m.dims, low, high, dtype=dtype)


@converts("rand.default", "rand_like.default")
def _rand(m: Importer, *_: Any, **__: Any) -> Any:
    return _uniform(m, dtype=m.dtype)


@converts("uniform.default")
def _uniform_between(m: Importer, _: Any, low: float = 0.0, high: float = 1.0, **__: Any) -> Any:
    return _uniform(m, low, high, m.dtype)


@converts("randn.default", "randn_like.default")
def _randn(m: Importer, *_: Any, **__: Any) -> Any:
    return op.random.normal(next_key(m.emit), m.dims, dtype=m.dtype)


@converts("normal_functional.default")
def _normal(m: Importer, _: Any, mean: float = 0.0, std: float = 1.0, **__: Any) -> Any:
    return op.random.normal(next_key(m.emit), m.dims, mean, std, dtype=m.dtype)


@converts("randint.default", "randint.low", "randint_like.default", "randint_like.low_dtype")
def _randint(m: Importer, *args: Any, **_: Any) -> Any:
    """Return integers from 0 or a lowest one to a number that is excluded."""
    numbers = [each for each in args if isinstance(each, int)]
    low, high = numbers if len(numbers) > 1 else (0, *numbers)
    unit = _uniform(m, dtype="float64")
    return m.cast(op.add(m.cast(op.multiply(unit, float(high - low)), "int64"), low), m.dtype)


@converts("randperm.default")
def _randperm(m: Importer, *_: Any, **__: Any) -> Any:
    return m.cast(op.argsort(_uniform(m, dtype="float64"), dtype="int64"), m.dtype)


@converts("exponential.default")
def _exponential(m: Importer, x: Any, rate: float = 1.0, **_: Any) -> Any:
    unit = op.subtract(m.cast(1.0, m.dtype), _uniform(m, dtype=m.dtype))
    return op.divide(op.negative(op.log(unit)), m.cast(rate, m.dtype))


@converts("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def _normal_of(m: Importer, mean: Any, std: Any = 1.0, **_: Any) -> Any:
    unit = op.random.normal(next_key(m.emit), m.dims, dtype=m.dtype)
    return op.add(op.multiply(unit, m.cast(std, m.dtype)), m.cast(mean, m.dtype))


@converts("bernoulli.default", "bernoulli.p", "bernoulli.Tensor")
def _bernoulli(m: Importer, x: Any, rate: Any = None, **_: Any) -> Any:
    return op.astype(op.less(_uniform(m), m.cast(x if rate is None else rate, "float32")), m.dtype)


@converts("multinomial.default")
def _multinomial(m: Importer, x: Any, count: int, replacement: bool = False, **_: Any) -> Any:
    """Return indices by weights; without replacement those first in an exponential race."""
    rows: Any = x if x.ty.ndim == 2 else op.expand_dims(x, [0])
    wide: Any = op.astype(rows, "float32") if "16" in rows.ty.dtype else rows
    if replacement:
        probabilities = op.divide(wide, op.sum(wide, axis=[-1], keepdims=True))
        samples = op.random.multinomial(next_key(m.emit), probabilities, count)
    else:
        unit = op.random.uniform(next_key(m.emit), wide.ty.dims, dtype=wide.ty.dtype)
        times = op.divide(op.negative(op.log(op.subtract(m.cast(1.0, wide.ty.dtype), unit))), wide)
        samples = op.topk(times, count, axis=-1, ret_type="indices", largest=False, dtype="int64")
    return op.reshape(samples, m.shape)


@converts(
    "dropout.default", "native_dropout.default", "feature_dropout.default",
    "alpha_dropout.default",
)  # fmt: skip
def _dropout(m: Importer, x: Any, rate: float, train: Any = True) -> Any:
    """Return the input, in training mode with elements set to 0 at random."""
    kind, dims = target_name(m.node).removeprefix("aten.").removesuffix(".default"), x.ty.dims
    if not _drops(rate, train):
        return [x, op.ones(dims, "bool")] if kind == "native_dropout" else x
    if kind == "feature_dropout":
        dims = [*dims[:2], *[1] * (len(dims) - 2)]
    if kind == "alpha_dropout":
        return _alpha_dropout(m, x, rate)
    result, mask = dropout(m.emit, next_key(m.emit), x, dims, const(rate, "float32"))
    return [result, mask] if kind == "native_dropout" else result


def _alpha_dropout(m: Importer, x: Any, rate: float) -> Any:
    """Set elements to the limit of SELU, and keep mean and variance (Klambauer et al., 2017)."""
    scale = ((1 - rate) * (1 + rate * _SELU_LIMIT**2)) ** -0.5 if rate < 1 else 0.0
    mask = keep_mask(m.emit, next_key(m.emit), x.ty.dims, const(rate, "float32"))
    kept = op.where(mask, x, m.cast(_SELU_LIMIT, m.dtype))
    shift = m.cast(-scale * _SELU_LIMIT * rate, m.dtype)
    return op.add(op.multiply(kept, m.cast(scale, m.dtype)), shift)


def _drops(rate: Any, train: Any = True) -> bool:
    return train is not False and rate != 0


def draws(node: fx.Node) -> bool:
    """Whether a node takes random numbers: dropout does so in training mode only."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    return "dropout" not in str(node.target) or _drops(*node.args[1:3])
