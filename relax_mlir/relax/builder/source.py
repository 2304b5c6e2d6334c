"""Source locations: the line of the user's program that builds an operation."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from relax_mlir import dialects, lowering
from relax_mlir.dialects.bindings import ir

# Frames of these are the builder at work (`contextlib` runs our `with` blocks).
_PACKAGE_ROOT = (
    str(Path(__file__).resolve().parents[2]),
    *(str(Path(package.__path__[0]).resolve()) for package in (dialects, lowering)),
    "<frozen ",
)
_OWN: dict[CodeType, bool] = {}


def _is_internal(code: CodeType) -> bool:
    known = _OWN.get(code)
    if known is None:
        name = code.co_filename
        known = name.startswith(_PACKAGE_ROOT) or name.endswith("contextlib.py")
        if len(_OWN) > 4096:
            _OWN.clear()
        _OWN[code] = known
    return known


class Places:
    """Makes the locations of one builder, each file and line once."""

    def __init__(self, context: ir.Context) -> None:
        self._context = context
        self._known: dict[tuple[CodeType, int], ir.Location] = {}
        self._given: ir.Location | None = None

    @contextmanager
    def given(self, file: str, line: int, column: int) -> Iterator[None]:
        """Make a line of a file the location of what the body builds."""
        before = self._given
        self._given = ir.Location.file(file, line, column, context=self._context)
        try:
            yield
        finally:
            self._given = before

    def here(self) -> ir.Location:
        """Return the given location, else that of the innermost frame outside of relax_mlir."""
        if self._given is not None:
            return self._given
        frame = sys._getframe(1)
        while _is_internal(frame.f_code) and frame.f_back is not None:
            frame = frame.f_back
        key = (frame.f_code, frame.f_lineno)
        known = self._known.get(key)
        if known is None:
            name = frame.f_code.co_filename
            known = ir.Location.file(name, frame.f_lineno, 1, context=self._context)
            if len(self._known) > 65536:
                self._known.clear()
            self._known[key] = known
        return known

    def named(self, name: str, place: ir.Location) -> ir.Location:
        """Return a location that also carries a variable's name."""
        return ir.Location.name(name, childLoc=place, context=self._context)
