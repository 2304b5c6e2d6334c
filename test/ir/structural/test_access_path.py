"""The access path of a difference is an expression of Python."""

import pytest

from relax_mlir import ir
from relax_mlir.errors import StructuralEqualError
from relax_mlir.script import from_source

SOURCE = """
@R.function
def main(x: R.Tensor((2,), "float32"), flag: R.Tensor((), "bool")):
    s = R.exp(x)
    with R.dataflow():
        y = R.add(s, R.const([1.0, 2.0]))
        z = R.negative(y)
        R.output(z)

    @R.function
    def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        w = R.sin(v)
        return w

    if flag:
        r = R.tanh(z)
        t = R.prim_value(3)
    else:
        r = inner(z)
        t = R.prim_value(4)
    return (r, t)
"""


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("R.exp(x)", "R.log(x)", ".body.blocks[0].bindings[0].value"),
        ("R.negative", "R.abs", ".body.blocks[1].bindings[1].value"),
        ("R.add(s, R.const([1.0", "R.add(s, R.const([3.0", ".body.blocks[1].bindings[0].value"),
        ("R.sin", "R.cos", ".body.blocks[2].bindings[0].value.body.blocks[0].bindings[0].value"),
        (
            "R.tanh",
            "R.sigmoid",
            ".body.blocks[2].bindings[1].value.true_branch.blocks[0].bindings[0].value",
        ),
    ],
)
def test_the_path_leads_to_what_differs(old: str, new: str, path: str) -> None:
    module, other = from_source(SOURCE), from_source(SOURCE.replace(old, new))
    for lhs, rhs, root in ((module, other, '["main"]'), (module["main"], other["main"], "")):
        found = ir.get_first_structural_mismatch(lhs, rhs)
        assert found is not None
        assert found.access_path == f"<root>{root}{path}"
        with pytest.raises(StructuralEqualError, match="access path: <root>"):
            ir.assert_structural_equal(lhs, rhs)
        there = eval(f"lhs{found.access_path.removeprefix('<root>')}", {"lhs": lhs})
        assert old.split("(")[0].removeprefix("R.") in str(there)


def test_a_value_without_a_binding() -> None:
    text = "@R.function\ndef main():\n    return R.prim_value(3)\n"
    module, other = from_source(text), from_source(text.replace("3", "4"))
    found = ir.get_first_structural_mismatch(module["main"], other["main"])
    assert found is not None
    assert found.access_path == "<root>.body.body.value"
    assert module["main"].body.body.value == 3
    # Prim funcs have none, nor have modules.
    assert ir.get_first_structural_mismatch(module, ir.IRModule()).access_path == ""
