"""The pass `allocate-workspace`: functions of libraries take memory to work in."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import call_arguments, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.names import Names
from relax_mlir.transform.grouping.grouped_functions import CODEGEN, COMPOSITE
from relax_mlir.transform.grouping.library_functions import callee, functions_by_name
from relax_mlir.transform.signatures.parameters import body, param_names, sign

SIZE = "relax.WorkspaceSize"


def allocate_workspace(module: ir.Operation) -> None:
    """Give functions with the attribute `Codegen` that ask for memory a last parameter.

    They ask by the attribute `WorkspaceSize`, a number of bytes, of the function or of composite
    ones in it, which then take the memory too. It is a tensor of `uint8`, of the largest size that
    is asked for. A function that calls some of them allocates it once, for all of its calls. So
    the memory of a library is planned together with the program's.
    """
    functions = functions_by_name(module)
    asking = {
        name: [each for each in (func, *_composites(func)) if SIZE in each.attributes]
        for name, func in functions.items()
        if CODEGEN in func.attributes
    }
    sizes = {
        name: max(ir.IntegerAttr(each.attributes[SIZE]).value for each in askers)
        for name, askers in asking.items()
        if askers
    }
    if not sizes:
        return
    type_ = T.tensor_type([SymExpr.const(max(sizes.values()))], "uint8")
    for name in sizes:
        _take(functions[name], type_)
    for func in functions.values():
        workspace = None
        for call in named(func, ("relax.call",)):
            if callee(call) in sizes:
                workspace = _allocate(func, type_) if workspace is None else workspace
                _pass(call, workspace)


def _take(func: ir.Operation, type_: ir.Type) -> None:
    names = param_names(func)
    name = Names(names).fresh("workspace")
    workspace = body(func).add_argument(type_, ir.Location.name(name))
    sign(func, [*names, name])
    for inner in _composites(func):
        if SIZE in inner.attributes:
            inner.regions[0].blocks[0].add_argument(type_, ir.Location.name(name))
            del inner.attributes[SIZE]
            for use in list(inner.results[0].uses):
                _pass(use.owner.operation, workspace)
    if SIZE in func.attributes:
        del func.attributes[SIZE]


def _composites(func: ir.Operation) -> list[ir.Operation]:
    return [op for op in named(func, ("relax.lambda",)) if COMPOSITE in op.attributes]


def _allocate(func: ir.Operation, type_: ir.Type) -> ir.Value:
    with ir.InsertionPoint.at_block_begin(body(func)), nameless(func.location):
        shape = ir.Operation.create(
            "relax.shape_expr", results=[T.shape_type(T.known_dims(type_))]
        ).result
        with ir.Location.name("workspace"):
            return ir.Operation.create(
                "relax.alloc_tensor", results=[type_], operands=[shape],
                attributes={"dtype": ir.StringAttr.get("uint8")},
            ).result  # fmt: skip


def _pass(call: ir.Operation, workspace: ir.Value) -> None:
    with ir.InsertionPoint(call), nameless(call.location):
        given = make_tuple([*call_arguments(call), workspace])
    place = len(call.operands) - 1
    before = call.operands[place]
    call.operands[place] = given
    if not list(before.uses):
        before.owner.operation.erase()
