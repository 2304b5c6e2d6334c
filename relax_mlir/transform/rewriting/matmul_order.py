"""Rewrite patterns that reorder matrix products."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.arith.analyzer import Analyzer
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.relax import op
from relax_mlir.relax.analysis.purity import computable_at_compile_time
from relax_mlir.relax.dpl import is_op, rewrite_in_place, wildcard
from relax_mlir.relax.dpl.matcher import identity
from relax_mlir.relax.expr import Function

Rule = Callable[[set[Any], Any, Any], Any]

_LEFT, _MIDDLE, _RIGHT = wildcard(), wildcard(), wildcard()
_MATMUL = is_op("relax.matmul")
_SUM = is_op("relax.add")(_MIDDLE, _RIGHT)
_TRANSPOSED = is_op("relax.permute_dims")(_SUM)
_OF_SUM = _MATMUL(_LEFT, _SUM | _TRANSPOSED)
_TAKEN = is_op("relax.take")(_MIDDLE, _RIGHT)
_OF_TAKEN = _MATMUL(_LEFT, _TAKEN)
_INNER_LEFT, _INNER_RIGHT = _MATMUL(_LEFT, _MIDDLE), _MATMUL(_MIDDLE, _RIGHT)
_LEFT_FIRST, _RIGHT_FIRST = _MATMUL(_INNER_LEFT, _RIGHT), _MATMUL(_LEFT, _INNER_RIGHT)
# The transpose of a product is that of its sides, in the other order.
_TRANSPOSED_LEFT = is_op("relax.permute_dims")(_MATMUL(_MIDDLE, _LEFT))
_TRANSPOSED_RIGHT = is_op("relax.permute_dims")(_MATMUL(_RIGHT, _MIDDLE))
_LEFT_TRANSPOSED, _RIGHT_TRANSPOSED = (
    _MATMUL(_TRANSPOSED_LEFT, _RIGHT),
    _MATMUL(_LEFT, _TRANSPOSED_RIGHT),
)


def expand_matmul_of_sum(module: ir.Operation) -> None:
    """Write `x @ (a + b)` as `x @ a + x @ b`, unless the sum is known before the function runs."""

    def rule(known: set[Any], expr: Any, matched: Any) -> Any:
        first, second = matched[_MIDDLE], matched[_RIGHT]
        # A summand that is broadcast is no right side of the product.
        if identity(matched[_SUM]) in known or not _same_shape(first, second):
            return expr
        if _TRANSPOSED in matched:
            axes = matched[_TRANSPOSED].attrs["axes"]
            first, second = op.permute_dims(first, axes), op.permute_dims(second, axes)
        left = matched[_LEFT]
        return op.add(_product(expr, left, first), _product(expr, left, second))

    _each(module, _OF_SUM, rule)


def reorder_take_after_matmul(module: ir.Operation) -> None:
    """Write `x @ take(w, i, axis=-1)` as `take(x @ w, i, axis=-1)`: a product of the whole table.

    Which columns are taken is known at run time only; the table is a weight as it stands.
    """

    def rule(known: set[Any], expr: Any, matched: Any) -> Any:
        table, indices = matched[_MIDDLE].ty, matched[_RIGHT].ty
        axis = matched[_TAKEN].attrs.get("axis")
        if table.ndim < 2 or indices.ndim != 1 or expr.ty.ndim < 1 or axis is None:
            return expr
        if axis % table.ndim != table.ndim - 1:
            return expr
        product = _product(expr, matched[_LEFT], matched[_MIDDLE])
        return op.take(product, matched[_RIGHT], axis=expr.ty.ndim - 1)

    _each(module, _OF_TAKEN, rule)


def adjust_matmul_order(module: ir.Operation) -> None:
    """Write `(a @ b) @ c` as `a @ (b @ c)`, or the reverse, where that takes fewer operations.

    A product of weights (parameters after the first `num_input`) counts nothing, and one that there
    is stays, as it is computed before the function runs. Sizes that are not known count as what is
    proven of them. Vectors, batches that broadcast and transposed products of two matrices are
    reordered as well.
    """

    def rule(known: set[Any], expr: Any, matched: Any) -> Any:
        a, b, c = (matched[part] for part in (_LEFT, _MIDDLE, _RIGHT))
        dims: list[Any] = [getattr(each.ty, "dims", None) or () for each in (a, b, c)]
        transposed = [_LEFT_TRANSPOSED in matched, _RIGHT_TRANSPOSED in matched]
        if any(transposed):
            first = 0 if transposed[0] else 1
            axes = matched[_TRANSPOSED_LEFT if transposed[0] else _TRANSPOSED_RIGHT].attrs["axes"]
            if any(len(each) != 2 for each in dims[first : first + 2]) or (
                axes is not None and axes[0] % 2 == 0
            ):
                return expr
            dims[first : first + 2] = [each[::-1] for each in dims[first : first + 2]]
        # The product of a vector has no batch of its own.
        if any(not each for each in dims) or len(dims[1]) < 2 or (
            len(dims[1]) > 2 and 1 in (len(dims[0]), len(dims[2]))
        ):  # fmt: skip
            return expr
        if len({each.ty.dtype for each in (a, b, c, expr)}) > 1:
            return expr
        if len(dims[0]) == 1:
            dims[0] = (SymExpr.const(1), *dims[0])
        if len(dims[2]) == 1:
            dims[2] = (*dims[2], SymExpr.const(1))
        weights = [identity(each) in known for each in (a, b, c)]
        left_known, right_known = all(weights[:2]), all(weights[1:])
        inner, between = _cost(dims[0], dims[1])
        left = _cost(between, dims[2])[0] + (0 if left_known else inner)
        inner, between = _cost(dims[1], dims[2])
        right = _cost(dims[0], between)[0] + (0 if right_known else inner)
        analyzer = Analyzer()
        is_left = _LEFT_FIRST in matched or transposed[0]
        if is_left and not left_known and analyzer.can_prove_less(right, left):
            if transposed[0]:
                a, b = op.permute_dims(a), op.permute_dims(b)
            return op.matmul(a, op.matmul(b, c))
        if not is_left and not right_known and analyzer.can_prove_less(left, right):
            if transposed[1]:
                b, c = op.permute_dims(b), op.permute_dims(c)
            return op.matmul(op.matmul(a, b), c)
        return expr

    _each(module, _LEFT_FIRST | _RIGHT_FIRST | _LEFT_TRANSPOSED | _RIGHT_TRANSPOSED, rule)


def _cost(left: Sequence[SymExpr], right: Sequence[SymExpr]) -> tuple[SymExpr, list[SymExpr]]:
    """Return how many products a matrix product takes, and its dimensions."""
    sides = itertools.zip_longest(left[-3::-1], right[-3::-1], fillvalue=SymExpr.const(1))
    batch = [second if first.value == 1 else first for first, second in sides][::-1]
    return product([*batch, *left[-2:], right[-1]]), [*batch, left[-2], right[-1]]


def _product(like: Any, left: Any, right: Any) -> Any:
    return op.matmul(left, right, out_dtype=like.attrs.get("out_dtype"))


def _same_shape(left: Any, right: Any) -> bool:
    dims = getattr(left.ty, "dims", None)
    return dims is not None and dims == getattr(right.ty, "dims", None)


def _each(module: ir.Operation, pattern: Any, rule: Rule) -> None:
    for func in functions_to_optimize(module):
        known = {identity(each) for each in computable_at_compile_time(Function.of(func, module))}

        def rewriter(expr: Any, matched: Any, known: set[Any] = known) -> Any:
            return rule(known, expr, matched)

        rewrite_in_place(pattern, rewriter, module, func)
