"""Ctrl-C is Ctrl-C wherever it arrives: in a callback of MLIR's and while MLIR is imported."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from relax_mlir import relax
from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.registry import register_pass, unregister_pass
from relax_mlir.tools.relax_opt import __main__ as relax_opt
from relax_mlir.transform import module_pass

TEXT = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.function} {
  return %x : tensor<2xf32>
}
"""
# Interrupts the first import at the tenth call of a function of MLIR's, then imports again.
IMPORT = f"""
import signal, sys

def interrupt(frame, event, value):
    if event == "call" and frame.f_code.co_name == sys.argv[1]:
        calls.append(frame)
        if len(calls) == 10:
            signal.raise_signal(signal.SIGINT)

calls = []
sys.setprofile(interrupt)
try:
    from relax_mlir.dialects.context import make_context
    make_context()
except KeyboardInterrupt:
    print("interrupted")
sys.setprofile(None)
from relax_mlir import relax
from relax_mlir.ir.module import IRModule
relax.build(IRModule.parse({TEXT!r}))
print("built")
"""


@pytest.fixture(autouse=True)
def _ctrl_c():
    # Shells start what runs in the background with the signal ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(op):
    signal.raise_signal(signal.SIGINT)
    return ir.WalkResult.ADVANCE


def walks(*, nested=False, wrapped=False):
    """Return a pass that is interrupted while it walks over the module."""

    def outer(op):
        op.walk(interrupt)
        return ir.WalkResult.ADVANCE

    def run(mod, ctx):
        try:
            mod.mlir_module.operation.walk(outer if nested else interrupt)
        except Exception as error:
            if wrapped:
                raise PassError("Walks", "something went wrong") from error
            raise
        return mod

    return module_pass(run, opt_level=0, name="Walks")


@pytest.mark.parametrize("how", [{}, {"nested": True}, {"wrapped": True}])
def test_in_the_callback_of_a_pass(how):
    with pytest.raises(KeyboardInterrupt):
        walks(**how)(IRModule.parse(TEXT))


def test_other_exceptions_in_a_callback_stay():
    def run(mod, ctx):
        mod.mlir_module.operation.walk(lambda op: 1 / 0)

    with pytest.raises(PassError, match="ZeroDivisionError"):
        module_pass(run, opt_level=0, name="Divides")(IRModule.parse(TEXT))


def test_in_a_build(monkeypatch):
    def codegen(module, builder):
        module.operation.walk(interrupt)

    monkeypatch.setattr("relax_mlir.compiler.pipeline.codegen_vm", codegen)
    with pytest.raises(KeyboardInterrupt):
        relax.build(IRModule.parse(TEXT))


def test_in_relax_opt(tmp_path):
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    register_pass("Walks", walks)
    try:
        assert relax_opt.main(["--walks", str(path)]) == 130
    finally:
        unregister_pass("Walks")


# While MLIR's own modules are imported, our classes are made, and the dialects are loaded.
@pytest.mark.parametrize("call", ["register_attribute_builder", "param_kind", "_emit_operation"])
@pytest.mark.slow
def test_while_mlir_is_imported(call):
    command = [sys.executable, "-c", IMPORT, call]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("interrupted\nbuilt\n", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_imports_off_the_main_thread_leave_signals_alone():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(submodule, "dialects.scf").result().__name__.endswith("dialects.scf")
