"""Statements as trees: `tir.For(i, 0, 8, tir.ForKind.SERIAL, body)`.

A tree is Python's until `tir.PrimFunc` writes it as operations of MLIR, which `tir.stmt_functor`
and `sch.get` show as views. `isinstance(x, tir.For)` holds for both.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.ops import LOOP_KINDS
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.expr import Param, Var
from relax_mlir.tir.scalar.axes import dims_of
from relax_mlir.tir.scalar.conversion import as_expr, condition
from relax_mlir.tir.scalar.dtypes import SIZE, checked
from relax_mlir.tir.scalar.nodes import ProducerLoad
from relax_mlir.tir.scalar.prim_expr import Leaf, PrimExpr

_STATEMENTS = "relax_mlir.tir.view.statements"


class ForKind:
    """The kinds of loops; a text such as `"parallel"` means the same."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"


class _ViewedAs(type):
    """Makes views of MLIR's operations instances of the class that trees have."""

    view: tuple[str, str] | None

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if cls.view is None:
            return False
        return isinstance(instance, getattr(importlib.import_module(cls.view[0]), cls.view[1]))


class Stmt(metaclass=_ViewedAs):
    """What a prim func does."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "Statement")


def statement(value: Any, where: str) -> Stmt:
    """Return a statement: one as it is, several of a list one after another.

    Raises:
        ExprTypeError: it is neither.
    """
    if isinstance(value, (list, tuple)):
        return SeqStmt(value)
    if not type.__instancecheck__(Stmt, value):
        made = "; tir.Evaluate(...) makes one of a call" if isinstance(value, PrimExpr) else ""
        raise ExprTypeError(f"{where} is a statement, got {value!r}{made}")
    return value


def _variable(value: Any, where: str) -> Any:
    if isinstance(value, Leaf) or getattr(value, "name", None) is not None:
        return value
    raise ExprTypeError(f"{where} is a variable, tir.Var('i'), got {value!r}")


@dataclass(eq=False)
class SeqStmt(Stmt):
    """Statements one after another."""

    view: ClassVar[tuple[str, str] | None] = None
    seq: Sequence[Stmt]

    def __post_init__(self) -> None:
        if not isinstance(self.seq, (list, tuple)):
            raise ExprTypeError(f"tir.SeqStmt takes a list of statements, got {self.seq!r}")
        self.seq = [statement(each, f"part {i} of tir.SeqStmt") for i, each in enumerate(self.seq)]


@dataclass(eq=False)
class For(Stmt):
    """A loop over `extent` values from `min` on."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "For")
    loop_var: Any
    min: Any
    extent: Any
    kind: str
    body: Any
    thread_binding: Any = None
    annotations: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.loop_var = _variable(self.loop_var, "loop_var of tir.For")
        self.body = statement(self.body, "body of tir.For")
        if self.thread_binding is not None:
            raise ExprError("tir.For: threads of GPUs have no lowering, leave thread_binding out")
        if self.kind not in LOOP_KINDS:
            raise ExprError(
                f"kind of tir.For is tir.ForKind.SERIAL or another of {', '.join(LOOP_KINDS)}, "
                f"got {self.kind!r}"
            )


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
        return BufferLoad(self, list(indices) if isinstance(indices, tuple) else [indices])

    vload = __getitem__

    def __iter__(self) -> Any:
        raise ExprTypeError(f"buffer '{self.name}' is read by its indices, not as a sequence")

    def vstore(self, indices: Any, value: Any) -> Any:
        """Return the statement that stores an element."""
        return BufferStore(self, value, list(indices) if isinstance(indices, tuple) else [indices])


def is_buffer_var(var: object) -> bool:
    """Whether something is a buffer, or the parameter of a prim func that points to one."""
    return isinstance(var, Buffer) or (isinstance(var, Param) and var.dtype == "handle")


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


