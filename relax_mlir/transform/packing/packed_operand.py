"""Appending a packed operand to a kernel."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.lowering.walk import collect
from relax_mlir.transform.kernels.calls import KernelMaker, TirCall, erase_call
from relax_mlir.transform.kernels.contraction import ContractionKernel, KernelCloner


def give_buffer(
    kernels: KernelMaker, call: TirCall, top: ir.Operation, given: ir.Value, name: str,
    note: list[int],
) -> None:  # fmt: skip
    """Let a call give its prim func one more buffer, and note on a nest's block how that lies.

    Args:
        kernels: makes prim funcs.
        call: replaced.
        top: the nest's outermost operation.
        given: the buffer's tensor.
        name: of the annotation; what follows its dot is put after the prim func's name.
        note: the annotation.
    """
    suffix = name.rpartition(".")[2]

    def write(builder: PrimFuncBuilder) -> None:
        """Write the body; the last two buffers are the one that is given and the output."""
        cloner = KernelCloner(builder, ContractionKernel(call))
        *read, more, out = builder.buffers
        cloner.begin([buffer.value for buffer in read], out.value)

        def record() -> None:
            cloner.clone(top)
            block = collect(builder.op.operation, lambda op: op.name == "tir.block")[-1]
            with ir.InsertionPoint.at_block_begin(block.regions[0].blocks[0]), block.location:
                ir.Operation.create(
                    "tir.reads", operands=[more.value], attributes={"map": ir.UnitAttr.get()}
                )
            attribute = ir.DenseI64ArrayAttr.get(note)
            block.attributes["annotations"] = ir.DictAttr.get({name: attribute})

        cloner.body(top, record)

    what = f"{name} {note}"
    made = f"{call.callee.name.value}_{suffix}"
    kernels.call([call], [*call.arguments, given], made, what, write)
    erase_call(call.op)
