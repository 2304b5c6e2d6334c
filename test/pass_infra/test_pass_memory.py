"""A process that compiles one module after the other does not grow (issue 3)."""

import subprocess
import sys
from pathlib import Path

import pytest

from relax_mlir.dialects.context import MAX_USES

pytestmark = pytest.mark.slow
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# In a process of its own: what other tests did to the allocator is none of this.
PROGRAM = """
import ctypes, gc, sys
import numpy as np
sys.path.insert(0, {support!r})
from programs import Program
from relax_mlir import IRModule, relax
from relax_mlir.dialects import context as contexts
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_attribute
from relax_mlir.instrument.statistics import resident_bytes
from relax_mlir.script import relax as R

def build(i):
    made = Program()
    made.op(f"add{{i}}", "add", ((i + 1, f"n{{i}}"),), ((i + 1, f"n{{i}}"),))
    made.op(f"exp{{i}}", "exp", ((i + 3, 7),))
    return relax.build(IRModule(made.module))

def transform(i):
    # Nothing in it was in any module before: that is what a context does not give back.
    types = [f"tensor<{{i + 1}}x{{k + 1}}xf32>" for k in range(100)]
    lines = [f'%y{{k}} = "relax.exp"(%x{{k}}) : ({{t}}) -> {{t}}' for k, t in enumerate(types)]
    arguments = ", ".join(f"%x{{k}}: {{t}}" for k, t in enumerate(types))
    return relax.transform.DeadCodeElimination()(IRModule.parse(
        f"func.func @main{{i}}({{arguments}}) -> {{types[-1]}} attributes {{{{relax.function}}}} "
        "{{\\n" + "\\n".join(lines) + f"\\nreturn %y99 : {{types[-1]}}\\n}}}}"
    ))

def weights(i):
    mod = IRModule.parse("module {{}}")
    with mod.context, ir.Location.unknown():
        attribute = constant_attribute(np.random.rand(1 << 19))
        mod.mlir_module.operation.attributes["test.weights"] = attribute
    return mod

WIDE = None

def same(i):
    # Panels of 8 MiB at every build.
    global WIDE
    if WIDE is None:
        x = relax.Var("x", R.Tensor((4, 2048), "float32"))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            weight = relax.const(np.random.rand(2048, 1024).astype("float32"))
            builder.emit_func_output(builder.emit(relax.op.matmul(x, weight)))
        WIDE = builder.get()
    return relax.build(WIDE)

def measure():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_bytes()

contexts.MAX_USES = {uses}
held = [{what}(10000 + i) for i in range({held})]
kept = None
for i in range({warm}):
    kept = {what}(i)
before = measure()
for i in range({warm}, {warm} + {count}):
    kept = {what}(i)
print((measure() - before) / 2**20)
"""


def growth(what: str, *, warm: int, count: int, held: int = 0, uses: int = MAX_USES) -> float:
    """Return by how many MiB a process grows while it makes `count` modules after `warm`.

    Args:
        what: a function of PROGRAM; the last thing it returned is kept.
        warm: how often it is called first.
        count: how often then.
        held: how many more things are made first and kept all the time.
        uses: when a context is given up.
    """
    support = str(Path(__file__).parents[1] / "support")
    settings = {"what": what, "warm": warm, "count": count, "held": held, "uses": uses}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(support=support, **settings)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return float(run.stdout)


@on_linux
def test_compilations_leave_nothing_behind():
    # Before the two leaks in what carries LLVM were found it was 16 MiB.
    assert growth("build", warm=30, count=70) < 5


@on_linux
@pytest.mark.parametrize("held", [0, 2, 10])
def test_modules_that_are_kept_keep_nothing_else(held):
    assert growth("transform", warm=150, count=300, held=held) < 2


@on_linux
def test_it_is_giving_up_contexts_that_helps():
    assert growth("transform", warm=150, count=300, held=2, uses=10**6) > 3


@on_linux
def test_panels_go_with_the_executables_of_one_module():
    # 12 builds that pack 8 MiB each; the first eight share the module's context.
    assert growth("same", warm=10, count=12) < 24


@on_linux
def test_weights_go_with_their_modules():
    # 200 modules of 4 MiB each; a context is given up after 64 MiB.
    assert growth("weights", warm=40, count=200) < 100
