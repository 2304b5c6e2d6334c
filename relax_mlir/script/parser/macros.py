"""Evaluation while parsing: macros are inlined, Python functions are called."""

import ast
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ScriptError, wrong_count
from relax_mlir.script.macro import Macro
from relax_mlir.script.markers import Marker
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING, Env
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node, Source, find_function

_DEPTH = 64
# Functions of Python itself that a script may use on Python values.
_PYTHON: dict[str, Callable[..., Any]] = {
    "len": len, "sum": sum, "int": int, "abs": abs, "round": round, "tuple": tuple, "list": list,
    "min": min, "max": max, "range": range, "zip": zip, "enumerate": enumerate,
}  # fmt: skip


def captured_macro(scope: Scope, node: Node) -> Macro | None:
    """Return the macro that a call names, None when it names none."""
    result = captured_value(scope, node)
    if isinstance(node, ast.Name) and isinstance(scope.values.get(node.id), Macro):
        result = scope.values[node.id]
    return result if isinstance(result, Macro) else None


def of_text(source: Source, env: Env, node: Node, variables: Mapping[str, Any]) -> Macro | None:
    """Return the macro that a function of a text is, None for a function without its decorator.

    Args:
        source: the text.
        env: what names mean in it.
        node: the function's syntax tree.
        variables: Python values around it, the text's other macros among them.

    Raises:
        ScriptError: a default or an option is no literal.
    """
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if env.path(called) not in ("R.macro", "T.macro", "T.inline"):
            continue
        options = decorator.keywords if isinstance(decorator, ast.Call) else []
        defaults = [_literal(source, each) for each in node.args.defaults]
        hygienic = all(_literal(source, option.value) for option in options)
        function = types.SimpleNamespace(__name__=node.name, __defaults__=tuple(defaults))
        return Macro(function, hygienic, variables, (source, node))
    return None


def _literal(source: Source, node: Node) -> Any:
    """Return the value of a default or of an option."""
    if not isinstance(node, ast.Constant):
        source.fail(node, "defaults and options of a macro are literals")
    return node.value


@contextmanager
def expanded(
    scope: Scope, macro: Macro, call: ast.Call, evaluate: Callable[[Node], Any]
) -> Iterator[ast.FunctionDef]:
    """Bind a macro's parameters to the arguments of a call; yields its definition.

    Raises:
        ScriptError: the arguments do not fit it, or it expands without end.
    """
    name = macro.function.__name__
    source, definition = macro.definition or find_function(macro.function)
    values = _arguments(scope, definition, macro, call, evaluate)
    around = macro.variables if isinstance(macro.variables, Env) else Env(macro.variables)
    saved = scope.source, scope.env, scope.values, scope.depth
    if scope.depth >= _DEPTH:
        scope.fail(call, f"the macro '{name}' expands more than {_DEPTH} times inside itself")
    scope.source, scope.env, scope.depth = source, around, scope.depth + 1
    scope.values = values if macro.hygienic else {**scope.values, **values}
    scope.block_names.append(set(scope.values))
    try:
        yield definition
    finally:
        scope.block_names.pop()
        scope.source, scope.env, scope.values, scope.depth = saved


def _arguments(
    scope: Scope, definition: ast.FunctionDef, macro: Macro, call: ast.Call,
    evaluate: Callable[[Node], Any],
) -> dict[str, Any]:  # fmt: skip
    names = [arg.arg for arg in definition.args.args]
    what = f"the macro '{definition.name}'"
    if len(call.args) > len(names):
        scope.fail(call, wrong_count(what, len(names), len(call.args)))
    given: dict[str, Node] = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in names or keyword.arg in given:
            scope.fail(keyword, f"{what} has no argument '{keyword.arg}' left")
        given[keyword.arg] = keyword.value
    defaults = dict(zip(names[::-1], (macro.function.__defaults__ or ())[::-1], strict=False))
    values = {}
    for name in names:
        if name in given:
            captured = captured_value(scope, given[name])
            values[name] = evaluate(given[name]) if captured is MISSING else captured
        elif name in defaults:
            values[name] = defaults[name]
        else:
            scope.fail(call, f"{what} needs argument '{name}'")
    return values


def python_function(scope: Scope, node: Node) -> Callable[..., Any] | None:
    """Return the Python function that a call names, None when it names none.

    Functions of Python code around the script are called; what else can be called there is not.
    """
    name = node.id if isinstance(node, ast.Name) else ""
    if name in _PYTHON and name not in scope.values and scope.env.lookup(name) is MISSING:
        return _PYTHON[name]
    result = captured_value(scope, node)
    if isinstance(result, (Marker, Macro)):
        return None
    plain = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    return result if isinstance(result, plain) else None


def call_python(
    scope: Scope,
    function: Callable[..., Any],
    node: ast.Call,
    evaluate: Callable[[Node], Any],
    view: Callable[[ir.Value], Any] | None = None,
) -> Any:
    """Call a Python function with what is known while the script is parsed.

    Args:
        scope: what names mean here.
        function: the function.
        node: its call.
        evaluate: reads an argument.
        view: makes an expression of a value that is known at run time only, where there are such.

    Raises:
        ScriptError: an argument is known at run time only, or the function fails.
    """
    name = ast.unparse(node.func)

    def known(argument: Node) -> Any:
        return _known(scope, argument, evaluate, name, view)

    args: list[Any] = []
    for arg in node.args:
        if not isinstance(arg, ast.Starred):
            args.append(known(arg))
            continue
        several = known(arg.value)
        if not isinstance(several, (tuple, list)):
            scope.fail(arg, "'*' takes a Python sequence or a tuple that is written out")
        args += several
    for keyword in node.keywords:
        if keyword.arg is None:
            scope.fail(keyword, f"write the arguments of {name} one by one, not as '**'")
    keywords = {str(k.arg): known(k.value) for k in node.keywords if k.arg}
    try:
        return function(*args, **keywords)
    except ScriptError:
        raise
    except Exception as error:
        try:
            scope.fail(node, f"'{name}' failed: {type(error).__name__}: {error}")
        except ScriptError as wrong:
            raise wrong from error


def _known(
    scope: Scope, node: Node, evaluate: Callable[[Node], Any], name: str,
    view: Callable[[ir.Value], Any] | None,
) -> Any:  # fmt: skip
    captured = captured_value(scope, node)
    if captured is not MISSING:
        return captured
    if isinstance(node, ast.Constant):
        return node.value
    raw = evaluate(node)
    if view is not None:
        return _viewed(raw, view)
    if isinstance(raw, (bool, int, float, str, SymExpr, tuple, list)) and not _holds_value(raw):
        return raw
    if raw is None or type(raw).__module__ in ("numpy", "builtins"):
        return raw
    scope.fail(
        node,
        f"'{name}' is a Python function, called while the script is parsed; this is known at run "
        "time only, a macro (@R.macro, @T.macro) can take it",
    )


def _viewed(raw: Any, view: Callable[[ir.Value], Any]) -> Any:
    if isinstance(raw, (tuple, list)):
        return type(raw)(_viewed(item, view) for item in raw)
    return view(raw) if isinstance(raw, ir.Value) else raw


def _holds_value(raw: Any) -> bool:
    if isinstance(raw, (tuple, list)):
        return any(_holds_value(item) for item in raw)
    return isinstance(raw, ir.Value)
