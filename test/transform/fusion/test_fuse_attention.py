"""Attention as models spell it: what FuseAttention finds, and that it computes the same."""

from typing import Any

import numpy as np
import pytest
from samples import sample

from relax_mlir import relax
from relax_mlir.compiler.pipeline import lower
from relax_mlir.runtime.values.convert import numpy_dtype
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext

_FULL = 'R.ones((n, m), "bool")'
_ROWS = 'R.expand_dims(R.arange(0, n, dtype="int64"), axis=1)'
_KEYS = 'R.arange(0, m, dtype="int64")'
_LOW = 'R.const(-1e9, "float32")'
_NONE = 'R.const(float("-inf"), "float32")'
_PLAIN = "s = R.matmul(q, R.permute_dims(k, [0, 1, 3, 2]))"
_SHARES = "p = R.nn.softmax(s, axis=-1)"
_OUT = "o = R.matmul(p, v)"
_PARTS = (
    "top = R.max(s, axis=-1, keepdims=True)",
    "e = R.exp(R.subtract(s, top))",
    "p = R.divide(e, R.sum(e, axis=-1, keepdims=True))",
)


def _masked(mask: str, low: str = _NONE) -> tuple[str, ...]:
    return (_PLAIN, f"s = R.where({mask}, s, {low})", _SHARES, _OUT)


_Type = tuple[tuple[Any, ...], str]
# name: (extra parameters, statements, what the operation says)
CASES: dict[str, tuple[dict[str, _Type], tuple[str, ...], str]] = {
    "where": ({"w": (("n", "m"), "bool")}, _masked("w"), "unseen_score = 0xFFF"),
    "where_low": ({"w": ((2, 1, 1, "m"), "bool")}, _masked("w", _LOW), "unseen_score = -1.0"),
    "filled": (
        {"w": ((2, 1, "n", "m"), "bool")},
        (_PLAIN, f"s = R.where(w, {_LOW}, s)", _SHARES, _OUT), "relax.logical_not",
    ),
    "tril": ({}, _masked(f"R.tril({_FULL})"), '"TopLeft"'),
    "tril_low": ({}, _masked(f"R.tril({_FULL})", _LOW), '"TopLeft"'),
    "triu": ({}, _masked(f"R.logical_not(R.triu({_FULL}, 1))"), '"TopLeft"'),
    "numbers": ({}, _masked(f"R.less_equal({_KEYS}, {_ROWS})"), '"TopLeft"'),
    "biases": (
        {"a": ((4, 1, "m"), "float32"), "b": ((2, 1, "n", "m"), "float32")},
        (_PLAIN, "s = R.add(R.add(R.multiply(s, R.const(0.25, 'float32')), a), b)", _SHARES, _OUT),
        "scale = 2.5",
    ),
    "bias_and_mask": (
        {"a": ((4, 1, "m"), "float32"), "w": (("n", "m"), "bool")},
        (_PLAIN, "s = R.add(s, a)", f"s = R.where(w, s, {_NONE})", _SHARES, _OUT), "unseen_score",
    ),
    "parts": ({}, (_PLAIN, *_PARTS, _OUT), "scale = 1.0"),
    "scale": (
        {"f": ((1,), "float32")},
        (_PLAIN, "s = R.divide(s, f)", _SHARES, _OUT), "relax.divide",
    ),
}  # fmt: skip
_TYPES = {
    "q": ((2, 4, "n", 16), "float32"), "k": ((2, 4, "m", 16), "float32"),
    "v": ((2, 4, "m", 24), "float32"),
}  # fmt: skip
LENGTHS = ((1, 1), (5, 13), (17, 40), (40, 17))


def _source(name: str, types: dict[str, _Type], body: tuple[str, ...]) -> str:
    params = ", ".join(
        f"{key}: R.Tensor({shape}, '{dtype}')" for key, (shape, dtype) in types.items()
    )
    lines = ["n = T.int64()", "m = T.int64()", *body, "return o"]
    return f"    @R.function\n    def {name}({params}):\n" + "".join(
        f"        {line}\n" for line in lines
    )


