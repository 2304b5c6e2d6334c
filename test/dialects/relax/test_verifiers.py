"""Verifiers are total: whatever the parser lets through, they answer, and never raise."""

import random

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.well_formed import check_well_formed

N = '#relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>'
TYPES = (
    "tensor<3x4xf32>", "tensor<4x3xi1>", "tensor<i1>", "tensor<*xf32>", "tensor<?x?xui8>",
    f"tensor<?x4xf32, {N}>", f"tensor<?xf32, {N}>", f"tensor<3x4xf32, {N}>",
    'tensor<?x?xf32, #relax.dims<["n"], affine_map<(d0)[s0] -> (d0, s0)>>>',
    'tensor<?xf32, #relax.dims<["n"], affine_map<()[s0, s1] -> (s0 * s1)>>>',
    'tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0 mod 0)>>>',
    'tensor<?xf32, #relax.dims<[3], affine_map<()[s0] -> (s0)>>>',
    "tensor<2xi7>", "tensor<2xindex>", 'tensor<2xf32, "other">',
    "tensor<9223372036854775807x9xf32>", "tensor<2x!relax.any_dtype>", "tensor<0x0xbf16>",
    "tensor<2xcomplex<f32>>", "vector<4xf32>", "!relax.shape<unit>", "!relax.shape<2 : i64>",
    "!relax.shape<-2 : i64>", f"!relax.shape<{N}>", '!relax.shape<"what">',
    "!relax.shape<99999999999999999999999 : i128>", "!relax.object", "!relax.any_dtype",
    "tuple<>", "tuple<tensor<3x4xf32>, !relax.shape<unit>>", "tuple<tuple<i7>>",
    "i64", "i1", "index", "f32", "none", "memref<?x4xf32>", "memref<*xf32>", "!vm.storage",
    "!vm.heap", "!llvm.ptr", "() -> ()",
)  # fmt: skip
ATTRIBUTES = (
    "unit", "0 : i64", "-1 : i64", "7 : i64", "1 : i1", "true", "1.5 : f32", '"float32"',
    '"flot32"', "99999999999999999999999999 : i128", "3 : index", "array<i64: 0>",
    "array<i64: 0, 0, -9>", "array<i64: 1, 0>", "array<i32: 1>", "array<i64>", "[]",
    '["spatial"]', "[1]", '["spatial", "x"]', "@f", "@f::@g", N, "i64", "{}", '""',
    '#relax.dims<["m"], affine_map<()[s0] -> (s0)>>',
    '#relax.dims<["m", "m"], affine_map<()[s0] -> (s0 floordiv s0)>>',
    "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0)[s0] -> (d0 + s0)>",
    "dense<1.0> : tensor<3x4xf32>", "dense<1> : vector<2xi32>", '"tensor"', '"serial"',
)  # fmt: skip
NAMES = (
    "value", "index", "callee", "func", "axis", "axes", "keepdims", "dtype", "kind", "block_name",
    "iter_types", "map", "slots", "context", "ndim", "offset", "size", "device", "tir_vars", "pure",
)  # fmt: skip
REGIONS = (
    "{}",
    '{ "relax.output"() : () -> () }',
    '{ "relax.yield"() : () -> () }',
    '{ "tir.yield"() : () -> () }',
    '{ ^bb0(%i: index): "tir.yield"() : () -> () }',
    '{ ^bb0(%i: f32): "relax.output"() : () -> () }',
    '{ "relax.output"(%a0) : (TYPE0) -> () }',
    '{ "relax.yield"(%a0) : (TYPE0) -> () }',
    "{ ^bb0: llvm.br ^bb1 ^bb1: llvm.unreachable }",
    '{ %x = "relax.abs"(%a0) : (TYPE0) -> TYPE0 "relax.output"(%x) : (TYPE0) -> () }',
    '{ ^bb0(%i: index): "tir.reads"(%a0) {map = unit} : (TYPE0) -> () "tir.yield"() : () -> () }',
    '{ "smt.yield"() : () -> () }',
    "{ func.func @inner() { return } }",
)
CORE = (
    "constant", "shape_expr", "prim_value", "shape_of", "tuple_get_item", "match_cast", "dataflow",
    "output", "if", "yield", "call", "call_tir", "call_dps_packed", "call_packed",
    "call_pure_packed", "alloc_tensor",
)  # fmt: skip
TIR = ("symbol", "for", "block", "reads", "writes", "yield")
VM = (
    "alloc_storage", "alloc_tensor", "kill", "call", "call_tir_dyn", "alloc_shape_heap",
    "store_shape", "assert_shape", "load_shape", "check",
)  # fmt: skip
OPS = (
    *(f"relax.{name}" for name in (*CORE, *COMPUTE_OPS)),
    *(f"tir.{name}" for name in TIR),
    *(f"vm.{name}" for name in VM),
)


def some_program(op: str, pick: random.Random) -> str:
    """A function around one operation whose parts are drawn at random."""
    operands = pick.choices(TYPES, k=pick.choice((0, 1, 1, 2, 2, 3)))
    results = pick.choices(TYPES, k=pick.choice((0, 1, 1, 1, 2)))
    if operands and pick.random() < 0.3:
        results = [operands[0]]
    names = pick.sample(NAMES, k=pick.randrange(4))
    attributes = ", ".join(f"{name} = {pick.choice(ATTRIBUTES)}" for name in names)
    regions = ", ".join(pick.choices(REGIONS, k=pick.choice((0, 0, 1, 2, 2, 3))))
    inside = f" ({regions})" if regions else ""
    for index, type_ in enumerate(operands):
        inside = inside.replace(f"TYPE{index}", type_)
    values = ", ".join(f"%a{i}" for i in range(len(operands)))
    parameters = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(operands))
    head = f"%r:{len(results)} = " if results else ""
    marker = pick.choice(("relax.function", "tir.prim_func"))
    return (
        f"func.func @f({parameters}) attributes {{{marker}}} "
        f'{{ {head}"{op}"({values}){inside} {{{attributes}}} : ({", ".join(operands)}) -> '
        f"({', '.join(results)}) return }}"
    )


@pytest.mark.parametrize("op", OPS)
def test_random_operations_are_accepted_or_diagnosed(op: str) -> None:
    pick = random.Random(op)
    context = default_context()
    for _ in range(100):
        program = some_program(op, pick)
        try:
            # As relax-opt parses: with neither a context nor a location around it.
            module = ir.Module.parse(program, context)
        except ir.MLIRError as refused:
            blank = [each for each in refused.error_diagnostics if not each.message]
            if blank:
                raise AssertionError(f"an error without a message: {program}") from refused
            continue
        try:
            check_well_formed(module.operation)
        except Exception as error:
            raise AssertionError(program) from error
