"""Prim funcs: parameters, buffers, and the builder of the body."""

import ast
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder, ScalarDecl
from relax_mlir.dialects.tir.ops import RETURNS
from relax_mlir.errors import did_you_mean
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.dims import captured_dims, check_bytes
from relax_mlir.script.parser.functions import Function
from relax_mlir.script.parser.interfaces import ModuleParser
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.stmt import func_attrs
from relax_mlir.script.tir_parser.expr.parser import TirExprParser
from relax_mlir.script.tir_parser.layout import BUFFER_ARGUMENTS, buffer_dtype, read_layout
from relax_mlir.script.tir_parser.stmt import TirStmtParser

# Sizes may be made of these: they are one kind of number here, and parameters of 64 bits.
_INTEGERS = ("T.int64", "T.int32", "T.int", "T.i64", "T.i32")
_SCALARS = {
    "T.bool": "bool",
    "T.boolean": "bool",
    **{f"T.{name}": name for name in (
        "int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
        "float64",
    )},
    "T.i8": "int8", "T.i16": "int16", "T.u8": "uint8", "T.u16": "uint16", "T.u32": "uint32",
    "T.u64": "uint64", "T.f16": "float16", "T.bf16": "bfloat16", "T.f32": "float32",
    "T.f64": "float64",
}  # fmt: skip
_SYMBOL_CALLS = ("T.int64", "T.int32", "T.var", "T.Var", "tir.Var")


