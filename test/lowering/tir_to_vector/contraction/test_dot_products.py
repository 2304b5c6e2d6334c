"""Contractions by instructions that add up products of small numbers, and without them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernels import build, contraction, run
from thread_counts import bits, check_bits

from relax_mlir import relax, script
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.lowering.codegen.native import compile_module
from relax_mlir.lowering.target.amx_permission import request_amx
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_tir
from relax_mlir.runtime.native.loader import taking_bfloat16

# Rows, columns, depth: no multiples of what is multiplied at once, several tiles and blocks.
SHAPES = (
    (5, 7, 3), (1, 9, 5), (3, 3, 0), (0, 4, 4), (2, 1, 1), (4, 32, 4), (13, 33, 17), (29, 64, 31),
    (40, 70, 130), (25, 35, 1601),
)  # fmt: skip
ALL = "bf16,u8s8,s16"
MATRICES = "amx_bf16,amx_int8"
BF16 = ("bfloat16", "bfloat16", "float32")
S8 = ("int8", "int8", "int32")
_WIDE = "llvm -mcpu=x86-64-v4 -mattr="
# What has them, so that it can be asked what else it may run.
TARGETS = {
    ALL: f"{_WIDE}+avx512vnni,+avx512bf16",
    "bf16": f"{_WIDE}+avx512bf16",
    "u8s8,s16": f"{_WIDE}+avx512vnni",
    MATRICES: f"{_WIDE}+amx-tile,+amx-bf16,+amx-int8",
    "amx_bf16": f"{_WIDE}+amx-tile,+amx-bf16",
}


def having(instructions: str) -> dict[str, str]:
    """Return the options of `build` for instructions; the test is skipped where they are not."""
    if "amx" in instructions and not request_amx():
        pytest.skip("the system does not give this process AMX's registers")
    return {"target": TARGETS[instructions], "dot_products": instructions}


def numbers(shape: Sequence[int], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) + len(dtype))
    if "int" in dtype:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return rng.standard_normal(shape).astype(kind)


def operands(spec: str, shape: Sequence[int], dtypes: Sequence[str]) -> list[np.ndarray]:
    extents = dict(zip("mnk", shape, strict=True))
    parts = spec.split("->")[0].split(",")
    return [
        numbers([extents[x] for x in part], dtype)
        for part, dtype in zip(parts, dtypes, strict=False)
    ]


def call(function: Any, inputs: Sequence[np.ndarray], shape: Sequence[int], dtype: str) -> Any:
    return run(taking_bfloat16(function), inputs, [shape[0], shape[1]], dtype)


def check(function: Any, spec: str, shape: Sequence[int], dtypes: Sequence[str]) -> None:
    inputs = operands(spec, shape, dtypes)
    got = call(function, inputs, shape, dtypes[-1])
    if "int" in dtypes[-1]:
        want = np.einsum(spec, *(x.astype(dtypes[-1]) for x in inputs))
        np.testing.assert_array_equal(got, want, err_msg=f"{spec} {shape} {dtypes}")
        return
    exact = [x.astype("float64") for x in inputs]
    # Each of the additions rounds by half a unit of at most the sum of magnitudes.
    size = np.einsum(spec, *(abs(x) for x in exact))
    error = abs(got - np.einsum(spec, *exact))
    assert (error <= 2.0**-23 * (shape[2] + 1) * size).all(), (spec, shape, dtypes)


def symbolic(cases: Sequence[tuple[str, Sequence[str]]], **options: Any) -> dict[str, Any]:
    dims: Any = {x: x for x in "mnk"}
    return build([contraction(f"f{i}", x, dims, t) for i, (x, t) in enumerate(cases)], **options)


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ("mk,kn->mn", (BF16, S8, ("uint8", "int8", "int32"), ("int16", "int16", "int32"))),
        ("mk,nk->mn", (S8, ("int8", "uint8", "int32"), ("uint8", "int16", "int32"))),
        ("km,kn->mn", (BF16, ("uint8", "uint8", "int32"))),
    ],
)
def test_symbolic_sizes(spec: str, types: Sequence[Sequence[str]]) -> None:
    functions = symbolic([(spec, each) for each in types], **having(ALL))
    for i, dtypes in enumerate(types):
        for shape in SHAPES:
            check(functions[f"f{i}"], spec, shape, dtypes)


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ("mk,kn->mn", (BF16, S8, ("uint8", "int8", "int32"))),
        ("mk,nk->mn", (BF16, ("int8", "uint8", "int32"))),
        ("km,kn->mn", (BF16, ("uint8", "uint8", "int32"))),
    ],
)
def test_matrix_registers(spec: str, types: Sequence[Sequence[str]]) -> None:
    functions = symbolic([(spec, each) for each in types], **having(MATRICES))
    for i, dtypes in enumerate(types):
        # Rows that fill both registers, one, or a part of them; k with and without a rest.
        for shape in (*SHAPES, (100, 70, 640), (48, 64, 64), (33, 257, 1200)):
            check(functions[f"f{i}"], spec, shape, dtypes)


@pytest.mark.parametrize("instructions", [ALL, MATRICES])
@pytest.mark.parametrize("dtypes", [BF16, S8], ids=str)
def test_known_sizes(dtypes: Sequence[str], instructions: str) -> None:
    cases = [("mk,kn->mn", s) for s in SHAPES[:7:2]] + [("mk,nk->mn", s) for s in SHAPES[5:8]]
    functions = build(
        [
            contraction(f"f{i}", spec, dict(zip("mnk", shape, strict=True)), dtypes)
            for i, (spec, shape) in enumerate(cases)
        ],
        **having(instructions),
    )
    for i, (spec, shape) in enumerate(cases):
        check(functions[f"f{i}"], spec, shape, dtypes)


@pytest.mark.parametrize(
    ("kind", "cpu"),
    [("u8s8", "x86-64-v3 -mattr=+avxvnni"), ("s16", "x86-64-v3"), ("s16", "x86-64-v2")],
)
def test_narrow_registers(kind: str, cpu: str) -> None:
    options = {"target": f"llvm -mcpu={cpu}", "dot_products": kind}
    functions = symbolic([("mk,kn->mn", S8)], **options)
    for shape in SHAPES:
        check(functions["f0"], "mk,kn->mn", shape, S8)


def test_without_the_instructions() -> None:
    types = (BF16, S8, ("uint8", "int8", "int32"), ("float16", "float16", "float32"))
    functions = symbolic([("mk,kn->mn", each) for each in types], dot_products="")
    for i, dtypes in enumerate(types):
        for shape in SHAPES:
            check(functions[f"f{i}"], "mk,kn->mn", shape, dtypes)


@pytest.mark.parametrize("dtypes", [S8, ("uint8", "int8", "int32"), ("uint8", "uint8", "int32"),
                                    ("int16", "int16", "int32")], ids=str)  # fmt: skip
def test_extremes_neither_saturate_nor_trap(dtypes: Sequence[str]) -> None:
    function = symbolic([("mk,kn->mn", dtypes)], **having("u8s8,s16"))["f0"]
    least, most = (
        [int(getattr(np.iinfo(each), end)) for each in dtypes[:2]] for end in ("min", "max")
    )
    for x, y in ((least[0], least[1]), (least[0], most[1]), (most[0], most[1])):
        a, b = np.full((13, 4099), x, dtypes[0]), np.full((4099, 35), y, dtypes[1])
        want = (np.full((13, 35), 4099 * x * y, np.int64) & 0xFFFFFFFF).astype(np.uint32)
        got = call(function, [a, b], (13, 35), "int32")
        np.testing.assert_array_equal(got, want.view(np.int32))


@pytest.mark.parametrize("kind", ["bf16", "amx_bf16"])
def test_infinities_and_nans(kind: str) -> None:
    function = symbolic([("mk,kn->mn", BF16)], **having(kind))["f0"]
    for shape in SHAPES:
        if not all(shape):
            continue
        a, b = operands("mk,kn->mn", shape, BF16)
        a[-1, -1], b[0, -1] = np.inf, np.nan
        with np.errstate(invalid="ignore"):
            want = a.astype("f8") @ b.astype("f8")
        got = call(function, [a, b], shape, "float32")
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=str(shape))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want), err_msg=str(shape))


@pytest.mark.parametrize("instructions", [ALL, MATRICES])
def test_same_bits_on_any_threads(monkeypatch: pytest.MonkeyPatch, instructions: str) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    cases = [("mk,kn->mn", BF16), ("mk,nk->mn", S8)]
    serial = symbolic(cases, **having(instructions))
    threaded = symbolic(cases, **having(instructions), threads=5)
    for i, (spec, dtypes) in enumerate(cases):
        for shape in SHAPES:
            given = operands(spec, shape, dtypes), shape, dtypes[-1]
            want = bits(call, serial[f"f{i}"], *given)
            check_bits(partial(bits, call, threaded[f"f{i}"], *given), want)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("-mcpu=sapphirerapids", ("amx_bf16", "amx_int8", "u8s8", "s16")),
        ("-mcpu=sapphirerapids -mattr=-amx-int8", ("amx_bf16", "u8s8", "s16")),
        ("-mcpu=znver4", ("bf16", "u8s8", "s16")),
        ("-mcpu=znver4 -mattr=-avx512bf16", ("u8s8", "s16")),
        ("-mcpu=skylake-avx512", ("s16",)),
        ("-mcpu=haswell", ("s16",)),
        ("-mcpu=alderlake", ("u8s8", "s16")),
        ("-mcpu=znver4 -mattr=-avx512bw", ()),
        ("-mcpu=x86-64", ()),
    ],
)
def test_instructions_of_targets(text: str, names: tuple[str, ...]) -> None:
    assert Target(f"llvm -mtriple=x86_64-linux-gnu {text}").dot_products == names


@pytest.mark.parametrize(
    ("text", "gathers"),
    [("sapphirerapids", True), ("haswell", True), ("znver4", False), ("x86-64", False)],
)
def test_targets_with_gathers(text: str, gathers: bool) -> None:
    assert Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={text}").gathers == gathers
    assert not Target("llvm -mtriple=aarch64-linux-gnu").gathers


def test_targets_of_one_unit() -> None:
    """The vectors of 64 bytes of one processor take two steps each, those of 32 one."""
    zen = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    assert zen.fma_units == 1
    assert Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5").fma_units == 2
    assert Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell").fma_units == 2


def test_other_architectures_have_none() -> None:
    assert Target("llvm -mtriple=aarch64-linux-gnu").dot_products == ()


@pytest.mark.parametrize(
    ("dtypes", "cpu", "instruction"),
    [
        (BF16, "sapphirerapids", "tdpbf16ps"),
        (("int8", "uint8", "int32"), "sapphirerapids", "tdpbsud"),
        (BF16, "znver4", "vdpbf16ps"),
        (S8, "znver4", "vpdpbusd"),
        (S8, "alderlake", "vpdpbusd"),
        (S8, "haswell", "vpmaddwd"),
    ],
)
def test_instructions_reach_the_assembly(dtypes: Any, cpu: str, instruction: str) -> None:
    target = Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            contraction("f", "mk,kn->mn", {"m": 24, "k": 96, "n": 64}, dtypes)()
        lower_tir(module.operation, target=str(target))
        assert instruction in compile_module(module, target).assembly()


# R.matmul(..., out_dtype=...)


def program(x: str, y: str, out: str | None) -> Any:
    asked = f", out_dtype='{out}'" if out else ""
    return script.from_source(
        f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m", "k"), "{x}"), y: R.Tensor(("k", 21), "{y}")):
        return R.matmul(x, y{asked})
"""
    )


