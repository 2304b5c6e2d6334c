"""Parameters of prim funcs under TVM's interface."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.expr import Param
from relax_mlir.tir.stmt import Buffer


def parameters(func: ir.Operation) -> list[tuple[Param, Buffer | None]]:
    """Return the parameters of a prim func in order, each with its buffer, None for a number."""
    result: list[tuple[Param, Buffer | None]] = []
    arguments = func.regions[0].blocks[0].arguments
    notes: list[Any] = [{}] * len(arguments)
    if "arg_attrs" in func.attributes:
        notes = [ir.DictAttr(each) for each in func.attributes["arg_attrs"]]
    for position, (argument, attributes) in enumerate(zip(arguments, notes, strict=True)):
        given = {
            key: ir.StringAttr(attributes[f"tir.{key}"]).value
            for key in ("name", "dtype")
            if f"tir.{key}" in attributes
        }
        name = given.get("name", f"arg{position}")
        if "tir.shape" not in attributes:
            result.append((Param(name, given.get("dtype", str(argument.type))), None))
            continue
        dims = attributes["tir.shape"].dims
        shape = tuple(dim if dim.value is None else dim.value for dim in dims)
        dtype = given.get("dtype", "")
        result.append((Param(name, "handle"), Buffer(name, shape, dtype)))
    return result
