"""`IndexMap`: how indices of one space become indices of another one."""

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.symbolic.parse import read_expression
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.schedule.handles import ExprRV, evaluate
from relax_mlir.tir.schedule.inverses import extent_by_digits, inverse_of
from relax_mlir.tir.schedule.text import Text
from relax_mlir.tir.view.regions import Range, range_of
from relax_mlir.tir.view.simplify import simplify

_OWN = "index_of_map_"


class IndexMap:
    """A function from indices to indices, such as `lambda i, j: (i // 4, j, i % 4)`.

    Attributes:
        initial_indices: the symbols that it takes.
        final_indices: what it gives, expressions of these and of sizes.
        inverse_index_map: its inverse where one was given, else None.
    """

    AXIS_SEPARATOR = "axis_separator"

    def __init__(
        self,
        initial_indices: Sequence[SymExpr | str],
        final_indices: Sequence[IntLike],
        inverse_index_map: "IndexMap | None" = None,
    ) -> None:
        for what, given in (("initial", initial_indices), ("final", final_indices)):
            if not isinstance(given, (list, tuple)):
                raise ExprTypeError(
                    f"the {what} indices of tir.IndexMap are a list, got {given!r}; "
                    "IndexMap.from_func makes one of a function"
                )
        for each in initial_indices:
            if not isinstance(each, (str, SymExpr)):
                raise ExprTypeError(f"tir.IndexMap takes symbols by tir.Var or name, got {each!r}")
        names = [each if isinstance(each, str) else each.name for each in initial_indices]
        if any(name is None for name in names) or len(set(names)) != len(names):
            raise ExprError(f"an index map takes different symbols, got {list(initial_indices)}")
        self.initial_indices: list[SymExpr] = [SymExpr.var(str(name)) for name in names]
        self.final_indices: list[SymExpr] = [
            SymExpr.of(evaluate(each, _no_random_variable)) for each in final_indices
        ]
        self.inverse_index_map = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: "Callable[..., Any] | IndexMap | None" = None,
        *,
        index_dtype: str = "int64",
    ) -> "IndexMap":
        """Return the map that a function of integers describes.

        Args:
            mapping_function: takes the indices, gives one integer expression or several.
            ndim: how many indices there are, needed where the function takes `*indices`.
            inverse_index_map: the way back, for maps that this is not found of.
            index_dtype: as in TVM; all indices are int64 here.

        Raises:
            ValueError: it takes another number of indices, or gives axis separators.
            ExprTypeError: what it gives is no integer expression.
        """
        result, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map
        )
        if separators:
            raise ExprError("axis separators are possible in transform_layout only")
        return result

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: "Callable[..., Any] | IndexMap | None" = None,
    ) -> "tuple[IndexMap, list[int]]":
        """Return a map and where its function gives `IndexMap.AXIS_SEPARATOR`.

        Arguments and errors are those of `from_func`.
        """
        given = _names_of(mapping_function, ndim)
        variables = [SymExpr.var(f"{_OWN}{i}") for i in range(len(given))]
        results = mapping_function(*variables)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        separators: list[int] = []
        exprs: list[SymExpr] = []
        for each in results:
            if isinstance(each, str) and each == IndexMap.AXIS_SEPARATOR:
                separators.append(len(exprs))
            else:
                exprs.append(SymExpr.of(evaluate(each, _no_random_variable)))
        taken = frozenset().union(*(expr.symbols for expr in exprs)) if exprs else frozenset()
        names = []
        for name in given:
            while name in taken or keyword.iskeyword(name) or name in names:
                name += "_"
            names.append(name)
        values = {f"{_OWN}{i}": SymExpr.var(name) for i, name in enumerate(names)}
        inverse = inverse_index_map
        if inverse is not None and not isinstance(inverse, IndexMap):
            inverse = IndexMap.from_func(inverse, len(exprs))
        return IndexMap(names, [expr.substitute(values) for expr in exprs], inverse), separators

    @property
    def names(self) -> list[str]:
        """The names of the indices that it takes."""
        return [str(each) for each in self.initial_indices]

    def map_indices(self, indices: Sequence[IntLike]) -> list[SymExpr]:
        """Return the indices that some indices become.

        Raises:
            ValueError: there are more of them, or fewer, than the map takes.
        """
        return self._mapped(self.final_indices, indices)

    def _mapped(self, exprs: Sequence[SymExpr], values: Sequence[IntLike]) -> list[SymExpr]:
        if len(values) != len(self.initial_indices):
            raise ExprError(
                f"the index map takes {len(self.initial_indices)} indices, got {len(values)}"
            )
        known = dict(zip(self.names, map(SymExpr.of, values), strict=True))
        return [expr.substitute(known) for expr in exprs]

    def map_shape(self, shape: Sequence[IntLike]) -> list[SymExpr]:
        """Return the shape that a shape becomes: how far the indices go.

        Raises:
            ValueError: an index may be negative, or it is not known how far it goes.
        """
        facts, ranges = self.ranges(shape)
        result: list[SymExpr] = []
        for expr in self.final_indices:
            try:
                result.append(extent_by_digits(self, expr, shape))
                continue
            except ValueError:
                own = range_of(expr, ranges, facts)
            if own is None or not facts.can_prove(own.low >= 0):
                raise ExprError(f"it is not known how far '{expr}' goes")
            result.append(own.high + 1)
        return [simplify(each, facts) for each in result]

    def ranges(self, shape: Sequence[IntLike]) -> tuple[Facts, list[tuple[str, Range]]]:
        """Return what a shape says of the indices that the map takes."""
        if len(shape) != len(self.initial_indices):
            raise ExprError(
                f"the index map takes {len(self.initial_indices)} indices, the shape has "
                f"{len(shape)}"
            )
        facts, ranges = Facts(), []
        for var, dim in zip(self.initial_indices, map(SymExpr.of, shape), strict=True):
            if dim.value is not None:
                facts.bound(str(var), 0, max(dim.value - 1, 0))
            else:
                facts.assume(var < dim)
            ranges.append((str(var), Range(SymExpr.const(0), dim - 1)))
        for divisor in self._divisors():
            # Nothing else divides: a size of 0 has no indices.
            facts.assume(divisor >= 1)
        return facts, ranges

    def _divisors(self) -> list[SymExpr]:
        result: list[SymExpr] = []

        def divide(kind: str, lhs: SymExpr, rhs: SymExpr) -> SymExpr:
            if kind in ("min", "max"):
                return lhs.max(rhs) if kind == "max" else lhs.min(rhs)
            if rhs.value is None and not rhs.symbols & set(self.names):
                result.append(rhs)
            return lhs.ceildiv(rhs) if kind == "ceildiv" else lhs // rhs

        for expr in self.final_indices:
            expr.fold(SymExpr.var, SymExpr.const, divide)
        return result

    def inverse(self, shape: Sequence[IntLike]) -> "IndexMap":
        """Return the map back.

        Args:
            shape: how far the indices that this map takes go.

        Raises:
            ValueError: the map is not known to be one-to-one and onto a whole shape.
        """
        result, conditions = inverse_of(self, shape)
        if conditions:
            raise ExprError(f"{self} leaves gaps in the shape that it maps to")
        return result

    def is_equivalent_to(self, other: "IndexMap") -> bool:
        """Whether two maps give the same for all indices, whatever their names."""
        if len(self.initial_indices) != len(other.initial_indices):
            return False
        mine = other._mapped(other.final_indices, self.initial_indices)
        return len(mine) == len(self.final_indices) and all(
            bool(a == b) for a, b in zip(mine, self.final_indices, strict=True)
        )

    def substitute(self, values: Mapping[str, IntLike]) -> "IndexMap":
        """Return the map with sizes in it replaced."""
        kept = {name: value for name, value in values.items() if name not in self.names}
        return IndexMap(self.names, [expr.substitute(kept) for expr in self.final_indices])

    def as_python(self) -> str:
        """Return the map as Python writes it."""
        return f"tir.IndexMap.from_func({self._lambda(_sized)})"

    def as_json(self) -> dict[str, Any]:
        """Return the map as JSON writes it."""
        return {"index_map": [self.names, [str(expr) for expr in self.final_indices]]}

    @staticmethod
    def from_json(data: Any) -> "IndexMap":
        """Return the map that JSON describes.

        Raises:
            ValueError: it describes none.
        """
        names, exprs = data
        return IndexMap(names, [read_expression(text) for text in exprs])

    def _lambda(self, symbol: Callable[[str], str]) -> str:
        def leaf(name: str) -> Text:
            return Text(name if name in self.names else symbol(name))

        texts = []
        for expr in self.final_indices:
            text = str(expr)
            if not expr.symbols <= set(self.names) or "T." in text:
                text = expr.fold(leaf, lambda number: Text(str(number)), Text.divide).text
            texts.append(text)
        comma = "," if len(texts) == 1 else ""
        head = f"lambda {', '.join(self.names)}" if self.names else "lambda"
        return f"{head}: ({', '.join(texts)}{comma})"

    def __repr__(self) -> str:
        return f"IndexMap({self._lambda(str)})"