@pytest.mark.parametrize(
    ("x", "y", "out"),
    [
        ("int8", "int8", "int32"),
        ("uint8", "int8", "int32"),
        ("bfloat16", "bfloat16", "float32"),
        ("float16", "float16", None),
        ("int8", "int8", None),
        ("uint16", "uint16", None),
    ],
)
def test_matmul_of_small_numbers(x: str, y: str, out: str | None) -> None:
    main = relax.VirtualMachine(relax.build(program(x, y, out)))["main"]
    a, b = operands("mk,kn->mn", (37, 21, 45), (x, y))
    got = np.asarray(main(a, b))
    assert got.dtype == np.dtype(out or x)
    if "int" in x:
        want = (a.astype("int64") @ b.astype("int64")).astype(out or x)
        np.testing.assert_array_equal(got, want)
    else:
        want = a.astype("float64") @ b.astype("float64")
        rounded = 2e-2 if got.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(got, want, rtol=rounded, atol=rounded)


@pytest.mark.parametrize(
    ("x", "y", "out", "message"),
    [
        ("uint8", "int8", None, "must match"),
        ("float32", "int8", None, "must match"),
        ("int8", "int8", "int33", "int33"),
    ],
)
def test_matmul_refuses(x: str, y: str, out: str | None, message: str) -> None:
    with pytest.raises((RelaxMLIRError, ValueError), match=message):
        program(x, y, out)
