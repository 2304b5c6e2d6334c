"""Random ONNX models against onnxruntime where it is installed, else onnx's reference evaluator.

Models grow node by node, as NNSmith's do: `model_recipes` has what may come next, every result is
computed at once, and what overflows or is at the edge of a step is left out. Half of the models
have symbolic dimensions, and run at two sets of sizes. `python test/support/random_models.py
--count 10000` tries many, in processes that may crash.
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from model_recipes import FLOATS, ONLY_ONNXRUNTIME, RECIPES, STEPS
from onnx import helper
from onnx.reference import ReferenceEvaluator

OPSET = 23
PASS = "pass"
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}
_SIZES = (1, 1, 2, 2, 3, 4, 4, 5, 7, 8)
_MAX_ELEMENTS, _MAX = 2048, 1e4
_TRIES = 60
# How many models a process tries before another takes over: memory, and crashes, end with it.
_CHUNK = 50


class UnfitError(ValueError):
    """A node cannot be where it was tried."""


class Maker:
    """A model under construction; every value has the elements it has for the first inputs.

    Args:
        seed: decides everything.
        nodes: how many recipes are followed.
    """

    def __init__(self, seed: int, nodes: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.is_dynamic = bool(seed % 2)
        self.nodes: list[Any] = []
        self.values: dict[str, np.ndarray] = {}
        self.inputs: list[str] = []
        self.constants: list[str] = []
        self.results: list[str] = []
        recipes, weights = list(RECIPES), np.array(list(RECIPES.values()), "float64")
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

    def element(self, dtype: str) -> int:
        """Return ONNX's number of a dtype."""
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

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

    def node(self, op_type: str, *inputs: str, outputs: int = 1, **attrs: Any) -> list[str]:
        """Add a node; returns its results.

        Raises:
            UnfitError: it has no results that can be compared.
        """
        names = [f"v{len(self.values) + i}" for i in range(outputs)]
        made = helper.make_node(op_type, list(inputs), names, **attrs)
        given = {name: self.values[name] for name in inputs if name}
        try:
            with np.errstate(all="ignore"):
                results = ReferenceEvaluator(made, opsets={"": OPSET}).run(None, given)
        except Exception:
            raise UnfitError from None
        arrays = [np.asarray(each) for each in results]
        if not all(map(_is_tame, arrays)):
            raise UnfitError
        self.nodes.append(made)
        self.values.update(zip(names, arrays, strict=True))
        return names

    def _add(self, array: np.ndarray, is_input: bool) -> str:
        name = f"{'x' if is_input else 'w'}{len(self.values)}"
        (self.inputs if is_input else self.constants).append(name)
        self.values[name] = array
        return name

    # The model

    def model(self) -> onnx.ModelProto:
        """Return the model; its outputs are the results that no node takes."""
        used = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        outputs = [name for name in made if name not in used]
        inputs = [name for name in self.inputs if name in used]
        graph = helper.make_graph(
            self.nodes, "random",
            [self._type(name, [self._dim(n) for n in self.dims(name)]) for name in inputs],
            [self._type(name, None) for name in outputs],
            [onnx.numpy_helper.from_array(self.values[n], n) for n in self.constants if n in used],
        )  # fmt: skip
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10
        )

    def _type(self, name: str, dims: Any) -> Any:
        return helper.make_tensor_value_info(name, self.element(self.dtype(name)), dims)

    def _dim(self, size: int) -> Any:
        return f"d{size}" if self.is_dynamic and size > 1 and self.rng.random() < 0.8 else size


