"""`relax.build`: shapes at run time, computed, matched, asserted, and refused."""

from typing import Any

import numpy as np
import pytest
from programs import Program
from relax_text import (
    MARK,
    TM,
    TN,
    X3,
    X6,
    X23,
    function,
    m,
    n,
    names_called,
    shape,
    tensor,
    tuple_of,
)

from relax_mlir import register_func, relax
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, VMError
from relax_mlir.script import from_source


@pytest.fixture(autouse=True)
def _packed_functions() -> None:
    register_func("test_build.shape", lambda x: (int(x.shape[0]) + 1, 2), override=True)
    register_func("test_build.same", lambda x: x, override=True)
    register_func("test_build.negative", lambda x: (-1, -1), override=True)

    def fill(x: np.ndarray, *outputs: np.ndarray) -> None:
        for out in outputs:
            out[...] = x.sum()

    register_func("test_build.fill", fill, override=True)


def test_shape_of_other_code() -> None:
    text = f"""func.func @f(%x: {TN}) -> tensor<?x?xf32> {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      %s = "relax.call_pure_packed"(%a) {{func = "test_build.shape"}}
        : (tuple<{TN}>) -> !relax.shape<2 : i64>
      %r = "relax.call_dps_packed"(%s, %a) {{func = "test_build.fill"}}
        : (!relax.shape<2 : i64>, tuple<{TN}>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32> }}"""
    np.testing.assert_array_equal(function(text)(X3), np.full((4, 2), 3))
    unranked = text.replace("2 : i64", "unit").replace("tensor<?x?xf32>", "tensor<*xf32>")
    np.testing.assert_array_equal(function(unranked)(X3), np.full((4, 2), 3))
    with pytest.raises(ShapeMismatchError, match="dimensions must be from 0"):
        function(text.replace("test_build.shape", "test_build.negative"))(X3)
    with pytest.raises(ArgumentTypeError, match="expected a shape, got a float32"):
        function(text.replace("test_build.shape", "test_build.same"))(X3)


def test_shape_of_other_code_is_matched() -> None:
    wanted = shape(m, 2)
    text = f"""func.func @f(%x: {TN}) -> {tensor(m, 2)} {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      %s = "relax.call_pure_packed"(%a) {{func = "test_build.shape"}}
        : (tuple<{TN}>) -> !relax.shape<2 : i64>
      %t = "relax.match_cast"(%s) : (!relax.shape<2 : i64>) -> {wanted}
      %r = "relax.call_dps_packed"(%t, %a) {{func = "test_build.fill"}}
        : ({wanted}, tuple<{TN}>) -> {tensor(m, 2)}
      return %r : {tensor(m, 2)} }}"""
    np.testing.assert_array_equal(function(text)(X3), np.full((4, 2), 3))
    three = text.replace(wanted, shape(m, 3)).replace(tensor(m, 2), tensor(m, 3))
    with pytest.raises(ShapeMismatchError, match=r"\[m, 3\]\).*dimension 1 is 2, expected 3"):
        function(three)(X3)


def _filled(*dims: Any, parameters: str = f"%x: {TN}, %y: {TM}") -> str:
    """Return a function whose result is a tensor of computed dimensions."""
    return f"""func.func @f({parameters}) -> {tensor(*dims)} {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      %s = "relax.shape_expr"() : () -> {shape(*dims)}
      %r = "relax.call_dps_packed"(%s, %a) {{func = "test_build.fill"}}
        : ({shape(*dims)}, tuple<{TN}>) -> {tensor(*dims)}
      return %r : {tensor(*dims)} }}"""


