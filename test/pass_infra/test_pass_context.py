"""PassContext and Sequential: their rules, one by one."""

import threading
import warnings

import pytest
import tvm_ffi
from pass_programs import MAIN

import relax_mlir
from relax_mlir import transform
from relax_mlir.errors import PipelineError
from relax_mlir.instrument import pass_instrument
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.registry import register_pass, unregister_pass
from relax_mlir.transform import PassContext, PassInfo, Sequential, module_pass


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(MAIN)


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def make(log):
    """Make passes that write their name to `log`; registered ones are forgotten afterwards."""
    registered = []

    def build(name, opt_level=0, required=None, register=False):
        @module_pass(opt_level=opt_level, name=name, required=required)
        def run(mod, ctx):
            log.append(name)
            return mod

        if register:
            register_pass(name, lambda: run)
            registered.append(name)
        return run

    yield build
    for name in registered:
        unregister_pass(name)


def test_p02_pass_info_has_name_level_and_required(make):
    info = make("A", opt_level=3, required=["B"]).info
    assert (info.name, info.opt_level, list(info.required)) == ("A", 3, ["B"])
    assert not info.traceable
    assert transform.module_pass(lambda mod, ctx: mod, opt_level=0, traceable=True).info.traceable
    assert PassInfo(3, "A") == PassInfo("A", 3)


def test_p03_fields_and_defaults():
    ctx = PassContext()
    assert ctx.opt_level == 2
    assert ctx.required_pass == ctx.disabled_pass == ctx.instruments == []
    assert ctx.config == {}


def test_p03_fallback_device_is_the_cpu():
    assert PassContext().fallback_device == 1
    assert PassContext(fallback_device="cpu").fallback_device == 1
    assert PassContext(fallback_device=relax_mlir.cpu(0)).fallback_device == 1
    assert PassContext(fallback_device=tvm_ffi.device("cpu:0")).fallback_device == 1
    with pytest.raises(ValueError, match="fallback_device must be the CPU"):
        PassContext(fallback_device="cuda")


@pytest.mark.parametrize("names", ["A", [1], {"A": 1}])
def test_p03_pass_lists_are_lists_of_names(names):
    with pytest.raises(TypeError, match="required_pass is expected"):
        PassContext(required_pass=names)


def test_p03_err_reporter_is_the_diagnostic_context():
    ctx = PassContext()
    ctx.err_reporter = transform.DiagnosticContext()
    assert ctx.diag_ctx is ctx.err_reporter is not None


def test_p04_names_of_cpp():
    ctx = PassContext.Create()
    ctx.EnterWithScope()
    assert PassContext.Current() is ctx
    ctx.ExitWithScope()
    assert PassContext.Current() is not ctx
    with pytest.raises(RuntimeError, match="out of order"):
        ctx.ExitWithScope()


def test_p16_passes_are_packed_functions():
    made = relax_mlir.get_global_func("relax.transform.FoldConstant")()
    assert made.info == transform.FoldConstant().info
    assert relax_mlir.get_global_func("relax.transform.FoldConstants", allow_missing=True) is None


def test_p17_orders_of_cpp_and_of_the_rfc():
    fold, tidy = transform.FoldConstant(), transform.DeadCodeElimination()
    assert transform.Sequential([fold], PassInfo("both", 2)).info == PassInfo("both", 2)
    made = transform.CreateModulePass("Mine", 1, lambda mod, ctx: mod)
    assert made.info == PassInfo("Mine", 1)
    less = transform.CreateSequentialPass("less", 1, [fold, tidy], ["FoldConstant"])
    assert less.info == PassInfo("less", 1)
    assert less.passes == [tidy]
    assert transform.sequential([fold, tidy], disabled=["DeadCodeElimination"]).passes == [fold]


def test_p04_with_nests_and_current_follows():
    default = PassContext.current()
    outer, inner = PassContext(opt_level=3), PassContext(opt_level=1)
    with outer:
        assert PassContext.current() is outer
        with inner:
            assert PassContext.current() is inner
        assert PassContext.current() is outer
    assert PassContext.current() is default


