"""Random Relax programs of small integers in many dtypes: each result is exact in any order."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = ("float32", "float32", "float64", *INTEGERS)
# Around what a register and a tile hold, and others.
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 49, 65)
_MAX_ELEMENTS = 6000
_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "abs": np.abs,
    "nn.relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "negative": np.negative,
}
_BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
}

Env = dict[str, int]


class Unfit(Exception):
    """A step does not go with the values there are."""


@dataclass(frozen=True)
class Value:
    """A name of the program; dimensions are texts over `n` and `m`."""

    name: str
    dims: tuple[str, ...]
    dtype: str

    def shape(self, env: Env) -> list[int]:
        """Return the sizes for some values of the symbols."""
        return [eval(dim, {}, env) for dim in self.dims]


@dataclass(frozen=True)
class _Step:
    text: str
    result: Value
    operands: tuple[Value, ...]
    compute: Callable[..., np.ndarray]


class RandomKernels:
    """One function: its parameters, its steps, what it returns.

    Attributes:
        envs: values of its symbols; the last are known in the static function.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.seed = seed
        self.envs = [{s: self._random.choice(SIZES) for s in "nm"} for _ in range(3)]
        self.dtype = self._random.choice(DTYPES)
        self.params: list[Value] = []
        self._steps: list[_Step] = []
        wanted = self._random.randint(2, 5)
        while len(self._steps) < wanted:
            before = len(self.params)
            try:
                self._random.choice(_KINDS)(self)
            except Unfit:
                del self.params[before:]
        read = {operand.name for step in self._steps for operand in step.operands}
        self.outputs = [s.result for s in self._steps if s.result.name not in read]
        self.outputs += [s.result for s in self._steps if s.result.name in read][-1:]

    def text(self, name: str, env: Env | None = None) -> str:
        """Return the function's source, with symbols or for some values of them."""
        params = []
        for value in self.params:
            dims = [repr(d) for d in value.shape(env)] if env else map(_quoted, value.dims)
            params.append(
                f"{value.name}: R.Tensor(({''.join(f'{d}, ' for d in dims)}), '{value.dtype}')"
            )
        lines = [f"{step.result.name} = {step.text}" for step in self._steps]
        names = ", ".join(value.name for value in self.outputs)
        body = "\n".join(f"            {line}" for line in [*lines, f"R.output({names})"])
        return (
            f"    @R.function\n    def {name}({', '.join(params)}):\n        with R.dataflow():\n"
            f"{body}\n        return ({names},)\n"
        )

    def arguments(self, env: Env) -> list[np.ndarray]:
        """Return small integers for the parameters."""
        rng = np.random.default_rng(self.seed)
        return [
            rng.integers(0 if p.dtype[0] == "u" else -3, 4, p.shape(env)).astype(p.dtype)
            for p in self.params
        ]

    def reference(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return what numpy computes."""
        values = {p.name: a for p, a in zip(self.params, arguments, strict=True)}
        for step in self._steps:
            made = step.compute(*[values[operand.name] for operand in step.operands])
            values[step.result.name] = np.asarray(made).astype(step.result.dtype)
        return [values[value.name] for value in self.outputs]

    # Values

    def _fits(self, dims: Sequence[str]) -> bool:
        sizes = [np.prod(Value("", tuple(dims), "").shape(env)) for env in self.envs]
        return max(sizes) <= _MAX_ELEMENTS

    def _dim(self) -> str:
        return self._random.choice(["n", "m", str(self._random.choice(SIZES))])

    def _new(self, dims: Sequence[str], dtype: str) -> Value:
        if not self._fits(dims):
            raise Unfit
        self.params.append(Value(f"p{len(self.params)}", tuple(dims), dtype))
        return self.params[-1]

    def _pick(self, *ranks: int) -> Value:
        """Return a value, one of the last mostly, or a new parameter."""
        found = [s.result for s in self._steps if len(s.result.dims) in ranks]
        if found and self._random.random() < 0.8:
            return self._random.choice(found[-2:])
        return self._new([self._dim() for _ in range(self._random.choice(ranks))], self.dtype)

    def _like(self, dims: Sequence[str], dtype: str) -> Value:
        values = [*self.params, *(s.result for s in self._steps)]
        found = [v for v in values if v.dims == tuple(dims) and v.dtype == dtype]
        if found and self._random.random() < 0.4:
            return self._random.choice(found)
        return self._new(dims, dtype)

    def _emit(
        self, text: str, dims: Sequence[str], dtype: str, operands: Sequence[Value],
        compute: Callable[..., np.ndarray],
    ) -> Value:  # fmt: skip
        if not self._fits(dims):
            raise Unfit
        value = Value(f"v{len(self._steps)}", tuple(dims), dtype)
        self._steps.append(_Step(text, value, tuple(operands), compute))
        return value

    # Steps

    def unary(self) -> None:
        x = self._pick(1, 2, 3)
        name = self._random.choice(list(_UNARY))
        self._emit(f"R.{name}({x.name})", x.dims, x.dtype, [x], _UNARY[name])

    def binary(self) -> None:
        x = self._pick(1, 2, 3)
        dims = [dim if self._random.random() < 0.6 else "1" for dim in x.dims]
        y = self._like(dims[self._random.choice([0, 0, 1]) :], x.dtype)
        name = self._random.choice(list(_BINARY))
        self._emit(f"R.{name}({x.name}, {y.name})", x.dims, x.dtype, [x, y], _BINARY[name])

    def cast(self) -> None:
        x = self._pick(1, 2, 3)
        dtype = self._random.choice(INTEGERS if "int" in x.dtype else ("int32", "int64"))
        made = self._emit(f"R.astype({x.name}, '{dtype}')", x.dims, dtype, [x], lambda x: x)
        self.dtype = made.dtype

    def reduce(self) -> None:
        x = self._pick(2, 3)
        axis, name = self._random.randrange(len(x.dims)), self._random.choice(["sum", "max"])
        combine = getattr(np, name)
        self._emit(
            f"R.{name}({x.name}, axis=[{axis}])", x.dims[:axis] + x.dims[axis + 1 :], x.dtype, [x],
            lambda x: combine(x, axis=axis).astype(x.dtype),
        )  # fmt: skip

    def turn(self) -> None:
        x = self._pick(2, 3)
        self._permuted(x, self._random.sample(range(len(x.dims)), len(x.dims)))

    def _permuted(self, x: Value, order: Sequence[int]) -> Value:
        dims = [x.dims[i] for i in order]
        text = f"R.permute_dims({x.name}, {list(order)})"
        return self._emit(text, dims, x.dtype, [x], lambda x: x.transpose(order))

    def flip(self) -> None:
        x = self._pick(1, 2, 3)
        axis = self._random.randrange(len(x.dims))
        text = f"R.flip({x.name}, axis={axis})"
        self._emit(text, x.dims, x.dtype, [x], lambda x: np.flip(x, axis))

    def concat(self) -> None:
        x = self._pick(1, 2, 3)
        axis = self._random.randrange(len(x.dims))
        y = self._like([self._dim() if i == axis else d for i, d in enumerate(x.dims)], x.dtype)
        dims = [f"{d} + {y.dims[i]}" if i == axis else d for i, d in enumerate(x.dims)]
        text = f"R.concat(({x.name}, {y.name}), axis={axis})"
        self._emit(text, dims, x.dtype, [x, y], lambda x, y: np.concatenate((x, y), axis))

    def pad(self) -> None:
        x = self._pick(1, 2, 3)
        before, after = self._random.choice([(1, 0), (0, 3), (2, 5)])
        width = [*[0] * (2 * len(x.dims) - 2), before, after]
        pairs = list(zip(width[::2], width[1::2], strict=True))
        dims = [*x.dims[:-1], f"{x.dims[-1]} + {before + after}"]
        self._emit(f"R.nn.pad({x.name}, {width})", dims, x.dtype, [x], lambda x: np.pad(x, pairs))

    def product(self) -> None:
        x = self._pick(2, 3)
        dims = [*(x.dims[:-2] if self._random.random() < 0.5 else ()), x.dims[-1], self._dim()]
        is_turned = self._random.random() < 0.4
        y = self._like([*dims[:-2], dims[-1], dims[-2]] if is_turned else dims, x.dtype)
        if is_turned:
            y = self._permuted(y, [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2])
        # Clipped, what several products make stays exact in a float.
        text = f"R.clip(R.matmul({x.name}, {y.name}), -8, 8)"
        low = 0 if x.dtype[0] == "u" else -8
        self._emit(
            text, [*x.dims[:-1], dims[-1]], x.dtype, [x, y],
            lambda x, y: np.clip(np.matmul(x, y), low, 8).astype(x.dtype),
        )  # fmt: skip


_KINDS = (
    RandomKernels.unary, RandomKernels.binary, RandomKernels.binary, RandomKernels.cast,
    RandomKernels.reduce, RandomKernels.turn, RandomKernels.flip, RandomKernels.concat,
    RandomKernels.pad, RandomKernels.product, RandomKernels.product,
)  # fmt: skip


def _quoted(dim: str) -> str:
    return dim if dim.isdigit() else f'"{dim}"'
