"""Types, attributes and constants for comparison: symbols removed, constants by their bytes."""

import hashlib
from typing import NamedTuple

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.symbolic.expr import SymExpr

_DENSE = (ir.DenseElementsAttr, ir.DenseIntElementsAttr, ir.DenseFPElementsAttr)


def is_elements(attribute: object) -> bool:
    """Whether an attribute holds the elements of a tensor."""
    if isinstance(attribute, _DENSE):
        return True
    # The bindings hand resources out as plain attributes.
    return type(attribute) is ir.Attribute and str(attribute).startswith("dense_resource<")


def same_elements(left: ir.Attribute, right: ir.Attribute) -> bool:
    """Whether two attributes hold the same bytes; zeros of both signs differ, a NaN is itself."""
    mine, theirs = _bytes(left), _bytes(right)
    if mine is None or theirs is None:
        return str(left) == str(right)
    return mine is theirs or np.array_equal(mine, theirs)


def different_elements(left: ir.Attribute, right: ir.Attribute) -> tuple[str, str]:
    """Return what two constants that differ are, with the first element that does."""
    kinds = str(left.type), str(right.type)
    mine, theirs = _bytes(left), _bytes(right)
    if kinds[0] != kinds[1] or mine is None or theirs is None:
        return f"a constant {kinds[0]}", f"a constant {kinds[1]}"
    size = len(mine) // max(1, constant_array(left).size)
    where = int(np.argmax(mine != theirs)) // size
    first, second = (constant_array(each).reshape(-1)[where] for each in (left, right))
    return f"{first} as element {where}", f"{second} as element {where}"


def digest_elements(attribute: ir.Attribute) -> bytes:
    """Return a hash of the bytes that an attribute holds."""
    data = _bytes(attribute)
    text = str(attribute).encode() if data is None else data.data
    return hashlib.blake2b(text, digest_size=16).digest()


def _bytes(attribute: ir.Attribute) -> np.ndarray | None:
    """Return the bytes of the elements, None for a type that no Relax tensor has."""
    try:
        array = constant_array(attribute)
    except ValueError:
        return None
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


_MARK = "#relax.dims<"


class Parts(NamedTuple):
    """What a type or attribute says.

    Attributes:
        skeleton: the text, with the number of dimensions in place of each `#relax.dims`.
        dims: those dimensions, in order.
    """

    skeleton: str
    dims: tuple[SymExpr, ...]


def parts_of(thing: "ir.Type | ir.Attribute") -> Parts:
    """Return the parts of a type or an attribute, however deep dimensions are inside it."""
    if isinstance(thing, ir.ArrayAttr) and any(map(is_elements, thing)):
        items = [_text_of(item) for item in thing]
        return Parts(f"[{', '.join(items)}]", ())
    text = str(thing)
    start = text.find(_MARK)
    if start < 0:
        return Parts(text, ())
    pieces: list[str] = []
    dims: list[SymExpr] = []
    position = 0
    with thing.context:
        while start >= 0:
            end = _closing(text, start + len(_MARK))
            more = ir.Attribute.parse(text[start:end]).dims
            dims += more
            pieces.append(f"{text[position:start]}{_MARK}{len(more)}>")
            position = end
            start = text.find(_MARK, end)
    pieces.append(text[position:])
    return Parts("".join(pieces), tuple(dims))


def _text_of(item: ir.Attribute) -> str:
    """Return an attribute as text, elements by their bytes: names of resources say nothing."""
    return f"{digest_elements(item).hex()}: {item.type}" if is_elements(item) else str(item)


def _closing(text: str, position: int) -> int:
    """Return the position after the `>` that closes what was opened before `position`."""
    depth, quoted = 1, False
    while depth:
        char = text[position]
        if quoted:
            # A backslash hides what follows it.
            position += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char == "<":
            depth += 1
        elif char == ">" and text[position - 1] != "-":
            depth -= 1
        position += 1
    return position
