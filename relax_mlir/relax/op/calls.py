"""Calls that are no computation of the table: prim funcs, packed functions, closures."""

import operator
from collections.abc import Iterable
from typing import Any

from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.dims import as_dim
from relax_mlir.relax.expr.functions import PrimFunc
from relax_mlir.relax.expr.leaves import ExternFunc, GlobalVar
from relax_mlir.relax.expr.types import ObjectType, ShapeType, TensorType, TupleType, Type, as_type
from relax_mlir.relax.expr.values import ShapeExpr, StringImm, Tuple, convert


def call_tir(
    gvar: Any, args: Any, out_sinfo: Any = None, tir_vars: Any = None, *, out_ty: Any = None
) -> Call:
    """Return a call of a prim func: allocate outputs, call, give the outputs.

    Args:
        gvar: a GlobalVar or its name, or the prim func itself, which is added to the module.
        args: a tensor, or a sequence or tuple of tensors.
        out_sinfo: type of the output, a list of types for several.
        out_ty: the same under TVM 0.27's name.
        tir_vars: symbolic integers that the prim func takes after its outputs.

    Raises:
        ExprTypeError: an output is no tensor, or something is of a wrong kind.
        ExprError: the shape of an output is not known.
    """
    if isinstance(gvar, str):
        gvar = GlobalVar(gvar)
    if not isinstance(gvar, (GlobalVar, PrimFunc)):
        raise ExprTypeError(f"call_tir calls a prim func or its GlobalVar, got {gvar!r}")
    return _destination("relax.call_tir", gvar, args, out_sinfo or out_ty, tir_vars)


def call_tir_with_grad(
    gvar: Any, args: Any, out_sinfo: Any = None, te_grad_name: str = "",
    te_grad_kwargs: dict[str, Any] | None = None, tir_vars: Any = None, *, out_ty: Any = None,
) -> Call:  # fmt: skip
    """Return a `call_tir` that says which te function computes its gradient.

    Args:
        gvar: the prim func, a GlobalVar or its name.
        args: a tensor, or a sequence or tuple of tensors.
        out_sinfo: type of the output, a list of types for several.
        te_grad_name: the name of that function; nothing here calls it.
        te_grad_kwargs: what it is given by keyword.
        tir_vars: symbolic integers that the prim func takes after its outputs.
        out_ty: `out_sinfo` under TVM 0.27's name.

    Raises:
        ExprTypeError: an output is no tensor, or something is of a wrong kind.
        ExprError: the shape of an output is not known, or there is no name.
    """
    if not te_grad_name:
        raise ExprError("call_tir_with_grad needs argument 'te_grad_name'")
    call = call_tir(gvar, args, out_sinfo, tir_vars, out_ty=out_ty)
    gradient = {"te_grad_name": te_grad_name, "te_grad_kwargs": dict(te_grad_kwargs or {})}
    attrs = {**call.attrs, **{key: value for key, value in gradient.items() if value}}
    return Call(call.op, call.args, attrs, call.ty_args)


def call_tir_dyn(shape: Any, func: Any, inputs: Any, symbolic_vars: Any) -> Call:
    """Return `call_tir` with symbolic integers after the outputs, as the design document has it.

    Args:
        shape: dimensions of the output, whose dtype is that of the first input. Or, as for
            `call_tir`, the prim func, and then its inputs and the type of the output.
        func: the prim func, a GlobalVar or its name.
        inputs: a tensor, or a sequence or tuple of tensors.
        symbolic_vars: the integers, a `ShapeExpr` or a sequence.

    Raises:
        ExprTypeError: something is of a wrong kind.
        ExprError: the dtype of the output is not known.
    """
    if isinstance(shape, (GlobalVar, str)):
        return call_tir(shape, func, inputs, symbolic_vars)
    return call_tir(func, inputs, output_of(shape, inputs), symbolic_vars)


