"""Random programs of many dtypes, exact to the last bit, with each buffer beside guarded pages."""

import numpy as np
import pytest
from guard_pages import guarded
from random_kernels import RandomKernels
from targets import with_threads

from relax_mlir import relax
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.runtime.native import loader
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

_PROGRAMS = 6


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("batch", range(3))
def test_exact(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    load = loader.load_objects
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    monkeypatch.setattr(
        loader, "load_objects", lambda them: {n: guarded(f) for n, f in load(them).items()}
    )
    programs = [RandomKernels(batch * _PROGRAMS + i) for i in range(_PROGRAMS)]
    functions = [program.text(f"f{i}") for i, program in enumerate(programs)]
    functions += [p.text(f"static{i}", p.envs[-1]) for i, p in enumerate(programs)]
    module = from_source("@I.ir_module\nclass Module:\n" + "\n".join(functions))
    vm = relax.VirtualMachine(relax.build(module, with_threads(2)))
    for i, program in enumerate(programs):
        for env in program.envs:
            arguments = program.arguments(env)
            wanted = program.reference(arguments)
            for name in ("f", "static")[: 2 if env is program.envs[-1] else 1]:
                results = vm[f"{name}{i}"](*arguments)
                for got, want in zip(results, wanted, strict=True):
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got, want, err_msg=program.text(str(env)))
