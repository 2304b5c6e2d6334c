"""`I.module_global_infos({"vdevice": [I.vdevice("llvm")]})`: data of a module."""

import ast

from relax_mlir.ir.global_info import GlobalInfo
from relax_mlir.script.parser.literals import literal
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node


def read_global_infos(scope: Scope, node: Node) -> dict[str, list[GlobalInfo]]:
    """Return the entries that a call of `I.module_global_infos` lists, by name.

    Raises:
        ScriptError: it is no dictionary of lists of global infos.
    """
    given = node.args[0] if len(node.args) == 1 else None
    if not isinstance(given, ast.Dict):
        scope.fail(node, "I.module_global_infos takes one dictionary")
    result: dict[str, list[GlobalInfo]] = {}
    for key, items in zip(given.keys, given.values, strict=True):
        name = getattr(key, "value", None)
        if not isinstance(name, str) or not isinstance(items, (ast.List, ast.Tuple)):
            scope.fail(items, "global infos are lists, each under a string")
        result[name] = [_info(scope, item) for item in items.elts]
    return result


def _info(scope: Scope, node: Node) -> GlobalInfo:
    info = literal(scope, node) if isinstance(node, ast.Call) else None
    if not isinstance(info, GlobalInfo):
        scope.fail(node, "expected I.vdevice(target) or I.dummy_global_info()")
    return info