def _module(functions: list[str]) -> Any:
    return from_source("@I.ir_module\nclass Programs:\n" + "\n".join(functions))


def _fused(module: Any) -> str:
    return str(lower(module, "FuseAttention").mlir_module)


def test_masks_biases_and_scales() -> None:
    module = _module(
        [_source(name, {**_TYPES, **extra}, body) for name, (extra, body, _) in CASES.items()]
    )
    functions = _fused(module).split("func.func @")[1:]
    assert len(functions) == len(CASES)
    for text in functions:
        name = text.partition("(")[0]
        assert "relax.attention" in text, name
        assert CASES[name][2] in text, (name, text)
        assert "relax.softmax" not in text
        assert '"relax.exp"' not in text
    run = ("where", "tril_low", "bias_and_mask", "parts")
    module = _module([_source(name, {**_TYPES, **CASES[name][0]}, CASES[name][1]) for name in run])
    vm = relax.VirtualMachine(relax.build(module))
    with PassContext(disabled_pass=["FuseAttention"]):
        apart = relax.VirtualMachine(relax.build(module))
    rng = np.random.default_rng(0)
    for n, m in LENGTHS:
        given = [sample((2, 4, size, d), "float32", d + size, scale=1.0)
                 for size, d in ((n, 16), (m, 16), (m, 24))]  # fmt: skip
        for name in run:
            extra, added = CASES[name][0], []
            for dims, dtype in extra.values():
                sizes: dict[Any, int] = {"n": n, "m": m}
                array = rng.standard_normal([sizes.get(d, d) for d in dims])
                number = array.astype("f4") + 3 * (array.size == 1)
                added.append(array > -0.3 if dtype == "bool" else number)
            got, wanted = (each[name](*given, *added) for each in (vm, apart))
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{name} {n} {m}")


_HALVES = 'R.full((n, m), R.const(0.5, "float32"), "float32")'
# What masks are full of, before and after the triangle; whether they are causal.
_FILLED = {
    "halves": (_HALVES, "bool", True),
    "no_halves": (f'R.astype({_HALVES}, "int32")', "bool", False),
    "filled_as_integers": ('R.full((n, m), R.const(0.5, "float32"), "int32")', "bool", False),
    "then_integers": (_HALVES, "int32", False),
    "ones": ('R.astype(R.ones((n, m), "float32"), "int32")', "bool", True),
    "wide": ('R.astype(R.full((n, m), R.const(256, "int64"), "int64"), "uint8")', "bool", False),
    "twos": ('R.astype(R.full((n, m), R.const(2.0, "float32"), "float32"), "int8")', "bool", True),
}  # fmt: skip


def test_conversions_that_make_zeros() -> None:
    functions = []
    for name, (full, then, _) in _FILLED.items():
        mask = f'R.astype(R.astype(R.tril({full}), "{then}"), "bool")'
        functions.append(_source(name, _TYPES, _masked(mask, _LOW)))
    module = _module(functions)
    for text in _fused(module).split("func.func @")[1:]:
        name = text.partition("(")[0]
        assert ('"TopLeft"' in text) == _FILLED[name][2], (name, text)


