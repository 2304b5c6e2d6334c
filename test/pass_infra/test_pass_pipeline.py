"""Pipelines as text: parsing, printing, options, anchors and the suggestions for misspelt ones."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relax_mlir import transform
from relax_mlir.dialects.context import default_context
from relax_mlir.errors import PipelineError
from relax_mlir.instrument import pass_instrument
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.pass_spec import PassOption
from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.execution.pass_manager import build
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.registry import flag_of, get_pass, register_pass, unregister_pass
from relax_mlir.pass_infra.text.options import coerce_options, format_options, parse_options
from relax_mlir.pass_infra.text.pipeline import Step
from relax_mlir.transform import FunctionPass, PassInfo, Pipeline, Sequential, module_pass

MODULE = "func.func @f() attributes {relax.function} { return }"


def execution_of(text):
    execution = Execution(default_context())
    build(Pipeline.parse(text), execution)
    return execution


@pytest.fixture
def log():
    return []


@pytest.fixture(autouse=True)
def passes(log):
    """Register a module pass and a function pass with options for the time of a test."""

    def make(**given):
        values = coerce_options("test-log", OPTIONS, given)
        return module_pass(lambda mod, ctx: log.append(values) or mod, opt_level=0, name="TestLog")

    def per_function():
        def run(func, mod, ctx):
            log.append(func.attributes["sym_name"].value)
            return func

        return FunctionPass(run, PassInfo("TestEach"))

    register_pass("TestLog", make, options=OPTIONS)
    register_pass("TestEach", per_function)
    yield
    unregister_pass("TestLog")
    unregister_pass("TestEach")


OPTIONS = (
    PassOption("opt", int, 2, "an integer"),
    PassOption("fast-math", bool, False, "a switch"),
    PassOption("scale", float, 1.0, "a number"),
    PassOption("target", str, "cpu", "a string"),
    PassOption("names", list, (), "a list"),
)
DEFAULTS = {"opt": 2, "fast_math": False, "scale": 1.0, "target": "cpu", "names": ()}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("builtin.module()", None),
        ("builtin.module(cse)", None),
        ("builtin.module(a,func.func(b,c{d=1 e=2}),f)", None),
        ("builtin.module(inline{op-pipelines=func.func(cse,canonicalize{top-down=true})})", None),
        ('builtin.module(a{b="x y  z"})', None),
        ("builtin.module(gpu.module(llvm.func(cse)))", None),
        (
            " builtin.module ( a , func.func( b ),\n c{ d=1   e=2 } ) ",
            "builtin.module(a,func.func(b),c{d=1 e=2})",
        ),
        ("any(cse)", "builtin.module(cse)"),
        ("builtin.module(a{})", "builtin.module(a)"),
    ],
)
def test_prints_itself_back(text, printed):
    pipeline = Pipeline.parse(text)
    assert str(pipeline) == (printed or text)
    assert Pipeline.parse(str(pipeline)) == pipeline


NAMES = st.sampled_from(["cse", "canonicalize", "to-non-dataflow", "x_1"])
PASSES = st.builds(Step, NAMES, st.sampled_from([None, "a=1", "a=1 b={c(d)}", 'a="x  y"']))
STEPS = st.recursive(
    PASSES,
    lambda inner: st.builds(
        Step,
        st.sampled_from(["func.func", "gpu.module"]),
        st.none(),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=8,
)


@given(st.lists(STEPS, max_size=4).map(tuple))
def test_any_pipeline_prints_itself_back(steps):
    assert Pipeline.parse(str(Pipeline(steps))) == Pipeline(steps)


@given(st.text(alphabet="ab(){},.=\"' -", max_size=20))
def test_any_text_parses_or_is_a_pipeline_error(text):
    with contextlib.suppress(PipelineError):
        Pipeline.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wrapped with the anchor operation"),
        ("cse", r"did you mean 'builtin.module\(cse\)'"),
        ("func.func(cse)", r"did you mean 'builtin.module\(func.func\(cse\)\)'"),
        ("builtin.module(cse", "column 19: expected '\\)'"),
        ("builtin.module(cse))", "column 20: expected ',' or 'the end'"),
        ("builtin.module(cse,)", "column 20: expected the name"),
        ("builtin.module(,cse)", "column 16: expected the name"),
        ("builtin.module(cse{a=1)", "column 19: expected '}'"),
        ("builtin.module(cse canonicalize)", "column 20: expected ','"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(PipelineError, match=message):
        Pipeline.parse(text)


def test_the_caret_stands_under_the_place():
    with pytest.raises(PipelineError) as caught:
        Pipeline.parse("builtin.module(cse,)")
    _, line, caret = str(caught.value).splitlines()
    assert line[caret.index("^")] == ")"


def test_ours_and_upstreams_in_one_pass_manager(log):
    text = "builtin.module(cse,func.func(canonicalize),test-log{opt=3},symbol-dce)"
    execution = execution_of(text)
    execution.run(IRModule.parse(MODULE).mlir_module)
    assert log == [DEFAULTS | {"opt": 3}]
    printed = str(execution.manager)
    assert printed.startswith("builtin.module(cse,func.func(canonicalize{")
    assert printed.endswith(",test-log{opt=3},symbol-dce)")


def test_a_function_pass_of_ours_may_stand_under_func_func(log):
    text = "builtin.module(func.func(cse,test-each,canonicalize),test-each)"
    execution_of(text).run(IRModule.parse(MODULE).mlir_module)
    assert log == ["f", "f"]


@pytest.mark.parametrize("anchor", ["func.func", "builtin.module", "gpu.module"])
def test_a_module_pass_of_ours_stands_at_the_top(anchor):
    with pytest.raises(PipelineError, match=f"cannot be nested under '{anchor}'"):
        execution_of(f"builtin.module({anchor}(test-log))")


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ("", {}),
        ("opt=0", {"opt": 0}),
        ("fast-math", {"fast_math": True}),
        ("fast-math=0 opt=-1", {"fast_math": False, "opt": -1}),
        ("scale=0.5", {"scale": 0.5}),
        ("scale=3", {"scale": 3.0}),
        ('target="x y"', {"target": "x y"}),
        ("names=a,b", {"names": ["a", "b"]}),
        ("names={a,b}", {"names": ["a", "b"]}),
    ],
)
def test_option_values(log, options, value):
    execution_of(f"builtin.module(test-log{{{options}}})").run(IRModule.parse(MODULE).mlir_module)
    assert log == [DEFAULTS | value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test-lg", "unknown pass 'test-lg'; did you mean 'test-log'?"),
        ("csee", "unknown pass 'csee'; did you mean 'cse'?"),
        ("func.func(canonicalise)", "unknown pass 'canonicalise'; did you mean 'canonicalize'?"),
        ("qqqqq", "unknown pass 'qqqqq'"),
        ("test-log{op=1}", "pass 'test-log' has no option 'op'; did you mean 'opt'?"),
        (
            "test-log{zzz=1}",
            "pass 'test-log' has no option 'zzz'; it takes opt, fast-math, scale, target, names",
        ),
        ("test-log{opt=x}", "option 'opt' of pass 'test-log' wants int, got 'x'"),
        ("test-log{opt=1.5}", "option 'opt' of pass 'test-log' wants int, got '1.5'"),
        (
            "test-log{fast-math=maybe}",
            "option 'fast-math' of pass 'test-log' wants bool, got 'maybe'",
        ),
        ("test-log{opt=1 opt=2}", "option 'opt' is given twice in 'opt=1 opt=2'"),
        ("to-non-dataflow{a=1}", "pass 'to-non-dataflow' has no option 'a'; it takes none"),
        (
            "canonicalize{max-iteration=1}",
            "pass 'canonicalize' has no option 'max-iteration'; did you mean 'max-iterations'?",
        ),
        ("cse{a=1}", "pass 'cse' has no option 'a'; it takes none"),
        (
            "canonicalize{max-iterations=x}",
            "pass 'canonicalize' does not accept options 'max-iterations=x'",
        ),
    ],
)
def test_misspelt(text, message):
    with pytest.raises(PipelineError) as caught:
        execution_of(f"builtin.module({text})")
    assert str(caught.value) == message


def test_options_from_python_are_checked_too():
    assert coerce_options("p", OPTIONS, {"fast_math": True})["fast_math"] is True
    for bad in ({"opt": "x"}, {"opt": True}, {"opt": 1.5}, {"target": 3}, {"fast_math": 1}):
        with pytest.raises(PipelineError, match="of pass 'p' wants"):
            coerce_options("p", OPTIONS, bad)


def test_format_options_parses_back():
    values = {"a": True, "b": 3, "c": "x y", "d_e": ["p", "q"], "f": ""}
    text = format_options(values)
    assert text == 'a=true b=3 c="x y" d-e=p,q f=""'
    assert parse_options(text) == {"a": "true", "b": "3", "c": "x y", "d-e": "p,q", "f": ""}


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("ToNonDataflow", "to-non-dataflow"),
        ("CallTIRRewrite", "call-tir-rewrite"),
        ("VMShapeLower", "vm-shape-lower"),
        ("LowerTIR", "lower-tir"),
        ("fold_constant", "fold-constant"),
    ],
)
def test_flags(name, flag):
    assert flag_of(name) == flag


class TestSequentialAsText:
    """A Sequential prints the pipeline that recreates it."""

    @pytest.mark.parametrize(
        "text",
        [
            "builtin.module()",
            "builtin.module(cse)",
            "builtin.module(cse,func.func(canonicalize{max-iterations=3}),to-non-dataflow)",
            'builtin.module(test-log{opt=3 target="x y" names=a,b},test-each,symbol-dce)',
            'builtin.module(lower-tir{target="llvm -mcpu=x86-64-v3"})',
        ],
    )
    def test_there_and_back(self, text):
        passes = Sequential.parse(text)
        assert passes.pipeline == text
        assert Sequential.parse(passes.pipeline).pipeline == text

    def test_recreated_passes_do_the_same(self, log):
        mod = IRModule.parse(MODULE)
        Sequential.parse("builtin.module(test-log{opt=7},func.func(cse,test-each))")(mod)
        assert log == [DEFAULTS | {"opt": 7}, "f"]

    def test_from_passes(self):
        inner = Sequential([transform.mlir("cse"), transform.LowerTIR("llvm")])
        passes = Sequential([transform.ToNonDataflow(), Sequential([]), inner])
        assert passes.pipeline == "builtin.module(to-non-dataflow,cse,lower-tir{target=llvm})"
        assert [type(each) for each in Sequential.parse(passes.pipeline).passes] == [
            type(each) for each in (*passes.passes[:1], *inner.passes)
        ]

    def test_print_ir_is_upstreams(self):
        passes = Sequential([transform.PrintIR("here now")])
        assert passes.pipeline == 'builtin.module(print-ir{label="here now"})'

    def test_levels_and_requirements(self):
        low = transform.FoldConstant(max_bytes=3)
        low.info = PassInfo("FoldConstant", 0, ("cse", "TestEach"))
        inner = Sequential([transform.mlir("cse"), transform.FoldScaleAxis()], 3, "Inner", ["cse"])
        passes = Sequential(
            [
                low,
                inner,
                Sequential([transform.mlir("canonicalize")], name="quotes ' and, {braces}"),
                transform.mlir("cse", opt_level=1),
                transform.mlir("cse,func.func(canonicalize)", 3, "Two"),
                transform.mlir("cse,fold-constant"),
                transform.FoldScaleAxis(),
                transform.PrintIR("a {b}, 'c'"),
            ]
        )
        assert passes.pipeline == (
            "builtin.module("
            "fold-constant{max-bytes=3 opt-level=0 required=cse,TestEach},"
            "sequential{name=Inner opt-level=3 required=cse}(cse,fold-scale-axis),"
            'sequential{name="quotes \' and, {braces}"}(canonicalize),'
            "mlir{opt-level=1}(cse),"
            "mlir{name=Two opt-level=3}(cse,func.func(canonicalize)),"
            "mlir(cse,fold-constant),"
            "fold-scale-axis,"
            "print-ir{label=\"a {b}, 'c'\"})"
        )
        again = Sequential.parse(passes.pipeline)
        assert again.pipeline == passes.pipeline
        assert [each.info for each in again.passes[:6]] == [each.info for each in passes.passes[:6]]
        inner_again = again.passes[1].passes
        assert [each.info for each in inner_again] == [each.info for each in inner.passes]

    def test_a_pass_runs_as_when_it_is_called(self):
        ran = []

        @pass_instrument
        class Watch:
            def run_before_pass(self, mod, info):
                ran.append(info.name)

        for level in range(4):
            with transform.PassContext(level, instruments=[Watch()]):
                Sequential.parse(transform.FoldScaleAxis().pipeline)(IRModule.parse(MODULE))
        assert ran == [
            "sequential", "FoldScaleAxis", "BackwardFoldScaleAxis", "ForwardFoldScaleAxis"
        ] * 4  # fmt: skip

    @pytest.mark.parametrize("level", range(4))
    @pytest.mark.parametrize(
        "names", [{}, {"disabled_pass": ["Inner"]}, {"required_pass": ["Inner", "TestThree"]}]
    )
    def test_recreated_passes_run_under_the_same_contexts(self, level, names):
        ran = []

        def register(name, level, required=()):
            run = module_pass(
                lambda mod, ctx: ran.append(name) or mod,
                opt_level=level,
                name=name,
                required=list(required),
            )
            register_pass(name, lambda: run)
            return run

        one = register("TestOne", 1)
        two, three = register("TestTwo", 2, ["TestOne"]), register("TestThree", 3)
        try:
            inner = Sequential([two, Sequential([three], 1)], 2, "Inner", ["TestThree"])
            passes = Sequential([one, inner, Sequential([three, one], 2)])
            again = Sequential.parse(passes.pipeline)
            mod = IRModule.parse(MODULE)
            with transform.PassContext(level, **names):
                passes(mod)
                first = list(ran)
                ran.clear()
                again(mod)
            assert ran == first
        finally:
            for name in ("TestOne", "TestTwo", "TestThree"):
                unregister_pass(name)

    def test_a_command_line_knows_no_levels(self, log):
        text = (
            "builtin.module(sequential{opt-level=9}(test-log{opt=1 opt-level=9}),"
            "mlir{opt-level=9}(cse),test-log{opt-level=9})"
        )
        execution = execution_of(text)
        execution.run(IRModule.parse(MODULE).mlir_module)
        assert log == [DEFAULTS | {"opt": 1}, DEFAULTS]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("sequential{level=3}(cse)", "pass 'sequential' has no option 'level'"),
            ("sequential{opt-level=x}(cse)", "option 'opt-level' of pass 'sequential' wants int"),
            ("test-log{opt-level=x}", "option 'opt-level' of pass 'test-log' wants int, got 'x'"),
            ("cse{opt-level=3}", r"write it around the pass: 'mlir\{opt-level=...\}\(cse\)'"),
            ("func.func(sequential(cse))", "stands directly in 'builtin.module"),
            ("func.func{a=1}(cse)", "'func.func' has options, so it cannot hold passes"),
        ],
    )
    def test_what_is_wrong_with_groups_and_levels(self, text, message):
        with pytest.raises(PipelineError, match=message):
            execution_of(f"builtin.module({text})")

    def test_the_level_is_no_option_of_a_pass(self):
        with pytest.raises(PipelineError, match="'opt_level' of every pass"):
            register_pass("Fine", list, options=[PassOption("opt_level", int, 0, "mine")])

    def test_a_pass_without_a_name(self):
        passes = Sequential([module_pass(lambda mod, ctx: mod, opt_level=0, name="Mine")])
        with pytest.raises(PipelineError, match=r"'Mine', which is not registered: register_pass"):
            _ = passes.pipeline
        assert str(passes) == "mine"


def test_upstream_passes_by_name():
    assert get_pass("cse").pipeline == "builtin.module(cse)"
    text = "builtin.module(canonicalize{top-down=true})"
    assert get_pass("canonicalize", top_down=True).pipeline == text
    # One that runs on functions only, under the anchor that it wants.
    assert str(get_pass("affine-loop-tile")) == "func.func(affine-loop-tile)"
    with pytest.raises(PipelineError, match="unknown pass 'csee'; did you mean 'cse'"):
        get_pass("csee")
    with pytest.raises(PipelineError, match="'cse' has no option 'nope'"):
        get_pass("cse", nope=1)


def test_the_name_of_the_hash_is_a_function_whatever_was_imported():
    code = (
        "import relax_mlir.pass_infra.passes; from relax_mlir import transform; "
        "assert callable(transform.fingerprint)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: transform.FoldScaleAxis(), "fold-scale-axis{opt-level=0}"),
        (lambda: transform.PrintIR('he "llo'), "print-ir{label='he \"llo'}"),
        (lambda: transform.PrintIR('a\'b "c"'), "print-ir{label=\"a'b 'c'\"}"),
        (
            lambda: transform.DeadCodeElimination(["main", "g"]),
            "dead-code-elimination{entry-functions=main,g opt-level=0}",
        ),
    ],
)
def test_a_printed_pass_reads_back_as_itself(make, text):
    printed = make().pipeline
    assert printed == f"builtin.module({text})"
    assert Sequential.parse(printed).pipeline == printed


def test_both_quotes_cannot_be_written():
    with pytest.raises(PipelineError, match="both kinds of quotes"):
        format_options({"label": "a'b\"c"})


def test_a_pass_object_can_be_registered():
    shared = module_pass(lambda mod, ctx: mod, opt_level=1, name="TestObject")
    try:
        assert register_pass("TestObject", shared) is shared
        assert get_pass("TestObject").info == shared.info
        assert registry.file_of("test-object") == __file__
        assert registry.file_of("cse") is None
        with pytest.raises(TypeError, match="give what makes it of them"):
            register_pass("TestObject", shared, options=OPTIONS)
    finally:
        unregister_pass("TestObject")


def test_get_pass_leaves_a_shared_pass_alone():
    shared = module_pass(lambda mod, ctx: mod, opt_level=0, name="TestShared")
    register_pass("TestShared", lambda **given: shared, options=OPTIONS)
    try:
        assert str(get_pass("TestShared", opt=3)) == "test-shared{opt=3}"
        assert str(shared) == "test-shared"
    finally:
        unregister_pass("TestShared")


@pytest.mark.parametrize(
    ("name", "make", "flag", "error", "message"),
    [
        ("Has Space", list, None, PipelineError, "cannot be the name"),
        ("Fine", list, "a,b", PipelineError, "cannot be the name"),
        ("Fine", list, "cse", PipelineError, "upstream has a pass 'cse'"),
        ("TestLog", list, "another-flag", PipelineError, "already registered as 'test-log'"),
        ("Another", list, "test-log", PipelineError, "already registered as 'test-log'"),
        ("Fine", 5, None, TypeError, "callable"),
    ],
)
def test_what_cannot_be_registered(name, make, flag, error, message):
    with pytest.raises(error, match=message):
        register_pass(name, make, flag=flag)
