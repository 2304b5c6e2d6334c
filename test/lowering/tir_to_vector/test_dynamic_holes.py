"""What dynamic shapes are known to break elsewhere: a program for each hole, against numpy."""

import numpy as np
import pytest

from relax_mlir import register_func, relax, te, topi, transform
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext

HEAD = "@I.ir_module\nclass Module:\n"


def compiled(source: str):
    """Return what a module's `main` computes."""
    text = HEAD + "\n".join(f"    {line}" for line in source.strip("\n").splitlines())
    return relax.VirtualMachine(relax.build(from_source(text)))["main"]


def numbers(*shape: int) -> np.ndarray:
    """Return positive numbers, none like another."""
    return (np.arange(np.prod(shape), dtype="float32").reshape(shape) + 1) / 8


@pytest.mark.parametrize("n", [0, 1, 5])
def test_expressions_over_symbols_that_no_dimension_is(n) -> None:
    """A PrimExpr "has not been computed": every size is an expression, none a plain symbol."""
    main = compiled("""
@R.function
def main(x: R.Tensor(("n * 2", "m + 1"), "float32")):
    with R.dataflow():
        a = R.reshape(x, (n * 2 * (m + 1),))
        b = R.zeros((n * n + m // 2, m), "float32")
        c = R.concat((a, R.reshape(b, (-1,))))
        R.output(c)
    return c, R.shape([n, m, n * m - n, (n + m) % 3])
""")
    x = numbers(2 * n, 4)
    result, shape = main(x)
    zeros = np.zeros((n * n + 1) * 3, "float32")
    np.testing.assert_array_equal(result, np.concatenate([x.ravel(), zeros]))
    assert shape == (n, 3, n * 3 - n, (n + 3) % 3)


def test_a_symbol_is_bound_after_what_uses_it_elsewhere() -> None:
    """Symbols of a branch, a loop and a callee are computed where they are needed."""
    main = compiled("""
@R.function
def half(x: R.Tensor(("k * 2",), "float32")) -> R.Tensor(("k",), "float32"):
    return R.strided_slice(x, axes=[0], begin=[0], end=[k])

@R.function
def main(x: R.Tensor("float32", ndim=1), flag: R.Tensor((), "bool")):
    if flag:
        a = R.match_cast(x, R.Tensor(("n * 4",), "float32"))
        y = half(half(a))
        z = R.add(y, R.ones((n,), "float32"))
    else:
        z = x
    return z
""")
    x = numbers(8)
    np.testing.assert_array_equal(main(x, np.array(True)), x[:2] + 1)
    np.testing.assert_array_equal(main(x[:3], np.array(False)), x[:3])
    with pytest.raises(ValueError, match=r"n \* 4"):
        main(x[:6], np.array(True))


@pytest.mark.parametrize("declared", ['"float32", ndim=2', '"float32"', "ndim=2", ""])
def test_emit_te_of_a_tensor_whose_shape_is_not_known(declared) -> None:
    """`emit_te` wants a known shape: `match_cast` gives it one, a message says so."""
    bb = relax.BlockBuilder()
    kind = relax.TensorType(
        None,
        "float32" if "float32" in declared else None,
        ndim=2 if "ndim" in declared else -1,
    )
    x = relax.Var("x", kind)
    with bb.function("main", [x]):
        with pytest.raises(Exception, match="match_cast"):
            bb.emit_te(topi.exp, x)
        known = bb.match_cast(x, relax.TensorType(("n", "m"), "float32"))
        y = bb.emit_te(lambda a: te.compute(a.shape, lambda i, j: a[i, j] * 2), known)
        bb.emit_func_output(y)
    main = relax.VirtualMachine(relax.build(bb.get()))["main"]
    np.testing.assert_array_equal(main(numbers(3, 5)), numbers(3, 5) * 2)


@pytest.mark.parametrize("declared", ['("n", "m"), "float32"', '"float32", ndim=2', ""])
@pytest.mark.parametrize("length", ["(2,)", '("k",)'])
def test_reshape_to_a_shape_that_is_data(declared, length) -> None:
    """A reshape as importers make it: the new shape is a tensor of the input."""
    main = compiled(f"""
@R.function
def main(x: R.Tensor({declared}), s: R.Tensor({length}, "int64")):
    with R.dataflow():
        shape = R.tensor_to_shape(s)
        y = R.reshape(x, shape)
        z = R.multiply(y, R.const(2.0, "float32"))
        R.output(z)
    return z
""")
    x = numbers(4, 6)
    np.testing.assert_array_equal(main(x, np.array([3, 8])), x.reshape(3, 8) * 2)
    with pytest.raises(ValueError, match="reshape"):
        main(x, np.array([5, 5]))


ALONE = {
    "R.log(x)": lambda x, y: np.log(x),
    "R.add(x, y)": lambda x, y: x + y,
    "R.flatten(x)": lambda x, y: x.ravel(),
    "R.matmul(x, R.permute_dims(y))": lambda x, y: x @ y.T,
    "R.sum(x, axis=[1])": lambda x, y: x.sum(1),
    "R.reshape(x, (-1, 2))": lambda x, y: x.reshape(-1, 2),
    "R.concat((x, y), axis=1)": lambda x, y: np.concatenate([x, y], 1),
    "R.sort(x)": lambda x, y: np.sort(x),
    "R.nn.softmax(x)": lambda x, y: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
}


