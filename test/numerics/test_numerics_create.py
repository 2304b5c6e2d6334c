"""Making tensors against numpy."""

import numpy as np
import pytest
from op_cases import Case, k, m, n, run_cases
from programs import Program, tensor
from samples import FLOATS, INTEGERS

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.errors import ArgumentTypeError

pytestmark = pytest.mark.unoptimized

DTYPES = (*FLOATS, *INTEGERS, "bool")
NM = (["n", "m"], "float32")
KNOWN = ("static", "symbolic")


def test_one_value() -> None:
    cases = []
    for dtype in DTYPES:
        value = True if dtype == "bool" else 3
        made = [
            Case("full_like", [(["n", "m"], dtype)],
                 lambda x, value=value, **env: np.full_like(x, value),
                 operands=lambda x, value=value: [x, value], variants=("symbolic",)),
            Case("zeros_like", [(["n", "m"], dtype)], lambda x, **env: np.zeros_like(x)),
            Case("ones_like", [(["n"], dtype)], lambda x, **env: np.ones_like(x)),
            Case("ones_like", [NM], lambda x, dtype=dtype, **env: np.ones_like(x, dtype=dtype),
                 {"dtype": dtype}),
            Case("full", [(["n", "m"], "int8"), ([], dtype)],
                 lambda x, v, n, m, **env: np.full((m, 2, n), v),
                 operands=lambda x, v: [[m, 2, n], v], variants=("symbolic",)),
        ]  # fmt: skip
        for case in made if dtype != "float16" else []:
            case.variants = ("symbolic",)
        cases += made
    cases += [
        Case("full_like", [NM, ([], "int8")], lambda x, v, **env: np.full_like(x, v)),
        Case("full_like", [NM, ([], "float32")],
             lambda x, v, **env: np.full_like(x, v, dtype="int32"), {"dtype": "int32"}),
    ]  # fmt: skip
    run_cases(cases)


def test_of_a_shape_that_run_time_computes() -> None:
    program = Program()

    def made(name: str, *rest: object, **attrs: object) -> None:
        def body(x: ir.Value) -> ir.Value:
            type_ = ir.Type.parse("!relax.shape<unit>")
            shape = ir.Operation.create("relax.shape_of", results=[type_], operands=[x]).result
            return relax_op(name, [shape, *rest], attrs)

        program.function(name, lambda: [tensor(None, "")], body)

    made("zeros", dtype="int32")
    made("ones", dtype="float16")
    made("full", 2.5)
    vm = program.build()
    for shape in ((), (0, 3), (5, 7)):
        x = np.zeros(shape)
        for name, wanted in (
            ("zeros", np.zeros(shape, "int32")),
            ("ones", np.ones(shape, "float16")),
            ("full", np.full(shape, 2.5, "float32")),
        ):
            got = vm[name](x)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


def _range(*bounds: object, **attrs: object) -> dict:
    return {**dict(zip(("start", "end", "step"), bounds, strict=False)), **attrs}


def test_ranges() -> None:
    x = [(["n", "m", "k"], "bool")]
    empty = lambda x: []  # noqa: E731
    cases = [
        Case("arange", x, lambda x, n, **env: np.arange(n, dtype="int64"), _range(n), empty),
        Case("arange", x, lambda x, n, m, **env: np.arange(n, m, dtype="int64"), _range(n, m),
             empty),
        Case("arange", x, lambda x, n, m, **env: np.arange(n, m, 2, dtype="int64"),
             _range(n, m, 2), empty),
        Case("arange", x, lambda x, n, m, **env: np.arange(m * 3, n - 1, -2, dtype="int64"),
             _range(m * 3, n - 1, -2), empty),
        Case("arange", x, lambda x, n, **env: np.arange(n, dtype="float32"),
             _range(n, dtype="float32"), empty),
        Case("arange", x, lambda x, n, k, **env: np.arange(0, n, k, dtype="int64"),
             _range(0, n, k), empty, variants=KNOWN),
        Case("arange", x, lambda x, n, **env: np.arange(0, n, 0.5, dtype="float32"),
             _range(0, n, 0.5), empty),
        Case("arange", x, lambda x, **env: np.arange(1.5, 4.25, 0.25, dtype="float32"),
             _range(1.5, 4.25, 0.25), empty),
        Case("arange", x, lambda x, **env: np.arange(5, dtype="uint8"), _range(5, dtype="uint8"),
             empty),
        Case("arange", x, lambda x, **env: np.arange(5, 2, dtype="int64"), _range(5, 2), empty),
    ]  # fmt: skip
    for case in cases:
        # Nothing about a range is known of a tensor of unknown shape.
        case.variants = KNOWN
    run_cases(cases)


