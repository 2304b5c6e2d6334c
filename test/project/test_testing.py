"""`testing`, and what is said to arguments of the wrong kind by what people meet first."""

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import arith, instrument, relax, testing, tir, transform
from relax_mlir.errors import (
    BuilderError,
    ConfigKeyError,
    ExprTypeError,
    PassTypeError,
    PipelineError,
)
from relax_mlir.relax.expr_functor import mutator
from relax_mlir.script import from_source
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def test_arrays_are_compared() -> None:
    one = np.float32([1, 2])
    near = np.float32([1, 2.001])
    testing.assert_allclose(one, [1, 2])
    testing.assert_allclose((one, (one, 3.0)), [relax_mlir.nd.array(one), (one + 1e-9, 3)])
    testing.assert_allclose(one.astype(ml_dtypes.bfloat16), one)
    with pytest.raises(AssertionError, match=r"shape \(2,\), expected \(2, 1\)"):
        testing.assert_allclose(one, one[:, None])
    with pytest.raises(AssertionError, match="1 fields, expected 2"):
        testing.assert_allclose([one], [one, one])
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        testing.assert_allclose(one, near, rtol=1e-4)
    testing.assert_allclose(one, near, rtol=1e-3)
    assert testing.device_enabled("llvm")
    assert not testing.device_enabled("cuda")
    assert [name for name, _ in testing.enabled_targets()] == ["llvm"]
    with pytest.raises(AttributeError, match=r"pytest\.mark\.parametrize"):
        _ = testing.parametrize_targets


def test_remainders() -> None:
    n, m = tir.Var("n"), tir.Var("m")
    analyzer = arith.Analyzer()
    assert analyzer.modular_set(n * 4 + 6) == (4, 2)
    assert analyzer.modular_set(n * 12 + m * 18 - 1) == (6, 5)
    assert analyzer.modular_set(n) == (1, 0)
    assert analyzer.modular_set(7) == (0, 7)
    analyzer.assume(n % 8 == 0)
    assert analyzer.modular_set(n * 3 + 5) == arith.ModularSet(24, 5)
    assert analyzer.modular_set(n // 4) == (2, 0)
    for make in (lambda: n / m, lambda: n / (m + 1)):
        with pytest.raises(ExprTypeError, match="// rounds down"):
            make()


class _Hooks:
    def run_before_pass(self, mod: object) -> None:
        pass


def _context(**given: object) -> object:
    return transform.PassContext(**given)


@pytest.mark.parametrize(
    ("make", "error", "why"),
    [
        (lambda: _context(opt_level="3"), PassTypeError, "opt_level is an int, got str '3'"),
        (lambda: _context(disabled_pass="FuseKernels"), PassTypeError, r"write \['FuseKernels'\]"),
        (lambda: _context(disabled_pass=[transform.FuseKernels()]), PassTypeError,
         "write the name of the pass, 'FuseKernels'"),
        (lambda: _context(instruments=["timing"]), PassTypeError, "@pass_instrument missing"),
        (lambda: _context(config={3: 1}), PassTypeError, "the key of a config option is a str"),
        (lambda: _context(config={"tir.Unroll": 1}), ConfigKeyError, "candidates are"),
        (lambda: transform.Sequential(["FuseOps"]), PassTypeError, r"get_pass\('FuseOps'\)"),
        (lambda: transform.FuseOps()("x"), PassTypeError, "script.from_source reads TVMScript"),
        (lambda: transform.module_pass(print), PipelineError, "provide opt_level"),
        (lambda: transform.module_pass(print, opt_level=1, required="x"), PassTypeError,
         "list/tuple of names, got 'x'"),
        (lambda: instrument.pass_instrument(_Hooks), PassTypeError,
         r"takes \(self, mod.*called with \(self, mod, info\)"),
        (lambda: instrument.DumpIR(3), PassTypeError, "the path of a folder, got 3"),
        (lambda: instrument.PrintBeforeAll(3), PassTypeError, "file is what to print to"),
    ],
)  # fmt: skip
def test_wrong_kinds(make: object, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        make()


def test_several_subscripts() -> None:
    with pytest.raises(relax_mlir.errors.ScriptError, match=r"A\[i, j\], not A\[i\]\[j\]"):
        from_source("""
@T.prim_func
def f(A: T.Buffer((4, 5), "float32")):
    A[0][1] = T.float32(0)
""")


def test_operations_of_scripts_are_functions_outside() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 4), "float32"))
    with builder.function("main", [x]):
        sums = builder.emit(R.sum(R.multiply(R.nn.relu(x), R.const(2.0)), axis=[1]))
        builder.emit_func_output(R.reshape(sums, (-1, 1)))
    assert str(builder.get()["main"].ret_ty) == 'R.Tensor((n, 1), "float32")'
    cases = {
        "inside a script": R.vision, "R.image.relu means": R.image.relu(x),
        "R.exp is a function; call it": R.exp, "T.int64 means": T.int64(),
    }  # fmt: skip
    for why, wrong in cases.items():
        with pytest.raises(ExprTypeError, match=why):
            _ = relax.op.exp(wrong).ty


def test_mutators_say_what_they_miss() -> None:
    class Late(relax.PyExprMutator):
        def __init__(self) -> None:
            pass

    with pytest.raises(BuilderError, match=r"Late does not call super\(\).__init__"):
        _ = Late().builder_
    with pytest.raises(ExprTypeError, match="takes the module that it works on, or nothing, got i"):
        relax.PyExprMutator(3)

    class Misspelt(relax.PyExprMutator):
        def visit_cal_(self, call: object) -> object:
            return call

    with pytest.warns(UserWarning, match="nobody calls 'visit_cal_' of Misspelt; did you mean"):
        mutator(Misspelt)


def test_modules_have_tvms_places_too() -> None:
    import relax_mlir.ir.transform as passes
    import relax_mlir.tirx.transform as tirx_passes
    from relax_mlir import s_tir
    from relax_mlir.ir.instrument import pass_instrument
    from relax_mlir.relax.block_builder import BlockBuilder
    from relax_mlir.relax.transform import LegalizeOps
    from relax_mlir.relax.type import TupleType
    from relax_mlir.script import tirx
    from relax_mlir.script.parser import relax as script_relax

    assert relax_mlir.tirx is s_tir is tir
    assert tirx_passes is tir.transform
    assert passes is transform
    assert relax_mlir.ir.transform is transform
    assert transform.LegalizeOps is LegalizeOps
    assert instrument.pass_instrument is pass_instrument
    assert BlockBuilder is relax.BlockBuilder
    assert TupleType is relax.TupleType
    assert tirx is T
    assert script_relax is R
    assert relax_mlir.script.parser.tirx is T
    with pytest.raises(AttributeError, match=r"'relax_mlir.script' has no attribute 'nothing'"):
        _ = relax_mlir.script.nothing
    assert tir.__name__ == tir.__spec__.name == "relax_mlir.tir"
    x = tir.Var("x")
    assert str(tir.LShift(x, 2)) == str(tir.shift_left(x, 2))


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("from relax_mlir import autotvm", "has no 'autotvm': kernels are fast without tuning"),
        ("import relax_mlir.relax, relax_mlir.relay", "has no 'relay': models are Relax functions"),
        ("import relax_mlir.relax.training", "there is no automatic differentiation"),
        ("import relax_mlir.nothing", "No module named 'relax_mlir.nothing'"),
    ],
)
def test_modules_that_are_not_there(statement: str, why: str) -> None:
    with pytest.raises(ImportError, match=why):
        exec(statement)