def test_computed_dimensions() -> None:
    f = function(_filled(n // m, n % m, n.ceildiv(m), n * m, n + 2 * m + 3))
    for a, b in [(6, 4), (7, 2), (0, 1), (5, 5)]:
        x, y = np.zeros(a, "float32"), np.zeros(b, "float32")
        assert f(x, y).shape == (a // b, a % b, -(-a // b), a * b, a + 2 * b + 3)
    with pytest.raises(ShapeMismatchError, match="dimension 0 divides by zero"):
        f(X6, X3[:0])


def test_remainder_of_zero() -> None:
    f = function(_filled(n % m))
    assert f(X6, np.zeros(4, "float32")).shape == (2,)
    with pytest.raises(ShapeMismatchError, match="divides by zero"):
        f(X6, X3[:0])
    quotient = '#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1 floordiv s0)>>'
    f = function(f"""func.func @f(%x: {TN}, %y: {TM}) -> i64 {MARK} {{
      %i = "relax.prim_value"() {{value = {quotient}}} : () -> i64
      return %i : i64 }}""")
    assert f(X6, X3) == 2
    with pytest.raises(ShapeMismatchError, match=r"f: \(n // m\).*divides by zero"):
        f(X6, X3[:0])


def test_sizes_past_64_bits() -> None:
    # Arrays without elements may have huge dimensions.
    rows, columns = tensor(n, 0), tensor(0, m)
    head = f"func.func @f(%x: {rows}, %y: {columns})"
    product = shape(n * m)
    f = function(f"""{head} -> {product} {MARK} {{
      %s = "relax.shape_expr"() : () -> {product}
      return %s : {product} }}""")
    g = function(f"""{head} -> {tensor(n, m)} {MARK} {{
      %r = "relax.matmul"(%x, %y) : ({rows}, {columns}) -> {tensor(n, m)}
      return %r : {tensor(n, m)} }}""")
    for size in (2**32, 2**33):
        x, y = np.zeros((size, 0), "float32"), np.zeros((0, size), "float32")
        with pytest.raises(ShapeMismatchError, match="does not fit 64 bits"):
            f(x, y)
        with pytest.raises(VMError, match="cannot allocate"):
            g(x, y)
    np.testing.assert_array_equal(g(x[:2], y[:, :3]), np.zeros((2, 3)))


def test_negative_dimensions() -> None:
    f = function(_filled(n - 4))
    assert f(X6, X3).shape == (2,)
    assert f(X6[:4], X3).shape == (0,)
    with pytest.raises(ShapeMismatchError, match=r"f: R.Shape\(\[n - 4\]\).*: dimension 0 is -1"):
        f(X3, X3)


def test_dimensions_that_no_operand_binds() -> None:
    product = tensor(n * m)
    f = function(f"""func.func @f(%s: {shape(n, m)}, %x: {product}) -> {product} {MARK} {{
      %e = "relax.exp"(%x) : ({product}) -> {product}
      return %e : {product} }}""")
    np.testing.assert_allclose(f((3, 1), X3), np.exp(X3), rtol=1e-6)
    assert f((0, 9), X3[:0]).shape == (0,)
    with pytest.raises(ShapeMismatchError, match=r"'arg1'.*dimension 0 is 3, expected 6"):
        f((3, 2), X3)
    with pytest.raises(ArgumentTypeError, match="expected a shape of 2 dimensions"):
        f((3,), X3)


def test_compound_dimension_before_its_symbol() -> None:
    double = tensor(n * 2)
    f = function(f"""func.func @f(%y: {double}, %x: {TN}) -> {double} {MARK} {{
      %e = "relax.exp"(%y) : ({double}) -> {double}
      return %e : {double} }}""")
    np.testing.assert_allclose(f(X6, X3), np.exp(X6), rtol=1e-6)
    with pytest.raises(ShapeMismatchError, match=r"'arg0'.*dimension 0 is 6, expected 12"):
        f(X6, X6)


def test_division_by_a_zero_symbol() -> None:
    quotient = tensor(n // m)
    f = function(f"""func.func @f(%x: {TN}, %y: {TM}, %z: {quotient}) -> {quotient} {MARK} {{
      %e = "relax.exp"(%z) : ({quotient}) -> {quotient}
      return %e : {quotient} }}""")
    assert f(X6, X3, X3[:2]).shape == (2,)
    with pytest.raises(ShapeMismatchError, match="the expected one divides by zero"):
        f(X6, X3[:0], X3)


@pytest.mark.parametrize(
    "source", ["tensor<*x!relax.any_dtype>", "!relax.object", "tensor<?x?xf32>"]
)
def test_match_cast_checks_everything(source: str) -> None:
    pattern = tensor(n, n * 2)
    f = function(f"""func.func @f(%x: {source}) -> {pattern} {MARK} {{
      %y = "relax.match_cast"(%x) : ({source}) -> {pattern}
      %e = "relax.exp"(%y) : ({pattern}) -> {pattern}
      return %e : {pattern} }}""")
    assert f(np.ones((2, 4), "float32")).shape == (2, 4)
    for bad in (X23, X3, np.ones((2, 4)), 3, "x", None):
        with pytest.raises((ArgumentTypeError, ShapeMismatchError), match=r"(match_cast|argument)"):
            f(bad)


@pytest.mark.parametrize("nested", ["tuple<tensor<*xf32>, tensor<?xf32>>", "!relax.object"])
def test_match_cast_of_tuples_checks_their_fields(nested: str) -> None:
    pair = f"tuple<{tensor(n)}, {tensor(n * 2)}>"
    source, pattern = f"tuple<{TM}, {nested}>", f"tuple<{TM}, {pair}>"
    f = function(f"""func.func @f(%x: {source}) -> {tensor(n * 2)} {MARK} {{
      %y = "relax.match_cast"(%x) : ({source}) -> {pattern}
      %p = "relax.tuple_get_item"(%y) {{index = 1 : i64}} : ({pattern}) -> {pair}
      %z = "relax.tuple_get_item"(%p) {{index = 1 : i64}} : ({pair}) -> {tensor(n * 2)}
      %e = "relax.negative"(%z) : ({tensor(n * 2)}) -> {tensor(n * 2)}
      return %e : {tensor(n * 2)} }}""")
    np.testing.assert_array_equal(f((X3, (X3, X6))), -X6)
    with pytest.raises(ShapeMismatchError, match=r"field 1, field 1: dimension 0 is 3, expected 6"):
        f((X3, (X3, X3)))
    with pytest.raises(ArgumentTypeError, match="field 1: expected a tuple of 2"):
        f((X3, X3))


def test_branches_of_which_one_calls_a_function_that_is_known_better() -> None:
    f = relax.VirtualMachine(
        relax.build(
            from_source("""
@I.ir_module
class Module:
    @R.function
    def pair(x: R.Tensor):
        return (R.argsort(x), R.exp(x))

    @R.function
    def main(x: R.Tensor, s: R.Shape(["m"]), c: R.Tensor((), "bool")):
        m = T.int64()
        y = R.permute_dims(x, [1, 0])
        if c:
            t = cls.pair(y)
            a = t[0]
            b = t[1]
        else:
            a = R.zeros(R.shape([m, 3]), "int64")
            b = R.add(y, y)
        return (a, b)
""")
        )
    )["main"]
    x = np.float32([[0, 2], [1, 0]])
    for condition, expected in ((True, np.exp(x.T)), (False, 2 * x.T)):
        indices, values = f(x, (4,), np.array(condition))
        np.testing.assert_allclose(values, expected, rtol=1e-6)
        assert indices.shape == ((2, 2) if condition else (4, 3))


def test_static_functions_need_no_heap() -> None:
    program = Program()
    program.op("f", "exp", ([4, 8], "float32"))
    vm = program.build()
    called = [name.removeprefix("vm.builtin.") for name in names_called(vm)]
    assert called == ["check_tensor", "alloc_storage", "alloc_tensor", "exp"]
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 8, expected 4"):
        vm["f"](np.ones((8, 4), "float32"))


def test_a_size_that_is_a_product_of_quotients() -> None:
    program = Program()
    x, weight = ["a", "b", "c", "d"], ["o", "b", "k", "l"]
    program.op("f", "conv2d", (x, "float32"), (weight, "float32"), strides=[2, 3], padding=[2, 1])
    ones = [np.ones(dims, "float32") for dims in ((2, 2, 5, 3), (5, 2, 1, 2))]
    found = program.build()["f"](*ones)
    inside = np.zeros((9, 5), "float32")
    inside[2:7, 1:4] = 2  # two channels
    rows = inside[::2][:, [0, 3]] + inside[::2][:, [1, 4]]
    np.testing.assert_array_equal(found, np.broadcast_to(rows, (2, 5, 5, 2)))
