"""Each of the 470 names of TVM 0.27's `T` works, or is refused for a reason."""

import textwrap

import pytest
from tvm_names import NARROW, OTHERS, VECTORS, WORKS

from relax_mlir.errors import ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.script.tir_parser.unsupported import unsupported_reason

_ALL = sorted({*OTHERS, *VECTORS, *NARROW})
_HEAD = """
from relax_mlir.script import tir as T

@T.prim_func
def main(
    A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), K: T.Buffer((8,), "int8"),
    x: T.float32, h: T.handle, B: T.Buffer((8,), "float32"), J: T.Buffer((8,), "int32"),
    F: T.Buffer((8,), "float64"), F2: T.Buffer((64,), "float64"),
):
    T.func_attr({"tir.noalias": True})
    n = T.var("int64")
    M = T.match_buffer(h, (n,), "float32")
    B[0] = M[0]
"""


def read(body: str) -> str:
    text = _HEAD + textwrap.indent(body, "    ") + "\n"
    module = from_source(text)
    printed = module.script()
    assert_structural_equal(from_source(printed), module)
    return printed


def test_the_list_is_all_of_it() -> None:
    assert len(_ALL) == 470
    assert set(WORKS) <= set(_ALL)
    assert not [name for name in WORKS if unsupported_reason(f"T.{name}")]


@pytest.mark.parametrize("name", sorted(WORKS))
def test_works(name: str) -> None:
    read(WORKS[name])


@pytest.mark.parametrize("name", [name for name in _ALL if name not in WORKS])
def test_refused(name: str) -> None:
    why = unsupported_reason(f"T.{name}")
    assert why is not None
    assert why.startswith(f"T.{name} ")
    for text in (f"T.{name}(A[0])", f"B[0] = T.{name}(A[0])", f"with T.{name}(4):\n    B[0] = x",
                 f"for i in T.{name}(4):\n    B[i] = x"):  # fmt: skip
        with pytest.raises(ScriptError) as caught:
            read(text)
        assert why in str(caught.value), text
