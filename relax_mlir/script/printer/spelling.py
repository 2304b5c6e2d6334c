"""Printing types, dimensions and numbers."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.symbolic.expr import SymExpr

# How the line of an operation begins that script has no words for.
UNSPOKEN = "# mlir: "


def dims(items: Sequence[SymExpr], quoted: bool = False) -> list[str]:
    """Return dimensions; quoted in signatures, which Python evaluates."""
    return [f'"{d}"' if quoted and not d.is_const else str(d) for d in items]


def sequence(items: Sequence[str]) -> str:
    """Return a tuple of texts."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def type_text(type_: ir.Type, quoted: bool = False) -> str:
    """Return a type: `R.Tensor(("n", 4), dtype="float32")`."""
    if T.is_tensor(type_):
        return tensor(T.tensor_dims(type_), T.tensor_dtype(type_), T.tensor_ndim(type_), quoted)
    if isinstance(type_, Shape):
        known = T.shape_dims(type_)
        if known is not None:
            return f"R.Shape([{', '.join(dims(known, quoted))}])"
        return f"R.Shape(ndim={T.shape_ndim(type_)})" if T.shape_ndim(type_) >= 0 else "R.Shape"
    if isinstance(type_, ir.TupleType):
        fields = [type_text(type_.get_type(i), quoted) for i in range(type_.num_types)]
        return f"R.Tuple({', '.join(fields)})"
    scalar = T.scalar_dtype(type_)
    return "R.Any" if scalar is None else f"T.{scalar}"


def tensor(
    shape: Sequence[SymExpr] | str | None, dtype: str, ndim: int = -1, quoted: bool = False
) -> str:
    """Return a tensor type; the shape may be the text of a shape value."""
    parts = []
    if isinstance(shape, str):
        parts.append(shape)
    elif shape is not None:
        parts.append(sequence(dims(shape, quoted)))
    if dtype:
        parts.append(f'dtype="{dtype}"')
    if shape is None and ndim >= 0:
        parts.append(f"ndim={ndim}")
    return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"


def number(value: Any, dtype: str) -> str:
    """Return the shortest text that reads back as the same number of that dtype."""
    if dtype == "bool":
        return str(bool(value))
    if "float" not in dtype:
        return str(int(value))
    value = float(value)
    if np.isnan(value) or np.isinf(value):
        return f'float("{value}")'
    if dtype != "float64":
        text = str(np.float32(value))
        return text if "." in text or "e" in text else f"{text}.0"
    return repr(value)


def array(value: np.ndarray, dtype: str) -> str:
    """Return an array as nested lists."""
    if value.ndim == 0:
        return number(value[()], dtype)
    return f"[{', '.join(array(item, dtype) for item in value)}]"


def attribute(attr: ir.Attribute) -> str | None:
    """Return a literal for an attribute, None for one that has none."""
    attr = attr.maybe_downcast()
    if isinstance(attr, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
        return repr(attr.value)
    if isinstance(attr, ir.StringAttr):
        return quote(attr.value)
    if isinstance(attr, ir.UnitAttr):
        return "None"
    if isinstance(attr, ir.DenseI64ArrayAttr):
        return repr(list(attr))
    if isinstance(attr, ir.DenseF64ArrayAttr):
        return python(list(attr))
    if isinstance(attr, ir.ArrayAttr):
        items = [attribute(item) for item in attr]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    if isinstance(attr, ir.DictAttr):
        fields = [(quote(item.name), attribute(item.attr)) for item in attr]
        if any(text is None for _, text in fields):
            return None
        return f"{{{', '.join(f'{key}: {text}' for key, text in fields)}}}"
    return None


def static_argument(attr: ir.Attribute) -> str:
    """Return an argument of a packed function that is no value, as a literal."""
    attr = attr.maybe_downcast()
    if isinstance(attr, ir.DenseI64ArrayAttr):
        return sequence([str(item) for item in attr])
    if isinstance(attr, ir.DenseF64ArrayAttr):
        return sequence([python(item) for item in attr])
    return "None" if isinstance(attr, ir.UnitAttr) else python(attr.value)


def quote(text: str) -> str:
    """Return a string literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def python(value: Any) -> str:
    """Return an attribute's value as Python: strings in double quotes, no bare `inf`."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(python, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
