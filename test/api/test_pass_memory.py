"""A process that compiles one module after the other does not grow (issue 3)."""

import subprocess
import sys
from pathlib import Path

import pytest

# In a process of its own: what other tests did to the allocator is none of this.
PROGRAM = """
import ctypes, gc, sys
import numpy as np
sys.path.insert(0, {support!r})
from programs import Program
from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.instrument.statistics import resident_bytes

WEIGHTS = {weights}

def compile_one(i):
    made = Program()
    made.op(f"add{{i}}", "add", ((i + 1, f"n{{i}}"),), ((i + 1, f"n{{i}}"),))
    made.op(f"exp{{i}}", "exp", ((i + 3, 7),))
    mod = IRModule(made.module)
    if WEIGHTS:
        with mod.context, ir.Location.unknown():
            weights = constant_attribute(np.random.rand(WEIGHTS))
            mod.mlir_module.operation.attributes["test.weights"] = weights
            return mod
    return relax.build(mod)

def measure():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_bytes()

kept = None
for i in range({warm}):
    kept = compile_one(i)
before = measure()
for i in range({warm}, {warm} + {count}):
    kept = compile_one(i)
print((measure() - before) / 2**20)
"""


def growth(**values) -> float:
    """Return by how many MiB a process grows while it compiles `count` modules after `warm`."""
    support = str(Path(__file__).parent.parent / "support")
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(support=support, **values)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return float(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_compilations_leave_nothing_behind():
    # Before the two leaks in what carries LLVM were found it was 16 MiB.
    assert growth(weights=0, warm=40, count=100) < 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_weights_go_with_their_modules():
    # 200 modules of 4 MiB each; a context is given up after 64 MiB.
    assert growth(weights=1 << 19, warm=40, count=200) < 100
