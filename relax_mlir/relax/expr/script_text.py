"""Types, expressions and bindings as TVMScript, whether they have been emitted or not."""

from collections.abc import Iterable, Sequence
from typing import Any

from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, REQUIRED, default_value
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.relax.expr.blocks import Binding, BindingBlock, DataflowBlock, MatchCast, SeqExpr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.functions import BaseFunc
from relax_mlir.relax.expr.leaves import DataflowVar, ExternFunc, GlobalVar, Var
from relax_mlir.relax.expr.types import (
    FuncType,
    ObjectType,
    PackedFuncType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from relax_mlir.relax.expr.values import (
    Constant,
    DataTypeImm,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    is_integer,
)
from relax_mlir.script.printer import spelling
from relax_mlir.script.printer.names import Namer

_DESTINATION = ("relax.call_tir", "relax.call_dps_packed", "relax.call_tir_inplace")
_TYPED = ("relax.call_pure_packed", "relax.call_inplace_packed", "relax.invoke_closure")


def script_text(node: Any, verbose_expr: bool = False) -> str:
    """Return a type, an expression, a binding or a block of bindings as TVMScript.

    Args:
        node: what to write.
        verbose_expr: whether lines before it declare the symbols and variables in it.

    Raises:
        ExprError: it is nested deeper than Python's stack.
    """
    text = _Text()
    try:
        text.node(node)
    except RecursionError:
        raise ExprError("this is nested too deep for a script; bind parts to variables") from None
    return "\n".join([*(text.declarations if verbose_expr else []), *text.lines])


class _Text:
    """The lines of one node, and the declarations of what it does not bind."""

    def __init__(self) -> None:
        self.declarations: list[str] = []
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}
        self._symbols: set[str] = set()
        self._namer = Namer({"I"})
        self._indent = ""
        self._inside = False

    def node(self, node: Any) -> None:
        if isinstance(node, Type):
            self._line(self.type(node))
        elif isinstance(node, Binding):
            self._binding(node)
        elif isinstance(node, BindingBlock):
            self._block(node)
        elif isinstance(node, SeqExpr):
            for block in node.blocks:
                self._block(block)
            self.node(node.body)
        elif isinstance(node, If):
            self._if(node)
        else:
            self._line(self.expr(node))

    def _line(self, text: str) -> None:
        self.lines.append(self._indent + text)

    def _declare(self, text: str) -> None:
        if self._inside:
            # A branch declares what it alone mentions.
            self._line(text)
        else:
            self.declarations.append(text)

    def type(self, type_: Type) -> str:
        if isinstance(type_, TensorType):
            self._dims(type_.dims or ())
            return spelling.tensor(type_.dims, type_.dtype, type_.ndim)
        if isinstance(type_, ShapeType):
            self._dims(type_.dims or ())
            known = type_.dims is not None
            return (
                f"R.Shape([{self._list(type_.dims)}])" if known else f"R.Shape(ndim={type_.ndim})"
            )
        if isinstance(type_, TupleType):
            fields = ", ".join(map(self.type, type_.fields))
            return f"R.Tuple({fields})" if fields else "R.Tuple"
        if isinstance(type_, PrimType):
            return f"T.{type_.dtype}"
        if isinstance(type_, PackedFuncType):
            return "R.PackedFunc"
        if isinstance(type_, FuncType):
            if type_.params is None:
                return "R.Callable"
            params = spelling.sequence([self.type(param) for param in type_.params])
            return f"R.Callable({params}, {self.type(type_.ret)}, {type_.purity})"
        return "R.Any" if isinstance(type_, ObjectType) else str(type_)

    def _dims(self, dims: Iterable[SymExpr]) -> None:
        for dim in dims:
            for name in sorted(dim.symbols - self._symbols):
                self._symbols.add(name)
                self._declare(f"{name} = T.int64()")

    def _list(self, dims: Sequence[SymExpr] | None) -> str:
        return ", ".join(spelling.dims(dims or ()))

    def _variable(self, var: Var, declare: bool = True) -> str:
        key = var if var.mlir_value is not None else id(var)
        if key not in self._names:
            type_ = self.type(var.ty)
            self._names[key] = self._namer.fresh(var.name_hint or "v")
            if declare:
                self._declare(f"{self._names[key]}: {type_}")
        return self._names[key]

    def expr(self, expr: Any) -> str:
        if isinstance(expr, Var):
            return self._variable(expr)
        if isinstance(expr, (GlobalVar, ExternFunc)):
            quoted = isinstance(expr, ExternFunc)
            return f"R.ExternFunc({spelling.quote(expr.name_hint)})" if quoted else expr.name_hint
        if isinstance(expr, Constant):
            data, dtype = expr.data, expr.dtype
            large = data.size > 64 or (data.size == 0 and data.ndim > 1)
            return f"R.const(<{expr.ty}>)" if large else (
                f'R.const({spelling.array(data, dtype)}, "{dtype}")')  # fmt: skip
        if isinstance(expr, PrimValue) and not is_integer(expr):
            return f"T.{expr.value.dtype}({expr.value})"
        if isinstance(expr, (ShapeExpr, PrimValue)):
            dims = [expr.value] if isinstance(expr, PrimValue) else expr.values
            self._dims(dims)
            text = self._list(dims)
            return text if isinstance(expr, PrimValue) else f"R.shape([{text}])"
        if isinstance(expr, (StringImm, DataTypeImm)):
            name = "str" if isinstance(expr, StringImm) else "dtype"
            return f"R.{name}({spelling.quote(expr.value)})"
        if isinstance(expr, Tuple):
            return self._sequence(expr.fields)
        if isinstance(expr, TupleGetItem):
            return f"{self.expr(expr.tuple_value)}[{expr.index}]"
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, BaseFunc):
            return expr.name
        raise TypeError(f"script() has no text for {type(expr).__name__}")

    def _sequence(self, items: Iterable[Any]) -> str:
        return spelling.sequence([self.expr(item) for item in items])

    def _call(self, call: Call) -> str:
        op = call.op
        if not isinstance(op, Op):
            types = [f"ty_args=({self.type(t)},)" for t in call.ty_args]
            args = [self.expr(arg) for arg in call.args]
            if isinstance(op, ExternFunc):
                name = spelling.quote(op.global_symbol)
                return f"R.call_packed({', '.join([name, *args, *types])})"
            return f"{self.expr(op)}({', '.join(args)})"
        name = op.mlir_name.removeprefix("relax.")
        args = [self._argument(op, arg) for arg in call.args]
        if op.name in _DESTINATION and call.ty_args:
            args.append(f"out_ty={self._outputs(call.ty_args)}")
        elif op.name in _TYPED and call.ty_args:
            args.append(f"ty_args=({', '.join(map(self.type, call.ty_args))},)")
        args += [f"{key}={self._attribute(value)}" for key, value in self._attributes(name, call)]
        name = "relax.call_tir_with_grad" if "te_grad_name" in call.attrs else op.name
        return f"{name.replace('relax.', 'R.', 1)}({', '.join(args)})"

    def _argument(self, op: Op, arg: Any) -> str:
        named = isinstance(arg, ExternFunc) and op.name != "relax.emit"
        return spelling.quote(arg.global_symbol) if named else self.expr(arg)

    def _outputs(self, types: Sequence[Type]) -> str:
        fields = types[0].fields if isinstance(types[0], TupleType) else types
        texts = [self.type(field) for field in fields]
        many = len(types) > 1 or isinstance(types[0], TupleType)
        return f"[{', '.join(texts)}]" if many else texts[0]

    def _attributes(self, name: str, call: Call) -> list[tuple[str, Any]]:
        known = {param.name: param for param in COMPUTE_OPS[name].PARAMS} \
            if name in COMPUTE_OPS else {}  # fmt: skip
        return [
            (key, value)
            for key, value in call.attrs.items()
            if key not in known
            or known[key].default is REQUIRED
            or value != default_value(known[key])
        ]

    def _attribute(self, value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self._attribute, value))}]"
        if isinstance(value, dict):
            items = [f"{spelling.quote(key)}: {self._attribute(value[key])}" for key in value]
            return f"{{{', '.join(items)}}}"
        if isinstance(value, SymExpr):
            self._dims([value])
            return str(value)
        return spelling.python(value)

    def _binding(self, binding: Binding) -> None:
        if isinstance(binding.value, If):
            self._if(binding.value, binding.var)
            return
        value = self.expr(binding.value)
        if isinstance(binding, MatchCast):
            value = f"R.match_cast({value}, {self.type(binding.ty)})"
        self._assign(binding.var, value)

    def _assign(self, var: Any, value: str) -> None:
        name = "_" if var is None else self._variable(var, declare=False)
        annotation = "" if var is None else f": {self.type(var.ty)}"
        self._line(f"{name}{annotation} = {value}")

    def _block(self, block: BindingBlock) -> None:
        if not isinstance(block, DataflowBlock):
            for binding in block.bindings:
                self._binding(binding)
            return
        bindings = block.bindings
        self._line("with R.dataflow():")
        outer, self._indent = self._indent, f"{self._indent}    "
        for binding in bindings:
            self._binding(binding)
        leaving = [b.var for b in bindings if b.var is not None]
        names = [self._variable(v) for v in leaving if not isinstance(v, DataflowVar)]
        self._line(f"R.output({', '.join(names)})")
        self._indent = outer

    def _if(self, node: If, var: Any = None) -> None:
        self._line(f"if {self.expr(node.cond)}:")
        outer = self._indent, self._inside
        for word, branch in (("", node.true_branch), ("else:", node.false_branch)):
            if word:
                self._line(word)
            self._indent, self._inside = f"{outer[0]}    ", True
            if var is None:
                self.node(branch)
            else:
                for block in branch.blocks:
                    self._block(block)
                self._assign(var, self.expr(branch.body))
            self._indent, self._inside = outer
