"""Settings that hold for every pytest, and which tests are run."""

import functools
import gc
import os
import platform
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from codegen_tests import compiles, functions_in
from hypothesis import settings

from relax_mlir.lowering.target import target

# A busy machine is no failure, and the same run finds the same counterexamples.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
# What a test compiles is compiled, and the user's folder stays as it is.
os.environ.setdefault("RELAX_MLIR_CACHE", "off")
# Tests run side by side; those of threads ask for them.
os.environ.setdefault("RELAX_MLIR_NUM_THREADS", "1")

WITHOUT_CODEGEN = "not codegen"
# Folders in which every test compiles, some in processes of its own.
_COMPILING = tuple(
    Path(__file__).parent / each for each in ("lowering/tir_to_vector", "numerics", "packaging")
)
# Folders whose tests are of code above the kernels: they compile it without LLVM's optimiser, which
# takes a third of the time, unless the environment names a target.
_ABOVE_KERNELS = tuple(
    Path(__file__).parent / each
    for each in ("compiler", "dialects", "frontend", "instrument", "ir", "lowering/relax_to_vm",
                 "pass_infra", "relax", "runtime", "script", "te", "tir", "tools", "topi",
                 "transform", "viz")
)  # fmt: skip


@functools.cache  # paths of thousands of tests, mostly of the same files
def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(map(path.is_relative_to, folders))


def _share(text: str) -> tuple[int, int]:
    which, count = map(int, text.split("/"))
    if not 1 <= which <= count:
        raise ValueError
    return which, count


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--share`."""
    what = "run the I-th of N shares of the tests, which their names decide"
    parser.addoption("--share", type=_share, metavar="I/N", default=(1, 1), help=what)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that compile native code, and leave out those of other shares."""
    for item in items:
        functions = [item.function]
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            functions += [fixture.func for fixture in fixtures]
        for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
            functions += functions_in(value)
        if _is_below(item.path, _COMPILING) or any(map(compiles, functions)):
            item.add_marker(pytest.mark.codegen)
        if _is_below(item.path, _ABOVE_KERNELS):
            item.add_marker(pytest.mark.unoptimized)
    which, count = config.getoption("share")
    others = [item for item in items if zlib.crc32(item.nodeid.encode()) % count != which - 1]
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have tests marked `unoptimized`, their fixtures and their processes compile like that."""
    alone = "RELAX_MLIR_TARGET" not in os.environ
    if not alone or item.get_closest_marker("unoptimized") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        # Of processes, and of targets that tests of this one name.
        patch.setenv("RELAX_MLIR_TARGET", "llvm -O=0")
        patch.setattr(target, "DEFAULT_OPT_LEVEL", 0)
        return (yield)


def pytest_collection_finish() -> None:
    """Keep what thousands of collected tests hold out of each later garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Have all targets optimise as the environment says, and emulate AArch64 where it names that.

    Without tests marked `codegen`, skip those that compile: names do not say everything.
    """
    asked = os.environ.get("RELAX_MLIR_TARGET", "")
    target.DEFAULT_OPT_LEVEL = target.Target(asked or "llvm").opt_level
    if "aarch64" in asked and platform.machine() != "aarch64":
        from aarch64 import emulated

        emulation = emulated()
        emulation.__enter__()
        config.add_cleanup(lambda: emulation.__exit__(None, None, None))
    if WITHOUT_CODEGEN in config.option.markexpr:
        from relax_mlir.lowering.codegen import native

        def refuse(*_: object) -> None:
            pytest.skip("compiles native code", allow_module_level=True)

        native._lower = refuse
