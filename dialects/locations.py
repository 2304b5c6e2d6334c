"""Variable names and source lines in MLIR locations."""

from relax_mlir.dialects.bindings import ir


def value_name(location: ir.Location) -> str:
    """Return the name a location carries, `""` when it has none."""
    location = location.maybe_downcast() if hasattr(location, "maybe_downcast") else location
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def location_name(location: ir.Location) -> str:
    """Return the variable's name that a location carries, `""` when it carries none."""
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FusedLoc):
        return next((n for n in map(location_name, location.locations) if n), "")
    return ""


def nameless(location: ir.Location) -> ir.Location:
    """Return a location without the variable's name: that of a part of an expression."""
    return location.child_loc if isinstance(location, ir.NameLoc) else location


def source_line(location: ir.Location) -> str:
    """Return `file:line` of a location, `""` when it names no file."""
    while isinstance(location, ir.NameLoc):
        location = location.child_loc
    if isinstance(location, ir.FileLineColLoc):
        return f"{location.filename}:{location.start_line}"
    if isinstance(location, ir.CallSiteLoc):
        return source_line(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(source_line, location.locations)), "")
    return ""


def at_source(location: ir.Location) -> str:
    """Return ` at file:line`, or nothing."""
    line = source_line(location)
    return f" at {line}" if line else ""
