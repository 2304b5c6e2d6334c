"""The samples of the guide to the pass infrastructure and of the RFC that proposed it.

C++ samples are the same calls in Python.
"""

import numpy as np
import pytest

from relax_mlir import instrument, ir, relax, target, transform
from relax_mlir.contrib import relay
from relax_mlir.ir.module import IRModule
from relax_mlir.runtime.registry import get_global_func


def test_a_module_pass_adds_a_function() -> None:
    @relay.transform.module_pass(opt_level=2)
    def add_abs(mod, ctx):
        tp = relay.TensorType((10,), "float32")
        x = relay.var("x", tp)
        gv = relay.GlobalVar("abs")
        func = relay.Function([x], relay.abs(x))
        new_mod = relay.Module({gv: func})
        new_mod.update(mod)
        return new_mod

    module_pass = add_abs
    assert isinstance(module_pass, transform.ModulePass)
    assert module_pass.info.opt_level == 2
    mod = relay.Module()
    mod = module_pass(mod)
    assert [gv.name_hint for gv in mod.get_global_vars()] == ["abs"]
    x = np.linspace(-1, 1, 10, dtype="f4")
    np.testing.assert_array_equal(relax.VirtualMachine(relax.build(mod))["abs"](x), np.abs(x))


def test_a_function_pass_replaces_every_function() -> None:
    @relay.transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        def __init__(self, new_func):
            self.new_func = new_func

        def transform_function(self, func, mod, ctx):
            # Just for demo purposes
            # Transform func to new_func
            return self.new_func

    x = relay.var("x", shape=(10, 20))
    f1 = relay.Function([x], x)
    f2 = relay.Function([x], relay.log(x))
    input_mod = relay.Module({"main": f2, "other": relay.Function([x], relay.exp(x))})
    fpass = TestReplaceFunc(f1)
    assert fpass.info.name == "TestReplaceFunc"
    res_mod = fpass(input_mod)
    x = np.ones((10, 20), "f4")
    vm = relax.VirtualMachine(relax.build(res_mod))
    for name in ("main", "other"):
        np.testing.assert_array_equal(vm[name](x), x)


