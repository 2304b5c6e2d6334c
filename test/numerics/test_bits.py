"""What docs/numerics.md promises about bits, for each level of x86-64 that runs here."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import sample
from targets import skip_unless_runs
from thread_counts import bits, check_bits

from relax_mlir import relax, script
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.runtime.native.cpu_features import missing_features

pytestmark = pytest.mark.own_targets

CPUS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
# Parameters with their sizes, and what is computed of them; `?` stands for the dtype.
MAPS = {
    "exp": ("x: n m", "R.exp(x)"),
    "exp_of_difference": ("x: n m, y: n m", "R.exp(R.subtract(x, y))"),
    "tanh": ("x: n m", "R.tanh(x)"),
    "sigmoid": ("x: n m", "R.sigmoid(x)"),
    "gelu": ("x: n m", "R.nn.gelu(x)"),
    "silu": ("x: n m", "R.nn.silu(x)"),
    "sin": ("x: n m", "R.sin(x)"),
    "log": ("x: n m", "R.log(R.abs(x))"),
    "multiply_add": ("x: n m, y: n m", "R.add(R.multiply(x, y), x)"),
    "chain": ("x: n m, y: m", "R.divide(R.erf(R.add(x, y)), R.add(R.exp(x), R.const(2, '?')))"),
    "turned": ("x: n m", "R.tanh(R.permute_dims(x))"),
    "cast": ("x: n m", "R.astype(x, 'float16')"),
    "larger": ("x: n 6 m 5", "R.nn.max_pool2d(x, (3, 2), padding=1)"),
}
ROWS = {
    "sum": ("x: n m 7", "R.sum(x, axis=[1, 2])"),
    "sum_of_columns": ("x: n m 19", "R.sum(x, axis=1)"),
    "mean": ("x: n m", "R.mean(x, axis=-1)"),
    "variance": ("x: n m", "R.variance(x, axis=-1)"),
    "product": ("x: n m", "R.prod(x, axis=-1)"),
    "running_sum": ("x: n m", "R.cumsum(x, axis=1)"),
    "softmax": ("x: n m", "R.nn.softmax(x)"),
    "log_softmax": ("x: n m", "R.nn.log_softmax(x)"),
    "layer_norm": ("x: n m, g: m, b: m", "R.nn.layer_norm(x, g, b, axes=[-1])"),
    "rms_norm": ("x: n m, g: m", "R.nn.rms_norm(x, g, axes=[-1])"),
    "average": ("x: n 6 m 5", "R.nn.avg_pool2d(x, (3, 2), padding=1)"),
    "depthwise": ("x: n 6 m 5, w: 6 1 3 3", "R.nn.conv2d(x, w, padding=1, groups=6)"),
    "depthwise_last": (
        "x: n m 5 18, w: 18 1 3 3",
        "R.nn.conv2d(x, w, padding=1, groups=18, data_layout='NHWC')",
    ),
    "attention": ("q: n 5 2 16, k: n m 2 16, v: n m 2 16", "R.nn.attention(q, k, v)"),
}
PRODUCTS = {
    "matmul": ("x: n m, w: m 23", "R.matmul(x, w)"),
    "matmul_turned": ("x: n m, w: 23 m", "R.nn.relu(R.matmul(x, R.permute_dims(w)))"),
    "batch_matmul": ("x: 3 n m, w: 3 m 23", "R.matmul(x, w)"),
    "conv": ("x: n 6 m 5, w: 9 6 3 3", "R.nn.conv2d(x, w, padding=1)"),
    "conv_last": ("x: n m 5 6, w: 9 6 3 3", "R.nn.conv2d(x, w, padding=1, data_layout='NHWC')"),
    "conv_groups": ("x: n 6 m 5, w: 9 2 3 3", "R.nn.conv2d(x, w, padding=1, groups=3)"),
    "sum_of_all": ("x: n m", "R.sum(x)"),
    "sum_of_rows": ("x: n m", "R.sum(x, axis=0)"),
}
# Of integers, and what only picks or rounds floats: the same wherever it runs.
EXACT = {
    "int_matmul": ("x: n m: int8, w: m 23: int8", "R.matmul(x, w, out_dtype='int32')"),
    "int_sum": ("x: n m: int64", "R.sum(x, axis=-1)"),
    "int_running_sum": ("x: n m: int32", "R.cumsum(x, axis=0)"),
    "int_chain": ("x: n m: int16, y: n m: int16", "R.add(R.multiply(x, y), R.abs(x))"),
    "largest": ("x: n m: float32", "R.max(x, axis=-1)"),
    "where_largest": ("x: n m: float32", "R.argmax(x, axis=-1)"),
    "sorted": ("x: n m: float32", "R.sort(x, axis=-1)"),
    "compared": ("x: n m: float16, y: n m: float16", "R.less(x, y)"),
    "rounded": ("x: n m: float64", "R.round(x)"),
    "root": ("x: n m: float32", "R.sqrt(R.abs(x))"),
    "quotient": ("x: n m: float64, y: n m: float64", "R.divide(x, y)"),
    "cast": ("x: n m: float32", "R.astype(x, 'float16')"),
    "narrowed": ("x: n m: float64", "R.astype(x, 'int8')"),
    "remainder": ("x: n m: float32, y: n m: float32", "R.mod(x, y)"),
}
ALL = {**MAPS, **ROWS, **PRODUCTS}
# Each function is of float32, and of one of the others: all of all would compile for minutes.
# Compiled for threads, each is of one of its two.
OTHERS = ("float64", "float16")
DTYPES = {name: ("float32", OTHERS[place % 2]) for place, name in enumerate(ALL)}
Sizes = Mapping[str, int]
SIZES: Sequence[Sizes] = ({"n": 9, "m": 37}, {"n": 2, "m": 1009})


def _runs_here(cpu: str) -> bool:
    return platform.machine() == "x86_64" and not missing_features(cpu, "")


@pytest.fixture(scope="module", params=CPUS)
def cpu(request: Any) -> str:
    skip_unless_runs(f"llvm -mcpu={request.param}")
    return request.param


def _parameters(case: str, dtype: str) -> Iterator[tuple[str, list[str], str]]:
    """Return names, dimensions and dtypes."""
    for parameter in case.split(", "):
        name, dims, *own = parameter.split(": ")
        yield name, dims.split(), own[0] if own else dtype


def _source(name: str, case: tuple[str, str], dtype: str, sizes: Sizes | None = None) -> str:
    """Return a function; without sizes they are symbolic."""
    parameters = []
    for parameter, dims, own in _parameters(case[0], dtype):
        shape = ", ".join(
            dim if dim.isdigit() else f'"{dim}"' if sizes is None else str(sizes[dim])
            for dim in dims
        )
        parameters.append(f'{parameter}: R.Tensor(({shape},), "{own}")')
    return f"""
    @R.function
    def {name}({", ".join(parameters)}):
        with R.dataflow():
            result = {case[1].replace("?", dtype)}
            R.output(result)
        return result
