"""The primitive `tensorize`: replaces a block by the implementation of a matching intrinsic."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis.matching import Matcher, Mismatch, Part, root_of
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives.blockize import blockize
from relax_mlir.tir.schedule.state import ScheduleState, hoist_numbers
from relax_mlir.tir.tensor_intrin import TensorIntrin
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.render import SREF

memref: ModuleType = submodule("dialects.memref")
_PLACES = {"memref.load": 0, "memref.store": 1}
_CAST = "builtin.unrealized_conversion_cast"
_ENTRY = ("arith.constant", "tir.symbol")


def tensorize(
    state: ScheduleState, target: ir.Operation, intrin: TensorIntrin, preserve_unit: bool
) -> None:
    """Replace what a block, or a loop with all inside it, does by a tensor intrinsic."""
    block = target
    if target.name == tree.LOOP:
        block = blockize(state, target, preserve_unit)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function cannot be tensorized")
    module = ir.Module.parse(_apart(intrin))
    desc, impl = (view.operation for view in module.body.operations)
    hoist_numbers(desc)
    hoist_numbers(impl)
    indices = state.indices(block)
    matcher = Matcher(indices, Indices(desc))
    what = tree.describe(block)
    try:
        matcher.bodies(tree.body_of(root_of(desc)), tree.body_of(block))
    except Mismatch as error:
        raise state.error(
            f"{what} is not what '{intrin.name}' describes: {error}", target
        ) from None
    parameters = list(tree.body_of(desc).arguments)
    for argument in parameters:
        if argument not in matcher.parts:
            raise state.error(f"'{intrin.name}' describes nothing that uses one of its parameters")
    parts = dict(
        zip(tree.body_of(impl).arguments, (matcher.parts[p] for p in parameters), strict=True)
    )
    outer = {
        name: indices.value_of(name)
        for part in parts.values()
        for each in part.base
        for name in each.symbols
    }
    for view in reversed(list(tree.body_of(block).operations)):
        if view.operation.name not in edit.DECLARATIONS:
            view.operation.erase()
    # What was met in the body is gone: names are given again.
    fresh = state.indices(block)
    names = {name: fresh.var(value) for name, value in outer.items() if value is not None}
    moved = {
        argument: Part(part.buffer, tuple(each.substitute(names) for each in part.base))
        for argument, part in parts.items()
    }
    _written(state, fresh, block, impl, moved, intrin.name)
    state.touch()
    hoist_numbers(tree.function_of(block))
    fresh = state.indices(block)
    declare(fresh, *tree.nested_blocks(block)[:0:-1])
    edit.sweep(block)


def _apart(intrin: TensorIntrin) -> str:
    """Return a module of both functions, under two names."""
    texts = []
    for name, text in (("desc", intrin.desc), ("impl", intrin.impl)):
        module = ir.Module.parse(text)
        function = module.body.operations[0].operation
        function.attributes["sym_name"] = ir.StringAttr.get(name)
        texts.append(function.get_asm(enable_debug_info=True, print_generic_op_form=True))
    return "\n".join(texts)


def _written(
    state: ScheduleState, indices: Indices, block: ir.Operation, impl: ir.Operation,
    parts: dict[ir.Value, Part], name: str,
) -> None:  # fmt: skip
    """Write what an implementation does at the end of a block."""
    body = tree.body_of(impl)
    root = root_of(impl)
    taken = {tree.block_name(op) for op in tree.nested_blocks(tree.function_of(block))}
    values: dict[ir.Value, ir.Value] = {}
    with edit.end_of(block), ir.Location.unknown():
        # Two parameters may be parts of one buffer: until they are distinguished each has a name.
        for argument, part in parts.items():
            values[argument] = ir.Operation.create(
                _CAST, operands=[part.buffer], results=[part.buffer.type]
            ).result
        made = {values[argument]: part for argument, part in parts.items()}
        shapes = {values[argument]: ir.MemRefType(argument.type).shape for argument in parts}
        chosen = [v.operation for v in body.operations if v.operation.name in _ENTRY]
        if any(op.name == "tir.symbol" and not _is_number(op) for op in chosen):
            raise state.error(f"the implementation of '{name}' has sizes that are no numbers")
        edit.copy_chosen(chosen, values)
        edit.copy_ops(tree.body_of(root), values) if root != impl else edit.copy_chosen(
            [
                v.operation
                for v in body.operations
                if v.operation.name not in (*_ENTRY, "func.return")
            ],
            values,
        )
    for op in list(tree.walk(block)):
        if _is_in_init(op, block) or op == block:
            continue
        if op.name == tree.BLOCK and SREF not in op.attributes:
            tree.name_freely(op, taken)
        position = _PLACES.get(op.name)
        for number, operand in enumerate(op.operands):
            if operand not in made or op.name in ("tir.reads", "tir.writes"):
                continue
            if op.name == _CAST and _is_call(op):
                address = _address(state, indices, op, made[operand], shapes[operand], name)
                op.operands[number] = address
                continue
            if number != position:
                raise state.error(
                    f"the implementation of '{name}' uses more of a buffer than elements: "
                    f"'{op.name}'"
                )
        if position is not None and op.operands[position] in made:
            _shifted(indices, op, position, made[op.operands[position]])
        elif op.name == _CAST and _is_call(op):
            _packed(op)
    for own, part in made.items():
        own.replace_all_uses_with(part.buffer)
        own.owner.operation.erase()


def _is_call(op: ir.Operation) -> bool:
    """Whether operands are packed for a call of a C function, which takes their addresses."""
    return all(use.owner.operation.name == "tir.call_extern" for use in op.results[0].uses) and any(
        True for _ in op.results[0].uses
    )


def _packed(op: ir.Operation) -> None:
    """Pack operands whose types are others now."""
    with ir.InsertionPoint(op), op.location:
        made = ir.Operation.create(
            _CAST, operands=list(op.operands),
            results=[ir.TupleType.get_tuple([value.type for value in op.operands])],
        )  # fmt: skip
    op.results[0].replace_all_uses_with(made.result)
    op.erase()


def _address(
    state: ScheduleState, indices: Indices, op: ir.Operation, part: Part, shape: Sequence[int],
    name: str,
) -> ir.Value:  # fmt: skip
    """Return the first element of a tile, as what a C function gets.

    Raises:
        ScheduleError: elements of other tiles are between those of the tile.
    """
    dims = buffers.dims_of(indices, part.buffer)[len(part.base) - len(shape) :]
    rows = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    if any(dim != size for dim, size in list(zip(dims, shape, strict=True))[rows + 1 :]):
        raise state.error(
            f"the implementation of '{name}' calls a C function with a tile of "
            f"'{buffers.name_of(part.buffer)}' whose rows are not next to each other"
        )
    type_ = ir.MemRefType(part.buffer.type)
    rank, dynamic = type_.rank, ir.ShapedType.get_dynamic_size()
    steps = type_.get_strides_and_offset()[0]
    start = ir.ShapedType.get_dynamic_stride_or_offset() if rank else 0
    view = ir.MemRefType.get([1] * rank, type_.element_type, ir.StridedLayoutAttr.get(start, steps))
    with ir.InsertionPoint(op), op.location:
        return memref.SubViewOp(
            view, part.buffer, [indices.emit(each) for each in part.base], [], [],
            static_offsets=[dynamic] * rank, static_sizes=[1] * rank, static_strides=[1] * rank,
        ).result  # fmt: skip


def _is_number(op: ir.Operation) -> bool:
    return op.attributes["value"].dims[0].value is not None


def _is_in_init(op: ir.Operation, block: ir.Operation) -> bool:
    return any(
        tree.is_inside(op, view.operation)
        for body in block.regions[1].blocks
        for view in body.operations
    )


def _shifted(indices: Indices, op: ir.Operation, position: int, part: Part) -> None:
    """Have an access of a tile go to where the tile is."""
    own = [indices.lift(value) for value in list(op.operands)[position + 1 :]]
    more = len(part.base) - len(own)
    exprs = [
        base + expr for base, expr in zip(part.base, [SymExpr.const(0)] * more + own, strict=True)
    ]
    with ir.InsertionPoint(op), op.location:
        items = [indices.emit(expr) for expr in exprs]
        operands = [*list(op.operands)[: position + 1], *items]
        made = ir.Operation.create(
            op.name, results=[r.type for r in op.results], operands=operands,
            attributes={key: op.attributes[key] for key in op.attributes},
        )  # fmt: skip
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


class TensorizePrimitives(ScheduleBase):
    """Tensor intrinsics."""

    @primitive("Tensorize", inputs=("block_or_loop",))
    def tensorize(
        self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:  # fmt: skip
        """Put the implementation of a tensor intrinsic where the program is as it describes.

        Args:
            block_or_loop: a block that holds a tile's loops and block, or a loop, which
                `blockize` makes such a block of first.
            tensor_intrin: the name with which `tir.TensorIntrin.register` made it known.
            preserve_unit_iters: as in `blockize`.

        Raises:
            ScheduleError: the program is not as described; what differs is said.
            ValueError: there is no such intrinsic.
        """
        intrin = TensorIntrin.get(tensor_intrin)
        assert intrin is not None
        tensorize(self._state, self._op(block_or_loop), intrin, preserve_unit_iters)
