"""The table of converters: an operation of another framework, from one version on."""

from collections.abc import Callable
from typing import Any

Converter = Callable[..., Any]
# (dialect, operation) -> the first version that a converter is for -> the converter.
CONVERTERS: dict[tuple[str, str], dict[int, Converter]] = {}


def converts(dialect: str, *ops: str, since: int = 1) -> Callable[[Converter], Converter]:
    """Register a function that converts operations: `@converts("onnx", "Reshape", since=5)`.

    Args:
        dialect: whose operations: `onnx`, a domain of ONNX such as `com.microsoft`, `torch`.
        ops: their names there.
        since: the first version of the operation that this is for; later ones too, up to the
            next registered.
    """

    def register(converter: Converter) -> Converter:
        for op in ops:
            CONVERTERS.setdefault((dialect, op), {})[since] = converter
        return converter

    return register


def find_converter(dialect: str, op: str, version: int = 1) -> Converter | None:
    """Return the converter of the greatest version not above `version`, None without one."""
    versions = CONVERTERS.get((dialect, op), {})
    return max(
        ((since, each) for since, each in versions.items() if since <= version),
        key=lambda entry: entry[0],
        default=(0, None),
    )[1]


def converted_ops(dialect: str) -> list[str]:
    """Return the operations of a dialect that have converters."""
    return sorted(op for of, op in CONVERTERS if of == dialect)
