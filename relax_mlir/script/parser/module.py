"""Parsing a module: functions by name, each parsed when another one needs its type."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ScriptError
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.ir.global_info import GlobalInfo, write_infos
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import single
from relax_mlir.ir.structural.walk import is_private
from relax_mlir.lowering.walk import first_below
from relax_mlir.script.parser import macros
from relax_mlir.script.parser.annotations import Signature
from relax_mlir.script.parser.env import Env, decorator_kind
from relax_mlir.script.parser.functions import Function
from relax_mlir.script.parser.global_infos import read_global_infos
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Definition, Node, Source, parse_python
from relax_mlir.script.printer.spelling import UNSPOKEN
from relax_mlir.script.relax_parser.call_order import moved_behind
from relax_mlir.script.relax_parser.expr import ExprParser
from relax_mlir.script.relax_parser.function import RelaxFunctionParser
from relax_mlir.script.relax_parser.stmt import func_attrs
from relax_mlir.script.tir_parser.function import parse_prim_func

_COPIED = "_buffers_first"
_KINDS = ("relax", "tir", "python")


class ModuleParser:
    """Parses the functions of one module into an MLIR module.

    Attributes:
        functions: by name, in the order written.
        names: all of them, for suggestions.
        attributes: what `I.module_attrs` said.
        global_infos: what `I.module_global_infos` said.
        checked: whether calls that do not fit their prim funcs, and values their annotations, are
            errors.
    """

    def __init__(self, source: Source, env: Env, class_name: str = "") -> None:
        self.source = source
        self.env = env
        self.class_name = class_name
        self.checked: bool = True
        self.functions: dict[str, Function] = {}
        self.body: ir.Block | None = None
        self.attributes: dict[str, Any] = {}
        self.global_infos: dict[str, list[GlobalInfo]] = {}
        self._module: ir.Module | None = None
        self._builder: Any = None
        # Modules around the script whose functions were taken over, under which names.
        self._adopted: dict[int, tuple[IRModule, dict[str, str]]] = {}

    @property
    def names(self) -> list[str]:
        """The names of all functions."""
        return list(self.functions)

    @property
    def builder(self) -> Any:
        """What emits the expressions that Python code around the script makes."""
        if self._builder is None:
            self._builder = extension("script.ScriptBuilder")(self._module, self.functions)
        return self._builder

    def add(self, node: ast.FunctionDef) -> None:
        """Register a decorated function.

        Raises:
            ScriptError: it has no decorator of the language, or the name is taken.
        """
        kinds = [(decorator_kind(self.env, d), d) for d in node.decorator_list]
        definition = next(((kind, d) for kind, d in kinds if kind in _KINDS), None)
        if definition is None:
            self.source.fail(node, f"'{node.name}' needs @R.function or @T.prim_func")
        self._check_free(node.name, node)
        if definition[0] == "python":
            self.functions[node.name] = Function(node.name, "extern", node)
            return
        options = {}
        if isinstance(definition[1], ast.Call):
            for keyword in definition[1].keywords:
                if not isinstance(keyword.value, ast.Constant):
                    self.source.fail(keyword, "options of a decorator are literals")
                if keyword.arg not in ("private", "pure", "s_tir", "check_well_formed"):
                    self.source.fail(keyword, f"unknown option '{keyword.arg}'")
                options[keyword.arg] = keyword.value.value
        self.functions[node.name] = Function(node.name, definition[0], node, options)

    def parse(self) -> IRModule:
        """Parse all registered functions.

        Raises:
            ScriptError: one of them is wrong.
        """
        with default_context(), ir.Location.file(self.source.filename, 1, 1):
            self._module = module = ir.Module.create()
            self.body = body = module.body
            # Prim funcs first: calls take dtypes and counts from them.
            for kind in ("extern", "tir", "relax"):
                for function in list(self.functions.values()):
                    if function.kind == kind:
                        self.ensure(function)
            self._replace_copied()
            for function in self.functions.values():
                function.op.operation.move_after(body.operations[len(self.functions) - 1])
            for name, value in self.attributes.items():
                key = name if "." in name else f"relax.{name}"
                module.operation.attributes[key] = python_attribute(value)
            if self.global_infos:
                write_infos(module.operation, self.global_infos)
            if self.checked:
                self._verify(module)
        return IRModule(module)

    def statement(self, node: Node) -> None:
        """Read a statement of a module that is no function: a docstring, or `I.module_attrs`.

        Raises:
            ScriptError: it is something else.
        """
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Pass) or isinstance(value, ast.Constant):
            return
        scope = Scope(self.source, self.env)
        name = self._extern_name(node)
        if name:
            self._check_free(name, node)
            self.functions[name] = Function(name, "extern", node)
            return
        path = self.env.path(value.func) if isinstance(value, ast.Call) else None
        if path == "I.module_attrs":
            self.attributes.update(func_attrs(scope, value))
        elif path == "I.module_global_infos":
            self.global_infos.update(read_global_infos(scope, value))
        else:
            self.source.fail(node, "a module holds functions only")

    def _extern_name(self, node: Node) -> str:
        """Return the name in `name = R.ExternFunc(...)`, "" for any other statement."""
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            return ""
        target = node.targets[0]
        extern = self.env.path(node.value.func) == "R.ExternFunc"
        return target.id if extern and isinstance(target, ast.Name) else ""

    def _check_free(self, name: str, node: Node) -> None:
        if name in self.functions:
            self.source.fail(node, f"there is already a function '{name}'")

    def ensure(self, function: Function) -> None:
        """Parse a function unless that is done or under way."""
        if function.state != "new":
            return
        function.state = "open"
        assert self.body is not None
        place = Scope(self.source, self.env)
        with place.guarded(function.node), ir.InsertionPoint(self.body):
            if function.kind == "tir":
                function.op = parse_prim_func(self, function)
            elif function.kind == "extern":
                function.op = self._declare(function)
            else:
                parser = RelaxFunctionParser(self, function)
                function.op = parser.parse()
        function.state = "done"

    def _declare(self, function: Function) -> ir.Operation:
        """Write a packed function that is a member of the module."""
        if isinstance(function.node, ast.FunctionDef):
            func = extension("script.ExternFunc")(function.name)
        else:
            scope = Scope(self.source, self.env)
            func = ExprParser(scope, self).evaluate(function.node.value)
        op = single(func).clone()
        op.attributes["sym_name"] = ir.StringAttr.get(function.name)
        return op

    def find(self, scope: Scope, node: Node) -> Function | None:
        """Return the function that `f`, `cls.f` or `MyModule.f` names, None when it names none."""
        if isinstance(node, ast.Name):
            if node.id in scope.values:
                return None
            return self.functions.get(node.id) or self._adopt(scope.env.lookup(node.id), "")
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        if self.is_module(scope, node.value):
            return self.functions.get(node.attr) or Function.declared(scope.env.lookup(node.attr))
        if node.value.id in scope.values:
            return None
        return self._adopt(scope.env.lookup(node.value.id), node.attr)

    def _adopt(self, value: Any, wanted: str) -> Function | None:
        """Take over the functions of a module that is a Python value around the script.

        Args:
            value: the Python value, a module or a function.
            wanted: which of its functions is asked for, `""` for the only one.

        Returns:
            The function, None when the value is no module or has no such function.
        """
        if isinstance(value, extension("ir.BaseFunc")):
            value = value.module
        if isinstance(value, extension("script.GlobalVar")):
            return self.functions.get(value.name_hint) or Function.declared(value)
        if not isinstance(value, IRModule) or self.body is None:
            return None
        if id(value) not in self._adopted:
            self._adopted[id(value)] = (value, self._copy(value))
        names = self._adopted[id(value)][1]
        if not wanted and len(names) == 1:
            (wanted,) = names
        return self.functions[names[wanted]] if wanted in names else None

    def _copy(self, module: IRModule) -> dict[str, str]:
        """Copy the functions of another module; their names there and here."""
        other = module.moved_to(ir.Context.current)
        symbols = [view.operation for view in other.mlir_module.body.operations]
        names = {}
        for op in symbols:
            name = ir.StringAttr(op.attributes["sym_name"]).value
            own, count = name, 0
            while own in self.functions:
                count += 1
                own = f"{name}_{count}"
            names[name] = own
            assert self.body is not None, "set before the first function is read"
            with ir.InsertionPoint(self.body):
                copy = op.clone().operation
            copy.attributes["sym_name"] = ir.StringAttr.get(own)
            kind = "relax" if "relax.function" in copy.attributes else "tir"
            if copy.name == "relax.extern_func":
                kind = "extern"
            pure = kind == "relax" and not _has_effects(copy)
            self.functions[own] = Function(own, kind, None, {}, copy, "done", None, pure)
            if kind == "relax":
                type_ = ir.FunctionType(ir.TypeAttr(copy.attributes["function_type"]).value)
                self.functions[own].signature = Signature(
                    list(type_.inputs), type_.results[0] if type_.results else None, pure
                )
        for own in names.values():
            _rename(self.functions[own].op, names)
        return names

    def is_module(self, scope: Scope, node: Node) -> bool:
        """Whether a name is the module's own: `cls`, or that of its class."""
        names = ("cls", self.class_name, *scope.modules)
        return isinstance(node, ast.Name) and node.id in names and node.id not in scope.values

    def parameter_types(self, function: Function) -> Sequence[ir.Type]:
        """Return the types of a Relax function's parameters."""
        types = self.signature(function).types
        assert types is not None, "only values of unknown functions take anything"
        return types

    def signature(self, function: Function) -> Signature:
        """Return the signature of a Relax function."""
        if function.signature is None:
            function.signature = RelaxFunctionParser(self, function).signature()
        return function.signature

    def result_of(self, function: Function, node: Node, scope: Scope) -> tuple[ir.Type, bool]:
        """Return what a Relax function returns, and whether it is pure.

        Raises:
            ScriptError: it is being parsed, so a recursive call, and declares no result.
        """
        if function.state == "new":
            self.ensure(function)
        if function.state == "done":
            return function.op.attributes["function_type"].value.results[0], function.pure
        declared = self.signature(function).result
        if declared is None:
            scope.fail(
                node,
                f"'{function.name}' calls itself, so it must declare what it returns: '-> ...'",
            )
        return declared, bool(function.options.get("pure", False))

    def buffer_count(self, function: Function) -> int:
        """Return how many buffers a prim func takes."""
        return sum(isinstance(t, ir.MemRefType) for t in self.inputs(function))

    def buffers(self, function: Function) -> list[tuple[str, list[SymExpr], str]]:
        """Return the name, the shape in the function's own symbols and the dtype of each buffer."""
        attrs = list(function.op.attributes["arg_attrs"])[: self.buffer_count(function)]
        return [
            (
                ir.StringAttr(item["tir.name"]).value,
                item["tir.shape"].maybe_downcast().dims,
                ir.StringAttr(item["tir.dtype"]).value,
            )
            for item in attrs
        ]

    def integer_count(self, function: Function) -> int:
        """Return how many integers a prim func takes."""
        return len(self.inputs(function)) - self.buffer_count(function)

    def stray_parameters(self, function: Function) -> tuple[str, str] | None:
        """Return a parameter that is no buffer and the buffer after it; None where there is none.

        A destination-passing call passes all buffers first, so it calls a copy.
        """
        names = [
            ir.StringAttr(item["tir.name"]).value for item in function.op.attributes["arg_attrs"]
        ]
        before = ""
        for name, type_ in zip(names, self.inputs(function), strict=True):
            if not isinstance(type_, ir.MemRefType):
                before = before or name
            elif before:
                return before, name
        return None

    def output_dtype(self, function: Function, index: int) -> str:
        """Return the dtype of a prim func's buffer, counted from the last when negative."""
        count = self.buffer_count(function)
        attrs = function.op.attributes["arg_attrs"][count + index]
        return ir.StringAttr(attrs["tir.dtype"]).value

    def buffers_first(self, function: Function) -> Function:
        """Return the copy of a prim func that takes its buffers before all else."""
        name = f"{function.name}{_COPIED}"
        if name not in self.functions:
            op = moved_behind(function.op.operation, name)
            self.functions[name] = Function(name, "tir", None, {}, op, "done")
        return self.functions[name]

    def _replace_copied(self) -> None:
        """Put copies with the buffers first in the place of private ones that nothing calls."""
        assert self._module is not None, "called when all functions are read"
        for name in [each for each in self.functions if f"{each}{_COPIED}" in self.functions]:
            old, copy = self.functions[name], self.functions[f"{name}{_COPIED}"]
            if not is_private(old.op.operation) or _calls(self._module.operation, name):
                continue
            old.op.operation.erase()
            del self.functions[copy.name]
            self.functions[name] = copy
            copy.op.attributes["sym_name"] = ir.StringAttr.get(name)
            _rename(self._module.operation, {copy.name: name})
            copy.name = name

    def inputs(self, function: Function) -> list[ir.Type]:
        """Return the types of what a prim func takes."""
        return list(function.op.attributes["function_type"].value.inputs)

    def _verify(self, module: ir.Module) -> None:
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            diagnostics = error.error_diagnostics
            message = diagnostics[0].message if diagnostics else str(error)
            line = column = 1
            if diagnostics:
                place = diagnostics[0].location
                place = place.child_loc if isinstance(place, ir.NameLoc) else place
                if isinstance(place, ir.FileLineColLoc):
                    line, column = place.start_line, place.start_col
            raise ScriptError(
                message,
                filename=self.source.filename,
                lineno=line,
                col_offset=column - 1,
                source_line=self.source.line(line),
            ) from None