"""


def _inputs(case: tuple[str, str], dtype: str, sizes: Sizes) -> list[np.ndarray]:
    return [
        sample([int(dim) if dim.isdigit() else sizes[dim] for dim in dims], own, place, 1.0)
        for place, (_, dims, own) in enumerate(_parameters(case[0], dtype))
    ]


def _built(functions: Sequence[str], cpu: str, threads: int = 1) -> relax.Executable:
    module = script.from_source("@I.ir_module\nclass Module:\n" + "".join(functions))
    return relax.build(module, f"llvm -mcpu={cpu} -num-threads={threads}")


def _named(name: str, dtype: str) -> str:
    return f"{name}_{dtype}"


SYMBOLIC = [_source(_named(name, d), case, d) for name, case in ALL.items() for d in DTYPES[name]]


@pytest.fixture(scope="module")
def machine(cpu: str) -> relax.VirtualMachine:
    return relax.VirtualMachine(_built(SYMBOLIC, cpu))


def _runs(cases: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Return each function's name, what sizes its parameters begin with, and arguments."""
    for name, case in cases.items():
        for dtype in DTYPES[name]:
            for sizes in SIZES:
                begins = [dims[0] for _, dims, _ in _parameters(case[0], dtype)]
                yield _named(name, dtype), begins, _inputs(case, dtype, sizes)


