"""Tensors, axes and the operations that make tensors, as TVM's te has them."""

from collections.abc import Iterator, Sequence
from typing import Any

from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.tir.scalar.axes import Dim, IterVar
from relax_mlir.tir.scalar.conversion import as_expr
from relax_mlir.tir.scalar.dtypes import SIZE, is_float
from relax_mlir.tir.scalar.nodes import ProducerLoad, nodes_of
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr


def named(name: Any, where: str) -> str:
    """Return the name of a stage.

    Raises:
        ExprTypeError: it is no string.
    """
    if not isinstance(name, str):
        raise ExprTypeError(f"{where}: the name of a stage is a string, got {name!r}")
    return name


def listed(tensors: Any, where: str) -> list[Any]:
    """Return a list of tensors as one.

    Raises:
        ExprTypeError: it is none, such as a tensor alone.
    """
    if isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__"):
        raise ExprTypeError(f"{where} takes a list of tensors, [A, B], got {tensors!r}")
    return list(tensors)


class Tensor:
    """A tensor of a tensor expression: indexed it is a scalar, with operators elementwise.

    Attributes:
        shape: integers and symbolic integers.
        dtype: name of its dtype.
        op: what makes it.
        value_index: which of the results of `op` it is.
        relax_expr: the Relax expression that it stands for, if any.
    """

    __slots__ = ("__weakref__", "dtype", "op", "relax_expr", "shape", "value_index")

    shape: tuple[Dim, ...]
    dtype: str
    op: "Operation"
    value_index: int

    def __init__(
        self, shape: Sequence[Dim], dtype: str, op: "Operation", value_index: int = 0
    ) -> None:
        self.shape, self.dtype, self.op, self.value_index = tuple(shape), dtype, op, value_index
        self.relax_expr: Any = None

    @property
    def name(self) -> str:
        """Its name: the operation's, numbered where that has several results."""
        own = self.op.names
        return own[self.value_index] if own else self.op.name

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def __call__(self, *indices: Any) -> PrimExpr:
        """Return one element."""
        return self[indices]

    def __getitem__(self, indices: Any) -> PrimExpr:
        """Return one element.

        Raises:
            ExprError: as many indices as dimensions are needed; a constant one is outside.
            ExprTypeError: an index is no integer.
        """
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != self.ndim:
            raise ExprError(
                f"'{self.name}' has {self.ndim} dimensions, it is indexed with {len(items)}; all "
                "indices stand in one pair of brackets, A[i, j]"
            )
        return ProducerLoad(self, [self._index(*pair) for pair in enumerate(items)])

    def _index(self, position: int, item: Any) -> PrimExpr:
        if isinstance(item, slice):
            raise ExprTypeError(
                f"'{self.name}' is read one element at a time; topi.strided_slice takes slices"
            )
        index = as_expr(item, SIZE)
        if is_float(index.dtype) or index.dtype == "bool":
            raise ExprTypeError(
                f"index {position} of '{self.name}' must be an integer, got {index!r} of "
                f"{index.dtype}; cast it"
            )
        if isinstance(index, IntImm):
            dim = self.shape[position]
            if index.value < 0 or (isinstance(dim, int) and index.value >= dim):
                raise ExprError(
                    f"index {index.value} is outside of dimension {position} of '{self.name}', "
                    f"which has {dim} elements"
                )
        return index

    def __iter__(self) -> Iterator[Any]:
        raise ExprTypeError(f"'{self.name}' is a tensor: it has no elements yet to iterate over")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, op.name={self.name})"


class Operation:
    """What makes tensors.

    Attributes:
        name: of the stage.
        names: of the tensors, where there are several.
    """

    names: list[str]

    def __init__(self, name: str, shapes: Sequence[Sequence[Dim]], dtypes: Sequence[str]) -> None:
        self.name = name
        self.names = [f"{name}_{i}" for i in range(len(dtypes))] if len(dtypes) > 1 else []
        pairs = zip(shapes, dtypes, strict=True)
        self.outputs: list[Tensor] = [
            Tensor(shape, dtype, self, i) for i, (shape, dtype) in enumerate(pairs)
        ]

    def output(self, index: int) -> Tensor:
        """Return one of the tensors."""
        return self.outputs[index]

    @property
    def num_outputs(self) -> int:
        """How many tensors it makes."""
        return len(self.outputs)

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that it reads, in the order in which it first does."""
        return []


class PlaceholderOp(Operation):
    """An input."""


class ComputeOp(Operation):
    """A stage that computes each element of its outputs from an expression.

    Attributes:
        axis: the axes of the outputs.
        reduce_axis: the axes that are reduced over.
        body: an expression for each output.
        tag: free for use.
        attrs: free for use.
    """

    axis: list[IterVar]
    body: list[PrimExpr]
    tag: str

    def __init__(
        self, name: str, shape: Sequence[Dim], axis: Sequence[IterVar], body: Sequence[PrimExpr],
        tag: str, attrs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, [shape] * len(body), [expr.dtype for expr in body])
        self.axis, self.body, self.tag = list(axis), list(body), tag
        self.attrs: dict[str, Any] = attrs or {}
        self._inputs: list[Tensor] | None = None

    @property
    def reduce_axis(self) -> list[IterVar]:
        """The axes that are reduced over."""
        reduction = getattr(self.body[0], "reduction", None)
        return list(reduction.axis) if reduction is not None else []

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that it reads, in the order in which it first does."""
        if self._inputs is None:
            tensors = {
                id(node.producer): node.producer
                for node in nodes_of(self.body)
                if isinstance(node, ProducerLoad)
            }
            self._inputs = list(tensors.values())
        return self._inputs


class ExternOp(Operation):
    """A stage written with loops and stores instead of one expression.

    Attributes:
        inputs: the tensors that it reads.
        write: from input buffers and output buffers writes the stage.
        writes_blocks: whether that writes blocks of its own, which schedules and kernels see;
            else all of it is one block.
    """

    inputs: list[Tensor]
    write: Any
    tag: str

    def __init__(
        self, name: str, shapes: Sequence[Sequence[Dim]], dtypes: Sequence[str],
        inputs: Sequence[Tensor], write: Any, tag: str, attrs: Any, writes_blocks: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, shapes, dtypes)
        self.inputs, self.write, self.tag = list(inputs), write, tag
        self.attrs: dict[str, Any] = attrs or {}
        self.writes_blocks = writes_blocks

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that it reads."""
        return self.inputs


def _elementwise(name: str, reflected: bool = False) -> Any:
    def method(self: Tensor, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return getattr(extension("te.operators"), name)(*operands)

    return method


def _negated(self: Tensor) -> Any:
    return extension("te.operators").negative(self)


setattr(Tensor, "__neg__", _negated)  # noqa: B010
for _operator, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "floor_mod",
}.items():  # fmt: skip
    setattr(Tensor, f"__{_operator}__", _elementwise(_name))
    setattr(Tensor, f"__r{_operator}__", _elementwise(_name, reflected=True))
