"""Symbols inside expressions: solved where that works, else checked once they are bound."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import PassError, ScriptError, ShapeMismatchError
from relax_mlir.script import from_source

HEAD = """
@I.ir_module
class Module:
"""


def run(body: str, function: str = "main"):
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return relax.VirtualMachine(relax.build(from_source(HEAD + lines)))[function]


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_a_parameter_alone_binds() -> None:
    main = run(
        """
@R.function
def main(x: R.Tensor(("n * 2",), "float32")):
    return R.add(x, x), R.shape([n, n + 1])
"""
    )
    total, shape = main(ones(6))
    np.testing.assert_array_equal(total, np.full(6, 2))
    assert shape == (3, 4)
    assert main(ones(0))[1] == (0, 1)
    with pytest.raises(
        ShapeMismatchError,
        match=r"argument 'x' \(declared R.Tensor\(\(n \* 2,\), \"float32\"\) at .*:5\): "
        r"dimension 0 is 7, expected n \* 2, and no size n gives that: 7 is not divisible by 2",
    ):
        main(ones(7))


def test_parameters_bind_in_any_order() -> None:
    main = run(
        """
@R.function
def main(x: R.Tensor(("n + m * 3",), "float32"), y: R.Tensor(("m - k", "k"), "float32")):
    return R.shape([n, m, k])
"""
    )
    assert main(ones(20), ones(4, 2)) == (2, 6, 2)
    with pytest.raises(ShapeMismatchError, match=r"expected m \* 3 \+ n.*n would be -1"):
        main(ones(17), ones(4, 2))


def test_match_cast_solves_and_checks() -> None:
    main = run(
        """
@R.function
def main(x: R.Tensor, y: R.Tensor(("m",), "float32")):
    a = R.match_cast(x, R.Tensor(("n * 2", "n // 4", "m * n", "n + 3"), "float32"))
    return R.shape([n])
"""
    )
    assert main(ones(10, 1, 15, 8), ones(3)) == (5,)
    for shape, message in (
        ((9, 1, 15, 8), "dimension 0 is 9, expected n \\* 2, and no size n"),
        ((10, 2, 15, 8), r"dimension 1 is 2, expected 1 \(\(n // 4\)\)"),
        ((10, 1, 16, 8), "dimension 2 is 16, expected 15"),
        ((10, 1, 15, 9), "dimension 3 is 9, expected 8"),
    ):
        with pytest.raises(ShapeMismatchError, match=message) as error:
            main(ones(*shape), ones(3))
        assert "match_cast of 'a'" in str(error.value)
        assert ":6" in str(error.value)


def test_match_shape_of_a_shape_value() -> None:
    main = run(
        """
@R.function
def main(s: R.Shape(ndim=2)):
    t = R.match_shape(s, (n * 3 + 1, m))
    return R.shape([n, m])
"""
    )
    assert main((7, 5)) == (2, 5)
    with pytest.raises(ShapeMismatchError, match="no size n gives that: 5 is not divisible by 3"):
        main((6, 5))


def test_a_bound_symbol_is_only_checked() -> None:
    main = run(
        """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n * 2",), "float32")):
    return R.shape([n])
"""
    )
    assert main(ones(3), ones(6)) == (3,)
    with pytest.raises(ShapeMismatchError, match=r"dimension 0 is 7, expected 6 \(n \* 2\)"):
        main(ones(3), ones(7))


def test_what_does_not_determine_a_symbol_is_refused() -> None:
    for shape in ("n * n", "n // 2", "n % 3", "T.max(n, 2)", "n + m"):
        text = f"""
@R.function
def main(x: R.Tensor(("{shape}",), "float32")):
    return x
"""
        with pytest.raises(ScriptError, match="only inside expressions that do not determine it"):
            run(text)


PRIM = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n * 2 + 1,), "float32")
    B = T.match_buffer(b, (T.max(n, 3), T.min(n, 3)), "float32")
    for i, j in T.grid(T.max(n, 3), T.min(n, 3)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[0] + T.float32(n)
"""


def test_native_functions_solve() -> None:
    """A prim func's own checks, and the sizes in its loops."""
    vm = relax.VirtualMachine(
        relax.build(
            from_source(
                HEAD
                + "\n".join(f"    {line}" for line in PRIM.strip("\n").splitlines())
                + """
    @R.function
    def main(x: R.Tensor(("m",), "float32"), s: R.Shape(["p", "q"])):
        return R.call_tir(Module.f, (x,), R.Tensor((p, q), "float32"))
"""
            )
        )
    )
    for n in (0, 1, 3, 7):
        result = vm["main"](ones(n * 2 + 1), (max(n, 3), min(n, 3)))
        np.testing.assert_array_equal(result, np.full((max(n, 3), min(n, 3)), 1 + n))
    with pytest.raises(
        ShapeMismatchError, match=r"buffer 'B' dimension 0: expected 4 \(T.max\(3, n\)\), got 5"
    ):
        vm["main"](ones(9), (5, 3))
    with pytest.raises(ShapeMismatchError, match=r"'A' dimension 0: expected 7 .*, got 8"):
        vm["main"](ones(8), (3, 3))


def test_kernels_over_solved_symbols_are_native() -> None:
    """Fusion and outlining keep what signatures solve."""
    main = run(
        """
@R.function
def main(x: R.Tensor(("n * 2 + 1", "m"), "float32"), y: R.Tensor(("m", 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, y)
        b = R.exp(a)
        c = R.reshape(b, R.shape([n * 8 + 4]))
        d = R.add(c, c)
        R.output(d)
    return d
"""
    )
    x, y = np.random.default_rng(0).random((7, 5), np.float32), ones(5, 4)
    np.testing.assert_allclose(main(x, y), np.exp(x @ y).reshape(28) * 2, rtol=1e-5)


def test_calls_bind_the_callees_symbols() -> None:
    main = run(
        """
@R.function(private=True)
def half(x: R.Tensor(("n * 2",), "float32")) -> R.Shape(["n"]):
    return R.shape([n])
@R.function
def main(x: R.Tensor(("k",), "float32")):
    return Module.half(x)
"""
    )
    assert main(ones(8)) == (4,)
    with pytest.raises(ShapeMismatchError, match="7 is not divisible by 2"):
        main(ones(7))


def test_declared_bounds_are_checked() -> None:
    main = run(
        """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    R.func_attr({"tir_var_upper_bound": {"n": 8}, "bounds": {"m": [1, 2]}})
    y = R.match_cast(R.unique(x), R.Tensor(("m",), "float32"))
    return y
"""
    )
    assert main(ones(8)).shape == (1,)
    with pytest.raises(ShapeMismatchError, match=r"n is 9 .by argument 'x'., .* at most 8"):
        main(ones(9))
    with pytest.raises(ShapeMismatchError, match=r"m is 3 .by match_cast of 'y'., .* at most 2"):
        main(np.arange(3, dtype=np.float32))
    with pytest.raises(ShapeMismatchError, match=r"m is 0 .*, declared to be at least 1"):
        main(ones(0))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ('{"tir_var_upper_bound": 4}', "is a dictionary from symbols to integers"),
        ('{"tir_var_upper_bound": {"n": "x"}}', "gives 'n' integers"),
        ('{"bounds": {"n": [1]}}', "gives 'n' two integers"),
        ('{"bounds": {"n": [3, 1]}}', "no 'n' is at least 3 and at most 1"),
    ],
)
def test_bounds_without_sense_are_refused(attrs, message) -> None:
    text = f"""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    R.func_attr({attrs})
    return x
"""
    with pytest.raises(PassError, match=message):
        run(text)