@dataclass(eq=False)
class BufferStore(Stmt):
    """`buffer[indices] = value`; a Python number takes the buffer's dtype."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "BufferStore")
    buffer: Buffer
    value: Any
    indices: Sequence[Any]

    def __post_init__(self) -> None:
        self.indices = _indices("tir.BufferStore", self.buffer, self.indices)
        self.value = as_expr(self.value, self.buffer.dtype)
        if self.value.dtype != self.buffer.dtype:
            raise ExprTypeError(
                f"tir.BufferStore: buffer '{self.buffer.name}' holds {self.buffer.dtype}, got a "
                f"value of {self.value.dtype}: tir.Cast('{self.buffer.dtype}', value)"
            )


class BufferLoad(ProducerLoad, metaclass=_ViewedAs):
    """One element of a buffer: `A[i, j]` or `tir.BufferLoad(A, [i, j])`."""

    __slots__ = ()
    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "BufferLoad")

    def __init__(self, buffer: Buffer, indices: Sequence[Any]) -> None:
        super().__init__(buffer, _indices("tir.BufferLoad", buffer, indices))

    @property
    def buffer(self) -> Buffer:
        """What it reads from."""
        return self.producer


def _indices(what: str, buffer: Any, given: Any) -> list[PrimExpr]:
    if not isinstance(buffer, Buffer):
        raise ExprTypeError(
            f"{what} takes a buffer, tir.decl_buffer((8,), name='A'), got {buffer!r}"
        )
    if not isinstance(given, (list, tuple)):
        raise ExprTypeError(f"{what} takes a list of indices, [i, j], got {given!r}")
    if len(given) != buffer.ndim:
        raise ExprError(
            f"{what}: buffer '{buffer.name}' has {buffer.ndim} dimensions, got {len(given)} indices"
        )
    result = [as_expr(each, SIZE) for each in given]
    for each in result:
        if "int" not in each.dtype:
            raise ExprTypeError(f"{what}: an index is an integer, got {each} of {each.dtype}")
    return result


@dataclass(eq=False)
class IfThenElse(Stmt):
    """One statement where a condition holds, else another or none."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "IfThenElse")
    condition: Any
    then_case: Any
    else_case: Any = None

    def __post_init__(self) -> None:
        self.condition = condition(self.condition, "tir.IfThenElse")
        self.then_case = statement(self.then_case, "then_case of tir.IfThenElse")
        if self.else_case is not None:
            self.else_case = statement(self.else_case, "else_case of tir.IfThenElse")


@dataclass(eq=False)
class While(Stmt):
    """A statement again and again while a condition holds."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "While")
    condition: Any
    body: Any

    def __post_init__(self) -> None:
        self.condition = condition(self.condition, "tir.While")
        self.body = statement(self.body, "body of tir.While")


@dataclass(eq=False)
class AssertStmt(Stmt):
    """An error with a message unless a condition holds; then the body."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "AssertStmt")
    condition: Any
    message: str
    body: Any = None

    def __post_init__(self) -> None:
        self.condition = condition(self.condition, "tir.AssertStmt")
        if not isinstance(self.message, str):
            raise ExprTypeError(f"message of tir.AssertStmt is a text, got {self.message!r}")
        if self.body is not None:
            self.body = statement(self.body, "body of tir.AssertStmt")


@dataclass(eq=False)
class LetStmt(Stmt):
    """A name for an integer that is computed once, for the body."""

    view: ClassVar[tuple[str, str] | None] = None
    var: Any
    value: Any
    body: Any

    def __post_init__(self) -> None:
        self.var = _variable(self.var, "var of tir.LetStmt")
        self.value = as_expr(self.value, SIZE)
        if "int" not in self.value.dtype:
            raise ExprTypeError(
                f"tir.LetStmt names an integer, got {self.value} of {self.value.dtype}; a "
                "tir.AllocBuffer of one element keeps other numbers"
            )
        self.body = statement(self.body, "body of tir.LetStmt")


