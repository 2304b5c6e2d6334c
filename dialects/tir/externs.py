"""Calls of C functions in a prim func under construction."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.buffer import Buffer
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, scalar_type

# How the functions begin that stand for packed functions in generated code.
PACKED_PREFIX = "relax_packed_"

HANDLE = "handle"


def call_extern(
    callee: str, args: Sequence["Scalar | Buffer | ir.Value"], dtype: str
) -> Scalar | None:
    """Call a C function at the current insertion point.

    Args:
        callee: its name, a C identifier.
        args: numbers, an index as 64 bits; buffers and memrefs by the address of their data.
        dtype: of the result, `""` for none.
    """
    given = [_passed(each) for each in args]
    packed = ir.Operation.create(
        "builtin.unrealized_conversion_cast",
        operands=[value for value, _ in given],
        results=[ir.TupleType.get_tuple([value.type for value, _ in given])],
    )
    attributes: dict[str, ir.Attribute] = {
        "callee": ir.StringAttr.get(callee),
        "dtypes": ir.ArrayAttr.get([ir.StringAttr.get(each) for _, each in given]),
    }
    if dtype:
        attributes["dtype"] = ir.StringAttr.get(dtype)
    op = ir.Operation.create(
        "tir.call_extern",
        operands=[packed.result],
        results=[scalar_type(dtype)] if dtype else [],
        attributes=attributes,
    )
    return Scalar(op.result, dtype) if dtype else None


def call_packed(
    callee: str, args: Sequence["Scalar | Buffer | ir.Value | str"], dtype: str
) -> Scalar:
    """Call a function of the registry of packed functions at the current insertion point.

    Args:
        callee: its name there.
        args: numbers, buffers (it gets tensors over the same memory), strings.
        dtype: of the number that it returns; nothing at all counts as 0.
    """
    given = [None if isinstance(each, str) else _passed(each) for each in args]
    operands = [each[0] for each in given if each is not None]
    packed = ir.Operation.create(
        "builtin.unrealized_conversion_cast",
        operands=operands,
        results=[ir.TupleType.get_tuple([value.type for value in operands])],
    )
    # A string is a list of itself among the dtypes of the others.
    kinds = [
        ir.ArrayAttr.get([ir.StringAttr.get(str(arg))]) if each is None
        else ir.StringAttr.get(each[1] if each[1] != HANDLE else _dtype(arg))
        for arg, each in zip(args, given, strict=True)
    ]  # fmt: skip
    op = ir.Operation.create(
        "tir.call_packed",
        operands=[packed.result],
        results=[scalar_type(dtype)],
        attributes={
            "callee": ir.StringAttr.get(callee),
            "dtypes": ir.ArrayAttr.get(kinds),
            "dtype": ir.StringAttr.get(dtype),
        },
    )
    return Scalar(op.result, dtype)


def _dtype(value: "Scalar | Buffer | ir.Value | str") -> str:
    if not isinstance(value, Buffer):
        raise TypeError(f"a packed function takes buffers, numbers and strings, got {value}")
    return value.dtype


def _passed(value: "Scalar | Buffer | ir.Value") -> tuple[ir.Value, str]:
    if isinstance(value, Scalar):
        return value.value, "int64" if value.dtype == INDEX else value.dtype
    return value.value if isinstance(value, Buffer) else value, HANDLE
