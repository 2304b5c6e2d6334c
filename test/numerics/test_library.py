"""The runtime's library against numpy, and programs that leave shapes and dtypes to it."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import ROUNDING
from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, ShapeMismatchError
from relax_mlir.runtime import Tensor, get_global_func, register_func, remove_global_func
from relax_mlir.runtime.library import PREFIX
from relax_mlir.runtime.library.index import CHECKS
from relax_mlir.runtime.library.table import LIBRARY

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint64")
SHAPES = ((), (0,), (1,), (7,), (3, 0, 2), (5, 13), (2, 3, 17))
RTOL = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-13}


def call(name: str, *args: Any) -> np.ndarray:
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    result = get_global_func(PREFIX + name)(*args)
    assert type(result) is Tensor
    assert result.flags.c_contiguous
    assert result.flags.writeable
    for old, new in zip(before, args, strict=True):
        np.testing.assert_array_equal(old, new)
        assert not (isinstance(new, np.ndarray) and np.shares_memory(result, new))
    return result


def sample(shape: tuple[int, ...], dtype: str, low: float = -3.0) -> np.ndarray:
    values = np.random.default_rng(len(shape)).uniform(low, 3.0, shape)
    if np.dtype(dtype).kind == "b":
        return np.asarray(values > 0)
    return np.asarray(np.abs(values) if dtype.startswith("u") else values).astype(dtype)


def check(got: np.ndarray, want: Any, dtype: str, scale: float = 1) -> None:
    want = np.asarray(want)
    assert got.dtype == np.dtype(dtype)
    assert got.shape == want.shape
    rtol = RTOL.get(dtype, 0)
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=rtol, atol=rtol * scale)


# Read at collection: other tests of the same process register operations of their own.
PROJECT_OPS = {PREFIX + name for name in (*COMPUTE_OPS, *CHECKS)}
PROJECT_LIBRARY = set(LIBRARY)


def test_every_computation_is_there() -> None:
    collectives = {f"{PREFIX}ccl_{name}" for name in QUALIFIED["ccl"]}
    assert PROJECT_OPS - collectives == PROJECT_LIBRARY


erf = np.vectorize(math.erf, otypes=["f8"])
UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin,
    "cos": np.cos, "tanh": np.tanh, "erf": erf, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_unary(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = sample(shape, dtype, 0.1 if name in ("log", "sqrt", "rsqrt") else -3.0)
        check(call(name, x), UNARY[name](x.astype("f8")), dtype)
    if name in ROUNDING:
        return
    with pytest.raises(ArgumentTypeError, match=f"{name}: needs a floating-point dtype, got int32"):
        call(name, np.ones(2, "i4"))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_any_unary(dtype: str) -> None:
    for shape in SHAPES:
        x = sample(shape, dtype)
        for name, function in (("abs", np.abs), ("negative", np.negative), ("square", np.square)):
            check(call(name, x), np.asarray(function(x), dtype), dtype)
        check(call("relu", x), np.where(x > 0, x, 0), dtype)


PAIRS = (
    ((), ()),
    ((3,), ()),
    ((0,), (1,)),
    ((5, 1), (1, 7)),
    ((2, 3, 4), (4,)),
    ((2, 1), (3, 1, 5)),
)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "power": np.power,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_binary(name: str, dtype: str) -> None:
    for left, right in PAIRS:
        a, b = sample(left, dtype), sample(right, dtype)
        if name == "power":
            a, b = np.asarray(np.abs(a)), np.asarray(np.abs(b))
        want = np.asarray(BINARY[name](a, b))
        check(call(name, a, b), want, "bool" if want.dtype == bool else dtype)


def test_binary_refuses() -> None:
    x = np.ones((2, 3), "f4")
    with pytest.raises(ArgumentTypeError, match="dtypes must match, got float32 and float64"):
        call("add", x, np.ones((2, 3)))
    with pytest.raises(ShapeMismatchError, match=r"add: shapes \(2, 3\) and \(4,\) do not broad"):
        call("add", x, np.ones(4, "f4"))
    with pytest.raises(ArgumentTypeError, match="subtract: not defined for bool"):
        call("subtract", x > 0, x > 0)
    for bad in (x.astype("c8"), x.astype(object), x.astype("g"), np.zeros(2, [("a", "f4")])):
        with pytest.raises(ArgumentTypeError, match="needs a numeric dtype"):
            call("add", bad, bad)
    for wrong in (None, 1, "x", (1, 2), [x]):
        with pytest.raises(ArgumentTypeError, match="expected a tensor, got"):
            call("add", x, wrong)
    with pytest.raises(ArgumentTypeError):
        call("add", x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = sorted({info.min, info.max, 0, 1, 2, 3, 7, *((-1, -2, -7) if info.min else ())})
    a, b = np.array(values, dtype)[:, None], np.array(values, dtype)
    floored, truncated, powers = (
        call("floor_divide", a, b),
        call("divide", a, b),
        call("power", a, b),
    )
    for i, x in enumerate(values):
        for j, y in enumerate(values):
            overflow = x == info.min and y == -1
            q = 0 if y == 0 else x if overflow else x // y
            t = 0 if y == 0 else x if overflow else abs(x) // abs(y) * (1 if x * y >= 0 else -1)
            assert (floored[i, j], truncated[i, j]) == (q, t)
            if -10 < y < 0:
                assert powers[i, j] == (x**-y if abs(x) == 1 else 0)


def test_float_division() -> None:
    a, b = np.array([1.0, -1.0, 0.0, 7.0, -7.0]), np.array([0.0, 0.0, 0.0, 2.0, 2.0])
    np.testing.assert_array_equal(call("divide", a, b), [np.inf, -np.inf, np.nan, 3.5, -3.5])
    np.testing.assert_array_equal(call("floor_divide", a, b), [np.inf, -np.inf, np.nan, 3, -4])
    assert call("floor_divide", np.array(1.0), np.array(0.1)) == 9


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_reductions(dtype: str) -> None:
    functions = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
    for shape in SHAPES:
        x = sample(shape, dtype)
        for axis in (None, *[(i,) for i in range(-1, len(shape))], tuple(range(len(shape)))):
            if axis and not shape:
                continue
            for keepdims in (False, True):
                for name, function in functions.items():
                    if x.size == 0 and name in ("max", "min"):
                        continue
                    wide = "f8" if dtype in FLOATS else dtype
                    want = function(x.astype(wide), axis=axis, keepdims=keepdims)
                    check(call(name, x, axis, keepdims), np.asarray(want, wide), dtype, scale=10)
                if dtype in FLOATS and x.size:
                    want = np.mean(x.astype("f8"), axis=axis, keepdims=keepdims)
                    check(call("mean", x, axis, keepdims), want, dtype)


def test_reductions_at_the_edge() -> None:
    empty = np.zeros((0, 2), "f4")
    assert call("max", empty, None, False) == -np.inf
    np.testing.assert_array_equal(call("min", empty.astype("i1"), (0,), True), [[127, 127]])
    assert np.isnan(call("mean", empty, None, False))
    assert call("mean", np.array([-7, 0], "i4"), None, False) == -3
    assert call("mean", np.full(300, 127, "i1"), (0,), False) == 127
    assert call("sum", np.ones(5000, "f2"), None, False) == 5000
    with pytest.raises(ArgumentTypeError, match="axis 2 is out of range for a tensor of rank 2"):
        call("sum", empty, (2,), False)
    with pytest.raises(ArgumentTypeError, match="axes must be distinct"):
        call("sum", empty, (0, -2), False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype: str) -> None:
    for shape in SHAPES[1:]:
        x = sample(shape, dtype) * 20
        for axis in (-1, 0):
            wide = x.astype("f8")
            shifted = wide - np.max(wide, axis, keepdims=True, initial=-np.inf)
            total = np.exp(shifted).sum(axis, keepdims=True)
            check(call("softmax", x, axis), np.exp(shifted) / total, dtype)
            with np.errstate(divide="ignore"):
                want = shifted - np.log(total)
            check(call("log_softmax", x, axis), want, dtype)
    with pytest.raises(ArgumentTypeError, match="axis -1 is out of range"):
        call("softmax", np.array(1.0), -1)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_matmul(dtype: str) -> None:
    pairs = (((3,), (3,)), ((0,), (0,)), ((2, 3), (3,)), ((3,), (3, 5)), ((5, 0), (0, 2)),
             ((17, 13), (13, 7)), ((4, 1, 2, 3), (5, 3, 6)))  # fmt: skip
    for left, right in pairs:
        a, b = sample(left, dtype), sample(right, dtype)
        want = np.matmul(a.astype("f8"), b.astype("f8")) if dtype in FLOATS else np.matmul(a, b)
        got = call("matmul", a, b)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_allclose(got, want, rtol=4 * RTOL.get(dtype, 0), atol=RTOL.get(dtype, 0))
    with pytest.raises(ShapeMismatchError, match=r"shapes \(2, 3\) and \(2, 3\) do not match"):
        call("matmul", sample((2, 3), dtype), sample((2, 3), dtype))
    with pytest.raises(ShapeMismatchError, match=r"\(2,\) and \(3,\) do not broadcast"):
        call("matmul", sample((2, 4, 4), dtype), sample((3, 4, 4), dtype))
    with pytest.raises(ArgumentTypeError, match="at least one dimension"):
        call("matmul", sample((), dtype), sample((3,), dtype))


def test_rearrangements_copy() -> None:
    x = sample((2, 3, 4), "float32")
    np.testing.assert_array_equal(call("reshape", x, (4, 6)), x.reshape(4, 6))
    np.testing.assert_array_equal(call("reshape", x, (2, 3, 4)), x)
    np.testing.assert_array_equal(call("flatten", x), x.reshape(-1))
    np.testing.assert_array_equal(call("flatten", x[0, 0]), x[0, 0])
    np.testing.assert_array_equal(call("permute_dims", x, None), x.T)
    np.testing.assert_array_equal(call("permute_dims", x, (0, -1, 1)), x.transpose(0, 2, 1))
    np.testing.assert_array_equal(call("permute_dims", x[0, 0], (0,)), x[0, 0])
    np.testing.assert_array_equal(call("reshape", x[0, 0, :1], ()), x[0, 0, 0])
    for shape in ((5, 5), (-1,), (2, -12)):
        with pytest.raises(ShapeMismatchError, match=r"24 elements, cannot take shape"):
            call("reshape", x, shape)
    with pytest.raises(ArgumentTypeError, match="needs 3 axes, got 2"):
        call("permute_dims", x, (0, 1))


def test_astype_and_unique() -> None:
    x = np.array([-2.7, 0.0, 2.7, 2.7], "f4")
    for dtype in ("int32", "float16", "float64", "bool", "float32"):
        check(call("astype", x, dtype), x.astype(dtype), dtype)
    with pytest.raises(ArgumentTypeError, match="float31"):
        call("astype", x, "float31")
    np.testing.assert_array_equal(call("unique", x.reshape(2, 2)), np.unique(x))


def test_names() -> None:
    with pytest.raises(FunctionNotFoundError, match=r"'vm\.op\.softmax'"):
        get_global_func("vm.op.softmx")
    with pytest.raises(ValueError, match="registered already"):
        register_func("vm.op.log", np.log)
    register_func("vm.op.log", lambda x: x + 1, override=True)
    try:
        assert get_global_func("vm.op.log")(np.ones(1)) == 2
    finally:
        remove_global_func("vm.op.log")
    assert get_global_func("vm.op.log")(np.ones(1)) == 0


def test_library_loads_late_and_without_mlir() -> None:
    code = (
        "import sys; from relax_mlir.runtime import VirtualMachine, get_global_func\n"
        "assert 'relax_mlir.runtime.library' not in sys.modules\n"
        "get_global_func('vm.op.exp')\n"
        "print({'torch_mlir', 'mlir', 'relax_mlir.dialects'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


# Through the compiler

ANY = "tensor<*x!relax.any_dtype>"


def compiled(text: str) -> Callable[..., Any]:
    with default_context(), ir.Location.unknown():
        module = IRModule(ir.Module.parse(text))
    executable = relax.build(module)
    assert not executable.stats() or "vm.op." in executable.as_text()
    return relax.VirtualMachine(executable)["f"]


def function(params: str, result: str, body: str) -> str:
    return f"func.func @f({params}) -> {result} attributes {{relax.function}} {{\n{body}\n}}"


def test_unknown_everything_runs() -> None:
    f = compiled(function(f"%x: {ANY}", ANY, f"""
        %0 = "relax.log"(%x) : ({ANY}) -> {ANY}
        %1 = "relax.add"(%0, %x) : ({ANY}, {ANY}) -> {ANY}
        %2 = "relax.softmax"(%1) {{axis = -1 : i64}} : ({ANY}) -> {ANY}
        return %2 : {ANY}"""))  # fmt: skip
    for shape in ((4,), (3, 5), (2, 0), (2, 3, 7)):
        for dtype in FLOATS:
            x = sample(shape, dtype, 0.1)
            y = np.log(x.astype("f8")) + x
            e = np.exp(y - y.max(-1, keepdims=True, initial=-np.inf))
            got = f(x)
            assert (got.dtype, got.shape) == (x.dtype, shape)
            rtol = 10 * RTOL[dtype]
            np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), rtol=rtol, atol=rtol)
    with pytest.raises(ArgumentTypeError, match="log: needs a floating-point dtype, got int64"):
        f(np.ones(3, "i8"))


def test_match_cast_brings_shapes_back() -> None:
    vector = 'tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>'
    flat = "tensor<?x!relax.any_dtype>"
    f = compiled(function(f"%x: {ANY}", vector, f"""
        %0 = "relax.flatten"(%x) : ({ANY}) -> {flat}
        %1 = "relax.match_cast"(%0) : ({flat}) -> {vector}
        %2 = "relax.exp"(%1) : ({vector}) -> {vector}
        return %2 : {vector}"""))  # fmt: skip
    for shape in SHAPES:
        x = sample(shape, "float32")
        np.testing.assert_allclose(f(x), np.exp(x).reshape(-1), rtol=1e-6)
    with pytest.raises(ArgumentTypeError, match=r"float32.*float64"):
        f(np.ones((2, 2)))


def test_unknown_rank_operands() -> None:
    loose = "tensor<*xf32>"
    three = f"tuple<{loose}, tensor<?xf32>, {loose}>"
    f = compiled(function(f"%x: {loose}, %w: {loose}", three, f"""
        %0 = "relax.matmul"(%x, %w) : ({loose}, {loose}) -> {loose}
        %1 = "relax.sum"(%0) {{axis = array<i64: 0>, keepdims = true}} : ({loose}) -> {loose}
        %2 = "relax.flatten"(%1) : ({loose}) -> tensor<?xf32>
        %3 = "relax.permute_dims"(%0) {{axes}} : ({loose}) -> {loose}
        %4 = builtin.unrealized_conversion_cast %1, %2, %3
            : {loose}, tensor<?xf32>, {loose} to {three}
        return %4 : {three}"""))  # fmt: skip
    x, w = sample((5, 13), "float32"), sample((13, 7), "float32")
    total, flat, turned = f(x, w)
    np.testing.assert_allclose(turned, (x @ w).T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, (x @ w).sum(0, keepdims=True), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(flat, total.reshape(-1))
    with pytest.raises(ShapeMismatchError, match=r"matmul: shapes \(5, 13\) and \(5, 13\)"):
        f(x, x)


def test_reshape_to_a_shape_of_another() -> None:
    f = compiled(function(f"%x: {ANY}, %y: {ANY}", ANY, f"""
        %0 = "relax.shape_of"(%y) : ({ANY}) -> !relax.shape<unit>
        %1 = "relax.reshape"(%x, %0) : ({ANY}, !relax.shape<unit>) -> {ANY}
        return %1 : {ANY}"""))  # fmt: skip
    x = np.arange(24, dtype="i8")
    np.testing.assert_array_equal(f(x, np.zeros((2, 3, 4))), x.reshape(2, 3, 4))
    with pytest.raises(ShapeMismatchError, match="cannot take shape"):
        f(x, np.zeros(5))


def test_symbols_that_only_run_time_can_compare() -> None:
    n, m = (f'tensor<?xf32, #relax.dims<["{s}"], affine_map<()[s0] -> (s0)>>>' for s in "nm")
    f = compiled(function(f"%x: {n}, %y: {m}", "tensor<?xf32>", f"""
        %0 = "relax.add"(%x, %y) : ({n}, {m}) -> tensor<?xf32>
        return %0 : tensor<?xf32>"""))  # fmt: skip
    x = np.arange(6, dtype="f4")
    np.testing.assert_array_equal(f(x, x), x + x)
    np.testing.assert_array_equal(f(x, x[:1]), x)
    with pytest.raises(ShapeMismatchError, match=r"shapes \(6,\) and \(2,\) do not broadcast"):
        f(x, x[:2])


def test_gelus_far_below_zero() -> None:
    x = np.linspace(-9.0, 3.0, 1201, dtype="f4")
    wide = x.astype("f8")
    exact = wide * 0.5 * np.vectorize(math.erfc)(-wide * math.sqrt(0.5))
    np.testing.assert_allclose(call("gelu", x), exact, rtol=1e-6)
    cubic = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    # The power of e takes over the rounding of its argument.
    np.testing.assert_allclose(call("gelu_tanh", x), wide / (1 + np.exp(-2 * cubic)), rtol=2e-5)


_BFLOAT16_CALLS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("pad", ([1, 2, 3, 0], "reflect", 0.0)), ("softmax", (-1,)), ("exp", ()), ("sum", ([0],)),
    ("variance", ([1], True)), ("sort", (0, True)), ("argmax", (1,)), ("isnan", ()),
    ("flatten", ()), ("cumsum", (1,)), ("clip", (-1.0, 1.0)), ("floor", ()),
    ("strided_slice", ([0], [4], [1], [2], False)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "attrs"), _BFLOAT16_CALLS)
def test_bfloat16(name: str, attrs: tuple[Any, ...]) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = sample((5, 13), "float32").astype(ml_dtypes.bfloat16)
    got, want = call(name, x, *attrs), call(name, x.astype("f4"), *attrs)
    want = want.astype(ml_dtypes.bfloat16) if want.dtype == np.float32 else want
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_bfloat16_beside_indices() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = sample((5, 13), "float32").astype(ml_dtypes.bfloat16)
    values, places = get_global_func(PREFIX + "topk")(x, 3, 1, "both", True, "int32")
    assert values.dtype == x.dtype
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


def test_bfloat16_becomes_a_number() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    number = get_global_func(PREFIX + "tensor_to_scalar")(np.array(1.5, ml_dtypes.bfloat16))
    assert type(number) is float
    assert number == 1.5


def test_bfloat16_is_quantized() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([-2.5, 0.25, 1.0, 3e38], ml_dtypes.bfloat16)
    scale, zero = np.array(0.5, "float32"), np.array(1, "int32")
    np.testing.assert_array_equal(call("quantize", x, scale, zero, 0, "int8"), [-4, 1, 3, 127])
    numbers = np.array([-4, 1, 3, 127], "int8")
    got = call("dequantize", numbers, scale, zero, 0, "bfloat16")
    np.testing.assert_array_equal(got, np.array([-2.5, 0, 1, 63], ml_dtypes.bfloat16))
    largest = call("dequantize", numbers, np.float32([3e38]), zero, 0, "bfloat16")
    most = np.float32(ml_dtypes.finfo(x.dtype).max)
    np.testing.assert_array_equal(largest.astype("f4"), [-most, 0, most, most])


def test_bfloat16_of_two_operands() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x, y = (sample(shape, "float32").astype(ml_dtypes.bfloat16) for shape in ((5, 7), (7, 3)))
    wide = x.astype("f4") @ y.astype("f4")
    np.testing.assert_array_equal(call("matmul", x, y), wide.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(call("matmul", x, y, "float32"), wide)
    np.testing.assert_array_equal(call("concat", (x, x), 0), np.concatenate([x, x]))
    with pytest.raises(ArgumentTypeError, match="one dtype, got float32 and bfloat16"):
        call("add", x, x.astype("f4"))
