"""The tables of docs/numerics.md hold: for arguments they name, and for one number in many."""

from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from targets import skip_unless_runs

_STEP = 65_521
pytestmark = pytest.mark.own_targets

_CPUS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


@pytest.fixture(autouse=True, scope="module")
def benchmarks() -> Any:
    """Let tests import the script that makes the tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("cpu", _CPUS)
def test_errors_are_within_the_tables(cpu: str, dtype: str) -> None:
    from accuracy import DOCUMENT, numbers_of, read, search
    from elementary import compiled, numpy_dtype

    skip_unless_runs(f"llvm -mcpu={cpu}")
    table = read(DOCUMENT.read_text(), dtype)
    functions = compiled(list(table), dtype, cpu)
    wrong = {}
    for name, row in table.items():
        bound = row[cpu]
        function = {cpu: functions[name]}
        named = tuple(np.array([float(number)]).astype(numpy_dtype(dtype)) for number in bound.at)
        found = [
            search(name, dtype, function, iter([named]))[cpu],
            search(name, dtype, function, numbers_of(name, dtype, _STEP))[cpu],
        ]
        worst = max(found)
        if worst.ulps > bound.ulps:
            wrong[name] = worst
    assert not wrong


def test_errors_count_what_is_no_number() -> None:
    from ulps import ulps

    largest = float(np.finfo("f4").max)
    cases = [
        (np.nan, np.nan, 0.0), (np.nan, 1.0, np.inf), (1.0, np.nan, np.inf), (np.inf, np.inf, 0.0),
        (-np.inf, np.inf, np.inf), (np.inf, 1e300, 0.0), (largest, np.inf, np.inf),
        (np.inf, 2.0**128 - 2.0**103, 0.5), (0.0, -0.0, np.inf), (-0.0, -1e-60, 0.0),
        (1e-45, 0.0, 1.0), (1.0, 1 + 2.0**-24, 0.5), (1.0, 1 - 2.0**-25, 0.5),
    ]  # fmt: skip
    for got, exact, error in cases:
        found = ulps(np.array([got], "f4"), np.array([exact]))
        assert found[0] == pytest.approx(error, abs=1e-6), (got, exact)
