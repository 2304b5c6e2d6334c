"""Functions in functions: `relax.lambda` with the function's body as its region."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.errors import ExprError, wrong_count
from relax_mlir.relax.builder.frames import Frame, bind_symbols
from relax_mlir.relax.expr.functions import Function
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import defining_op, terminator

LAMBDA = "relax.lambda"


def make_lambda(
    builder: Any, func: Function, loc: ir.Location, own: Var | None = None
) -> ir.Operation:
    """Create the `relax.lambda` of a function that Python built; it sees the scopes around it.

    Args:
        builder: the builder, in the scope where the function is written.
        func: the function.
        loc: its place, named as the variable that it is bound to.
        own: the variable by which the body calls the function itself, None where it does not.

    Raises:
        BuilderError: the body uses a variable that means nothing there.
        ExprError: no run could compute the body, or a parameter has no type.
    """
    frame = builder._frame()
    with builder.unknown:
        attributes = {"recursive": ir.UnitAttr.get()} if own is not None else {}
        op = ir.Operation.create(
            LAMBDA, results=[T.object_type()], attributes=attributes, regions=1, loc=loc,
            ip=frame.ip,
        )  # fmt: skip
    block = op.regions[0].blocks.append()
    inner = Frame(builder, "lambda", [block], ir.InsertionPoint(block), frame.names, op)
    inner.symbols = None if frame.symbols is None else set(frame.symbols)
    builder._push(inner)
    try:
        if own is not None:
            value = block.add_argument(op.result.type, loc)
            own._value, own._frame, own._keep = value, inner, builder._keep
        for param in func.params:
            builder._add_parameter(inner, param)
        bind_symbols(inner, [argument.type for argument in block.arguments])
        value = builder.materialize(builder._sequence(func.body))
        ir.Operation.create("relax.yield", operands=[value], loc=loc, ip=inner.ip)
    except BaseException:
        builder._close(inner)
        op.erase()
        raise
    builder._close(inner)
    return op


def lambda_of(value: ir.Value) -> ir.Operation | None:
    """Return the `relax.lambda` that a function value is, None where that is not known."""
    op = defining_op(value)
    return op if op is not None and op.name == LAMBDA else None


def result_type(op: ir.Operation, operands: list[ir.Value]) -> ir.Type:
    """Return what a call of a `relax.lambda` gives.

    Raises:
        ExprError: the arguments do not fit the function.
    """
    from relax_mlir.script.relax_parser.calls import instantiate

    block = op.regions[0].blocks[0]
    types = [argument.type for argument in block.arguments]
    types = types[1:] if "recursive" in op.attributes else types
    given = [operand.type for operand in operands]
    if len(types) != len(given):
        raise ExprError(wrong_count("the function", len(types), len(given)))
    for index, (parameter, argument) in enumerate(zip(types, given, strict=True)):
        if not compatible(parameter, argument, same_symbols=False):
            raise ExprError(
                f"argument {index} of the function must be {describe(parameter)}, "
                f"got {describe(argument)}"
            )
    end = terminator(block)
    assert end is not None, "it is complete"
    return instantiate(end.operands[0].type, types, given)
