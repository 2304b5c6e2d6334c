"""Regions of StableHLO that combine two numbers, recognised."""

from typing import Any

_COMBINERS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def combiner(region: Any) -> str | None:
    """Return which operation a region applies to its two arguments.

    Returns:
        Its name, `update` where the region gives the second argument; None for other regions.
    """
    block = region.blocks[0]
    first, second = block.arguments if len(block.arguments) == 2 else (None, None)
    operations = [view.operation for view in block.operations]
    if first is None or len(operations[-1].operands) != 1:
        return None
    result = operations[-1].operands[0]
    if len(operations) == 1:
        return "update" if result == second else None
    if len(operations) != 2 or operations[0].results[0] != result:
        return None
    name = operations[0].name.partition(".")[2]
    if operations[0].name != f"stablehlo.{name}" or name not in _COMBINERS:
        return None
    operands = list(operations[0].operands)
    return name if operands in ([first, second], [second, first]) else None


def compared(region: Any) -> str | None:
    """Return by which direction a region compares its first two arguments, None for others."""
    block = region.blocks[0]
    operations = [view.operation for view in block.operations]
    if len(operations) != 2 or operations[0].name != "stablehlo.compare":
        return None
    is_plain = list(operations[0].operands) == list(block.arguments)[:2]
    if not is_plain or operations[1].operands[0] != operations[0].results[0]:
        return None
    text = str(operations[0].attributes["comparison_direction"])
    return next((each for each in ("LT", "GT") if f" {each}>" in text), None)