@pytest.fixture
def module() -> IRModule:
    # y = f(x) twice, with something that is not used: each of the passes has work.
    x = relax.Var("x", relax.TensorType((4, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            bb.emit(relax.op.exp(x))
            two = bb.emit(relax.op.add(relax.const(1.0), relax.const(1.0)))
            a = bb.emit(relax.op.multiply(x, two))
            b = bb.emit(relax.op.multiply(x, two))
            y = bb.emit_output(relax.op.add(a, b))
        bb.emit_func_output(y)
    return bb.get()


def test_a_sequential_under_a_build_config(capfd: pytest.CaptureFixture[str]) -> None:
    # Create a simple Relay program.
    shape = (1, 2, 3)
    c_data = np.array(shape).astype("float32")
    tp = relay.TensorType(shape, "float32")
    c = relay.const(c_data)
    x = relay.var("x", tp)
    y = relay.add(c, c)
    y = relay.multiply(y, relay.const(2, "float32"))
    y = relay.add(x, y)
    z = relay.add(y, c)
    z1 = relay.add(y, c)
    z2 = relay.add(z, z1)
    func = relay.Function([x], z2)
    # Customize the optimization pipeline.
    seq = transform.Sequential([
        relay.transform.InferType(),
        relay.transform.FoldConstant(),
        relay.transform.PrintIR(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.AlterOpLayout()
    ])  # fmt: skip
    # Create a module to perform optimizations.
    mod = relay.Module({"main": func})
    given = np.arange(6, dtype="f4").reshape(shape)
    expected = 2 * (given + 5 * c_data)
    for disabled, adds in (([], 3), (["EliminateCommonSubexpr"], 4)):
        with relay.build_config(opt_level=3, disabled_pass=disabled), target.create("llvm"):
            optimized = seq(mod)
        printed = "".join(capfd.readouterr())
        assert "relax.multiply" not in printed.replace("R.", "relax.")
        text = optimized.script()
        assert text.count("R.add") == adds
        assert "R.multiply" not in text
        main = relax.VirtualMachine(relax.build(optimized))["main"]
        np.testing.assert_allclose(main(given), expected)


def test_a_sequential_in_a_context_of_ones_own() -> None:
    tensor_type = relay.TensorType((), "bool")
    x = relay.var("x")
    f = relay.Function([x], x)
    y = relay.var("y", tensor_type)
    call = relay.Call(f, [y])
    fx = relay.Function([y], call)
    # Create a module for optimization.
    mod = relay.Module.FromExpr(fx)
    pass_seqs = [
        relay.transform.InferType(),
        relay.transform.DeadCodeElimination(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.AlterOpLayout(),
    ]
    seq = relay.transform.Sequential(pass_seqs)
    # Create a pass context for the optimization.
    ctx = relay.transform.PassContext.Create()
    ctx.opt_level = 2
    ctx.fallback_device = 1
    with ctx:
        mod = seq(mod)
    assert 'y: R.Tensor((), dtype="bool")' in relay.AsText(mod)
    assert relax.VirtualMachine(relax.build(mod))["main"](np.array(True)) == True  # noqa: E712


def test_a_pass_is_a_packed_function_under_its_name(module: IRModule) -> None:
    fold = get_global_func("relax.transform.FoldConstant")()
    assert fold.info.name == "FoldConstant"
    assert fold(module).script().count("R.add") == 1

    def pass_func(func, mod, ctx):
        return func

    made = transform.CreateFunctionPass(pass_func, 0, "Nothing", [])
    assert transform.GetPass("FoldConstant").info == fold.info
    assert ir.structural_equal(made(module), module)
    with pytest.raises(Exception, match="Found undefined pass for optimization"):
        transform.Sequential([None])(module)


def test_instruments_see_each_pass_in_order(module: IRModule) -> None:
    seen = []

    @instrument.pass_instrument
    class Watch:
        def enter_pass_ctx(self):
            seen.append("enter")

        def exit_pass_ctx(self):
            seen.append("exit")

        def should_run(self, mod, info):
            seen.append(f"should run {info.name}")
            return info.name != "FoldConstant"

        def run_before_pass(self, mod, info):
            seen.append(f"before {info.name}")

        def run_after_pass(self, mod, info):
            seen.append(f"after {info.name}")

    with transform.PassContext(instruments=[Watch()]):
        mod = transform.DeadCodeElimination()(module)
        mod = transform.FoldConstant()(mod)
    assert seen == [
        "enter",
        "should run DeadCodeElimination", "before DeadCodeElimination", "after DeadCodeElimination",
        "should run FoldConstant",
        "exit",
    ]  # fmt: skip
    assert mod.script().count("R.add") == 2


def test_instruments_of_the_current_context_are_replaced(module: IRModule) -> None:
    @instrument.pass_instrument
    class Count:
        def __init__(self):
            self.passes = 0

        def run_after_pass(self, mod, info):
            self.passes += 1

        def get_result(self):
            return self.passes

    cur_pass_ctx = transform.PassContext.current()
    pass_inst = Count()
    cur_pass_ctx.override_instruments([pass_inst])
    try:
        transform.Sequential([transform.FoldConstant(), transform.DeadCodeElimination()])(module)
    finally:
        cur_pass_ctx.override_instruments([])
    assert pass_inst.get_result() == 3


def test_times_are_rendered_as_a_tree(module: IRModule) -> None:
    timing = instrument.PassTimingInstrument()
    with transform.PassContext(instruments=[timing]):
        transform.Sequential([transform.FoldConstant()])(module)
        lines = timing.render().splitlines()
    assert [line.split(":")[0] for line in lines] == ["sequential", "\tFoldConstant"]


def test_options_of_passes_are_registered_with_a_type() -> None:
    with transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}) as ctx:
        assert ctx.config["tir.UnrollLoop"].auto_max_step == 4
    with pytest.raises(AttributeError, match=r"Invalid config option 'tir\.Nothing'"):
        transform.PassContext(config={"tir.Nothing": 1})
