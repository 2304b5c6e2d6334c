"""`script.ir_builder`: programs as frames, beside the same by `BlockBuilder`."""

import importlib
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, tir, topi
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir import DummyGlobalInfo, IRModule, assert_structural_equal
from relax_mlir.relax.ir_builder import IRBuilder
from relax_mlir.relax.ir_builder import ir as I
from relax_mlir.relax.ir_builder import relax as R
from relax_mlir.script import relax as S

F32 = relax.TensorType(("n", 4), "float32")


def test_a_function_is_that_of_the_block_builder() -> None:
    with IRBuilder() as ib, R.function():
        R.func_name("foo")
        R.func_attr({"Primitive": True})
        x = R.arg("x", F32)
        R.func_ret_ty(relax.TensorType(dtype="float32", ndim=2))
        with R.dataflow() as block:
            first, second = IRBuilder.name_many(("a", "b"), (R.emit(R.exp(x)), R.emit(R.add(x, x))))
            assert (first.name, second.name) == ("a", "b")
            R.output(first, second)
        made = IRBuilder.name("made", R.emit(R.add(*block.output_vars)))
        R.func_ret_value(made)
    bb = relax.BlockBuilder()
    y = relax.Var("y", F32)
    with bb.function("foo", [y], attrs={"Primitive": True}):
        with bb.dataflow():
            outputs = [bb.emit_output(each) for each in (relax.op.exp(y), relax.op.add(y, y))]
        bb.emit_func_output(bb.emit(relax.op.add(*outputs)))
    assert_structural_equal(ib.get(), bb.get()["foo"])
    assert ib.get().params[0].name == "x"
    assert ib.get().body.body.name == "made"
    assert [each.var.name for each in ib.get().body.blocks[0].bindings] == ["a", "b"]


def test_the_r_of_scripts_writes_in_frames_and_parameters_may_come_late() -> None:
    with IRBuilder() as ib, R.function():
        S.func_name("foo")
        x = S.arg("x", S.Tensor(("n", 4), "float32"))
        with S.dataflow() as block:
            S.output(S.emit(S.exp(x)))
        y = S.arg("y", S.Tensor((4,), "float32"))
        total = S.emit_with_ty("relax.add", [block.output_vars[0], y])
        S.func_ret_value(S.emit_te(topi.nn.relu, S.emit(total)))
    assert [each.name for each in ib.get().params] == ["x", "y"]
    given = np.arange(8, dtype="float32").reshape(2, 4) - 4
    got = relax.VirtualMachine(relax.build(ib.builder.get()))["foo"](given, given[0])
    np.testing.assert_allclose(got, np.maximum(np.exp(given) + given[0], 0), rtol=1e-6)
    with pytest.raises(ValueError, match="no IRBuilder is open"):
        S.func_name("foo")


def test_a_module_of_functions_runs() -> None:
    with IRBuilder() as ib, I.ir_module():
        with R.function(is_private=True):
            R.func_name("twice")
            x = R.arg("x", F32)
            R.func_ret_value(R.emit(R.add(x, x)))
        with R.function(is_pure=True):
            y = R.arg("y", relax.TensorType(ndim=2, dtype="float32"))
            cast = R.emit_match_cast(y, F32)
            v = R.emit_var_binding(relax.VarBinding(relax.Var("v", F32), R.exp(cast)))
            R.func_ret_value(R.emit(relax.GlobalVar("twice")(v), F32))
    assert ib.get().function_names == ["twice", "main"]
    given = np.arange(12, dtype="float32").reshape(3, 4)
    got = relax.VirtualMachine(relax.build(ib.get()))["main"](given)
    np.testing.assert_allclose(got, 2 * np.exp(given), rtol=1e-6)


def test_builders_are_nested() -> None:
    with pytest.raises(ValueError, match="no IRBuilder is open"):
        IRBuilder.current()
    with IRBuilder() as outer:
        with IRBuilder() as inner, I.ir_module():
            assert IRBuilder.current() is inner
        assert IRBuilder.current() is outer
    assert not IRBuilder.is_in_scope()
    assert_structural_equal(inner.get(), IRModule(None, None))
    with pytest.raises(BuilderError, match="no frame of this IRBuilder has ended"):
        outer.get()


def _late_name() -> None:
    R.emit(relax.const(1.0))
    R.func_name("late")


def _other_type() -> None:
    R.func_ret_ty(relax.TensorType(dtype="int32", ndim=0))
    R.func_ret_value(relax.const(1.0))


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (_late_name, BuilderError, "stand in front of its bindings"),
        (_other_type, BuilderError, "is declared to return .*int32.*, got .*float32"),
        (lambda: None, BuilderError, "ends without its output"),
        (lambda: R.output(relax.Var("x")), BuilderError, "belongs in a dataflow block"),
        (lambda: IRBuilder.name("x", relax.const(1)), ExprTypeError, "only a variable"),
        (lambda: R.no_such_operation, AttributeError, "no_such_operation"),
    ],
)
def test_errors(body: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message), IRBuilder(), R.function():
        body()
    assert not IRBuilder.is_in_scope()
    with pytest.raises(BuilderError, match="belongs in a function"), IRBuilder():
        R.func_name("x")


def test_modules_take_attributes_and_data() -> None:
    info = DummyGlobalInfo()
    made = IRModule({}, {"kind": "model"}, {"infos": [info]})
    assert made.attrs["kind"] == "model"
    assert list(made.global_infos) == ["infos"]


@pytest.mark.parametrize(
    ("name", "own"),
    [("tirx.stmt", "tir.stmt"), ("script.ir_builder.base", "relax.ir_builder.base")],
)
def test_modules_under_names_of_tvm_are_no_copies(name: str, own: str) -> None:
    found = importlib.import_module(f"relax_mlir.{name}")
    assert found is importlib.import_module(f"relax_mlir.{own}")
    assert tvm.tirx.Var is tir.Var
