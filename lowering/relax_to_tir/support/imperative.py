"""Statements for kernels of loops and conditions, such as sorting."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.lowering.tir_to_vector.analysis import KERNEL_CLASS

# Threads get whole parts, of which there are no more than this.
_PARTS = 64


@contextmanager
def when(condition: Scalar) -> Iterator[None]:
    """Write what runs where a condition holds."""
    op = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
    with ir.InsertionPoint(op.regions[0].blocks.append()):
        yield
        ir.Operation.create("scf.yield")


def class_annotation(kind: str) -> ir.Attribute:
    """Return the annotation of a block that says what class reports give it."""
    return ir.DictAttr.get({KERNEL_CLASS: ir.StringAttr.get(kind)})


@contextmanager
def parts(
    builder: PrimFuncBuilder, name: str, steps: SymExpr, kind: str
) -> Iterator[AbstractContextManager[Scalar]]:
    """Write a block that runs many steps, threads doing parts of them.

    What is allocated before the steps are opened is a thread's own.

    Args:
        builder: the function's.
        name: the block's name.
        steps: how many there are; they may run in any order.
        kind: the class that reports give the block.

    Yields:
        A context manager that opens the loop over a part's steps and yields the step.
    """
    count = steps.min(_PARTS)
    notes = class_annotation(kind)
    with (
        builder.loop(count, kind="parallel", name="part") as variable,
        builder.block(name, [("spatial", variable, count)], annotations=notes) as block,
    ):
        (part,) = block
        yield _steps(builder, steps, count, part)


@contextmanager
def _steps(
    builder: PrimFuncBuilder, steps: SymExpr, count: SymExpr, part: Scalar
) -> Iterator[Scalar]:
    if count == steps:
        yield part
        return
    by = builder.symbol(count) if count.value is None else count.value
    total = builder.symbol(steps)
    low = part * total // by
    high = (part + 1) * total // by
    with builder.loop(high - low, start=low, name="step") as step:
        yield step
