"""Rewrite patterns that reorder matrix products."""

from collections.abc import Callable
from typing import Any

from relax_mlir.arith.analyzer import Analyzer
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
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
_LEFT_FIRST = _MATMUL(_MATMUL(_LEFT, _MIDDLE), _RIGHT)
_RIGHT_FIRST = _MATMUL(_LEFT, _MATMUL(_MIDDLE, _RIGHT))


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

    A product of weights (parameters after the first `num_input`) counts nothing. Sizes that are not
    known count as what is proven of them.
    """

    def rule(known: set[Any], expr: Any, matched: Any) -> Any:
        a, b, c = (matched[part] for part in (_LEFT, _MIDDLE, _RIGHT))
        dims: list[Any] = [getattr(each.ty, "dims", None) or () for each in (a, b, c)]
        if any(len(each) != 2 for each in dims):
            return expr
        if len({each.ty.dtype for each in (a, b, c, expr)}) > 1:
            return expr
        (m, k), (_, n), (_, p) = dims
        weights = [identity(each) in known for each in (a, b, c)]
        left = m * n * p + (0 if weights[0] and weights[1] else m * k * n)
        right = m * k * p + (0 if weights[1] and weights[2] else k * n * p)
        analyzer = Analyzer()
        if _LEFT_FIRST in matched and analyzer.can_prove_less(right, left):
            return op.matmul(a, op.matmul(b, c))
        if _RIGHT_FIRST in matched and analyzer.can_prove_less(left, right):
            return op.matmul(op.matmul(a, b), c)
        return expr

    _each(module, _LEFT_FIRST | _RIGHT_FIRST, rule)


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
