"""Programs that schedules are tried on, run as native code beside numpy."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernels import run as run_kernel
from scheduled_programs import HEAD, Program

from relax_mlir import tir
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ScheduleError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen.native import compile_module
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_tir
from relax_mlir.lowering.tir_to_vector.storage_align import align_storage
from relax_mlir.runtime.native.loader import load_objects
from relax_mlir.runtime.program import NativeObject
from relax_mlir.script import from_source
from relax_mlir.tir.schedule import Schedule, Trace
from relax_mlir.tir.transform import InstrumentBoundCheckers


def compiled(mod: IRModule) -> dict[str, Any]:
    """Return the functions of a module of prim funcs as native code; the module stays."""
    with lock_of(mod.context), mod.context, ir.Location.unknown():
        module = mod.clone().mlir_module
        target = Target.default().serial()
        lower_tir(module.operation, target=str(target))
        code = compile_module(module, target)
    return load_objects([NativeObject("test", code.object, code.symbols)])


def stored(mod: IRModule) -> str:
    """Return a module of prim funcs with the buffers that its blocks ask for, as text."""
    with lock_of(mod.context), mod.context, ir.Location.unknown():
        module = mod.clone().mlir_module
        for view in module.body.operations:
            align_storage(view)
        return str(module)


def results(
    mod: IRModule,
    inputs: list[np.ndarray],
    shape: tuple[int, ...],
    name: str,
    dtype: str = "float32",
) -> Any:
    """Run a prim func, whose last parameter is what it writes, between canaries."""
    return run_kernel(compiled(mod)[name], inputs, shape, dtype)


def stays_inside(mod: IRModule, inputs: list[np.ndarray], shape: tuple[int, ...]) -> Any:
    """Run a prim func of which every access is checked: none may leave its buffer."""
    return results(InstrumentBoundCheckers()(mod), inputs, shape, "main")


def replays(sch: Schedule, mod: IRModule) -> None:
    """Check that the trace makes the same program of a fresh module, in each of its forms."""
    assert sch.trace is not None
    json_text = json.dumps(sch.trace.as_json())
    forms = {
        "trace": sch.trace,
        "JSON": Trace.from_json(json.loads(json_text)),
        "MLIR": Trace.from_mlir(sch.trace.as_mlir()),
    }
    for name, trace in forms.items():
        other = Schedule(mod)
        trace.apply_to_schedule(other)
        assert_structural_equal(other.mod, sch.mod)
        assert other.trace is not None
        assert other.trace.as_python() == sch.trace.as_python(), name
    other = Schedule(mod)
    namespace: dict[str, Any] = {"tir": tir}
    exec(str(sch.trace), namespace)
    namespace["apply_trace"](other)
    assert_structural_equal(other.mod, sch.mod)


def runs(sch: Schedule, program: Program) -> None:
    """Check that a schedule gives numpy's numbers, prints, and that its trace makes it again."""
    inputs = program.inputs()
    got = results(sch.mod, inputs, program.shapes[-1], "main")
    np.testing.assert_allclose(got, program.want(*inputs), rtol=1e-4, atol=1e-5)
    replays(sch, program.module)
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def becomes(sch: Schedule, text: str) -> None:
    """Check that a schedule's program is that of a script."""
    assert_structural_equal(sch.mod, from_source(HEAD + text))


def refused(sch: Schedule, step: Callable[[], Any], why: str) -> str:
    """Check that a primitive is refused with this reason and leaves everything as it was."""
    before, text = sch.mod, str(sch.trace)
    with pytest.raises(ScheduleError, match=why) as caught:
        step()
    assert_structural_equal(sch.mod, before)
    # What a step looks up first is in the trace; what failed is not.
    assert str(sch.trace).startswith(text.rstrip("\n").removesuffix("    pass"))
    return str(caught.value)
