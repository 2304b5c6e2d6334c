"""Desired layouts by operation, as text and as a dictionary; without MLIR."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.errors import did_you_mean

# Operation -> how many layouts it takes: of the data, of the weight.
CONVERTIBLE = {
    **{f"conv{rank}d{kind}": 2 for rank in (1, 2, 3) for kind in ("", "_transpose")},
    **{f"{kind}_pool{n}d": 1 for kind in ("max", "avg", "adaptive_avg") for n in (1, 2, 3)},
    "resize2d": 1,
}
# What a layout of images says of the weight when that is left open.
_WEIGHTS = {"NCHW": "OIHW", "NHWC": "HWIO"}


class _AnyMapping(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Mapping)


class _Callable(type):
    def __instancecheck__(cls, value: object) -> bool:
        return callable(value)


class LayoutCallback(metaclass=_Callable):
    """The type of an option that is a function of a call; no text can write one.

    Raises:
        ValueError: it is made of a text.
    """

    def __init__(self, text: str) -> None:
        raise ValueError(text)


class FunctionMap(metaclass=_AnyMapping):
    """The type of an option that is functions by name; no text can write one.

    Raises:
        ValueError: it is made of a text.
    """

    def __init__(self, text: str) -> None:
        raise ValueError(text)


class DesiredLayouts(dict[str, list[str]], metaclass=_AnyMapping):
    """`{"relax.nn.conv2d": ["NHWC", "HWIO"]}`, also written `conv2d=NHWC,HWIO;max_pool2d=NHWC`.

    Any dictionary counts as an instance, so that it passes for an option of this type.

    Raises:
        ValueError: an operation has no layout, or is given none.
    """

    def __init__(self, given: str | Mapping[str, Any] = "") -> None:
        super().__init__({})
        for name, layouts in _entries(given).items():
            op = name.strip().removeprefix("relax.").removeprefix("nn.").removeprefix("image.")
            if op not in CONVERTIBLE:
                raise ValueError(f"'{op}' has no layout{did_you_mean(op, CONVERTIBLE)}")
            self[op] = _complete(op, [layouts] if isinstance(layouts, str) else list(layouts))

    def __str__(self) -> str:
        return ";".join(f"{op}={','.join(layouts)}" for op, layouts in self.items())


def _entries(given: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(given, str):
        return given
    if given.startswith("{"):
        # How a pipeline prints a dictionary.
        return ast.literal_eval(given)
    entries = [entry.partition("=") for entry in given.split(";") if entry.strip()]
    return {name: value.split(",") for name, _, value in entries}


def _complete(op: str, layouts: Sequence[str]) -> list[str]:
    names = [layout.strip() for layout in layouts]
    if not names or not names[0] or len(names) > CONVERTIBLE[op]:
        raise ValueError(f"'{op}' takes {CONVERTIBLE[op]} layouts, got {names}")
    if names[1:] in ([], ["default"]) and CONVERTIBLE[op] == 2:
        names[1:] = [_WEIGHTS.get(names[0], "OIHW")]
    return names
