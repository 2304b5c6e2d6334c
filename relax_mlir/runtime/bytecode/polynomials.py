"""Polynomials over unknown integers, to decide whether two formulas are equal."""

import ast
import math
from collections.abc import Mapping

# What factors a product has, sorted, and how often it is taken.
Polynomial = dict[tuple[str, ...], int]
# Formulas of more products are not looked into.
_MAX_TERMS = 64


def polynomial(node: ast.expr) -> Polynomial | None:
    """Return an expression as a sum of products, None where it has too many.

    Quotients, remainders and choices are factors as they are written.
    """
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return {(): node.value} if node.value else {}
    # Written by itself: `ast.unparse` takes as long as all the rest.
    if isinstance(node, ast.Name):
        return {(node.id,): 1}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return product([{(): -1}, polynomial(node.operand)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = polynomial(node.left), polynomial(node.right)
        if isinstance(node.op, ast.Mult):
            return product([left, right])
        if isinstance(node.op, ast.Sub):
            right = product([{(): -1}, right])
        return None if left is None or right is None else _sum(left, right)
    return {(ast.unparse(node),): 1}


def product(factors: list[Polynomial | None]) -> Polynomial | None:
    """Return the product of some sums, None where it has too many terms or one is None."""
    total: Polynomial = {(): 1}
    for factor in factors:
        if factor is None or len(total) * len(factor) > _MAX_TERMS:
            return None
        made: Polynomial = {}
        for a, times in total.items():
            made = _sum(made, {tuple(sorted((*a, *b))): times * n for b, n in factor.items()})
        total = made
    return total


def size_formulas(
    dims: list[str], width: int, formulas: Mapping[str, Polynomial | None]
) -> list[Polynomial | None]:
    """Return what the bytes of a tensor may be written as: by its dimensions, or by what those are.

    Args:
        dims: names or numbers.
        width: bytes of an element.
        formulas: by some names, what was computed for them.
    """
    known = math.prod(int(d) for d in dims if d.isdigit()) * width
    names = [d for d in dims if not d.isdigit()]
    plain: list[Polynomial | None] = [{(name,): 1} for name in names]
    computed = [formulas.get(n, p) for n, p in zip(names, plain, strict=True)]
    return [product([{(): known}, *each]) for each in (plain, computed)]


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = {term: a.get(term, 0) + b.get(term, 0) for term in {**a, **b}}
    return {term: times for term, times in total.items() if times}
