"""How a builder takes tensor expressions in: arguments, names, symbols of no buffer."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import IRModule, relax, te, tir
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.script import relax as R


def twice(a: te.Tensor) -> te.Tensor:
    return te.compute(a.shape, lambda i, j: a[i, j] * 2, name="B")


def run(mod: IRModule, *args: np.ndarray) -> Any:
    return relax.VirtualMachine(relax.build(mod))["main"](*args)


def test_emit_te() -> None:
    n = tir.Var("n")
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((n, 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit_te(twice, x)
            assert lv.ty == x.ty
            gv = bb.emit_output(bb.call_te(twice, lv + 1, primfunc_name_hint="double"))
        bb.emit_func_output(gv)
    # Buffers are named by position, so the second call finds the first one's prim func.
    assert bb.get().function_names == ["twice", "main"]
    ones = np.ones((3, 4), "float32")
    np.testing.assert_array_equal(run(bb.get(), ones), ones * 6)


def test_identical_prim_funcs_are_one() -> None:
    bb = relax.BlockBuilder()
    for name, dims in (("f", (4, 2)), ("g", (4, 2)), ("h", (5, 2))):
        x = relax.Var(f"of_{name}", R.Tensor(dims, "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit_te(twice, x))
    assert bb.get().function_names == ["twice", "f", "g", "twice1", "h"]


def test_symbols_of_no_buffer_are_passed() -> None:
    """The document's `2 * floordiv(m, 2)`: no dimension gives `m`, so the call passes it."""
    n, m = tir.Var("n"), tir.Var("m")
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((n, m), "float32"))
    with bb.function("main", [x]):
        even = bb.emit(x[:, : m // 2 * 2])
        cast = bb.match_cast(even, R.Tensor((n, m // 2 * 2), "float32"))
        lv = bb.emit_te(twice, cast)
        assert lv.shape.values == (n, m // 2 * 2)
        call = bb.lookup_binding(lv)
        assert call.attrs.tir_vars == [m]
        bb.emit_func_output(lv)
    bb.get().verify()
    value = np.arange(10, dtype="float32").reshape(2, 5)
    np.testing.assert_array_equal(run(bb.get(), value), value[:, :4] * 2)


def test_te_tensor_and_emit_of_it() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 2), "float32"))
    with bb.function("main", [x]):
        a = relax.te_tensor(x)
        assert (a.name, a.dtype) == ("x", "float32")
        lv = bb.emit(twice(a))
        bb.emit_func_output(lv)
    ones = np.ones((3, 2), "float32")
    np.testing.assert_array_equal(run(bb.get(), ones), ones * 2)


def test_several_outputs_and_nested_arguments() -> None:
    bb = relax.BlockBuilder()
    n = tir.Var("n")
    x = relax.Var("x", R.Tensor((n, 2), "float32"))

    def both(pair: list[te.Tensor], shape: list[Any], k: int, extra: dict[str, te.Tensor]) -> Any:
        assert shape == [n, 2]
        assert k == 3
        assert extra["same"] is pair[0]
        a, b = pair
        return [
            te.compute(shape, lambda i, j: a[i, j] + b[i, j], name="S"),
            te.compute(shape, lambda i, j: a[i, j] - b[i, j], name="D"),
        ]

    with bb.function("main", [x]):
        y = bb.emit(x * 3)
        t = bb.emit_te(both, [x, y], x.shape, 3, {"same": x}, primfunc_name_hint="sum_diff")
        bb.emit_func_output((t[0], t[1]))
    ones = np.ones((3, 2), "float32")
    total, difference = run(bb.get(), ones)
    np.testing.assert_array_equal(total, ones * 4)
    np.testing.assert_array_equal(difference, ones * -2)


def test_what_is_no_te_tensor() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(ndim=2, dtype="float32"))
    y = relax.Var("y", R.Tensor((2, 2)))
    z = relax.Var("z", R.Tensor((2,), "float32"))
    with bb.function("main", [x, y, z]):
        with pytest.raises(ExprError, match=r"shape of x is not known.*match_cast"):
            bb.emit_te(twice, x)
        with pytest.raises(ExprError, match="dtype of y is not known"):
            bb.emit_te(twice, y)
        with pytest.raises(AssertionError, match="only tensors can be te tensors"):
            relax.te_tensor(relax.ShapeExpr([1]))
        with pytest.raises(ExprTypeError, match="'bad' gave 3"):
            bb.emit_te(lambda a: 3, z, primfunc_name_hint="bad")
        bb.emit_func_output(z)


@pytest.mark.codegen
def test_integers_known_at_run_time() -> None:
    """A variable of `R.Prim` is an index of a te function; calls with it share their prim func."""

    def row(data, index):
        return te.compute([data.shape[1]], lambda j: data[index, j], name="row")

    data = relax.Var("data", R.Tensor((4, "n"), "float32"))
    index = relax.Var("index", R.Prim("int64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [data, index]):
        first = bb.emit_te(row, data, index)
        bb.emit_func_output((first, bb.emit_te(row, data, index)))
    assert len(bb.get().function_names) == 2
    array = np.arange(12, dtype="float32").reshape(4, 3)
    found = relax.VirtualMachine(relax.build(bb.get()))["main"](array, 2)
    np.testing.assert_array_equal(found[0], array[2])
    np.testing.assert_array_equal(found[1], array[2])
    wrong = relax.Var("wrong", R.Prim("int32"))
    with pytest.raises(ExprTypeError, match="integers of int64"), bb.function("f", [data, wrong]):
        bb.emit_te(row, data, wrong)