def test_diagonals() -> None:
    cases = []
    for shift in (-2, 0, 1):
        attrs, batch = {"k": shift}, (["k", "n", "m"], "float32")
        cases += [
            Case("tril", [batch], lambda x, s=shift, **env: np.tril(x, s), attrs),
            Case("triu", [batch], lambda x, s=shift, **env: np.triu(x, s), attrs),
        ]
    for case in cases[2:]:
        case.variants = ("symbolic",)
    for dtype in DTYPES:
        matrix = (["n", "m"], dtype)
        cases.append(
            Case("tril", [matrix], lambda x, **env: np.tril(x, 1), {"k": 1}, variants=("symbolic",))
        )
    cases += [
        Case("tril", [NM], lambda x, n, **env: np.tril(x, n - 3), {"k": n - 3}, variants=KNOWN),
        Case("eye_like", [NM], lambda x, n, m, **env: np.eye(n, m, dtype="float32")),
        Case("eye_like", [NM], lambda x, n, m, **env: np.eye(n, m, -1, dtype="int8"),
             {"k": -1, "dtype": "int8"}),
        Case("eye", [NM], lambda x, n, **env: np.eye(n, dtype="float32"), {"n": n},
             lambda x: [], variants=KNOWN),
        Case("eye", [NM], lambda x, n, m, **env: np.eye(m, n + 1, 2, dtype="int64"),
             {"n": m, "m": n + 1, "k": 2, "dtype": "int64"}, lambda x: [], variants=KNOWN),
    ]  # fmt: skip
    run_cases(cases)


def _hot(indices: np.ndarray, depth: int, on: float, off: float, axis: int) -> np.ndarray:
    dtype = "float32" if isinstance(on, float) or isinstance(off, float) else "int64"
    hot = np.arange(depth) == indices[..., None]
    return np.moveaxis(np.where(hot, on, off).astype(dtype), -1, axis)


def test_one_hot() -> None:
    def data(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
        # Some are outside of the depth.
        return (
            np.random.default_rng(place)
            .integers(-2 if dtype[0] == "i" else 0, 9, shape)
            .astype(dtype)
        )

    cases = []
    for dtype in ("int32", "int64", "uint8", "int8"):
        for axis, on, off in ((-1, 1, 0), (0, 1.0, 0.0), (1, 2.5, -1))[
            : 3 if dtype == "int8" else 1
        ]:
            attrs = {"on_value": on, "off_value": off, "depth": 6, "axis": axis}
            cases.append(
                Case("one_hot", [(["n", "m"], dtype)],
                     lambda x, on=on, off=off, axis=axis, **env: _hot(x, 6, on, off, axis),
                     attrs, data=data)
            )  # fmt: skip
    cases.append(
        Case("one_hot", [(["n"], "int64"), (["k"], "bool")],
             lambda x, _, k, **env: _hot(x, k, 1, 0, -1),
             {"on_value": 1, "off_value": 0, "depth": k}, lambda x, y: [x], data=data,
             variants=KNOWN)
    )  # fmt: skip
    run_cases(cases)


def test_what_run_time_refuses() -> None:
    program = Program()
    program.op("tril", "tril", (None, ""))
    program.op("one_hot", "one_hot", (None, ""), on_value=1, off_value=0, depth=3)
    program.function(
        "full",
        lambda: [ir.Type.parse("!relax.shape<unit>"), tensor(None, "")],
        lambda shape, value: relax_op("full", [shape, value], {}),
    )
    vm = program.build()
    with pytest.raises(ArgumentTypeError, match="tril: needs a matrix"):
        vm["tril"](np.zeros(3))
    with pytest.raises(ArgumentTypeError, match="one_hot: needs an integer dtype"):
        vm["one_hot"](np.zeros(3))
    with pytest.raises(ArgumentTypeError, match="full: the value to fill with must be a scalar"):
        vm["full"]((2,), np.zeros(3))
