"""Passes run the same with and without the GIL, and say what is wrong."""

import pytest

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.c_library import own, run_passes, translate

SOURCE = """
llvm.func @f(%x: i32) -> i32 {
  %sum = llvm.add %x, %x : i32
  llvm.return %sum : i32
}"""


@pytest.mark.parametrize("owned", [False, True])
def test_errors_of_passes(owned: bool) -> None:
    context = make_context()
    if owned:
        own(context)
    with context, ir.Location.file("program.py", 3, 4):
        module = ir.Module.parse(SOURCE)
        manager = passmanager.PassManager.parse("builtin.module(canonicalize)")
        assert run_passes(manager, module.operation) == []
        assert "add i32" in translate(module.operation)
        # Any operation of the file: the verifier is asked before the passes run.
        function = module.body.operations[0].operation
        function.attributes["sym_name"] = ir.UnitAttr.get()
        (error,) = run_passes(manager, module.operation)
    assert "sym_name" in error