_GROUPS = {
    "repeated": "R.repeat({x}, 3, axis=1)",
    "broadcast": (
        "R.reshape(R.broadcast_to(R.expand_dims({x}, axis=2), (2, 2, 3, m, 8)), (2, 6, m, 8))"
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_groups_layouts_and_casts(dtype: str) -> None:
    types = {"q": ((2, "n", 6, 8), dtype), "k": ((2, 2, "m", 8), dtype),
             "v": ((2, 2, "m", 8), dtype)}  # fmt: skip
    functions = []
    for name, spelled in _GROUPS.items():
        body = (
            "h = R.permute_dims(q, [0, 2, 1, 3])",
            f"kk = R.permute_dims({spelled.format(x='k')}, [0, 1, 3, 2])",
            f"vv = {spelled.format(x='v')}",
            "s = R.astype(R.matmul(h, kk), 'float32')",
            "s = R.multiply(s, R.const(0.5, 'float32'))",
            f"p = R.astype(R.nn.softmax(s, axis=-1), '{dtype}')",
            "o = R.permute_dims(R.matmul(p, vv), [0, 2, 1, 3])",
        )
        functions.append(_source(name, types, body))
    module = _module(functions)
    text = _fused(module)
    assert text.count("relax.attention") == len(_GROUPS)
    for gone in ("relax.repeat", "relax.broadcast_to", "relax.permute_dims", "relax.astype"):
        assert gone not in text
    vm = relax.VirtualMachine(relax.build(module))
    with PassContext(disabled_pass=["FuseAttention"]):
        apart = relax.VirtualMachine(relax.build(module))
    for n, m in LENGTHS:
        given = [sample((2, n, 6, 8), dtype, 1, scale=1.0)]
        given += [sample((2, 2, m, 8), dtype, seed, scale=1.0) for seed in (2, 3)]
        for name in _GROUPS:
            got, wanted = (each[name](*given) for each in (vm, apart))
            assert got.dtype == wanted.dtype
            limit = 2e-5 if dtype == "float32" else 5e-3
            np.testing.assert_allclose(got, wanted, rtol=limit, atol=limit, err_msg=f"{n} {m}")


# As torch exports it to ONNX: keys transposed in one row of matrices, a mask as numbers to add,
# zeros in rows that are NaN. `p` keys are there before those of the queries.
_EXPORTED = (
    "rows = R.add(R.arange(0, n), R.reshape(R.shape_to_tensor(R.shape([p])), ()))",
    "last = R.less_equal(R.arange(0, n + p), R.reshape(rows, (n, 1)))",
    "last = R.broadcast_to(last, (2, 1, n, n + p))",
    "b = R.where({mask}, R.const(0.0, 'float32'), R.const({low}, 'float32'))",
    "t = R.permute_dims(R.reshape(k, (8, n + p, 16)), [0, 2, 1])",
    "t = R.multiply(R.reshape(t, (2, 4, 16, n + p)), R.const(0.5, 'float32'))",
    "s = R.add(R.matmul(R.multiply(q, R.const(0.5, 'float32')), t), b)",
    "x = R.nn.softmax(s, axis=-1)",
    "x = R.where(R.isnan(x), R.const(0.0, 'float32'), x)",
    "o = R.matmul(x, v)",
)
_EXPORTS = {
    "last": ("last", -3.4e38, 'causal_mask = "BottomRight"'),
    "low": ("w", -3.4e38, "unseen_score = -3.39"),
    "none": ("w", "float('-inf')", "unseen_score = 0xFFF"),
    "bias": ("w", -9.0, "relax.where"),
}


def test_attention_as_torch_exports_it() -> None:
    keys = "n + p"
    types = {"q": ((2, 4, "n", 16), "float32"), "k": ((2, 4, keys, 16), "float32"),
             "v": ((2, 4, keys, 24), "float32"), "w": ((2, 1, 1, keys), "bool"),
             "z": (("p",), "bool")}  # fmt: skip
    module = _module([
        _source(name, types, tuple(line.format(mask=mask, low=low) for line in _EXPORTED))
        .replace("m = T", "p = T")
        for name, (mask, low, _) in _EXPORTS.items()
    ])  # fmt: skip
    for text in _fused(module).split("func.func @")[1:]:
        name = text.partition("(")[0]
        assert _EXPORTS[name][2] in text, (name, text)
        assert "zero_unseen = true" in text
        assert "relax.permute_dims" not in text
    vm = relax.VirtualMachine(relax.build(module))
    with PassContext(disabled_pass=["FuseAttention"]):
        apart = relax.VirtualMachine(relax.build(module))
    for n, p in ((1, 0), (1, 12), (17, 23), (40, 0)):
        q, k, v = (sample((2, 4, size, d), "float32", d + size, scale=1.0)
                   for size, d in ((n, 16), (n + p, 16), (n + p, 24)))  # fmt: skip
        # The second sequence is all padding: its rows see nothing.
        w = np.arange(n + p) < np.array([n + p - 1, 0])[:, None]
        for name in _EXPORTS:
            given = (q, k, v, w.reshape(2, 1, 1, n + p), np.ones(p, bool))
            got, wanted = (each[name](*given) for each in (vm, apart))
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{name} {n} {p}")
            assert name != "none" or not got[1].any()


# Orders of the axes in which values are given, and of the result.
_ORDERS = (([0, 2, 3, 1], [0, 1, 3, 2]), ([1, 0, 3, 2], [3, 1, 2, 0]), ([0, 1, 2, 3], [0, 3, 2, 1]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_axes_in_any_order(dtype: str) -> None:
    shape = (2, 4, "m", 20)
    functions = []
    for i, (order, result) in enumerate(_ORDERS):
        types = {"q": ((2, 4, "n", 16), dtype), "k": ((2, 4, "m", 16), dtype),
                 "v": (tuple(shape[axis] for axis in order), dtype)}  # fmt: skip
        back = [order.index(axis) for axis in range(4)]
        body = (_PLAIN, _SHARES, f"o = R.matmul(p, R.permute_dims(v, {back}))")
        functions.append(_source(f"f{i}", types, (*body, f"o = R.permute_dims(o, {result})")))
    module = _module(functions)
    text = _fused(module)
    assert text.count("relax.attention") == len(_ORDERS)
    assert "relax.permute_dims" not in text
    vm = relax.VirtualMachine(relax.build(module))
    limit = {"float32": 1e-5, "bfloat16": 2e-2}[dtype]
    for n, m in LENGTHS:
        q, k, v = (
            sample((2, 4, size, depth), "float32", depth, scale=1.0).astype(numpy_dtype(dtype))
            for size, depth in ((n, 16), (m, 16), (m, 20))
        )
        scores = np.einsum("bhnd,bhmd->bhnm", q.astype("f8"), k.astype("f8"))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        want = powers / powers.sum(axis=-1, keepdims=True) @ v.astype("f8")
        for i, (order, result) in enumerate(_ORDERS):
            got = vm[f"f{i}"](q, k, np.ascontiguousarray(v.transpose(order)))
            np.testing.assert_allclose(
                got.astype("f8"), want.transpose(result), rtol=limit, atol=limit
            )


_KEPT = {
    # Scores that somebody else uses too, and shares.
    "scores": (_PLAIN, _SHARES, _OUT, "o = (o, s)"),
    "shares": (_PLAIN, _SHARES, _OUT, "o = (o, p)"),
    "parts": (_PLAIN, *_PARTS, _OUT, "o = (o, e)"),
    # A sum along the wrong axis, a largest one that is not subtracted.
    "axis": (_PLAIN, *_PARTS[:2], "p = R.divide(e, R.sum(e, axis=2, keepdims=True))", _OUT),
    "scaled_later": (
        _PLAIN, "s = R.add(s, R.const(1.0, 'float32'))", "s = R.multiply(s, s)", _SHARES, _OUT,
    ),
    "narrowed": (
        _PLAIN, "s = R.astype(R.astype(s, 'float16'), 'float32')", _SHARES, _OUT,
    ),
    "narrow_operands": (
        "s = R.matmul(R.astype(q, 'float16'), R.permute_dims(R.astype(k, 'float16'), [0, 1, 3, 2]),"
        " out_dtype='float32')", _SHARES, _OUT,
    ),
}  # fmt: skip


def test_what_is_something_else() -> None:
    text = _fused(_module([_source(name, _TYPES, body) for name, body in _KEPT.items()]))
    assert "relax.attention" not in text