def output_of(shape: Any, inputs: Any, dtype: Any = None) -> TensorType:
    """Return the type of an output of a shape, and of the first input's dtype where none is said.

    Raises:
        ExprTypeError: there is no tensor to take it from.
    """
    if dtype is None:
        given = convert(inputs)
        first = given.fields[0] if isinstance(given, Tuple) and given.fields else given
        dtype = first.dtype
    return TensorType(shape, dtype)


def call_tir_inplace(
    gvar: Any, args: Any, inplace_indices: Any, out_sinfo: Any = None, tir_vars: Any = None,
    *, out_ty: Any = None,
) -> Call:  # fmt: skip
    """Return `call_tir` whose outputs may take the place of arguments that are dead after it.

    Args:
        gvar: the prim func, a GlobalVar or its name.
        args: a tensor, or a sequence or tuple of tensors.
        inplace_indices: for each output the argument that it overwrites, -1 for a new tensor.
        out_sinfo: type of the output, a list of types for several.
        tir_vars: symbolic integers that the prim func takes after its outputs.
        out_ty: `out_sinfo` under TVM 0.27's name.

    Raises:
        ExprTypeError: an output is no tensor, or something is of a wrong kind.
        ExprError: the shape of an output is not known.
    """
    call = call_tir(gvar, args, out_sinfo or out_ty, tir_vars)
    return _inplace(call, "relax.call_tir_inplace", inplace_indices)


def call_inplace_packed(
    func: Any, *args: Any, inplace_indices: Any, sinfo_args: Any = None, ty_args: Any = None
) -> Call:
    """Return a call of a packed function that overwrites some arguments, and gives its result.

    Args:
        func: its name, or an ExternFunc.
        args: what it is given.
        inplace_indices: for each result the argument that it overwrites, -1 for a new value.
        sinfo_args: type of the result, any object when left out.
        ty_args: the same under TVM 0.27's name.
    """
    call = call_pure_packed(func, *args, sinfo_args=sinfo_args, ty_args=ty_args)
    return _inplace(call, "relax.call_inplace_packed", inplace_indices)


def _inplace(call: Call, op: str, indices: Any) -> Call:
    positions = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    attrs = {**call.attrs, "inplace_indices": [operator.index(index) for index in positions]}
    return Call(Op.get(op), call.args, attrs, call.ty_args)


def null_value() -> Call:
    """Return a call that gives nothing: what stands for state that there is none of."""
    return call_pure_packed("vm.builtin.null_value", sinfo_args=ObjectType())


def call_dps_packed(func: Any, args: Any, out_sinfo: Any = None, *, out_ty: Any = None) -> Call:
    """Return a call of a packed function that writes the outputs it is given.

    Raises:
        ExprTypeError: an output is no tensor, or something is of a wrong kind.
    """
    return _destination("relax.call_dps_packed", _extern(func), args, out_sinfo or out_ty, None)


def _destination(op: str, func: Expr, args: Any, out: Any, tir_vars: Any) -> Call:
    args = convert(args)
    if not isinstance(args.ty, TupleType):
        args = Tuple([args])
    if out is None:
        raise ExprError(f"{op.removeprefix('relax.')} needs the type of its output")
    types = [as_type(each) for each in out] if isinstance(out, (list, tuple)) else [as_type(out)]
    if len(types) == 1 and isinstance(types[0], TupleType):
        types = list(types[0].fields)
        out = types
    for type_ in types:
        if not isinstance(type_, TensorType):
            raise ExprTypeError(f"the output must be a tensor, got {type_}")
        if type_.shape is None:
            raise ExprError(f"the shape of the output must be known, got {type_}")
    many = isinstance(out, (list, tuple))
    attrs = {}
    if tir_vars is not None:
        attrs["tir_vars"] = [as_dim(each) for each in _values(tir_vars)]
    return Call(Op.get(op), [func, args], attrs, [TupleType(types)] if many else types)


def _values(shape: Any) -> Iterable[Any]:
    type_ = getattr(shape, "ty", None)
    if isinstance(type_, ShapeType):
        if type_.dims is None:
            raise ExprError("the symbolic integers of a call must be known expressions")
        return type_.dims
    return shape if isinstance(shape, (list, tuple)) else [shape]


