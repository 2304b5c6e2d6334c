"""Constants for comparison: by their bytes, whichever attribute holds them."""

import hashlib

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array

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
