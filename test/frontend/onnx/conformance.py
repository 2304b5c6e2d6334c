"""`make conformance`: the node tests of the installed onnx, counted by the reason they fail.

Programs are built at opt_level 0, the quickest way that still runs our kernels. Each process takes
tests from a list; one that crashes or hangs fails the test it had, and another goes on.
`passing.txt` beside this file lists the tests that pass; it can only grow (`--update`).
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import re
import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np

PASSING = Path(__file__).with_name("passing.txt")
REASONS = Path(__file__).with_name("failing.txt")
LIMIT_S = 60
RTOL, ATOL = 1e-3, 1e-7
PASS = "pass"
# Results that do not follow from the specification.
WRONG_DATA = {
    "test_adam_multiple": "the data has an epsilon of 1e-2, the model that of the specification",
    # https://github.com/onnx/onnx/pull/7618
    "test_l2normalization_axis_0": "the data has NaN where later versions of onnx specify zeros",
    **dict.fromkeys(
        (f"test_qlinearmatmul_{rank}D_int8_float{bits}" for rank in (2, 3) for bits in (16, 32)),
        "the data wraps around where the specification saturates",
    ),
    **dict.fromkeys(
        (
            "test_bernoulli",
            "test_bernoulli_double",
            "test_bernoulli_double_expanded",
            "test_bernoulli_expanded",
            "test_bernoulli_seed",
            "test_bernoulli_seed_expanded",
            "test_training_dropout",
            "test_training_dropout_default",
            "test_training_dropout_default_mask",
            "test_training_dropout_mask",
        ),
        "the data has random numbers of numpy's generator",
    ),
}


def names() -> list[str]:
    """Return the names of all node tests."""
    return [path.parent.name for path in sorted(_folder().glob("*/model.onnx"))]


def _folder() -> Path:
    from onnx.backend.test.loader import DATA_DIR

    return Path(DATA_DIR) / "node"


def run(name: str) -> str:
    """Return `pass`, or why a test fails."""
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(LIMIT_S)
    try:
        return _run(_folder() / name)
    except TimeoutError:
        return f"hangs: more than {LIMIT_S} s"
    except Exception as error:
        return _reason(error)
    finally:
        signal.alarm(0)


def _late(*_: Any) -> None:
    raise TimeoutError


def _run(folder: Path) -> str:
    import onnx

    from relax_mlir.compiler.driver import compile
    from relax_mlir.frontend.onnx import from_onnx
    from relax_mlir.pass_infra.context import PassContext

    model = onnx.load(folder / "model.onnx")
    with PassContext(opt_level=0):
        main = compile(from_onnx(folder / "model.onnx"))
    for case in sorted(folder.glob("test_data_set_*")):
        inputs = [_load(p, e.type) for p, e in _files(case, "input", model.graph.input)]
        expected = [_load(p, e.type) for p, e in _files(case, "output", model.graph.output)]
        actual = main(*map(stored, inputs))
        actual = list(actual) if len(model.graph.output) > 1 else [actual]
        for i, (mine, other) in enumerate(zip(actual, expected, strict=True)):
            problem = difference(mine, other)
            if problem:
                return WRONG_DATA.get(folder.name, f"output {i}: {problem}")
    return PASS


def _files(case: Path, kind: str, values: Any) -> list[tuple[Path, Any]]:
    return [(case / f"{kind}_{i}.pb", each) for i, each in enumerate(values)]


def _load(path: Path, type_: Any) -> Any:
    import onnx

    data = path.read_bytes()
    kind = type_.WhichOneof("value")
    if kind == "tensor_type":
        return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
    if kind == "sequence_type":
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))


def stored(value: Any) -> Any:
    """Return an input as the program takes it: of dtypes that Relax has not, what holds them."""
    from relax_mlir.frontend.values import STORAGE

    if isinstance(value, list):
        return tuple(map(stored, value))
    name = getattr(getattr(value, "dtype", None), "name", "")
    if name not in STORAGE:
        return value
    value = np.asarray(value)
    return value.view(STORAGE[name]) if "float" in name else value.astype(STORAGE[name])


def difference(actual: Any, expected: Any) -> str:
    """Return how a result differs from what it should be, an empty string where it does not."""
    if isinstance(expected, list):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            return "another length of the sequence"
        found = (difference(a, b) for a, b in zip(actual, expected, strict=True))
        return next((each for each in found if each), "")
    expected = np.asarray(stored(expected))
    actual = np.asarray(actual)
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.name == "bfloat16":
        actual, expected = actual.astype("float32"), expected.astype("float32")
    if expected.dtype.kind not in "f":
        return "" if np.array_equal(actual, expected) else "other elements"
    close = np.isclose(actual, expected, RTOL, ATOL, equal_nan=True)
    return "" if close.all() else f"{np.count_nonzero(~close)} of {close.size} elements differ"


def _reason(error: Exception) -> str:
    text = str(error).splitlines() or [""]
    line = text[1].strip() if "cannot be imported" in text[0] and len(text) > 1 else text[0]
    return f"{type(error).__name__}: {line}"[:160]


def run_all(tests: list[str], jobs: int) -> dict[str, str]:
    """Return what each test gives; a process that dies takes only its own test with it."""
    results: dict[str, str] = {}
    waiting = list(tests)
    while waiting:
        alone = bool(results) and jobs > 1 and len(waiting) <= jobs * 4
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["onnx", "relax_mlir.frontend.onnx.importer"])
        workers = 1 if alone else jobs
        with concurrent.futures.ProcessPoolExecutor(workers, context) as pool:
            futures = {name: pool.submit(run, name) for name in waiting}
            for name, future in futures.items():
                try:
                    results[name] = future.result()
                except BrokenProcessPool:
                    break
        left = [name for name in waiting if name not in results]
        if len(left) == len(waiting):
            results[left.pop(0)] = "crash of the process"
        waiting = left
    return results


def grouped(reason: str) -> str:
    """Return a reason without what is of one test alone."""
    reason = re.sub(r"'[^']*'", "'…'", reason)
    reason = re.sub(r"\(version \d+\), .*", "", reason)
    return re.sub(r"\d+", "N", reason)


def main() -> int:
    """Run the tests and print the counts."""
    parser = argparse.ArgumentParser(description="Run the node tests of onnx.")
    parser.add_argument("tests", nargs="*", help="parts of names; all tests without any")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="add new passing tests to the list")
    parser.add_argument("--verbose", action="store_true", help="print each test that fails")
    args = parser.parse_args()
    tests = [n for n in names() if not args.tests or any(part in n for part in args.tests)]
    results = run_all(tests, args.jobs)
    passing = {name for name, reason in results.items() if reason == PASS}
    known = set(PASSING.read_text().split()) if PASSING.exists() else set()
    lost = sorted(known.intersection(tests) - passing)
    reasons = collections.Counter(grouped(r) for r in results.values() if r != PASS)
    if args.verbose:
        for name in tests:
            if results[name] != PASS:
                print(f"{name}: {results[name]}")
    else:
        for reason, count in reasons.most_common():
            print(f"{count:5}  {reason}")
    print(f"{len(passing)} of {len(tests)} node tests pass")
    for name in lost:
        print(f"passed before: {name}: {results[name]}")
    if args.update and not lost:
        PASSING.write_text("\n".join(sorted(known | passing)) + "\n")
        failing = (f"{n}: {results[n]}" for n in tests if results[n] != PASS)
        REASONS.write_text("\n".join(failing) + "\n")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