class PrimFuncParser:
    """Parses one prim func: first what it takes, then its body."""

    def __init__(self, module: ModuleParser, function: Function) -> None:
        self.module = module
        self.scope: Scope = Scope(module.source, module.env)
        self.function = function
        self.node: Any = function.node
        self.reader: AnnotationParser = AnnotationParser(self.scope, define=True)
        # Parameter name -> its buffer, None for a handle that no match_buffer has named yet.
        self.buffers: dict[str, BufferDecl | None] = {}
        self.scalars: dict[str, ScalarDecl] = {}
        self.attrs: dict[str, Any] = {}

    def parse(self) -> Any:
        """Create the function at the current insertion point.

        Raises:
            ScriptError: the function is wrong.
        """
        scope, args = self.scope, self.node.args
        for extra in (args.vararg, args.kwarg, *args.kwonlyargs, *args.posonlyargs, *args.defaults):
            if extra is not None:
                scope.fail(extra, "a prim func has plain positional parameters without defaults")
        for arg in args.args:
            if arg.arg in self.buffers or arg.arg in self.scalars:
                scope.fail(arg, f"there is already a parameter '{arg.arg}'")
            with scope.guarded(arg):
                self._parameter(arg)
        body: list[ast.stmt] = []
        for statement in self.node.body:
            # Buffers are matched with handles behind other statements as well.
            if body and not self._matches_handle(statement):
                body.append(statement)
                continue
            with scope.guarded(statement):
                if not self._prelude(statement):
                    body.append(statement)
        for name, decl in self.buffers.items():
            if decl is None:
                arg = next(a for a in self.node.args.args if a.arg == name)
                scope.fail(
                    arg,
                    f"no T.match_buffer says what '{name}' points to: write "
                    f"'A = T.match_buffer({name}, shape, dtype)' where the function begins",
                )
        self.reader.dims.finish()
        for arg in args.args:
            decl = self.scalars.get(arg.arg)
            if decl is not None and decl.dtype != "int64" and arg.arg in scope.symbols:
                scope.fail(arg, f"'{arg.arg}' is of {decl.dtype}; a size is made of T.int64")
        decls = [self.scalars.get(arg.arg) or self.buffers[arg.arg] for arg in args.args]
        result = self._result([arg.arg for arg in args.args])
        with scope.location(self.node):
            builder = PrimFuncBuilder(
                self.function.name,
                [decl for decl in (*decls, result) if decl is not None],
                private=bool(self.function.options.get("private", False)),
                loc=scope.location(self.node),
            )
            for buffer in builder.buffers:
                scope.bind(buffer.name, buffer)
            for name, scalar in builder.scalars.items():
                if name not in builder.integers:
                    scope.bind(name, scalar)
            with builder.body():
                TirStmtParser(TirExprParser(scope, builder), self.module).function(
                    body, builder.buffers[-1] if result else None
                )
        if result is not None:
            builder.op.attributes[RETURNS] = ir.UnitAttr.get()
        for name, value in self.attrs.items():
            if name in ("tir.internal", RETURNS):
                builder.op.attributes[name] = ir.UnitAttr.get()
            elif name == "tir.readonly":
                self._mark_readonly(builder.op, value)
            elif name != "global_symbol":
                # TVM 0.27 calls the dialect `tirx`.
                name = name.removeprefix("tirx.")
                key = name if "." in name else f"tir.{name}"
                builder.op.attributes[key] = python_attribute(value)
        return builder.op

    def _result(self, taken: list[str]) -> BufferDecl | None:
        """Return the buffer that holds what `-> T.float32` says the function returns."""
        node = self.node.returns
        path = None if node is None else self.scope.path(node)
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return None
        dtype = "int64" if path == "T.int64" else "int32" if path in _INTEGERS else _SCALARS.get(
            path or "")  # fmt: skip
        if dtype is None:
            self.scope.fail(node, "a prim func returns one number, '-> T.float32', or nothing")
        name = next(each for each in ("returns", *(f"returns_{i}" for i in range(len(taken))))
                    if each not in taken)  # fmt: skip
        return BufferDecl(name, [], dtype)

    def _mark_readonly(self, op: ir.OpView, names: list[str]) -> None:
        """Note which buffers the function reads only, as passes that know do."""
        details = []
        for raw in op.attributes["arg_attrs"]:
            items = {named.name: named.attr for named in ir.DictAttr(raw)}
            if ir.StringAttr(items["tir.name"]).value in names:
                items["tir.readonly"] = ir.UnitAttr.get()
            details.append(ir.DictAttr.get(items))
        op.attributes["arg_attrs"] = ir.ArrayAttr.get(details)

    def _parameter(self, arg: ast.arg) -> None:
        scope, annotation = self.scope, arg.annotation
        if annotation is None:
            self.buffers[arg.arg] = None
            return
        call = annotation.func if isinstance(annotation, ast.Call) else annotation
        call = call.value if isinstance(call, ast.Subscript) else call
        path = scope.path(call)
        if path in ("T.Buffer", "T.buffer"):
            self._add_buffer(arg.arg, arg.arg, annotation)
        elif path in ("T.handle", "T.Ptr"):
            self.buffers[arg.arg] = None
        elif path in _INTEGERS:
            self.scalars[arg.arg] = ScalarDecl(arg.arg, "int64")
            scope.symbols[arg.arg] = True
        elif path in _SCALARS:
            self.scalars[arg.arg] = ScalarDecl(arg.arg, _SCALARS[path])
        else:
            near = did_you_mean(path or "", [*_INTEGERS, *_SCALARS])
            scope.fail(
                annotation, "expected T.handle, T.Buffer(shape, dtype) or a dtype such as "
                f"T.float32{near}"
            )  # fmt: skip

    def _prelude(self, node: Node) -> bool:
        """Parse a statement that belongs to the signature; whether it was one."""
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):
                return True
            if not isinstance(node.value, ast.Call):
                return False
            if self.scope.path(node.value.func) != "T.func_attr":
                return False
            self.attrs.update(func_attrs(self.scope, node.value))
            return True
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            return False
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        targets, values = [target], [node.value]
        several = (ast.Tuple, ast.List)
        if isinstance(target, several) and isinstance(node.value, several):
            targets, values = target.elts, node.value.elts
        paths = [self.scope.path(v.func) if isinstance(v, ast.Call) else None for v in values]
        first = values[0].args[:1] if values and isinstance(values[0], ast.Call) else []
        if "T.match_buffer" in paths and any(isinstance(arg, ast.Subscript) for arg in first):
            return False
        if all(path in _SYMBOL_CALLS for path in paths) and len(targets) == len(values):
            for item, value in zip(targets, values, strict=True):
                if not self._symbol(item, value):
                    return False
            return True
        if paths == ["T.match_buffer"] and isinstance(target, ast.Name):
            self._match_buffer(target, node.value)
            return True
        return False

    def _matches_handle(self, node: ast.stmt) -> bool:
        """Return whether the statement matches a buffer with a handle that has none."""
        call = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if not isinstance(call, ast.Call) or self.scope.path(call.func) != "T.match_buffer":
            return False
        handle = call.args[0] if call.args else None
        return isinstance(handle, ast.Name) and self.buffers.get(handle.id, call) is None

    def _symbol(self, target: Node, call: Node) -> bool:
        text = call.args[0] if call.args else None
        if not isinstance(target, ast.Name):
            return False
        if text is not None and not isinstance(getattr(text, "value", None), str):
            return False
        symbol = text.value if text is not None else target.id
        self.scope.symbols.setdefault(symbol, False)
        if symbol != target.id:
            self.scope.bind(target.id, SymExpr.var(symbol))
        return True

    def _match_buffer(self, target: Node, call: Node) -> None:
        param = call.args[0] if call.args else None
        if param is None:
            self.scope.fail(call, "T.match_buffer needs a handle of the function, and a shape")
        if not isinstance(param, ast.Name) or param.id not in self.buffers:
            name = ast.unparse(param)
            near = did_you_mean(name, list(self.buffers))
            self.scope.fail(param, f"'{name}' is not a handle of this function{near}")
        if self.buffers[param.id] is not None:
            self.scope.fail(param, f"'{param.id}' already has a buffer")
        self._add_buffer(param.id, target.id, call, call.args[1:])

    def _add_buffer(self, param: str, name: str, node: Node, args: Node = None) -> None:
        scope = self.scope
        keywords = {}
        if isinstance(node, ast.Subscript):
            args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if len(args) != 2 or not isinstance(args[0], (ast.Tuple, ast.List)):
                args = [ast.copy_location(ast.Tuple(args, ast.Load()), node)]
        elif isinstance(node, ast.Call):
            args = node.args if args is None else args
            keywords = {k.arg: k.value for k in node.keywords}
        else:
            scope.fail(node, "expected T.Buffer(shape, dtype)")
        if len(args) > len(BUFFER_ARGUMENTS):
            scope.fail(args[-1], f"a buffer takes at most {len(BUFFER_ARGUMENTS)} arguments")
        for key, value in keywords.items():
            if key not in BUFFER_ARGUMENTS:
                near = did_you_mean(str(key), BUFFER_ARGUMENTS)
                scope.fail(value, f"a buffer has no argument '{key}'{near}")
        given = {**dict(zip(BUFFER_ARGUMENTS, args, strict=False)), **keywords}
        if "shape" not in given:
            scope.fail(node, "a buffer needs a shape")
        shape_node = given["shape"]
        if isinstance(shape_node, (ast.Tuple, ast.List)):
            shape = self.reader.dims.dims(shape_node.elts)
        elif isinstance(shape_node, ast.Name) and isinstance(
            scope.env.lookup(shape_node.id), (tuple, list)
        ):
            shape = captured_dims(scope, shape_node, scope.env.lookup(shape_node.id))
        else:
            shape = [self.reader.dims.dim(shape_node)]
        dtype = buffer_dtype(self.reader, given.get("dtype"))
        check_bytes(scope, node, shape, dtype)
        layout = read_layout(self, self.reader, given, shape)
        if name in [decl.name for decl in self.buffers.values() if decl]:
            scope.fail(node, f"there is already a buffer '{name}'")
        self.buffers[param] = BufferDecl(name, shape, dtype, layout)


def parse_prim_func(module: ModuleParser, function: Function) -> ir.Operation:
    """Parse a prim func at the current insertion point.

    Raises:
        ScriptError: the function is wrong.
    """
    return PrimFuncParser(module, function).parse()