@pytest.mark.parametrize("declared", ["ndim=2", '"float32", ndim=2', '"float32"', ""])
@pytest.mark.parametrize("expr", ALONE)
def test_no_operation_is_left_over(expr, declared) -> None:
    """What LegalizeOps cannot make a kernel of runs by the library."""
    main = compiled(f"""
@R.function
def main(x: R.Tensor({declared}), y: R.Tensor({declared})):
    with R.dataflow():
        z = {expr}
        R.output(z)
    return z
""")
    x, y = numbers(5, 4), numbers(5, 4)[::-1].copy()
    np.testing.assert_allclose(main(x, y), ALONE[expr](x, y), rtol=1e-5)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (1, 4), (4, 1), (1, 1), (0, 1), (0, 0)])
def test_sizes_that_cannot_be_compared_broadcast(n, m) -> None:
    """(n,) with (m,)."""
    main = compiled("""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    return R.add(x, y)
""")
    np.testing.assert_array_equal(main(numbers(n), numbers(m)), numbers(n) + numbers(m))
    with pytest.raises(ValueError, match="broadcast"):
        main(numbers(2), numbers(3))


def test_memory_needs_no_bounds() -> None:
    """Intermediates have storage although nothing says how large their symbols get."""
    register_func("test.twice", lambda x: x * 2, override=True)
    module = from_source(
        HEAD
        + """
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        a = R.call_pure_packed("test.twice", x, sinfo_args=R.Tensor((n, m), "float32"))
        b = R.permute_dims(R.exp(a))
        c = R.permute_dims(R.exp(b))
        d = R.permute_dims(R.exp(c))
        return d
"""
    )
    executable = relax.build(module)
    main = relax.VirtualMachine(executable)["main"]
    # Where powers of powers are large, the last bit of the first becomes hundreds of the last.
    x = -abs(numbers(2, 3))
    np.testing.assert_allclose(main(x), np.exp(np.exp(np.exp(x * 2))).T, rtol=2e-6)


def test_loops_in_the_graph() -> None:
    """`while` with a tensor that grows, `for` over a range that run time knows."""
    main = compiled("""
@R.function
def main(x: R.Tensor(("n",), "float32"), k: R.Prim("int64")):
    y = x
    total = R.sum(x)
    for i in range(k):
        y = R.concat((y, x))
        total = total + R.sum(y)
    while R.max(y) > R.const(0.5, "float32"):
        y = y * R.const(0.5, "float32")
    return y, total
""")
    x = numbers(3)
    for k in (-2, 0, 1, 3):
        y, total = main(x, k)
        wanted = np.tile(x, max(k, 0) + 1)
        while wanted.max() > 0.5:
            wanted = wanted * np.float32(0.5)
        np.testing.assert_array_equal(y, wanted)
        turns = max(k, 0)
        np.testing.assert_allclose(total, x.sum() * (turns + 1) * (turns + 2) / 2, rtol=1e-6)


def test_fusion_keeps_a_kernel_behind_the_cast_that_binds_its_symbol() -> None:
    """Two kernels that would fuse, the second over a symbol that a cast between them binds."""
    main = compiled("""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor):
    with R.dataflow():
        a = R.exp(x)
        b = R.match_cast(y, R.Tensor(("k",), "float32"))
        c = R.add(R.multiply(a, a), R.sum(R.full((k, 1), R.const(1.0, "float32"), "float32")))
        d = R.multiply(c, R.sum(b))
        R.output(d)
    return d
""")
    x, y = numbers(4), numbers(3)
    np.testing.assert_allclose(main(x, y), (np.exp(x) ** 2 + 3) * y.sum(), rtol=1e-5)


def test_a_private_function_may_be_called_fused() -> None:
    """Names that passes would give are not theirs alone."""
    main = compiled("""
@R.function(private=True)
def fused(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return R.exp(R.add(x, x))

@R.function(private=True)
def fused_add_exp(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return R.abs(R.negative(x))

@R.function
def main(x: R.Tensor(("n",), "float32")):
    return R.add(fused(x), fused_add_exp(x))
""")
    np.testing.assert_allclose(main(numbers(4)), np.exp(numbers(4) * 2) + numbers(4), rtol=1e-5)


def test_passes_leave_unknown_shapes_alone() -> None:
    """All optimisations together over a program without any shape."""
    module = from_source(
        HEAD
        + """
    @R.function
    def main(x: R.Tensor, y: R.Tensor(ndim=2)):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(x, y)
            c = R.multiply(a, b)
            unused = R.exp(c)
            R.output(c)
        return c
"""
    )
    with PassContext(opt_level=3):
        module = transform.EliminateCommonSubexpr()(module)
        module = transform.DeadCodeElimination()(module)
        executable = relax.build(module)
    x = numbers(3, 2)
    np.testing.assert_allclose(relax.VirtualMachine(executable)["main"](x, x), (x + x) ** 2)