def elements(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Return random elements, few digits each."""
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in FLOATS:
        return np.asarray(np.round(rng.normal(0, 1.5, shape), 2), dtype)
    return np.asarray(rng.integers(0 if dtype.startswith("u") else -6, 7, shape), dtype)


def _is_tame(array: np.ndarray) -> bool:
    if array.size > _MAX_ELEMENTS or array.ndim > 6 or array.dtype.kind not in "fiub":
        return False
    return bool((np.abs(array.astype("float64")) < _MAX).all())


# Running


def runtime() -> Any:
    """Return onnxruntime, None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def expected(model: Any, inputs: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
    """Return what others give: onnxruntime where it can run the model, and onnx's reference.

    Each is wrong somewhere: onnxruntime where nothing is summed up, the reference at others.
    """
    found = []
    ort = runtime()
    try:
        if ort is not None:
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            session = ort.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            found.append(session.run(None, inputs))
    except Exception as error:
        if "NOT_IMPLEMENTED" not in f"{type(error).__name__} {error}".upper().replace(" ", "_"):
            return []
    if not found and any(_misleads(model, node) for node in model.graph.node):
        return []
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        found.append([np.asarray(e) for e in ReferenceEvaluator(model).run(None, inputs)])
    return found


def _misleads(model: Any, node: Any) -> bool:
    """Whether onnx's reference may be wrong at a node; a Gather by no indices loses its rank."""
    nothing = {each.name for each in model.graph.initializer if 0 in each.dims}
    by_nothing = node.op_type == "Gather" and node.input[1] in nothing
    return node.op_type in ONLY_ONNXRUNTIME or by_nothing


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


def try_one(seed: int, nodes: int = 6, opt_level: int = 0) -> str:
    """Return `pass`, or what is wrong with the results of a model."""
    from relax_mlir.compiler.driver import compile
    from relax_mlir.errors import ShapeMismatchError
    from relax_mlir.frontend.onnx import from_onnx
    from relax_mlir.pass_infra.context import PassContext

    maker = Maker(seed, nodes)
    model = maker.model()
    if not model.graph.node:
        return PASS
    inputs = {each.name: maker.values[each.name] for each in model.graph.input}
    wanted = expected(model, inputs)
    if not wanted:
        return PASS
    try:
        with PassContext(opt_level=opt_level):
            main = compile(from_onnx(model))
    except Exception as error:
        return f"import: {_line(error)}"
    for given in (inputs, *_other_sizes(maker, model, inputs)):
        wanted = wanted if given is inputs else expected(model, given)
        if not wanted or not all(_is_tame(each) for each in wanted[0]):
            continue
        try:
            result = main(*given.values())
        except ShapeMismatchError as error:
            # onnx's reference takes sizes that do not fit; of onnxruntime, windows larger than
            # their image have no results.
            if given is inputs or (runtime() and all(each.size for each in wanted[0])):
                return f"run: {_line(error)}"
            continue
        except Exception as error:
            return f"run: {_line(error)}"
        actual = list(result) if isinstance(result, tuple) else [result]
        for i, (mine, *others) in enumerate(zip(actual, *wanted, strict=True)):
            found = [difference(np.asarray(mine), each) for each in others]
            if all(found):
                return f"{'first' if given is inputs else 'other'} sizes: output {i}: {found[0]}"
    return PASS


def _other_sizes(maker: Maker, model: Any, inputs: Any) -> Iterator[dict[str, np.ndarray]]:
    """Give the inputs of a dynamic model other sizes, where no node has steps.

    onnxruntime takes tensors without elements of any size; such models keep theirs.
    """
    types = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
    symbols = sorted({dim.dim_param for dims in types.values() for dim in dims} - {""})
    if any(not array.size for array in maker.values.values()):
        return
    if not symbols or any(node.op_type in STEPS for node in model.graph.node):
        return
    sizes = {name: int(maker.choice((1, 2, 3, 6, 9))) for name in symbols}
    yield {
        name: elements(maker.rng, [sizes.get(d.dim_param, d.dim_value) for d in dims],
                       inputs[name].dtype.name)
        for name, dims in types.items()
    }  # fmt: skip


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


# Many models


def _try_all(seeds: Sequence[int], nodes: int, opt_level: int, pipe: Any) -> None:
    for seed in seeds:
        pipe.send((seed, try_one(seed, nodes, opt_level)))
    pipe.close()


def run_all(seeds: Sequence[int], args: Any) -> Iterator[tuple[int, str]]:
    """Try models in processes; one that crashes takes only its own model with it."""
    chunks = collections.deque(seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["random_models", "relax_mlir.frontend.onnx.importer"])
    running: dict[Any, list[int]] = {}
    while chunks or running:
        while chunks and len(running) < args.jobs:
            chunk = chunks.popleft()
            receiver, sender = context.Pipe(duplex=False)
            work = (chunk, args.nodes, args.opt_level, sender)
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


def summary(outcomes: Iterable[tuple[int, str]]) -> int:
    """Print what failed; returns how many."""
    count, failed = 0, 0
    for seed, outcome in outcomes:
        count += 1
        if outcome != PASS:
            failed += 1
            print(f"seed {seed}: {outcome}", flush=True)
    peer = "onnxruntime" if runtime() else "onnx's reference evaluator"
    print(f"{count} models against {peer}: {failed} fail")
    return failed


def main() -> int:
    """Try models, or show one."""
    parser = argparse.ArgumentParser(description="Compare random ONNX models.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--nodes", type=int, default=6, help="how many nodes a model has, about")
    parser.add_argument("--opt-level", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="print the first model as text")
    args = parser.parse_args()
    if args.show:
        print(onnx.printer.to_text(Maker(args.seed, args.nodes).model()))
        return 0
    return bool(summary(run_all(range(args.seed, args.seed + args.count), args)))


if __name__ == "__main__":
    sys.exit(main())
