"""`dump_ast`: an expression as the tree of its nodes, each with its fields."""

from collections.abc import Callable, Iterable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    FuncType,
    GlobalVar,
    If,
    MatchCast,
    ObjectType,
    Op,
    PackedFuncType,
    PrimType,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    StringImm,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
)
from relax_mlir.relax.expr_functor import ExprFunctor
from relax_mlir.relax.expr_functor.sharing import stack_for
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm, PrimExpr

# What TVM passes as an argument of a call and the dialect has as an attribute, in TVM's order.
_ARGUMENTS = {
    "relax.arange": ("start", "end", "step"),
    "relax.clip": ("min", "max"),
    "relax.eye": ("n", "m", "k"),
    "relax.eye_like": ("k",),
    "relax.one_hot": ("on_value", "off_value"),
    "relax.strided_slice": ("axes", "begin", "end", "strides"),
    "relax.tril": ("k",),
    "relax.triu": ("k",),
    "relax.unique": ("sorted", "return_index", "return_inverse", "return_counts", "axis"),
}


class ASTPrinter(ExprFunctor):
    """Writes expressions, bindings and blocks as `Node(field=value, ...)`.

    Args:
        indent_str: what a field of several lines is indented by.
        include_ty_annotations: whether nodes have their types.
        include_call_attrs: whether calls have their attributes.
    """

    def __init__(
        self,
        indent_str: str = "    ",
        include_ty_annotations: bool = True,
        include_call_attrs: bool = True,
    ) -> None:
        self.indent_str: str = indent_str
        self.include_ty_annotations: bool = include_ty_annotations
        self.include_call_attrs: bool = include_call_attrs

    def visit_expr(self, expr: Any, *args: Any) -> str:
        """Return the text of an expression, a binding or a block.

        Raises:
            ExprTypeError: it is none.
        """
        if isinstance(expr, BindingBlock):
            name = "DataflowBlock" if isinstance(expr, DataflowBlock) else "BindingBlock"
            return self._node(name, bindings=self._list(map(self.visit_expr, expr.bindings)))
        if isinstance(expr, MatchCast):
            value, ty = self.visit_expr(expr.value), self.visit_ty_(expr.ty)
            return self._node("MatchCast", var=self.visit_expr(expr.var), value=value, ty=ty)
        if isinstance(expr, Binding):
            var = "None" if expr.var is None else self.visit_expr(expr.var)
            return self._node("VarBinding", var=var, value=self.visit_expr(expr.value))
        if isinstance(expr, (SymExpr, PrimExpr, int)):
            return self._scalar(expr)
        return super().visit_expr(expr, *args)

    def visit_expr_default_(self, expr: Any, *args: Any) -> str:
        """Return the text of an expression of any other kind."""
        return self._typed(type(expr).__name__, expr)

    def visit_var_(self, var: Var) -> str:
        """Return the text of a variable."""
        return self._typed(type(var).__name__, var, name=_quoted(var.name))

    def visit_dataflow_var_(self, var: Var) -> str:
        """As `visit_var_`."""
        return self.visit_var_(var)

    def visit_constant_(self, expr: Constant) -> str:
        """Return the text of a constant, its elements shortened as numpy does."""
        return self._typed("Constant", expr, data=str(expr.data.numpy()))

    def visit_global_var_(self, expr: GlobalVar) -> str:
        """Return the text of the name of a function of the module."""
        return self._node("GlobalVar", name_hint=_quoted(expr.name_hint))

    def visit_extern_func_(self, expr: ExternFunc) -> str:
        """Return the text of the name of a packed function."""
        return self._node("ExternFunc", global_symbol=_quoted(expr.global_symbol))

    def visit_op_(self, expr: Op) -> str:
        """Return the text of an operation's name."""
        return self._node("Op", name=_quoted(expr.name))

    def visit_tuple_(self, expr: Tuple) -> str:
        """Return the text of a tuple."""
        fields = self._list(map(self.visit_expr, expr.fields))
        return self._typed("Tuple", expr, fields=fields)

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> str:
        """Return the text of a field of a tuple."""
        value = self.visit_expr(expr.tuple_value)
        return self._typed("TupleGetItem", expr, tuple_value=value, index=str(expr.index))

    def visit_shape_expr_(self, expr: ShapeExpr) -> str:
        """Return the text of a shape."""
        return self._typed("ShapeExpr", expr, values=self._list(map(self._scalar, expr.values)))

    def visit_prim_value_(self, expr: PrimValue) -> str:
        """Return the text of a symbolic integer."""
        return self._scalar(expr.value)

    def visit_string_imm_(self, expr: StringImm) -> str:
        """Return the text of a string."""
        return self._typed("StringImm", expr, value=_quoted(expr.value))

    def visit_data_type_imm_(self, expr: DataTypeImm) -> str:
        """Return the text of a dtype."""
        return self._typed("DataTypeImm", expr, value=expr.value)

    def visit_call_(self, call: Call) -> str:
        """Return the text of a call."""
        args, attrs = [*map(self.visit_expr, call.args)], dict(call.attrs)
        for value in attrs.pop("static_args", ()):
            args.append(self._argument(value))
        for name in _ARGUMENTS.get(getattr(call.op, "name", ""), ()):
            value = attrs.pop(name, None)
            if value is not None:
                args.append(self._argument(value))
        fields = {"op": self.visit_expr(call.op), "args": self._list(args)}
        types = call.sinfo_args
        if types:
            fields["ty_args"] = self._list(map(self.visit_ty_, types))
        if self.include_call_attrs and attrs:
            fields["attrs"] = self._attrs(attrs)
        return self._typed("Call", call, **fields)

    def visit_if_(self, expr: If) -> str:
        """Return the text of a branch."""
        parts = (expr.cond, expr.true_branch, expr.false_branch)
        texts = map(self.visit_expr, parts)
        names = ("cond", "true_branch", "false_branch")
        return self._typed("If", expr, **dict(zip(names, texts, strict=True)))

    def visit_seq_expr_(self, expr: SeqExpr) -> str:
        """Return the text of a sequence."""
        blocks = self._list(map(self.visit_expr, expr.blocks))
        return self._typed("SeqExpr", expr, blocks=blocks, body=self.visit_expr(expr.body))

    def visit_function_(self, func: Function) -> str:
        """Return the text of a function."""
        fields = {
            "params": self._list(map(self.visit_expr, func.params)),
            "body": self.visit_expr(func.body),
            "ret_ty": self.visit_ty_(func.ret_ty),
            "is_pure": str(func.is_pure),
        }
        return self._node("Function", **fields, attrs=self._attrs(func.attrs))

    def visit_ty_(self, ty: Type) -> str:
        """Return the text of a type."""
        return self._type(ty, self.visit_ty_)

    def visit_type_(self, ty: Type) -> str:
        """Return the text of a type whose tensors have no dimensions, but their number."""
        if isinstance(ty, TensorType):
            return self._node("TensorType", ndim=str(ty.ndim), dtype=ty.dtype)
        return self._type(ty, self.visit_type_)

    def _type(self, ty: Type, part: Callable[[Type], str]) -> str:
        if isinstance(ty, PrimType):
            fields = {"dtype": ty.dtype}
        elif isinstance(ty, TensorType):
            fields = {"dtype": ty.dtype} if ty.dtype else {}
            known = ty.shape is not None
            fields |= {"shape": self.visit_expr(ty.shape)} if known else {"ndim": str(ty.ndim)}
        elif isinstance(ty, ShapeType):
            fields = {"ndim": str(ty.ndim)}
            if ty.values is not None:
                fields["values"] = self._list(map(self._scalar, ty.values))
        elif isinstance(ty, TupleType):
            fields = {"fields": self._list(map(part, ty.fields))}
        elif isinstance(ty, FuncType) and not isinstance(ty, PackedFuncType):
            params = "None" if ty.params is None else self._list(map(part, ty.params))
            ret = part(ty.ret)
            fields = {"params": params, "ret": ret, "purity": str(ty.purity)}
        else:
            fields = {}
        return self._node("AnyType" if type(ty) is ObjectType else type(ty).__name__, **fields)

    def _scalar(self, value: Any) -> str:
        if not isinstance(value, PrimExpr):
            value = SymExpr.of(value)
        text = f"T.{value.dtype}({value})" if isinstance(value, (IntImm, FloatImm)) else value
        return f"Expr(value=`{text}`)"

    def _argument(self, value: Any) -> str:
        """Return the text of an attribute that is an argument in TVM."""
        if isinstance(value, (list, tuple)):
            return self._node("Tuple", fields=self._list(map(self._argument, value)))
        if isinstance(value, str):
            return self._node("StringImm", value=_quoted(value))
        if isinstance(value, (bool, float)):
            dtype = "bool" if isinstance(value, bool) else "float32"
            return f"Expr(value=`T.{dtype}({value})`)"
        return self._scalar(value)

    def _attrs(self, attrs: Any) -> str:
        items = (f"{_quoted(key)}: {_value(value)}" for key, value in attrs.items())
        return f"{{{', '.join(items)}}}"

    def _typed(self, node: str, expr: Expr, /, **fields: str) -> str:
        if self.include_ty_annotations and not expr.ty.is_missing():
            fields["ty"] = self.visit_ty_(expr.ty)
        return self._node(node, **fields)

    def _node(self, node: str, /, **fields: str) -> str:
        return f"{node}{self._enclosed('(', [f'{k}={v}' for k, v in fields.items()], ')')}"

    def _list(self, items: Iterable[str]) -> str:
        return self._enclosed("[", list(items), "]")

    def _enclosed(self, begin: str, items: list[str], end: str) -> str:
        if len(items) < 2 and not any("\n" in item for item in items):
            return f"{begin}{''.join(items)}{end}"
        lines = ",\n".join(items).split("\n")
        inner = "\n".join(f"{self.indent_str}{line}" for line in lines)
        return f"{begin}\n{inner}\n{end}"


def dump_ast(
    expr: Any,
    indent_str: str = "    ",
    include_ty_annotations: bool = True,
    include_call_attrs: bool = True,
) -> str:
    """Return an expression, a binding or a block as the tree of its nodes.

    Args:
        expr: the expression, emitted or not.
        indent_str: what a field of several lines is indented by.
        include_ty_annotations: whether nodes have their types.
        include_call_attrs: whether calls have their attributes.

    Raises:
        ExprTypeError: it is none.
        ExprError: expressions are nested too deep for Python's stack.
    """
    printer = ASTPrinter(indent_str, include_ty_annotations, include_call_attrs)
    with stack_for(expr):
        return printer.visit_expr(expr)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _value(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)
