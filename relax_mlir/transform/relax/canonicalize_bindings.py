"""The pass `canonicalize-bindings`: removes bindings that only rename a value."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, operations_in
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple, is_tuple, known_fields
from relax_mlir.dialects.relax.well_formed import require_sound_types, type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.transform.relax.dead_code_elimination import remove_unused
from relax_mlir.transform.relax.infer_type import infer_function
from relax_mlir.transform.relax.rebuild import (
    bound_by_arguments,
    result_types,
    set_result_types,
    substitute_type,
    takes_arguments,
)


def canonicalize_bindings(module: ir.Operation) -> None:
    """Replace aliases by what they stand for, symbols by the dimensions they are known to equal.

    A `match_cast` goes when its value's type says as much already; one that checks something stays.
    So do tuples that are unpacked and made again, and outputs of blocks and branches that were
    there before the block.

    Raises:
        PassError: a signature has a type that makes no sense.
    """
    require_sound_types(module, "CanonicalizeBindings")
    for func in functions_to_optimize(module):
        casts = _has_casts(func)
        _Symbols(func).run()
        forward_copies(func)
        remove_unused(func)
        if casts:  # what stands for a cast may be known better
            infer_function(module, func.attributes["sym_name"].value)


def _has_casts(op: ir.Operation) -> bool:
    return any(inner.name == "relax.match_cast" or _has_casts(inner) for inner in operations_in(op))


def forward_copies(func: ir.Operation) -> None:
    """Put what a binding is a copy of in its place, within one function."""
    for block in func.regions[0].blocks:
        _forward(block)


def is_redundant(target: ir.Type, source: ir.Type) -> bool:
    """Whether every value of type `source` is known to be of type `target`."""
    if target == source or str(target) == "!relax.object":
        return True
    if T.is_tensor(target) and T.is_tensor(source):
        dtype, dims = T.tensor_dtype(target), T.tensor_dims(target)
        if dtype not in ("", T.tensor_dtype(source)):
            return False
        if dims is not None:
            return dims == T.tensor_dims(source)
        return T.tensor_ndim(target) in (-1, T.tensor_ndim(source))
    if isinstance(target, Shape) and isinstance(source, Shape):
        dims = T.shape_dims(target)
        if dims is not None:
            return dims == T.shape_dims(source)
        return T.shape_ndim(target) in (-1, T.shape_ndim(source))
    return False


def _known_dims(target: ir.Type, source: ir.Type) -> list[SymExpr | None]:
    """Say for every dimension that `target` names what `source` has there, as far as known."""
    if is_tuple(target):
        fields = field_types(target)
        others = field_types(source) if is_tuple(source) else []
        if len(fields) != len(others):
            return [None for _ in type_dims(target)]
        return [dim for pair in zip(fields, others, strict=True) for dim in _known_dims(*pair)]
    count = len(list(type_dims(target)))
    actual = [] if is_tuple(source) else list(type_dims(source))
    return list(actual) if len(actual) == count else [None] * count


class _Symbols:
    """Finds symbols that a `match_cast` binds to a known dimension, and puts that in place."""

    def __init__(self, func: ir.Operation) -> None:
        self._func = func

    def run(self) -> None:
        """Work through the function; its result type is rewritten too."""
        block = self._func.regions[0].blocks[0]
        bound = bound_by_arguments(block)
        known: dict[str, SymExpr] = {}
        self._block(block, bound, known)
        if known:
            types = [substitute_type(type_, known) for type_ in result_types(self._func)]
            set_result_types(self._func, types)

    def _block(self, block: ir.Block, bound: set[str], known: dict[str, SymExpr]) -> None:
        for view in block.operations:
            op = view.operation
            if op.name == "relax.match_cast":
                self._bind(op, bound, known)
            elif op.name == "relax.match_prim":
                bound |= {dim.name for dim in op.attributes["value"].dims if dim.name}
            for region in op.regions:
                for inner in region.blocks:
                    for argument in inner.arguments if known else ():
                        argument.set_type(substitute_type(argument.type, known))
                    # A branch keeps what it binds to itself, a dataflow block does not.
                    if op.name == "relax.dataflow":
                        self._block(inner, bound, known)
                    else:
                        self._block(inner, bound | bound_by_arguments(inner), dict(known))
            if known:
                for result in op.results:
                    result.set_type(substitute_type(result.type, known))
                for name, attribute in op.attributes.items():
                    if isinstance(attribute, Dims):
                        op.attributes[name] = Dims.of(
                            [dim.substitute(known) for dim in attribute.dims]
                        )

    def _bind(self, op: ir.Operation, bound: set[str], known: dict[str, SymExpr]) -> None:
        source, target = op.operands[0].type, op.results[0].type
        declared = list(type_dims(target))
        for dim, actual in zip(declared, _known_dims(target, source), strict=True):
            if dim.name and dim.name not in bound:
                bound.add(dim.name)
                if actual is not None and actual.symbols <= bound:
                    known[dim.name] = actual.substitute(known)
        bound |= bound_symbols(declared, bound)


def _forward(block: ir.Block) -> None:
    for view in list(block.operations):
        op = view.operation
        for region in op.regions:
            for inner in region.blocks:
                _forward(inner)
        if op.name == "relax.match_cast":
            _forward_cast(op)
        elif op.name == "relax.tuple_get_item":
            fields = known_fields(op.operands[0])
            if fields is not None:
                _replace(op, fields[op.attributes["index"].value])
        elif is_make_tuple(op):
            _forward_tuple(op)
        elif op.name == "relax.dataflow" and len(op.results):
            _forward_outputs(op)
        elif op.name == "relax.if" and len(op.results):
            _forward_branches(op)


def _replace(op: ir.Operation, value: ir.Value) -> None:
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _forward_cast(op: ir.Operation) -> None:
    value, result = op.operands[0], op.results[0]
    if not is_redundant(result.type, value.type):
        return
    if result.type == value.type:
        _replace(op, value)
        return
    # Less is said of the result than of the value: only where more is welcome can the value stand.
    for use in list(result.uses):
        user = use.owner.operation
        if user.name.removeprefix("relax.") in COMPUTE_OPS:
            user.operands[use.operand_number] = value
    if next(iter(result.uses), None) is None:
        op.erase()


def _forward_tuple(op: ir.Operation) -> None:
    """Put the tuple in the place of one made of all its fields; calls want theirs made in place."""
    source = None
    for index, value in enumerate(op.operands):
        if isinstance(value.owner, ir.Block):
            return
        item = value.owner.operation
        if item.name != "relax.tuple_get_item" or item.attributes["index"].value != index:
            return
        if source is not None and item.operands[0] != source:
            return
        source = item.operands[0]
        owner = source.owner
        if not isinstance(owner, ir.Block) and owner.operation.name == "relax.dataflow":
            return  # the outputs of a block are variables, no tuple
    if source is None or source.type != op.results[0].type:
        return
    for use in list(op.results[0].uses):
        user = use.owner.operation
        if not takes_arguments(user.name):
            user.operands[use.operand_number] = source
    if next(iter(op.results[0].uses), None) is None:
        op.erase()


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    parent = owner.operation.parent
    return parent is not None and parent.operation == op


def _forward_outputs(op: ir.Operation) -> None:
    output = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0]
    if not _is_inside(output, op):
        op.results[0].replace_all_uses_with(output)
        return
    fields = known_fields(output)
    if fields is None:
        return
    for use in list(op.results[0].uses):
        user = use.owner.operation
        if user.name != "relax.tuple_get_item":
            continue
        value = fields[user.attributes["index"].value]
        if not _is_inside(value, op):
            _replace(user, value)
        else:
            first = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), fields.index(value))
            user.attributes["index"] = first


def _forward_branches(op: ir.Operation) -> None:
    ends = [inner for inner in operations_in(op) if inner.name == "relax.yield"]
    values = [end.operands[0] for end in ends]
    if values[0] == values[1] and not any(_is_inside(value, op) for value in values):
        op.results[0].replace_all_uses_with(values[0])
