"""The design documents' examples of passes, with their outputs checked."""

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.instrument import pass_instrument
from relax_mlir.ir.module import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.transform import PassContext


@I.ir_module
class Example:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            one = R.const(1.0, "float32")
            two = R.add(one, one)
            a = R.multiply(x, two)
            b = R.multiply(x, two)
            c = R.add(a, b)
            R.output(c)
        return c


@pytest.fixture
def mod() -> IRModule:
    return Example


def count(mod, name):
    return str(mod).count(f'"relax.{name}"(')


def run(mod, x):
    return relax.VirtualMachine(relax.build(mod))["main"](x)


def test_p19_module_pass_that_adds_abs():
    @transform.module_pass(opt_level=2)
    def transform_(mod, ctx):
        @I.ir_module
        class New:
            @R.function
            def abs(x: R.Tensor((10,), "float32")):
                return R.abs(x)

        new_mod = New
        new_mod.update(mod)
        return new_mod

    module_pass = transform_
    assert isinstance(module_pass, transform.ModulePass)
    assert module_pass.info.opt_level == 2

    # Applied to an empty module, and to one that has functions.
    mod = module_pass(IRModule.parse("module {}"))
    assert mod.function_names == ["abs"]
    x = np.linspace(-1, 1, 10, dtype="float32")
    np.testing.assert_array_equal(relax.VirtualMachine(relax.build(mod))["abs"](x), abs(x))
    assert module_pass(Example).function_names == ["abs", "main"]
    assert Example.function_names == ["main"]


def test_p19_test_replace_func(mod):
    @I.ir_module
    class Other:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            return R.negative(x)

    @transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        """Replaces every function by the one it was made with."""

        def __init__(self, new_func):
            self.new_func = new_func

        def transform_function(self, func, mod, ctx):
            return ir.Operation.parse(self.new_func)

    fpass = TestReplaceFunc(str(Other["main"].mlir_op))
    assert fpass.info.name == "TestReplaceFunc"
    updated = fpass(mod)
    assert count(updated, "negative") == 1
    assert count(updated, "multiply") == 0
    x = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(run(updated, x), -x)


def passes():
    return transform.Sequential(
        [
            relax.transform.InferType(),
            relax.transform.FoldConstant(),
            relax.transform.EliminateCommonSubexpr(),
            relax.transform.AlterOpLayout(),
        ]
    )


def test_p19_the_pipeline_at_level_three(mod):
    with transform.build_config(opt_level=3):
        out = passes()(mod)
    assert (count(out, "add"), count(out, "multiply")) == (1, 1)
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(run(out, x), 4 * x)
    np.testing.assert_array_equal(run(mod, x), 4 * x)


def test_p19_the_pipeline_with_a_pass_disabled(mod):
    with transform.build_config(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        out = passes()(mod)
    assert (count(out, "add"), count(out, "multiply")) == (1, 2)


def test_p19_the_pipeline_at_the_default_level(mod):
    # EliminateCommonSubexpr and AlterOpLayout are of level 3.
    out = passes()(mod)
    assert (count(out, "add"), count(out, "multiply")) == (1, 2)


def test_p19_the_twin_of_cpp(mod):
    seq = transform.Sequential(
        [
            relax.transform.InferType(),
            relax.transform.DeadCodeElimination(),
            relax.transform.EliminateCommonSubexpr(),
            relax.transform.AlterOpLayout(),
        ]
    )
    ctx = PassContext.create()
    ctx.opt_level = 3
    assert ctx.fallback_device == 1
    with ctx:
        out = seq(mod)
    assert count(out, "multiply") == 1


def test_p13_a_pass_applied_directly(mod):
    assert count(relax.transform.FoldConstant()(mod), "add") == 1
    assert count(mod, "add") == 2


def test_p20_fold_scale_axis_is_its_two_directions():
    both = relax.transform.FoldScaleAxis()
    assert isinstance(both, transform.Sequential)
    assert [each.info.name for each in both.passes] == [
        "BackwardFoldScaleAxis",
        "ForwardFoldScaleAxis",
    ]
    seen = []

    @pass_instrument
    class Names:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with PassContext(opt_level=3, instruments=[Names()]):
        transform.Sequential([both])(Example)
    assert seen == ["sequential", "FoldScaleAxis", "BackwardFoldScaleAxis", "ForwardFoldScaleAxis"]


def test_p21_print_ir_in_the_middle(mod, capsys):
    seq = transform.Sequential(
        [
            relax.transform.FoldConstant(),
            transform.PrintIR(),
            relax.transform.EliminateCommonSubexpr(),
            relax.transform.AlterOpLayout(),
        ]
    )
    with transform.build_config(opt_level=3):
        seq(mod)
    printed = capsys.readouterr().err
    assert printed.startswith("PrintIR():\n")
    # After FoldConstant, before EliminateCommonSubexpr.
    assert (printed.count('"relax.add"('), printed.count('"relax.multiply"(')) == (1, 2)


def test_p34_instruments_of_the_global_context(mod):
    @pass_instrument
    class Times:
        def __init__(self):
            self.log = []

        def enter_pass_ctx(self):
            self.log.append("enter")

        def run_after_pass(self, mod, info):
            self.log.append(info.name)

        def exit_pass_ctx(self):
            self.log.append("exit")

        def get_result(self):
            return self.log

    pass_inst = Times()
    cur_pass_ctx = PassContext.current()
    cur_pass_ctx.override_instruments([pass_inst])
    try:
        transform.Sequential([relax.transform.FoldConstant()])(mod)
        assert pass_inst.get_result() == ["enter", "FoldConstant", "sequential"]
    finally:
        cur_pass_ctx.override_instruments([])
    assert pass_inst.get_result()[-1] == "exit"
    assert PassContext.current().instruments == []


def test_p16_the_registered_name(mod):
    fold = transform.get_pass("relax.transform.FoldConstant")
    assert fold.info.name == "FoldConstant"
    assert fold.info.required == ()
    assert str(fold(mod)) == str(transform.FoldConstant()(mod))
