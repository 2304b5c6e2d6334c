"""The instruments that come with it: each does what its one sentence says."""

import io
import json
import mmap

import numpy as np
import pytest

from relax_mlir import instrument, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build
from relax_mlir.errors import PassError
from relax_mlir.instrument import (
    ChangeInstrument,
    DumpIR,
    ImmutableModule,
    IRDiff,
    PassBisect,
    PassLimit,
    PassTimingInstrument,
    PrintOnChange,
    PrintOnFailure,
    StatisticsInstrument,
    WellFormedInstrument,
    find_culprit,
)
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, Sequential, mlir, module_pass

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(TEXT)


def noop(name):
    return module_pass(lambda mod, ctx: mod, opt_level=0, name=name)


def marker(name):
    @module_pass(opt_level=0, name=name)
    def mark(mod, ctx):
        mod["main"].mlir_op.attributes[f"test.{name}"] = ir.UnitAttr.get()
        return mod

    return mark


@module_pass(opt_level=0, name="Fail")
def fail(mod, ctx):
    mod["main"].mlir_op.attributes["test.half"] = ir.UnitAttr.get()
    raise ValueError("half way")


CSE = mlir("cse")


class TestTimingOutput:
    """The times as data for programs."""

    @pytest.fixture
    def timing(self, mod):
        timing = PassTimingInstrument()
        with PassContext(instruments=[timing]):
            Sequential([noop("A"), Sequential([noop("B")], name="inner")], name="outer")(mod)
        return timing

    def test_json(self, timing):
        (outer,) = json.loads(timing.to_json())
        assert [each["name"] for each in outer["passes"]] == ["A", "inner"]
        inside = sum(each["total_us"] for each in outer["passes"])
        assert outer["total_us"] == pytest.approx(inside + outer["self_us"])

    def test_chrome_trace(self, timing):
        events = json.loads(timing.to_chrome_trace())["traceEvents"]
        assert events.pop(0)["ph"] == "M", "the name of the process"
        assert [each["name"] for each in events] == ["outer", "A", "inner", "B"]
        outer, first, *_ = events
        assert all(each["ph"] == "X" and each["dur"] >= 0 for each in events)
        assert outer["ts"] <= first["ts"]
        assert first["ts"] + first["dur"] <= outer["ts"] + outer["dur"]


