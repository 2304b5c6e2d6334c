"""Paths to operations and operands in messages."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.ir.structural.attributes import different_elements, is_elements
from relax_mlir.ir.structural.walk import leaf_of, steps, symbol_name

_LONGEST = 240
_MAX_STEPS = 16
_REGIONS = {
    "relax.if": ("then branch", "else branch"),
    "relax.while": ("condition", "body"),
    "relax.for": ("body",),
    "tir.block": ("body", "init"),
}


def path_of(op: ir.Operation) -> str:
    """Return where an operation is: `function 'main', binding 3 'lv2' (relax.add)`."""
    pieces: list[str] = []
    while op.name != "builtin.module":
        parent = op.parent if op.attached else None
        if op.name == "func.func":
            pieces.append(_function(op))
        elif parent is None:
            pieces.append(op.name)
        else:
            pieces.append(_step(op))
            region = _region(op, parent.operation)
            if region:
                pieces.append(region)
        if parent is None:
            break
        op = parent.operation
    if len(pieces) > _MAX_STEPS:
        # The function, and what is near the place.
        pieces = [*pieces[: _MAX_STEPS - 2], "...", pieces[-1]]
    return ", ".join(reversed(pieces)) or "module"


def words(thing: Any) -> str:
    """Return one side of a difference as text of at most a few lines."""
    if isinstance(thing, ir.Value):
        return _value(thing)
    if isinstance(thing, ir.Operation):
        thing = thing.get_asm(
            assume_verified=True, use_local_scope=True, skip_regions=True, large_elements_limit=8
        ).strip()
    text = str(thing)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def both_words(left: Any, right: Any) -> tuple[str, str]:
    """Return both sides of a difference, so that it is to be seen."""
    if is_elements(left) and is_elements(right):
        texts = different_elements(left, right)
    elif isinstance(left, ir.Type) and isinstance(right, ir.Type):
        texts = _type(left), _type(right)
    else:
        texts = words(left), words(right)
    return texts if texts[0] != texts[1] else (str(left), str(right))


def name_of(location: ir.Location) -> str:
    """Return the variable's name that a location carries, `""` when it carries none."""
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FusedLoc):
        return next((name for name in map(name_of, location.locations) if name), "")
    return ""


def _type(type_: ir.Type) -> str:
    try:
        return describe(type_)
    except RecursionError:  # a tuple in a tuple in a tuple ...
        return words(str(type_))


def _function(op: ir.Operation) -> str:
    kind = "prim func" if "tir.prim_func" in op.attributes else "function"
    return f"{kind} '{symbol_name(op)}'"


def _step(op: ir.Operation) -> str:
    kind = "statement" if op.name.startswith("tir.") or not len(op.results) else "binding"
    number = next((i for i, each in enumerate(steps(op.block)) if each == op), None)
    place = kind if number is None else f"{kind} {number}"
    name = name_of(op.location)
    if op.name == "tir.for":
        name = name_of(op.regions[0].blocks[0].arguments[0].location)
    return f"{place} '{name}' ({op.name})" if name else f"{place} ({op.name})"


def _region(op: ir.Operation, parent: ir.Operation) -> str:
    if len(parent.regions) < 2:
        return ""
    for index, region in enumerate(parent.regions):
        if any(block == op.block for block in region.blocks):
            known = _REGIONS.get(parent.name)
            return known[index] if known else f"region {index}"
    return ""


def _value(value: ir.Value) -> str:
    name = name_of(value.location)
    if name:
        return f"'{name}'"
    if isinstance(value.owner, ir.Block):
        return f"parameter {ir.BlockArgument(value).arg_number} of the block"
    leaf = leaf_of(value)
    if leaf is not None:
        return words(leaf)
    op = value.owner.operation
    return f"the result of {_step(op)}"
