"""Reading and writing at indices against numpy; nothing out of range is ever touched."""

from collections.abc import Callable

import numpy as np
import pytest
from op_cases import SIZES, Case, n, run_cases
from programs import Program, tensor
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir import relax
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError

pytestmark = pytest.mark.unoptimized

DTYPES = (*FLOATS, *INTEGERS, "bool")
NM, NMK = (["n", "m"], "float32"), (["n", "m", "k"], "float32")


def indices(length: int, *, negative: bool = True, beyond: int = 0) -> Callable[..., np.ndarray]:
    """Return what makes data; integers of the second and later inputs index so many elements."""

    def make(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
        if not place:
            return sample(shape, dtype, 1)
        rng = np.random.default_rng(place)
        low = -length - beyond if negative and dtype.startswith("int") else 0
        return rng.integers(low, length + beyond, shape).astype(dtype)

    return make


def test_take() -> None:
    def taken(axis: object, mode: str = "fast", dtype: str = "int64", **more: object) -> Case:
        def reference(x: np.ndarray, i: np.ndarray, **env: int) -> np.ndarray:
            return np.take(x, i, axis, mode="raise" if mode == "fast" else mode)

        data = indices(4, beyond=0 if mode == "fast" else 3, negative=mode != "clip")
        return Case("take", [([4, 4, "m"], "float32"), (["n", "k"], dtype)], reference,
                    {"axis": axis, "mode": mode}, data=data, **more)  # fmt: skip

    run_cases([
        taken(0), taken(1, dtype="int32"), taken(-2, dtype="uint8"),
        taken(0, "wrap"), taken(1, "clip"), taken(1, "wrap", "uint64"),
        taken(None, sizes=SIZES), taken(None, "clip", sizes=SIZES),
        Case("take", [(["n"], "bool"), ([], "int8")], lambda x, i, **env: np.take(x, i, 0),
             {"axis": 0}, data=indices(1), sizes=SIZES),
    ])  # fmt: skip


def test_take_by_a_number() -> None:
    program = Program()
    program.function(
        "f",
        lambda: [tensor(["n", "m"], "float32")],
        lambda x: relax_op("take", [x, prim_value(SymExpr.var("n") - 1)], {"axis": 0}),
    )
    x = sample((5, 7), "float32")
    check(program.build()["f"](x), x[4])


def test_take_of_every_dtype() -> None:
    run_cases([
        Case("take", [([7, "m"], dtype), (["n"], "int64")], lambda x, i, **env: x[i], {"axis": 0},
             data=indices(7), variants=("symbolic", "unknown"))
        for dtype in DTYPES
    ])  # fmt: skip


def test_take_of_what_is_not_there_is_nan() -> None:
    def reference(x: np.ndarray, i: np.ndarray, **env: int) -> np.ndarray:
        i = np.where(i < 0, i + 4, i)
        return np.where(((i >= 0) & (i < 4))[:, None], x[np.clip(i, 0, 3)], np.nan).astype(x.dtype)

    run_cases([
        Case("take", [([4, "m"], dtype), (["n"], "int64")], reference,
             {"axis": 0, "mode": "nan"}, data=indices(4, beyond=2))
        for dtype in ("float16", "float64")
    ])  # fmt: skip


def test_gather() -> None:
    def nested(x: np.ndarray, i: np.ndarray, **env: int) -> np.ndarray:
        return np.stack([x[b][tuple(np.moveaxis(i[b], -1, 0))] for b in range(len(x))])

    run_cases([
        Case("gather_elements", [([4, "m"], "float32"), (["n", "m"], "int64")],
             lambda x, i, **env: np.take_along_axis(x, np.where(i < 0, i + 4, i), 0),
             data=indices(4)),
        Case("gather_elements", [(["n", 4], "int8"), (["n", "m"], "int32")],
             lambda x, i, **env: np.take_along_axis(x, np.where(i < 0, i + 4, i).astype("i8"), 1),
             {"axis": -1}, data=indices(4)),
        Case("gather_elements", [([n + 1, 4], "int8"), (["n", "m"], "int32")],
             lambda x, i, n, **env: np.take_along_axis(
                 x[:n], np.where(i < 0, i + 4, i).astype("i8"), 1),
             {"axis": 1}, data=indices(4)),
        Case("gather_nd", [([4, 4, "m"], "float32"), (["n", "k", 2], "int64")],
             lambda x, i, **env: x[i[..., 0], i[..., 1]], data=indices(4)),
        Case("gather_nd", [([4, 4], "int16"), (["n", 2], "int32")],
             lambda x, i, **env: x[i[..., 0], i[..., 1]], data=indices(4)),
        Case("gather_nd", [([4, "m"], "int16"), (["n", "k", 1], "uint8")],
             lambda x, i, **env: x[i[..., 0]], data=indices(4)),
        Case("gather_nd", [(["n", 4, "m"], "float32"), (["n", "k", 1], "int64")], nested,
             {"batch_dims": 1}, data=indices(4), sizes=SIZES),
        Case("index_tensor", [([4, 4, "m"], "float32"), (["n", 1], "int64"), (["k"], "int32")],
             lambda x, i, j, **env: x[i, j], data=indices(4),
             operands=lambda x, *given: [x, list(given)]),
        Case("index_tensor", [([4, "m"], "bool"), (["n"], "int64")], lambda x, i, **env: x[i],
             data=indices(4), operands=lambda x, *given: [x, list(given)]),
        Case("meshgrid", [(["n"], "float32"), (["m"], "float32"), (["k"], "float32")],
             lambda *xs, **env: tuple(np.meshgrid(*xs, indexing="ij")),
             operands=lambda *xs: [list(xs)]),
        Case("meshgrid", [(["n"], "int8"), (["m"], "int8")],
             lambda *xs, **env: tuple(np.meshgrid(*xs)), {"indexing": "xy"},
             lambda *xs: [list(xs)]),
    ])  # fmt: skip


_COMBINE = {
    "update": lambda a, b: b,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": np.minimum,
    "max": np.maximum,
}


def _scattered(x: np.ndarray, places: np.ndarray, updates: np.ndarray, how: str) -> np.ndarray:
    """Put updates one after another; `places` has a row of indices for each."""
    result = x.copy()
    for place, update in zip(places, updates, strict=True):
        at = tuple(place)
        result[at] = _COMBINE[how](result[at], update)
    return result


def _elements(x: np.ndarray, i: np.ndarray, updates: np.ndarray, axis: int, how: str) -> np.ndarray:
    grid = [each.reshape(-1) for each in np.indices(i.shape)]
    grid[axis] = i.reshape(-1)
    return _scattered(x, np.stack(grid, 1), updates.reshape(-1), how)


def test_scatter() -> None:
    def data(length: int) -> Callable[..., np.ndarray]:
        make = indices(length)

        def both(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
            return make(shape, dtype, place) if place == 1 else sample(shape, dtype, place)

        return both

    cases = []
    for how in _COMBINE:
        for dtype in ("float32", "int8", "bool") if how in ("update", "max") else ("float64", "u1"):
            dtype = np.dtype(dtype).name
            cases += [
                Case("scatter_elements",
                     [([4, "m"], dtype), (["n", "m"], "int64"), (["n", "m"], dtype)],
                     lambda x, i, u, how=how, **env: _elements(x, i, u, 0, how),
                     {"reduction": how}, data=data(4)),
                Case("scatter_nd", [([4, "m"], dtype), (["n", 1], "int32"), (["n", "m"], dtype)],
                     lambda x, i, u, how=how, **env: _scattered(x, i, u, how),
                     {"reduction": how}, data=data(4)),
            ]  # fmt: skip
    for case in cases[2:]:
        case.variants = (
            ("symbolic", "unknown") if case.attrs["reduction"] == "add" else ("symbolic",)
        )
    cases += [
        Case("scatter_elements", [(["n", 4], "int32"), (["n", "m"], "int8"), (["n", "m"], "int32")],
             lambda x, i, u, **env: _elements(x, i, u, 1, "update"), {"axis": -1}, data=data(4)),
        Case("scatter_nd", [([4, 4], "int32"), (["n", "m", 2], "int64"), (["n", "m"], "int32")],
             lambda x, i, u, **env: _scattered(x, i.reshape(-1, 2), u.reshape(-1), "add"),
             {"reduction": "add"}, data=data(4)),
    ]  # fmt: skip
    run_cases(cases)


OUT_OF_RANGE = {
    "take": ([([4, "m"], "float32"), (["n"], "int64")], {"axis": 0}),
    "gather_elements": ([([4, "m"], "float32"), (["n", "m"], "int64")], {}),
    "gather_nd": ([([4, "m"], "float32"), (["n", "m", 1], "int64")], {}),
    "index_tensor": ([([4, "m"], "float32"), (["n"], "int64")], {}),
    "scatter_elements": (
        [([4, "m"], "float32"), (["n", "m"], "int64"), (["n", "m"], "float32")], {}),
    "scatter_nd": (
        [([4, "m"], "float32"), (["n", 1], "int64"), (["n", "m"], "float32")], {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    program = Program()
    for name, (inputs, attrs) in OUT_OF_RANGE.items():
        for variant in ("symbolic", "unknown"):
            types = inputs if variant == "symbolic" else [(None, "")] * len(inputs)
            program.function(
                f"{name}_{variant}",
                lambda types=types: [tensor(*type_) for type_ in types],
                lambda *values, name=name, attrs=attrs: relax_op(
                    name, [values[0], [values[1]]] if name == "index_tensor" else values, attrs
                ),
            )
    for mode in ("wrap", "clip"):
        types = ((["n"], "float32"), (["m"], "int64"))
        program.op(mode, "take", *types, axis=0, mode=mode)
    return program.build()


@pytest.mark.parametrize("variant", ["symbolic", "unknown"])
@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range(machine: relax.VirtualMachine, name: str, variant: str) -> None:
    inputs, _ = OUT_OF_RANGE[name]
    sizes = {"n": 3, "m": 2}
    shapes = [tuple(sizes.get(dim, dim) for dim in dims) for dims, _ in inputs]
    for bad in (4, -5, 2**62, -(2**63)):
        arrays = [np.zeros(shape, dtype) for shape, (_, dtype) in zip(shapes, inputs, strict=True)]
        arrays[1].flat[-1] = bad
        message = f"index {bad} is out of range for an axis of length 4"
        with pytest.raises(ShapeMismatchError, match=message):
            machine[f"{name}_{variant}"](*arrays)
        arrays[1].flat[-1] = -4
        machine[f"{name}_{variant}"](*arrays)


def test_there_is_nothing_to_take_from_an_empty_axis(machine: relax.VirtualMachine) -> None:
    empty, some = np.zeros(0, "float32"), np.zeros(2, "int64")
    for mode in ("wrap", "clip"):
        check(machine[mode](empty, some[:0]), empty)
        with pytest.raises(ShapeMismatchError, match="nothing to take from an axis of length 0"):
            machine[mode](empty, some)


def test_what_only_run_time_can_fit() -> None:
    program = Program()
    program.op("gather", "gather_elements", (["n", "m"], "int8"), (["k", "j"], "int64"), axis=1)
    program.op("nd", "gather_nd", (["n", "m"], "int8"), (["k", "j"], "int64"))
    program.op(
        "scatter", "scatter_nd", (["n", "m"], "int8"), (["k", 1], "int64"), (["i", "j"], "int8")
    )
    vm = program.build()
    x = sample((4, 3), "int8")
    where = np.array([[0, 2], [1, 1]])
    check(vm["gather"](x, where), np.take_along_axis(x[:2], where, 1))
    check(vm["nd"](x, where), x[where[:, 0], where[:, 1]])
    check(vm["nd"](x, where[:, :1]), x[where[:, 0]])
    check(vm["scatter"](x, where[:, :1], x[2:]), np.concatenate([x[2:], x[2:]]))
    with pytest.raises(ShapeMismatchError, match="5 indices in dimension 0, where the data has 4"):
        vm["gather"](x, np.zeros((5, 1), "int64"))
    with pytest.raises(ShapeMismatchError, match="3 indices for 2 dimensions"):
        vm["nd"](x, np.zeros((1, 3), "int64"))
    with pytest.raises(ShapeMismatchError, match=r"updates must have shape \(2, 3\), got \(1, 3\)"):
        vm["scatter"](x, where[:, :1], x[:1])
    with pytest.raises(ArgumentTypeError, match=r"arg1.*int64.*float64"):
        vm["nd"](x, np.zeros((1, 2)))
