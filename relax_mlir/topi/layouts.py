"""Layout transformation: permuted and blocked axes."""

import re
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import tensor

_AXIS = re.compile(r"([A-Z])|(\d+)([a-z])")


def _axes(layout: str) -> list[tuple[str, int]]:
    """Return the axes of a layout: a letter and 0, or a small letter and the size of a block."""
    result = [(m[1], 0) if m[1] else (m[3], int(m[2])) for m in _AXIS.finditer(layout)]
    letters = [letter for letter, _ in result]
    small = {letter for letter in letters if letter.islower()}
    if (
        "".join(m[0] for m in _AXIS.finditer(layout)) != layout
        or len(set(letters)) < len(letters)
        or any(letter.upper() not in letters for letter in small)
        or any(letter.islower() and count < 1 for letter, count in result)
    ):
        raise ExprError(f"topi.layout_transform: '{layout}' is no layout such as NCHW or NCHW16c")
    return result


def layout_transform(
    array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> Tensor:
    """Return a tensor in another layout, such as `NCHW16c` for `NCHW`.

    Args:
        array: the tensor.
        src_layout: the letters of its axes; a number and a small letter is a block of an axis.
        dst_layout: those of the result.
        schedule_rule: as in TVM, of no consequence here.

    Raises:
        ExprError: a layout is none, they are of other axes, or an axis makes no whole blocks.
    """
    source, target = _axes(src_layout), _axes(dst_layout)
    letters = {letter for letter, _ in source if letter.isupper()}
    if letters != {letter for letter, _ in target if letter.isupper()}:
        raise ExprError(f"topi.layout_transform: {src_layout} and {dst_layout} have other axes")
    if len(source) != tensor(array, "layout_transform").ndim:
        raise ExprError(f"topi.layout_transform: {src_layout} does not fit {array}")
    blocks, wanted = dict(source), dict(target)
    sizes: dict[str, SymExpr] = {}
    for (letter, count), dim in zip(source, array.shape, strict=True):
        if count and SymExpr.of(dim) != count:
            raise ExprError(f"topi.layout_transform: {count}{letter} is {dim} in {array}")
        if not count:
            sizes[letter] = SymExpr.of(dim) * blocks.get(letter.lower(), 1)
    shape: list[Dim] = []
    for letter, count in target:
        block = wanted.get(letter.lower(), 1)
        if not count and sizes[letter] % block != 0:
            raise ExprError(
                f"topi.layout_transform: axis {letter} of {sizes[letter]} makes no whole blocks of "
                f"{block}; pad it first"
            )
        shape.append(count or plain(sizes[letter] // block))

    def element(*i: Any) -> PrimExpr:
        given = {letter: x for (letter, _), x in zip(target, i, strict=True)}
        place = []
        for letter, count in source:
            axis = letter.upper()
            block = wanted.get(axis.lower(), 1)
            whole = given[axis] if block == 1 else given[axis] * block + given[axis.lower()]
            own = blocks.get(axis.lower(), 1)
            place.append(whole % own if count else whole if own == 1 else whole // own)
        return array[tuple(place)]

    return compute(shape, element, name="T_layout_transform")
