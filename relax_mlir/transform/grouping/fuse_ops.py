"""The pass `fuse-ops`: calls of prim funcs whose pattern kinds fit become one function each."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.lowering.walk import named
from relax_mlir.pass_infra.config import FUSE_DEPTH
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.relax.analysis.symbols import binders, symbols_in
from relax_mlir.relax.expr.places import DATAFLOW, defining_op, is_leaf, is_local
from relax_mlir.transform.grouping.annotate_tir_op_pattern import OP_PATTERN
from relax_mlir.transform.grouping.graph_partitioner import GraphPartitioner, Node
from relax_mlir.transform.grouping.grouped_functions import (
    KERNEL_CALLS,
    PRIMITIVE,
    Group,
    GroupedFunctions,
    bindings_of,
)
from relax_mlir.transform.grouping.op_pattern import OpPatternKind


def fuse_ops(module: ir.Operation, fuse_opt_level: int = -1) -> None:
    """Make a private function with the attribute `Primitive` of each group of calls that fuse.

    Which do is decided by the pattern kinds that `AnnotateTIROpPattern` writes and by
    post-dominance, as in TVM; `FuseTIR` makes one prim func of each function. Prim funcs without
    that attribute fuse with nothing, and neither do relax operations.

    Args:
        module: a `builtin.module`.
        fuse_opt_level: 0 fuses nothing; -1 stands for the level of the context.
    """
    context = PassContext.current()
    if (context.opt_level if fuse_opt_level == -1 else fuse_opt_level) == 0:
        return
    kinds = _kinds(module)
    functions = GroupedFunctions(module)
    for func in functions_to_optimize(module):
        if PRIMITIVE in func.attributes:
            continue
        for dataflow in named(func, (DATAFLOW,)):
            ops = bindings_of(dataflow)
            nodes = _graph(ops, kinds, _packed_parameters(func))
            groups = GraphPartitioner(nodes, context.option(FUSE_DEPTH)).groups()
            chosen = [[ops[index] for index in group] for group in groups if len(group) > 1]
            functions.make(dataflow, [Group(each) for each in chosen if _computes(each)])


def _kinds(module: ir.Operation) -> dict[str, OpPatternKind]:
    """Return the pattern kinds of prim funcs by name."""
    return {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: OpPatternKind(
            ir.IntegerAttr(view.operation.attributes[OP_PATTERN]).value
        )
        for view in module.regions[0].blocks[0].operations
        if OP_PATTERN in view.operation.attributes
    }


def _packed_parameters(func: ir.Operation) -> set[ir.Value]:
    """Return the parameters that are weights: tuples of them are not fused with their users."""
    count = func.attributes.get("relax.num_input")
    arguments = list(func.regions[0].blocks[0].arguments)
    return set() if count is None else set(arguments[ir.IntegerAttr(count).value :])


def _graph(
    ops: list[ir.Operation], kinds: dict[str, OpPatternKind], packed: set[ir.Value]
) -> list[Node]:
    place = {op: index for index, op in enumerate(ops)}
    nodes = [Node(_kind(op, kinds, packed), not is_local(op.results[0])) for op in ops]
    bound = binders(ops[0].block) if ops else {}
    for index, op in enumerate(ops):
        for producer in _producers(op):
            if producer in place:
                nodes[place[producer]].users.append((index, nodes[index].kind))
        # Whatever mentions a symbol comes after what gives it its value.
        for name in symbols_in(op) if bound else ():
            if name in bound and bound[name] != op:
                nodes[place[bound[name]]].users.append((index, OpPatternKind.OPAQUE))
    return nodes


def _kind(
    op: ir.Operation, kinds: dict[str, OpPatternKind], packed: set[ir.Value]
) -> OpPatternKind:
    if op.name in KERNEL_CALLS:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return kinds.get(callee, OpPatternKind.OPAQUE)
    if op.name == "relax.tuple_get_item" and op.operands[0] not in packed:
        return OpPatternKind.INJECTIVE
    return OpPatternKind.OPAQUE


def _producers(op: ir.Operation) -> list[ir.Operation]:
    result = []
    for value in op.operands:
        owner = defining_op(value)
        if owner is not None:
            result += _producers(owner) if is_leaf(owner) else [owner]
    return result


def _computes(ops: list[ir.Operation]) -> bool:
    """Whether there is a kernel in a group, not only fields that are taken of tuples."""
    return any(op.name in KERNEL_CALLS for op in ops)
