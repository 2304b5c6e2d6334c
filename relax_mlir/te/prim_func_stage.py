"""Prim funcs as stages of tensor expressions."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.function_protocols import PrimFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import single
from relax_mlir.te.operation import current_tag, one_or_all
from relax_mlir.te.tensor import ExternOp, Tensor, listed, named
from relax_mlir.tir.parameters import parameters
from relax_mlir.tir.specialize import specialize
from relax_mlir.tir.stmt import Buffer

_WHAT = "te.extern_primfunc"


def extern_primfunc(
    input_tensors: Sequence[Tensor], primfunc: PrimFunc, name: str | None = None, tag: str = "",
    attrs: Any = None,
) -> Any:  # fmt: skip
    """Return the tensors that a prim func computes, as a stage of a tensor program.

    The buffers that it writes are the outputs, in the order of its parameters; the others are the
    inputs. Symbols of its shapes are those of the tensors.

    Args:
        input_tensors: one for each buffer that it only reads, of the same shapes and dtypes.
        primfunc: a prim func; it stays as it is.
        name: of the stage; the function's where none is given.
        tag: kept in `op.tag`.
        attrs: kept in `op.attrs`.

    Returns:
        One tensor, or a list where it writes several buffers.

    Raises:
        ExprTypeError: it is no prim func, takes numbers, or an input is no tensor.
        ExprError: it takes other inputs, writes nothing, or calls other functions.
    """
    func = single(primfunc)
    if "tir.prim_func" not in func.attributes:
        raise ExprTypeError(f"{_WHAT} takes a prim func, this is a Relax function")
    title = named(name or func.attributes["sym_name"].value, _WHAT)
    given = listed(input_tensors, f"{_WHAT} '{title}'")
    for each in given:
        if not isinstance(each, Tensor):
            raise ExprTypeError(f"{_WHAT} '{title}' takes tensors, got {each!r}")
    with lock_of(func.context):
        params = _buffers(title, func)
        written = _written(title, func)
    inputs = [buffer for place, buffer in enumerate(params) if place not in written]
    if not written:
        raise ExprError(f"{_WHAT} '{title}': the prim func writes to none of its buffers")
    if len(inputs) != len(given):
        raise ExprError(
            f"{_WHAT} '{title}': the prim func reads {len(inputs)} buffers that it does not write, "
            f"{', '.join(each.name for each in inputs)}; got {len(given)} tensors"
        )
    sizes = _sizes(title, inputs, given)
    own = _with_sizes(primfunc, sizes)
    params = _buffers(title, single(own))
    outputs = [params[place] for place in sorted(written)]
    for buffer, tensor in zip(_others(params, written), given, strict=True):
        if [SymExpr.of(d) for d in buffer.shape] != [SymExpr.of(d) for d in tensor.shape]:
            raise ExprError(
                f"{_WHAT} '{title}': '{buffer.name}' is {_shape(buffer.shape)}, the tensor "
                f"'{tensor.name}' {_shape(tensor.shape)}"
            )
    with lock_of(single(own).context):
        text = IRModule.from_expr(own).as_text(debug_info=True)

    def write(ins: list[Any], outs: list[Any]) -> None:
        reads, stores = iter(ins), iter(outs)
        values = [
            next(stores if place in written else reads).buffer.value
            for place in range(len(params))
        ]  # fmt: skip
        _copy(text, values)

    shapes = [[SymExpr.of(dim) for dim in buffer.shape] for buffer in outputs]
    made = ExternOp(
        title, shapes, [buffer.dtype for buffer in outputs], given, write, tag or current_tag(),
        attrs, writes_blocks=_is_blocks(single(own)),
    )  # fmt: skip
    return one_or_all(made.outputs)


def _buffers(title: str, func: ir.Operation) -> list[Buffer]:
    result = []
    for param, buffer in parameters(func):
        if buffer is None:
            raise ExprTypeError(
                f"{_WHAT} '{title}': parameter '{param.name}' is a number; specialize the prim func"
            )
        result.append(buffer)
    return result


def _others(params: Sequence[Buffer], written: set[int]) -> list[Buffer]:
    return [buffer for place, buffer in enumerate(params) if place not in written]


def _written(title: str, func: ir.Operation) -> set[int]:
    """Return the positions of the parameters that a prim func stores to.

    Raises:
        ExprError: it calls functions, which may store to anything.
    """
    from relax_mlir.tir.view import tree
    from relax_mlir.tir.view.accesses import base_of

    result: set[int] = set()
    for op in tree.walk(func):
        if op.name in ("func.call", "tir.call_packed", "tir.call_extern"):
            raise ExprError(
                f"{_WHAT} '{title}': the prim func calls another function ('{op.name}')"
            )
        if op.name == "memref.store":
            base = base_of(op.operands[1])
            if isinstance(base.owner, ir.Block):
                result.add(ir.BlockArgument(base).arg_number)
    return result


def _is_blocks(func: ir.Operation) -> bool:
    """Whether everything that a prim func stores is stored in blocks."""
    from relax_mlir.tir.view import tree

    stores = [op for op in tree.walk(func) if op.name == "memref.store"]
    return all(any(op.name == tree.BLOCK for op in tree.ancestors(each)) for each in stores)


def _sizes(
    title: str, buffers: Sequence[Buffer], tensors: Sequence[Tensor]
) -> dict[str, SymExpr]:  # fmt: skip
    """Return what the symbols of a prim func's shapes are by the shapes of tensors."""
    result: dict[str, SymExpr] = {}
    for buffer, tensor in zip(buffers, tensors, strict=True):
        if buffer.dtype != tensor.dtype or len(buffer.shape) != len(tensor.shape):
            raise ExprError(
                f"{_WHAT} '{title}': '{buffer.name}' is {_shape(buffer.shape)} of {buffer.dtype}, "
                f"the tensor '{tensor.name}' {_shape(tensor.shape)} of {tensor.dtype}"
            )
        for dim, size in zip(map(SymExpr.of, buffer.shape), tensor.shape, strict=True):
            if dim.name is None:
                continue
            size = SymExpr.of(size)
            if size.value is None and size.name is None:
                raise ExprError(
                    f"{_WHAT} '{title}': dimension {size} of '{tensor.name}' is neither a number "
                    "nor a symbol, so a prim func cannot declare it"
                )
            if result.setdefault(dim.name, size) != size:
                raise ExprError(
                    f"{_WHAT} '{title}': '{dim.name}' is {result[dim.name]} and {size} by the "
                    f"shape of '{tensor.name}'"
                )
    return result


