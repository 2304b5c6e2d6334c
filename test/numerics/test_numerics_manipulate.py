"""Rearrangements, joining and `unique` against numpy."""

import itertools

import numpy as np
import pytest
from op_cases import SIZES as SYMBOLS
from op_cases import Case, k, m, n, run_cases
from programs import Program, tensor
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax import types as T
from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError

pytestmark = pytest.mark.unoptimized

DTYPES = (*FLOATS, *INTEGERS, "bool")
SIZES = ((1, 1, 1), (0, 3, 2), (3, 0, 2), (17, 13, 11), (67, 131, 3), (2, 300, 5))
NM, NMK = (["n", "m"], "float32"), (["n", "m", "k"], "float32")
KNOWN = ("static", "symbolic")


def _array(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return sample(shape, dtype, seed=sum(shape))


def test_every_dtype() -> None:
    cases = []
    for dtype in DTYPES:
        x = [(["n", "m"], dtype)]
        cases += [
            Case("flatten", x, lambda x, **env: x.reshape(-1)),
            Case("permute_dims", x, lambda x, **env: x.T),
            Case("flip", x, lambda x, **env: x[:, ::-1], {"axis": 1}),
            Case("concat", x * 2, lambda x, y, **env: np.concatenate([x, y], 1), {"axis": 1},
                 lambda *xs: [list(xs)]),
        ]  # fmt: skip
    for case in cases[4:]:
        case.variants = ("symbolic",)
    run_cases(cases)


def test_permutations() -> None:
    cases = [
        Case("permute_dims", [NMK], lambda x, order=order, **env: x.transpose(order),
             {"axes": list(order)}, variants=("symbolic",))
        for order in itertools.permutations(range(3))
    ]  # fmt: skip
    cases += [
        Case("permute_dims", [([], "float32")], lambda x, **env: x),
        Case("permute_dims", [([2, 3], "int8")], lambda x, **env: x.T, {"axes": [-1, 0]}),
    ]
    run_cases(cases)


def test_reshape() -> None:
    n = SymExpr.var("n")
    cases = [
        (["n", 6], [n * 2, 3]),
        (["n", 6], [n * 6]),
        (["n", 6], [1, n, 2, 3]),
        ([4, 9], [6, 6]),
        ([1], []),
        (["n", 0], [0, n]),
    ]
    program = Program()

    def add(index: int, dims: list, shape: list) -> None:
        def body(x: ir.Value) -> ir.Value:
            value = ir.Operation.create("relax.shape_expr", results=[T.shape_type(shape)]).result
            return relax_op("reshape", [x, value], {})

        program.function(f"f{index}", lambda: [tensor(dims)], body)

    for index, (dims, shape) in enumerate(cases):
        add(index, dims, shape)
    vm = program.build()
    for index, (dims, shape) in enumerate(cases):
        for size in (0, 1, 5, 67):
            x = _array(tuple(size if dim == "n" else dim for dim in dims), "float32")
            wanted = [SymExpr.of(dim).evaluate({"n": size}) for dim in shape]
            got = vm[f"f{index}"](x)
            check(got, x.reshape(wanted), what=(dims, shape, size))
            assert not np.shares_memory(got, x)


def test_reshape_patterns() -> None:
    def case(dims: list, pattern: list, wanted: object) -> Case:
        return Case("reshape", [(dims, "int32")],
                    lambda x, wanted=wanted, **env: x.reshape(wanted(**env)),
                    operands=lambda x: [x, pattern], sizes=SYMBOLS)  # fmt: skip

    run_cases([
        case(["n", "m", 6], [-1, 3], lambda n, m, k: (2 * n * m, 3)),
        case(["n", "m", 6], [0, -1], lambda n, m, k: (n, 6 * m)),
        case(["n", "m", 6], [0, 0, 2, 3], lambda n, m, k: (n, m, 2, 3)),
        case(["n", 4], [2, -1], lambda n, m, k: (2, 2 * n)),
    ])  # fmt: skip


def test_reshape_patterns_that_fit_nothing() -> None:
    program = Program()
    for index, pattern in enumerate(([-1, 4], [0, 0, 0], [0, -1])):
        program.function(
            f"f{index}",
            lambda: [tensor(None, "")],
            lambda x, pattern=pattern: relax_op("reshape", [x, pattern], {}),
        )
    vm = program.build()
    with pytest.raises(ShapeMismatchError, match=r"6 elements cannot take shape \(-1, 4\)"):
        vm["f0"](np.zeros((2, 3)))
    with pytest.raises(ShapeMismatchError, match="no dimension 2 to copy, 2 are there"):
        vm["f1"](np.zeros((2, 3)))
    with pytest.raises(ShapeMismatchError, match="cannot take shape"):
        vm["f2"](np.zeros((0, 3)))


def test_reshape_asserts_how_many_elements_there_are() -> None:
    program = Program()

    def add(name: str, dims: list, pattern: list) -> None:
        program.function(
            name,
            lambda: [tensor(dims), tensor(["k"])],
            lambda x, _: relax_op("reshape", [x, pattern], {}),
        )

    add("rest", ["n", "m"], [-1, 4])
    add("other", ["n", "m"], [k, 2])
    vm = program.build()
    assert "vm.op." not in vm.executable.as_text()
    x = sample((6, 4), "float32")
    check(vm["rest"](x, x[0, :1]), x.reshape(-1, 4))
    check(vm["other"](x, np.zeros(12, "float32")), x.reshape(12, 2))
    with pytest.raises(ShapeMismatchError, match=r"of the reshape to .*is 15, expected 12"):
        vm["rest"](sample((5, 3), "float32"), x[0])
    with pytest.raises(ShapeMismatchError, match=r"dimension 0 is 24, expected 8 \(k \* 2\)"):
        vm["other"](x, x[0])


def test_dimensions_of_one() -> None:
    run_cases([
        Case("expand_dims", [NM], lambda x, **env: x[None, :, None], {"axis": [0, 2]}),
        Case("expand_dims", [NM], lambda x, **env: x[..., None], {"axis": [-1]}),
        Case("expand_dims", [([], "int8")], lambda x, **env: x[None], {"axis": 0}),
        Case("squeeze", [(["n", 1, "m", 1], "int8")], lambda x, **env: x[:, 0, :, 0],
             {"axis": [1, -1]}),
        Case("squeeze", [([1, "n", 1], "int8")], lambda x, **env: x.squeeze()),
        Case("squeeze", [([1, "n", 1], "int8")], lambda x, **env: x[0, :, 0], {"axis": [0, 2]}),
        Case("squeeze", [(["n", "m"], "int8")], lambda x, **env: x[0], {"axis": [0]},
             sizes=({"n": 1, "m": 5}, {"n": 1, "m": 0})),
        Case("squeeze", [([1, n + 2], "int8")], lambda x, **env: x[0]),
    ])  # fmt: skip


def test_broadcast_to() -> None:
    x = [([1, "m"], "int16"), (["n"], "bool")]
    run_cases([
        Case("broadcast_to", x, lambda x, _, n, m, k: np.broadcast_to(x, (n, m)),
             operands=lambda x, y: [x, [n, m]], variants=KNOWN),
        Case("broadcast_to", x, lambda x, _, n, m, k: np.broadcast_to(x, (3, n, 2, m)),
             operands=lambda x, y: [x, [3, n, 2, m]], variants=KNOWN),
        Case("broadcast_to", [(["k", "m"], "int16"), (["n"], "bool")],
             lambda x, _, n, m, k: np.broadcast_to(x, (n, m)),
             operands=lambda x, y: [x, [n, m]], variants=KNOWN,
             sizes=({"n": 4, "m": 3, "k": 4}, {"n": 5, "m": 2, "k": 1})),
        Case("broadcast_to", [([], "float64")], lambda x, **env: np.broadcast_to(x, (2, 3)),
             operands=lambda x: [x, [2, 3]]),
    ])  # fmt: skip


def test_joining() -> None:
    def joined(name: str, count: int, axis: int, *inputs: object) -> Case:
        function = np.concatenate if name == "concat" else np.stack
        return Case(name, list(inputs) * count, lambda *xs, **env: function(xs, axis),
                    {"axis": axis}, lambda *xs: [list(xs)])  # fmt: skip

    run_cases([
        joined("concat", 1, 0, NM, (["k", "m"], "float32")),
        joined("concat", 1, -1, (["n", "m"], "int8"), (["n", 4], "int8"), (["n", "k"], "int8")),
        joined("concat", 30, 1, NM),
        joined("concat", 1, None, (["n"], "float32"), ([3], "float32"), (["m"], "float32")),
        joined("stack", 3, 1, NM),
        joined("stack", 2, -1, NM),
        joined("stack", 1, 2, NM),
    ])  # fmt: skip


def test_everything_between_may_be_empty() -> None:
    program = Program()
    program.function(
        "f",
        lambda: [tensor(["n", 3])],
        lambda x: relax_op("tile", [relax_op("strided_slice", [x], {
            "axes": [0], "begin": [4], "end": [1]})], {"repeats": [1, 2]}),
    )  # fmt: skip
    check(program.build()["f"](sample((7, 3), "float32")), np.zeros((0, 6), "float32"))


def test_what_only_run_time_can_join() -> None:
    program = Program()
    pair = [tensor, tensor]
    for name, axis in (("concat", 0), ("stack", 0)):
        program.function(
            name,
            lambda: [tensor(["n", "m"]), tensor(["k", 3])],
            lambda x, y, name=name, axis=axis: relax_op(name, [[x, y]], {"axis": axis}),
        )
    program.function(
        "loose",
        lambda: [make(None, "") for make in pair],
        lambda x, y: relax_op("concat", [[x, y]], {"axis": 1}),
    )
    vm = program.build()
    x, y = sample((4, 3), "float32"), sample((2, 3), "float32")
    check(vm["concat"](x, y), np.concatenate([x, y]))
    check(vm["stack"](x, x), np.stack([x, x]))
    with pytest.raises(ShapeMismatchError, match=r"concat: .*dimension"):
        vm["concat"](x[:, :2], y)
    with pytest.raises(ShapeMismatchError, match=r"stack: .*same shape"):
        vm["stack"](x, y)
    with pytest.raises(ArgumentTypeError, match="operand dtypes must match"):
        vm["loose"](x, x.astype("int8"))
    with pytest.raises(ArgumentTypeError, match="axis 1 is out of range"):
        vm["loose"](x[0], x[0])


def test_split() -> None:
    def cut(parts: object, axis: int, *dims: object) -> Case:
        def reference(x: np.ndarray, **env: int) -> tuple:
            if isinstance(parts, list):
                return tuple(np.split(x, parts, axis))
            size = -(-x.shape[axis] // parts)
            places = [min(size * i, x.shape[axis]) for i in range(1, parts)]
            return tuple(np.split(x, places, axis))

        attrs = {"indices_or_sections": parts, "axis": axis}
        return Case("split", [(list(dims), "float32")], reference, attrs)

    run_cases([
        cut(2, 0, n * 2, "m"),
        cut(3, 1, "n", "m"),
        cut(4, 1, "n", 6),
        cut(1, 0, "n"),
        cut([2, 5], 0, "n", "m"),
        cut([1, 1, -1], -1, "n", "m"),
        cut([3], 1, "n", 9),
    ])  # fmt: skip


def test_slices() -> None:
    def sliced(begin: list, end: list, **more: object) -> Case:
        """Slice as Python does; symbols are taken from the names of the sizes."""
        axes = more.pop("axes", list(range(len(begin))))
        strides = more.get("strides") or [1] * len(axes)

        def reference(x: np.ndarray, **env: int) -> np.ndarray:
            index = [slice(None)] * x.ndim
            for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
                ends = [SymExpr.of(i).evaluate(env) for i in (first, last)]
                index[axis] = slice(*[None if abs(i) > 2**60 else i for i in ends], step)
            return x[tuple(index)]

        attrs = {"axes": axes, "begin": begin, "end": end, **more}
        symbolic = any(isinstance(i, SymExpr) for i in [*begin, *end])
        return Case(
            "strided_slice",
            [NMK],
            reference,
            attrs,
            variants=KNOWN if symbolic else ("static", "symbolic", "ranked", "unknown"),
        )

    far = 2**63 - 1
    run_cases([
        sliced([1], [4]),
        sliced([1, -2], [far, far]),
        sliced([0, 2], [far, far], strides=[2, 3]),
        sliced([-1], [-far], strides=[-1]),
        sliced([5, 3], [1, -far], strides=[-2, -1], axes=[0, 2]),
        sliced([4], [2]),
        sliced([0], [n - 1]),
        sliced([n - 3], [n]),
        sliced([m], [n], strides=[2]),
        sliced([0, 1], [n - 2, m - 1], axes=[-3, 1]),
        sliced([n - 1], [-n - 1], strides=[-1]),
        sliced([0], [k], assume_inbound=True, axes=[2]),
    ])  # fmt: skip


def test_slices_said_to_be_inside() -> None:
    program = Program()
    attrs = {"axes": [0], "begin": [1], "end": [m], "assume_inbound": True}
    program.op("inside", "strided_slice", (["n", "m"], "float32"), **attrs)
    vm = program.build()
    x = sample((9, 4), "float32")
    check(vm["inside"](x), x[1:4])
    with pytest.raises(ShapeMismatchError, match="strided_slice: a slice from 1 to 4 of 3"):
        vm["inside"](x[:3])


def test_slices_by_tensors() -> None:
    program = Program()
    bounds = [([2], "int64")] * 3
    program.op("ranked", "dynamic_strided_slice", (["n", "m"], "float32"), *bounds)
    program.op("unknown", "dynamic_strided_slice", *[(None, "")] * 4)
    vm = program.build()
    x = sample((9, 4), "float32")
    for name in ("ranked", "unknown"):
        for begin, end, strides in (((1, 0), (8, 4), (2, 1)), ((-1, 3), (-9, -5), (-3, -1))):
            index = tuple(map(slice, begin, end, strides))
            got = vm[name](x, *(np.array(each) for each in (begin, end, strides)))
            check(got, x[index], what=(name, begin))
    with pytest.raises(ShapeMismatchError, match="a stride cannot be 0"):
        vm["ranked"](x, np.array([0, 0]), np.array([1, 1]), np.array([1, 0]))


def test_repeating_and_turning() -> None:
    run_cases([
        Case("tile", [NM], lambda x, **env: np.tile(x, (2, 3)), {"repeats": [2, 3]}),
        Case("tile", [NM], lambda x, **env: np.tile(x, 2), {"repeats": [2]}),
        Case("tile", [NM], lambda x, **env: np.tile(x, (2, 1, 3)), {"repeats": [2, 1, 3]}),
        Case("tile", [NM], lambda x, **env: np.tile(x, (0, 1)), {"repeats": [0, 1]}),
        Case("tile", [([1, 3], "int8")], lambda x, **env: np.tile(x, (2, 2)), {"repeats": [2, 2]}),
        Case("repeat", [NM], lambda x, **env: np.repeat(x, 3, 0), {"repeats": 3, "axis": 0}),
        Case("repeat", [NM], lambda x, **env: np.repeat(x, 2, -1), {"repeats": 2, "axis": -1}),
        Case("repeat", [NM], lambda x, **env: np.repeat(x, 2), {"repeats": 2}),
        Case("repeat", [NM], lambda x, **env: np.repeat(x, 0, 1), {"repeats": 0, "axis": 1}),
        Case("flip", [NMK], lambda x, **env: x[:, ::-1], {"axis": -2}),
        Case("roll", [NM], lambda x, **env: np.roll(x, 2, 1), {"shift": 2, "axis": 1}),
        Case("roll", [NM], lambda x, **env: np.roll(x, -9), {"shift": -9}),
        Case("roll", [NM], lambda x, **env: np.roll(x, (1, -2), (0, 1)),
             {"shift": [1, -2], "axis": [0, 1]}),
        Case("roll", [([], "int8")], lambda x, **env: x, {"shift": 1}),
    ])  # fmt: skip


def test_padding() -> None:
    sizes = ({"n": 1, "m": 1, "k": 1}, {"n": 5, "m": 3, "k": 2}, {"n": 67, "m": 13, "k": 7})
    cases = [
        Case("pad", [NM], lambda x, **env: np.pad(x, ((1, 2), (0, 3)), constant_values=2.5),
             {"pad_width": [1, 2, 0, 3], "pad_value": 2.5}),
        Case("pad", [(["n", "m"], "int8")], lambda x, **env: np.pad(x, ((0, 2), (1, 0))),
             {"pad_width": [0, 2, 1, 0]}),
    ]  # fmt: skip
    for mode, numpy_mode in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        for inner in (["n", "m"], [n + 1, 4]):
            cases.append(
                Case("pad", [(inner, "float32")],
                     lambda x, mode=numpy_mode, **env: np.pad(x, ((0, 0), (3, 6)), mode),
                     {"pad_width": [0, 0, 3, 6], "pad_mode": mode}, sizes=sizes)
            )  # fmt: skip
    run_cases(cases)
    program = Program()
    program.op("f", "pad", (["n"], "float32"), pad_width=[1, 1], pad_mode="reflect")
    with pytest.raises(ShapeMismatchError, match="nothing to take from an axis of length 0"):
        program.build()["f"](np.zeros(0, "float32"))


def test_unique() -> None:
    program = Program()
    for dtype in ("float32", "int64", "bool"):
        program.op(dtype, "unique", (["n", "m"], dtype))
    vm = program.build()
    for dtype in ("float32", "int64", "bool"):
        for rows, columns, _ in SIZES:
            x = (
                _array((rows, columns), dtype)
                if dtype == "bool"
                else _array((rows, columns), "int8").astype(dtype)
            )
            check(vm[dtype](x), np.unique(x), what=(dtype, rows))