class TestPrinting:
    """On change and on failure."""

    def test_on_change(self, mod):
        file = io.StringIO()
        with PassContext(instruments=[PrintOnChange(file)]):
            Sequential([noop("A"), CSE, CSE])(mod)
        assert file.getvalue().count("IR Dump") == 1
        assert file.getvalue().startswith("// -----// IR Dump After cse //----- //\nmodule {")

    def test_on_failure(self, mod):
        file = io.StringIO()
        with pytest.raises(PassError), PassContext(instruments=[PrintOnFailure(file)]):
            Sequential([CSE, Sequential([fail])])(mod)
        assert file.getvalue().count("IR Dump") == 1
        assert "IR Dump After Fail Failed" in file.getvalue()
        assert "test.half" in file.getvalue()

    def test_on_failure_of_the_verifier(self, mod):
        @module_pass(opt_level=0, name="Break")
        def break_it(mod, ctx):
            mod["main"].mlir_op.regions[0].blocks[0].operations[3].operation.erase()
            return mod

        file = io.StringIO()
        with pytest.raises(PassError), PassContext(instruments=[PrintOnFailure(file)]):
            break_it(mod)
        assert '"relax.add"' in file.getvalue()

    def test_numbered_files(self, mod, tmp_path):
        folder = tmp_path / "ir"
        with PassContext(instruments=[DumpIR(folder, script=False)]):
            CSE(mod)
            mlir("func.func(canonicalize)")(mod)
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["000_cse.mlir", "001_func.func_canonicalize_.mlir"]
        assert (folder / "000_cse.mlir").read_text() == str(CSE(mod))

    def test_numbered_files_of_a_failure(self, mod, tmp_path):
        dump = DumpIR(tmp_path, before=True, script=False)
        with pytest.raises(PassError), PassContext(instruments=[dump]):
            Sequential([fail], name="all")(mod)
        assert [path.name for path in dump.files] == [
            "000_all_before.mlir",
            "001_Fail_before.mlir",
            "002_Fail_failed.mlir",
        ]

    def test_numbered_files_as_tvmscript(self, mod, tmp_path):
        dump = DumpIR(tmp_path)
        with PassContext(instruments=[dump]):
            CSE(mod)
        assert dump.files[0].name == "000_cse.py"
        assert "R.exp" in dump.files[0].read_text()

    def test_refresh_empties_the_folder(self, tmp_path):
        (tmp_path / "old").write_text("")
        DumpIR(tmp_path)
        assert (tmp_path / "old").exists()
        DumpIR(tmp_path, refresh=True)
        assert not (tmp_path / "old").exists()

    def test_the_folder_is_a_file(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(NotADirectoryError):
            DumpIR(tmp_path / "file")


class TestDiff:
    """What a pass changed, as a diff."""

    def test_of_each_pass_that_changed_something(self, mod):
        file = io.StringIO()
        with PassContext(instruments=[IRDiff(file=file)]):
            Sequential([noop("A"), CSE])(mod)
        lines = file.getvalue().splitlines()
        assert lines[:2] == ["--- before cse", "+++ after cse"]
        assert sum(line.startswith("-  ") for line in lines) == 3
        assert sum(line.startswith("---") for line in lines) == 1

    def test_of_named_passes(self, mod):
        file = io.StringIO()
        with PassContext(instruments=[IRDiff(["B"], file=file)]):
            Sequential([marker("A"), marker("B")])(mod)
        assert "before A" not in file.getvalue()
        assert "before B" in file.getvalue()

    def test_of_tvmscript(self, mod, capsys):
        with PassContext(instruments=[IRDiff(script=True)]):
            CSE(mod)
        assert "R.exp" in capsys.readouterr().err


class TestWellFormed:
    """A pass that leaves symbols unbound or calls that do not fit is to blame."""

    @pytest.fixture
    def unbind(self):
        @module_pass(opt_level=0, name="Unbind")
        def run(mod, ctx):
            text = """func.func @bad() -> !relax.shape<DIMS> attributes {relax.function} {
              %0 = "relax.shape_expr"() : () -> !relax.shape<DIMS>
              return %0 : !relax.shape<DIMS>
            }""".replace("DIMS", '#relax.dims<["n"], affine_map<()[s0] -> (s0)>>')
            return IRModule.parse(text, mod.context)

        return run

    def test_names_the_pass(self, mod, unbind):
        with (
            pytest.raises(PassError, match="'Unbind' failed: it left a module that is not") as got,
            PassContext(instruments=[WellFormedInstrument()]),
        ):
            Sequential([CSE, unbind, CSE])(mod)
        assert "symbol 'n'" in got.value.diagnostics[0]

    def test_skips(self, mod, unbind):
        with PassContext(instruments=[WellFormedInstrument(skip=["Unbind"])]):
            unbind(mod)

    def test_the_input_too(self, mod, unbind):
        bad = unbind(mod)
        with (
            pytest.raises(PassError, match="'A' failed: it was given a module"),
            PassContext(instruments=[WellFormedInstrument(check_input=True)]),
        ):
            noop("A")(bad)


class TestStatistics:
    """Operations and memory."""

    def test_operations(self, mod):
        statistics = StatisticsInstrument()
        with PassContext(instruments=[statistics]):
            Sequential([noop("A"), CSE])(mod)
        assert [(each.name, each.operations) for each in statistics.passes] == [
            ("A", (5, 5)),
            ("cse", (5, 4)),
        ]
        assert statistics.passes[1].changes == {"relax.exp": -1}
        first, second = statistics.render().splitlines()
        assert first.split()[:4] == ["A", "5", "->", "5"]
        assert second.endswith("relax.exp -1")
        assert json.loads(statistics.to_json())[1]["operations"] == [5, 4]

    def test_memory(self, mod):
        kept = []

        # Pages of its own: an allocator may give again what it holds resident already.
        @module_pass(opt_level=0, name="Hungry")
        def hungry(mod, ctx):
            pages = mmap.mmap(-1, 32 << 20)
            pages.write(b"\1" * len(pages))
            kept.append(pages)
            return mod

        statistics = StatisticsInstrument()
        with PassContext(instruments=[statistics]):
            hungry(mod)
        assert statistics.passes[0].memory > 16 << 20


def test_structural_hash(mod):
    change = ChangeInstrument()
    with PassContext(instruments=[change]):
        Sequential([noop("A"), CSE, CSE], name="all")(mod)
    assert [(each.name, each.changed) for each in change.passes] == [
        ("A", False),
        ("cse", True),
        ("cse", False),
        ("all", True),
    ]
    assert change.changed == ["cse", "all"]
    assert change.render().splitlines()[0].endswith("unchanged A")


class TestBisect:
    """Which pass is to blame."""

    PASSES = Sequential([marker(name) for name in "ABCDEFG"])

    @staticmethod
    def has_d(mod):
        return "test.D" in str(mod)

    def test_the_first_pass_after_which_it_is_true(self, mod):
        bisect = PassBisect(self.has_d)
        with PassContext(instruments=[bisect]):
            self.PASSES(mod)
        assert (bisect.culprit.name, bisect.culprit.index) == ("D", 3)
        assert "test.C" in str(bisect.culprit.before)
        assert "test.D" not in str(bisect.culprit.before)

    def test_nothing_found(self, mod):
        bisect = PassBisect(lambda mod: False)
        with PassContext(instruments=[bisect]):
            self.PASSES(mod)
        assert bisect.culprit is None
        assert bisect.count == 7

    def test_true_of_the_input(self, mod):
        bisect = PassBisect(lambda mod: True)
        with PassContext(instruments=[bisect]):
            self.PASSES(mod)
        assert bisect.culprit.name == "<input>"

    def test_a_pass_that_fails_is_to_blame(self, mod):
        bisect = PassBisect(lambda mod: False)
        with pytest.raises(PassError), PassContext(instruments=[bisect]):
            Sequential([CSE, Sequential([fail, CSE])])(mod)
        assert bisect.culprit.name == "Fail"
        assert isinstance(bisect.culprit.error, PassError)
        assert "test.half" not in str(bisect.culprit.before)

    def test_a_wrong_number(self, mod):
        @module_pass(opt_level=0, name="Wrong")
        def wrong(mod, ctx):
            for op in mod["main"].mlir_op.regions[0].blocks[0].operations:
                if op.operation.name == "relax.add":
                    with ir.InsertionPoint(op):
                        new = build("multiply", list(op.operation.operands), {})
                    op.operation.results[0].replace_all_uses_with(new)
                    op.operation.erase()
            return mod

        def is_wrong(mod):
            x = np.zeros(4, "float32")
            return relax.VirtualMachine(relax.build(mod))["main"](x)[0] != 2

        passes = Sequential([CSE, wrong, noop("After")])
        bisect = PassBisect(is_wrong)
        with PassContext(instruments=[bisect]):
            passes(mod)
        assert bisect.culprit.name == find_culprit(passes, mod, is_wrong).name == "Wrong"

    def test_search_asks_few_questions(self, mod):
        asked = []

        def is_bad(mod):
            asked.append(1)
            return self.has_d(mod)

        culprit = find_culprit(self.PASSES, mod, is_bad)
        assert culprit.name == "D"
        assert "test.C" in str(culprit.before)
        assert "test.D" not in str(culprit.before)
        assert len(asked) <= 6

    def test_search_for_a_failure(self, mod):
        culprit = find_culprit(Sequential([CSE, marker("A"), fail, CSE]), mod, lambda mod: False)
        assert culprit.name == "Fail"
        assert "half way" in str(culprit.error)

    @pytest.mark.parametrize("bad", ["A", "B", "C", "D"])
    def test_both_ways_count_the_same(self, mod, bad):
        inner = Sequential([marker("B"), Sequential([marker("C")])])
        passes = Sequential([Sequential([marker("A")]), inner, marker("D")])
        bisect = PassBisect(lambda mod: f"test.{bad}" in str(mod))
        with PassContext(instruments=[bisect]):
            passes(mod)
        culprit = find_culprit(passes, mod, bisect.is_bad)
        assert (culprit.name, culprit.index) == (bad, "ABCD".index(bad))
        assert (bisect.culprit.name, bisect.culprit.index) == (bad, "ABCD".index(bad))

    def test_search_without_a_result(self, mod):
        assert find_culprit(self.PASSES, mod, lambda mod: False) is None
        assert find_culprit(self.PASSES, mod, lambda mod: True).name == "<input>"

    def test_limit(self, mod):
        limit = PassLimit(3)
        with PassContext(instruments=[limit]):
            out = self.PASSES(mod)
        assert limit.names == ["sequential", *"ABCDEFG"]
        assert "test.B" in str(out)
        assert "test.C" not in str(out)


def test_p36_immutable_module(mod):
    other = IRModule.parse(TEXT)

    @module_pass(opt_level=0, name="Sneaky")
    def sneaky(mod, ctx):
        other["main"].mlir_op.attributes["test.x"] = ir.UnitAttr.get()
        return mod

    with PassContext(instruments=[ImmutableModule(mod, other)]):
        CSE(mod)
        with pytest.raises(PassError, match="modified in pass: Sneaky"):
            sneaky(mod)


def test_all_of_them_around_a_compilation(mod, tmp_path):
    file = io.StringIO()
    timing, statistics, change = PassTimingInstrument(), StatisticsInstrument(), ChangeInstrument()
    instruments = [
        WellFormedInstrument(check_input=True),
        ImmutableModule(mod),
        IRDiff(file=file),
        PrintOnChange(file),
        DumpIR(tmp_path, before=True),
        PassBisect(lambda mod: False),
        statistics,
        change,
        timing,
    ]
    with PassContext(instruments=instruments, config={"testing.immutable_module": True}):
        vm = relax.VirtualMachine(relax.build(mod))
    np.testing.assert_array_equal(vm["main"](np.zeros(4, "float32")), np.full(4, 2, "float32"))
    names = [each.name for each in timing.passes]
    assert "LegalizeOps" in names
    assert [each.name for each in statistics.passes] == [each.name for each in change.passes]
    assert "LegalizeOps" in change.changed
    assert "--- before LegalizeOps" in file.getvalue()


def test_every_export_exists_and_is_documented():
    for name in instrument.__all__:
        assert getattr(instrument, name).__doc__, name


def test_pass_failed_is_a_hook_that_sees_the_error(mod):
    seen = []

    @instrument.pass_instrument
    class Watch:
        def pass_failed(self, mod, info, error):
            seen.append((info.name, type(error).__name__, "test.half" in str(mod)))

    with pytest.raises(PassError), PassContext(instruments=[Watch()]):
        Sequential([fail])(mod)
    assert seen == [("Fail", "PassError", True), ("sequential", "PassError", True)]
