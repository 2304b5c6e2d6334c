"""The pass `split-layout-rewrite-preproc`: prim funcs that lay out their weights become two."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import call_arguments, get_item, make_tuple
from relax_mlir.lowering.walk import named
from relax_mlir.transform.kernels.calls import create_call, erase_call, kernel_calls
from relax_mlir.transform.kernels.copies import KernelCopies, parameter_attributes, sign_kernel
from relax_mlir.transform.layout.attach_attr_layout_free_buffers import LAYOUT_FREE_BUFFERS

_PREPROC = "meta_schedule.layout_rewrite_preproc"
_NESTS = ("tir.for", "tir.block")


@dataclass
class _Rewrite:
    """One nest that copies a buffer to a layout.

    Attributes:
        nest: where it is among the operations of the prim func.
        buffer: where the allocation is that it writes.
        source: which parameter it reads.
    """

    nest: int
    buffer: int
    source: int


@dataclass
class _Split:
    """What a prim func became: which parameters the first of two takes, and what it gives."""

    prepack: str
    prepacked: str
    sources: list[int]
    types: list[ir.Type]


def split_layout_rewrite_preproc(module: ir.Operation) -> None:
    """Move nests whose block says `meta_schedule.layout_rewrite_preproc` out of prim funcs.

    `f_weight_prepack` copies weights to the layout that a schedule has chosen, and `f_prepacked`
    takes them so. What is called with constants is then computed when constants are folded, and
    what is called with weights by `LiftTransformParams`. A nest stays where it is if it does more
    than to copy a parameter of known shape that nothing else in the prim func reads.
    """
    kernels = KernelCopies(module)
    made: dict[str, _Split | None] = {}
    for func in functions_to_optimize(module):
        for call in kernel_calls(func):
            name = call.attributes["callee"].value
            if name not in made:
                made[name] = _split(name, len(call_arguments(call)), kernels)
            split = made[name]
            if split is not None:
                _replace(call, split)
    kernels.remove_uncalled()


def _split(name: str, inputs: int, kernels: KernelCopies) -> _Split | None:
    block = kernels.symbols[name].operation.regions[0].blocks[0]
    rewrites = _rewrites(block, inputs)
    if not rewrites:
        return None
    allocs = [block.operations[each.buffer].operation for each in rewrites]
    types = [
        T.tensor_type(Dims(op.attributes["tir.shape"]).dims,
                      ir.StringAttr(op.attributes["tir.dtype"]).value)
        for op in allocs
    ]  # fmt: skip
    declared: list[ir.Attribute] = [
        ir.DictAttr.get({key: op.attributes[key] for key in ("tir.dtype", "tir.name", "tir.shape")})
        for op in allocs
    ]
    return _Split(
        _prepack(kernels.add(name, f"{name}_weight_prepack"), rewrites, declared),
        _prepacked(kernels.add(name, f"{name}_prepacked"), rewrites, declared),
        [each.source for each in rewrites],
        types,
    )


def _rewrites(block: ir.Block, inputs: int) -> list[_Rewrite]:
    operations = [view.operation for view in block.operations]
    parameters, result = list(block.arguments), []
    others = [op for op in operations if op.name not in _NESTS]
    if any(value in parameters for op in others for value in op.operands):
        return []
    for number, nest in enumerate(operations):
        if not any(map(_is_preproc, named(nest, ("tir.block",)))):
            continue
        read = {load.operands[0] for load in named(nest, ("memref.load",))}
        written = {store.operands[1] for store in named(nest, ("memref.store",))}
        if len(read) != 1 or len(written) != 1:
            continue
        (source,), (buffer,) = read, written
        if source not in parameters[:inputs] or buffer.owner not in operations:
            continue
        alloc = buffer.owner.operation
        shape = alloc.attributes.get("tir.shape")
        known = isinstance(shape, Dims) and all(dim.is_const for dim in shape.dims)
        uses = [
            (each, _top(use.owner.operation, block)) for each in parameters for use in each.uses
        ]
        alone = all((each == source) == (top == nest) for each, top in uses)
        if alloc.name == "memref.alloc" and known and alone:
            place = operations.index(alloc)
            result.append(_Rewrite(number, place, parameters.index(source)))
    return result


def _is_preproc(block: ir.Operation) -> bool:
    return "annotations" in block.attributes and _PREPROC in ir.DictAttr(
        block.attributes["annotations"]
    )


def _top(op: ir.Operation, block: ir.Block) -> ir.Operation:
    while op.block != block:
        op = op.parent.operation
    return op


def _prepack(copy: ir.Operation, rewrites: list[_Rewrite], declared: list[ir.Attribute]) -> str:
    """Make a copy of a prim func the one that lays out weights; returns its name."""
    block, attributes = copy.regions[0].blocks[0], parameter_attributes(copy)
    operations = [view.operation for view in block.operations]
    nests = {each.nest for each in rewrites}
    for each in rewrites:
        alloc = operations[each.buffer]
        argument = block.add_argument(alloc.results[0].type, alloc.location)
        alloc.results[0].replace_all_uses_with(argument)
        for inner in named(operations[each.nest], ("tir.block",)):
            _forget(inner)
    for number in reversed(range(len(operations))):
        op = operations[number]
        is_nest = op.name in _NESTS
        unused = op.name == "memref.alloc" and not list(op.results[0].uses)
        if (is_nest and number not in nests) or unused:
            op.erase()
    kept = [each.source for each in rewrites]
    for number in reversed(range(len(attributes))):
        if number not in kept:
            block.erase_argument(number)
    return _signed(copy, [attributes[number] for number in sorted(kept)] + declared)


def _prepacked(copy: ir.Operation, rewrites: list[_Rewrite], declared: list[ir.Attribute]) -> str:
    """Make a copy of a prim func the one that takes weights as they are laid out."""
    block, attributes = copy.regions[0].blocks[0], parameter_attributes(copy)
    operations = [view.operation for view in block.operations]
    for each, attribute in zip(rewrites, declared, strict=True):
        operations[each.nest].erase()
        alloc, argument = operations[each.buffer], block.arguments[each.source]
        argument.set_type(alloc.results[0].type)
        alloc.results[0].replace_all_uses_with(argument)
        alloc.erase()
        attributes[each.source] = attribute
    return _signed(copy, attributes)


def _signed(copy: ir.Operation, attributes: list[ir.Attribute]) -> str:
    sign_kernel(copy, attributes)
    if LAYOUT_FREE_BUFFERS in copy.attributes:
        del copy.attributes[LAYOUT_FREE_BUFFERS]
    return ir.StringAttr(copy.attributes["sym_name"]).value


def _forget(block: ir.Operation) -> None:
    """Remove the annotation of a block that has been moved."""
    if not _is_preproc(block):
        return
    annotations = ir.DictAttr(block.attributes["annotations"])
    rest = {each.name: each.attr for each in annotations if each.name != _PREPROC}
    if rest:
        block.attributes["annotations"] = ir.DictAttr.get(rest)
    else:
        del block.attributes["annotations"]


def _replace(call: ir.Operation, split: _Split) -> None:
    arguments, several = call_arguments(call), len(split.types) > 1
    order = sorted(split.sources)
    with ir.InsertionPoint(call), nameless(call.location):
        shapes = [
            ir.Operation.create(
                "relax.shape_expr", results=[T.shape_type(T.known_dims(type_))]
            ).result
            for type_ in split.types
        ]
        packed = create_call(
            split.prepack, make_tuple(shapes) if several else shapes[0],
            [arguments[number] for number in order], [],
            ir.TupleType.get_tuple(split.types) if several else split.types[0],
        ).result  # fmt: skip
        for i, number in enumerate(split.sources):
            arguments[number] = get_item(packed, i) if several else packed
    with ir.InsertionPoint(call), call.location:
        shape, result = call.operands[0], call.results[0]
        made = create_call(split.prepacked, shape, arguments, [], result.type)
        if "tir_vars" in call.attributes:
            made.attributes["tir_vars"] = call.attributes["tir_vars"]
    result.replace_all_uses_with(made.results[0])
    erase_call(call)
