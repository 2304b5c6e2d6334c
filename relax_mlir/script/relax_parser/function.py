"""A Relax function: signature, body, and the `func.func` that holds them."""

import ast
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script.parser.annotations import Annotation, AnnotationParser, Signature
from relax_mlir.script.parser.functions import Function
from relax_mlir.script.parser.interfaces import ModuleParser
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.relax_parser.calls import substitute
from relax_mlir.script.relax_parser.closures import record_signature
from relax_mlir.script.relax_parser.expr import ExprParser
from relax_mlir.script.relax_parser.stmt import StmtParser


class RelaxFunctionParser:
    """Parses one Relax function."""

    def __init__(self, module: ModuleParser, function: Function) -> None:
        self.module = module
        self.function = function
        self.node: Any = function.node
        self.scope: Scope = Scope(module.source, module.env)

    def signature(self) -> Signature:
        """Return the signature; it may be asked for before the body is parsed.

        Raises:
            ScriptError: an annotation is wrong.
        """
        types = [a.type for a in self._parameters()]
        result = None
        if self.node.returns is not None:
            # Symbols that the body binds mean nothing to a caller.
            reader = AnnotationParser(self.scope, define=True)
            bound = {name: SymExpr.var(name) for name, known in self.scope.symbols.items() if known}
            with self.scope.guarded(self.node.returns):
                result = substitute(reader.parse(self.node.returns).type, bound)
        return Signature(types, result)

    def parse(self) -> Any:
        """Create the function at the current insertion point.

        Raises:
            ScriptError: the function is wrong.
        """
        scope, node = self.scope, self.node
        annotations = self._parameters()
        names = [arg.arg for arg in node.args.args]
        types = [a.type for a in annotations]
        op = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(self.function.name),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                "relax.function": ir.UnitAttr.get(),
                "relax.params": ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names]),
            },
            regions=1,
            loc=scope.location(node),
        )
        if self.function.options.get("private"):
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        locations = [scope.location(arg, arg.arg) for arg in node.args.args]
        block = op.regions[0].blocks.append(*types, arg_locs=locations)
        self._bind(op, block, names, annotations)
        expr = ExprParser(scope, self.module)
        statements = StmtParser(expr)
        with ir.InsertionPoint(block):
            value = statements.body(node.body)
            if node.returns is not None:
                with scope.guarded(node.returns):
                    declared = AnnotationParser(scope).parse(node.returns).type
                    value = statements.refine(value, declared, node.returns, node.returns, None)
            ir.Operation.create("func.return", operands=[value], loc=scope.location(node.body[-1]))
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [value.type]))
        self._finish(op, expr, statements)
        return op

    def _bind(
        self, op: ir.Operation, block: ir.Block, names: list[str], annotations: list[Annotation]
    ) -> None:
        attrs = []
        for name, annotation, value in zip(names, annotations, block.arguments, strict=True):
            self.scope.bind(name, value)
            record_signature(self.scope, value, annotation)
            attrs.append({})
            if annotation.integer is not None:
                self.scope.integers.append((value, annotation.integer))
                attrs[-1]["relax.value"] = Dims.of([annotation.integer])
        if any(attrs):
            op.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attrs])

    def _finish(self, op: ir.Operation, expr: ExprParser, statements: StmtParser) -> None:
        if "global_symbol" in statements.func_attrs and self.function.options.get("private"):
            self.scope.fail(
                self.node, f"'{self.function.name}' is private, so it has no global_symbol"
            )
        statements.write_attributes(op)
        self.function.pure = not expr.impure
        if self.function.options.get("pure"):
            if expr.impure:
                self.scope.fail(
                    self.node, f"'{self.function.name}' is declared pure and has side effects"
                )
            op.attributes["relax.pure"] = ir.UnitAttr.get()

    def _parameters(self) -> list[Annotation]:
        return parameters(self.scope, self.node)


def parameters(scope: Scope, node: ast.FunctionDef) -> list[Annotation]:
    """Return the annotations of a function's parameters, which bind their symbols.

    Raises:
        ScriptError: they are not plain parameters with types.
    """
    args = node.args
    for extra in (args.vararg, args.kwarg, *args.kwonlyargs, *args.posonlyargs):
        if extra is not None:
            scope.fail(extra, "a Relax function has plain positional parameters")
    if args.defaults:
        scope.fail(args.defaults[0], "a Relax function has no default arguments")
    reader = AnnotationParser(scope, define=True)
    annotations: list[Annotation] = []
    seen: set[str] = set()
    for arg in args.args:
        if arg.annotation is None:
            scope.fail(arg, f"parameter '{arg.arg}' needs a type, such as R.Tensor or R.Object")
        if arg.arg in seen:
            scope.fail(arg, f"there is already a parameter '{arg.arg}'")
        seen.add(arg.arg)
        known = set(scope.symbols)
        with scope.guarded(arg):
            annotations.append(reader.parse(arg.annotation))
        annotation = annotations[-1]
        plain = T.scalar_dtype(annotation.type) is not None and annotation.integer is None
        if plain and arg.arg in known:
            scope.fail(arg, f"'{arg.arg}' is a dimension of a parameter before it")
    for i, arg in enumerate(args.args):
        annotations[i] = _as_dimension(scope, reader, arg, annotations[i])
    reader.dims.finish()
    return annotations


def _as_dimension(
    scope: Scope, reader: AnnotationParser, arg: ast.arg, annotation: Annotation
) -> Annotation:
    """Return the annotation of an integer that gives a symbol of later parameters its value."""
    dtype = T.scalar_dtype(annotation.type)
    if annotation.integer is not None or dtype is None or arg.arg not in scope.symbols:
        return annotation
    if dtype != "int64":
        scope.fail(arg, f"'{arg.arg}' is a dimension, which is an int64, not {dtype}")
    expr = SymExpr.var(arg.arg)
    reader.dims.seen.append(expr)
    return Annotation(annotation.type, expr)
