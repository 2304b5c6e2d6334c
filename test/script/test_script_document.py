"""The design document's programs parse as they stand there."""

import numpy as np
import pytest
from scripts import BEFORE_AFTER, COMPILE_FLOW, DOCUMENT, EMIT_TE, MATCH_SHAPE, assembly

from relax_mlir import relax
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source


@pytest.mark.parametrize("name", DOCUMENT)
def test_every_program_parses_and_verifies(name: str) -> None:
    assert from_source(DOCUMENT[name]).mlir_module.operation.verify()


def test_match_shape_of_a_tensor_and_of_a_shape() -> None:
    text = assembly(from_source(MATCH_SHAPE))
    assert text.count('"relax.match_cast"') == 3
    assert '(!relax.shape<unit>) -> !relax.shape<#relax.dims<["m", "n"]' in text


def test_annotation_adds_what_inference_did_not_know() -> None:
    # R.log of R.Tensor[_, _] says nothing, so the annotated sum is asserted at run time.
    before, after = assembly(from_source(BEFORE_AFTER)).split("@after")
    assert '"relax.match_cast"' in before
    assert '"relax.match_cast"' not in after


def test_call_tir_takes_the_dtype_of_the_callee() -> None:
    text = assembly(from_source(COMPILE_FLOW))
    assert "tensor<?x?xf32" in text
    assert 'func = "flatten"' in text


def test_integers_follow_the_outputs() -> None:
    text = assembly(from_source(EMIT_TE))
    assert "tir_vars = #relax.dims" in text
    assert 'i64 {tir.name = "m"}' in text


def test_a_snippet_without_return_is_refused() -> None:
    with pytest.raises(ScriptError, match="must end with 'return'"):
        from_source(MATCH_SHAPE.replace("    return gv0\n", ""))


def test_the_slip_in_the_first_program_is_explained() -> None:
    program = DOCUMENT["my_ir_module"].replace(
        "R.call_tir(lv3, tir_exp_func, [lv2])", "R.call_tir(lv2, tir_exp_func, [lv3])"
    )
    with pytest.raises(ScriptError, match=r"expected a shape.*got R.Tensor\(\(m \* n,\)"):
        from_source(program)


def test_integers_among_the_arguments_as_tvm_passes_them() -> None:
    module = from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def f(X: T.Buffer((3,), "float32"), n: T.int64, Y: T.Buffer((3,), "float32"), k: T.int64):
        for i in range(3):
            with T.block("b"):
                v = T.axis.spatial(3, i)
                Y[v] = X[v] * T.Cast("float32", n) + T.Cast("float32", k)

    @R.function
    def main(x: R.Tensor(("m",), "float32"), s: R.Prim(value="s")):
        m, s = T.int64(), T.int64()
        cls = Module
        a = R.match_cast(x, R.Tensor((3,), "float32"))
        b = R.call_tir(cls.f, (a, R.prim_value(2)), R.Tensor((3,), "float32"), tir_vars=(m,))
        c = R.call_tir(cls.f, (b, m * 2), R.Tensor((3,), "float32"), tir_vars=R.shape([s]))
        return R.call_tir(cls.f, (c, s), R.Tensor((3,), "float32"), tir_vars=(1,))
""")
    assert module.script() == from_source(module.script()).script()
    main = relax.VirtualMachine(relax.build(module))["main"]
    x = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(main(x, 5), (((x * 2 + 3) * 6 + 5) * 5) + 1)