def test_p04_contexts_are_per_thread():
    seen = []
    with PassContext(opt_level=3) as ctx:
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
        assert PassContext.current() is ctx
    assert seen[0] is not ctx
    assert seen[0].opt_level == 2


def test_p04_leaving_out_of_order_is_an_error():
    ctx = PassContext()
    with pytest.raises(RuntimeError, match="out of order"):
        ctx.__exit__(None, None, None)


def test_p05_build_config_is_the_constructor():
    ctx = transform.build_config(opt_level=3, disabled_pass=["A"])
    assert isinstance(ctx, PassContext)
    assert (ctx.opt_level, ctx.disabled_pass) == (3, ["A"])


def test_p05_build_config_takes_arguments_in_relays_order():
    ctx = transform.build_config(3, "cpu", ["A"], ["B"])
    assert (ctx.fallback_device, ctx.required_pass, ctx.disabled_pass) == (1, ["A"], ["B"])


def test_p06_a_level_runs_all_its_passes_but_the_disabled(mod, make, log):
    passes = Sequential([make(f"L{level}", opt_level=level) for level in range(5)])
    with PassContext(opt_level=3, disabled_pass=["L2"]):
        passes(mod)
    assert log == ["L0", "L1", "L3"]


def test_p11_sequential_runs_in_order_and_nests(mod, make, log):
    a, b, c = make("A"), make("B"), make("C")
    Sequential([a, Sequential([b, a]), c])(mod)
    assert log == ["A", "B", "A", "C"]


def test_p11_empty_sequential_changes_nothing(mod):
    assert str(Sequential([])(mod)) == str(mod)


def test_p11_undefined_pass():
    with pytest.raises(TypeError, match="Found undefined pass for optimization"):
        Sequential([None])
    with pytest.raises(TypeError, match="passes must be a list of Pass objects"):
        Sequential("cse")


def test_p12_disabled_beats_required_and_level(mod, make, log):
    with PassContext(disabled_pass=["A"], required_pass=["A"]):
        Sequential([make("A"), make("B")])(mod)
    assert log == ["B"]


def test_p12_required_beats_level(mod, make, log):
    with PassContext(opt_level=0, required_pass=["A"]):
        Sequential([make("A", opt_level=3), make("B", opt_level=3)])(mod)
    assert log == ["A"]


@pytest.mark.parametrize(("level", "ran"), [(0, []), (1, ["A"]), (2, ["A", "B"]), (3, ["A", "B"])])
def test_p12_runs_if_the_context_level_is_at_least_the_pass_level(mod, make, log, level, ran):
    with PassContext(opt_level=level):
        Sequential([make("A", opt_level=1), make("B", opt_level=2)])(mod)
    assert log == ran


def test_p12_a_nested_sequential_is_enabled_like_a_pass(mod, make, log):
    inner = Sequential([make("A")], opt_level=3, name="inner")
    Sequential([inner])(mod)
    assert log == []
    with PassContext(required_pass=["inner"]):
        Sequential([inner])(mod)
    assert log == ["A"]


def test_p13_a_direct_call_runs_whatever_the_context_says(mod, make, log):
    with PassContext(opt_level=0, disabled_pass=["A"]):
        make("A", opt_level=3)(mod)
    assert log == ["A"]


def test_p13_a_direct_call_does_not_run_required(mod, make, log):
    make("Before", register=True)
    make("A", required=["Before"])(mod)
    assert log == ["A"]


ONE_LEVEL = {"transform.transitive_required": False}


def test_p14_required_run_before_the_pass_and_are_not_deduplicated(mod, make, log):
    make("Before", register=True)
    a = make("A", required=["Before"])
    with PassContext(config=ONE_LEVEL):
        Sequential([a, a])(mod)
    assert log == ["Before", "A", "Before", "A"]


def test_p14_required_of_a_required_pass_are_not_resolved(mod, make, log):
    make("First", register=True)
    make("Second", required=["First"], register=True)
    with PassContext(config=ONE_LEVEL):
        Sequential([make("A", required=["Second"])])(mod)
    assert log == ["Second", "A"]


