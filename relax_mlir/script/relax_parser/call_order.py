"""Order of `call_tir` arguments for prim funcs with numbers between their buffers."""

import ast
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.expr import ExprParser

memref: ModuleType = submodule("dialects.memref")
_WRAPPED = ("R.prim_value", "R.PrimValue", "T.int64", "T.int32")


def buffers_first(
    p: ExprParser, place: Node, prim: Any, args: Node, tir_vars: Node | None
) -> tuple[Any, Node, Node | None]:
    """Return the same call of a prim func whose buffers come first, as `call_tir` passes them.

    TVM's calls have numbers among their arguments: `R.call_tir(cls.f, (x, n), ...)`. Those of
    int64 go behind the buffers; floats become tensors of one element, where they are.

    Args:
        p: the parser of the function around the call.
        place: the name of the prim func.
        prim: the prim func, as the module's parser knows it.
        args: the arguments in its order.
        tir_vars: the integers behind the outputs, if there are any.

    Raises:
        ScriptError: what it takes before a buffer is not among the arguments, or is no size.
    """
    stray = p.module.stray_parameters(prim)
    given = args.elts if isinstance(args, (ast.Tuple, ast.List)) else []
    inputs = p.module.inputs(prim)
    numbers = [n for n, type_ in zip(given, inputs, strict=False) if _is_size(type_)]
    if stray is None and not numbers:
        return prim, args, tir_vars
    behind = _elements(p, tir_vars)
    count = sum(map(_is_size, inputs))
    # Between outputs only buffers and integers are passed, and of bytes only tensors.
    plain = all(_is_size(t) or isinstance(t, ir.MemRefType) for t in inputs[len(given) :])
    floats = all(not isinstance(t, ir.IntegerType) or _is_size(t) for t in inputs)
    if not plain or not floats or len(numbers) + len(behind) != count:
        if not p.module.checked:
            return prim, args, tir_vars
        name, buffer = stray or ("", "")
        what = f"'{name}', which is no buffer, before buffer '{buffer}'" if name else "numbers"
        p.scope.fail(
            place,
            f"'{prim.name}' takes {what}; R.call_tir passes {len(numbers) + len(behind)} of its "
            f"{count} integers: int64 ones go among the arguments, or behind all buffers by "
            "tir_vars=, floats among the arguments; others have to be tensors",
        )
    tensors = [node for node in given if node not in numbers]
    integers = [_bare(p, node) for node in (*numbers, *behind)]
    return (
        p.module.buffers_first(prim) if stray is not None else prim,
        ast.copy_location(ast.Tuple(tensors, ast.Load()), args),
        ast.copy_location(ast.Tuple(integers, ast.Load()), args) if integers else None,
    )


def _is_size(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 64


def _bare(p: ExprParser, node: Node) -> Node:
    """Return the integer inside of `R.prim_value(n)`."""
    if isinstance(node, ast.Call) and p.scope.path(node.func) in _WRAPPED and len(node.args) == 1:
        return node.args[0]
    return node


def _elements(p: ExprParser, node: Node | None) -> list[Node]:
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node] if node else []


def moved_behind(function: ir.Operation, name: str) -> ir.Operation:
    """Return a copy of a prim func, in its module, whose buffers come before its integers.

    Floating-point numbers become buffers of one element.
    """
    with ir.InsertionPoint(function):
        copy = function.clone().operation
    block = copy.regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    attributes = list(function.attributes["arg_attrs"])
    order = sorted(range(len(types)), key=lambda i: _is_size(types[i]))
    places = [argument.location for argument in block.arguments]
    for index in order:
        type_, old = types[index], block.arguments[index]
        if _is_size(type_) or isinstance(type_, ir.MemRefType):
            old.replace_all_uses_with(block.add_argument(type_, places[index]))
            continue
        types[index] = ir.MemRefType.get((), type_)
        dtype = ir.StringAttr.get(T.dtype_of_element(type_))
        scalar = {"tir.name": attributes[index]["tir.name"], "tir.dtype": dtype}
        attributes[index] = ir.DictAttr.get({**scalar, "tir.shape": Dims.of(())})
        new = block.add_argument(types[index], places[index])
        with ir.InsertionPoint.at_block_begin(block), places[index]:
            old.replace_all_uses_with(memref.LoadOp(new, []).result)
    for _ in types:
        block.erase_argument(0)
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    signature = ir.FunctionType.get([types[index] for index in order], results)
    copy.attributes["function_type"] = ir.TypeAttr.get(signature)
    copy.attributes["arg_attrs"] = ir.ArrayAttr.get([attributes[index] for index in order])
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    return copy
