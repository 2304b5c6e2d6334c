"""The design document's programs parse as they stand there (R02-R12, R16-R18, R22)."""

import pytest
from scripts import BEFORE_AFTER, COMPILE_FLOW, DOCUMENT, EMIT_TE, MATCH_SHAPE, assembly

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
    # R.log of R.Tensor[_, _] says nothing, so the annotated sum is asserted at run time (A0).
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
