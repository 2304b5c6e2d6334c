"""Random programs against numpy: operations that meet in one function, symbolic and static."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import Program, tensor

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import make_tuple

pytestmark = pytest.mark.unoptimized

UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "negative": np.negative,
    "abs": np.abs,
    "floor": np.floor,
}
BINARY = {"add": np.add, "subtract": np.subtract, "maximum": np.maximum, "multiply": np.multiply}
# A step: the relax operation, positions of its operands, attributes, and the same in numpy.
Step = tuple[str, tuple[int, ...], dict[str, Any], Callable[..., np.ndarray]]


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True)) if x.size else x
    return powers / powers.sum(-1, keepdims=True)


def _choose(rng: random.Random, ranks: list[int], shapes: list[list[str]]) -> Step | None:
    kind = rng.choice(["unary", "binary", "reduce", "matmul", "permute", "softmax", "flatten"])
    a = rng.randrange(len(shapes))
    if kind == "unary":
        name = rng.choice(list(UNARY))
        return name, (a,), {}, UNARY[name]
    if kind == "binary":
        same = [i for i, shape in enumerate(shapes) if shape[-len(shapes[a]) :] == shapes[a]]
        name = rng.choice(list(BINARY))
        return name, (rng.choice(same), a), {}, BINARY[name]
    if ranks[a] != 2:
        return None
    if kind == "reduce":
        axis = rng.randrange(2)
        return "sum", (a,), {"axis": [axis], "keepdims": False}, lambda x: x.sum(axis)
    if kind == "matmul":
        fits = [i for i, s in enumerate(shapes) if ranks[i] == 2 and s[0] == shapes[a][1]]
        if not fits:
            return None
        return "matmul", (a, rng.choice(fits)), {}, np.matmul
    if kind == "permute":
        return "permute_dims", (a,), {}, np.transpose
    if kind == "softmax":
        return "softmax", (a,), {}, _softmax
    return "flatten", (a,), {}, lambda x: x.reshape(-1)


class _Random:
    """One function: its parameters' shapes, its steps, which values it returns."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        sizes = ["n", "m", 3] if seed % 3 else [4, 5, 3]
        self.params = [[rng.choice(sizes) for _ in range(rng.choice([1, 2, 2]))] for _ in range(3)]
        self.seed, self.rng, self.steps = seed, rng, list[Step]()
        self.split = rng.randrange(2, 9)
        self.outputs: list[int] = []

    def body(self, *values: ir.Value) -> ir.Value:
        """Emit the steps: first some in a dataflow block, the others after it."""
        made = list(values)
        op = ir.Operation.create("relax.dataflow", results=[], regions=1)
        with ir.InsertionPoint(op.regions[0].blocks.append()):
            self._emit(made, self.split)
            escaping = list(range(len(values), len(made)))
            ir.Operation.create("relax.output", operands=[make_tuple([made[i] for i in escaping])])
        # A block's results are part of its type, so it is made again once they are known.
        output = list(op.regions[0].blocks[0].operations)[-1].operation
        block = ir.Operation.create("relax.dataflow", results=[output.operands[0].type], regions=1)
        op.regions[0].blocks[0].append_to(block.regions[0])
        op.erase()
        for index, position in enumerate(escaping):
            made[position] = ir.Operation.create(
                "relax.tuple_get_item",
                results=[made[position].type],
                operands=[block.result],
                attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)},
            ).result
        self._emit(made, self.split + 6)
        count = len(made) - len(values)
        self.outputs = sorted(self.rng.sample(range(count), min(3, count)))
        return make_tuple([made[len(values) + i] for i in self.outputs])

    def _emit(self, made: list[ir.Value], until: int) -> None:
        while len(self.steps) < until:
            shapes = [list(map(str, T.tensor_dims(value.type))) for value in made]
            step = _choose(self.rng, [len(shape) for shape in shapes], shapes)
            if step is not None:
                name, operands, attrs, _ = step
                made.append(relax_op(name, [made[i] for i in operands], attrs))
                self.steps.append(step)

    def arguments(self, sizes: dict[str, int]) -> list[np.ndarray]:
        """Return arguments of these sizes."""
        rng = np.random.default_rng(self.seed)
        shapes = [[sizes.get(dim, dim) for dim in dims] for dims in self.params]
        return [rng.normal(0, 0.5, shape).astype("float32") for shape in shapes]

    def reference(self, arguments: list[np.ndarray]) -> list[np.ndarray]:
        """Return what numpy computes, in double precision."""
        values = [x.astype("float64") for x in arguments]
        for _, operands, _, compute in self.steps:
            values.append(compute(*[values[i] for i in operands]))
        return [values[len(arguments) + i] for i in self.outputs]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("batch", range(4))
def test_random_programs(batch: int) -> None:
    program = Program()
    functions = [_Random(seed) for seed in range(batch * 6, batch * 6 + 6)]
    for each in functions:
        program.function(
            f"f{each.seed}", lambda each=each: [tensor(dims) for dims in each.params], each.body
        )
    vm = program.build()
    for each in functions:
        for n, m in [(1, 1), (0, 3), (17, 5), (3, 33)]:
            arguments = each.arguments({"n": n, "m": m})
            before = [x.copy() for x in arguments]
            got = vm[f"f{each.seed}"](*arguments)
            for x, wanted in zip(got, each.reference(arguments), strict=True):
                assert x.shape == wanted.shape, (each.seed, n, m)
                scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=1))
                message = f"seed {each.seed}, n = {n}, m = {m}"
                np.testing.assert_allclose(x, wanted, 1e-4, 1e-4 * scale, err_msg=message)
            for x, old in zip(arguments, before, strict=True):
                np.testing.assert_array_equal(x, old)
