"""The prim funcs that a pass changes, and a writer of operations for each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.pass_infra.kinds.per_function import is_skipped


def prim_funcs(module: ir.Operation) -> Iterator[ir.OpView]:
    """Yield the prim funcs of a module that have a body and want to be optimised."""
    for view in list(module.regions[0].blocks[0].operations):
        op = view.operation
        if op.name != "func.func" or "tir.prim_func" not in op.attributes:
            continue
        if len(op.regions[0].blocks) and not is_skipped(op):
            yield view


def each_prim_func(
    module: ir.Operation, change: Callable[[ir.OpView, Emitter], object],
    machine: Machine | None = None,
) -> None:  # fmt: skip
    """Call a function with every prim func and a writer whose constants go to its entry.

    Vectors are written for `machine`; nothing else needs one.
    """
    with module.context, module.location:
        for func in prim_funcs(module):
            with writer(func, machine) as emit:
                change(func, emit)


@contextmanager
def writer(func: ir.OpView, machine: Machine | None = None) -> Iterator[Emitter]:
    """Open a writer for a function's body."""
    emit = Emitter(func.entry_block, machine)
    try:
        yield emit
    finally:
        emit.close()
