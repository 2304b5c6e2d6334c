"""Order of `call_tir` arguments for prim funcs with integers between their buffers."""

import ast
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.expr import ExprParser

_WRAPPED = ("R.prim_value", "R.PrimValue", "T.int64", "T.int32")


def buffers_first(
    p: ExprParser, place: Node, prim: Any, args: Node, tir_vars: Node | None
) -> tuple[Any, Node, Node | None]:
    """Return the same call of a prim func whose buffers come first, as `call_tir` passes them.

    TVM's calls have integers among their arguments: `R.call_tir(cls.f, (x, n), ...)`.

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
    numbers = [
        node
        for node, type_ in zip(given, p.module.inputs(prim), strict=False)
        if not isinstance(type_, ir.MemRefType)
    ]
    if stray is None and not numbers:
        return prim, args, tir_vars
    behind = _elements(p, tir_vars)
    count, integers = p.module.integer_count(prim), ir.IntegerType.get_signless(64)
    sizes = [t for t in p.module.inputs(prim) if not isinstance(t, ir.MemRefType)]
    if any(type_ != integers for type_ in sizes) or len(numbers) + len(behind) != count:
        name, buffer = stray or ("", "")
        what = f"'{name}', which is no buffer, before buffer '{buffer}'" if name else "numbers"
        p.scope.fail(
            place,
            f"'{prim.name}' takes {what}; R.call_tir passes {len(numbers) + len(behind)} of its "
            f"{count} numbers: int64 ones go among the arguments, or behind all buffers by "
            "tir_vars=; others have to be tensors",
        )
    tensors = [node for node in given if node not in numbers]
    return (
        p.module.buffers_first(prim) if stray is not None else prim,
        ast.copy_location(ast.Tuple(tensors, ast.Load()), args),
        ast.copy_location(
            ast.Tuple([_bare(p, node) for node in (*numbers, *behind)], ast.Load()), args
        ),
    )


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
    """Return a copy of a prim func, beside it, whose buffers come before all else that it takes."""
    with ir.InsertionPoint(function):
        copy = function.clone().operation
    block = copy.regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    order = sorted(range(len(types)), key=lambda i: not isinstance(types[i], ir.MemRefType))
    places = [argument.location for argument in block.arguments]
    for index in order:
        new = block.add_argument(types[index], places[index])
        block.arguments[index].replace_all_uses_with(new)
    for _ in types:
        block.erase_argument(0)
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    signature = ir.FunctionType.get([types[index] for index in order], results)
    attributes = list(function.attributes["arg_attrs"])
    copy.attributes["function_type"] = ir.TypeAttr.get(signature)
    copy.attributes["arg_attrs"] = ir.ArrayAttr.get([attributes[index] for index in order])
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    return copy
