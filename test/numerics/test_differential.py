"""Random programs mean the same compiled, with passes on and off, as in a plain interpreter.

`RELAX_MLIR_PROGRAMS=20000` tries so many programs instead, other ones each time.
"""

import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from random_programs import DOUBLE, HELPERS, arguments, program
from reference import Reference

from relax_mlir import register_func, relax, transform
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

_ASKED = os.environ.get("RELAX_MLIR_PROGRAMS")
_SHARDS, _FUNCTIONS = 10, 12
# As many as CI has minutes for.
_MODULES = max(1, int(_ASKED or 240) // (_SHARDS * _FUNCTIONS))
_OPTIMISATIONS = (
    "CanonicalizeBindings", "FoldScaleAxis", "AlterOpLayout", "FoldConstant",
    "EliminateCommonSubexpr", "FuseKernels", "OutlineNative", "InferType", "StaticPlanBlockMemory",
)  # fmt: skip
# Ours and upstream's that a user may run before a build, in any order.
_PASSES = (
    "alter-op-layout", "canonicalize-bindings", "convert-to-dataflow", "dead-code-elimination",
    "eliminate-common-subexpr", "fold-constant", "fold-scale-axis", "infer-type", "lambda-lift",
    "normalize", "refine-shapes-backward", "simplify-inference", "cse", "canonicalize",
    "legalize-ops", "fuse-kernels", "outline-native",
)  # fmt: skip
# Symbols n and m, and the condition that the branches take.
_INPUTS = ((3, 2, True), (0, 5, False), (17, 1, True), (1, 7, False))

steps = st.tuples(st.integers(0, 999), st.integers(0, 999), st.integers(0, 999))
functions = st.lists(
    st.lists(steps, min_size=1, max_size=12), min_size=_FUNCTIONS, max_size=_FUNCTIONS
)


@register_func(DOUBLE, override=True)
def double_in_place(x):
    x *= 2
    return x


PACKED = {"bump": lambda shape, x: x * np.float32(0.5) + np.float32(1), DOUBLE: double_in_place}


def _compare(module: IRModule, executable: relax.Executable, what: str) -> None:
    machine, reference = relax.VirtualMachine(executable), Reference(module, PACKED)
    for n, m, flag in _INPUTS:
        given = arguments(n, m, flag)
        for name in module.function_names:
            if name in HELPERS:
                continue
            found = machine[name](*given)
            for position, (got, want) in enumerate(
                zip(found, reference(name, *given), strict=True)
            ):
                got = np.asarray(got)
                where = f"{what}: {name}, result {position}, n={n}, m={m}, flag={flag}"
                assert (got.shape, got.dtype) == (want.shape, want.dtype), where
                if want.dtype.kind == "f":
                    # Every step rounds to float32, so errors are relative to the largest number.
                    scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
                    np.testing.assert_allclose(
                        got, want, rtol=1e-4, atol=1e-5 * scale, err_msg=where
                    )
                else:
                    np.testing.assert_array_equal(got, want, err_msg=where)


@pytest.mark.parametrize("shard", range(_SHARDS))
def test_compiled_programs_agree_with_the_interpreter(shard):
    @settings(
        max_examples=_MODULES,
        deadline=None,
        derandomize=_ASKED is None,
        print_blob=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(functions, st.integers(0, 10**6))
    def check(steps, choice):
        source = program(steps)
        note(source)
        module = from_source(source)
        disabled = [_OPTIMISATIONS[choice % len(_OPTIMISATIONS)]]
        if choice % 3 == 0:
            disabled = [name for i, name in enumerate(_OPTIMISATIONS) if choice >> i & 1]
        # LLVM's own optimiser is tried on few: it takes most of the time and is not ours.
        level = 3 if choice % 10 == 0 else 0
        with transform.PassContext(opt_level=3, instruments=[], disabled_pass=disabled):
            executable = relax.build(module, f"llvm -O={level}")
        _compare(module, executable, f"without {disabled}")
        rng = random.Random(choice)
        flags = rng.sample(_PASSES, rng.randrange(len(_PASSES)))
        with transform.PassContext(opt_level=(0, 2, 3)[choice % 3]):
            changed = transform.Sequential.parse(f"builtin.module({','.join(flags)})")(module)
            executable = relax.build(changed, "llvm -O=0")
        _compare(module, executable, f"opt_level {(0, 2, 3)[choice % 3]} after {','.join(flags)}")

    # Different programs in every shard, the same ones in every run.
    (seed(shard)(check) if _ASKED is None else check)()


def test_the_pipeline_has_the_optimisations():
    assert set(_OPTIMISATIONS) <= set(DEFAULT_PIPELINE)