def _has_effects(op: ir.Operation) -> bool:
    """Whether a Relax function may have side effects."""

    def has_effect(inner: ir.Operation) -> bool:
        called = inner.name in ("relax.call", "relax.invoke_closure")
        return inner.name == "relax.call_packed" or (called and "pure" not in inner.attributes)

    return first_below(op, has_effect) is not None


def _calls(op: ir.Operation, name: str) -> bool:
    """Whether something in an operation refers to a function."""
    return first_below(op, lambda x: str(x.attributes.get("callee")) == f"@{name}") is not None


def _rename(op: ir.Operation, names: Mapping[str, str]) -> None:
    """Have a function call others by their new names."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        callee = inner.attributes.get("callee", None)
        if isinstance(callee, ir.FlatSymbolRefAttr) and names.get(callee.value, "") != "":
            inner.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee.value])
        return ir.WalkResult.ADVANCE

    op.walk(visit)


def parse_definition(
    source: Source, node: Definition, variables: Mapping[str, Any], tree: ast.Module | None = None
) -> IRModule:
    """Parse a class of functions, or one function.

    Args:
        source: where the definition comes from.
        node: its syntax tree, whose positions are the file's.
        variables: Python values around it.
        tree: the module whose imports name the namespaces, for text that is not executed.

    Raises:
        ScriptError: the script is wrong.
    """
    env = Env(variables, tree)
    if isinstance(node, ast.FunctionDef):
        parser = ModuleParser(source, env)
        parser.add(node)
        return parser.parse()
    parser = ModuleParser(source, env, node.name)
    parser.checked = not any(
        option.arg == "check_well_formed" and getattr(option.value, "value", True) is False
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for option in decorator.keywords
    )
    for member in node.body:
        if isinstance(member, ast.FunctionDef):
            parser.add(member)
        else:
            parser.statement(member)
    return parser.parse()


def _check_complete(source: Source) -> None:
    """Raise a ScriptError when the text is a printed module of which a part was left as a comment.

    Read without that part it would be another program.
    """
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith(UNSPOKEN):
            column = len(line) - len(line.lstrip())
            raise ScriptError(
                "script has no words for this operation, so the text cannot be read back; keep the "
                "module as MLIR text, str(module)",
                filename=source.filename,
                lineno=number,
                col_offset=column,
                end_col_offset=len(line),
                source_line=line,
            )


def parse_text(text: str, variables: Mapping[str, Any], filename: str) -> IRModule:
    """Parse the text of a script.

    Raises:
        ScriptError: the text is wrong, or defines no module or function.
    """
    import textwrap

    if not isinstance(text, str):
        raise ScriptError(
            f"expected the text of a script, got a {type(text).__name__}", filename=filename
        )
    source, tree = parse_python(textwrap.dedent(text), filename)
    _check_complete(source)
    variables = dict(variables)
    env = Env(variables, tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            macro = macros.of_text(source, env, node, variables)
            if macro is not None:
                variables[node.name] = macro
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    functions = [
        n for n in tree.body if isinstance(n, ast.FunctionDef)
        if any(decorator_kind(env, d) in ("relax", "tir") for d in n.decorator_list)
    ]  # fmt: skip
    if len(classes) > 1 or (classes and functions):
        extra = classes[1] if len(classes) > 1 else functions[0]
        source.fail(extra, "the text must define one module, or functions alone")
    if classes:
        return parse_definition(source, classes[0], variables, tree)
    if not functions:
        raise ScriptError(
            "the text defines no @I.ir_module class and no @R.function or @T.prim_func",
            filename=filename,
            source_line=source.line(1),
        )
    parser = ModuleParser(source, env)
    for node in functions:
        parser.add(node)
    return parser.parse()
