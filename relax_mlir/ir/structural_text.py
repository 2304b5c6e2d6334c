"""Types and attributes for comparison: their text without the symbols, and the symbols apart."""

from typing import NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr

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
            found = ir.Attribute.parse(text[start:end]).dims
            dims += found
            pieces.append(f"{text[position:start]}{_MARK}{len(found)}>")
            position = end
            start = text.find(_MARK, end)
    pieces.append(text[position:])
    return Parts("".join(pieces), tuple(dims))


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
