"""Maps of indices that split, order and join axes: `lambda i0, i1: (i0, i1 // 4, i1 % 4)`."""

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.symbolic.expr import SymExpr, product


class Digit(NamedTuple):
    """Part of an index, `index // low % size`, and what it is multiplied by where it is added.

    Attributes:
        axis: which index.
        low: how many of the index are one of the part.
        size: how many values the part has; 0 where nothing bounds it.
        factor: what it is multiplied by.
    """

    axis: int
    low: int
    size: int
    factor: int


@dataclass(frozen=True)
class AxisMap:
    """A map from indices to indices, each a sum of parts of the indices as digits of a number.

    Attributes:
        rank: how many indices it takes.
        outputs: for each index that it gives its digits, the largest factor first.
    """

    rank: int
    outputs: tuple[tuple[Digit, ...], ...]

    @staticmethod
    def of(value: Any) -> "AxisMap":
        """Return the map that a function, an `IndexMap` of `tir` or a text describes.

        Raises:
            InferError: it describes none, or does more than to split, order and join axes.
        """
        if isinstance(value, AxisMap):
            return value
        if isinstance(value, str):
            return _parsed(value)
        if hasattr(value, "final_indices"):
            return _written([str(i) for i in value.initial_indices], value.final_indices)
        if not callable(value):
            raise InferError(f"expected a function of indices, got {value!r}")
        names = list(inspect.signature(value).parameters)
        results = value(*map(SymExpr.var, names))
        return _written(names, results if isinstance(results, (tuple, list)) else [results])

    def __str__(self) -> str:
        names = [f"i{axis}" for axis in range(self.rank)]
        texts = [" + ".join(map(_text, digits)) or "0" for digits in self.outputs]
        comma = "," if len(texts) == 1 else ""
        return f"lambda {', '.join(names)}: ({', '.join(texts)}{comma})"

    @property
    def flat(self) -> list[int]:
        """The map as numbers: the rank, then for each output how many digits and these."""
        result = [self.rank]
        for digits in self.outputs:
            result += [len(digits), *(number for digit in digits for number in digit)]
        return result

    def axes(self) -> list[list[Digit]]:
        """Return the digits of each axis, from the highest.

        Raises:
            InferError: some of an axis is missing, or there twice.
        """
        result: list[list[Digit]] = [[] for _ in range(self.rank)]
        for digit in (digit for digits in self.outputs for digit in digits):
            result[digit.axis].append(digit)
        for axis, digits in enumerate(result):
            digits.sort(key=lambda digit: digit.low, reverse=True)
            bound = 1
            for digit in reversed(digits):
                if digit.low != bound or (not digit.size and digit is not digits[0]):
                    raise InferError(f"{self} does not map index {axis} one to one")
                bound *= digit.size
        return result

    def size(self, digit: Digit, dims: Sequence[SymExpr]) -> SymExpr:
        """Return how many values a digit has for a shape."""
        return SymExpr.const(digit.size) if digit.size else dims[digit.axis].ceildiv(digit.low)

    def padded(self, dims: Sequence[SymExpr]) -> list[SymExpr]:
        """Return the shape that is split without a rest.

        Raises:
            InferError: the number of dimensions is another, or an index goes further than its
                digits.
        """
        if len(dims) != self.rank:
            raise InferError(f"{self} takes {self.rank} indices, got {len(dims)} dimensions")
        sizes = [product([self.size(each, dims) for each in digits]) for digits in self.axes()]
        for axis, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
            if (size - dim).is_const and (size - dim).value < 0:
                raise InferError(f"{self} keeps {size} of {dim} along axis {axis}")
        return sizes

    def shape(self, dims: Sequence[SymExpr]) -> list[SymExpr]:
        """Return the shape that a shape becomes.

        Raises:
            InferError: the number of dimensions is another, or indices overlap or leave gaps.
        """
        self.padded(dims)
        shape = []
        for digits in self.outputs:
            bound = SymExpr.const(1)
            for digit in reversed(digits):
                if bound != digit.factor:
                    raise InferError(f"{self} leaves gaps in or joins indices of {list(dims)}")
                bound = bound * self.size(digit, dims)
            shape.append(bound)
        return shape


def _written(names: Sequence[str], exprs: Sequence[Any]) -> AxisMap:
    comma = "," if len(exprs) == 1 else ""
    return _parsed(f"lambda {', '.join(names)}: ({', '.join(map(str, exprs))}{comma})")


def _parsed(text: str) -> AxisMap:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise InferError(f"'{text}' is no function of indices: {error}") from error
    if not isinstance(node, ast.Lambda):
        raise InferError(f"'{text}' is no function of indices")
    names = [arg.arg for arg in node.args.args]
    results = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
    try:
        outputs = [[_digit(term, names) for term in _terms(each)] for each in results]
    except ValueError as error:
        raise InferError(
            f"'{text}' does more than to split, order and join axes: {error}"
        ) from error
    ordered = (sorted(digits, key=lambda d: d.factor, reverse=True) for digits in outputs)
    return AxisMap(len(names), tuple(map(tuple, ordered)))


def _terms(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [] if isinstance(node, ast.Constant) and node.value == 0 else [node]


def _digit(node: ast.AST, names: Sequence[str]) -> Digit:
    if isinstance(node, ast.Name) and node.id in names:
        return Digit(names.index(node.id), 1, 0, 1)
    if isinstance(node, ast.BinOp):
        left, right = node.left, node.right
        if isinstance(node.op, ast.Mult) and isinstance(left, ast.Constant):
            left, right = right, left
        number = right.value if isinstance(right, ast.Constant) else None
        if isinstance(number, int) and number > 0:
            axis, low, size, factor = _digit(left, names)
            if isinstance(node.op, ast.Mult):
                return Digit(axis, low, size, factor * number)
            if isinstance(node.op, ast.FloorDiv) and factor == 1 and size % number == 0:
                return Digit(axis, low * number, size // number, 1)
            if isinstance(node.op, ast.Mod) and factor == 1 and size % number == 0:
                return Digit(axis, low, number, 1)
    raise ValueError(ast.unparse(node))


def _text(digit: Digit) -> str:
    text = f"i{digit.axis}"
    text += f" // {digit.low}" if digit.low > 1 else ""
    text += f" % {digit.size}" if digit.size else ""
    return f"{text} * {digit.factor}" if digit.factor > 1 else text
