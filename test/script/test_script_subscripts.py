"""Parts of tensors in script, as numpy indexes them."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ScriptError, ShapeMismatchError
from relax_mlir.script import from_source, script

HEAD = """
@R.function
def f(x: R.Tensor(("n", "m"), "float32"), i: R.Tensor(("k",), "int64"), u: R.Tensor,
      y: R.Tensor((4,), "int8")):
    return """
PARTS = (
    "x[1:n]", "x[:, -1]", "x[None, ..., ::2]", "x[0, m - 1]", "x[::-1, 1:-1]", "x[i]", "x[n - 1]",
    "x[..., 0]", "x[:]", "u[0]", "u[1:3, ...]", "u[None]", "y[-4]", "x[2:0:-1]", "x[-2:, None]",
)  # fmt: skip


def test_parts() -> None:
    module = from_source(f"{HEAD}({', '.join(PARTS)})")
    assert script(from_source(script(module))) == script(module)
    f = relax.VirtualMachine(relax.build(module))["f"]
    for n, m in ((5, 4), (3, 2), (3, 7)):
        x = np.arange(n * m, dtype="f4").reshape(n, m)
        i, y = np.array([0, -1, 2]), np.arange(4, dtype="i1")
        names = {"x": x, "i": i, "u": x, "y": y, "n": n, "m": m}
        for part, got in zip(PARTS, f(x, i, x, y), strict=True):
            wanted = eval(part, names)
            assert got.shape == wanted.shape, part
            np.testing.assert_array_equal(got, wanted, part)


def test_an_element_that_is_not_there() -> None:
    f = relax.VirtualMachine(relax.build(from_source(f"{HEAD}x[3]")))["f"]
    y = np.zeros(4, "int8")
    x, i = np.zeros((3, 2), "float32"), np.zeros(1, "int64")
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 0"):
        f(x, i, x, y)


@pytest.mark.parametrize(
    ("part", "place", "message"),
    [
        ("x[0, 0, 0]", "x[0, 0, 0]", "3 indices for a tensor of 2 dimensions"),
        ("x[..., ...]", "...", "an index can have one '...' only"),
        ("x[1.5]", "1.5", "an index is an integer, a symbol or a slice, got 1.5"),
        ("x['a']", "'a'", "an index is an integer, a symbol or a slice, got 'a'"),
        ("x[1:2.5]", "2.5", "an index is an integer or a symbol, got 2.5"),
        ("x[::0]", "0", "the step of a slice must be an integer other than 0"),
        ("x[::n]", "n", "the step of a slice must be an integer other than 0"),
        ("x[i, 0]", "i", "a tensor of indices must be the only index"),
        ("y[4]", "4", "index 4 is out of range for dimension 0, which is 4"),
        ("u[..., 0]", "u[..., 0]", "indices after '...' need a tensor of known rank"),
    ],
)
def test_what_is_no_index(part: str, place: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(HEAD + part)
    assert message in str(caught.value)
    underlined = str(caught.value).splitlines()[2]
    assert underlined.count("^") == len(place)


def test_a_tensor_of_unknown_dtype_may_hold_indices() -> None:
    assert "R.take(x, u, axis=0)" in script(from_source(f"{HEAD}x[u]"))


def test_methods() -> None:
    text = script(from_source(f"{HEAD}(x + 1).sum(axis=0).astype('float16'), x.reshape((-1,))"))
    assert "= R.sum(" in text
    assert "= R.astype(" in text
    assert "= R.reshape(x, R.shape([m * n]))" in text
    for part, message in (
        ("x.summ()", "undefined function 'x.summ'"),
        ("x.reshape()", "R.reshape needs argument 'shape'"),
        ("n.sum()", "x must be a tensor"),
    ):
        with pytest.raises(ScriptError, match=message):
            from_source(HEAD + part)
