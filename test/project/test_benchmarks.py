"""What benchmarks measure and how it is judged; measuring itself is no test."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from checkout import ROOT


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let tests import what the scripts import of each other."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    # Other tests have a module of this name, too.
    theirs = sys.modules.pop("kernels", None)
    yield
    sys.modules.pop("kernels", None)
    if theirs is not None:
        sys.modules["kernels"] = theirs


def script() -> ModuleType:
    """Return `benchmarks/kernels.py`; a module of other tests has its name."""
    spec = importlib.util.spec_from_file_location("kernels_script", ROOT / "benchmarks/kernels.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def cache(system: Path, cpu: int, index: int, *, level: int, size: str, kind: str, of: str) -> None:
    """Describe a cache as Linux does."""
    folder = system / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    told = {"level": str(level), "size": size, "type": kind, "shared_cpu_list": of}
    for name, text in told.items():
        (folder / name).write_text(text + "\n")


def test_last_level_caches_of_the_process_add_up(tmp_path: Path) -> None:
    from last_level_cache import last_level_bytes

    for cpu in range(4):
        cache(tmp_path, cpu, 0, level=1, size="32K", kind="Data", of=str(cpu))
        cache(tmp_path, cpu, 1, level=1, size="32K", kind="Instruction", of=str(cpu))
        of = "0-1" if cpu < 2 else "2-3"
        cache(tmp_path, cpu, 2, level=3, size="32768K", kind="Unified", of=of)
    assert last_level_bytes({0, 1}, tmp_path) == 32 << 20
    assert last_level_bytes({1, 2, 3}, tmp_path) == 64 << 20


@pytest.mark.parametrize("size", ["", "many", "0K"])
def test_caches_that_the_system_does_not_tell_are_usual_ones(tmp_path: Path, size: str) -> None:
    from last_level_cache import last_level_bytes

    assert last_level_bytes({0}, tmp_path) == 32 << 20
    cache(tmp_path, 0, 0, level=3, size=size, kind="Unified", of="0")
    assert last_level_bytes({0}, tmp_path) == 32 << 20


def test_workloads_out_of_cache_have_four_times_the_caches_or_the_most() -> None:
    from last_level_cache import MAX_BYTES, last_level_bytes
    from workloads import WORKLOADS

    far = [work for work in WORKLOADS.values() if work.out_of_cache]
    assert {work.group for work in far} == {
        "elementwise", "softmax", "layernorm", "reduction", "transpose",
    }  # fmt: skip
    least = min(4 * last_level_bytes(), MAX_BYTES)
    for work in far:
        assert least <= work.bytes <= 1.5 * least + (4 << 20), work.name
        assert "out_of_cache" in work.name
    kinds = ("rows", "columns", "all", "max_rows", "argmax_rows")
    reading = {work.name for work in far if work.only_reads}
    assert reading == {f"reduce_{kind}_out_of_cache" for kind in kinds}


def test_only_workloads_out_of_cache_are_judged_by_bandwidth() -> None:
    from tabulating import judged
    from workloads import WORKLOADS

    def met(name: str, share: float) -> bool | None:
        work = WORKLOADS[name]
        times = {"ours": work.bytes / 1e10 / share}
        result = {"times": times, "flops": 1e15, "bandwidth": 1e10, "errors": {}}
        return judged(work, result).get("met")

    for name in ("exp", "softmax", "layernorm", "reduce_all", "transpose"):
        name += "_out_of_cache" + "_10" * (name == "transpose")
        assert met(name, 0.86) is True
        assert met(name, 0.84) is False
    assert met("exp_4096x1024", 0.5) is None


@pytest.mark.slow
def test_data_are_the_same_each_time_and_differ_from_row_to_row() -> None:
    from workload import data
    from workloads import WORKLOADS

    work = WORKLOADS["exp_out_of_cache"]
    (first,), (second,) = (data(work)[0].values() for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first[:, 0])) > len(first) // 2


def test_plots_that_are_not_drawn_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from types import SimpleNamespace

    kernels = script()
    missing = str(tmp_path / "python")
    kernels.draw(SimpleNamespace(peers_python=missing, out=tmp_path), tmp_path / "kernels.json")
    assert capsys.readouterr().out.startswith(f"no plot: there is no {missing} (`make peers`")
    kernels.draw(SimpleNamespace(peers_python="/bin/false", out=tmp_path), tmp_path / "k.json")
    assert capsys.readouterr().out.startswith("no plot: it failed")


def test_limits_that_cannot_be_measured_name_the_log(tmp_path: Path) -> None:
    kernels = script()

    class Broken:
        log_path = str(tmp_path / "log")

        def ask(self, order: dict[str, object]) -> dict[str, str]:
            return {"error": "it ended"}

    work = next(iter(kernels.WORKLOADS.values()))
    with pytest.raises(SystemExit, match=f"it ended; see {Broken.log_path}"):
        kernels.measure(work, {"roofs": Broken()}, 1, 0.1, tmp_path)


def test_a_revision_to_compare_with_is_unpacked_and_linked_as_it_is_installed(
    tmp_path: Path,
) -> None:
    from compare import checkout, linked

    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    tree = checkout("HEAD", tmp_path / "tree")
    package = linked(tree, tmp_path / "linked") / "relax_mlir"
    assert (package / "__init__.py").is_file()
    assert (package / "lowering" / "__init__.py").resolve() == tree / "lowering/__init__.py"
    assert checkout(str(tree), tmp_path / "other") == tree
    with pytest.raises(SystemExit, match="neither a folder nor a revision"):
        checkout("no-such-revision", tmp_path / "other")


def test_a_busy_core_is_one_that_the_process_may_use() -> None:
    from busy_core import busy_core

    with pytest.raises(ValueError, match="no CPU 4096"), busy_core(4096):
        pass
    with busy_core(None):
        pass