class TestRequired:
    """Our rule for required passes: all levels, nothing twice for nothing, no cycles."""

    def test_all_levels_and_in_order(self, mod, make, log):
        make("First", register=True)
        make("Second", required=["First"], register=True)
        make("Third", required=["Second", "First"], register=True)
        Sequential([make("A", required=["Third"])])(mod)
        assert log == ["First", "Second", "Third", "A"]

    def test_a_diamond_runs_its_top_once(self, mod, make, log):
        make("Top", register=True)
        make("Left", required=["Top"], register=True)
        make("Right", required=["Top"], register=True)
        Sequential([make("A", required=["Left", "Right"])])(mod)
        assert log == ["Top", "Left", "Right", "A"]

    def test_not_again_while_nothing_has_changed_the_module(self, mod, make, log):
        make("Before", register=True)
        a, b = make("A", required=["Before"]), make("B", required=["Before"])
        Sequential([a, b])(mod)
        assert log == ["Before", "A", "B"]

    def test_not_again_after_it_ran_by_itself(self, mod, make, log):
        before = make("Before", register=True)
        Sequential([before, make("A", required=["Before"])])(mod)
        assert log == ["Before", "A"]

    def test_again_after_a_change(self, mod, make, log):
        make("Before", register=True)
        a = make("A", required=["Before"])

        @module_pass(opt_level=0, name="Change")
        def change(mod, ctx):
            log.append("Change")
            return transform.mlir("cse")(mod)

        Sequential([a, change, a])(mod)
        assert log == ["Before", "A", "Change", "Before", "A"]

    def test_once_in_all_the_sequentials_of_a_run(self, mod, make, log):
        before = make("Before", register=True)
        a, b = make("A", required=["Before"]), make("B", required=["Before"])
        Sequential([Sequential([a]), Sequential([b])])(mod)
        assert log == ["Before", "A", "B"]
        log.clear()
        Sequential([before, Sequential([a])])(mod)
        assert log == ["Before", "A"]
        log.clear()
        Sequential([a, b], required=["Before"])(mod, required=True)
        assert log == ["Before", "A", "B"]

    def test_again_in_another_run(self, mod, make, log):
        make("Before", register=True)
        a = make("A", required=["Before"])
        Sequential([a])(mod)
        Sequential([a])(mod)
        assert log == ["Before", "A"] * 2

    def test_again_after_a_change_in_another_sequential(self, mod, make, log):
        make("Before", register=True)
        a = make("A", required=["Before"])
        Sequential([Sequential([a]), Sequential([transform.mlir("cse")]), Sequential([a])])(mod)
        assert log == ["Before", "A", "Before", "A"]

    def test_upstream_passes_can_be_required(self, mod, make):
        a = make("A", required=["cse"])
        merged = str(transform.mlir("cse")(mod).mlir_module)
        assert merged != str(mod.mlir_module)
        assert str(Sequential([a])(mod).mlir_module) == merged

    def test_a_cycle_is_reported(self, mod, make, log):
        make("A", required=["B"], register=True)
        make("B", required=["C"], register=True)
        make("C", required=["B"], register=True)
        with pytest.raises(PipelineError, match="passes require each other: B -> C -> B"):
            Sequential([make("Start", required=["A"])])(mod)
        assert log == []

    def test_a_pass_that_requires_itself(self, mod, make):
        a = make("A", required=["A"], register=True)
        with pytest.raises(PipelineError, match="passes require each other: A -> A"):
            Sequential([a])(mod)

    def test_a_direct_call_runs_required_if_asked(self, mod, make, log):
        make("First", register=True)
        make("Second", required=["First"], register=True)
        a = make("A", required=["Second"])
        a(mod, required=True)
        assert log == ["First", "Second", "A"]
        log.clear()
        with PassContext(config={"transform.required_on_call": True}):
            a(mod)
            assert log == ["First", "Second", "A"]
            log.clear()
            a(mod, required=False)
        assert log == ["A"]

    def test_a_direct_call_with_required_leaves_its_argument(self, mod):
        register_pass("TestCse", lambda: transform.mlir("cse", name="TestCse"))
        try:
            out = module_pass(lambda mod, ctx: mod, opt_level=0, name="A", required=["TestCse"])(
                mod, required=True
            )
        finally:
            unregister_pass("TestCse")
        assert str(out).count("arith.addf") == 1
        assert str(mod).count("arith.addf") == 2

    def test_a_required_pass_is_refused_by_an_instrument(self, mod, make, log):
        make("Before", register=True)

        @pass_instrument
        class Refuse:
            def should_run(self, mod, info):
                return info.name != "Before"

        with PassContext(instruments=[Refuse()]):
            Sequential([make("A", required=["Before"])])(mod)
        assert log == ["A"]


