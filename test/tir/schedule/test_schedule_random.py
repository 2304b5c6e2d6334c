"""Random traces of primitives keep what programs compute, and replay to the same program."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_moves import scheduled
from scheduled_programs import PROGRAMS, Program
from schedules import replays, results, stays_inside

from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@settings(max_examples=3)
@given(seed=st.integers(1, 1 << 30))
def test_random_traces(program: Program, seed: int) -> None:
    check(program, seed)


def check(program: Program, seed: int) -> None:
    module = program.module
    sch = Schedule(module, seed=seed, debug_mask="all", error_render_level="fast")
    scheduled(sch, Random(seed), 10)
    mod = sch.mod
    inputs = program.inputs()
    want = program.want(*inputs)
    if seed % 2:
        got = stays_inside(mod, inputs, program.shapes[-1])
    else:
        got = results(mod, inputs, program.shapes[-1], "main")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=str(sch.trace))
    assert_structural_equal(from_source(mod.script()), mod)
    replays(sch, module)