@dataclass(eq=False)
class Evaluate(Stmt):
    """A call for what it does, `tir.call_extern(...)`."""

    view: ClassVar[tuple[str, str] | None] = None
    value: Any

    def __post_init__(self) -> None:
        self.value = as_expr(self.value)


@dataclass(eq=False)
class AllocBuffer(Stmt):
    """Memory for a buffer, for the body or for what follows in a `SeqStmt`."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "AllocBuffer")
    buffer: Buffer
    body: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.buffer, Buffer):
            raise ExprTypeError(
                f"tir.AllocBuffer takes a tir.decl_buffer(...), got {self.buffer!r}"
            )
        if self.body is not None:
            self.body = statement(self.body, "body of tir.AllocBuffer")


class IterVar:
    """An iterator of a block: what it runs over, its variable, and its kind.

    Attributes:
        dom: `(begin, end)`, of which the begin is 0, or an `ir.Range`.
        var: a `tir.Var` or the name of one.
        iter_type: `spatial`, `reduction`, `scan` or `opaque`, or TVM's number of it.
    """

    DataPar, CommReduce, Ordered = 0, 2, 3
    _KINDS: Mapping[Any, str] = {0: "spatial", 2: "reduction", 3: "scan", 4: "opaque"}

    def __init__(self, dom: Any, var: Any, iter_type: Any) -> None:
        self.var: Any = Var(var) if isinstance(var, str) else _variable(var, "var of tir.IterVar")
        self.iter_type: str = self._KINDS.get(iter_type, iter_type)
        if self.iter_type not in self._KINDS.values():
            raise ExprError(
                f"iter_type of tir.IterVar is one of {', '.join(self._KINDS.values())}, got "
                f"{iter_type!r}"
            )
        low, extent = (dom.min, dom.extent) if hasattr(dom, "extent") else (dom[0], dom[1] - dom[0])
        if low != 0:
            raise ExprError(f"an iterator of a block begins at 0, got {low}")
        self.extent = extent


@dataclass(eq=False)
class Block(Stmt):
    """A block: iterators, what it does for each of their values, and what it does first."""

    view: ClassVar[tuple[str, str] | None] = (_STATEMENTS, "Block")
    iter_vars: Sequence[IterVar]
    reads: Any
    writes: Any
    name_hint: str
    body: Any
    init: Any = None
    alloc_buffers: Sequence[Buffer] = ()
    match_buffers: Sequence[Any] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.iter_vars:
            if not isinstance(each, IterVar):
                raise ExprTypeError(f"iter_vars of tir.Block are tir.IterVar(...), got {each!r}")
        self.body = statement(self.body, "body of tir.Block")
        if self.init is not None:
            self.init = statement(self.init, "init of tir.Block")
        if self.match_buffers:
            raise ExprError("tir.Block: a script's T.match_buffer makes a part of a buffer another")


@dataclass(eq=False)
class BlockRealize(Stmt):
    """A block with what its iterators are, where a condition holds."""

    view: ClassVar[tuple[str, str] | None] = None
    iter_values: Sequence[Any]
    predicate: Any
    block: Block

    def __post_init__(self) -> None:
        if not type.__instancecheck__(Block, self.block):
            raise ExprTypeError(f"block of tir.BlockRealize is a tir.Block, got {self.block!r}")
        if len(self.iter_values) != len(self.block.iter_vars):
            raise ExprError(
                f"tir.BlockRealize: block '{self.block.name_hint}' has "
                f"{len(self.block.iter_vars)} iterators, got {len(self.iter_values)} values"
            )
        self.predicate = condition(self.predicate, "predicate of tir.BlockRealize")


def stmt_seq(*args: Any) -> Stmt:
    """Return statements one after another."""
    return SeqStmt(args)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a `SeqStmt`, those of one in it too; of another it alone."""
    if not isinstance(stmt, SeqStmt):
        return [statement(stmt, "stmt of stmt_list")]
    return [each for part in stmt.seq for each in stmt_list(part)]