def index_map_of(value: Any, ndim: int | None = None) -> IndexMap:
    """Return what a primitive was given as an index map.

    Raises:
        TypeError: it is neither one nor a function.
    """
    if isinstance(value, IndexMap):
        return value
    if callable(value):
        return IndexMap.from_func(value, ndim)
    raise ExprTypeError(f"an IndexMap or a function is needed, got {type(value).__name__}")


def _no_random_variable(rv: ExprRV) -> int:
    raise ExprError("an index map is made of indices, sizes and numbers, not of an ExprRV")


def _sized(name: str) -> str:
    return f'tir.SizeVar("{name}", "int64")'


def _names_of(function: Callable[..., Any], ndim: int | None) -> list[str]:
    """Return names for the indices that a function takes."""
    if not callable(function):
        raise ExprTypeError(
            f"an index map is a function of indices, such as lambda i, j: (j, i), got {function!r}"
        )
    result: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if ndim is None:
                raise ExprError(f"how many indices does '*{parameter.name}' take? Give ndim")
            result += [f"{parameter.name}_{i}" for i in range(len(result), ndim)]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            result.append(parameter.name)
    if ndim is not None and len(result) != ndim:
        raise ExprError(
            f"the function of an index map takes {len(result)} indices, there are {ndim} dimensions"
        )
    return result
