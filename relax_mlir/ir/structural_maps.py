"""One form for what blocks declare that they access: terms of sums in the order of iterators."""

from relax_mlir.dialects.bindings import ir

ACCESSES = ("tir.reads", "tir.writes")


def in_one_form(attribute: ir.Attribute) -> ir.Attribute:
    """Return an affine map whose sums are in order; any other attribute as it is.

    `d1 * 2 + d0` and `d0 + d1 * 2` are the same element, whichever of them a script says.
    """
    if not isinstance(attribute, ir.AffineMapAttr):
        return attribute
    map_ = attribute.value
    results = list(map_.results)
    if not any("+" in str(result) for result in results):
        return attribute
    with attribute.context:
        ordered = [_ordered(result) for result in results]
        return ir.AffineMapAttr.get(ir.AffineMap.get(map_.n_dims, map_.n_symbols, ordered))


def _ordered(expr: ir.AffineExpr) -> ir.AffineExpr:
    terms: list[ir.AffineExpr] = []
    stack = [expr]
    while stack:
        known = stack.pop().maybe_downcast()
        if isinstance(known, ir.AffineAddExpr):
            stack += [known.rhs, known.lhs]
        else:
            terms.append(_inside(known))
    total, *rest = sorted(terms, key=_key)
    for term in rest:
        total = total + term
    return total


def _inside(expr: ir.AffineExpr) -> ir.AffineExpr:
    for kind, make in (
        (ir.AffineMulExpr, ir.AffineExpr.get_mul), (ir.AffineModExpr, ir.AffineExpr.get_mod),
        (ir.AffineFloorDivExpr, ir.AffineExpr.get_floor_div),
        (ir.AffineCeilDivExpr, ir.AffineExpr.get_ceil_div),
    ):  # fmt: skip
        if isinstance(expr, kind):
            return make(_ordered(expr.lhs), _ordered(expr.rhs))
    return expr


def _key(expr: ir.AffineExpr) -> tuple[int, str]:
    """Return the first iterator that a term names, and its text; numbers come last."""
    text = str(expr)
    names = [int(word[1:]) for word in text.replace("(", " ").replace(")", " ").split()
             if word[0] == "d" and word[1:].isdigit()]  # fmt: skip
    return min(names, default=1 << 30), text
