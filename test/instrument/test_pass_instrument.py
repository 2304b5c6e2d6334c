"""Instruments: their rules, one by one."""

import io

import pytest

from relax_mlir.errors import PassError
from relax_mlir.instrument import (
    ChangeInstrument,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, Sequential, module_pass


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse("func.func private @f()")


def noop(name="P"):
    return module_pass(lambda mod, ctx: mod, opt_level=0, name=name)


def recorder(log, tag="", fail=(), refuse=()):
    """Return an instrument that writes each hook to `log` and raises in the hooks of `fail`."""

    @pass_instrument
    class Recorder:
        def note(self, hook, info=None):
            log.append(f"{tag}{hook}" + (f" {info.name}" if info else ""))
            if hook in fail:
                raise ValueError(f"{tag}{hook}")

        def enter_pass_ctx(self):
            self.note("enter")

        def exit_pass_ctx(self):
            self.note("exit")

        def should_run(self, mod, info):
            self.note("should", info)
            return info.name not in refuse

        def run_before_pass(self, mod, info):
            self.note("before", info)

        def run_after_pass(self, mod, info):
            self.note("after", info)

    return Recorder()


def test_p24_hooks_get_the_module_and_the_info(mod):
    seen = []

    @pass_instrument
    class Look:
        def run_before_pass(self, mod, info):
            seen.append((str(mod.mlir_module), info.name))

    with PassContext(instruments=[Look()]):
        noop()(mod)
    assert seen == [(str(mod.mlir_module), "P")]


def test_p25_a_decorated_class_needs_no_base_and_no_other_hooks(mod):
    @pass_instrument
    class Empty:
        """Does nothing."""

        def __init__(self, value):
            self.value = value

    empty = Empty(3)
    assert isinstance(empty, PassInstrument)
    assert (empty.value, empty.name, Empty.__doc__) == (3, "Empty", "Does nothing.")
    with PassContext(instruments=[empty]):
        noop()(mod)


def test_p25_subclassing_works_too(mod):
    class Count(PassInstrument):
        count = 0

        def run_after_pass(self, mod, info):
            self.count += 1

    count = Count()
    with PassContext(instruments=[count]):
        Sequential([noop(), noop()])(mod)
    assert count.count == 3


def test_p25_only_classes_are_decorated():
    with pytest.raises(TypeError):
        pass_instrument(lambda: None)


def test_p25_an_undecorated_class_is_no_instrument():
    with pytest.raises(TypeError, match="@pass_instrument"):
        PassContext(instruments=[object()])


def test_p25_a_misspelt_hook_is_worth_a_warning():
    with pytest.warns(UserWarning, match="nobody calls 'run_befor_pass'; did you mean"):

        @pass_instrument
        class _Look:
            def run_befor_pass(self, mod, info):
                pass


def test_p25_should_run_answers(mod):
    @pass_instrument
    class Forgets:
        def should_run(self, mod, info):
            pass

    with (
        PassContext(instruments=[Forgets()]),
        pytest.raises(TypeError, match="should_run of instrument 'Forgets' returned None"),
    ):
        noop()(mod)


def test_p26_a_refused_pass_returns_its_input(mod):
    log = []
    with PassContext(instruments=[recorder(log, refuse=["P"])]):
        assert noop()(mod) is mod
    assert log == ["enter", "should P", "exit"]


def test_p27_order_of_the_hooks(mod):
    log = []
    with PassContext(instruments=[recorder(log, "a:"), recorder(log, "b:")]):
        noop()(mod)
    hooks = ["enter", "should P", "before P", "after P", "exit"]
    assert log == [f"{tag}:{hook}" for hook in hooks for tag in "ab"]


def test_p27_everyone_is_asked_after_a_no(mod):
    log = []
    first, second = recorder(log, "a:", refuse=["P"]), recorder(log, "b:")
    with PassContext(instruments=[first, second]):
        noop()(mod)
    assert log == ["a:enter", "b:enter", "a:should P", "b:should P", "a:exit", "b:exit"]


def test_p27_a_sequential_is_a_pass_too(mod):
    log = []
    with PassContext(instruments=[recorder(log)]):
        Sequential([noop("A"), noop("B")])(mod)
    assert [line for line in log if line.startswith("before")] == [
        "before sequential",
        "before A",
        "before B",
    ]
    assert log[-2:] == ["after sequential", "exit"]


def test_p28_enter_failure_leaves_the_entered_ones_in_reverse_order():
    log = []
    instruments = [
        recorder(log, tag, fail)
        for tag, fail in [("a:", ()), ("b:", ()), ("c:", ("enter",)), ("d:", ())]
    ]
    ctx, outer = PassContext(instruments=instruments), PassContext.current()
    with pytest.raises(ValueError, match="c:enter"), ctx:
        pytest.fail("the body must not run")
    assert log == ["a:enter", "b:enter", "c:enter", "b:exit", "a:exit"]
    assert ctx.instruments == []
    assert PassContext.current() is outer


def test_p28_an_exit_that_fails_after_a_failed_enter_keeps_no_other_from_leaving():
    log = []
    instruments = [
        recorder(log, "1."),
        recorder(log, "2.", fail=["exit"]),
        recorder(log, "3."),
        recorder(log, "4.", fail=["enter"]),
    ]
    ctx = PassContext(instruments=instruments)
    with pytest.raises(ValueError, match=r"^4\.enter") as caught, ctx:
        pass
    assert log == ["1.enter", "2.enter", "3.enter", "4.enter", "3.exit", "2.exit", "1.exit"]
    assert caught.value.__notes__ == [
        "instrument 'Recorder' failed in exit_pass_ctx as well: ValueError: 2.exit"
    ]
    assert ctx.instruments == []


def test_p28_the_list_is_still_there_while_the_entered_ones_leave():
    seen = []

    @pass_instrument
    class Look:
        def exit_pass_ctx(self):
            seen.append(len(ctx.instruments))

    ctx = PassContext(instruments=[Look(), recorder([], fail=("enter",))])
    with pytest.raises(ValueError, match="enter"), ctx:
        pass
    assert seen == [2]


def test_p29_hooks_of_the_context_see_the_outer_one():
    seen = []

    @pass_instrument
    class Look:
        def enter_pass_ctx(self):
            seen.append(PassContext.current())

        def exit_pass_ctx(self):
            seen.append(PassContext.current())

    with PassContext() as outer:
        with PassContext(instruments=[Look()]):
            pass
        assert seen == [outer, outer]


def test_p30_exit_failure_drops_the_rest():
    log = []
    ctx = PassContext(instruments=[recorder(log, "a:", ("exit",)), recorder(log, "b:")])
    outer = PassContext.current()
    with pytest.raises(ValueError, match="a:exit"), ctx:
        pass
    assert log == ["a:enter", "b:enter", "a:exit"]
    assert ctx.instruments == []
    assert PassContext.current() is outer


def test_p31_should_run_is_not_asked_of_required_passes(mod):
    log = []
    with PassContext(required_pass=["P"], instruments=[recorder(log, refuse=["P"])]):
        noop()(mod)
    assert log == ["enter", "before P", "after P", "exit"]


@pytest.mark.parametrize("hook", ["should", "before"])
def test_p31_before_failure_is_thrown_at_once_and_everyone_exits(mod, hook):
    log = []
    instruments = [recorder(log, "a:", (hook,)), recorder(log, "b:")]
    with pytest.raises(ValueError, match=f"a:{hook}"), PassContext(instruments=instruments):
        noop()(mod)
    assert f"b:{hook} P" not in log
    assert "a:after P" not in log
    assert log[-2:] == ["a:exit", "b:exit"]


def test_p32_after_failure_is_thrown_at_once_and_everyone_exits(mod):
    log = []
    instruments = [recorder(log, "a:", ("after",)), recorder(log, "b:")]
    with pytest.raises(ValueError, match="a:after"), PassContext(instruments=instruments):
        noop()(mod)
    assert log[-3:] == ["a:after P", "a:exit", "b:exit"]


def test_p33_a_failing_pass_has_no_after(mod):
    log = []

    @module_pass(opt_level=0, name="Bad")
    def bad(mod, ctx):
        raise ValueError("no")

    with pytest.raises(PassError, match="'Bad'"), PassContext(instruments=[recorder(log)]):
        bad(mod)
    assert log == ["enter", "should Bad", "before Bad", "exit"]


@pytest.mark.parametrize("hook", ["before", "after"])
def test_the_hook_of_another_that_raises_ends_the_pass_for_everyone(mod, hook):
    log = []

    def watcher(tag):
        watch = recorder(log, tag)
        watch.pass_failed = lambda mod, info, error: log.append(f"{tag}failed {info.name} {error}")
        return watch

    instruments = [watcher("a:"), recorder(log, "b:", (hook,)), watcher("c:")]
    with pytest.raises(ValueError, match=f"b:{hook}"), PassContext(instruments=instruments):
        noop()(mod)
    failures = [line for line in log if "failed" in line]
    # Whoever has heard of the beginning and not of the end.
    assert failures == [f"{'a' if hook == 'before' else 'c'}:failed P b:{hook}"]


def test_timing_stays_right_when_another_instrument_raises(mod):
    timing = PassTimingInstrument()

    @pass_instrument
    class Refuse:
        def run_before_pass(self, mod, info):
            if info.name == "B":
                raise ValueError("no")

    with PassContext(instruments=[timing, Refuse()]):
        with pytest.raises(ValueError, match="no"):
            Sequential([noop("A"), noop("B")], name="outer")(mod)
        noop("C")(mod)
        assert [each.name for each in timing.passes] == ["outer", "C"]
        assert all(each.duration is not None for each in timing.passes[0].children)


@pytest.mark.parametrize("instrument", [PassTimingInstrument, ChangeInstrument])
def test_an_end_without_a_beginning_does_no_harm(mod, instrument):
    made = instrument()
    outer, inner, other = (noop(name).info for name in ("outer", "inner", "other"))
    made.enter_pass_ctx()
    made.run_before_pass(mod, outer)
    made.run_before_pass(mod, inner)
    made.run_after_pass(mod, other)
    assert len(made._open) == 2
    made.run_after_pass(mod, outer)
    assert not made._open


def test_a_failing_pass_failed_hides_neither_the_error_nor_the_pass_from_others(mod):
    ran = []

    @pass_instrument
    class Clumsy:
        def pass_failed(self, mod, info, error):
            raise ValueError("clumsy")

    @pass_instrument
    class Listener:
        def pass_failed(self, mod, info, error):
            ran.append(info.name)

    @module_pass(opt_level=0, name="Bad")
    def bad(mod, ctx):
        raise ValueError("the reason")

    with (
        pytest.raises(PassError, match="the reason") as raised,
        PassContext(instruments=[Clumsy(), Listener()]),
    ):
        bad(mod)
    assert ran == ["Bad"]
    assert "'Clumsy' failed in pass_failed" in raised.value.__notes__[0]


def test_p34_override_exits_the_old_and_enters_the_new(mod):
    log = []
    old, new = recorder(log, "old:"), recorder(log, "new:")
    with PassContext(instruments=[old]) as ctx:
        ctx.override_instruments([new])
        assert log == ["old:enter", "old:exit", "new:enter"]
        noop()(mod)
    assert log[-2:] == ["new:after P", "new:exit"]


def test_p34_override_works_on_the_global_context(mod):
    log = []
    ctx = PassContext.current()
    ctx.override_instruments([recorder(log)])
    try:
        noop()(mod)
    finally:
        ctx.override_instruments([])
    assert log == ["enter", "should P", "before P", "after P", "exit"]


@pytest.mark.parametrize(
    ("old_fails", "new_fails", "expected"),
    [
        ((), ("enter",), ["old:enter", "old:exit", "new:enter"]),
        (("exit",), (), ["old:enter", "old:exit"]),
    ],
)
def test_p34_a_failure_leaves_no_instruments(old_fails, new_fails, expected):
    log = []
    with PassContext(instruments=[recorder(log, "old:", old_fails)]) as ctx:
        with pytest.raises(ValueError, match=r"enter|exit"):
            ctx.override_instruments([recorder(log, "new:", new_fails)])
        assert ctx.instruments == []
    assert log == expected


class TestTiming:
    """The timing instrument."""

    def test_tree(self, mod):
        timing = PassTimingInstrument()
        with PassContext(instruments=[timing]):
            Sequential([noop("A"), Sequential([noop("B")], name="inner")], name="outer")(mod)
            noop("C")(mod)
            lines = timing.render().splitlines()
        assert [line.split(":")[0] for line in lines] == ["outer", "\tA", "\tinner", "\t\tB", "C"]
        for line in lines:
            assert line.endswith("%)")
            assert "us [" in line

    def test_percentages_add_up(self, mod):
        timing = PassTimingInstrument()
        with PassContext(instruments=[timing]):
            noop("A")(mod)
        assert timing.render().endswith("(100.00%; 100.00%)\n")

    def test_self_time_leaves_out_the_passes_inside(self, mod):
        timing = PassTimingInstrument()
        with PassContext(instruments=[timing]):
            Sequential([noop("A")])(mod)
        (outer,) = timing.passes
        assert outer.own == pytest.approx(outer.total - outer.children[0].total)

    def test_a_failed_pass_is_closed(self, mod):
        @module_pass(opt_level=0, name="Bad")
        def bad(mod, ctx):
            raise ValueError

        timing = PassTimingInstrument()
        with pytest.raises(PassError), PassContext(instruments=[timing]):
            Sequential([noop("A"), bad])(mod)
        (outer,) = timing.passes
        assert [each.name for each in outer.children] == ["A", "Bad"]
        assert outer.duration is not None

    def test_nothing_ran(self):
        assert PassTimingInstrument().render() == ""


class TestPrinting:
    """The printing instruments."""

    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (lambda file: PassPrintingInstrument(["A"], file=file), ["Before A"]),
            (PrintAfterAll, ["After A", "After B", "After sequential"]),
            (
                lambda file: PassPrintingInstrument(["B"], ["A"], file),
                ["After A", "Before B"],
            ),
            (PrintBeforeAll, ["Before sequential", "Before A", "Before B"]),
        ],
    )
    def test_headings(self, mod, make, expected):
        file = io.StringIO()
        with PassContext(instruments=[make(file)]):
            Sequential([noop("A"), noop("B")])(mod)
        headings = [line for line in file.getvalue().splitlines() if "IR Dump" in line]
        assert headings == [f"// -----// IR Dump {each} //----- //" for each in expected]
        assert file.getvalue().count("func.func private @f()") == len(expected)

    def test_to_stderr(self, mod, capsys):
        with PassContext(instruments=[PrintBeforeAll()]):
            noop("A")(mod)
        assert "IR Dump Before A" in capsys.readouterr().err

    def test_names_are_a_list(self):
        with pytest.raises(TypeError, match="list of pass names"):
            PassPrintingInstrument("A")