class TestUnknownNames:
    """A name in the lists that no pass has is worth a warning, once; TVM is silent."""

    @pytest.mark.parametrize(
        ("lists", "message"),
        [
            (
                {"disabled_pass": ["FoldConstnt"]},
                "disabled_pass of the PassContext names 'FoldConstnt', which is no pass; "
                "did you mean 'FoldConstant'?",
            ),
            (
                {"required_pass": ["fold-constant"]},
                "required_pass of the PassContext names 'fold-constant', which is no pass; "
                "did you mean 'FoldConstant'?",
            ),
            (
                {"disabled_pass": ["MyPas"]},
                "disabled_pass of the PassContext names 'MyPas', which is no pass; "
                "did you mean 'MyPass'?",
            ),
        ],
    )
    def test_a_warning(self, mod, make, lists, message):
        ctx = PassContext(**lists)
        with pytest.warns(UserWarning, match="no pass") as caught, ctx:
            Sequential([make("MyPass")])(mod)
        assert [str(each.message) for each in caught] == [message]
        assert caught[0].filename == __file__
        with warnings.catch_warnings(), ctx:
            warnings.simplefilter("error")
            Sequential([make("MyPass")])(mod)

    @pytest.mark.parametrize("name", ["FoldConstant", "cse", "MyPass"])
    def test_none_for_names_that_passes_have(self, mod, make, name):
        with warnings.catch_warnings(), PassContext(disabled_pass=[name], required_pass=[name]):
            warnings.simplefilter("error")
            Sequential([make("MyPass")])(mod)

    def test_none_where_nothing_ran(self):
        with warnings.catch_warnings(), PassContext(disabled_pass=["Nope"]):
            warnings.simplefilter("error")


def test_p14_a_disabled_pass_still_runs_when_required_by_one(mod, make, log):
    make("Before", opt_level=3, register=True)
    with PassContext(opt_level=0, disabled_pass=["Before"]):
        Sequential([make("A", required=["Before"])])(mod)
    assert log == ["Before", "A"]


def test_p14_required_of_a_pass_that_is_off_do_not_run(mod, make, log):
    make("Before", register=True)
    with PassContext(disabled_pass=["A"]):
        Sequential([make("A", required=["Before"])])(mod)
    assert log == []


def test_p15_a_required_pass_that_does_not_exist(mod, make):
    with pytest.raises(PipelineError, match=r"unknown pass 'FuseOpps'; did you mean 'FuseOps'\?"):
        Sequential([make("A", required=["FuseOpps"])])(mod)


@pytest.mark.parametrize(
    "spelling",
    [
        "ToNonDataflow",
        "relax.transform.ToNonDataflow",
        "transform.ToNonDataflow",
        "to-non-dataflow",
    ],
)
def test_p15_spellings_of_a_name(spelling):
    assert transform.get_pass(spelling).info.name == "ToNonDataflow"


def test_p16_constructors_by_name():
    assert transform.ToNonDataflow().info.name == "ToNonDataflow"
    assert "CallTIRRewrite" in dir(transform)
    with pytest.raises(AttributeError, match="did you mean 'ToNonDataflow'"):
        _ = transform.ToNonDataFlow


def test_p16_a_name_is_registered_once(make):
    with pytest.raises(PipelineError, match="already registered"):
        make("ToNonDataflow", register=True)


def test_p07_explicit_context(mod, make, log):
    Sequential([make("A", opt_level=3)])(mod, PassContext(opt_level=3))
    assert log == ["A"]


@pytest.mark.parametrize("ctx", [3, "opt_level=3", {}, PassContext])
def test_p07_a_wrong_context(mod, make, ctx):
    with pytest.raises(TypeError, match="runs under a PassContext, got"):
        make("A")(mod, ctx)