def test_any_number_of_threads(
    cpu: str, machine: relax.VirtualMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    chosen = [DTYPES[name][place // 2 % 2] for place, name in enumerate(ALL)]
    functions = [
        _source(_named(name, dtype), case, dtype)
        for (name, case), dtype in zip(ALL.items(), chosen, strict=True)
    ]
    parallel = relax.VirtualMachine(_built(functions, cpu, threads=5))
    names = set(map(_named, ALL, chosen))
    for name, arguments in ((name, given) for name, _, given in _runs(ALL) if name in names):
        wanted = bits(machine[name], *arguments)
        check_bits(lambda name=name, given=arguments: bits(parallel[name], *given), wanted)


def test_each_call_wherever_arrays_lie(machine: relax.VirtualMachine) -> None:
    for name, _, arguments in _runs(ALL):
        wanted = bits(machine[name], *arguments)
        for places in (0, 1, 3):
            moved = [_moved(each, places) for each in arguments]
            assert bits(machine[name], *moved) == wanted, name


def _moved(array: np.ndarray, places: int) -> np.ndarray:
    """Return a copy that begins so many elements after an aligned address."""
    room = np.empty(array.size + places, array.dtype)
    room[places:] = array.ravel()
    return room[places:].reshape(array.shape)


def test_a_row_alone(machine: relax.VirtualMachine) -> None:
    for name, begins, arguments in _runs({**MAPS, **ROWS}):
        wanted = np.asarray(machine[name](*arguments))
        # What was turned has its rows in the second axis.
        wanted = wanted.T if name.startswith("turned") else wanted
        for rows in (1, 2, 3, 4, 7):
            given = [a[:rows] if b == "n" else a for a, b in zip(arguments, begins, strict=True)]
            got = np.asarray(machine[name](*given))
            got = got.T if name.startswith("turned") else got
            assert got.tobytes() == wanted[:rows].tobytes(), (name, rows)


def test_known_sizes_of_maps(cpu: str, machine: relax.VirtualMachine) -> None:
    # With AVX-512 one element alone is no vector.
    for sizes in (SIZES[0], {"n": 1, "m": 1 if cpu != CPUS[-1] else 2}):
        functions = [
            _source(_named(name, d), case, d, sizes)
            for name, case in MAPS.items()
            for d in DTYPES[name]
        ]
        known = relax.VirtualMachine(_built(functions, cpu))
        for name, case in MAPS.items():
            for dtype in DTYPES[name]:
                arguments = _inputs(case, dtype, sizes)
                each = _named(name, dtype)
                assert bits(known[each], *arguments) == bits(machine[each], *arguments), each


def test_an_element_wherever_it_stands(machine: relax.VirtualMachine) -> None:
    order = np.random.default_rng(1).permutation(407)
    for name in ("exp", "tanh", "sigmoid", "gelu", "silu", "sin", "log"):
        for dtype in DTYPES[name]:
            function = machine[_named(name, dtype)]
            x = sample(407, dtype, 3, 2.0)
            wanted = np.asarray(function(x.reshape(1, -1))).ravel()
            for shape in ((1, 407), (407, 1), (11, 37)):
                got = np.asarray(function(x[order].reshape(shape))).ravel()
                assert got.tobytes() == wanted[order].tobytes(), (name, shape)


def test_built_again_saved_and_cached(
    cpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = PRODUCTS
    functions = [_source(name, case, "float32") for name, case in cases.items()]
    first = _built(functions, cpu)
    first.save(tmp_path / "saved")
    again = [relax.Executable.load(tmp_path / "saved")]
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    again += [_built(functions, cpu) for _ in range(2)]
    machine, *machines = map(relax.VirtualMachine, [first, *again])
    for name, case in cases.items():
        arguments = _inputs(case, "float32", SIZES[0])
        wanted = bits(machine[name], *arguments)
        assert all(bits(each[name], *arguments) == wanted for each in machines), name


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_exact_on_all_targets() -> None:
    machines = []
    for cpu in filter(_runs_here, CPUS):
        for sizes in (None, SIZES[0]):
            functions = [_source(name, case, "", sizes) for name, case in EXACT.items()]
            machines.append(relax.VirtualMachine(_built(functions, cpu)))
    for name, case in EXACT.items():
        arguments = _inputs(case, "", SIZES[0])
        results = {bits(machine[name], *arguments) for machine in machines}
        assert len(results) <= 1, name