def _extern(func: Any) -> ExternFunc:
    if isinstance(func, ExternFunc):
        return func
    if not isinstance(func, str):
        raise ExprTypeError(f"a packed function is called by its name, got {func!r}")
    return ExternFunc(func)


def _result(types: Any) -> list[Type]:
    if types is None:
        return [ObjectType()]
    return [as_type(each) for each in (types if isinstance(types, (list, tuple)) else [types])]


def call_packed(
    func: Any, *args: Any, sinfo_args: Any = None, ty_args: Any = None, **attrs: Any
) -> Call:
    """Return a call of a packed function that may do anything.

    Args:
        func: its name, or an ExternFunc.
        args: what it is given.
        sinfo_args: type of the result, any object when left out.
        ty_args: the same under TVM 0.27's name.
        attrs: attributes of the call, which passes may read; the function does not see them.
    """
    return Call(_extern(func), args, attrs, _result(sinfo_args or ty_args))


def call_pure_packed(
    func: Any, *args: Any, sinfo_args: Any = None, ty_args: Any = None, **attrs: Any
) -> Call:
    """Return a call of a packed function that the writer says has no effect."""
    operands = [_extern(func), *args]
    return Call(Op.get("relax.call_pure_packed"), operands, attrs, _result(sinfo_args or ty_args))


def print(*values: Any, format: str = "") -> Call:
    """Return a call that prints values when the program runs.

    Args:
        values: what to print.
        format: a text with places for them, as Python's `str.format` takes it; "" for none.
    """
    return call_packed("vm.builtin.print", *values, *_message(format))


def assert_op(condition: Any, format_args: Any = None, format: str = "") -> Call:
    """Return a call that ends the program by an AssertOpError unless a condition holds.

    Args:
        condition: a scalar of bool.
        format_args: a value, or a list of them, that the message shows.
        format: the message, with places for them as for `print`.
    """
    values = format_args if isinstance(format_args, (list, tuple)) else [format_args]
    values = [] if format_args is None else values
    return call_packed("vm.builtin.assert_op", condition, *values, *_message(format))


def _message(text: str) -> list[StringImm]:
    return [StringImm(text)] if text else []


def call_builtin_with_ctx(func: Any, args: Any, *, ty_args: Any = None) -> Call:
    """Return a call of a builtin of the VM, which knows the machine that runs it.

    Args:
        func: its name, or an ExternFunc.
        args: a sequence, its arguments after the machine.
        ty_args: type of the result, any object when left out.
    """
    return call_packed(func, *args, ty_args=ty_args)


def shape_of(x: Any) -> Call:
    """Return the shape of a tensor as the program finds it when it runs."""
    x = convert(x)
    if not isinstance(x.ty, TensorType):
        raise ExprTypeError(f"only tensors have a shape, this is {x.ty}")
    return Call(Op.get("relax.shape_of"), [x])


def alloc_tensor(
    shape: Any, dtype: Any, runtime_device_index: int = 0, storage_scope: str = "global"
) -> Call:
    """Return a call that gives memory for a tensor, whose elements are not set.

    Args:
        shape: its dimensions, or an expression of a shape.
        dtype: its dtype.
        runtime_device_index: taken as TVM has it; programs run on one CPU.
        storage_scope: taken as TVM has it; there is one memory.
    """
    type_ = TensorType(shape, dtype)
    return Call(Op.get("relax.alloc_tensor"), [convert(shape)], {"dtype": type_.dtype}, [type_])


def make_closure(func: GlobalVar, args: Any) -> Call:
    """Return a function value: a function of the module with values for its last parameters."""
    return Call(Op.get("relax.make_closure"), [func, convert(args)], None, [ObjectType()])


def invoke_closure(closure: Any, args: Any, sinfo_args: Any = None) -> Call:
    """Return a call of a function value with a tuple of arguments."""
    args = convert(args)
    fields = args.fields if isinstance(args, Tuple) else [args]
    return Call(convert(closure), fields, None, _result(sinfo_args))


def shape(values: Any) -> ShapeExpr:
    """Return a shape as a value."""
    return ShapeExpr(values)
