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


_OF_ONE_KEY = ("stablehlo.compare", "stablehlo.constant", "stablehlo.select")


def compared(region: Any) -> str | None:
    """Return by which direction a region compares its first two arguments, None for others.

    JAX makes zeros and NaNs of each argument the same before it compares them.
    """
    block = region.blocks[0]
    *_, end = [view.operation for view in block.operations]
    last = end.operands[0].owner
    if not hasattr(last, "name") or last.name != "stablehlo.compare":
        return None
    sides = [_arguments(operand) for operand in last.operands]
    first, second = list(block.arguments)[:2]
    if sides != [[first], [second]]:
        return None
    text = str(last.attributes["comparison_direction"])
    return next((each for each in ("LT", "GT") if f" {each}>" in text), None)


def _arguments(value: Any) -> list[Any] | None:
    """Return the arguments that a value is made of by selections, None for other operations."""
    operation = value.owner
    if not hasattr(operation, "name"):
        return [value]
    if operation.name not in _OF_ONE_KEY:
        return None
    result: list[Any] = []
    for operand in operation.operands:
        inner = _arguments(operand)
        if inner is None:
            return None
        result += [each for each in inner if each not in result]
    return result
