"""Symbols of straight code in variables: the same values and errors as on a shape heap."""

import ast

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.relax import op
from relax_mlir.runtime.bytecode.instructions import Opcode
from relax_mlir.runtime.bytecode.polynomials import Polynomial, polynomial, size_formulas
from relax_mlir.runtime.bytecode.shape_locals import ShapeLocals
from relax_mlir.runtime.bytecode.translate import _operand
from relax_mlir.runtime.exec_builder import ExecBuilder
from relax_mlir.runtime.values.convert import BFLOAT16, DTYPES, numpy_dtype
from relax_mlir.script import relax as R
from relax_mlir.tir import Var

HEAP = ("alloc_shape_heap", "store_shape", "assert_shape", "load_shape", "load_value")


def product() -> relax.VirtualMachine:
    n, k, m = (Var(name, "int64") for name in "nkm")
    x = relax.Var("x", R.Tensor((n, k), "float32"))
    y = relax.Var("y", R.Tensor((k, m), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(op.matmul(x, y))
        bb.emit_func_output(out)
    return relax.VirtualMachine(relax.build(bb.get()))


def test_no_heap_is_left_in_straight_code() -> None:
    executable = product().executable
    (func,) = executable.global_funcs
    found = ShapeLocals(executable, func, _operand, set(executable.metadata["kernels"]))
    names = [
        executable.func_names[instr.func_idx]
        for i, instr in enumerate(executable.instructions(func))
        if instr.op is Opcode.CALL and i not in found.lines
    ]
    assert names
    assert not [n for n in names if n.removeprefix("vm.builtin.") in HEAP or "shape_func" in n]


@pytest.mark.parametrize("dims", [(0, 3, 2), (1, 1, 1), (3, 0, 5), (37, 61, 129), (300, 5, 400)])
def test_results_have_their_sizes(dims: tuple[int, int, int]) -> None:
    n, k, m = dims
    x, y = np.ones((n, k), "float32"), np.ones((k, m), "float32")
    np.testing.assert_array_equal(product()["main"](x, y), x @ y)


def test_a_mismatch_says_what_it_always_said() -> None:
    vm = product()
    with pytest.raises(
        ShapeMismatchError, match=r"argument 'y'.*dimension 0 is 4, expected 3 \(k,"
    ):
        vm["main"](np.ones((2, 3), "float32"), np.ones((4, 5), "float32"))


def test_formulas_are_of_slots() -> None:
    executable = product().executable
    slots = [e["slots"] for e in executable.metadata["kernels"].values() if "slots" in e]
    assert slots == [{"3": "s2 * s0 * 4"}]


@pytest.mark.parametrize("dims", [("n", 128), (3, "n"), ("n",), (2, "n", "m", 5)])
def test_small_results_are_numpys_own(dims: tuple[int | str, ...]) -> None:
    """Of a size that is known to be right, with dimensions of any kind, nobody asks."""
    known = {name: Var(name, "int64") for name in "nm"}
    x = relax.Var("x", R.Tensor(tuple(known.get(d, d) for d in dims), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.exp(x))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get()))
    vm._namespace["new_tensor"] = None
    array = np.zeros([d if isinstance(d, int) else 7 for d in dims], "float32")
    np.testing.assert_array_equal(vm["main"](array), np.ones_like(array))


@pytest.mark.parametrize("attrs", [{}, {"padding": 2}, {"strides": 2}, {"dilation": 2}])
def test_sizes_that_are_sums_are_numpys_own(attrs: dict[str, int]) -> None:
    h, w = (Var(name, "int64") for name in "hw")
    x = relax.Var("x", R.Tensor((1, 4, h, w), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            kernels = relax.const(np.ones((8, 4, 3, 3), "float32"))
            out = bb.emit_output(op.nn.conv2d(x, kernels, **attrs))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get()))
    vm._namespace["new_tensor"] = None
    image = np.ones((1, 4, 9, 11), "float32")
    assert vm["main"](image).max() == 36


def formula_of(text: str) -> Polynomial | None:
    return polynomial(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("written", "dims"),
    [
        ("a*b*4 - a*4 - b*4 + 4", ["c", "d"]),
        ("(a-1)*(b-1)*4", ["d", "c"]),
        ("4*c*d", ["c", "d"]),
        ("(a-1)*8*(3-2)", ["c", "2"]),
        ("0", ["c", "0"]),
        ("-4*b*-(e//2)", ["b", "f"]),
    ],
)
def test_formulas_of_sizes(written: str, dims: list[str]) -> None:
    known = {"c": formula_of("a - 1"), "d": formula_of("b + -1"), "f": formula_of("e // 2")}
    assert formula_of(written) in size_formulas(dims, 4, known)
    assert formula_of(f"{written} + 1") not in size_formulas(dims, 4, known)
    assert (
        formula_of(f"({written})*a*2") not in size_formulas(["a", *dims], 4, known) or "0" in dims
    )


def test_formulas_too_long_are_left() -> None:
    factor = "+".join(f"a{i}" for i in range(9))
    assert formula_of(f"({factor})*({factor})") is None
    assert size_formulas(["a", "b"], 4, dict.fromkeys("ab", formula_of(factor)))[1] is None


def hand_made(formulas: object, args: tuple[int, ...], *, twice: bool = False) -> object:
    """Return what a program computes whose shape function is Python's, with a wrong formula."""
    builder = ExecBuilder(warn_unused_inputs=False)
    with builder.function("main", 1):
        heap = builder.r(1)
        builder.emit_call("vm.builtin.alloc_shape_heap", [builder.imm(2)], dst=heap)
        builder.emit_call("vm.builtin.store_shape", [builder.r(0), heap, *map(builder.imm, args)])
        if twice:
            builder.emit_call("vm.builtin.alloc_shape_heap", [builder.imm(2)], dst=heap)
        builder.emit_call(
            "vm.builtin.load_shape", [heap, builder.imm(0), builder.imm(1)], dst=builder.r(2)
        )
        builder.emit_ret(builder.r(2))
    executable = builder.get(metadata={"kernels": formulas})
    return relax.VirtualMachine(executable)["main"](np.zeros((5, 7), "float32"))


@pytest.mark.parametrize("formulas", [None, [], {"f": 1}, {"f": {"slots": {"0": "__import__"}}}])
def test_metadata_of_any_kind_is_harmless(formulas: object) -> None:
    assert hand_made(formulas, (0, 1)) == (5, 7)
    assert hand_made(formulas, (-1, 0)) == (7, 0)


def test_a_heap_in_a_register_that_is_written_twice_stays_one() -> None:
    assert hand_made({}, (0, 1), twice=True) == (0, 0)


def test_more_slots_than_dimensions_are_an_error() -> None:
    with pytest.raises(ShapeMismatchError, match="2 dimensions, expected 3"):
        hand_made({}, (0, 1, 1))


def test_bfloat16_that_becomes_known_after_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ml_dtypes")
    monkeypatch.delitem(DTYPES, BFLOAT16, raising=False)
    x = relax.Var("x", R.Tensor((64, 8), BFLOAT16))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.exp(x))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get()))
    ones = np.ones((64, 8), numpy_dtype(BFLOAT16))
    assert vm["main"](ones).dtype == ones.dtype


def test_sums_that_are_too_deep_for_python_are_left_to_the_shape_function() -> None:
    executable = product().executable
    (func,) = executable.global_funcs
    found = ShapeLocals(executable, func, _operand, set())
    few, many = (" + ".join(f"s0 // {k}" for k in range(2, n)) for n in (100, 900))
    assert found._computed({"1": many}, ["a", "b"]) is None
    source = found._computed({"1": few}, ["a", "b"])
    assert source is not None
    variables = {"a": 17}
    exec(source, variables)
    assert variables["b"] == sum(17 // k for k in range(2, 100))
