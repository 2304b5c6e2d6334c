"""Binding of positional and keyword arguments of the language's calls."""

import ast
from collections.abc import Sequence

from relax_mlir.errors import hint_of
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node

TYPE_KEYWORDS = ("sinfo_args", "ty_args", "type_args")
_RESULT_KEYWORDS = ("out_sinfo", "out_ty")


def arguments(scope: Scope, node: Node, names: Sequence[str], required: int) -> dict[str, Node]:
    """Match the arguments of a call to names, the first `required` of which it must give.

    Raises:
        ScriptError: too many, too few, or one that there is not.
    """
    what = ast.unparse(node.func)
    if len(node.args) > len(names):
        scope.fail(
            node.args[len(names)],
            f"{what} takes at most {len(names)} arguments, got {len(node.args)}",
        )
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        key = keyword.arg
        if key is None:
            scope.fail(keyword, f"write the arguments of {what} one by one, not as '**'")
        if key in _RESULT_KEYWORDS and "result" in names:
            key = "result"
        if key in TYPE_KEYWORDS and "types" in names:
            key = "types"
        if key == "pure" and "purity" in names:
            key = "purity"
        if key not in names:
            near = hint_of(str(key), names)
            scope.fail(keyword, f"{what} has no argument '{keyword.arg}'{near}")
        if key in given:
            scope.fail(keyword, f"argument '{key}' is given twice")
        given[key] = keyword.value
    for missing in list(names)[:required]:
        if missing not in given:
            said = (
                "'out_sinfo', the type of what it gives" if missing == "result" else repr(missing)
            )
            scope.fail(node, f"{what} needs argument {said}")
    return given
