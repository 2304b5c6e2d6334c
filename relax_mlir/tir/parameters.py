"""The parameters of a prim func, as people who know TVM look at them."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.tir.axes import dims_of
from relax_mlir.tir.dtypes import checked


@dataclass(frozen=True)
class Param:
    """A parameter: `handle` is the dtype of one that is a buffer."""

    name: str
    dtype: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Buffer:
    """What a parameter points to.

    Attributes:
        name: of the buffer.
        shape: integers, and symbolic ones.
        dtype: of its elements.
        scope: its storage scope.
    """

    name: str
    shape: tuple[int | SymExpr, ...]
    dtype: str
    scope: str = "global"

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        """Return an element as an expression, for statements of `tir.PrimFunc`."""
        from relax_mlir.tir.stmt import BufferLoad

        return BufferLoad(self, list(indices) if isinstance(indices, tuple) else [indices])

    vload = __getitem__

    def __iter__(self) -> Any:
        raise ExprTypeError(f"buffer '{self.name}' is read by its indices, not as a sequence")

    def vstore(self, indices: Any, value: Any) -> Any:
        """Return the statement that stores an element."""
        from relax_mlir.tir.stmt import BufferStore

        return BufferStore(self, value, list(indices) if isinstance(indices, tuple) else [indices])


def decl_buffer(shape: Any, dtype: str = "float32", name: str = "buffer") -> Buffer:
    """Return the description of a buffer, as `PrimFunc.specialize` takes it.

    Args:
        shape: integers and symbolic ones.
        dtype: of its elements.
        name: of the buffer.

    Raises:
        ExprTypeError: an element of the shape is no size.
        ExprError: there is no such dtype, or a size is negative.
    """
    return Buffer(name, dims_of(shape, f"tir.decl_buffer '{name}'"), checked(dtype))


def parameters(func: ir.Operation) -> list[tuple[Param, Buffer | None]]:
    """Return the parameters of a prim func in order, each with its buffer, None for a number."""
    found: list[tuple[Param, Buffer | None]] = []
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
            found.append((Param(name, given.get("dtype", str(argument.type))), None))
            continue
        dims = attributes["tir.shape"].dims
        shape = tuple(dim if dim.value is None else dim.value for dim in dims)
        dtype = given.get("dtype", "")
        found.append((Param(name, "handle"), Buffer(name, shape, dtype)))
    return found