def _with_sizes(func: PrimFunc, sizes: Mapping[str, SymExpr]) -> PrimFunc:
    """Return a prim func whose symbols are numbers and symbols of other names."""
    numbers = {name: size.value for name, size in sizes.items() if size.value is not None}
    if numbers:
        func = specialize(func, numbers)
    names = {name: str(size) for name, size in sizes.items() if name not in numbers}
    if all(name == new for name, new in names.items()):
        return func
    from relax_mlir.script import from_source

    code = ast.parse(func.script())
    taken = {n.id for n in ast.walk(code) if isinstance(n, ast.Name)} - set(names)
    for clash in taken & set(names.values()):
        fresh = clash
        while fresh in taken or fresh in names.values():
            fresh += "_"
        names[clash] = fresh
    for node in ast.walk(code):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
    return from_source(ast.unparse(code))[func.name]


def _copy(text: str, values: Sequence[ir.Value]) -> None:
    """Write the body of a prim func at the current insertion point, by names that are free."""
    from relax_mlir.tir.view import buffers, edit, tree

    module = ir.Module.parse(text)
    func = next(view.operation for view in module.body.operations)
    home = ir.InsertionPoint.current.block.owner.operation
    while home.name != tree.FUNC:
        home = home.parent.operation
    taken = {tree.block_name(each) for each in tree.nested_blocks(home)}
    for block in tree.nested_blocks(func):
        tree.name_freely(block, taken)
    for op in tree.walk(func):
        if op.name == "memref.alloc":
            name = buffers.unused_name(home, buffers.name_of(op.results[0]))
            op.attributes["tir.name"] = ir.StringAttr.get(name)
    body = func.regions[0].blocks[0]
    ops = [view.operation for view in body.operations if view.operation.name != "func.return"]
    edit.copy_chosen(ops, dict(zip(body.arguments, values, strict=True)))


def _shape(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
