"""Programs whose shapes and dtypes only run time knows, and kernels compiled then."""

import threading

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.compiler import specialize
from relax_mlir.compiler.specialize import KernelCache
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.specializer import current
from relax_mlir.script import from_source


def compiled(body: str):
    text = "@I.ir_module\nclass Module:\n    @R.function\n" + "\n".join(
        f"    {line}" for line in body.strip("\n").splitlines()
    )
    return relax.VirtualMachine(relax.build(from_source(text)))["main"]


@pytest.fixture
def cache():
    """A cache that compiles at once, in place of the process's."""
    mine = KernelCache(worth=0, least=1)
    before = current.specializer
    specialize.enable(mine)
    yield mine
    current.specializer = before


@pytest.fixture
def library():
    """Nothing is compiled at run time."""
    before = current.specializer
    specialize.disable()
    yield
    current.specializer = before


DOCUMENT = """
def main(x: R.Tensor):
    with R.dataflow():
        lv0: R.Tensor = R.log(x)
        lv1: R.Tensor = R.flatten(lv0)
        lv2: R.Tensor(("m",), "float32") = R.match_shape(lv1, (m,))
        gv0: R.Tensor(("m",), "float32") = R.exp(lv2)
        R.outputs(gv0)
    return gv0
"""

EVERYTHING = """
def main(x: R.Tensor, y: R.Tensor):
    with R.dataflow():
        a = R.log(x)
        b = R.add(a, y)
        c = R.matmul(b, y)
        d = R.sum(c, axis=[-1])
        e = R.max(c, axis=None, keepdims=True)
        f = R.reshape(c, R.shape([2, 8]))
        g = R.nn.softmax(R.permute_dims(c), axis=0)
        h = R.astype(R.greater(g, R.const(0.2, "float32")), "int32")
        R.output(b, c, d, e, f, g, h)
    return b, c, d, e, f, g, h
"""


def expected(x: np.ndarray, y: np.ndarray):
    b = np.log(x) + y
    c = b @ y
    powers = np.exp(c.T - c.T.max(0, keepdims=True))
    g = powers / powers.sum(0, keepdims=True)
    return b, c, c.sum(-1), c.max(keepdims=True), c.reshape(2, 8), g, (g > 0.2).astype("int32")


def test_documents_example_by_library(library) -> None:
    main = compiled(DOCUMENT)
    x = np.random.default_rng(0).random((2, 3, 5), np.float32) + 1
    np.testing.assert_allclose(main(x), x.reshape(30), rtol=1e-5)
    assert main(np.ones((0, 4), np.float32)).shape == (0,)
    with pytest.raises(ArgumentTypeError, match="expected dtype float32, got float64"):
        main(x.astype("float64"))


def test_documents_example_compiled(cache) -> None:
    main = compiled(DOCUMENT)
    for shape in ((2, 3, 5), (7,), (1, 13)):
        x = np.random.default_rng(0).random(shape, np.float32) + 1
        np.testing.assert_allclose(main(x), x.reshape(x.size), rtol=1e-5)
    assert len(cache) == 3


