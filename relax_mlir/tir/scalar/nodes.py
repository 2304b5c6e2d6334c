"""Composite scalar expressions: operations, calls, loads, reductions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.tir.scalar.conversion import Cast, matched
from relax_mlir.tir.scalar.conversion import condition as checked_condition
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.prim_expr import PrimExpr


class BinaryExpr(PrimExpr):
    """An operation on two numbers of one dtype.

    Attributes:
        KIND: what the dialect calls it.
        SIGN: how it prints.
        OF_SIZES: the method of a symbolic size that it is, `""` where it is none.
    """

    __slots__ = ("a", "b")
    KIND = ""
    SIGN = ""
    OF_SIZES: ClassVar[str] = ""

    a: PrimExpr
    b: PrimExpr

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = matched(a, b)
        self.dtype: str = self._result()

    def _result(self) -> str:
        if self.a.dtype == "bool":
            # Sums of bools are counts, as for the C++ that TVM makes.
            self.a, self.b = Cast("int32", self.a), Cast("int32", self.b)
        return self.a.dtype

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return self.a, self.b

    def as_size(self) -> SymExpr | None:
        """Return the size that this is of two sizes."""
        a, b = self.a.as_size(), self.b.as_size()
        if not self.OF_SIZES or self.dtype != SIZE or a is None or b is None:
            return None
        try:
            return getattr(a, self.OF_SIZES)(b)
        except (ZeroDivisionError, ValueError):
            return None

    def __repr__(self) -> str:
        if self.SIGN.isalpha():
            return f"{self.SIGN}({self.a!r}, {self.b!r})"
        return f"({self.a!r} {self.SIGN} {self.b!r})"


class Add(BinaryExpr):
    """`a + b`."""

    __slots__ = ()
    KIND, SIGN = "add", "+"
    OF_SIZES = "__add__"


class Sub(BinaryExpr):
    """`a - b`."""

    __slots__ = ()
    KIND, SIGN = "sub", "-"
    OF_SIZES = "__sub__"


class Mul(BinaryExpr):
    """`a * b`."""

    __slots__ = ()
    KIND, SIGN = "mul", "*"
    OF_SIZES = "__mul__"


class Div(BinaryExpr):
    """The quotient, of integers towards zero."""

    __slots__ = ()
    KIND, SIGN = "div", "/"


class Mod(BinaryExpr):
    """The remainder of `Div`."""

    __slots__ = ()
    KIND, SIGN = "truncmod", "truncmod"


class FloorDiv(BinaryExpr):
    """The quotient rounded down."""

    __slots__ = ()
    KIND, SIGN = "floordiv", "//"
    OF_SIZES = "__floordiv__"


class FloorMod(BinaryExpr):
    """The remainder of `FloorDiv`."""

    __slots__ = ()
    KIND, SIGN = "mod", "%"
    OF_SIZES = "__mod__"


class _KeepsBool(BinaryExpr):
    __slots__ = ()

    def _result(self) -> str:
        return self.a.dtype


class Min(_KeepsBool):
    """The smaller."""

    __slots__ = ()
    KIND, SIGN = "min", "min"
    OF_SIZES = "min"


class Max(_KeepsBool):
    """The larger."""

    __slots__ = ()
    KIND, SIGN = "max", "max"
    OF_SIZES = "max"


class CmpExpr(BinaryExpr):
    """A comparison: a bool."""

    __slots__ = ()

    def _result(self) -> str:
        return "bool"


class LT(CmpExpr):
    """`a < b`."""

    __slots__ = ()
    KIND, SIGN = "lt", "<"


class LE(CmpExpr):
    """`a <= b`."""

    __slots__ = ()
    KIND, SIGN = "le", "<="


class GT(CmpExpr):
    """`a > b`."""

    __slots__ = ()
    KIND, SIGN = "gt", ">"


class GE(CmpExpr):
    """`a >= b`."""

    __slots__ = ()
    KIND, SIGN = "ge", ">="


class EQ(CmpExpr):
    """`a == b`; as a truth value, whether both are the same expression."""

    __slots__ = ()
    KIND, SIGN = "eq", "=="

    def __bool__(self) -> bool:
        return self.a is self.b


class NE(CmpExpr):
    """`a != b`; as a truth value, whether the two are different expressions."""

    __slots__ = ()
    KIND, SIGN = "ne", "!="

    def __bool__(self) -> bool:
        return self.a is not self.b


class And(CmpExpr):
    """Whether both bools hold."""

    __slots__ = ()
    KIND, SIGN = "and", "and"


class Or(CmpExpr):
    """Whether one of two bools holds."""

    __slots__ = ()
    KIND, SIGN = "or", "or"


class Not(PrimExpr):
    """Whether a bool does not hold."""

    __slots__ = ("a",)

    a: PrimExpr

    def __init__(self, a: Any) -> None:
        self.a: PrimExpr = checked_condition(a, "tir.Not")
        self.dtype: str = "bool"

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return (self.a,)

    def __repr__(self) -> str:
        return f"(not {self.a!r})"


class Select(PrimExpr):
    """One of two numbers, both of which are evaluated."""

    __slots__ = ("condition", "false_value", "true_value")

    true_value: PrimExpr
    false_value: PrimExpr

    def __init__(self, condition: Any, true_value: Any, false_value: Any) -> None:
        self.condition: PrimExpr = checked_condition(condition, type(self).__name__)
        self.true_value, self.false_value = matched(true_value, false_value)
        self.dtype: str = self.true_value.dtype

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return self.condition, self.true_value, self.false_value

    def __repr__(self) -> str:
        values = f"{self.condition!r}, {self.true_value!r}, {self.false_value!r}"
        return f"{type(self).__name__}({values})"


class IfThenElse(Select):
    """One of two numbers, of which only that one is evaluated: it may guard a load."""

    __slots__ = ()


class Call(PrimExpr):
    """A function of the table of intrinsics, applied.

    Attributes:
        op: its name there.
        args: what it is applied to.
        attrs: numbers that are not expressions.
    """

    __slots__ = ("args", "attrs", "op")

    op: str
    args: tuple[PrimExpr, ...]
    attrs: dict[str, Any] | None

    def __init__(
        self, dtype: str, op: str, args: Sequence[PrimExpr], attrs: dict[str, Any] | None = None
    ) -> None:
        self.dtype: str = dtype
        self.op, self.args, self.attrs = op, tuple(args), attrs

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return self.args

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"


class ProducerLoad(PrimExpr):
    """One element of a tensor.

    Attributes:
        producer: the tensor.
        indices: one for each dimension.
    """

    __slots__ = ("indices", "producer")

    producer: Any
    indices: tuple[PrimExpr, ...]

    def __init__(self, producer: Any, indices: Sequence[PrimExpr]) -> None:
        if not hasattr(producer, "dtype") or not isinstance(indices, (list, tuple)):
            raise ExprTypeError(
                f"tir.ProducerLoad takes a te.Tensor and its indices, got {producer!r} and "
                f"{indices!r}; A[i, j] makes one"
            )
        self.producer, self.indices = producer, tuple(indices)
        self.dtype: str = producer.dtype

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return self.indices

    def __repr__(self) -> str:
        return f"{self.producer.name}[{', '.join(map(repr, self.indices))}]"


class Reduce(PrimExpr):
    """One of the values that a reduction gives; only the whole body of a stage can be one.

    Attributes:
        reduction: what is common to its values.
        value_index: which one it is.
    """

    __slots__ = ("reduction", "value_index")

    reduction: Any
    value_index: int

    def __init__(self, reduction: Any, value_index: int) -> None:
        self.reduction, self.value_index = reduction, value_index
        self.dtype: str = reduction.source[value_index].dtype

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """Nothing: what is inside is reduced over, not evaluated in place."""
        return ()

    def __repr__(self) -> str:
        axes = ", ".join(axis.name for axis in self.reduction.axis)
        source = self.reduction.source[self.value_index]
        return f"{self.reduction.combiner.name}({source!r}, axis=[{axes}])"


def nodes_of(roots: Iterable[PrimExpr]) -> Iterator[PrimExpr]:
    """Yield every expression inside of expressions once, in the order of reading."""
    seen: set[int] = set()
    pending = list(roots)[::-1]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        inside = node.reduction.parts if isinstance(node, Reduce) else node.operands
        pending += inside[::-1]
