"""Tensor expressions in a builder: arguments as te tensors, results by `call_tir`.

What it needs of `relax_mlir.te`:

- `te.Tensor` has `shape` (integers and SymExprs), `dtype` and `name`;
- `te.placeholder(shape, dtype, name)` makes an input;
- `te.create_prim_func([*inputs, *outputs])` gives the prim func, as an IRModule of one function or
  its `func.func`: buffers in that order, and after them an `int64` parameter for each symbol that
  no dimension of a buffer binds, which the arguments' attribute `tir.name` names.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.atoms import signed
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, TensorArgumentError
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.relax.builder.frames import bind_symbols
from relax_mlir.relax.builder.functions import function_op
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.types import PrimType, TensorType, TupleType
from relax_mlir.relax.expr.values import PrimValue, ShapeExpr, Tuple
from relax_mlir.relax.op.calls import call_tir


def _te() -> Any:
    # Loaded on first use: programs without tensor expressions do not need it.
    return importlib.import_module("relax_mlir.te")


def te_tensor(expr: Expr, name: str = "", te: Any = None) -> Any:
    """Return a te tensor that stands for an expression: a placeholder of its shape and dtype.

    Raises:
        TensorArgumentError: the expression is no tensor.
        ExprError: its shape is not known symbolically, or its dtype is not known.
    """
    type_ = expr.ty
    if not isinstance(type_, TensorType):
        raise TensorArgumentError(f"only tensors can be te tensors, {expr!r} is {type_}")
    if type_.dims is None:
        raise ExprError(
            f"the shape of {expr!r} is not known symbolically; bind it by match_cast first"
        )
    if not type_.dtype:
        raise ExprError(f"the dtype of {expr!r} is not known; bind it by match_cast first")
    made = (te or _te()).placeholder(
        type_.dims, dtype=type_.dtype, name=name or getattr(expr, "name_hint", "") or "A"
    )
    made.relax_expr = expr
    return made


class _Arguments:
    """Turns arguments into what te functions take, and remembers the tensors among them."""

    def __init__(self, builder: Any, te: Any) -> None:
        self._builder, self._te = builder, te
        self.inputs: list[tuple[Var, Any]] = []

    def convert(self, value: Any) -> Any:
        """Return the te counterpart of one argument."""
        if isinstance(value, ShapeExpr):
            return [_plain(dim) for dim in value.values]
        if isinstance(value, PrimValue):
            return _plain(value.value)
        if isinstance(value, (Tuple, list, tuple)):
            return [self.convert(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self.convert(item) for key, item in value.items()}
        if isinstance(value, Expr):
            if isinstance(value.ty, TupleType):
                return [self.convert(item) for item in value]
            if isinstance(value.ty, PrimType):
                return self._integer(value, value.ty)
            return self._tensor(value)
        return value

    def _integer(self, expr: Expr, type_: PrimType) -> Any:
        """Return the symbolic integer that an expression is, bound here where it has none."""
        if type_.dtype != "int64":
            raise ExprTypeError(f"te functions take integers of int64, {expr!r} is {type_}")
        if type_.value is not None:
            return _plain(type_.value)
        value, frame = self._builder.materialize(expr), self._builder._frame()
        # Other blocks may not follow this one.
        place = (value, frame.blocks[0])
        known = self._builder._integers.get(place)
        if known is None:
            # It may be negative.
            name = signed(frame.names.fresh(getattr(expr, "name_hint", "") or "i"))
            known = self._builder._integers[place] = SymExpr.var(name)
            bind_symbols(frame, [], [known])
            with self._builder.unknown:
                attributes = {"value": Dims.of([known])}
            ir.Operation.create(
                "relax.match_prim", operands=[value], attributes=attributes,
                loc=self._builder._places.here(), ip=frame.ip,
            )  # fmt: skip
        return known

    def _tensor(self, expr: Expr) -> Any:
        variable = expr if isinstance(expr, Var) else self._builder.emit(expr)
        for known, tensor in self.inputs:
            if known == variable:
                return tensor
        # Named by position, as in TVM: calls with other variables find the same prim func.
        count = len(self.inputs)
        name = chr(ord("A") + count) if count < 26 else f"A{count}"
        tensor = te_tensor(variable, name, self._te)
        self.inputs.append((variable, tensor))
        return tensor


def _plain(dim: SymExpr) -> Any:
    return dim if dim.value is None else dim.value


def call_te(
    builder: Any, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Call:
    """Return the call of the prim func that a te function makes of converted arguments."""
    if not callable(func):
        raise ExprTypeError(f"emit_te and call_te take a te function, topi.add, got {func!r}")
    te = _te()
    options = dict(kwargs)
    hint = options.pop("primfunc_name_hint", None)
    attrs = options.pop("primfunc_attrs", None) or {}
    converted = _Arguments(builder, te)
    made = func(
        *(converted.convert(arg) for arg in args),
        **{key: converted.convert(value) for key, value in options.items()},
    )
    own = getattr(func, "__name__", "")
    # A lambda has no name that a function could have.
    name = hint or (own if own.isidentifier() else "te_func")
    return _call(builder, te, converted.inputs, made, name, attrs)


def as_call(builder: Any, value: Any) -> Any:
    """Return the call of the prim func of a te tensor; anything else unchanged.

    Its inputs are the tensors made by `te_tensor`.
    """
    if isinstance(value, Expr) or not hasattr(value, "shape") or not hasattr(value, "op"):
        return value
    te = _te()
    if not isinstance(value, te.Tensor):
        return value
    inputs = [(tensor.relax_expr, tensor) for tensor in te.placeholders_of(value)]
    return _call(builder, te, inputs, value, value.name or "te_func")


def _call(
    builder: Any,
    te: Any,
    inputs: Sequence[tuple[Any, Any]],
    made: Any,
    name: str,
    attrs: Mapping[str, Any] = MappingProxyType({}),
) -> Call:
    many = isinstance(made, (list, tuple))
    outputs = list(made) if many else [made]
    for output in outputs:
        if not isinstance(output, te.Tensor):
            raise ExprTypeError(f"a te function gives te tensors, '{name}' gave {output!r}")
    given = [id(tensor) for _, tensor in inputs]
    for position, output in enumerate(outputs):
        # What a function hands back as it got it, or gives twice, is copied.
        if id(output) in given:
            outputs[position] = te.compute(
                output.shape, lambda *at, source=output: source[at], name=f"{output.name}_copy"
            )
        given.append(id(outputs[position]))
    func = te.create_prim_func([*(tensor for _, tensor in inputs), *outputs])
    op = function_op(func)
    assert op is not None, "create_prim_func gives an operation"
    # Nobody calls it from outside, so passes may fuse it and drop what is left.
    op.attributes["sym_visibility"] = ir.StringAttr.get("private", op.context)
    with op.context:
        for key, value in attrs.items():
            op.attributes[key if "." in key else f"tir.{key}"] = python_attribute(value)
    gvar = builder.add_func(func, name)
    symbols = _extra_symbols(op)
    types = [TensorType(tuple(output.shape), output.dtype) for output in outputs]
    return call_tir(
        gvar,
        Tuple([expr for expr, _ in inputs]),
        types if many else types[0],
        tir_vars=[SymExpr.var(symbol) for symbol in symbols] or None,
    )


def _extra_symbols(func: ir.Operation) -> list[str]:
    """Return the symbols that a prim func takes as integers after its buffers."""
    if "arg_attrs" not in func.attributes:
        return []
    result = []
    for argument, attributes in zip(
        func.regions[0].blocks[0].arguments, func.attributes["arg_attrs"], strict=True
    ):
        if str(argument.type) == "i64":
            result.append(ir.StringAttr(ir.DictAttr(attributes)["tir.name"]).value)
    return result
