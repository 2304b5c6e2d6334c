"""IRModule.parse: what it says of text that is no module."""

import pytest

from relax_mlir import IRModule
from relax_mlir.errors import VerifyError


def test_custom_syntax_is_named_with_its_place() -> None:
    text = (
        "func.func @main(%x: tensor<4xf32>) {\n  %0 = relax.exp %x : tensor<4xf32>\n  return\n}\n"
    )
    for each in (text, text.encode()):
        with pytest.raises(
            VerifyError, match=r"line 2, column 8: 'relax\.exp' has no custom syntax"
        ):
            IRModule.parse(each)


def test_other_errors_are_mlirs_own() -> None:
    with pytest.raises(VerifyError) as caught:
        IRModule.parse("func.func @main() {\n  return %x : i1\n}\n")
    assert "2:10" in str(caught.value)
    assert "undeclared SSA value" in str(caught.value)