@pytest.mark.parametrize("how", ["library", "cache"])
def test_everything(how, request) -> None:
    request.getfixturevalue(how)
    main = compiled(EVERYTHING)
    rng = np.random.default_rng(1)
    x, y = (rng.random((4, 4), np.float32) + np.float32(0.5) for _ in range(2))
    for found, wanted in zip(main(x, y), expected(x, y), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_one_kernel_serves_all_sizes(cache) -> None:
    main = compiled("def main(x: R.Tensor, y: R.Tensor): return R.add(x, y)")
    for n, m in ((3, 5), (17, 4), (64, 31)):
        x, y = np.full((n, m), 2, np.float32), np.arange(m, dtype=np.float32)
        np.testing.assert_array_equal(main(x, y), x + y)
    assert len(cache) == 1
    np.testing.assert_array_equal(main(x, x[:1]), x + x)
    assert len(cache) == 2
    np.testing.assert_array_equal(main(x.astype("int32"), x.astype("int32")), x + x)
    assert len(cache) == 3


def test_errors_are_the_librarys(cache) -> None:
    main = compiled("def main(x: R.Tensor, y: R.Tensor): return R.add(x, y)")
    with pytest.raises(ShapeMismatchError, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
        main(np.ones(2, np.float32), np.ones(3, np.float32))
    with pytest.raises(ArgumentTypeError, match="dtypes must match"):
        main(np.ones(2, np.float32), np.ones(2, np.int32))
    assert len(cache) == 0


def test_small_work_is_left_to_the_library() -> None:
    mine = KernelCache(worth=1000, least=10)
    before = current.specializer
    specialize.enable(mine)
    try:
        main = compiled("def main(x: R.Tensor): return R.exp(x)")
        small, large = np.ones(9, np.float32), np.ones(400, np.float32)
        for _ in range(200):
            main(small)
        assert len(mine) == 0
        main(large)
        main(large)
        assert len(mine) == 0
        np.testing.assert_allclose(main(large), np.exp(large), rtol=1e-6)
        assert len(mine) == 1
        mine.clear()
        assert len(mine) == 0
    finally:
        current.specializer = before


def test_the_cache_is_bounded() -> None:
    mine = KernelCache(worth=0, least=1, most=2)
    x = np.ones((2, 3), np.float32)
    for name in ("exp", "sqrt", "exp", "sin"):
        assert mine(f"vm.op.{name}", (x,)) is not NotImplemented
    assert len(mine) == 2
    assert {key[0] for key in mine._entries} == {"vm.op.exp", "vm.op.sin"}


def test_what_has_no_kernel() -> None:
    mine = KernelCache(worth=0, least=1)
    x = np.ones((2, 3), np.float32)
    assert mine("vm.op.unique", (x,)) is NotImplemented
    assert mine("vm.op.no_such_operation", (x,)) is NotImplemented
    assert mine("vm.op.exp", (x.astype("complex64"),)) is NotImplemented
    assert mine("vm.op.exp", (object(), x)) is NotImplemented
    assert len(mine) == 0


def test_arrays_in_any_layout(cache) -> None:
    main = compiled("def main(x: R.Tensor): return R.exp(R.permute_dims(x))")
    x = np.random.default_rng(2).random((5, 6), np.float32)
    np.testing.assert_allclose(main(x.T), np.exp(x), rtol=1e-5)
    np.testing.assert_allclose(main(x[::2, 1::2]), np.exp(x[::2, 1::2].T), rtol=1e-5)


def test_results_are_the_callers_own() -> None:
    """A kernel may find that there is nothing to compute; the library never returns an argument."""
    mine = KernelCache(worth=0, least=1)
    x = np.ones((2, 3), np.float32)
    result = mine("vm.op.astype", (x, "float32"))
    assert result is not NotImplemented
    assert not np.may_share_memory(result, x)
    np.testing.assert_array_equal(result, x)


def test_many_threads(cache) -> None:
    main = compiled("def main(x: R.Tensor, y: R.Tensor): return R.multiply(R.exp(x), y)")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            rng = np.random.default_rng(seed)
            for ndim in (1, 2, 1, 2):
                x = rng.random((3, 4)[:ndim], np.float32)
                np.testing.assert_allclose(main(x, x), np.exp(x) * x, rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(cache) == 4


def test_instruments_do_not_see_run_time_compilation(cache) -> None:
    from relax_mlir.instrument import PassTimingInstrument
    from relax_mlir.transform import PassContext

    main = compiled("def main(x: R.Tensor): return R.exp(x)")
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        main(np.ones(4, np.float32))
        assert timing.render() == ""
    assert len(cache) == 1


UNCOMPARABLE = [
    ("add", ["('n',)", "('m',)"], [((3,), (3,)), ((1,), (3,)), ((3,), (1,)), ((0,), (1,))]),
    ("less", ["('n', 'k')", "('m',)"], [((2, 3), (3,)), ((2, 1), (3,)), ((2, 3), (1,))]),
    ("maximum", ["('n',)", "(4,)"], [((4,), (4,)), ((1,), (4,))]),
    ("matmul", ["('a', 2, 3)", "('b', 3, 2)"], [((2, 2, 3), (2, 3, 2)), ((1, 2, 3), (4, 3, 2))]),
]


@pytest.mark.parametrize("how", ["library", "cache"])
@pytest.mark.parametrize(("name", "declared", "cases"), UNCOMPARABLE, ids=lambda v: str(v)[:8])
def test_broadcast_that_only_run_time_can_decide(name, declared, cases, how, request) -> None:
    """Symbols that cannot be compared broadcast when they are equal or one of them is 1."""
    request.getfixturevalue(how)
    params = ", ".join(
        f'{v}: R.Tensor({d}, "float32")' for v, d in zip("xy", declared, strict=True)
    )
    main = compiled(f"def main({params}): return R.{name}(x, y)")
    for shapes in cases:
        x, y = (np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in shapes)
        wanted = getattr(np, name)(x, y)
        found = main(x, y)
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted)
    if name == "add":
        with pytest.raises(ShapeMismatchError, match="do not broadcast"):
            main(np.ones(2, np.float32), np.ones(3, np.float32))
