"""Random models against what they come from: ONNX against onnxruntime, programs of torch eagerly.

Models grow node by node, as NNSmith's do: `onnx_recipes` and `torch_recipes` have what may come
next, every result is computed at once, and what overflows or is at the edge of a step is left out.
Half of the models have symbolic dimensions, and run at two sets of sizes. `python
test/support/random_models.py --count 10000` tries many, in processes that may crash.
"""

import argparse
import collections
import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

FLOATS = ("float32", "float64", "float16")
INTS = ("int64", "int32")
NUMBERS = ("float32", "float64", "int64", "int32")
PASS = "pass"
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}
_SIZES = (1, 1, 2, 2, 3, 4, 4, 5, 7, 8)
_MAX_ELEMENTS, _MAX = 2048, 1e4
_TRIES = 60
# How many models a process tries before another takes over: memory, and crashes, end with it.
_CHUNK = 50
# Where the models come from: modules with a `Maker` each.
FRAMEWORKS = {"onnx": "random_onnx_models", "torch": "random_torch_models"}
# After how many models the counts are printed: half a minute.
_REPORTED = 250


class UnfitError(ValueError):
    """A node cannot be where it was tried."""


class Maker:
    """A model under construction; every value has the elements it has for the first inputs.

    Attributes:
        recipes: what may come next, and how often.

    Args:
        seed: decides everything.
        nodes: how many recipes are followed.
    """

    recipes: ClassVar[Mapping[Callable[[Any], Any], int]]

    def __init__(self, seed: int, nodes: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.is_dynamic = bool(seed % 2)
        self.nodes: list[Any] = []
        self.values: dict[str, np.ndarray] = {}
        self.inputs: list[str] = []
        self.constants: list[str] = []
        self.results: list[str] = []
        recipes = list(self.recipes)
        weights = np.array(list(self.recipes.values()), "float64")
        for _ in range(_TRIES):
            if len(self.results) >= nodes:
                break
            recipe = recipes[self.rng.choice(len(recipes), p=weights / weights.sum())]
            try:
                self.results += (recipe(self) or [])[:2]
            except ValueError:
                continue

    # What recipes ask for

    def choice(self, items: Sequence[Any]) -> Any:
        """Return one of several things."""
        return items[int(self.rng.integers(len(items)))]

    def flag(self) -> int:
        """Return 0 or 1."""
        return int(self.rng.integers(2))

    def ints(self, count: int, low: int, high: int) -> list[int]:
        """Return integers from `low` to below `high`."""
        return [int(each) for each in self.rng.integers(low, high, count)]

    def shuffled(self, *items: Any) -> list[Any]:
        """Return things in any order."""
        return [items[i] for i in self.rng.permutation(len(items))]

    def size(self) -> int:
        """Return a dimension; rarely 0."""
        return 0 if self.rng.random() < 0.02 else int(self.choice(_SIZES))

    def shape(self, least: int = 0, most: int = 4) -> list[int]:
        """Return a shape of at least so many dimensions."""
        rank = int(self.rng.integers(least, max(least, min(most, 4)) + 1))
        return [self.size() for _ in range(rank)]

    def data(self, name: str) -> np.ndarray:
        """Return the elements of a value."""
        return self.values[name]

    def dims(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value."""
        return self.values[name].shape

    def dtype(self, name: str) -> str:
        """Return the dtype of a value."""
        return self.values[name].dtype.name

    def axis(self, name: str) -> int:
        """Return an axis of a value, counted from either end."""
        rank = len(self.dims(name))
        return int(self.rng.integers(-rank, rank))

    def axes(self, name: str) -> list[int]:
        """Return some axes of a value."""
        return [i for i in range(len(self.dims(name))) if self.flag()]

    def pick(self, dtypes: Sequence[str] = (), rank: int = 0, most: int = 9) -> str:
        """Return a value of one of some dtypes and ranks, most often one that is there."""
        fits = [
            name for name in (*self.inputs, *self.results)
            if (not dtypes or self.dtype(name) in dtypes) and rank <= self.values[name].ndim <= most
        ]  # fmt: skip
        if fits and self.rng.random() < 0.8:
            return self.choice(fits[-4:])
        dtype = self.choice(dtypes) if dtypes and self.flag() else (dtypes or ("float32",))[0]
        return self.tensor(self.shape(rank, most), dtype)

    def other(self, name: str) -> str:
        """Return a value that broadcasts with another, of its dtype."""
        dims = [self.choice((1, dim, dim)) for dim in self.dims(name)]
        fits = [each for each in self.results if self.dtype(each) == self.dtype(name)
                and self.dims(each) == self.dims(name)]  # fmt: skip
        if fits and self.flag():
            return self.choice(fits)
        return self.tensor(dims[int(self.rng.integers(len(dims) + 1)) :], self.dtype(name))

    def tensor(self, shape: Sequence[int], dtype: str) -> str:
        """Return a new input, or a weight."""
        is_input = self.rng.random() < (0.85 if self.is_dynamic else 0.6)
        return self._add(elements(self.rng, shape, dtype), is_input)

    def weight(self, shape: Sequence[int], dtype: str = "float32") -> str:
        """Return a new weight, rarely an input."""
        return self._add(elements(self.rng, shape, dtype), self.rng.random() < 0.15)

    def index(
        self, shape: Sequence[int], size: int, dtypes: Sequence[str] = ("int64", "int32")
    ) -> str:
        """Return indices of an axis, negative ones too."""
        if not size and 0 not in shape:
            raise UnfitError
        low, high = (-size, size) if self.flag() else (0, max(size, 1))
        made = self.rng.integers(low, high, shape)
        return self._add(made.astype(self.choice(dtypes)), bool(self.flag()))

    def count(self, value: int) -> str:
        """Return a number, as a constant or an input."""
        return self._add(np.array(value, "int64"), bool(self.flag()))

    def const(self, array: np.ndarray) -> str:
        """Return a constant."""
        return self._add(np.asarray(array), False)

    def _add(self, array: np.ndarray, is_input: bool) -> str:
        name = f"{'x' if is_input else 'w'}{len(self.values)}"
        (self.inputs if is_input else self.constants).append(name)
        self.values[name] = array
        return name

    # What frameworks say

    @classmethod
    def peer(cls) -> str:
        """Return what the results are compared with."""
        raise NotImplementedError

    def cases(self) -> Iterator[tuple[list[Any], list[list[Any]]]]:
        """Give inputs, and what each that can run the model makes of them; the first ones first."""
        raise NotImplementedError

    def compiled(self) -> Callable[..., Any]:
        """Return the model, imported and compiled."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the model for people."""
        raise NotImplementedError

    def may_refuse(self, inputs: list[Any], wanted: list[list[Any]]) -> bool:
        """Whether the sizes of these inputs may be refused, which others gave results for."""
        raise NotImplementedError


def elements(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Return random elements, few digits each."""
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in FLOATS:
        return np.asarray(np.round(rng.normal(0, 1.5, shape), 2), dtype)
    return np.asarray(rng.integers(0 if dtype.startswith("u") else -6, 7, shape), dtype)


def is_tame(array: np.ndarray) -> bool:
    """Whether a result is small, of a common dtype, and nothing overflowed."""
    if array.size > _MAX_ELEMENTS or array.ndim > 6 or array.dtype.kind not in "fiub":
        return False
    return bool((np.abs(array.astype("float64")) < _MAX).all())


# Running


def difference(mine: np.ndarray, other: np.ndarray) -> str:
    """Return how a result differs from what it should be, an empty string where it does not."""
    if (mine.dtype, mine.shape) != (other.dtype, other.shape):
        return f"{mine.dtype}{mine.shape}, expected {other.dtype}{other.shape}"
    limit = TOLERANCE.get(other.dtype.name, 0)
    left, right = mine.astype("float64"), other.astype("float64")
    scale = limit * max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0))
    if np.allclose(left, right, limit, scale if limit else 0, equal_nan=True):
        return ""
    return f"{np.abs(left - right).max()} off of {other.dtype}{other.shape}"


def try_one(seed: int, nodes: int = 6, opt_level: int = 0, framework: str = "onnx") -> str:
    """Return `pass`, or what is wrong with the results of a model."""
    from relax_mlir.errors import ShapeMismatchError
    from relax_mlir.pass_infra.context import PassContext

    maker = maker_of(framework)(seed, nodes)
    main = None
    for inputs, wanted in maker.cases():
        place = "other sizes" if main else "first sizes"
        try:
            with PassContext(opt_level=opt_level):
                main = main or maker.compiled()
        except Exception as error:
            return f"import: {_line(error)}"
        try:
            result = main(*inputs)
        except Exception as error:
            is_refused = isinstance(error, ShapeMismatchError) and place == "other sizes"
            if is_refused and maker.may_refuse(inputs, wanted):
                continue
            return f"run: {_line(error)}"
        actual = list(result) if isinstance(result, tuple) else [result]
        for i, (mine, *others) in enumerate(zip(actual, *wanted, strict=True)):
            found = [difference(np.asarray(mine), each) for each in others]
            if all(found):
                return f"{place}: output {i}: {found[0]}"
    return PASS


def maker_of(framework: str) -> type[Maker]:
    """Return the class of a framework's models."""
    return importlib.import_module(FRAMEWORKS[framework]).Maker


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


# Many models


def _try_all(seeds: Sequence[int], args: Any, pipe: Any) -> None:
    for seed in seeds:
        pipe.send((seed, try_one(seed, args.nodes, args.opt_level, args.framework)))
    pipe.close()


def run_all(seeds: Sequence[int], args: Any) -> Iterator[tuple[int, str]]:
    """Try models in processes; one that crashes takes only its own model with it."""
    chunks = collections.deque(seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([FRAMEWORKS[args.framework]])
    running: dict[Any, list[int]] = {}
    while chunks or running:
        while chunks and len(running) < args.jobs:
            chunk = chunks.popleft()
            receiver, sender = context.Pipe(duplex=False)
            work = (chunk, args, sender)
            context.Process(target=_try_all, args=work, daemon=True).start()
            sender.close()
            running[receiver] = list(chunk)
        for pipe in multiprocessing.connection.wait(list(running)):
            try:
                seed, outcome = pipe.recv()
            except EOFError:
                left = running.pop(pipe)
                if left:
                    yield left.pop(0), "crash of the process"
                if left:
                    chunks.append(left)
                continue
            running[pipe].remove(seed)
            yield seed, outcome


def summary(outcomes: Iterable[tuple[int, str]], peer: str) -> int:
    """Print what failed; returns how many."""
    count, failed = 0, 0
    for seed, outcome in outcomes:
        count += 1
        if outcome != PASS:
            failed += 1
            print(f"seed {seed}: {outcome}", flush=True)
        if not count % _REPORTED:
            print(f"{count} models: {failed} fail", flush=True)
    print(f"{count} models against {peer}: {failed} fail")
    return failed


def main() -> int:
    """Try models, or show one."""
    parser = argparse.ArgumentParser(description="Compare random models.")
    parser.add_argument("--framework", choices=FRAMEWORKS, default="onnx")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--nodes", type=int, default=6, help="how many nodes a model has, about")
    parser.add_argument("--opt-level", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="print the first model as text")
    args = parser.parse_args()
    made = maker_of(args.framework)
    if args.show:
        print(made(args.seed, args.nodes).text())
        return 0
    return bool(summary(run_all(range(args.seed, args.seed + args.count), args), made.peer()))


if __name__ == "__main__":
    sys.exit(main())
