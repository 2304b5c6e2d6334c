"""Prim funcs to scf, memref and vector: the fast path of each nest's class, else plain loops."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.lowering.tir_to_vector.analysis import match_nest, top_level
from relax_mlir.lowering.tir_to_vector.contraction import Contraction, match_contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import NotFlat, collapse, flatten_nest
from relax_mlir.lowering.tir_to_vector.generic import lower_block
from relax_mlir.lowering.tir_to_vector.init import split_inits
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.matmul import emit_contraction
from relax_mlir.lowering.tir_to_vector.symbols import replace_symbols
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, vector_iter

FLAG = "lower-tir"


def lower_tir(op: ir.Operation, *, vector_bits: int = 512, vector_registers: int = 32, fma: bool = True) -> None:
    """Lower every prim func of a module in place; other functions stay as they are (decision 8).

    Args:
        op: the module.
        vector_bits: width of a vector register.

    Raises:
        PassError: a symbol of a prim func has no value.
    """
    problems: list[str] = []
    machine = Machine(vector_bits, vector_registers, fma)
    with op.context, op.location:
        for view in op.regions[0].blocks[0].operations:
            if (
                view.operation.name == "func.func"
                and "tir.prim_func" in view.operation.attributes
                and not view.is_external
            ):
                problems += _lower_function(view, machine)
    if problems:
        raise PassError(FLAG, "a symbol has no value at run time", problems)


def _lower_function(func: ir.OpView, machine: Machine) -> list[str]:
    emit = Emitter(func.entry_block)
    for op in top_level(func):
        nest = match_nest(op)
        if isinstance(nest, str):
            continue
        found = match_contraction(nest) if "reduction" in nest.types else ""
        if isinstance(found, Contraction) and machine.lanes(found.element):
            with ir.InsertionPoint(op), op.location:
                emit_contraction(found, emit, machine)
            op.erase()
            continue
        try:
            flat = collapse(flatten_nest(nest))
        except NotFlat as e:
            print(nest.name, e)
            continue
        vector = vector_iter(flat)
        if isinstance(vector, str):
            print(nest.name, vector)
            continue
        with ir.InsertionPoint(op), op.location:
            NestWriter(flat, vector, emit, machine).write([])
        op.erase()
    split_inits(func, emit)
    lower_block(func.entry_block, emit)
    problems = replace_symbols(func, emit)
    emit.close()
    return problems
